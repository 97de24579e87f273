"""The description of the API: an OpenAPI document, and a page that shows it without any script."""

from __future__ import annotations

from html import escape
from typing import Any

from nmt_cli import __version__

Schema = dict[str, Any]

_STRING: Schema = {"type": "string"}
_TEXTS: Schema = {"oneOf": [_STRING, {"type": "array", "items": _STRING}]}
_DETECTION: Schema = {
    "type": "object",
    "properties": {
        "confidence": {"type": "number", "minimum": 0, "maximum": 100},
        "language": _STRING,
    },
    "required": ["confidence", "language"],
}
_LANGUAGE: Schema = {
    "type": "object",
    "properties": {"code": _STRING, "name": _STRING},
    "required": ["code", "name"],
}
_ERROR: Schema = {"type": "object", "properties": {"error": _STRING}, "required": ["error"]}


def _object(required: str, **properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "required": required.split()}


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _described(schema: Schema, text: str) -> Schema:
    return {**schema, "description": text}


_SOURCE = _described(_STRING, "language code, or auto")
_TARGET = _described(_STRING, "language code")
_KEY = _described(_STRING, "needed if the server was started with --keys")

_TRANSLATE = _object(
    "q source target",
    q=_described(_TEXTS, "one or several texts; lines are translated one by one, and line breaks stay"),
    source=_SOURCE,
    target=_TARGET,
    format={"type": "string", "enum": ["text", "html"], "default": "text"},
    alternatives={
        "type": "integer",
        "default": 0,
        "description": "how many, at most the beam size less one; none for HTML",
    },
    prefix=_described(_TEXTS, "what the translation begins with, of one text or of each"),
    api_key=_KEY,
)
_TRANSLATION = _object(
    "translatedText",
    translatedText=_TEXTS,
    detectedLanguage={"oneOf": [_DETECTION, _list(_DETECTION)], "description": "if source is auto"},
    alternatives={"oneOf": [_list(_STRING), _list(_list(_STRING))], "description": "if requested"},
)
_EXPLAIN = _object(
    "q source target",
    q=_described(_STRING, "one sentence"),
    source=_SOURCE,
    target=_TARGET,
    prefix=_described(_STRING, "what the translation begins with"),
    translation=_described(_STRING, "explain this translation instead of the model's own"),
    alternatives={"type": "integer", "default": 5, "description": "per token of the translation"},
    api_key=_KEY,
)
_CHOICE = _object("text probability prefix", text=_STRING, probability={"type": "number"}, prefix=_STRING)
_EXPLAINED = _object(
    "translatedText lowConfidence choices explanation",
    translatedText=_STRING,
    lowConfidence={
        "type": ["boolean", "null"],
        "description": "whether 99% of the validation set have a higher confidence; null if that is not known",
    },
    choices=_described(_list(_list(_CHOICE)), "for each target word, what it could begin with instead"),
    explanation={"type": "object", "description": "as `nmt explain --json` writes it"},
    detectedLanguage=_DETECTION,
)
_SETTINGS = _object(
    "apiKeys charLimit filesTranslation frontendTimeout keyRequired language suggestions supportedFilesFormat",
    apiKeys={"type": "boolean"},
    charLimit={"type": "integer"},
    filesTranslation={"type": "boolean"},
    frontendTimeout={"type": "integer"},
    keyRequired={"type": "boolean"},
    language=_object("source target", source=_LANGUAGE, target=_LANGUAGE),
    suggestions={"type": "boolean"},
    supportedFilesFormat=_list(_STRING),
    lineLimit={"type": "integer"},
    pairs=_list(
        _object(
            "source target direct explained",
            source=_STRING,
            target=_STRING,
            direct=_described({"type": "boolean"}, "with one model, not a chain"),
            explained=_described({"type": "boolean"}, "with /explain"),
        )
    ),
)

