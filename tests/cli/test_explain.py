"""`nmt explain` as a user meets it."""

import gzip
import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from tests.training.conftest import make_data, train

from .conftest import Run


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_data(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="module")
def run(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("run") / "run"
    train(data, out, "train.max_updates=1")
    return out


def test_a_sentence_is_explained_in_a_pipe(nmt: Run, run: Path) -> None:
    outcome = nmt("explain", run, "ba de fi")
    assert outcome.code == 0, outcome.stderr
    assert outcome.stderr == ""
    assert "\x1b" not in outcome.stdout
    assert outcome.stdout.startswith("xx  ba de fi\nyy  ")
    header = next(line for line in outcome.stdout.split("\n") if line.endswith("<eos>") and "%" not in line)
    assert header.split() == ["ba", "de", "fi", "<eos>"]
    assert re.search(r"^  1  \S+ +\d+(\.\d)? %", outcome.stdout, re.MULTILINE)
    assert "n-best list" in outcome.stdout


def test_lines_of_standard_input_are_sentences(nmt: Run, run: Path) -> None:
    outcome = nmt("explain", run, stdin="ba de\r\nfi\u2028fo\n")
    assert outcome.code == 0, outcome.stderr
    assert re.findall(r"^xx  (.*)$", outcome.stdout, re.MULTILINE) == ["ba de", "fi\\u2028fo"]
    repaired = nmt("explain", run, stdin=b"\xef\xbb\xbfba \xff de\n")
    assert repaired.code == 0
    assert repaired.stdout.startswith("xx  ba \ufffd de\n")
    assert "warning: line 1 is not valid UTF-8" in repaired.stderr


def test_all_files_at_once(nmt: Run, run: Path, tmp_path: Path) -> None:
    page, picture, numbers = tmp_path / "a.html", tmp_path / "a.svg", tmp_path / "a.json"
    outcome = nmt(
        *("explain", run, "ba <script>alert(1)</script>", "--html", page, "--svg", picture),
        *("--json", "--output", numbers),
    )
    assert outcome.stdout == ""
    assert outcome.code == 0, outcome.stderr
    assert outcome.stderr.splitlines() == [f"wrote {page}", f"wrote {picture}", f"wrote {numbers}"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.html", "a.json", "a.svg"]
    assert "<script>alert" not in page.read_text("utf-8")
    ElementTree.parse(picture)
    (found,) = json.loads(numbers.read_text("utf-8"))
    assert found["source"] == "ba <script>alert(1)</script>"
    assert len(found["attention"]) == len(found["target_pieces"])


def test_json_on_standard_output_is_nothing_but_json(nmt: Run, run: Path) -> None:
    outcome = nmt("explain", run, "ba", "de", "--json", "--beam", 2)
    assert outcome.code == 0, outcome.stderr
    assert [one["source"] for one in json.loads(outcome.stdout)] == ["ba", "de"]
    assert all(len(one["n_best"]) == 2 for one in json.loads(outcome.stdout))
    assert outcome.stderr == ""


def test_output_is_the_file_for_what_would_be_displayed(nmt: Run, run: Path, tmp_path: Path) -> None:
    displayed = nmt("explain", run, "ba", "de fi")
    written = nmt("explain", run, "ba", "de fi", "--output", tmp_path / "a.txt")
    assert (written.code, written.stdout, written.stderr) == (0, "", f"wrote {tmp_path / 'a.txt'}\n")
    assert (tmp_path / "a.txt").read_text("utf-8") == displayed.stdout
    packed = nmt("explain", run, "ba", "de fi", "--json", "--quiet", "-o", tmp_path / "a.gz")
    assert (packed.stdout, packed.stderr) == ("", "")
    content = gzip.decompress((tmp_path / "a.gz").read_bytes()).decode()
    assert content == nmt("explain", run, "ba", "de fi", "--json").stdout


@pytest.mark.parametrize("options", ["", "--json"])
def test_files_are_written_even_if_nobody_reads_standard_output(
    run: Path, tmp_path: Path, options: str
) -> None:
    nmt = (
        f"{sys.executable} -m nmt_cli explain {run} ba 'de fi' --threads 1 --html {tmp_path / 'a'} {options}"
    )
    piped = shell(f"{nmt} | true")
    assert (piped.returncode, piped.stderr) == (0, f"wrote {tmp_path / 'a'}\n")
    page = (tmp_path / "a").read_text("utf-8")
    assert page.endswith("</html>\n")
    (tmp_path / "a").unlink()
    full = shell(f"{nmt} > /dev/full")
    assert full.returncode == 1
    assert "error: cannot write to standard output: No space left on device\n" in full.stderr
    assert (tmp_path / "a").read_text("utf-8") == page


def shell(command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False
    )


def test_a_given_translation_is_explained(nmt: Run, run: Path) -> None:
    outcome = nmt("explain", run, "ba de", "--target", "BA DE", "--set", "search.n_best=1", "--json")
    (found,) = json.loads(outcome.stdout)
    assert (found["translation"], found["forced"], len(found["n_best"])) == ("BA DE", True, 1)
    shown = nmt("explain", run, "ba de", "--target", "BA DE").stdout
    assert "given translation: score" in shown
    assert "n-best list" in shown


@pytest.mark.parametrize(
    ("arguments", "code", "message", "hint"),
    [
        (["NOWHERE", "ba"], 1, "NOWHERE", "nmt train"),
        (["DATA/manifest.json", "ba"], 2, "DATA/manifest.json is a file, not a run directory", "< DATA/manifest.json"),
        (["DATA", "ba"], 1, "DATA is a data directory", "give a run directory"),
        (["RUN", " "], 2, "the sentence is blank", "at least one word"),
        (["RUN", "ba", ""], 2, "sentence 2 is blank", "at least one word"),
        (["RUN"], 2, "standard input is empty", "nmt explain RUN_DIR"),
        (["RUN", "ba " * 999], 2, "more than the 250 that a heat map can show", "one by one"),
        (["RUN", "ba", "--target", " "], 2, "the target of the sentence is blank", "at least one word"),
        (["RUN", "ba", "de", "--target", "BA"], 2, "2 sentences, but 1 targets", "one --target for each"),
        (["RUN", "ba", "--beam", "0"], 2, "search.beam_size = 0: input should be greater", "nmt config"),
        (["RUN", "ba", "--set", "model.cell=gru"], 2, "model.cell", "search"),
        (["RUN", "ba", "--set", "search.beam=3"], 2, "did you mean search.beam_size", "nmt config"),
        (["RUN", "ba", "--device", "cuda:7"], 2, "no such device: cuda:7", "available: cpu"),
        (["RUN", "ba", "de", "--svg", "OUT/a.svg"], 2, "--svg draws a single sentence, but 2 were given", "--html"),
        (["RUN", "ba", "--html", "OUT/no/a.html"], 1, "cannot write OUT/no/a.html: No such file", "another location"),
        (["RUN", "ba", "--html", "OUT"], 2, "OUT is a directory", "path of a file"),
        (["RUN", "ba", "--html", "/dev/full"], 1, "No space left", "free some space"),
    ],
)  # fmt: skip
def test_bad_input_gives_an_error_and_a_hint_and_leaves_no_files(
    nmt: Run,
    data: Path,
    run: Path,
    tmp_path: Path,
    arguments: list[str],
    code: int,
    message: str,
    hint: str,
) -> None:
    places = {"DATA": str(data), "DATA/manifest.json": str(data / "manifest.json"), "RUN": str(run)}
    given = [places.get(argument, argument).replace("OUT", str(tmp_path)) for argument in arguments]
    outcome = nmt("explain", *given, stdin="")
    said = [
        line.replace(str(data), "DATA").replace(str(tmp_path), "OUT")
        for line in (outcome.error, outcome.hint)
    ]
    assert outcome.code == code, outcome.stderr
    assert message in said[0]
    assert hint in said[1]
    assert list(tmp_path.iterdir()) == []


def test_a_failure_leaves_an_existing_file_untouched(nmt: Run, run: Path, tmp_path: Path) -> None:
    page = tmp_path / "a.html"
    page.write_text("old")
    assert nmt("explain", run, " ", "--html", page).code == 2
    assert page.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["a.html"]


def test_two_outputs_cannot_share_a_file(nmt: Run, run: Path, tmp_path: Path) -> None:
    outcome = nmt("explain", run, "ba", "--html", tmp_path / "a", "--output", tmp_path / "a")
    assert outcome.code == 2
    assert list(tmp_path.iterdir()) == []


def test_a_model_without_attention_has_no_heat_map_but_a_page(nmt: Run, data: Path, tmp_path: Path) -> None:
    train(data, tmp_path / "run", "model.preset=cho2014", "train.max_updates=1")
    outcome = nmt("explain", tmp_path / "run", "ba de", "--html", tmp_path / "a.html")
    assert outcome.code == 0, outcome.stderr
    assert "This model has no attention" in outcome.stdout
    assert "This model has no attention" in (tmp_path / "a.html").read_text("utf-8")
    outcome = nmt("explain", tmp_path / "run", "ba de", "--svg", tmp_path / "a.svg")
    assert outcome.code == 2
    assert "cho2014 has no attention, so there is no heat map to draw" in outcome.error
    assert not (tmp_path / "a.svg").exists()


def test_self_attention_is_shown_as_one_heat_map_per_layer(
    nmt: Run, data: Path, run: Path, tmp_path: Path
) -> None:
    train(data, tmp_path / "run", "model.preset=cheng2016", "train.max_updates=1")
    outcome = nmt("explain", tmp_path / "run", "ba de fi", "--self-attention")
    assert outcome.code == 0, outcome.stderr
    _, _, maps = outcome.stdout.partition("encoder, layer 1, forwards: self-attention\n")
    assert maps.split("\n")[0].split()[:2] == ["<start>", "▁ba"]
    assert maps.count(": self-attention") == 1  # the decoder's
    refused = nmt("explain", run, "ba de fi", "--self-attention")
    assert refused.code == 2
    assert "luong2015 has no self-attention" in refused.error


def test_gradients_are_shown_next_to_attention(nmt: Run, run: Path, tmp_path: Path) -> None:
    files = ("--html", tmp_path / "a.html", "--svg", tmp_path / "a.svg")
    outcome = nmt("explain", run, "ba de fi", "--gradients", *files)
    assert outcome.code == 0, outcome.stderr
    titles = ["gradient norm, as a share of the row", "gradient × input, as a share of the row", "distance"]
    places = [outcome.stdout.index(title) for title in titles]
    assert places == sorted(places)
    [found] = json.loads(nmt("explain", run, "ba de fi", "--gradients", "--json").stdout)
    assert set(found["gradients"]) == {"norms", "products", "word_norms", "word_products", "by_distance"}
    assert min(min(row) for row in found["gradients"]["norms"]) >= 0
    drawing = ElementTree.parse(tmp_path / "a.svg").getroot()
    assert len(drawing.findall("{http://www.w3.org/2000/svg}svg")) == 3
    page = (tmp_path / "a.html").read_text("utf-8")
    assert "gradient × input" in page
    assert "Gradients by distance" in page


def test_gradients_of_several_runs_are_compared_by_distance(
    nmt: Run, data: Path, run: Path, tmp_path: Path
) -> None:
    plain = tmp_path / "plain"
    train(data, plain, "model.preset=cho2014", "train.max_updates=1")
    files = ("--html", tmp_path / "a.html", "--svg", tmp_path / "a.svg")
    outcome = nmt("explain", run, plain, "ba de fi", "ba", "--gradients", *files)
    assert outcome.code == 0, outcome.stderr
    assert outcome.stdout.count("gradient norm, as a share") == 4
    table = outcome.stdout[outcome.stdout.index("mean gradient norm by distance") :]
    assert table.count("\n") > 5
    assert table.split("\n")[1].split() == ["distance", run.name, "plain"]
    assert (tmp_path / "a.svg").read_text("utf-8").count("<polyline") == 2
    assert "plain" in (tmp_path / "a.html").read_text("utf-8")
    mistaken = nmt("explain", run, tmp_path, "ba", "--gradients")
    assert mistaken.code != 0
    assert "Traceback" not in mistaken.stderr


def test_a_second_run_is_not_taken_for_a_sentence(nmt: Run, run: Path) -> None:
    for texts in ((run, "ba de fi"), ("ba de fi", run), (run,)):
        outcome = nmt("explain", run, *texts)
        assert (outcome.code, outcome.stdout) == (2, "")
        assert outcome.error == f"error: {run} is a directory, but one run is explained at a time"
        assert "--gradients" in outcome.hint


def test_a_long_sentence_is_not_looked_up_as_a_directory(nmt: Run, run: Path) -> None:
    sentence = " ".join(["ba"] * 100)
    assert len(sentence) > 255, "longer than a file name can be"
    outcome = nmt("explain", run, sentence, "--gradients", "--json")
    assert outcome.code == 0, outcome.stderr
