"""The settings described from the schema itself, so that the description cannot be wrong."""

import json
import math
from collections.abc import Iterator
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin

from nmt_cli.config.defaults import CORPUS_SIZES
from nmt_cli.config.layers import Resolved, sections


class Description(NamedTuple):
    """One row of the reference."""

    name: str
    type: str
    default: str
    meaning: str


def describe_settings() -> Iterator[Description]:
    """Every setting with its type, default and meaning."""
    for section, model in sections():
        for key, field in model.model_fields.items():
            limits = [_limit(item) for item in field.metadata]
            kind = " ".join([_type_name(field.annotation), *filter(None, limits)])
            yield Description(f"{section}.{key}", kind, toml_value(field.default), field.description or "")


def to_toml(resolved: Resolved) -> str:
    """The resolved settings as a TOML file, each with the layer that decided it."""
    lines: list[str] = []
    for section, _ in sections():
        lines += ["", f"[{section}]"] if lines else [f"[{section}]"]
        for key, value in getattr(resolved.config, section):
            origin = resolved.provenance[f"{section}.{key}"]
            # TOML has no null: a setting that is not set is left out, but shown.
            assignment = f"# {key} is not set" if value is None else f"{key} = {toml_value(value)}"
            lines.append(f"{assignment}  # {origin}")
    return "\n".join(lines) + "\n"


def reference_markdown() -> str:
    """The page `docs/configuration.md`."""
    lines = [
        "# Settings",
        "",
        "Made by `nmt config --markdown`. Layers: defaults < preset < file (`--config`) < `--set section.key=value`.",
    ]
    section = ""
    for row in describe_settings():
        if row.name.partition(".")[0] != section:
            section = row.name.partition(".")[0]
            lines += [
                "",
                f"## {section}",
                "",
                "| setting | type | default | meaning |",
                "| --- | --- | --- | --- |",
            ]
        cells = (f"`{row.name}`", row.type, f"`{row.default}`", row.meaning)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join([*lines, *_corpus_sizes()]) + "\n"


def _corpus_sizes() -> Iterator[str]:
    """The table of the defaults that `nmt train` chooses by the size of the corpus."""
    names = list(dict.fromkeys(name for _, settings in CORPUS_SIZES for name in settings))
    plain = {row.name: row.default for row in describe_settings()}
    yield from ("", "## Defaults by the size of the corpus", "")
    yield "`nmt train` takes these instead, where nothing else is chosen (`--dry-run` shows them):"
    yield from ("", f"| training pairs | {' | '.join(f'`{name}`' for name in names)} |")
    yield "| --- |" + " ---: |" * len(names)
    for most, settings in CORPUS_SIZES:
        size = f"up to {most:,.0f}" if most < math.inf else "more"
        values = (toml_value(settings[name]) if name in settings else plain[name] for name in names)
        yield f"| {size} | {' | '.join(values)} |"


def toml_value(value: Any) -> str:
    """A value as TOML writes it."""
    if value is None:
        return "not set"
    if isinstance(value, (str, Path)):
        return json.dumps(str(value), ensure_ascii=False)
    if isinstance(value, (tuple, list)):
        return "[" + ", ".join(toml_value(item) for item in value) + "]"
    return str(value).lower() if isinstance(value, bool) else repr(value)


def _type_name(annotation: Any) -> str:
    if get_origin(annotation) is Literal:
        return " | ".join(str(choice) for choice in get_args(annotation))
    if get_origin(annotation) in (Union, UnionType):
        return " | ".join(_type_name(choice) for choice in get_args(annotation) if choice is not NoneType)
    if get_origin(annotation) is tuple:
        return f"list of {_type_name(get_args(annotation)[0])}"
    return {int: "integer", float: "number", bool: "true | false", str: "text", Path: "path"}[annotation]


def _limit(metadata: Any) -> str:
    signs = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<"}
    return next(
        (f"{sign} {getattr(metadata, name)}" for name, sign in signs.items() if hasattr(metadata, name)), ""
    )
