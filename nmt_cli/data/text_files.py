"""The raw text of validation and test: how its files are called, in data and run directories alike."""

import re

from nmt_cli.errors import UsageError

_CODE = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_TAKEN = ("arrow", "model")  # endings of other files


def text_names(split: str, source_lang: str, target_lang: str) -> tuple[str, ...]:
    """Such as `valid.de` and `valid.en`; within one language `valid.source.en` and `valid.target.en`.

    One-sided text, whose source language is "", has `valid.en` alone.
    """
    if not source_lang:
        return (f"{split}.{target_lang}",)
    if source_lang == target_lang:
        return f"{split}.source.{source_lang}", f"{split}.target.{target_lang}"
    return f"{split}.{source_lang}", f"{split}.{target_lang}"


def check_language(code: str) -> None:
    """A language code is a part of file names, so it has to be a plain word."""
    if not _CODE.fullmatch(code) or code in _TAKEN:
        raise UsageError(f"{code!r} is not a language code", hint="use a code such as de, en or pt_BR")
