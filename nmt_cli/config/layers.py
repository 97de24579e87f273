"""The whole configuration, merged from layers: defaults < preset < file < `--set`.

`Config` is the schema of all settings; `resolve` merges the layers, validates the result and records the layer each
value came from.
"""

import json
import math
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap
from types import NoneType, UnionType
from typing import Any, Literal, NamedTuple, Self, Union, get_args, get_origin

from pydantic import ValidationError, model_validator

from nmt_cli.config.data import DataConfig, VocabularyConfig
from nmt_cli.config.defaults import CORPUS_SIZES
from nmt_cli.config.model import ModelConfig
from nmt_cli.config.presets import PRESETS
from nmt_cli.config.search import SearchConfig
from nmt_cli.config.section import Section, problems, shown
from nmt_cli.config.train import TrainConfig
from nmt_cli.drawing.markup import table
from nmt_cli.errors import ConfigError, did_you_mean
from nmt_cli.files.guarded import parse_json

# Settings of a model whose attention cannot be guided, and their values.
_GUIDED: dict[str, tuple[Any, ...]] = {
    "attention": ("none", "uniform"),
    "attention_span": ("local-m", "local-p"),
    "hard_attention": (True,),
    "source": ("image", "features", "frames"),
}

# Settings of a model that minimum risk training does not apply to, and their values.
_WITHOUT_RISK: dict[str, tuple[Any, ...]] = {
    "encoder_layers": (0,),
    "hard_attention": (True,),
    "source": ("image", "features", "frames"),
}


class Config(Section):
    """Every setting, by section."""

    data: DataConfig = DataConfig()
    vocabulary: VocabularyConfig = VocabularyConfig()
    model: ModelConfig = ModelConfig()
    train: TrainConfig = TrainConfig()
    search: SearchConfig = SearchConfig()

    @model_validator(mode="after")
    def _words_are_not_placeholders(self) -> Self:
        if self.data.placeholders and self.vocabulary.kind == "word":
            raise ValueError(
                "data.placeholders = true is incompatible with vocabulary.kind = word, which has no symbols within "
                "words; set vocabulary.kind = bpe"
            )
        return self

    @model_validator(mode="after")
    def _only_soft_attention_to_words_is_guided(self) -> Self:
        if not self.train.guided_alignment:
            return self
        for name, values in _GUIDED.items():
            if (value := getattr(self.model, name)) in values:
                raise ValueError(
                    f"train.guided_alignment = {self.train.guided_alignment} is incompatible with model.{name} = "
                    f"{shown(value)}; leave out train.guided_alignment"
                )
        return self

    @model_validator(mode="after")
    def _only_translations_have_risks(self) -> Self:
        if self.train.objective == "mrt":
            for name, values in _WITHOUT_RISK.items():
                if (value := getattr(self.model, name)) in values:
                    raise ValueError(
                        f"train.objective = mrt is incompatible with model.{name} = {shown(value)}; "
                        "leave out train.objective"
                    )
            if self.model.coverage_loss:
                raise ValueError(
                    f"train.objective = mrt is incompatible with model.coverage_loss = {self.model.coverage_loss}; "
                    "leave out model.coverage_loss"
                )
        return self

    @model_validator(mode="after")
    def _only_transcripts_have_an_error_rate(self) -> Self:
        if self.train.metric == "wer" and not self.model.reads_frames:
            raise ValueError(
                f"train.metric = wer is incompatible with model.source = {self.model.source}; set train.metric = bleu"
            )
        return self

    @model_validator(mode="after")
    def _language_models_are_selected_by_perplexity(self) -> Self:
        if self.model.is_language_model and self.train.metric != "perplexity":
            raise ValueError(
                f"train.metric = {self.train.metric} is incompatible with model.encoder_layers = 0, which makes a "
                "language model; set train.metric = perplexity"
            )
        return self


Flat = dict[str, Any]  # "section.key" → value


