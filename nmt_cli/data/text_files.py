"""File names of the raw validation and test text, in data and run directories alike."""

import re

from nmt_cli.errors import UsageError

_CODE = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_TAKEN = ("arrow", "model")  # suffixes of other files


def text_names(split: str, source_lang: str, target_lang: str) -> tuple[str, ...]:
    """Such as `valid.de` and `valid.en`; within one language `valid.source.en` and `valid.target.en`.

    Monolingual text, whose source language is "", has only `valid.en`.
    """
    if not source_lang:
        return (f"{split}.{target_lang}",)
    if source_lang == target_lang:
        return f"{split}.source.{source_lang}", f"{split}.target.{target_lang}"
    return f"{split}.{source_lang}", f"{split}.{target_lang}"


def is_language(code: object) -> bool:
    """Whether something is a language code: a plain word, since it becomes part of file names."""
    return isinstance(code, str) and _CODE.fullmatch(code) is not None and code not in _TAKEN


def check_language(code: str) -> None:
    """Raise an error if a language code, which becomes part of file names, is not a plain word."""
    if not is_language(code):
        raise UsageError(f"{code!r} is not a language code", hint="use a code such as de, en or pt_BR")
