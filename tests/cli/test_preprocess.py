"""`nmt preprocess` and `nmt demo-data` as users meet them."""

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import Run

SIZE = ("--set", "vocabulary.size=400")
TEXT = Path("text")


@pytest.fixture(autouse=True)
def _in_a_folder_with_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for language, word in (("de", "Satz"), ("en", "sentence")):
        lines = [f"{word} {number} {'abc' * (number % 5)}" for number in range(300)]
        Path(f"text.{language}").write_text("\n".join(lines) + "\n", encoding="utf-8")


def left_behind() -> set[str]:
    return {path.name for path in Path().iterdir()} - {"text.de", "text.en"}


def preprocess(nmt: Run, *arguments: object, stdin: str | bytes | None = None):  # type: ignore[no-untyped-def]
    return nmt("preprocess", "--source-lang", "de", "--target-lang", "en", *arguments, stdin=stdin)


def test_results_go_to_stdout_and_messages_to_stderr(nmt: Run) -> None:
    outcome = preprocess(nmt, "--train", TEXT, "--out", "out", *SIZE)
    assert outcome.code == 0
    assert "Tokens" in outcome.stdout
    assert "wrote out" not in outcome.stdout
    assert "wrote out" in outcome.stderr
    assert "reading and cleaning: 300 in" in outcome.stderr
    assert left_behind() == {"out"}


def test_quiet_prints_nothing(nmt: Run) -> None:
    outcome = preprocess(nmt, "--train", TEXT, "--out", "out", *SIZE, "--quiet")
    assert (outcome.code, outcome.stdout, outcome.stderr) == (0, "", "")


def test_a_small_corpus_gets_a_vocabulary_that_fits(nmt: Run) -> None:
    outcome = preprocess(nmt, "--train", TEXT, "--out", "out")
    assert outcome.code == 0
    card = json.loads(Path("out/data-card.json").read_text(encoding="utf-8"))
    assert 260 < card["vocabulary"]["source_size"] < 8000


def test_keep_all_drops_nothing_and_set_turns_a_filter_on(nmt: Run) -> None:
    rows = "a\ta\n" + "".join(f"eins {n}\tone {n}\n" for n in range(50)) + "eins 3\tone 3\n"
    options = ("--train", "-", "--keep-all", "--set", "data.valid_size=0", "--set", "data.test_size=0", *SIZE)
    outcome = preprocess(nmt, *options, "--out", "all", "--set", "vocabulary.size=280", stdin=rows)
    assert outcome.code == 0, outcome.stderr
    assert json.loads(Path("all/data-card.json").read_text())["dropped"] == {}
    preprocess(
        nmt,
        *options,
        "--out",
        "some",
        "--set",
        "vocabulary.size=280",
        "--set",
        "data.duplicate=true",
        stdin=rows,
    )
    assert list(json.loads(Path("some/data-card.json").read_text())["dropped"]) == ["duplicate"]


def test_an_existing_directory_is_refused_and_replaced_with_overwrite(nmt: Run) -> None:
    assert preprocess(nmt, "--train", TEXT, "--out", "out", *SIZE).code == 0
    before = Path("out/manifest.json").read_bytes()
    refused = preprocess(nmt, "--train", TEXT, "--out", "out", "--set", "vocabulary.size=350")
    assert refused.code == 2
    assert "--overwrite" in refused.hint
    assert Path("out/manifest.json").read_bytes() == before
    assert (
        preprocess(nmt, "--train", TEXT, "--out", "out", "--overwrite", "--set", "vocabulary.size=350").code
        == 0
    )
    assert Path("out/manifest.json").read_bytes() != before
    assert left_behind() == {"out"}


