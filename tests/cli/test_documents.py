"""`nmt translate` with documents, with a tiny untrained model that writes anything but a translation."""

import json
from pathlib import Path

import pytest

from nmt_cli.documents.placeholders import Recognizer

from ..translator.runs import make_run  # noqa: TID252 - tests are no package
from .conftest import Run

SRT = """1
00:00:01,000 --> 00:00:02,500
Ba be bi.

2
00:00:03,000 --> 00:00:05,000
Do <i>du fa</i> fe.
"""
PO = 'msgid "Ba %s be {name}."\nmsgstr ""\n\nmsgid "do du"\nmsgstr "human"\n'


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("runs") / "run", ("search.beam_size=2",), prefers_bytes=False)


def test_an_argument_that_is_the_name_of_a_document_is_a_document(
    nmt: Run, run: Path, tmp_path: Path
) -> None:
    source, target = tmp_path / "movie.srt", tmp_path / "out.srt"
    source.write_text(SRT, "utf-8")
    outcome = nmt("translate", run, source, "-o", target)
    lines, times = target.read_text("utf-8").split("\n"), SRT.split("\n")
    assert outcome.stdout == ""
    assert "2 entries translated" in outcome.stderr or "left as" in outcome.stderr
    assert [line for line in lines if "-->" in line] == [line for line in times if "-->" in line]
    assert source.read_text("utf-8") == SRT
    same = nmt("translate", run, "-i", source)
    assert same.stdout == target.read_text("utf-8")
    assert nmt("translate", run, "--format", "srt", stdin=SRT).stdout == same.stdout


def test_a_placeholder_is_there_exactly_once_or_the_entry_is_listed(
    nmt: Run, run: Path, tmp_path: Path
) -> None:
    source = tmp_path / "a.po"
    source.write_text(PO, "utf-8")
    outcome = nmt("translate", run, source, "--in-place")
    text = source.read_text("utf-8")
    assert 'msgstr "human"' in text
    value = text.split("\nmsgstr ")[1].split("\n")[0]
    if outcome.code == 0:
        assert sorted(one.raw for one in Recognizer().placeholders((value,))) == ["%s", "{name}"]
        assert "1 entry translated, 1 had a translation already" in outcome.stderr
    else:
        assert outcome.code == 1
        assert f"warning: {source}, line 1: left as it is: " in outcome.stderr
        assert text == PO


def test_a_sentence_is_not_a_document_and_a_missing_document_is_reported(
    nmt: Run, run: Path, tmp_path: Path
) -> None:
    assert nmt("translate", run, "ba be in bi.md").code == 0
    missing = nmt("translate", run, tmp_path / "movei.srt")
    assert missing.code == 1
    assert "does not exist" in missing.error
    (tmp_path / "a.json").write_text(json.dumps({"a": "ba be"}), "utf-8")
    lines = nmt("translate", run, "-i", tmp_path / "a.json", "--format", "lines")
    assert lines.stdout.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a.po", "--tsv"], "--tsv is for lines of text"),
        (["a.po", "--format", "pot"], "there is no format pot (did you mean po?)"),
        (["a.po", "--placeholder", "("], "is not a regular expression"),
        (["a.po", "-o", "a.po"], "is the document itself"),
        (["a.po", "b.po"], "several documents need a directory"),
        (["a.po", "--in-place", "-o", "x.po"], "--in-place contradicts --output"),
        (["a.po", "do du"], "is neither a run directory nor a document"),
        (["ba be", "--all"], "--all is for documents"),
    ],
)
def test_contradictions_are_reported(
    nmt: Run, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.po", "b.po"):
        (tmp_path / name).write_text(PO, "utf-8")
    outcome = nmt("translate", run, *arguments)
    assert outcome.code == 2
    assert message in outcome.error
    assert (tmp_path / "a.po").read_text("utf-8") == PO


MEMORY = "do du\tfrom the memory\nBa {name} be %s!\tfrom a similar text {name} %s\nfa fe\tfrom the memory 2\n"


def test_documents_take_known_texts_from_the_memory_and_mark_similar_ones(
    nmt: Run, run: Path, tmp_path: Path
) -> None:
    (tmp_path / "memory.tsv").write_text(MEMORY, "utf-8")
    (tmp_path / "a.po").write_text(
        'msgid "Ba {name} be %s."\nmsgstr ""\n\nmsgid "do du"\nmsgstr ""\n', "utf-8"
    )
    (tmp_path / "a.json").write_text('{"a": "fa fe", "b": "Ba {name} be %s."}', "utf-8")
    options = ["--memory", tmp_path / "memory.tsv", "--no-fuzzy"]
    outcome = nmt("translate", run, tmp_path / "a.po", *options)
    assert outcome.code == 0, outcome.stderr
    similar, exact = outcome.stdout.split("\n\n")
    assert exact == 'msgid "do du"\nmsgstr "from the memory"\n'
    assert "#, fuzzy\n" in similar
    assert "# nmt: translation of a similar text " in similar
    assert 'msgstr "from a similar text {name} %s"' in similar
    assert "2 entries translated (1 from the memory, 1 from a similar text in the memory)" in outcome.stderr
    found = json.loads(nmt("translate", run, tmp_path / "a.json", *options[:2]).stdout)
    assert found["a"] == "from the memory 2"
    assert "similar text" not in found["b"]  # JSON cannot mark it


def test_terms_and_banned_words_hold_in_documents(nmt: Run, run: Path, tmp_path: Path) -> None:
    (tmp_path / "terms.tsv").write_text("be\tfolu\n", "utf-8")
    (tmp_path / "a.json").write_text('{"a": "ba be bi", "b": "do be"}', "utf-8")
    outcome = nmt("translate", run, tmp_path / "a.json", "--terms", tmp_path / "terms.tsv")
    found = json.loads(outcome.stdout)
    translated = [text for key, text in found.items() if text != {"a": "ba be bi", "b": "do be"}[key]]
    assert all("folu" in text for text in translated)
    assert f"{len(translated)} of {len(translated)} terms met" in outcome.stderr
    assert nmt("translate", run, tmp_path / "a.json", "--terms", tmp_path / "no.tsv").code == 1
