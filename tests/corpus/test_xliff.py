"""XLIFF 1.2 and 2.x: finished translations, segment by segment."""

from pathlib import Path

import pytest

from .conftest import failure, pairs, skipped


def one(path: Path, body: str, *, target_lang: str = ' target-language="de-DE"') -> Path:
    """XLIFF 1.2."""
    path.write_text(
        f'<xliff xmlns="urn:oasis:names:tc:xliff:document:1.2" version="1.2">'
        f'<file source-language="en-US"{target_lang} original="x">\n<body>{body}</body></file></xliff>',
        "utf-8",
    )
    return path


def two(path: Path, body: str) -> Path:
    """XLIFF 2.0."""
    path.write_text(
        '<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" xmlns:mtc="urn:oasis:names:tc:xliff:matches:2.0" '
        f'version="2.0" srcLang="en" trgLang="de">\n<file id="f">{body}</file></xliff>',
        "utf-8",
    )
    return path


def unit(source: str, target: str, attributes: str = "", state: str = "") -> str:
    return f'<trans-unit id="1"{attributes}><source>{source}</source><target{state}>{target}</target></trans-unit>'


@pytest.mark.parametrize(
    ("name", "languages", "count", "reasons"),
    [
        ("symfony-validators.de.xlf", ("en", "de"), 116, set()),
        ("symfony-validators.vi.xlf", ("en", "vi"), 102, {"fuzzy", "untranslated"}),
        ("symfony-validators.ja.xlf", ("ja", "en"), 110, {"untranslated"}),
        ("xliff-samples/resources-2.0.xlf", ("en", "ja"), 3, set()),
        ("xliff-samples/resources-multi-files.xlf", ("en", "de"), 2, {"untranslated"}),
        ("xliff-samples/withnote.xlf", ("en", "de"), 1, {"untranslated"}),
    ],
)
def test_real_files_are_read(
    corpora: Path, name: str, languages: tuple[str, str], count: int, reasons: set[str]
) -> None:
    path = corpora / "formats" / name
    found = pairs(path, *languages)
    assert len(found) == count
    assert {reason for _, reason in skipped(path, *languages)} == reasons
    assert pairs(path, *languages[::-1]) == [(target, source) for source, target in found]


def test_the_declared_encoding_is_used_and_a_broken_file_has_a_position(corpora: Path) -> None:
    samples = corpora / "formats" / "xliff-samples"
    assert pairs(samples / "encoding.xlf") == [("foo", "bär"), ("bar", "föö")]
    assert "line 8, column 15: mismatched tag" in failure(samples / "invalid-xml-resources.xlf").message


def test_unfinished_units_are_skipped_with_the_reason(tmp_path: Path) -> None:
    units = [
        unit("a", "b"),
        unit("c", "d", state=' state="translated"'),
        unit("e", ""),
        unit("f", "f", state=' state="new"'),
        unit("g", "h", state=' state="needs-review-translation"'),
        unit("i", "j", state=' state-qualifier="leveraged-mt"'),
        unit("k", "k", ' translate="no"'),
        '<trans-unit id="2"><source>l</source></trans-unit>',
    ]
    path = one(tmp_path / "x.xlf", "\n".join(units))
    assert pairs(path) == [("a", "b"), ("c", "d")]
    reasons = ["untranslated", "untranslated", "fuzzy", "fuzzy", "not_translatable", "untranslated"]
    assert skipped(path) == list(enumerate(reasons, start=4))


def test_alternatives_are_not_translations(tmp_path: Path) -> None:
    alternative = "<alt-trans><source>x</source><target>y</target></alt-trans>"
    path = one(tmp_path / "x.xlf", unit("a", "b").replace("</trans-unit>", f"{alternative}</trans-unit>"))
    assert pairs(path) == [("a", "b")]
    matches = "<mtc:matches><mtc:match><source>x</source><target>y</target></mtc:match></mtc:matches>"
    segment = "<segment><source>a</source><target>b</target></segment>"
    assert pairs(two(tmp_path / "y.xliff", f'<unit id="1">{matches}{segment}</unit>')) == [("a", "b")]


def test_segments_within_a_unit_pair_up(tmp_path: Path) -> None:
    def marked(*texts: str) -> str:
        return " ".join(f'<mrk mtype="seg" mid="{n}">{text}</mrk>' for n, text in enumerate(texts))

    body = (
        "<trans-unit id='1'><source>One. <g id='1'>Two</g>.</source>"
        f"<seg-source>{marked('One.', '<g id=~1~>Two</g>.')}</seg-source>"
        f"<target>{marked('Eins.', '<g id=~1~>Zwei</g>.')}</target></trans-unit>"
    ).replace("~", "'")
    assert pairs(one(tmp_path / "x.xlf", body)) == [("One.", "Eins."), ("Two.", "Zwei.")]
    segments = "".join(f"<segment><source>{n}</source><target>{n}!</target></segment>" for n in "ab")
    ignorable = "<ignorable><source> </source></ignorable>"
    path = two(tmp_path / "y.xlf", f'<unit id="1">{ignorable}{segments}</unit>')
    assert pairs(path) == [("a", "a!"), ("b", "b!")]


@pytest.mark.parametrize(
    ("segment", "text"),
    [
        ('Press <g id="1">Enter</g><x id="2"/>.', "Press Enter."),
        ('Hi <x id="1" equiv-text="{{ name }}"/>!', "Hi {{ name }}!"),
        ('one<x id="1" ctype="lb"/>two', "one two"),
        ('<bpt id="1">&lt;b&gt;</bpt>bold<ept id="1">&lt;/b&gt;</ept>', "bold"),
        ('<pc id="1">text</pc> <ph id="2" equiv="%d"/><sc id="3"/><ec startRef="3"/>', "text %d"),
        ('a <mrk mtype="term">term</mrk> b', "a term b"),
    ],
)
def test_inline_code_is_dropped_and_text_is_kept(tmp_path: Path, segment: str, text: str) -> None:
    assert pairs(one(tmp_path / "x.xlf", unit(segment, "z"))) == [(text, "z")]


def test_a_file_without_a_target_language_is_accepted_and_another_language_is_not(tmp_path: Path) -> None:
    assert pairs(one(tmp_path / "x.xlf", unit("a", "b"), target_lang="")) == [("a", "b")]
    error = failure(one(tmp_path / "x.xlf", unit("a", "b")), "en", "fr")
    assert "has no pairs of en and fr" in error.message
    assert "en-US, de-DE" in error.hint
