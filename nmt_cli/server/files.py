"""The page and its scripts, held in memory: a request names an entry of a table, never a path."""

from __future__ import annotations

import hashlib
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from nmt_cli.explanation import views_script, views_style

_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_START = "index.html"


class StaticFiles:
    """All files by path."""

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