def bad_inputs() -> dict[str, tuple[list[str], int, str, str]]:
    """Name → arguments, exit code, a part of the message, a part of the hint."""
    return {
        "unequal": (
            ["--train", "text.de,short.en"],
            1,
            "text.de has 300 lines, short.en has 299",
            "line n of one file",
        ),
        "empty": (["--train", "empty.de,empty.en"], 1, "empty.de is empty", ""),
        "missing": (["--train", "nothing"], 1, "nothing.de", "similar names"),
        "directory": (["--train", "folder,text.en"], 1, "folder is a directory", ""),
        "binary": (["--train", "program,text.en"], 1, "program is a program, not text", ""),
        "one long line": (
            ["--train", "long.de,long.en"],
            1,
            "line 1 is longer than 1,048,576 bytes",
            "one sentence on each line",
        ),
        "large vocabulary": (
            ["--train", "text", "--set", "vocabulary.size=50000"],
            1,
            "50000 is too large",
            "or less",
        ),
        "small vocabulary": (
            ["--train", "text", "--set", "vocabulary.size=9"],
            1,
            "9 is too small",
            "or more",
        ),
        "misspelt setting": (
            ["--train", "text", "--set", "vocabulary.sise=9"],
            2,
            "did you mean vocabulary.size",
            "nmt config",
        ),
        "two misspelt": (
            ["--train", "text", "--set", "a.b=1", "--set", "train.sed=1"],
            2,
            "a.b is not",
            "nmt config",
        ),
        "no config": (["--train", "text", "--config", "no.toml"], 2, "cannot read no.toml", "TOML"),
        "no vocabulary": (
            ["--train", "text", "--vocabulary", "folder"],
            1,
            "folder has no vocabulary",
            "shared.model",
        ),
        "unwritable list": (["--train", "text", "--dropped", "no/list.tsv"], 1, "cannot write", ""),
    }


@pytest.mark.parametrize("name", bad_inputs())
def test_bad_input_gives_an_error_and_a_hint_and_leaves_no_files(nmt: Run, name: str) -> None:
    Path("short.en").write_text("\n".join(Path("text.en").read_text().split("\n")[1:]), encoding="utf-8")
    for path in ("empty.de", "empty.en"):
        Path(path).touch()
    Path("folder").mkdir()
    Path("program").write_bytes(Path(sys.executable).resolve().read_bytes()[:200_000])
    for path in ("long.de", "long.en"):
        Path(path).write_bytes(b"x" * 10_000_000)
    before = left_behind()
    arguments, code, message, hint = bad_inputs()[name]
    outcome = preprocess(nmt, *arguments, "--out", "out")
    assert outcome.code == code
    assert message in outcome.error
    assert hint in outcome.hint
    assert outcome.stdout == ""
    assert left_behind() == before


@pytest.mark.parametrize("out", ["/proc/out", "text.de/out"])
def test_an_unwritable_output_is_one_line(nmt: Run, out: str) -> None:
    outcome = preprocess(nmt, "--train", TEXT, "--out", out, *SIZE)
    assert outcome.code == 1
    assert "cannot write" in outcome.error


COMMAND = [
    sys.executable,
    "-m",
    "nmt_cli",
    "preprocess",
    "-s",
    "de",
    "-t",
    "en",
    "--set",
    "vocabulary.size=400",
]


