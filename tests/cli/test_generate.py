"""`nmt generate`, and how other commands treat a language model."""

import gzip
import json
import math
from pathlib import Path

import pytest

from ..translator.runs import LINES, make_run  # noqa: TID252 - tests are no package
from .conftest import Run

LANGUAGE_MODEL = ("model.preset=mikolov2010", "model.encoder_layers=0", "search.max_length_ratio=20.0")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("runs") / "run", LANGUAGE_MODEL, prefers_bytes=False)


@pytest.fixture(scope="module")
def transformer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    settings = ("model.preset=radford2018", *LANGUAGE_MODEL[1:])
    return make_run(tmp_path_factory.mktemp("runs") / "run", settings, prefers_bytes=False)


@pytest.fixture(scope="module")
def word_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    settings = (*LANGUAGE_MODEL, "vocabulary.kind=word", "vocabulary.size=40")
    return make_run(tmp_path_factory.mktemp("runs") / "words", settings, prefers_bytes=False)


@pytest.fixture(scope="module")
def translating(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("runs") / "translating")


def lines(text: str) -> list[str]:
    assert text.endswith("\n")
    return text.split("\n")[:-1]


def test_samples_is_the_number_of_texts_per_prompt(nmt: Run, run: Path) -> None:
    outcome = nmt("generate", run, "ba be", "--samples", 4)
    assert outcome.code == 0, outcome.stderr
    found = lines(outcome.stdout)
    assert len(found) == 4
    assert len(set(found)) > 1
    assert all(text.startswith("ba be") for text in found)


def test_the_seed_determines_the_samples(nmt: Run, run: Path) -> None:
    one, again, other = (nmt("generate", run, "ba", "--seed", seed, "-n", 3).stdout for seed in (1, 1, 2))
    assert one == again != other


def test_each_line_of_standard_input_is_a_prompt_even_a_blank_one(nmt: Run, run: Path) -> None:
    outcome = nmt("generate", run, "-n", 2, stdin="ba \n\nde fi\nba\n")
    found = lines(outcome.stdout)
    assert len(found) == 8
    for i, beginning in enumerate(["ba", "", "de fi", "ba"]):
        assert all(text.startswith(beginning) for text in found[2 * i : 2 * i + 2])
    assert found[:2] != found[6:]  # each line has draws of its own


def test_a_carriage_return_within_a_prompt_separates_words_and_ends_no_line(nmt: Run, run: Path) -> None:
    outcome = nmt("generate", run, stdin="de\nba\rbe\nfi\n")
    assert outcome.code == 0, outcome.stderr
    found = lines(outcome.stdout)
    assert len(found) == 3
    assert found[1].startswith("ba be")


