"""Files: where translations go, what is never overwritten, and how an interrupted job continues."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from nmt_cli.documents.document import DocumentOptions
from nmt_cli.documents.driver import Finished, open_documents, plan_jobs, translate_documents
from nmt_cli.documents.segment_translation import SegmentTranslator
from nmt_cli.errors import CorpusError, NmtError, UsageError

from .samples import SAMPLES
from .translators import SWAPPED, Line, translate


def run(
    sources: Sequence[Path],
    output: Path | None,
    translator: SegmentTranslator = SWAPPED,
    *,
    in_place: bool = False,
    window: int = 2000,
) -> list[Finished]:
    jobs = plan_jobs(sources, output=output, in_place=in_place, format_name=None)
    opened = open_documents(jobs, DocumentOptions())
    found = translate_documents(
        opened, translator, window=window, facts={"model": 1}, progress=lambda _: None, write=lambda _: None
    )
    return list(found)


@pytest.fixture
def sources(tmp_path: Path) -> list[Path]:
    paths = [tmp_path / "a.md", tmp_path / "b.po"]
    for path, name in zip(paths, ("markdown", "po"), strict=True):
        path.write_text(SAMPLES[name], "utf-8")
    return paths


def test_several_documents_go_to_a_directory_and_share_batches(sources: list[Path], tmp_path: Path) -> None:
    calls: list[int] = []

    def lines(texts: Sequence[str], align: bool) -> list[Line]:
        calls.append(len(texts))
        return [Line(text.swapcase()) for text in texts]

    finished = run(sources, tmp_path / "out", SegmentTranslator(lines))
    assert [(tmp_path / "out" / path.name).read_bytes() for path in sources] == [
        translate(SAMPLES["markdown"], "markdown", SWAPPED),
        translate(SAMPLES["po"], "po", SWAPPED),
    ]
    assert [one.skipped for one in finished] == [0, 2]
    assert len(calls) <= 5  # with and without attention, and once more without placeholders
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["a.md", "b.po"]


def test_the_input_is_overwritten_only_if_asked(sources: list[Path], tmp_path: Path) -> None:
    (tmp_path / "link.md").symlink_to(sources[0])
    for output in (sources[0], tmp_path / "link.md", tmp_path):
        with pytest.raises(UsageError, match="is the document itself"):
            run(sources[:1], output)
    with pytest.raises(UsageError, match="contradicts"):
        run(sources, tmp_path, in_place=True)
    with pytest.raises(UsageError, match="several documents need a directory"):
        run(sources, None)
    run(sources[:1], None, in_place=True)
    assert sources[0].read_bytes() == translate(SAMPLES["markdown"], "markdown", SWAPPED)


def test_two_documents_never_go_to_the_same_file(sources: list[Path], tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "a.md").write_text("x\n", "utf-8")
    with pytest.raises(UsageError, match="would both be written"):
        run([sources[0], tmp_path / "other" / "a.md"], tmp_path / "out")


def test_nothing_is_written_if_one_document_is_broken(sources: list[Path], tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text("{", "utf-8")
    with pytest.raises(CorpusError, match=r"c\.json"):
        run([*sources, tmp_path / "c.json"], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_an_interrupted_job_continues_where_it_stopped(sources: list[Path], tmp_path: Path) -> None:
    target = tmp_path / "out.md"
    seen: list[str] = []

    def lines(texts: Sequence[str], align: bool) -> list[Line]:
        if len(seen) > 5:
            raise KeyboardInterrupt
        seen.extend(texts)
        return [Line(text.swapcase()) for text in texts]

    with pytest.raises(KeyboardInterrupt):
        run(sources[:1], target, SegmentTranslator(lines), window=2)
    assert not target.exists()
    assert (tmp_path / "out.md.partial").exists()
    before = set(seen)
    seen.clear()

    def rest(texts: Sequence[str], align: bool) -> list[Line]:
        seen.extend(texts)
        return [Line(text.swapcase()) for text in texts]

    with (tmp_path / "out.md.partial").open("ab") as file:
        file.write(b'["incomplete')  # as of a process that was killed
    run(sources[:1], target, SegmentTranslator(rest), window=2)
    assert target.read_bytes() == translate(SAMPLES["markdown"], "markdown", SWAPPED)
    assert not before & set(seen)
    assert not (tmp_path / "out.md.partial").exists()


def _interrupted(source: Path, target: Path) -> None:
    """A job that is stopped when about half of its segments are done."""
    done: list[str] = []

    def lines(texts: Sequence[str], align: bool) -> list[Line]:
        if len(done) > 5:
            raise KeyboardInterrupt
        done.extend(texts)
        return [Line(text.swapcase()) for text in texts]

    with pytest.raises(KeyboardInterrupt):
        run([source], target, SegmentTranslator(lines), window=2)


@pytest.mark.parametrize(
    "damage",
    [
        lambda lines: [lines[0], lines[1].replace(b'"]', b'X"]').replace(b"e", b"o", 5), *lines[2:]],
        lambda lines: [lines[0], b"5\n", *lines[1:]],
        lambda lines: [lines[0], b"[" * 100_000 + b"\n"],
        lambda lines: [lines[0], lines[1][:-1] + b"\xff\n"],
        lambda lines: [lines[0][: len(lines[0]) // 2]],
        lambda lines: [b"nmt-j"],
        lambda lines: [],
    ],
)
def test_a_damaged_journal_does_not_change_the_result(
    sources: list[Path], tmp_path: Path, damage: Callable[[list[bytes]], list[bytes]]
) -> None:
    _interrupted(sources[0], tmp_path / "out.md")
    journal = tmp_path / "out.md.partial"
    journal.write_bytes(b"".join(damage(journal.read_bytes().splitlines(keepends=True))))
    run(sources[:1], tmp_path / "out.md")
    assert (tmp_path / "out.md").read_bytes() == translate(SAMPLES["markdown"], "markdown", SWAPPED)
    assert not journal.exists()


def test_a_journal_replaces_no_other_file(sources: list[Path], tmp_path: Path) -> None:
    journal, mine = tmp_path / "out.md.partial", tmp_path / "mine"
    mine.write_text("mine\n")
    places: dict[str, Callable[[], object]] = {
        "was not written by nmt": lambda: journal.write_text("mine\n"),
        "is a symbolic link": lambda: journal.symlink_to(mine),
        "is a hard link": lambda: journal.hardlink_to(mine),
        "is a pipe": lambda: os.mkfifo(journal),
    }
    for reason, make in places.items():
        make()
        with pytest.raises(NmtError, match=reason):
            run(sources[:1], tmp_path / "out.md")
        assert reason == "is a pipe" or journal.read_text() == "mine\n"
        journal.unlink()
    assert mine.read_text() == "mine\n"


def test_a_character_that_the_encoding_lacks_leaves_the_entry(tmp_path: Path) -> None:
    path = tmp_path / "a.po"
    text = SAMPLES["po"].replace("UTF-8", "ISO-8859-1")
    path.write_bytes(text.encode("latin-1"))

    def lines(texts: Sequence[str], align: bool) -> list[Line]:
        return [Line("漢字") for _ in texts]

    [finished] = run([path], tmp_path / "out.po", SegmentTranslator(lines))
    assert finished.translated == 0
    assert "cannot be written in ISO8859-1" in finished.untouched[-1].reason
    assert (tmp_path / "out.po").read_bytes() == path.read_bytes()