@dataclass(frozen=True)
class Resolved:
    """A validated configuration and, for every setting, the layer its value came from."""

    config: Config
    provenance: Mapping[str, str]  # "section.key" → "default", "preset luong2015", "file x.toml" or "--set"

    def to_json(self) -> str:
        """The content of config.json, which is part of every data and run directory."""
        content = {"settings": self.config.model_dump(mode="json"), "provenance": dict(self.provenance)}
        return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def resolve(
    file: Path | None = None, assignments: Sequence[str] = (), *, preset: tuple[str, str] | None = None
) -> Resolved:
    """Merge all layers and validate the result; all errors are reported together in one ConfigError.

    `assignments` are the arguments of `--set`, such as `train.seed=2`. `preset` is the preset to use if no layer
    names one, and the name of that layer.
    """
    errors: list[str] = []
    layers: list[tuple[str, Flat]] = []
    if file is not None:
        layers.append((f"file {file}", _flatten(_read_toml(file), f"{file}: ", errors)))
    if assignments:
        layers.append(("--set", _parse_assignments(assignments, errors)))

    if preset is not None:
        layers.insert(0, (preset[1], {"model.preset": preset[0]}))
    name = next((flat["model.preset"] for _, flat in reversed(layers) if "model.preset" in flat), None)
    if isinstance(name, str) and name in PRESETS:
        layers.insert(0, (f"preset {name}", _preset_settings(name)))

    merged: dict[str, dict[str, Any]] = {}
    provenance: dict[str, str] = {}
    for origin, flat in layers:
        for key, value in flat.items():
            section, field = key.split(".", 1)
            merged.setdefault(section, {})[field] = value
            provenance[key] = origin
    try:
        config = Config.model_validate(merged)
    except ValidationError as error:
        errors.extend(problems(error, provenance))
    if errors:
        raise ConfigError(
            "; ".join(errors), hint="`nmt config` lists every setting with its type and default"
        )
    return Resolved(config, {key: provenance.get(key, "default") for key in setting_names()})


def _preset_settings(name: str) -> Flat:
    preset = PRESETS[name]
    return {**{f"model.{key}": value for key, value in preset.settings.items()}, **preset.others}


def section_assignments(section: str, assignments: Sequence[str]) -> dict[str, Any]:
    """The values that `--set` arguments give to one section, by key; settings of other sections are rejected."""
    errors: list[str] = []
    flat = _parse_assignments(assignments, errors)
    errors += [
        f"--set {key}: only {section}.* can be set here" for key in flat if not key.startswith(f"{section}.")
    ]
    if errors:
        raise ConfigError(
            "; ".join(errors), hint=f"`nmt config` lists every setting; use those that begin with {section}."
        )
    return {key.partition(".")[2]: value for key, value in flat.items()}


def section_of_file(section: str, path: Path) -> dict[str, Any]:
    """The values that a TOML file gives to one section, by key; other sections may be for other commands."""
    errors: list[str] = []
    flat = _flatten(_read_toml(path), f"{path}: ", errors)
    if errors:
        raise ConfigError(
            "; ".join(errors), hint="`nmt config` lists every setting with its type and default"
        )
    return {key.partition(".")[2]: value for key, value in flat.items() if key.startswith(f"{section}.")}


def file_assignments(path: Path) -> list[str]:
    """The settings of a TOML file as arguments of `--set`."""
    return [
        f"{section}.{key}={toml_value(value)}"
        for section, _ in sections()
        for key, value in section_of_file(section, path).items()
    ]


def load_resolved(content: bytes) -> Resolved:
    """Read back what `Resolved.to_json` wrote; a ValueError, KeyError or TypeError if it did not."""
    document = parse_json(content)
    # A setting that is newer than the file has its default.
    provenance = {name: str(document["provenance"].get(name, "default")) for name in setting_names()}
    try:
        return Resolved(Config.model_validate(document["settings"]), provenance)
    except ValidationError as error:
        raise ValueError("; ".join(problems(error, {}))) from error


def setting_names() -> list[str]:
    """Every setting as `section.key`, in the order of the schema."""
    return [f"{section}.{key}" for section, model in sections() for key in model.model_fields]


def sections() -> Iterator[tuple[str, type[Section]]]:
    """The sections of the schema, with their names."""
    for name, field in Config.model_fields.items():
        assert isinstance(field.annotation, type)
        assert issubclass(field.annotation, Section)
        yield name, field.annotation


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(
            f"cannot read {path}: {error.strerror}", hint="give the path of a TOML file with [section] tables"
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"{path} is not valid TOML: {error}",
            hint='write settings as key = value under [section]; text needs "quotes"',
        ) from error


def _flatten(content: Mapping[str, Any], where: str, errors: list[str]) -> Flat:
    flat: Flat = {}
    for section, values in content.items():
        if isinstance(values, dict):
            flat.update((f"{section}.{key}", value) for key, value in values.items())
        else:
            errors.append(f"{where}{section} is outside of any [section]")
    return {key: value for key, value in flat.items() if _known(key, where, errors)}


