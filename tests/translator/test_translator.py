"""The translator: order of lines, independence of the batch, details, scoring."""

import math
import threading
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nmt_cli import Details, Translator
from nmt_cli.errors import ConfigError, UsageError
from nmt_cli.translator import Translation
from nmt_cli.translator.streaming import score_stream, translate_stream
from nmt_cli.vocabulary.token_ids import EOS
from nmt_cli.vocabulary.vocabulary import CONTROL

from .runs import LINES, make_run

EVERYTHING = Details(scores=True, attention=True, alignment=True, tree=True)
TEXTS = [*LINES[:20], "", "unknown Wörter ✓", " ", "x"]

quick = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def same(one: Translation, other: Translation) -> bool:
    return one.text == other.text and one.token_log_probabilities == other.token_log_probabilities


@quick
@given(st.lists(st.text(max_size=30), max_size=6), st.booleans())
def test_every_text_gives_one_line_and_a_blank_text_a_blank_one(
    run: Path, word_run: Path, texts: list[str], words: bool
) -> None:
    for beam in (1, 3):
        found = Translator.load(
            word_run if words else run, device="cpu", search={"beam_size": beam}
        ).translate(texts)
        assert len(found) == len(texts)
        for text, translation in zip(texts, found, strict=True):
            assert not CONTROL.search(translation.text)
            if not text.strip():
                assert translation.text == ""
                assert translation.parts == 0


def test_a_model_that_produces_many_bytes_writes_no_control_characters(translator: Translator) -> None:
    config = translator.config.changed({"sampling": True, "n_best": 40, "temperature": 3.0})
    wild = Translator(translator.models, translator.vocabularies, config)
    texts = [one.text for found in wild.translate(LINES[:10]) for one in found.n_best or ()]
    assert len(texts) == 400
    assert any("\t" in text for text in texts)  # a tab is text
    assert not any(CONTROL.search(text) for text in texts)
    for text in texts:
        text.encode()


@pytest.mark.parametrize("beam", [1, 3])
def test_results_do_not_depend_on_batch_size_window_or_neighbors(run: Path, beam: int) -> None:
    translator = Translator.load(run, device="cpu", search={"beam_size": beam})
    together = translator.translate(TEXTS, details=Details(scores=True))
    for batch_tokens, window in ((1, 5), (40, 3), (100, 1)):
        other = Translator.load(run, device="cpu", search={"beam_size": beam}, batch_tokens=batch_tokens)
        found = [
            translation
            for part in translate_stream(other, iter(TEXTS), window=window, details=Details(scores=True))
            for translation in part.translations
        ]
        assert [one.text for one in found] == [one.text for one in together]
        for one, two in zip(found, together, strict=True):
            assert one.score == pytest.approx(two.score, abs=1e-5)


