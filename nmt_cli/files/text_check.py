"""Whether the start of a file looks like UTF-8 text."""

import codecs
from collections.abc import Sequence

from nmt_cli.errors import CorpusError

SAMPLE_BYTES = 1 << 16
# Text may contain a few stray bytes; binary data has many from the start.
_MIN_STRAYS = 8
_NUL_SHARE = 0.01
_CONTROL_SHARE = 0.05

_CONTROLS = bytes(set(range(32)) - set(b"\0\t\n\v\f\r\x1b") | {127})

_WIDE_MARKS = {
    b"\xff\xfe\0\0": "UTF-32LE",
    b"\0\0\xfe\xff": "UTF-32BE",
    b"\xff\xfe": "UTF-16LE",
    b"\xfe\xff": "UTF-16BE",
}

_MAGIC = {
    b"\x1f\x8b": ("gzip data", "rename it to end in .gz"),
    b"\xfd7zXZ\0": ("xz data", "rename it to end in .xz"),
    b"BZh": ("bzip2 data", "rename it to end in .bz2"),
    b"\x28\xb5\x2f\xfd": ("zstd data", "rename it to end in .zst"),
    b"PK\x03\x04": ("a zip archive (or an office document)", "unpack it, or save it as plain text"),
    b"PAR1": ("a Parquet file", "read it with hf:parquet@data_files=PATH"),
    b"%PDF-": ("a PDF document", "extract its text first"),
    b"\x89PNG": ("an image", "give a text file"),
    b"\x7fELF": ("a program", "give a text file"),
}


def refuse_binary(data: bytes, name: str) -> None:
    """Raise a CorpusError if a file that starts with these bytes cannot be UTF-8 text."""
    for mark, encoding in _WIDE_MARKS.items():
        if data.startswith(mark):
            raise CorpusError(f"{name} is {encoding}, not UTF-8", hint=_iconv(encoding, name))
    for magic, (what, remedy) in _MAGIC.items():
        # Text could start with "BZh", but not with the digit and block header that follow it.
        if data.startswith(magic) and (magic != b"BZh" or data[4:7] == b"1AY"):
            raise CorpusError(f"{name} is {what}, not text", hint=remedy)
    sample = data[:SAMPLE_BYTES]
    nuls = sample.count(0)
    if nuls >= _MIN_STRAYS and nuls > _NUL_SHARE * len(sample):
        if guess := _wide_without_mark(sample):
            raise CorpusError(f"{name} looks like {guess}, not UTF-8", hint=_iconv(guess, name))
        raise _binary(name)
    controls = len(sample) - len(sample.translate(None, _CONTROLS))
    # Valid UTF-8 with many control characters may be odd text; binary formats are hardly ever valid UTF-8.
    if controls >= _MIN_STRAYS and controls > _CONTROL_SHARE * len(sample) and not _decodable(sample):
        raise _binary(name)


def refuse_other_encoding(lines: Sequence[bytes], bad: int, name: str) -> None:
    """Raise a CorpusError if most of the first lines are not UTF-8 (`bad` of them are not)."""
    filled = sum(bool(line) for line in lines)
    if bad >= _MIN_STRAYS and bad > 0.5 * filled:
        raise CorpusError(
            f"{name} is not UTF-8: {bad} of its first {filled} lines cannot be decoded",
            hint=f"convert it from its encoding, for example: {_iconv('WINDOWS-1252', name)}",
        )


def _decodable(sample: bytes) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()  # accepts a last character that is cut off
    try:
        decoder.decode(sample)
    except UnicodeDecodeError:
        return False
    return True


def _wide_without_mark(sample: bytes) -> str | None:
    """UTF-16 of Latin text has a NUL in every other byte."""
    for encoding, half in (("UTF-16LE", sample[1::2]), ("UTF-16BE", sample[::2])):
        if half.count(0) > 0.5 * len(half) and half.count(0) > 0.9 * sample.count(0):
            return encoding
    return None


def _iconv(encoding: str, name: str) -> str:
    return f"iconv -f {encoding} -t UTF-8 {name} > NEW"


def _binary(name: str) -> CorpusError:
    return CorpusError(
        f"{name} is a binary file, not text", hint="give UTF-8 text with one sentence per line"
    )
