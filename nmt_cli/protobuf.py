"""Just enough of protocol buffers to look into a sentencepiece model."""

from collections.abc import Iterator


def fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Numbers and values of the fields of a message, in their order."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        field, wire = tag >> 3, tag & 7
        if wire == 0:
            number, at = _varint(message, at)
            yield field, number
        else:
            size = {1: 8, 5: 4}.get(wire)
            if size is None:
                size, at = _varint(message, at)
            yield field, message[at : at + size]
            at += size


def _varint(message: bytes, at: int) -> tuple[int, int]:
    """Seven bits a byte, the low ones first; the eighth says that there are more."""
    value = shift = 0
    while True:
        byte = message[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