def test_a_wide_beam_uses_smaller_batches(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = list(dict.fromkeys(LINES[:12]))
    together = translator.translate(texts)
    logits = translator.config.width * len(translator.vocabularies.target)
    monkeypatch.setattr("nmt_cli.translator.translator.MAX_LOGITS", 4 * logits)
    sizes = [len(rows) for rows, _ in translator.batches(texts)]
    assert max(sizes) <= 4
    assert sum(sizes) == len(texts)
    assert [found.text for found in translator.translate(texts)] == [found.text for found in together]


def test_real_lines_do_not_depend_on_the_batch(corpora: Path, tmp_path: Path) -> None:
    import gzip

    lines = (
        gzip.decompress((corpora / "multi30k" / "test_2016_flickr.de.gz").read_bytes())
        .decode()
        .split("\n")[:60]
    )
    run = make_run(tmp_path / "run", ("vocabulary.size=800", "model.hidden_size=64"), lines=lines)
    for beam in (1, 5):
        search = {"beam_size": beam}
        texts = [
            [one.text for one in Translator.load(run, search=search, batch_tokens=size).translate(lines)]
            for size in (4096, 200, 1)
        ]
        assert texts[0] == texts[1] == texts[2]


def test_one_string_has_one_translation(translator: Translator) -> None:
    [expected] = translator.translate(LINES[:1])
    assert same(translator.translate(LINES[0]), expected)
    [expected] = translator.translate(LINES[:1], prefixes=["ba du"])
    assert same(translator.translate(LINES[0], prefixes="ba du"), expected)
    assert translator.translate(" ").parts == 0


def test_other_methods_do_not_take_a_string_for_a_list(translator: Translator) -> None:
    for call in (
        lambda: list(translator.batches("ab")),
        lambda: translator.translate(["x", "y"], prefixes="ab"),
        lambda: translator.generate("ab"),
        lambda: translator.score("ab", ["x", "y"]),
    ):
        with pytest.raises(UsageError, match="as a list, not as a string"):
            call()


@pytest.mark.parametrize("text", LINES[:4])
def test_a_coverage_penalty_works_on_sources_of_any_length(run: Path, text: str) -> None:
    """A source of fewer than 16 tokens is padded, and padding must not count as uncovered."""
    translator = Translator.load(run, device="cpu", search={"beam_size": 2, "coverage_penalty": 0.2})
    found = translator.translate(text, details=Details(scores=True, attention=True))
    assert found.attention is not None
    assert found.attention.shape[1] < 16
    assert found.log_probability is not None
    penalty = 0.2 * float(found.attention.sum(dim=0).clamp(1e-6, 1.0).log().sum())
    assert penalty <= 0
    expected = found.log_probability / len(found.target_pieces) + penalty
    assert found.score == pytest.approx(expected, abs=1e-4)


def test_details_that_were_not_requested_are_none(translator: Translator) -> None:
    [found] = translator.translate(LINES[:1])
    for name in (
        "score",
        "log_probability",
        "token_log_probabilities",
        "attention",
        "alignment",
        "n_best",
        "tree",
    ):
        assert getattr(found, name) is None


def test_requested_details_have_consistent_shapes(run: Path) -> None:
    translator = Translator.load(run, device="cpu", search={"beam_size": 4, "n_best": 3})
    for found in translator.translate(LINES[:5], details=EVERYTHING):
        T, S = len(found.target_pieces), len(found.source_pieces)
        assert found.attention is not None
        assert found.attention.shape == (T, S)
        assert found.token_log_probabilities is not None
        assert len(found.token_log_probabilities) == T
        assert math.fsum(found.token_log_probabilities) == pytest.approx(found.log_probability, abs=1e-4)
        assert found.source_words == tuple(found.source.split(" "))
        assert found.word_attention is not None
        assert found.word_attention.shape == (len(found.target_words), len(found.source_words))
        assert found.alignment is not None
        assert all(i < len(found.source_words) and j < len(found.target_words) for i, j in found.alignment)
        assert found.n_best is not None
        assert found.n_best[0].text == found.text
        scores = [one.score for one in found.n_best if one.score is not None]
        assert scores == sorted(scores, reverse=True)
        assert len(scores) == 3
        assert found.tree
        assert any(candidate.ended for step in found.tree for candidate in step)


@pytest.mark.parametrize("penalty", [0.0, 0.3])
@pytest.mark.parametrize(
    ("preset", "copying"),
    [("luong2015", False), ("luong2015", True), ("bahdanau2015", False), ("gnmt2016", False)],
)
def test_forced_decoding_gives_the_score_of_search(
    tmp_path: Path, preset: str, copying: bool, penalty: float
) -> None:
    layers = 2 if preset == "gnmt2016" else 1
    settings = [f"model.{side}_layers={layers}" for side in ("encoder", "decoder")]
    settings += [
        f"model.preset={preset}",
        f"model.copying={copying}",
        "vocabulary.kind=char",
    ]  # characters: only one segmentation
    run = make_run(tmp_path / "run", settings, prefers_bytes=False)
    translator = Translator.load(run, device="cpu", search={"beam_size": 3, "coverage_penalty": penalty})
    known = {piece for piece in translator.vocabularies.target.pieces if len(piece) == 1}
    details = Details(scores=True, alignment=True)
    # Starts like encoded text: ▁ b.
    found = translator.translate(LINES[:30], details=details, prefixes=["b"] * 30)
    found = [one for one in found if {*one.target_pieces[:-1]} <= known and not one.text.endswith(" ")]
    assert len(found) > 3
    scored = translator.score([one.source for one in found], [one.text for one in found], details=details)
    for one, other in zip(scored, found, strict=True):
        assert one.target_pieces == other.target_pieces
        assert one.log_probability == pytest.approx(other.log_probability, abs=1e-3)
        assert one.score == pytest.approx(other.score, abs=1e-4)
        assert one.alignment == other.alignment


def test_scores_do_not_depend_on_the_window(translator: Translator) -> None:
    pairs = list(zip(TEXTS, reversed(TEXTS), strict=True))
    at_once = translator.score([a for a, _ in pairs], [b for _, b in pairs])
    in_windows = [
        one for part in score_stream(translator, iter(pairs), window=4) for one in part.translations
    ]
    for one, other in zip(at_once, in_windows, strict=True):
        assert one.log_probability == pytest.approx(other.log_probability, abs=1e-4)
    assert translator.score([" "], [""])[0].parts == 0


def test_an_ensemble_scores_with_the_mean_probability(tmp_path: Path, run: Path) -> None:
    other = make_run(tmp_path / "other", seed=2)
    both = Translator.load(run, other, device="cpu")
    details = Details(scores=True)
    one, two, mean = (
        translator.score(LINES[:4], LINES[4:8], details=details)
        for translator in (Translator.load(run, device="cpu"), Translator.load(other, device="cpu"), both)
    )
    for a, b, c in zip(one, two, mean, strict=True):
        assert a.token_log_probabilities is not None
        assert b.token_log_probabilities is not None
        p = torch.tensor([a.token_log_probabilities, b.token_log_probabilities]).exp().mean(dim=0)
        torch.testing.assert_close(torch.tensor(c.token_log_probabilities), p.log(), atol=1e-4, rtol=1e-4)
    assert len(both.translate(LINES[:3])) == 3


def test_an_ensemble_needs_equal_vocabularies(run: Path, word_run: Path) -> None:
    with pytest.raises(UsageError, match="have different vocabularies"):
        Translator.load(run, word_run)


def test_a_long_line_is_translated_in_parts(run: Path) -> None:
    translator = Translator.load(run, device="cpu", search={"beam_size": 2, "n_best": 2}, max_tokens=20)
    long = " ".join(LINES[:30])
    alone, short = translator.translate([long, LINES[3]], details=EVERYTHING)
    assert short.parts == 1
    assert alone.parts >= 30
    assert alone.source == long
    by_part = translator.translate(LINES[:30], details=EVERYTHING)
    assert alone.text == " ".join(part.text for part in by_part)
    assert alone.log_probability == pytest.approx(
        sum(part.log_probability or 0 for part in by_part), abs=1e-3
    )
    assert alone.attention is not None
    assert alone.attention.shape == (len(alone.target_pieces), len(alone.source_pieces))
    assert alone.n_best is not None
    seconds = [part.n_best[-1].text for part in by_part if part.n_best]
    assert alone.n_best[1].text == " ".join(seconds)
    assert alone.alignment is not None
    assert max(i for i, _ in alone.alignment) < len(long.split(" "))


def test_a_translation_starts_with_its_prefix(translator: Translator) -> None:
    found = translator.translate(LINES[:4], prefixes=["ba", "", "du ki", "ba"])
    spaced = translator.translate(LINES[:4], prefixes=["ba ", " ", "du ki  ", "ba"])
    assert [one.text for one in found] == [one.text for one in spaced]
    assert found[0].text.startswith("ba")
    assert found[2].text.startswith("du ki")
    with pytest.raises(UsageError, match="line break"):
        translator.translate(["x"], prefixes=["a\nb"])
    with pytest.raises(UsageError, match="1 prefixes for 2 texts"):
        translator.translate(["x", "y"], prefixes=["a"])


def test_a_prefix_is_used_as_given_control_characters_included(run: Path, word_run: Path) -> None:
    for folder in (run, word_run):
        prefix = "ba \x9b31m\x85x \x1b[1m du"
        found = Translator.load(folder, device="cpu").translate(LINES[0], prefixes=prefix).text
        assert found.startswith(prefix)
        assert not CONTROL.search(found[len(prefix) :])


def test_unknown_words_are_copied_from_the_source(word_run: Path) -> None:
    found = Translator.load(word_run, device="cpu").translate(["Kraxelhuber Zabaione"] * 2 + ["Q\rQ"])
    assert "<unk>" not in " ".join(one.text for one in found)


def test_samples_depend_on_seed_and_line_number_only(run: Path) -> None:
    def sampled(seed: int, lines: list[str], first_line: int = 0) -> list[str]:
        search = {"sampling": True, "seed": seed}
        found = Translator.load(run, device="cpu", search=search).translate(lines, first_line=first_line)
        return [one.text for one in found]

    lines = [LINES[5]] * 8
    assert sampled(1, lines) == sampled(1, lines)
    assert len(set(sampled(1, lines))) > 1
    assert sampled(1, lines)[3:] == sampled(1, lines[3:], first_line=3)
    assert sampled(1, lines) != sampled(2, lines)


def test_threads_can_share_a_translator(translator: Translator) -> None:
    expected = [one.text for one in translator.translate(LINES[:40])]
    found: dict[int, list[str]] = {}

    def work(number: int) -> None:
        found[number] = [one.text for one in translator.translate(LINES[number:40])]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {number: expected[number:] for number in range(8)}


def test_settings_are_those_of_the_run_unless_changed(run: Path) -> None:
    assert Translator.load(run).config.max_length == 30
    changed = Translator.load(run, search={"beam_size": 3, "n_best": 2}).config
    assert (changed.beam_size, changed.n_best, changed.max_length) == (3, 2, 30)
    with pytest.raises(
        ConfigError, match=r"search\.beam_size = 0: input should be greater than or equal to 1"
    ):
        Translator.load(run, search={"beam_size": 0})
    with pytest.raises(ConfigError, match=r"search\.n_best = 9 is incompatible with search\.beam_size = 5"):
        Translator.load(run, search={"n_best": 9})


def test_lone_surrogates_are_accepted(translator: Translator) -> None:
    assert len(translator.translate(["a\ud800b", "a\udcffb\n"])) == 2


def test_int8_leaves_small_layers_in_full_precision(run: Path) -> None:
    try:
        quantized = Translator.load(run, device="cpu", search={"beam_size": 2}, int8=True)
    except UsageError:
        pytest.skip("this build of torch has no int8 arithmetic")
    assert quantized.quantized == ()  # 24 × 330 weights are too few to gain anything


def test_an_int8_layer_is_close_to_the_float_layer_and_independent_of_its_batch() -> None:
    from nmt_cli.model.fast.step_layout import Int8Linear, quantize

    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(128, 256), torch.nn.Tanh(), torch.nn.Linear(256, 512))
    x = torch.randn(20, 128) * torch.logspace(-2, 2, 20)[:, None]
    with torch.inference_mode():
        plain = model(x)
        try:
            names = quantize(model)
        except UsageError:
            pytest.skip("this build of torch has no int8 arithmetic")
        assert names == ["0", "2"]
        assert isinstance(model[2], Int8Linear)
        found = model(x)
        assert (found - plain).abs().max() < 0.05 * plain.abs().max()
        for row in range(20):
            assert torch.equal(model(x[row : row + 1])[0], found[row])


def test_eos_never_appears_in_text(translator: Translator) -> None:
    assert translator.vocabularies.target.pieces[EOS] == "</s>"
    assert not any("</s>" in one.text for one in translator.translate(LINES[:30]))


def test_importing_the_package_is_cheap() -> None:
    import subprocess
    import sys

    code = (
        "import sys, nmt_cli; assert 'torch' not in sys.modules; from nmt_cli import Translator; "
        "heavy = {'datasets', 'pandas', 'pyarrow', 'sacrebleu', 'typer', 'rich'} & set(sys.modules); "
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_translation_survives_dataclasses_replace(translator: Translator) -> None:
    [found] = translator.translate(LINES[:1])
    assert replace(found, text="x").source_words == found.source_words
