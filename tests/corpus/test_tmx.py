"""Translation memories: every pair of the two languages, whatever their order, codes, markup and encoding."""

import gzip
from pathlib import Path
from xml.sax.saxutils import escape

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nmt_cli.corpus.localization.xml_stream import MAX_TEXT
from nmt_cli.files.languages import choose, matches

from .conftest import Pair, blocks, failure, pairs, skipped

# What XML can contain and a reader keeps: no control characters, no line breaks.
TEXT = st.text(
    st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="\ufffe\uffff"), min_size=1, max_size=20
).filter(lambda text: bool(text.strip()))


def tmx(path: Path, body: str, *, head: str = "") -> Path:
    path.write_text(f'<?xml version="1.0"?>\n{head}<tmx version="1.4"><body>\n{body}\n</body></tmx>', "utf-8")
    return path


def unit(*variants: tuple[str, str], attribute: str = "xml:lang") -> str:
    tuvs = "".join(f'<tuv {attribute}="{code}"><seg>{text}</seg></tuv>' for code, text in variants)
    return f"<tu>{tuvs}</tu>\n"


def write(path: Path, written: list[Pair]) -> Path:
    return tmx(path, "".join(unit(("en", escape(one)), ("de", escape(other))) for one, other in written))


class TestPairs:
    @settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(written=st.lists(st.tuples(TEXT, TEXT), min_size=1), block_pairs=st.integers(1, 5))
    def test_what_was_written_is_read(self, tmp_path: Path, written: list[Pair], block_pairs: int) -> None:
        path = write(tmp_path / "x.tmx", written)
        assert pairs(path, block_pairs=block_pairs) == written
        assert pairs(path, "de", "en") == [(target, source) for source, target in written]

    def test_a_compressed_file_reads_the_same(self, tmp_path: Path) -> None:
        path = write(tmp_path / "x.tmx", [(f"text {n}", f"Text {n}") for n in range(3000)])
        (tmp_path / "y.tmx.gz").write_bytes(gzip.compress(path.read_bytes()))
        assert pairs(tmp_path / "y.tmx.gz") == pairs(path)

    def test_real_memories_are_read(self, corpora: Path) -> None:
        for language in ("fr", "zh", "sw"):
            path = corpora / "formats" / f"tico19.en-{language}.tmx.gz"
            found = pairs(path, "en", language)
            assert len(found) == 3071
            assert pairs(path, language, "en") == [(target, source) for source, target in found]

    def test_pairs_have_the_line_of_their_unit(self, tmp_path: Path) -> None:
        body = unit(("en", "a"), ("de", "b")) + "\n\n" + unit(("en", "c"), ("de", "d"))
        [block] = blocks(tmx(tmp_path / "x.tmx", body))
        assert [block.number(row) for row in (0, 1)] == [3, 6]

    @pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "iso-8859-1", "windows-1252"])
    def test_the_declared_encoding_is_used(self, tmp_path: Path, encoding: str) -> None:
        name = encoding.removesuffix("-sig")
        text = f'<?xml version="1.0" encoding="{name}"?>\n<tmx>{unit(("en", "size"), ("de", "Größe"))}</tmx>'
        (tmp_path / "x.tmx").write_bytes(text.encode(encoding))
        assert pairs(tmp_path / "x.tmx") == [("size", "Größe")]

    def test_a_unit_without_one_of_the_languages_or_without_text_is_skipped_with_the_reason(
        self, tmp_path: Path
    ) -> None:
        body = (
            unit(("en", "a"), ("de", "b"))
            + unit(("en", "a"), ("fr", "c"))
            + unit(("en", "a"), ("de", " "))
            + unit()
            + "<tu><tuv><seg>a</seg></tuv><tuv><seg>b</seg></tuv></tu>"
        )
        path = tmx(tmp_path / "x.tmx", body)
        assert pairs(path) == [("a", "b")]
        assert skipped(path) == [
            (4, "missing_language"),
            (5, "untranslated"),
            (6, "missing_language"),
            (7, "missing_language"),
        ]

    def test_the_languages_of_the_file_are_named_if_there_are_no_pairs(self, tmp_path: Path) -> None:
        error = failure(tmx(tmp_path / "x.tmx", unit(("en-US", "a"), ("fr", "c"))))
        assert "has no pairs of en and de" in error.message
        assert "en-US, fr" in error.hint

    def test_line_breaks_become_spaces(self, tmp_path: Path) -> None:
        path = tmx(tmp_path / "x.tmx", unit(("en", "\n  a\n  b\n"), ("de", "c")))
        assert pairs(path) == [("a b", "c")]


class TestLanguages:
    def test_a_language_matches_its_variants_and_nothing_else(self) -> None:
        for code in ("de", "DE", "de-DE", "de_AT", "de-Latn-CH", "de@informal"):
            assert matches(code, "de")
        for code in ("den", "en", "", "d", "ende"):
            assert not matches(code, "de")
        assert matches("de_at", "de-AT")
        assert not matches("de", "de-AT")
        assert not matches("de-DE", "de-AT")

    def test_the_exact_code_wins_over_its_variants(self) -> None:
        assert choose(["de-AT", "en", "de"], "de") == (2, False)
        assert choose(["de-AT", "en", "de-DE"], "de") == (0, True)
        assert choose(["en"], "de") == (None, False)

    @pytest.mark.parametrize("attribute", ["xml:lang", "lang"])
    def test_both_attributes_are_read(self, tmp_path: Path, attribute: str) -> None:
        body = unit(("EN-us", "a"), ("de_DE", "b"), attribute=attribute)
        assert pairs(tmx(tmp_path / "x.tmx", body)) == [("a", "b")]

    def test_variants_are_counted_and_ambiguous_units_reported(self, tmp_path: Path) -> None:
        body = unit(("en", "a"), ("de-DE", "b"), ("de-AT", "c")) + unit(("en", "d"), ("de-AT", "e"))
        path = tmx(tmp_path / "x.tmx", body)
        [block] = blocks(path)
        assert block.target == ["b", "e"]
        assert block.removed == {"several variants": 1}
        assert block.variants == {"source en": 2, "target de-DE": 1, "target de-AT": 1}
        assert pairs(path, "en", "de-AT") == [("a", "c"), ("d", "e")]


