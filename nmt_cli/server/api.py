"""The endpoints: LibreTranslate's, and those that show how a translation came about."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from nmt_cli.config.defaults import ALTERNATIVES
from nmt_cli.errors import NmtError
from nmt_cli.runtime.words import BYTE, SPACE
from nmt_cli.server.documents import (
    FILE_FORMATS,
    Finished,
    TextFile,
    TextLines,
    read_file,
    read_html,
    size_of,
    text_of,
    translate_document,
)
from nmt_cli.server.metrics import CONTENT_TYPE
from nmt_cli.server.requests import ApiError, Fields, Upload, invalid
from nmt_cli.server.routing import language_name, translate_lines
from nmt_cli.server.service import Direction, Service, detections

if TYPE_CHECKING:
    from nmt_cli.explanation import Explanation

_MAX_ALTERNATIVES = 100
_MAX_EXPLAINED = 20  # alternatives per token
_MAX_UNTOUCHED = 100  # entries of a document that are listed
_UNSAFE = re.compile(r"[^\w.\- ]+")
_PAUSE = 300  # milliseconds after a key, before the text is translated


class JsonAnswer(JSONResponse):
    """JSON with readable characters."""

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
        fields = await self._service.read(request)
        q = fields.texts("q")
        texts = [q] if isinstance(q, str) else q
        fields.text("source")
        fields.text("target")
        alternatives = fields.number("alternatives", 0, most=_MAX_ALTERNATIVES)
        form = fields.text("format", "text")
        if form not in ("text", "html"):
            raise ApiError(400, f"{form} format is not supported")
        if form == "html":
            direction, found = await self._translate_html(request, fields, texts)
        else:
            direction, found = await self._translate_text(request, fields, texts, alternatives + 1)
        best = [ranks[0] for ranks in found]
        others = [[text for text in dict.fromkeys(ranks) if text != ranks[0]] for ranks in found]
        single = isinstance(q, str)
        answer: dict[str, Any] = {"translatedText": best[0] if single else best}
        if direction.detected is not None:
            answer["detectedLanguage"] = direction.detected if single else [direction.detected] * len(texts)
        if alternatives:
            answer["alternatives"] = others[0] if single else others
        return self._answer(request, answer, q)

    async def _translate_text(
        self, request: Request, fields: Fields, texts: Sequence[str], n_best: int
    ) -> tuple[Direction, list[list[str]]]:
        """The translations of each text, best first."""
        layouts = [TextLines(text) for text in texts]
        lines = [line for layout in layouts for line in layout.texts]
        self._service.accept(request, sum(map(len, texts)), len(lines))
        prefixes = _prefixes(fields, layouts)
        with self._service.current_router() as router:
            direction = self._service.direction(request, router, fields, "\n".join(texts))
            found: Sequence[tuple[str, ...]] = [(line,) for line in lines]
            if direction.chain:
                work = translate_lines(direction.chain, lines, prefixes, n_best)
                found = await self._service.finish(request, work)
        results = []
        position = 0
        for layout in layouts:
            own = found[position : position + len(layout.texts)]
            position += len(own)
            ranks = range(max(map(len, own), default=1))
            results.append(
                [layout.filled([line[min(rank, len(line) - 1)] for line in own]) for rank in ranks]
            )
        return direction, results

    async def _translate_html(
        self, request: Request, fields: Fields, texts: Sequence[str]
    ) -> tuple[Direction, list[list[str]]]:
        """The translation of each text; like LibreTranslate, without alternatives."""
        if fields.values.get("prefix"):
            raise invalid("prefix needs the format text")
        documents = [await asyncio.to_thread(read_html, text) for text in texts]
        sizes = [size_of(document) for document in documents]
        self._service.accept(request, sum(map(len, texts)), sum(lines for _, lines in sizes))
        with self._service.current_router() as router:
            read = "\n".join(map(text_of, documents))
            direction = self._service.direction(request, router, fields, read)
            works = asyncio.gather(*(translate_document(one, direction.chain) for one in documents))
            found = await self._service.finish(request, works)
        return direction, [[one.content.decode()] for one in found]

    async def explain(self, request: Request) -> Response:
        """POST /explain"""
        fields = await self._service.read(request)
        text = fields.text("q")
        given = fields.text("translation", "") or None
        prefix = fields.text("prefix", "")
        alternatives = fields.number("alternatives", ALTERNATIVES, most=_MAX_EXPLAINED)
        if any("\n" in one for one in (text.strip(), given or "", prefix)):
            raise invalid("a sentence has no line breaks; explain the lines one by one")
        self._service.accept(request, len(text), 1)
        with self._service.current_router() as router:
            direction = self._service.direction(request, router, fields, text)
            if len(direction.chain) != 1:
                raise ApiError(
                    400, f"no single model translates from {direction.source} to {direction.target}"
                )
            (batcher,) = direction.chain
            model = batcher.model
            call = partial(
                model.explain, text.strip(), prefix=prefix, target=given, alternatives=alternatives
            )
            explanation: Explanation = await self._service.finish(request, batcher.run(call))
        mean = explanation.log_probability / len(explanation.target_pieces)
        usual = model.calibration
        answer = {
            "translatedText": explanation.translation,
            "lowConfidence": None
            if usual is None
            else mean < usual.threshold(len(explanation.source_pieces)),
            "choices": choices_of(explanation),
            "explanation": explanation.to_data(),
        }
        if direction.detected is not None:
            answer["detectedLanguage"] = direction.detected
        return self._answer(request, answer, text)

    async def detect(self, request: Request) -> Response:
        """POST /detect"""
        fields = await self._service.read(request)
        q = fields.texts("q")
        text = q if isinstance(q, str) else "\n".join(q)
        self._service.accept(request, len(text), len(TextLines(text).texts))
        found = detections(self._service.router, text)
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
                "frontendTimeout": _PAUSE,
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
        fields = await self._service.read(request)
        file = fields.files.get("file")
        if file is None:
            raise invalid("missing file parameter")
        fields.text("source")
        fields.text("target")
        if not file.name:
            raise invalid("empty file")
        if not file.name.lower().endswith(FILE_FORMATS):
            raise invalid("file format not supported")
        finished = await self._translate_file(request, fields, file)
        token = self._service.downloads.add(file.name, finished.content)
        answer = {
            "translatedFileUrl": str(request.url_for("download", token=token)),
            "untranslated": [
                {"where": where, "reason": reason} for where, reason in finished.untouched[:_MAX_UNTOUCHED]
            ],
        }
        return self._answer(request, answer, file.name)

    async def _translate_file(self, request: Request, fields: Fields, file: Upload) -> Finished:
        service = self._service
        with service.current_router() as router:
            target = router.language(fields.text("target")) or ""
            try:
                content = await asyncio.to_thread(read_file, file, target)
            except NmtError as error:
                raise invalid(f"{error.message} ({error.hint})") from error
            if isinstance(content, TextFile):
                lines = content.lines.texts
                service.accept(request, len(content.decoded.text), len(lines))
                direction = service.direction(request, router, fields, content.decoded.text)
                if not direction.chain:
                    return Finished(file.content, ())
                found = await service.finish(request, translate_lines(direction.chain, lines))
                return Finished(content.filled([best[0] for best in found]), ())
            service.accept(request, *size_of(content))
            direction = service.direction(request, router, fields, text_of(content))
            return await service.finish(request, translate_document(content, direction.chain))

    async def download(self, request: Request) -> Response:
        """GET /download_file/{token}"""
        file = self._service.downloads.get(request.path_params["token"])
        if file is None:
            raise ApiError(404, "there is no such file, or it has expired")
        name = _UNSAFE.sub("_", file.name.encode("ascii", "replace").decode())[-100:]
        return Response(
            file.content,
            media_type="application/octet-stream",
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

    def _answer(self, request: Request, content: Any, text: str | Sequence[str]) -> Response:
        if self._settings.log_text:
            request.state.record |= {"q": text, "answer": content if "explanation" not in content else None}
        return JsonAnswer(content)


def _prefixes(fields: Fields, layouts: Sequence[TextLines]) -> list[str] | None:
    """What the translation of each line begins with; a prefix belongs to the first line of its text."""
    if not fields.values.get("prefix"):
        return None
    given = fields.texts("prefix")
    starts = [given] * len(layouts) if isinstance(given, str) else given
    if len(starts) != len(layouts):
        raise invalid(f"{len(starts)} prefixes for {len(layouts)} texts")
    if any("\n" in start for start in starts):
        raise invalid("prefix has a line break")
    return [
        "" if row else start
        for start, layout in zip(starts, layouts, strict=True)
        for row in range(len(layout.texts))
    ]


def choices_of(explanation: Explanation) -> list[list[dict[str, Any]]]:
    """For each target word, what it could begin with instead, best first: text, probability and prefix.

    The prefix is what the translation begins with if this is chosen: the words before, and the choice.
    """
    pieces = explanation.target_pieces
    return [
        [
            {
                "text": piece_text([other.piece]).strip(),
                "probability": other.probability,
                "prefix": piece_text([*pieces[: word.first], other.piece]).strip(),
            }
            for other in explanation.steps[word.first].alternatives
            if _is_text(other.piece)
        ]
        for word in explanation.target_words
    ]


def piece_text(pieces: Sequence[str]) -> str:
    """The text of pieces, bytes included."""
    result = bytearray()
    for piece in pieces:
        if BYTE.fullmatch(piece):
            result.append(int(piece[3:5], 16))
        else:
            result += piece.replace(SPACE, " ").encode("utf-8", "replace")
    return result.decode("utf-8", "replace")


def _is_text(piece: str) -> bool:
    """Whether a piece can be shown: not a byte of a character, not <eos> or <unk>, not a mere space."""
    is_token = piece.startswith("<") and piece.endswith(">") and len(piece) > 2
    return not is_token and piece.strip(SPACE) != ""
