"""Right-to-left models: a mirror image inside, natural order outside; and what they refuse."""

import json
from itertools import chain
from pathlib import Path

import pytest
import torch
from torch.testing import assert_close

from nmt_cli import Details, Translator
from nmt_cli.config import ModelConfig
from nmt_cli.errors import ConfigError, UsageError
from nmt_cli.explanation.explainer import Explainer
from nmt_cli.export.folder import export
from nmt_cli.server.models import RunModel
from nmt_cli.vocabulary.token_ids import mirrored
from tests.cli.conftest import Run, nmt

from .runs import LINES, make_run

__all__ = ["nmt"]  # the fixture

WORDS = ("vocabulary.kind=word", "vocabulary.size=40", "search.beam_size=3", "search.n_best=3")
BACKWARDS = "model.reverse_target=true"
EVERYTHING = Details(scores=True, attention=True, alignment=True)
SOURCES = LINES[:12]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two runs with the same weights: one writes from right to left, the other from left to right."""
    folder = tmp_path_factory.mktemp("runs")
    return make_run(folder / "backwards", (*WORDS, BACKWARDS)), make_run(folder / "forwards", WORDS)


@pytest.fixture(scope="module")
def backwards(runs: tuple[Path, Path]) -> Translator:
    return Translator.load(runs[0], device="cpu")


@pytest.fixture(scope="module")
def forwards(runs: tuple[Path, Path]) -> Translator:
    return Translator.load(runs[1], device="cpu")


def test_translations_are_those_of_the_left_to_right_twin_read_backwards(
    backwards: Translator, forwards: Translator
) -> None:
    lengths = set()
    for one, other in zip(
        backwards.translate(SOURCES, details=EVERYTHING),
        forwards.translate(SOURCES, details=EVERYTHING),
        strict=True,
    ):
        for mine, twin in zip(one.n_best or (), other.n_best or (), strict=True):
            assert list(mine.target_pieces) == mirrored(twin.target_pieces)
            assert mine.score == twin.score
            assert list(mine.token_log_probabilities or ()) == mirrored(twin.token_log_probabilities or ())
            assert mine.attention is not None
            assert twin.attention is not None
            assert torch.equal(mine.attention, twin.attention[mirrored(range(len(twin.attention)))])
            lengths.add(len(mine.target_pieces))
            if "<unk>" not in mine.target_pieces:
                assert mine.text.split() == twin.text.split()[::-1]
    assert max(lengths) > 3


def test_scores_and_attention_are_those_that_search_has_found(backwards: Translator) -> None:
    compared = 0
    lists = backwards.translate(SOURCES, details=EVERYTHING)
    for found in chain.from_iterable(one.n_best or () for one in lists):
        [scored] = backwards.score([found.source], [found.text], details=EVERYTHING)
        assert scored.text == found.text
        if scored.target_pieces != found.target_pieces:  # <unk> was replaced by a source word
            continue
        compared += len(found.target_pieces) > 2
        assert scored.score == pytest.approx(found.score, abs=1e-4)
        assert scored.token_log_probabilities == pytest.approx(found.token_log_probabilities, abs=1e-4)
        assert_close(scored.attention, found.attention, atol=1e-4, rtol=0)
        assert scored.alignment == found.alignment
    assert compared > 5


def test_scoring_several_lines_equals_scoring_each(backwards: Translator) -> None:
    targets = LINES[12:24]
    together = backwards.score(SOURCES, targets, details=EVERYTHING)
    for source, target, one in zip(SOURCES, targets, together, strict=True):
        [alone] = backwards.score([source], [target], details=EVERYTHING)
        assert one.text == target
        assert one.token_log_probabilities == pytest.approx(alone.token_log_probabilities, abs=1e-4)
        assert_close(one.attention, alone.attention, atol=1e-4, rtol=0)


@pytest.mark.parametrize("preset", ["luong2015", "cheng2016"])
def test_an_explanation_is_that_of_the_twin_in_natural_order(tmp_path: Path, preset: str) -> None:
    settings = (*WORDS, f"model.preset={preset}")
    mine, twin = (
        Explainer.load(make_run(tmp_path / name, (*settings, *extra)))
        for name, extra in (("mine", [BACKWARDS]), ("twin", []))
    )
    words = LINES[3].split()[:-1]
    one, other = (
        explainer.explain(LINES[0], target=" ".join(target), self_attention=True, gradients=True)
        for explainer, target in ((mine, words), (twin, words[::-1]))
    )
    assert [word.text for word in one.target_words[:-1]] == words
    assert list(one.target_pieces) == mirrored(other.target_pieces)
    assert one.log_probability == pytest.approx(other.log_probability)
    assert list(one.steps) == mirrored(other.steps)
    assert one.attention is not None
    assert other.attention is not None
    assert list(one.attention) == mirrored(other.attention)
    assert one.beam == other.beam  # in the order in which it grew
    assert one.gradients is not None
    assert other.gradients is not None
    assert list(one.gradients.norms) == mirrored(other.gradients.norms)
    assert one.gradients.by_distance == other.gradients.by_distance
    assert one.self_attention == other.self_attention  # labels in the order in which they are read
    assert one.note.startswith("This model writes the last word first")
    assert one.note.endswith(other.note)


def test_what_needs_the_beginning_first_is_rejected(
    runs: tuple[Path, Path], backwards: Translator, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="cannot continue a given beginning"):
        backwards.translate("ba be", prefixes="bi")
    assert backwards.translate("ba be", prefixes="").text == backwards.translate("ba be").text
    with pytest.raises(UsageError, match="cannot continue a given beginning"):
        Explainer.load(runs[0]).explain("ba be", prefix="bi")
    for terms in ({"terms": [("ba", "be")]}, {"banned": ["be"]}):
        with pytest.raises(UsageError, match="cannot observe terms and banned words"):
            backwards.with_terms(**terms)
    with pytest.raises(UsageError, match="cannot observe terms and banned words"):
        backwards.translate(["ba be"], terms=[[["bi"]]])
    with pytest.raises(UsageError, match=r"model.reverse_target = true cannot be exported"):
        export(runs[0], tmp_path / "exported")
    with pytest.raises(UsageError, match="cannot continue what a user has chosen"):
        RunModel(runs[0], search={}, device=torch.device("cpu"), int8=False)
    with pytest.raises(UsageError, match=r"writes from right to left \(model.reverse_target\)") as error:
        Translator.load(*runs, device="cpu")
    assert "nmt rerank" in error.value.hint


def test_a_window_that_moves_from_left_to_right_is_rejected() -> None:
    settings = {"reverse_target": True, "attention_span": "local-m", "attention_window": 2}
    with pytest.raises(
        (ConfigError, ValueError), match=r"reverse_target = true is incompatible with model.attention"
    ):
        ModelConfig.from_preset("luong2015", **settings)
    ModelConfig.from_preset("luong2015", **settings | {"attention_span": "local-p"})


def test_the_command_reranks_left_to_right_candidates(
    nmt: Run, runs: tuple[Path, Path], tmp_path: Path
) -> None:
    text = "".join(f"{line}\n" for line in SOURCES)
    listed = nmt("translate", runs[1], "--json", "--device", "cpu", "-q", stdin=text)
    (tmp_path / "candidates").write_text(listed.stdout)
    outcome = nmt(
        "rerank", "-i", tmp_path / "candidates", "--forward", runs[0], "--reverse", runs[1], "--json", "-q"
    )
    assert (outcome.code, outcome.stderr) == (0, "")
    both = [Translator.load(run, device="cpu") for run in runs]
    lines = zip(
        *(map(json.loads, text.splitlines()) for text in (listed.stdout, outcome.stdout)), strict=True
    )
    for old, line in lines:
        before = {one["translation"]: one["score"] for one in old["n_best"]}
        [mine] = both[0].score([line["source"]], [line["translation"]])
        [reverse] = both[1].score([line["translation"]], [line["source"]])
        extra = sum(0.5 * (one.log_probability or 0.0) / len(one.target_pieces) for one in (mine, reverse))
        assert line["score"] == pytest.approx(before[line["translation"]] + extra, abs=1e-3)


def test_the_command_translates_and_rejects_a_prefix(
    nmt: Run, runs: tuple[Path, Path], backwards: Translator
) -> None:
    plain = nmt("translate", runs[0], "--device", "cpu", "-q", "--set", "search.n_best=1", stdin="ba be\n")
    assert plain.stdout == f"{backwards.translate('ba be').text}\n"
    outcome = nmt("translate", runs[0], "--device", "cpu", "--json", "--prefix", "bi", stdin="ba be\n")
    assert outcome.code == 2
    assert outcome.error == (
        "error: a right-to-left model (model.reverse_target = true) writes the end first and cannot continue a given "
        "beginning"
    )
    assert outcome.hint == "hint: leave out the beginning, or use a left-to-right model"
