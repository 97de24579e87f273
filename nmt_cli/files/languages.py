"""Language codes as files spell them, and the names of files that are named after them.

`de` matches `de`, `DE-AT`, `de_DE` and `de@informal`, but not `den`.
"""

import re
from collections.abc import Sequence
from functools import lru_cache

from nmt_cli.errors import UsageError

_SEPARATOR = re.compile(r"[-_@.]")
_CODE = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_TAKEN = ("arrow", "model", "images", "objects", "frames", "frame_ends")  # parts of the names of other files
BACKBONE = "backbone.safetensors"
"""The weights of the network that computes the features of images, in a data or run directory."""
IMAGE = "image"
"""The source language of captioned images: the source text of a pair is the name of its image."""
AUDIO = "audio"
"""The source language of recordings: the source text of a pair is the name of its recording."""


@lru_cache(maxsize=1024)  # a file has few codes and many units
def normalized(code: str) -> str:
    """Lowercase, with hyphens: `de_AT` is `de-at`."""
    return _SEPARATOR.sub("-", code.strip().lower())


@lru_cache(maxsize=1024)
def matches(code: str, wanted: str) -> bool:
    """Whether a code in a file is the wanted language or a variant of it."""
    code, wanted = normalized(code), normalized(wanted)
    return code == wanted or code.startswith(f"{wanted}-")


def choose(codes: Sequence[str], wanted: str) -> tuple[int | None, bool]:
    """The index of the wanted language among codes, and whether several variants match and none exactly.

    The exact code wins over its variants; otherwise, the first variant wins.
    """
    found = [index for index, code in enumerate(codes) if matches(code, wanted)]
    for index in found:
        if normalized(codes[index]) == normalized(wanted):
            return index, False
    return (found[0] if found else None), len(found) > 1


def text_names(split: str, source_lang: str, target_lang: str) -> tuple[str, ...]:
    """Such as `valid.de` and `valid.en`; within one language `valid.source.en` and `valid.target.en`.

    Monolingual text, whose source language is "", has only `valid.en`.
    """
    if not source_lang:
        return (f"{split}.{target_lang}",)
    if source_lang == target_lang:
        return f"{split}.source.{source_lang}", f"{split}.target.{target_lang}"
    return f"{split}.{source_lang}", f"{split}.{target_lang}"


def images_name(split: str) -> str:
    """The file with the images of a split."""
    return f"{split}.images.npy"


def frames_name(split: str) -> str:
    """The file with the frames of all recordings of a split."""
    return f"{split}.frames.npy"


def frame_ends_name(split: str) -> str:
    """The file that says where each recording of a split ends."""
    return f"{split}.frame_ends.npy"


def objects_name(split: str) -> str:
    """The file with the objects in the images of a split."""
    return f"{split}.objects.json"


def is_language(code: object) -> bool:
    """Whether something is a language code: a plain word, since it becomes part of file names."""
    return isinstance(code, str) and _CODE.fullmatch(code) is not None and code not in _TAKEN


def check_language(code: str) -> None:
    """Raise an error if a language code, which becomes part of file names, is not a plain word."""
    if not is_language(code):
        raise UsageError(f"{code!r} is not a language code", hint="use a code such as de, en or pt_BR")