# Path, method, what it does, content types and schema of the body, schema of the answer.
_FORM, _JSON, _MULTIPART = "application/x-www-form-urlencoded", "application/json", "multipart/form-data"
_ENDPOINTS: tuple[tuple[str, str, str, tuple[str, ...], Schema | None, Schema | None], ...] = (
    ("/translate", "post", "Translate text", (_JSON, _FORM, _MULTIPART), _TRANSLATE, _TRANSLATION),
    (
        "/explain",
        "post",
        "Translate a sentence and show how",
        (_JSON, _FORM, _MULTIPART),
        _EXPLAIN,
        _EXPLAINED,
    ),
    (
        "/detect",
        "post",
        "Detect the language of a text, among those of the server",
        (_JSON, _FORM, _MULTIPART),
        _object("q", q=_TEXTS, api_key=_KEY),
        _list(_DETECTION),
    ),
    (
        "/languages",
        "get",
        "The languages of the server, and what each can be translated into",
        (),
        None,
        _list(_object("code name targets", code=_STRING, name=_STRING, targets=_list(_STRING))),
    ),
    (
        "/translate_file",
        "post",
        "Translate a text file or a document, such as PO, XLIFF, subtitles, Markdown or HTML",
        (_MULTIPART,),
        _object(
            "file source target",
            file={"type": "string", "format": "binary"},
            source=_SOURCE,
            target=_TARGET,
            api_key=_KEY,
        ),
        _object(
            "translatedFileUrl untranslated",
            translatedFileUrl=_STRING,
            untranslated=_described(
                _list(_object("where reason", where=_STRING, reason=_STRING)),
                "entries of a document that were left as they are, and why",
            ),
        ),
    ),
    ("/frontend/settings", "get", "Settings for user interfaces", (), None, _SETTINGS),
    ("/health", "get", "Whether the server is ready", (), None, _object("status", status=_STRING)),
    ("/metrics", "get", "Counters in the text format of Prometheus", (), None, None),
)
_ERRORS = {
    400: "the request is invalid; `error` says why",
    403: "the API key is invalid",
    408: "the request did not arrive in time",
    413: "the request is too large",
    429: "too many requests, or the queue is full; try again after the seconds in Retry-After",
    500: "the server failed",
    503: "the translation took too long, or the server is shutting down",
}


def openapi_document() -> dict[str, Any]:
    """The API as OpenAPI 3.1."""
    paths: dict[str, Any] = {}
    for path, method, summary, kinds, body, answer in _ENDPOINTS:
        operation: dict[str, Any] = {"summary": summary, "responses": {"200": _answer_of(answer)}}
        if body is not None:
            content = {kind: {"schema": body} for kind in kinds}
            operation["requestBody"] = {"required": True, "content": content}
            operation["responses"] |= {
                str(status): {"description": text, "content": {_JSON: {"schema": _ERROR}}}
                for status, text in _ERRORS.items()
            }
        paths[path] = {method: operation}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "nmt serve",
            "version": __version__,
            "description": "LibreTranslate's API, with explanations and prefixes in addition.",
        },
        "paths": paths,
    }


def _answer_of(schema: Schema | None) -> dict[str, Any]:
    if schema is None:
        return {"description": "text", "content": {"text/plain": {"schema": _STRING}}}
    return {"description": "the result", "content": {_JSON: {"schema": schema}}}


def docs_page(document: dict[str, Any]) -> str:
    """The document for people: one page without scripts and without resources from elsewhere."""
    sections = []
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            sections.append(_section(path, method, operation))
    info = document["info"]
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>{info["title"]}: API</title><link rel="stylesheet" href="/docs.css"></head><body><main>'
        f"<h1>{info['title']} {escape(info['version'])}</h1><p>{escape(info['description'])} "
        'For programs: <a href="/spec">OpenAPI</a>.</p>' + "".join(sections) + "</main></body></html>\n"
    )


def _section(path: str, method: str, operation: dict[str, Any]) -> str:
    parts = [f"<section><h2>{method.upper()} {escape(path)}</h2><p>{escape(operation['summary'])}.</p>"]
    if body := operation.get("requestBody"):
        kinds = list(body["content"])
        parts.append(f"<h3>Request</h3><p>{escape(', '.join(kinds))}</p>")
        parts.append(_table(body["content"][kinds[0]]["schema"]))
    [schema] = (content["schema"] for content in operation["responses"]["200"]["content"].values())
    parts.append("<h3>Answer</h3>")
    inner = schema["items"] if schema["type"] == "array" else schema
    if "properties" in inner:
        parts += ["<p>A list of objects.</p>"] if inner is not schema else []
        parts.append(_table(inner))
    else:
        parts.append("<p>Text.</p>")
    errors = [(status, one) for status, one in operation["responses"].items() if status != "200"]
    if errors:
        rows = "".join(
            f"<tr><td>{status}</td><td>{escape(one['description'])}</td></tr>" for status, one in errors
        )
        parts.append(f"<h3>Errors</h3><table>{rows}</table>")
    return "".join(parts) + "</section>"


def _table(schema: Schema) -> str:
    rows = []
    for name, one in schema["properties"].items():
        needed = "" if name in schema["required"] else "optional"
        text = one.get("description", "")
        rows.append(
            f"<tr><td><code>{escape(name)}</code></td><td>{escape(_type_of(one))}</td><td>{needed}</td>"
            f"<td>{escape(text)}</td></tr>"
        )
    return f"<table>{''.join(rows)}</table>"


def _type_of(schema: Schema) -> str:
    if "oneOf" in schema:
        return " or ".join(_type_of(one) for one in schema["oneOf"])
    if "enum" in schema:
        return " or ".join(schema["enum"])
    if schema["type"] == "array":
        return f"list of {_type_of(schema['items'])}"
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    return " or ".join(kinds)
