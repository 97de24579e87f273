"""Minimum Bayes risk decoding: the choice, its score, and what it is combined with."""

import math
from pathlib import Path

import pytest
from sacrebleu.metrics import BLEU, CHRF  # type: ignore[attr-defined]

from nmt_cli import Details, Translator
from nmt_cli.errors import ConfigError, UsageError
from nmt_cli.explanation.explainer import Explainer
from nmt_cli.translator import Translation

from .runs import LINES, make_run

TEXTS = [*LINES[:12], "", LINES[3], "ba be"]
SCORES = Details(scores=True)


def utility(metric: str, hypothesis: str, reference: str) -> float:
    scorer = CHRF() if metric == "chrf" else BLEU(effective_order=True)
    return float(scorer.sentence_score(hypothesis, [reference]).score)


def expected_utilities(candidates: tuple[Translation, ...], weights: list[float], metric: str) -> list[float]:
    """Σ_y P(y) u(h, y) for each h, sentence by sentence."""
    return [
        sum(
            weight * utility(metric, one.text, other.text)
            for weight, other in zip(weights, candidates, strict=True)
        )
        / sum(weights)
        for one in candidates
    ]


@pytest.mark.parametrize("metric", ["chrf", "bleu"])
def test_the_choice_among_samples_has_the_highest_mean_utility(run: Path, metric: str) -> None:
    sampled = Translator.load(run, device="cpu", search={"sampling": True, "n_best": 7, "seed": 3})
    decoder = Translator.load(
        run, device="cpu", search={"sampling": True, "mbr": metric, "mbr_samples": 7, "seed": 3}
    )
    for text, chosen, found in zip(
        TEXTS, decoder.translate(TEXTS, details=SCORES), sampled.translate(TEXTS), strict=True
    ):
        if not text:
            assert chosen.text == ""
            continue
        assert found.n_best is not None
        expected = expected_utilities(found.n_best, [1.0] * 7, metric)
        assert chosen.score == pytest.approx(max(expected))
        of_texts = dict(zip((one.text for one in found.n_best), expected, strict=True))
        assert of_texts[chosen.text] == pytest.approx(max(expected))  # of equally good ones, any
        assert chosen.n_best is None


@pytest.mark.parametrize("metric", ["chrf", "bleu"])
def test_candidates_of_the_beam_are_weighted_by_their_probability(run: Path, metric: str) -> None:
    beam = Translator.load(run, device="cpu", search={"beam_size": 5, "n_best": 5})
    decoder = beam.with_search(mbr=metric)
    for found, chosen in zip(
        beam.translate(LINES[:8], details=SCORES), decoder.translate(LINES[:8], details=SCORES), strict=True
    ):
        assert found.n_best is not None
        assert chosen.n_best is not None
        weights = [math.exp(one.log_probability or 0.0) for one in found.n_best]
        expected = dict(
            zip(
                [one.text for one in found.n_best],
                expected_utilities(found.n_best, weights, metric),
                strict=True,
            )
        )
        assert chosen.text == chosen.n_best[0].text
        assert {one.text: one.score for one in chosen.n_best} == pytest.approx(expected)
        scores = [one.score or 0.0 for one in chosen.n_best]
        assert scores == sorted(scores, reverse=True)


def test_the_choice_is_the_same_in_any_batch_and_its_details_are_those_of_the_chosen_candidate(
    run: Path,
) -> None:
    details = Details(scores=True, attention=True, alignment=True)
    settings = {"sampling": True, "mbr": "chrf", "mbr_samples": 6}
    together = Translator.load(run, device="cpu", search=settings).translate(TEXTS, details=details)
    alone = Translator.load(run, device="cpu", search=settings, batch_tokens=1)
    for number, (text, one) in enumerate(zip(TEXTS, together, strict=True)):
        again = alone.translate(text, details=details, first_line=number)
        assert again.text == one.text
        assert again.score == pytest.approx(one.score)
        if text:
            assert one.attention is not None
            assert one.attention.shape == (len(one.target_pieces), len(one.source_pieces))
            assert one.log_probability == pytest.approx(sum(one.token_log_probabilities or ()))


def test_the_score_of_a_line_in_parts_is_the_mean_of_its_parts(run: Path) -> None:
    decoder = Translator.load(run, device="cpu", search={"beam_size": 3, "mbr": "chrf"}, max_tokens=6)
    whole = decoder.translate("ba be bi. do du da.", details=SCORES)
    parts = decoder.translate(["ba be bi.", "do du da."], details=SCORES)
    assert whole.parts == 2
    assert whole.score == pytest.approx(sum(part.score or 0.0 for part in parts) / 2)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"mbr": "chrf", "beam_size": 1}, "search.mbr = chrf is incompatible with search.beam_size = 1"),
        ({"mbr_samples": 9}, "search.mbr_samples = 9 is incompatible with search.mbr = none"),
        (
            {"mbr": "bleu", "mbr_samples": 9},
            "search.mbr_samples = 9 is incompatible with search.sampling = false",
        ),
        (
            {"mbr": "bleu", "sampling": True, "n_best": 40},
            "search.n_best = 40 is incompatible with search.mbr_samples = 32",
        ),
    ],
    ids=str,
)
def test_contradictory_settings_are_rejected(run: Path, settings: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Translator.load(run, device="cpu", search=settings)


def test_language_models_and_explanations_refuse_it(run: Path, tmp_path: Path) -> None:
    language_model = make_run(tmp_path / "lm", ("model.preset=mikolov2010", "model.encoder_layers=0"))
    with pytest.raises(UsageError, match="not for the texts of a language model"):
        Translator.load(language_model, device="cpu", search={"mbr": "chrf"}, language_model=True)
    with pytest.raises(UsageError, match="only search itself can be explained"):
        Explainer.load(run, search={"mbr": "chrf"})
