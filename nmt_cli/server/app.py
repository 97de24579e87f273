"""The application: routes, the files of the page, and what holds for every answer: errors, headers, log."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from nmt_cli.explanation import views_script, views_style
from nmt_cli.server.api import Api, JsonAnswer
from nmt_cli.server.openapi import docs_page, openapi_document
from nmt_cli.server.requests import ApiError
from nmt_cli.server.service import Service

Endpoint = Callable[[Request], Awaitable[Response]]
Log = Callable[[str], None]

_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_START = "index.html"

# Nothing from elsewhere, nothing inline, no framing: model output and user input can only ever be text.
_PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_DATA_POLICY = "default-src 'none'; frame-ancestors 'none'"
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


def build_app(service: Service, log: Log) -> ASGIApp:
    """All endpoints. `log` gets one line of JSON for each request, if the settings ask for it."""
    api, files = Api(service), StaticFiles()
    document = openapi_document()
    page = docs_page(document)

    async def spec(request: Request) -> Response:
        return JsonAnswer(document)

    async def docs(request: Request) -> Response:
        return Response(page, media_type="text/html; charset=utf-8")

    async def static(request: Request) -> Response:
        return files.get(request)

    def route(path: str, method: str, endpoint: Endpoint) -> Route:
        return Route(path, partial(_answered, endpoint), methods=[method], name=endpoint.__name__)

    routes = [
        route("/translate", "POST", api.translate),
        route("/explain", "POST", api.explain),
        route("/detect", "POST", api.detect),
        route("/languages", "GET", api.languages),
        route("/frontend/settings", "GET", api.settings),
        route("/translate_file", "POST", api.translate_file),
        route("/download_file/{token}", "GET", api.download),
        route("/health", "GET", api.health),
        route("/metrics", "GET", api.metrics),
        route("/spec", "GET", spec),
        route("/docs", "GET", docs),
        *(route(path, "GET", static) for path in files.paths),
    ]
    middleware = []
    if service.settings.cors:
        origins = list(service.settings.cors)
        middleware = [
            Middleware(
                CORSMiddleware,
                allow_origins=origins,
                allow_methods=["GET", "POST"],
                allow_headers=["Content-Type", "Authorization"],
            )
        ]
    app = Starlette(routes=routes, middleware=middleware, exception_handlers={HTTPException: _http_error})
    return Frame(app, service, log)


async def _answered(endpoint: Endpoint, request: Request) -> Response:
    """The answer of an endpoint; errors have LibreTranslate's shape."""
    request.state.record["endpoint"] = request.scope["route"].path
    try:
        return await endpoint(request)
    except ApiError as error:
        request.state.record["error"] = error.message
        return JsonAnswer({"error": error.message}, error.status, headers=error.headers)
    except Exception as error:  # the message may quote the text, so it is not logged
        request.state.record["error"] = f"internal error: {type(error).__name__}"
        if request.app.debug:
            raise
        return JsonAnswer({"error": "the server failed to answer this request"}, 500)


async def _http_error(request: Request, error: Exception) -> Response:
    """404 and 405 of the router."""
    assert isinstance(error, HTTPException)
    return JsonAnswer({"error": error.detail}, error.status_code, headers=error.headers)


class Frame:
    """Around the application: security headers, counters and the access log."""

    def __init__(self, app: ASGIApp, service: Service, log: Log) -> None:
        self._app, self._service, self._log = app, service, log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        record: dict[str, Any] = {}
        scope.setdefault("state", {})["record"] = record
        status = 500

        async def send_framed(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], *self._headers(message["headers"])]
            await send(message)

        metrics, start = self._service.metrics, time.perf_counter()
        metrics.in_flight += 1
        try:
            await self._app(scope, receive, send_framed)
        finally:
            metrics.in_flight -= 1
            seconds = time.perf_counter() - start
            metrics.request(record.get("endpoint", "other"), status, seconds)
            if self._service.settings.log:
                self._log(_log_line(scope, status, seconds, record))

    def _headers(self, present: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        given = {name.lower(): value for name, value in present}
        is_page = given.get(b"content-type", b"").startswith(b"text/html")
        headers = {**_HEADERS, "Content-Security-Policy": _PAGE_POLICY if is_page else _DATA_POLICY}
        if b"cache-control" not in given:
            headers["Cache-Control"] = "no-store"
        if self._service.draining:
            headers["Connection"] = "close"
        return [(name.lower().encode(), value.encode()) for name, value in headers.items()]


def _log_line(scope: Scope, status: int, seconds: float, record: dict[str, Any]) -> str:
    """One line of JSON. The query string may have a text or a key in it and is left out."""
    client = scope.get("client")
    entry = {
        "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "client": client[0] if client else None,
        "method": scope["method"],
        "path": record.get("endpoint", scope["path"][:200]),
        "status": status,
        "ms": round(1000 * seconds, 1),
        **{name: value for name, value in record.items() if name != "endpoint"},
    }
    return json.dumps(entry, ensure_ascii=False)


class StaticFiles:
    """The page and its scripts, held in memory: a request names an entry of a table, never a path."""

    def __init__(self) -> None:
        folder = Path(__file__).parent / "page"
        content = {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
        content["views.js"] = views_script().encode()  # the drawing code of `nmt explain --html`
        content["views.css"] = views_style().encode()
        content[""] = content.pop(_START)
        self._files = {
            f"/{name}": _response(body, Path(name or _START).suffix) for name, body in content.items()
        }

    @property
    def paths(self) -> list[str]:
        """The paths of all files."""
        return list(self._files)

    def get(self, request: Request) -> Response:
        """A file, or 304 if the browser has it already."""
        file = self._files[request.scope["route"].path]
        if request.headers.get("if-none-match") == file.headers["etag"]:
            # The browser takes over the headers, so its type, which decides on the policy, must be among them.
            headers = {"ETag": file.headers["etag"], "Content-Type": file.headers["content-type"]}
            return Response(status_code=304, headers=headers)
        return file


def _response(content: bytes, suffix: str) -> Response:
    tag = hashlib.sha256(content).hexdigest()[:32]
    headers = {"ETag": f'"{tag}"', "Cache-Control": "no-cache"}
    return Response(content, headers=headers, media_type=_TYPES[suffix])