def _parse_assignments(assignments: Sequence[str], errors: list[str]) -> Flat:
    flat: Flat = {}
    for text in assignments:
        key, equals, value = text.partition("=")
        key = key.strip()
        if not equals:
            errors.append(f"--set {text}: expected section.key=value")
        elif _known(key, "--set ", errors):
            flat[key] = _parse_value(value.strip())
    return flat


def _parse_value(text: str) -> Any:
    """A value parsed as TOML (numbers, true, "text", [lists]); anything else is plain text."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _known(key: str, where: str, errors: list[str]) -> bool:
    known = setting_names()
    if key in known:
        return True
    # A key with a missing or wrong section is as common a mistake as a typo.
    suffix = [name for name in known if name.rpartition(".")[2] == key.rpartition(".")[2]]
    errors.append(f"{where}{key} is not a setting{did_you_mean(key, suffix or known)}")
    return False


# ------------------------------------------------------------------------------------------------------------
# The reference of all settings, generated from the schema: `nmt config` and docs/configuration.md.


class Description(NamedTuple):
    """One setting in the reference."""

    name: str
    type: str
    default: str
    meaning: str


def describe_settings() -> Iterator[Description]:
    """Every setting with its type, default and one line of help."""
    for section, model in sections():
        for key, field in model.model_fields.items():
            limits = [_limit(item) for item in field.metadata]
            kind = " ".join([_type_name(field.annotation), *filter(None, limits)])
            yield Description(f"{section}.{key}", kind, toml_value(field.default), field.description or "")


def to_toml(resolved: Resolved, *, only: str | None = None, changed: bool = False) -> str:
    """The resolved settings as a TOML file, each with the layer its value came from.

    only      a single section
    changed   only settings that differ from their defaults
    """
    lines: list[str] = []
    for section, model in sections():
        shown = [
            (key, value)
            for key, value in getattr(resolved.config, section)
            if not changed or value != model.model_fields[key].default
        ]
        if only not in (None, section) or not shown:
            continue
        lines += ["", f"[{section}]"] if lines else [f"[{section}]"]
        for key, value in shown:
            origin = resolved.provenance[f"{section}.{key}"]
            # TOML has no null: a setting that is not set becomes a comment.
            assignment = f"# {key} is not set" if value is None else f"{key} = {toml_value(value)}"
            lines.append(f"{assignment}  # {origin}")
    return "".join(f"{line}\n" for line in lines)


def reference_markdown() -> str:
    """The page `docs/configuration.md`."""
    lines = [
        "# Settings",
        "",
        "Generated by `nmt config --markdown`. Layers, weakest first: defaults < preset < file (`--config`) <",
        "`--set section.key=value`.",
    ]
    section = ""
    for row in describe_settings():
        if row.name.partition(".")[0] != section:
            section = row.name.partition(".")[0]
            lines += ["", f"## {section}", ""]
        text = f"`{row.name}`, {row.type}, default `{row.default}`: {row.meaning}"
        lines += wrap(text, 118, initial_indent="- ", subsequent_indent="  ", break_on_hyphens=False)
    return "\n".join([*lines, *_corpus_sizes()]) + "\n"


def _corpus_sizes() -> Iterator[str]:
    """The table of defaults that depend on the size of the corpus."""
    names = list(dict.fromkeys(name for size in CORPUS_SIZES for name in size.settings))
    slower = list(dict.fromkeys(name for size in CORPUS_SIZES for name in size.slower))
    plain = {row.name: row.default for row in describe_settings()}

    def row(name: str, title: str, values: Iterable[Mapping[str, Any]]) -> list[str]:
        return [title, *(toml_value(value[name]) if name in value else plain[name] for value in values)]

    yield from ("", "## Defaults by the size of the corpus", "")
    yield "`nmt train` uses these defaults, depending on the number of training pairs (`--dry-run` shows them):"
    sizes = [f"up to {size.pairs:,.0f}" if size.pairs < math.inf else "more" for size in CORPUS_SIZES]
    rows = [row(name, f"`{name}`", (size.settings for size in CORPUS_SIZES)) for name in names]
    rows += [
        row(name, f"`{name}`, other presets", ({**size.settings, **size.slower} for size in CORPUS_SIZES))
        for name in slower
    ]
    yield from ("", *table(["training pairs", *sizes], rows), "")
    yield "Other presets are `vaswani2017` and those of language models, captioning and speech recognition. They set"
    yield "their own learning rate, 0.002 or 0.001, and `vaswani2017` its own dropout, 0.1, for corpora of any size."


def toml_value(value: Any) -> str:
    """A value in TOML syntax."""
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
