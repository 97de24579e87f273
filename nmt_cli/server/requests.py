"""Reading requests: the body within its limits, JSON and forms as one set of fields, and errors as answers.

Whatever a client sends, the result is fields of known types or an `ApiError` with the status and the message that
LibreTranslate has for it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import ClientDisconnect, Request

from nmt_cli.runtime.segments import replace_surrogates

_MAX_FIELDS = 100
_DISCARDED = (
    16  # bodies of up to this many times the limit are read to the end, so that the client sees the answer
)


class ApiError(Exception):
    """An answer other than 200: its status, the text of `error`, and further headers."""

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.headers = status, message, dict(headers or {})


def invalid(message: str) -> ApiError:
    """400, in LibreTranslate's words."""
    return ApiError(400, f"Invalid request: {message}")


@dataclass(frozen=True)
class Upload:
    """A file in a form."""

    name: str
    content: bytes


@dataclass(frozen=True)
class Fields:
    """The fields of a request, from JSON, a form or the address."""

    values: Mapping[str, Any]
    files: Mapping[str, Upload] = field(default_factory=dict)

    def text(self, name: str, default: str | None = None) -> str:
        """A string; an error if it is missing, unless there is a default."""
        value = self.values.get(name)
        if value is None or value == "":
            if default is None:
                raise invalid(f"missing {name} parameter")
            return default
        if not isinstance(value, str):
            raise invalid(f"{name} parameter is not a string")
        return replace_surrogates(value)

    def texts(self, name: str) -> str | list[str]:
        """A string or a list of strings that is not empty."""
        value = self.values.get(name)
        if not isinstance(value, list):
            return self.text(name)
        if not value:
            raise invalid(f"missing {name} parameter")
        if not all(isinstance(one, str) for one in value):
            raise invalid(f"{name} parameter is not a list of strings")
        return [replace_surrogates(one) for one in value]

    def number(self, name: str, default: int, *, most: int) -> int:
        """A whole number from 0 to `most`."""
        value = self.values.get(name)
        if value is None or value == "":
            return default
        try:
            if isinstance(value, bool) or not isinstance(value, (int, str)):
                raise ValueError
            number = int(value)
        except ValueError:
            raise invalid(f"{name} parameter is not a number") from None
        if number > most:
            raise invalid(f"{name} parameter must be <= {most}")
        return max(0, number)


async def read_fields(request: Request, *, max_body: int, seconds: float) -> Fields:
    """The fields of a request. A JSON body is taken alone; a form is completed by the query string."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    try:
        async with asyncio.timeout(seconds):
            body = await _read_body(request, max_body)
    except TimeoutError:
        raise ApiError(408, "the request did not arrive in time", {"Connection": "close"}) from None
    if kind == "application/json" or kind.endswith("+json"):
        return Fields(_parse_json(body))
    values: dict[str, Any] = _parse_form(request.scope["query_string"])
    if kind == "multipart/form-data":
        found, files = await _parse_multipart(request, body)
        return Fields(values | found, files)
    return Fields(values | _parse_form(body))


async def _read_body(request: Request, limit: int) -> bytes:
    """At most `limit` bytes. A chunked body has no announced length, so bytes are counted as they arrive."""
    chunks: list[bytes] = []
    size = 0
    announced = int(request.headers.get("content-length", "0"))  # digits, or the parser would have refused it
    if announced > limit * _DISCARDED:
        raise _too_large(limit)
    try:
        async for chunk in request.stream():
            size += len(chunk)
            if size <= limit:
                chunks.append(chunk)
            elif size > limit * _DISCARDED:
                break
            else:
                chunks.clear()
    except ClientDisconnect:
        raise ApiError(400, "the client disconnected before the request was complete") from None
    if size > limit:
        raise _too_large(limit)
    return b"".join(chunks)


def _too_large(limit: int) -> ApiError:
    return ApiError(413, f"the request is larger than {limit:,} bytes", {"Connection": "close"})


def _parse_json(body: bytes) -> dict[str, Any]:
    try:
        content = json.loads(body.decode("utf-8"))
    except UnicodeDecodeError:
        raise invalid("the body is not UTF-8") from None
    except (ValueError, RecursionError):
        raise ApiError(400, "Invalid JSON format") from None
    if not isinstance(content, dict):
        raise ApiError(400, "Invalid JSON format")
    return content


def _parse_form(body: bytes) -> dict[str, str]:
    """The first value of each field."""
    try:
        pairs = parse_qsl(
            body.decode("utf-8"), keep_blank_values=True, errors="strict", max_num_fields=_MAX_FIELDS
        )
    except UnicodeDecodeError:
        raise invalid("the form is not UTF-8") from None
    except ValueError:
        raise invalid(f"the form has more than {_MAX_FIELDS} fields") from None
    return dict(reversed(pairs))


class _InMemory(MultiPartParser):
    """Uploads stay in memory: the body has been read, and nothing from a request is written to the disk."""

    spool_max_size = 0  # SpooledTemporaryFile: never roll over


async def _parse_multipart(request: Request, body: bytes) -> tuple[dict[str, str], dict[str, Upload]]:
    async def stream() -> AsyncGenerator[bytes, None]:
        yield body

    parser = _InMemory(
        request.headers, stream(), max_files=1, max_fields=_MAX_FIELDS, max_part_size=len(body) + 1
    )
    try:
        form = await parser.parse()
    except (MultiPartException, UnicodeDecodeError, KeyError, ValueError):
        raise invalid("the form is damaged") from None
    values: dict[str, str] = {}
    files: dict[str, Upload] = {}
    for name, value in form.multi_items():
        if isinstance(value, UploadFile):
            files.setdefault(name, Upload(value.filename or "", await value.read()))
        else:
            values.setdefault(name, value)
    await form.close()
    return values, files
