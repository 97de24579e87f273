"""The page and its scripts, held in memory: a request names an entry of a table, never a path."""

from __future__ import annotations

import hashlib
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

import nmt_cli

_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
}
# Address → folder of the package. The page shares its drawing code with `nmt explain --html`.
_FOLDERS = {"": "server/page", "explanation/": "explanation", "drawing/": "drawing"}


class StaticFiles:
    """All files by path."""

    def __init__(self) -> None:
        self._files: dict[str, Response] = {}
        package = Path(nmt_cli.__file__).parent
        for start, folder in _FOLDERS.items():
            for path in sorted((package / folder).iterdir()):
                if path.suffix in _TYPES:
                    self._files[f"/{start}{path.name}"] = _response(path)
        if "/index.html" in self._files:
            self._files["/"] = self._files["/index.html"]

    @property
    def paths(self) -> list[str]:
        """The paths of all files."""
        return list(self._files)

    def get(self, request: Request) -> Response:
        """A file, or 304 if the browser has it already."""
        file = self._files[request.scope["route"].path]
        if request.headers.get("if-none-match") == file.headers["etag"]:
            return Response(status_code=304, headers={"ETag": file.headers["etag"]})
        return file


def _response(path: Path) -> Response:
    content = path.read_bytes()
    tag = hashlib.sha256(content).hexdigest()[:32]
    headers = {"ETag": f'"{tag}"', "Cache-Control": "no-cache"}
    return Response(content, headers=headers, media_type=_TYPES[path.suffix])
