"""PO: only what is empty is filled in, and msgfmt accepts the result."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from nmt_cli.documents.plural_forms import plural_forms, rule_of_language
from nmt_cli.documents.segment_translation import SegmentTranslator

from .samples import PO
from .translators import SWAPPED, by_line, read, translate

needs_gettext = pytest.mark.skipif(not shutil.which("msgfmt"), reason="gettext is not installed")


def filled(data: str | bytes, translator: SegmentTranslator = SWAPPED, **options: Any) -> str:
    return translate(data, "po", translator, **options).decode()


def message(text: str, msgid: str) -> str:
    return next(block for block in text.split("\n\n") if f'msgid "{msgid}"' in block)


def test_only_empty_translations_are_filled_in() -> None:
    text = filled(PO)
    assert 'msgstr "fertig"' in text
    assert message(text, "unsure") == message(PO, "unsure")
    assert text.endswith('#~ msgid "obsolete"\n#~ msgstr "veraltet"\n')
    assert not re.search(r'msgstr(\[\d\])? ""\n(?!")', text)
    assert text.split("\n\n")[0] == PO.split("\n\n")[0]


def test_translations_are_marked() -> None:
    copied = message(filled(PO), "Copied %s to %s.\\\\n".replace("\\\\", "\\"))
    lines = copied.split("\n")
    assert lines[0].startswith("# nmt: machine translation ")
    assert lines[1:4] == ["#. extracted", "#: main.c:10", "#, fuzzy, c-format"]
    assert lines[-1] == 'msgstr "cOPIED %s TO %s.\\n"'
    menu = message(filled(PO), "_Open").split("\n")
    assert menu[0] == "# a human wrote this"
    assert menu[-3:] == ['msgctxt "menu"', 'msgid "_Open"', 'msgstr "_oPEN"']
    assert "fuzzy" not in filled(PO, fuzzy=False).replace('#, fuzzy\nmsgid "unsure"', "")


def test_all_redoes_what_nmt_made_and_nobody_changed() -> None:
    first = filled(PO)
    assert filled(first) == first
    again = by_line(lambda text: "Neu.")
    redone = filled(first, again, redo=True)
    assert redone.count("Neu.") >= 2
    assert filled(first, redo=True) == first
    edited = first.replace('msgstr "_oPEN"', 'msgstr "_Human"')
    approved = message(edited, "%d file").replace("#, fuzzy, c-format", "#, c-format")
    edited = edited.replace(message(edited, "%d file"), approved)
    redone = filled(edited, again, redo=True)
    assert 'msgstr "_Human"' in redone
    assert approved in redone


@pytest.mark.parametrize(
    ("language", "numbers"),
    [
        ("de", {0: 1, 1: 0}),
        ("fr", {0: 0, 1: 0, 2: 1}),
        ("ja", {1: 0, 5: 0}),
        ("ru", {1: 0, 3: 1, 5: 2, 21: 0}),
    ],
)
def test_plural_rules_of_languages(language: str, numbers: dict[int, int]) -> None:
    forms = plural_forms(rule_of_language(language) or "")
    assert forms is not None
    assert {n: form for n in numbers for form in range(forms.size) if n in forms.numbers[form]} == numbers


@pytest.mark.parametrize(
    "rule",
    [
        "",
        "nplurals=2; plural=n",
        "nplurals=2; plural=__import__('os')",
        "nplurals=2; plural=(((n;",
        "nplurals=9",
    ],
)
def test_a_wrong_plural_rule_is_not_evaluated(rule: str) -> None:
    assert plural_forms(rule) is None


def test_each_plural_form_is_a_translation_of_singular_or_plural() -> None:
    rule = rule_of_language("ru") or ""
    text = PO.replace("nplurals=2; plural=(n != 1);", rule).replace(
        'msgstr[1] ""', 'msgstr[1] ""\nmsgstr[2] ""'
    )
    assert 'msgstr[0] "%d FILE"\nmsgstr[1] "%d FILES"\nmsgstr[2] "%d FILES"' in filled(text)
    # The first form is also used for 21, which "one file" is not.
    different = text.replace('msgid "%d file"', 'msgid "one file"')
    assert 'msgstr[0] "%d FILES"\nmsgstr[1] "%d FILES"' in filled(different)


def test_long_strings_are_wrapped_unless_the_file_is_not() -> None:
    source = "many words " * 20
    strings = "\n".join(f'"{source[i : i + 55]}"' for i in range(0, len(source), 55))
    wrapped = filled(f'msgid ""\n{strings}\nmsgstr ""\n')
    assert all(len(line) <= 79 for line in wrapped.split("\n"))
    assert len(filled(f'msgid ""\n"{source[:-1]}"\nmsgstr ""\n').split("\n")) <= 7


def test_a_template_gets_encoding_language_and_plural_forms() -> None:
    template = (
        'msgid ""\nmsgstr ""\n"Language: \\n"\n"Content-Type: text/plain; charset=CHARSET\\n"\n'
        '"Plural-Forms: nplurals=INTEGER; plural=EXPRESSION;\\n"\n\nmsgid "a"\nmsgid_plural "b"\n'
        'msgstr[0] ""\nmsgstr[1] ""\n'
    )
    text = filled(template, target_language="ja")
    assert "charset=UTF-8" in text
    assert "Language: ja" in text
    assert "nplurals=1" in text
    assert "msgstr[1]" not in text


def test_another_encoding_is_kept() -> None:
    data = PO.replace("UTF-8", "ISO-8859-1").replace("fertig", "öfter").encode("latin-1")
    assert read(data, "po").encoding == "iso8859-1"
    assert "öfter".encode("latin-1") in translate(data, "po", SWAPPED)


@needs_gettext
@pytest.mark.parametrize("options", [{}, {"fuzzy": False}])
def test_msgfmt_accepts_the_result_and_msgcat_changes_nothing(
    tmp_path: Path, options: dict[str, Any]
) -> None:
    path = tmp_path / "a.po"
    text = filled(PO, **options)
    path.write_text(text, "utf-8")
    subprocess.run(["msgfmt", "--check", "-o", tmp_path / "a.mo", path], check=True)
    done = subprocess.run(["msgcat", path], capture_output=True, check=True, encoding="utf-8")
    blocks = [
        block for block in text.split("\n\n") if "long text" not in block
    ]  # its source was wrapped by hand
    for block in blocks:
        assert block.strip() in done.stdout