class TestMarkup:
    @pytest.mark.parametrize(
        ("segment", "text"),
        [
            ('a <bpt i="1">&lt;b&gt;</bpt>bold<ept i="1">&lt;/b&gt;</ept> word', "a bold word"),
            ("<hi>marked</hi> text", "marked text"),
            ('<it pos="begin">{\\i </it>text', "text"),
            ("<ut>code</ut>text", "text"),
            ("Hello <ph>%s</ph>, <ph>{0}</ph>!", "Hello %s, {0}!"),
            ('<ph>&lt;img alt="<sub>inner</sub>"/&gt;</ph>text', "text"),
            ("one<ph>&lt;br/&gt;</ph>two", "one two"),
            ('one<ph type="lb"/>two', "one two"),
            ("<![CDATA[1 < 2 & 3]]> &amp; &lt;&#228;", "1 < 2 & 3 & <ä"),
        ],
    )
    def test_code_is_dropped_and_text_is_kept(self, tmp_path: Path, segment: str, text: str) -> None:
        assert pairs(tmx(tmp_path / "x.tmx", unit(("en", segment), ("de", "x")))) == [(text, "x")]


LAUGHS = '<!DOCTYPE tmx [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>\n'


class TestHostileXml:
    def test_an_entity_bomb_is_an_error(self, tmp_path: Path) -> None:
        error = failure(tmx(tmp_path / "x.tmx", unit(("en", "&b;"), ("de", "x")), head=LAUGHS))
        assert "x.tmx, line 2, column" in error.message
        assert "entity a is declared" in error.message

    @pytest.mark.parametrize(
        "declaration", ['<!ENTITY secret SYSTEM "{file}">', '<!ENTITY % outside SYSTEM "{file}"> %outside;']
    )
    def test_no_other_file_is_read(self, tmp_path: Path, declaration: str) -> None:
        (tmp_path / "secret").write_text("secret")
        head = f"<!DOCTYPE tmx [{declaration.format(file=tmp_path / 'secret')}]>\n"
        error = failure(tmx(tmp_path / "x.tmx", unit(("en", "&secret;"), ("de", "x")), head=head))
        assert "is declared" in error.message

    def test_a_dtd_is_not_opened_and_does_not_hide_undefined_entities(self, tmp_path: Path) -> None:
        head = '<!DOCTYPE tmx SYSTEM "http://127.0.0.1:9/tmx14.dtd">\n'
        assert pairs(tmx(tmp_path / "x.tmx", unit(("en", "a"), ("de", "b")), head=head)) == [("a", "b")]
        error = failure(tmx(tmp_path / "x.tmx", unit(("en", "a&nbsp;b"), ("de", "b")), head=head))
        assert "line 4" in error.message
        assert "&nbsp; is not defined" in error.message

    def test_broken_xml_is_an_error_with_its_position(self, tmp_path: Path) -> None:
        error = failure(tmx(tmp_path / "x.tmx", unit(("en", "a"), ("de", "<b>"))))
        assert error.message == f"{tmp_path}/x.tmx, line 3, column 71: mismatched tag"
        (tmp_path / "x.tmx").write_text("<tmx><body><tu>")
        assert "line 1, column 16: no element found" in failure(tmp_path / "x.tmx").message

    def test_a_wrong_encoding_is_an_error_with_its_position(self, tmp_path: Path) -> None:
        path = tmx(tmp_path / "x.tmx", unit(("en", "a"), ("de", "Grüße")))
        path.write_bytes(path.read_text("utf-8").encode("latin-1"))
        error = failure(path)
        assert "line 3, column" in error.message
        assert "byte 0xFC does not fit the encoding" in error.message
        path.write_text('<?xml version="1.0" encoding="klingon"?><tmx/>')
        assert "encoding" in failure(path).message

    def test_an_endless_segment_tag_or_nesting_is_an_error(self, tmp_path: Path) -> None:
        path = tmp_path / "x.tmx"
        assert (
            "segment is longer" in failure(tmx(path, unit(("en", "a" * (MAX_TEXT + 1)), ("de", "b")))).message
        )
        assert "tag is longer" in failure(tmx(path, f'<tu id="{"a" * (1 << 23)}"/>')).message
        assert "nested more than" in failure(tmx(path, "<a>" * 1000)).message

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ("", "is empty"),
            ("<xliff/>", "not TMX: its root element is <xliff>"),
            ("hello", "line 1, column 1"),
        ],
    )
    def test_a_file_that_is_not_tmx_is_an_error(self, tmp_path: Path, content: str, message: str) -> None:
        (tmp_path / "x.tmx").write_text(content)
        assert message in failure(tmp_path / "x.tmx").message

    def test_a_memory_without_units_is_an_error(self, tmp_path: Path) -> None:
        assert "has no translations" in failure(tmx(tmp_path / "x.tmx", "")).message