def test_a_full_disk_is_one_line_and_leaves_nothing() -> None:
    # A limit on the size of files stands in for a disk that is full.
    limited = f"ulimit -f 8; exec {' '.join(COMMAND)} --train text --out out"
    done = subprocess.run(["bash", "-c", limited], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    errors = [line for line in done.stderr.split("\n") if line.startswith("error: ")]
    assert len(errors) == 1
    assert "cannot write" in errors[0]
    assert "Traceback" not in done.stderr
    assert left_behind() == set()


def start_and_wait() -> subprocess.Popen[str]:
    """A run that waits for more standard input, its output under way."""
    process = subprocess.Popen(
        [*COMMAND, "--train", "-", "--out", "out"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A shell in the background would leave SIGINT ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    while not any(name.startswith(".out.partial") for name in left_behind()):
        assert process.poll() is None
    return process


@pytest.mark.parametrize(
    ("number", "code", "message"),
    [(signal.SIGINT, 130, "error: interrupted\n"), (signal.SIGTERM, 143, "error: terminated\n")],
)
def test_a_signal_leaves_nothing_behind(number: signal.Signals, code: int, message: str) -> None:
    process = start_and_wait()
    process.send_signal(number)
    stdout, stderr = process.communicate(timeout=600)
    assert (process.returncode, stdout, stderr) == (code, "", message)
    assert left_behind() == set()


def test_leftovers_of_kill_9_are_removed_by_the_next_run(nmt: Run) -> None:
    process = start_and_wait()
    process.kill()
    process.communicate()
    assert len(left_behind()) == 1
    assert preprocess(nmt, "--train", TEXT, "--out", "out", *SIZE).code == 0
    assert left_behind() == {"out"}


def test_demo_data_writes_six_texts_that_preprocess_takes(nmt: Run) -> None:
    assert nmt("demo-data", "--out", "demo", "--size", 500).code == 0
    names = {f"{split}.{language}" for split in ("train", "valid", "test") for language in ("en", "de")}
    assert {path.name for path in Path("demo").iterdir()} == {*names, "manifest.json"}
    assert len(Path("demo/train.en").read_text(encoding="utf-8").split("\n")) == 501
    specs = [part for split in ("train", "valid", "test") for part in (f"--{split}", f"demo/{split}")]
    outcome = nmt("preprocess", "-s", "en", "-t", "de", *specs, "--out", "data")
    assert outcome.code == 0, outcome.stderr
    assert "warning" not in outcome.stderr


def test_real_corpora_give_a_data_directory(nmt: Run, corpora: Path) -> None:
    multi30k = corpora / "multi30k"
    specs = [
        "--train",
        multi30k / "train",
        "--valid",
        multi30k / "val",
        "--test",
        multi30k / "test_2016_flickr",
    ]
    outcome = preprocess(nmt, *specs, "--out", "out")
    assert outcome.code == 0
    assert "warning" not in outcome.stderr
    card = json.loads(Path("out/data-card.json").read_text(encoding="utf-8"))
    assert {name: split["pairs"] for name, split in card["splits"].items()} == {
        "train": 28997,
        "valid": 1014,
        "test": 1000,
    }
    assert Path("out/test.de").read_bytes() == subprocess.check_output(
        ["gzip", "-dc", multi30k / "test_2016_flickr.de.gz"]
    )


def test_misaligned_lines_are_reported(nmt: Run, corpora: Path) -> None:
    spec = corpora / "robustness" / "misaligned.fr-wo"
    outcome = nmt("preprocess", "-s", "fr", "-t", "wo", "--train", spec, "--out", "out")
    assert outcome.code == 0
    assert "look misaligned" in outcome.stderr


def test_names_that_look_like_markup_are_printed_literally(nmt: Run) -> None:
    for language in ("de", "en"):
        Path(f"x[red]y[.{language}").write_bytes(Path(f"text.{language}").read_bytes())
    outcome = preprocess(nmt, "--train", "x[red]y[", "--out", "o[bold]")
    assert outcome.code == 0
    assert "x[red]y[" in outcome.stdout
    assert "wrote o[bold]" in outcome.stderr


def test_within_one_language_both_sides_are_kept(nmt: Run) -> None:
    rows = "".join(f"question {n}\tanswer {n}\n" for n in range(100))
    outcome = nmt("preprocess", "-s", "en", "-t", "en", "--train", "-", "--out", "out", stdin=rows)
    assert outcome.code == 0
    assert Path("out/valid.source.en").read_text().startswith("question")
    assert Path("out/valid.target.en").read_text().startswith("answer")


@pytest.mark.parametrize("language", ["", "../x", "arrow", "a b"])
def test_a_language_is_a_plain_word(nmt: Run, language: str) -> None:
    outcome = nmt("preprocess", "-s", language, "-t", "en", "--train", "text", "--out", "out")
    assert outcome.code == 2
    assert "is not a language code" in outcome.error


@pytest.mark.parametrize(
    ("dropped", "message"), [("text.de", "one of the input files"), ("out/list", "inside --out")]
)
def test_the_list_of_dropped_pairs_destroys_nothing(nmt: Run, dropped: str, message: str) -> None:
    before = Path("text.de").read_bytes()
    outcome = preprocess(nmt, "--train", TEXT, "--out", "out", "--dropped", dropped)
    assert outcome.code == 2
    assert message in outcome.error
    assert Path("text.de").read_bytes() == before


def test_a_given_vocabulary_excludes_settings_of_another(nmt: Run) -> None:
    assert preprocess(nmt, "--train", TEXT, "--out", "first", *SIZE).code == 0
    outcome = preprocess(nmt, "--train", TEXT, "--out", "second", "--vocabulary", "first", *SIZE)
    assert outcome.code == 2
    assert "vocabulary.size cannot be set together with --vocabulary" in outcome.error
    assert preprocess(nmt, "--train", TEXT, "--out", "second", "--vocabulary", "first").code == 0
    settings = json.loads(Path("second/config.json").read_text())
    assert settings["settings"]["vocabulary"]["size"] == 400
    assert settings["provenance"]["vocabulary.size"] == "--vocabulary"


def test_train_equal_to_valid_has_a_hint_of_its_own(nmt: Run) -> None:
    outcome = preprocess(nmt, "--train", TEXT, "--valid", TEXT, "--out", "out")
    assert outcome.code == 1
    assert "use other pairs" in outcome.hint


def test_too_few_pairs_to_hold_out_are_said(nmt: Run) -> None:
    rows = "".join(f"eins {n}\tone {n}\n" for n in range(10))
    outcome = preprocess(nmt, "--train", "-", "--out", "out", stdin=rows)
    assert outcome.code == 0
    assert "too little training text to hold out a valid set" in outcome.stderr


def test_similar_warnings_are_grouped_under_one_hint(nmt: Run) -> None:
    for number in range(5):
        pairs = [f"Hund {number} {i}\tdog {number} {i}\r\n" for i in range(30)]
        Path(f"{number}.tsv").write_text("".join(pairs), newline="")
    corpora = [word for number in range(5) for word in ("--train", f"{number}.tsv")]
    outcome = nmt("preprocess", "-s", "de", "-t", "en", *corpora, "--out", "out")
    assert outcome.code == 0, outcome.stderr
    lines = [line for line in outcome.stderr.splitlines() if line.startswith(("warning", "note", "hint"))]
    start = next(index for index, line in enumerate(lines) if "CR LF" in line)
    assert all("CR LF; the CR was removed" in line for line in lines[start : start + 3])
    assert lines[start + 3 : start + 5] == [
        "note: 2 more warnings of this kind; the data card has all of them",
        "hint: no action is needed",
    ]
    assert Path("out", "data-card.md").read_text().count("CR LF") == 5


def test_word_alignments_are_imported(nmt: Run) -> None:
    Path("text.align").write_text("0-0 1-1\n" * 300, encoding="utf-8")
    outcome = preprocess(nmt, "--train", TEXT, "--alignments", "text.align", "--out", "out", *SIZE)
    assert outcome.code == 0, outcome.stderr
    assert "Word alignments of train" in outcome.stdout
    [alignments] = json.loads(Path("out/data-card.json").read_text(encoding="utf-8"))["alignments"]
    assert (alignments["file"], alignments["links"]) == ("text.align", 2 * alignments["pairs"])


@pytest.mark.parametrize(
    ("arguments", "content", "code", "message", "hint"),
    [
        (
            ("--train", TEXT, "--train", TEXT),
            "0-0\n",
            2,
            "--alignments is given once and --train 2 times",
            "each",
        ),
        (
            ("--train", TEXT, "--alignments", "x"),
            "",
            2,
            "--alignments is given 2 times and --train once",
            "each",
        ),
        (
            ("--train", "x.csv"),
            "0-0\n",
            2,
            "x.csv, whose entries are not numbered by lines",
            "two text files",
        ),
        (("--train", TEXT), "0-0\n3-\n" * 150, 1, "error: links, line 2: '3-' is not a link", "0-0 1-2"),
        (
            ("--train", TEXT),
            "0-0\n" * 299 + "5-5\n",
            1,
            "links, line 300: the link 5-5 is past the end",
            "must be",
        ),
        (("--train", TEXT), "0-0\n", 1, "links has 1 lines, text has 300 pairs", "line n"),
        (
            ("--train", TEXT, "--dropped", "links"),
            "0-0\n",
            2,
            "--dropped links is one of the input files",
            "another",
        ),
        (("--train", TEXT), None, 1, "links does not exist", "similar|contains"),
    ],
)
def test_wrong_alignments_are_one_line(
    nmt: Run, arguments: tuple[str, ...], content: str | None, code: int, message: str, hint: str
) -> None:
    Path("x.csv").write_text("de,en\na,b\n", encoding="utf-8")
    if content is not None:
        Path("links").write_text(content, encoding="utf-8")
    outcome = preprocess(nmt, *arguments, "--alignments", "links", "--out", "out", *SIZE)
    assert outcome.code == code, outcome.stderr
    assert message in outcome.error
    assert re.search(hint, outcome.hint)
    assert not Path("out").exists()


def test_alignments_need_two_texts(nmt: Run) -> None:
    Path("links").write_text("0-0\n" * 300, encoding="utf-8")
    options = ("--alignments", "links", "--out", "out", "--target-lang", "en")
    monolingual = nmt("preprocess", "--train", "text.en", *options)
    assert (monolingual.code, "monolingual" in monolingual.error) == (2, True)
    Path("images").mkdir()
    captions = nmt("preprocess", "--train", "text.en", "--images", "images", *options)
    assert (captions.code, "--images" in captions.error) == (2, True)
