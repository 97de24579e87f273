"""A unit of a localization file: a source text and its translation, or the reason why it is skipped."""

from typing import NamedTuple

# Why a unit is not a pair to learn from. The names appear in the data card.
UNTRANSLATED = "untranslated"
FUZZY = "fuzzy"
OBSOLETE = "obsolete"
NOT_TRANSLATABLE = "not_translatable"
MISSING_LANGUAGE = "missing_language"
OTHER_LANGUAGE = "other_language"


class Unit(NamedTuple):
    """One pair of a localization file, with line breaks as they are."""

    line: int  # where it starts, from 1
    source: str
    target: str
    skipped: str = ""  # the reason; "" for a finished translation
    context: str = ""  # what distinguishes equal sources, such as the msgctxt of PO
    source_code: str = ""  # the language codes in the file, if it has any
    target_code: str = ""
    several: bool = False  # the unit has more than one variant of a language, and the first was taken
    damaged: bool = False  # it has bytes that cannot be decoded
