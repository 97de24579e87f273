"""Reading a corpus as a whole."""

from pathlib import Path

import pytest

from nmt_cli.corpus import Block, parse_spec, read_pairs
from nmt_cli.errors import CorpusError

Pair = tuple[str, str]


def blocks(spec: str | Path, *languages: str, block_pairs: int = 8192) -> list[Block]:
    source_lang, target_lang = languages or ("en", "de")
    return list(
        read_pairs(
            parse_spec(str(spec), source_lang=source_lang, target_lang=target_lang), block_pairs=block_pairs
        )
    )


def pairs(spec: str | Path, *languages: str, block_pairs: int = 8192) -> list[Pair]:
    return [
        pair
        for block in blocks(spec, *languages, block_pairs=block_pairs)
        for pair in zip(block.source, block.target, strict=True)
    ]


def skipped(spec: str | Path, *languages: str) -> list[tuple[int, str]]:
    """Line and reason of each entry that is not used."""
    return [(entry.number, entry.reason) for block in blocks(spec, *languages) for entry in block.skipped]


def failure(spec: str | Path, *languages: str) -> CorpusError:
    with pytest.raises(CorpusError) as caught:
        blocks(spec, *languages)
    assert "\n" not in caught.value.message
    return caught.value