@pytest.mark.parametrize("kind", ["run", "transformer"])
def test_json_has_the_probability_of_the_whole_text(
    nmt: Run, kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    run: Path = request.getfixturevalue(kind)
    (tmp_path / "in").write_text("ba\nde\n")
    outcome = nmt("generate", run, "--input", tmp_path / "in", "--json", "-n", 2, "-o", tmp_path / "out.gz")
    assert outcome.stdout == ""
    objects = [
        json.loads(line) for line in lines(gzip.decompress((tmp_path / "out.gz").read_bytes()).decode())
    ]
    assert [(one["line"], one["beginning"]) for one in objects] == [
        (1, "ba"),
        (1, "ba"),
        (2, "de"),
        (2, "de"),
    ]
    (tmp_path / "texts").write_text("".join(f"{one['text']}\n" for one in objects))
    scored = nmt("score", run, "--target", tmp_path / "texts", "--json")
    assert any(one["tokens"] > 2 for one in objects)
    for one, other in zip(objects, map(json.loads, lines(scored.stdout)), strict=True):
        assert one["perplexity"] == pytest.approx(math.exp(-one["log_probability"] / one["tokens"]), rel=1e-3)
        if one["tokens"] == other["tokens"]:  # what was drawn may be spelled in other pieces
            assert one["log_probability"] == pytest.approx(other["log_probability"], abs=1e-3)


def test_without_sampling_the_most_probable_text_is_found(nmt: Run, run: Path) -> None:
    best = nmt("generate", run, "ba", "--json", "--set", "search.sampling=false")
    drawn = nmt("generate", run, "ba", "--json", "-n", 5)
    probability = json.loads(best.stdout)["log_probability"]
    assert all(probability >= json.loads(line)["log_probability"] for line in lines(drawn.stdout))
    cautious = nmt("generate", run, "ba", "--set", "search.top_k=1", "--set", "search.temperature=0.5")
    greedy = nmt("generate", run, "ba", "--set", "search.sampling=false", "--set", "search.beam_size=1")
    assert cautious.stdout == greedy.stdout


def test_a_text_that_does_not_end_is_truncated_with_a_warning(nmt: Run, run: Path) -> None:
    outcome = nmt("generate", run, "ba", "--set", "search.min_length=7", "--set", "search.max_length=7")
    assert "warning: a text for line 1 was truncated" in outcome.stderr


def test_unknown_words_of_the_prompt_are_kept(nmt: Run, word_run: Path) -> None:
    outcome = nmt("generate", word_run, "ba zorblax be", "-n", 3)
    assert all(text.startswith("ba zorblax be") for text in lines(outcome.stdout))


def test_int8_continues_text(nmt: Run, run: Path) -> None:
    outcome = nmt("generate", run, "ba", "--int8", "--device", "cpu")
    assert outcome.code == 0, outcome.stderr
    assert outcome.stdout.startswith("ba")


def test_monolingual_text_is_scored(nmt: Run, run: Path, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("".join(f"{line}\n" for line in [*LINES[:5], ""]))
    outcome = nmt("score", run, "--target", tmp_path / "text")
    rows = lines(outcome.stdout)
    assert len(rows) == 6
    assert rows[5] == ""
    assert "6 lines, " in outcome.stderr
    assert "perplexity " in outcome.stderr
    piped = nmt("score", run, "--target", "-", stdin=(tmp_path / "text").read_text())
    assert piped.stdout == outcome.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("translate", "RUN"), "is a language model and cannot translate"),
        (("explain", "RUN", "ba"), "is a language model and cannot translate"),
        (("evaluate", "RUN"), "is a language model and cannot translate"),
        (
            ("score", "RUN", "--source", "TEXT", "--target", "TEXT"),
            "is a language model and cannot translate",
        ),
        (("score", "RUN", "--target", "TEXT", "--alignments"), "--alignments needs attention"),
        (("score", "OTHER", "--target", "TEXT"), "is a translation model, not a language model"),
        (("generate", "OTHER", "ba"), "is a translation model, not a language model"),
        (("generate", "RUN", "ba", "--input", "TEXT"), "TEXT and --input cannot be used together"),
        (("generate", "RUN", "a\nb"), "the prefix of line 1 has a line break"),
        (("generate", "RUN", "x" * 9000), "the limit for a beginning is 4,096"),
        (("generate", "RUN", "ba", "-n", "0"), "search.n_best = 0"),
        (("generate", "RUN", "ba", "--set", "train.seed=1"), "only search.* can be set here"),
        (("generate", "RUN", "--input", "MISSING"), "does not exist"),
        (("generate", "MISSING", "ba"), "MISSING"),
    ],
)
def test_bad_input_gives_an_error_and_a_hint(
    nmt: Run, run: Path, translating: Path, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    (tmp_path / "text").write_text("ba\n")
    places = {"RUN": run, "OTHER": translating, "TEXT": tmp_path / "text"}
    outcome = nmt(*(places.get(word, word) for word in arguments))
    assert outcome.code in (1, 2)
    assert message in outcome.error
    assert outcome.hint
    assert outcome.stdout == ""


def test_preprocess_without_a_source_language_writes_monolingual_data(nmt: Run, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("".join(f"{line}\n" for line in LINES))
    out = tmp_path / "data"
    outcome = nmt("preprocess", "-t", "xx", "--train", tmp_path / "a.txt", "--out", out, "--keep-all")
    assert outcome.code == 0, outcome.stderr
    assert json.loads((out / "corpora.json").read_text())["source_lang"] == ""
    empty = nmt("preprocess", "-s", "", "-t", "xx", "--train", tmp_path / "a.txt", "--out", out)
    assert "'' is not a language code" in empty.error
