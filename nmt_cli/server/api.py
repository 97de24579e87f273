"""The endpoints: LibreTranslate's, and those that show how a translation came about."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from nmt_cli.config.defaults import ALTERNATIVES
from nmt_cli.errors import NmtError
from nmt_cli.server.batcher import Batcher, Overloaded
from nmt_cli.server.choices import choices_of
from nmt_cli.server.languages import language_name
from nmt_cli.server.layout import Layout, html_layout, text_layout
from nmt_cli.server.metrics import CONTENT_TYPE
from nmt_cli.server.requests import ApiError, Fields, invalid, read_fields
from nmt_cli.server.routing import Router, translate_lines
from nmt_cli.server.service import Service

AUTO = "auto"
FILE_FORMATS = (".txt",)
_MAX_ALTERNATIVES = 100
_MAX_EXPLAINED = 20  # alternatives per token
_FORMATS = {"text": text_layout, "html": html_layout}
_UNSAFE = re.compile(r"[^\w.\- ]+")

Result = TypeVar("Result")


class Direction(NamedTuple):
    """From one language to another."""

    source: str
    target: str
    chain: list[Batcher]
    detected: dict[str, Any] | None  # if the source language was not given


class JsonAnswer(JSONResponse):
    """JSON with readable characters; of matrices, six digits are enough."""

    def render(self, content: Any) -> bytes:
        """The body."""
        return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


class Api:
    """The endpoints of one service."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._settings = service.settings

    async def translate(self, request: Request) -> Response:
        """POST /translate"""
        fields = await self._read(request)
        q = fields.texts("q")
        texts = [q] if isinstance(q, str) else q
        fields.text("source")
        fields.text("target")
        alternatives = fields.number("alternatives", 0, most=_MAX_ALTERNATIVES)
        form = fields.text("format", "text")
        if form not in _FORMATS:
            raise ApiError(400, f"{form} format is not supported")
        layouts = self._layouts(request, texts, form)
        prefixes = _prefixes(fields, layouts, form)
        with self._service.current_router() as router:
            direction = self._direction(request, router, fields, texts)
            found = await self._translated(request, direction, layouts, prefixes, alternatives + 1)
        best = [ranks[0] for ranks in found]
        others = [[text for text in dict.fromkeys(ranks) if text != ranks[0]] for ranks in found]
        single = isinstance(q, str)
        answer: dict[str, Any] = {"translatedText": best[0] if single else best}
        if direction.detected is not None:
            answer["detectedLanguage"] = direction.detected if single else [direction.detected] * len(texts)
        if alternatives:
            answer["alternatives"] = others[0] if single else others
        return self._answer(request, answer, q)

    async def explain(self, request: Request) -> Response:
        """POST /explain"""
        fields = await self._read(request)
        text = fields.text("q")
        given = fields.text("translation", "") or None
        prefix = fields.text("prefix", "")
        alternatives = fields.number("alternatives", ALTERNATIVES, most=_MAX_EXPLAINED)
        if any("\n" in one for one in (text.strip(), given or "", prefix)):
            raise invalid("a sentence has no line breaks; explain the lines one by one")
        self._layouts(request, [text], "text")
        with self._service.current_router() as router:
            direction = self._direction(request, router, fields, [text])
            if len(direction.chain) != 1:
                raise ApiError(
                    400, f"no single model translates from {direction.source} to {direction.target}"
                )
            (batcher,) = direction.chain
            model = batcher.model
            call = partial(
                model.explain, text.strip(), prefix=prefix, target=given, alternatives=alternatives
            )
            explanation = await self._finish(request, batcher.run(call))
        mean = explanation.log_probability / len(explanation.target_pieces)
        threshold = model.confidence_threshold
        answer = {
            "translatedText": explanation.translation,
            "lowConfidence": None if threshold is None else mean < threshold,
            "choices": choices_of(explanation),
            "explanation": explanation.to_data(),
        }
        if direction.detected is not None:
            answer["detectedLanguage"] = direction.detected
        return self._answer(request, answer, text)

    async def detect(self, request: Request) -> Response:
        """POST /detect"""
        fields = await self._read(request)
        q = fields.texts("q")
        texts = [q] if isinstance(q, str) else q
        self._layouts(request, texts, "text")
        found = _detections(self._service.router, texts)
        likely = [one for one in found if one["confidence"] >= 1]
        return self._answer(request, likely or found[:1], q)

    async def languages(self, request: Request) -> Response:
        """GET /languages"""
        router = self._service.router
        return JsonAnswer(
            [
                {"code": code, "name": language_name(code), "targets": router.targets(code)}
                for code in router.languages
            ]
        )

    async def settings(self, request: Request) -> Response:
        """GET /frontend/settings"""
        router = self._service.router
        source, target = next(iter(router.batchers))  # of the first model that was given
        return JsonAnswer(
            {
                "apiKeys": self._service.keys.required,
                "charLimit": self._settings.max_characters,
                "filesTranslation": True,
                "frontendTimeout": 300,
                "keyRequired": self._service.keys.required,
                "language": {
                    "source": {"code": source, "name": language_name(source)},
                    "target": {"code": target, "name": language_name(target)},
                },
                "suggestions": False,
                "supportedFilesFormat": list(FILE_FORMATS),
                # LibreTranslate has no such fields.
                "lineLimit": self._settings.max_lines,
                "pairs": [
                    {
                        "source": one,
                        "target": other,
                        "direct": len(router.chain(one, other) or ()) == 1,
                        "explained": router.explains(one, other),
                    }
                    for one in router.languages
                    for other in router.targets(one)
                ],
            }
        )

    async def translate_file(self, request: Request) -> Response:
        """POST /translate_file"""
        fields = await self._read(request)
        file = fields.files.get("file")
        if file is None:
            raise invalid("missing file parameter")
        fields.text("source")
        fields.text("target")
        if not file.name:
            raise invalid("empty file")
        if not file.name.lower().endswith(FILE_FORMATS):
            raise invalid("file format not supported")
        try:
            text = file.content.decode("utf-8")
        except UnicodeDecodeError:
            raise invalid("the file is not UTF-8") from None
        mark = "\ufeff" if text.startswith("\ufeff") else ""
        layouts = self._layouts(request, [text.removeprefix(mark)], "text")
        with self._service.current_router() as router:
            direction = self._direction(request, router, fields, [text])
            [[translation]] = await self._translated(request, direction, layouts, None, 1)
        token = self._service.downloads.add(file.name, (mark + translation).encode())
        return self._answer(
            request, {"translatedFileUrl": str(request.url_for("download", token=token))}, text
        )

    async def download(self, request: Request) -> Response:
        """GET /download_file/{token}"""
        file = self._service.downloads.get(request.path_params["token"])
        if file is None:
            raise ApiError(404, "there is no such file, or it has expired")
        name = _UNSAFE.sub("_", file.name.encode("ascii", "replace").decode())[-100:]
        return Response(
            file.content,
            media_type="text/plain; charset=utf-8",
            headers={"Content-Disposition": f'attachment; filename="{name}"'},
        )

    async def health(self, request: Request) -> Response:
        """GET /health"""
        if self._service.draining:
            return JsonAnswer({"status": "shutting down"}, 503)
        return JsonAnswer({"status": "ok"})

    async def metrics(self, request: Request) -> Response:
        """GET /metrics"""
        text = self._service.metrics.text(self._service.router.waiting)
        return Response(text, media_type=CONTENT_TYPE)

    # What they have in common

    async def _read(self, request: Request) -> Fields:
        """The fields of a request that is allowed."""
        settings = self._settings
        fields = await read_fields(request, max_body=settings.max_body, seconds=settings.seconds)
        key = fields.text("api_key", "")
        self._service.keys.check(key)
        address = request.client.host if request.client else ""
        self._service.rate_limit.check(key if self._service.keys.required else address)
        return fields

    def _layouts(self, request: Request, texts: Sequence[str], form: str) -> list[Layout]:
        """The texts, cut into lines, if they are within the limits."""
        characters, limit = sum(map(len, texts)), self._settings.max_characters
        if characters > limit:
            raise invalid(f"request ({characters}) exceeds text limit ({limit})")
        layouts = [_FORMATS[form](text) for text in texts]
        lines, limit = sum(len(layout.rows) for layout in layouts), self._settings.max_lines
        if lines > limit:
            raise invalid(f"request ({lines} lines) exceeds line limit ({limit})")
        self._service.metrics.characters += characters
        request.state.record |= {"characters": characters, "lines": lines}
        return layouts

    def _direction(self, request: Request, router: Router, fields: Fields, texts: Sequence[str]) -> Direction:
        """The languages of a request and the models between them."""
        wanted, detected = fields.text("source"), None
        if wanted.lower() == AUTO:
            detected = _detections(router, texts)[0]
            wanted = detected["language"]
        source, target = router.language(wanted), router.language(fields.text("target"))
        if source is None:
            raise ApiError(400, f"{wanted} is not supported")
        if target is None:
            raise ApiError(400, f"{fields.text('target')} is not supported")
        chain = router.chain(source, target)
        if chain is None:
            names = f"{language_name(target)} ({target})", f"{language_name(source)} ({source})"
            raise ApiError(400, f"{names[0]} is not available as a target language from {names[1]}")
        request.state.record["pair"] = f"{source}-{target}"
        return Direction(source, target, chain, detected)

    async def _translated(
        self,
        request: Request,
        direction: Direction,
        layouts: Sequence[Layout],
        prefixes: Sequence[str] | None,
        n_best: int,
    ) -> list[list[str]]:
        """The translations of each text, best first."""
        lines = [line for layout in layouts for line in layout.texts]
        if direction.chain:
            work = translate_lines(direction.chain, lines, prefixes, n_best)
            found = await self._finish(request, work)
        else:  # into the same language
            found = [(line,) for line in lines]
        results = []
        position = 0
        for layout in layouts:
            own = found[position : position + len(layout.rows)]
            position += len(layout.rows)
            ranks = range(max(map(len, own), default=1))
            results.append(
                [layout.filled([line[min(rank, len(line) - 1)] for line in own]) for rank in ranks]
            )
        return results

    async def _finish(self, request: Request, work: Awaitable[Result]) -> Result:
        """The result of the work, unless it takes too long or the client is gone, which ends it."""
        current = asyncio.current_task()
        assert current is not None
        gone = asyncio.ensure_future(_disconnection(request))

        def cancel(_: object) -> None:
            if not finished:
                current.cancel()

        finished = False
        gone.add_done_callback(cancel)
        seconds = self._settings.seconds
        try:
            async with asyncio.timeout(seconds):
                return await work
        except TimeoutError:
            message = f"the translation took longer than {seconds:g} seconds"
            raise ApiError(503, message, {"Retry-After": "10"}) from None
        except asyncio.CancelledError:
            if not gone.done():
                raise
            current.uncancel()
            raise ApiError(499, "the client disconnected") from None
        except Overloaded as error:
            message = "Slowdown: the server is busy"
            raise ApiError(429, message, {"Retry-After": str(error.retry_after)}) from None
        except NmtError as error:
            raise ApiError(400, f"{error.message} ({error.hint})") from error
        finally:
            finished = True
            gone.cancel()

    def _answer(self, request: Request, content: Any, text: str | Sequence[str]) -> Response:
        if self._settings.log_text:
            request.state.record |= {"q": text, "answer": content if "explanation" not in content else None}
        return JsonAnswer(content)


async def _disconnection(request: Request) -> None:
    """Return when the client is gone. The body has been read, so nothing else can arrive."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _detections(router: Router, texts: Sequence[str]) -> list[dict[str, Any]]:
    """All texts of a request are taken to be in one language."""
    return [
        {"confidence": round(100 * probability, 1), "language": language}
        for language, probability in router.detect("\n".join(texts))
    ]


def _prefixes(fields: Fields, layouts: Sequence[Layout], form: str) -> list[str] | None:
    """What the translation of each line begins with; a prefix belongs to the first line of its text."""
    if not fields.values.get("prefix"):
        return None
    given = fields.texts("prefix")
    if form != "text":
        raise invalid("prefix needs the format text")
    starts = [given] * len(layouts) if isinstance(given, str) else given
    if len(starts) != len(layouts):
        raise invalid(f"{len(starts)} prefixes for {len(layouts)} texts")
    if any("\n" in start for start in starts):
        raise invalid("prefix has a line break")
    return [
        "" if row else start
        for start, layout in zip(starts, layouts, strict=True)
        for row in range(len(layout.rows))
    ]
