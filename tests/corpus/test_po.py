"""Gettext PO: finished entries, plural forms, several files."""

import gzip
from pathlib import Path

import pytest

from nmt_cli.corpus.localization.po import Entry, plural_forms, read_entries

from .conftest import blocks, failure, pairs, skipped

HEADER = 'msgid ""\nmsgstr ""\n"Language: {language}\\n"\n"Content-Type: text/plain; charset={charset}\\n"\n'


def po(path: Path, body: str, *, language: str = "de", charset: str = "UTF-8", more: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = HEADER.format(language=language, charset=charset) + f"{more}\n{body}"
    path.write_bytes(text.encode(charset))
    return path


def entry(source: str, target: str) -> str:
    return f'msgid "{source}"\nmsgstr "{target}"\n\n'


@pytest.mark.parametrize(
    ("language", "counts"),
    [("de", (545, 707, 2441, 465)), ("fr", (309, 1158, 2079, 0)), ("vi", (806, 0, 2805, 46))],
)
def test_real_files_have_the_published_counts(
    corpora: Path, language: str, counts: tuple[int, int, int, int]
) -> None:
    path = corpora / "formats" / f"comprehensive-rust.{language}.po.gz"
    reasons = [reason for _, reason in skipped(path, "en", language)]
    found = (len(pairs(path, "en", language)), *map(reasons.count, ("fuzzy", "untranslated", "obsolete")))
    assert found == counts


def test_a_real_file_can_be_read_in_both_directions(corpora: Path) -> None:
    path = corpora / "formats" / "python-docs-es.functions.po"
    found = pairs(path, "en", "es")
    assert len(found) == 458
    assert pairs(path, "es", "en") == [(target, source) for source, target in found]


def test_a_compressed_file_reads_the_same(tmp_path: Path) -> None:
    path = po(tmp_path / "x.po", "".join(entry(f"text {n}", f"Text {n}") for n in range(1000)))
    (tmp_path / "x.po.gz").write_bytes(gzip.compress(path.read_bytes()))
    assert pairs(tmp_path / "x.po.gz") == pairs(path)


def test_strings_are_joined_and_unescaped(tmp_path: Path) -> None:
    body = 'msgid ""\n"one "\n"\\"two\\"\\t\\\\n"\nmsgstr "\\303 \\x41" "!\\n"\n'
    assert pairs(po(tmp_path / "x.po", body)) == [('one "two"\t\\n', "Ã A!")]


def test_unfinished_entries_are_skipped_with_line_and_reason(tmp_path: Path) -> None:
    body = (
        entry("a", "b")
        + entry("c", "")
        + '#, c-format, fuzzy\n#| msgid "old"\n'
        + entry("d", "e")
        + '#~ msgid "f"\n#~ msgstr "g"\n\n#~| msgid "x"\n#~ msgid "h"\n#~ msgstr "i"\n'
    )
    path = po(tmp_path / "x.po", body)
    assert pairs(path) == [("a", "b")]
    assert skipped(path) == [(9, "untranslated"), (14, "fuzzy"), (17, "obsolete"), (21, "obsolete")]


def test_equal_sources_with_different_contexts_are_both_kept(tmp_path: Path) -> None:
    body = 'msgctxt "menu"\n' + entry("Open", "Öffnen") + 'msgctxt "state"\n' + entry("Open", "Offen")
    assert pairs(po(tmp_path / "x.po", body)) == [("Open", "Öffnen"), ("Open", "Offen")]


class TestPlurals:
    BODY = 'msgid "%d file"\nmsgid_plural "%d files"\n'

    @pytest.mark.parametrize(
        ("rule", "forms", "expected"),
        [
            ("nplurals=2; plural=(n != 1)", "ab", [("%d file", "a"), ("%d files", "b")]),
            ("nplurals=1; plural=0", "a", [("%d files", "a")]),
            (
                "nplurals=3; plural=(n%10==1 && n%100!=11 ? 0 : n%10>=2 && n%10<=4 ? 1 : 2)",
                "abc",
                [("%d file", "a"), ("%d files", "b"), ("%d files", "c")],
            ),
            (
                "nplurals=3; plural=(n==0 ? 0 : n==1 ? 1 : 2)",
                "abc",
                [("%d files", "a"), ("%d file", "b"), ("%d files", "c")],
            ),
        ],
    )
    def test_forms_pair_up_by_the_rule_of_the_header(
        self, tmp_path: Path, rule: str, forms: str, expected: list[tuple[str, str]]
    ) -> None:
        body = self.BODY + "".join(f'msgstr[{n}] "{form}"\n' for n, form in enumerate(forms))
        assert pairs(po(tmp_path / "x.po", body, more=f'"Plural-Forms: {rule};\\n"\n')) == expected

    def test_an_untranslated_form_is_skipped(self, tmp_path: Path) -> None:
        path = po(tmp_path / "x.po", self.BODY + 'msgstr[0] "a"\nmsgstr[1] ""\n')
        assert pairs(path) == [("%d file", "a")]
        assert skipped(path) == [(6, "untranslated")]

    @pytest.mark.parametrize(
        "rule", ["", "nplurals=2", "nplurals=2; plural=__import__('os')", "nplurals=2; plural=1/0"]
    )
    def test_a_rule_that_cannot_be_read_is_that_of_english(self, rule: str) -> None:
        assert plural_forms(rule) == (2, 0)


class TestLanguages:
    def test_a_directory_is_read_as_a_whole_and_other_languages_are_skipped(self, tmp_path: Path) -> None:
        folder = tmp_path / "po"
        po(folder / "a" / "de.po", entry("a", "b"), language="de_DE")
        po(folder / "b" / "de.po", entry("c", "d"))
        po(folder / "b" / "fr.po", entry("c", "x"), language="fr")
        (folder / "README").write_text("not a corpus")
        assert pairs(folder) == [("a", "b"), ("c", "d")]
        assert [reason for _, reason in skipped(folder)] == ["other_language"]
        assert pairs(f"{folder}/**/de.po") == [("a", "b"), ("c", "d")]
        assert skipped(f"{folder}/*/de.po") == []

    def test_the_folder_tells_the_language_if_the_header_does_not(self, tmp_path: Path) -> None:
        for language in ("de", "fr"):
            po(tmp_path / language / "LC_MESSAGES" / "x.po", entry("a", language), language="")
        assert pairs(tmp_path) == [("a", "de")]

    def test_no_match_for_a_pattern_is_an_error(self, tmp_path: Path) -> None:
        po(tmp_path / "x.po", entry("a", "b"))
        assert "no file matches" in failure(f"{tmp_path}/y*.po").message

    def test_a_directory_of_several_formats_is_ambiguous(self, tmp_path: Path) -> None:
        po(tmp_path / "x.po", entry("a", "b"))
        (tmp_path / "x.tmx").touch()
        error = failure(tmp_path)
        assert "1 PO and 1 TMX" in error.message
        assert "pattern" in error.hint

    def test_a_file_of_another_language_is_an_error_that_names_it(self, tmp_path: Path) -> None:
        error = failure(po(tmp_path / "x.po", entry("a", "b"), language="fr"))
        assert "has no pairs of en and de" in error.message
        assert "it has fr" in error.hint

    def test_a_file_without_finished_entries_is_an_error_that_counts_them(self, tmp_path: Path) -> None:
        error = failure(po(tmp_path / "x.po", entry("a", "") + entry("b", "")))
        assert "no finished translations (untranslated 2)" in error.message

    def test_a_block_names_its_file_and_counts_lines_through_all_files(self, tmp_path: Path) -> None:
        for name in ("a.po", "b.po"):
            po(tmp_path / name, entry(name, "x"))
        one, two = blocks(tmp_path)
        assert one.number(0) == 6
        assert two.file is not None
        assert two.file[0].endswith("b.po")
        assert two.number(0) - two.file[1] == 6


class TestEncoding:
    def test_the_charset_of_the_header_is_used(self, tmp_path: Path) -> None:
        assert pairs(po(tmp_path / "x.po", entry("size", "Größe"), charset="ISO-8859-1")) == [
            ("size", "Größe")
        ]
        assert pairs(po(tmp_path / "x.po", entry("size", "размер"), charset="KOI8-R")) == [("size", "размер")]

    def test_a_byte_that_does_not_fit_marks_its_entry(self, tmp_path: Path) -> None:
        path = po(tmp_path / "x.po", entry("a", "b") + entry("size", "Größe") + entry("c", "d"))
        path.write_bytes(path.read_bytes().replace("ö".encode(), b"\xf6"))
        [block] = blocks(path)
        assert block.damage == {1: "undecodable"}


class TestSyntax:
    @pytest.mark.parametrize(
        ("body", "message"),
        [
            ('msgid "a\nmsgstr "b"\n', "line 6: a string is not closed"),
            ('msgid "a"\nmsgstr "b" c\n', "line 7: a string is not closed, or text follows it"),
            ('msgid "a"\nmsgstr "b"\nmsgstr "c"\n', "line 8: msgstr occurs twice"),
            ('msgid "a"\nmsgid_plural "b"\nmsgid_plural "c"\n', "line 8: msgid_plural occurs twice"),
            ('msgid "a"\n\nmsgid "b"\nmsgstr "c"\n', "line 6: the entry has no msgstr"),
            ('msgctxt "a"\nmsgstr "b"\n', "line 6: the entry has no msgid"),
            ("hello\n", "line 6: 'hello' is neither a keyword nor a comment"),
            ('msgid "a"\nmsgstr "b"\n\n"c"\n', "line 9: '\"c\"' is neither"),
        ],
    )
    def test_a_broken_file_is_an_error_with_its_line(self, tmp_path: Path, body: str, message: str) -> None:
        assert f"x.po, {message}" in failure(po(tmp_path / "x.po", body)).message

    def test_an_entry_knows_the_lines_of_its_parts(self) -> None:
        lines = ["# note", "#, fuzzy", 'msgctxt "c"', 'msgid ""', '"a"', 'msgstr "b"', "", '#~ msgid "d"']
        [found, obsolete] = read_entries([*lines, '#~ msgstr "e"'], "x.po")
        assert isinstance(found, Entry)
        assert (found.first, found.line) == (1, 3)
        assert found.source is not None
        assert (found.source.text, found.source.first, found.source.last) == ("a", 4, 5)
        assert (found.targets[0].first, found.is_fuzzy, obsolete.obsolete) == (6, True, True)
