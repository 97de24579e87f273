"""The settings of a run: inherited from its data or from --init, and changed on resume."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from nmt_cli.config import (
    LANGUAGE_MODEL_PRESETS,
    PRESETS,
    Config,
    ModelConfig,
    Resolved,
    corpus_defaults,
    setting_names,
)
from nmt_cli.config.section import problems
from nmt_cli.data.directory import DataDirectory
from nmt_cli.errors import ConfigError

DEFAULT = "default"
# Settings that cannot change on resume: it would be a different run.
_FIXED = ("train.seed", "train.optimizer", "train.ema_decay", "train.metric")
_FIXED_SECTIONS = ("data.", "vocabulary.", "model.")
# Settings that change the batches of an epoch.
_BATCH_SETTINGS = ("train.batch_tokens", "train.batch_sentences", "train.pool_batches")
# Settings of a fixed section that only affect speed and memory.
_HARMLESS = ("model.loss_chunk_tokens",)


@dataclass(frozen=True)
class Changes:
    """How the settings of a resumed run change."""

    resolved: Resolved
    listed: tuple[str, ...]  # "train.max_epochs = 40 → 60"
    other_batches: bool  # so the current epoch restarts


def initial_settings(settings: Resolved, data: DataDirectory, init: Resolved | None) -> Resolved:
    """The settings of a new run on `data`; `init` are those of the run whose weights it starts from, if any."""
    resolved = with_data_settings(with_model_settings(settings, init) if init else settings, data)
    if resolved.config.train.objective == "mrt" and init is None:
        raise ConfigError(
            "train.objective = mrt needs a trained model to start from",
            hint="train with train.objective = likelihood first, then start from that run: --init RUN_DIR",
        )
    return resolved


def with_data_settings(settings: Resolved, data: DataDirectory) -> Resolved:
    """The settings of a run on `data`, from which the sections `data` and `vocabulary` are inherited.

    Settings that no layer has set get the defaults for a corpus of this size, and word vectors their own dropout.
    """
    names = [name for name in setting_names() if name.startswith(("data.", "vocabulary."))]
    _check_sides(settings, data)
    settings = _with_shape(settings, data)
    inherited = _inherit(settings, data.resolved, names, "data directory", f"{data.path} was made with")
    pairs = len(data.train)
    slower = "train.learning_rate" in PRESETS[inherited.config.model.preset].others
    defaults = corpus_defaults(pairs, slower=slower)
    scaled = {name: value for name, value in defaults.items() if not _explicit(inherited, name)}
    scaled_settings = _replace(inherited, scaled, dict.fromkeys(scaled, f"{DEFAULT} for {pairs:,} pairs"))
    return _with_input_dropout(scaled_settings)


def _with_input_dropout(settings: Resolved) -> Resolved:
    """With a number for the dropout on word vectors; in runs of earlier versions, none means that of all layers."""
    model = settings.config.model
    if model.input_dropout is not None or model.cell == "transformer":
        return settings
    name = "model.input_dropout"
    return _replace(settings, {name: round(model.dropout / 3, 6)}, {name: f"{DEFAULT}: model.dropout / 3"})


def _check_sides(settings: Resolved, data: DataDirectory) -> None:
    model = settings.config.model
    is_media = data.images is not None, data.recordings is not None
    if is_media != (model.reads_images, model.reads_frames):
        kinds = ("captioned images", "xu2015") if data.images is not None else ("text", "luong2015")
        kinds = kinds if data.recordings is None else ("recordings", "chan2016")
        raise ConfigError(
            f"model.preset = {model.preset} with model.source = {model.source} cannot be trained on {data.path}, "
            f"which contains {kinds[0]}",
            hint=f"choose another preset, such as --preset {kinds[1]}, or other data",
        )
    if not data.is_monolingual or model.is_language_model:
        return
    if model.preset in LANGUAGE_MODEL_PRESETS:  # with an encoder added by the user
        raise ConfigError(
            f"model.encoder_layers = {model.encoder_layers} needs a source, but the text in {data.path} is monolingual",
            hint="leave out model.encoder_layers and the settings that depend on it",
        )
    *others, last = LANGUAGE_MODEL_PRESETS
    raise ConfigError(
        f"model.preset = {model.preset} needs a source, but the text in {data.path} is monolingual",
        hint=f"choose a language model: --preset {', '.join(others)} or {last}",
    )


def _with_shape(settings: Resolved, data: DataDirectory) -> Resolved:
    """With what the model must know of images or recordings: whether they are pixels or features, and their shape."""
    media = data.train.media
    if media is None:
        return settings
    values: dict[str, Any] = {"model.source": media.kind}
    if media.kind == "frames":
        (values["model.frame_size"],) = media.shape
    if media.kind == "features":
        values["model.feature_shape"] = media.shape
        for name in ("image_grid", "image_network"):  # there is no network
            values[f"model.{name}"] = ModelConfig.model_fields[name].default
        if media.shape[0] == 1 and settings.config.model.initial_state == "contrast":
            values["model.initial_state"] = "input"  # the mean of one position is itself
    chosen = [name for name in values if _explicit(settings, name) and not _from_preset(settings, name)]
    wrong = [
        f"{name} = {_value(settings, name)}" for name in chosen if _value(settings, name) != values[name]
    ]
    kind = "recordings" if data.images is None else "images"
    if wrong:
        raise ConfigError(
            f"{' and '.join(wrong)} does not fit the {kind} in {data.path}",
            hint=f"leave it out: they are {media.kind}, each of shape {media.shape}",
        )
    return _replace(settings, values, dict.fromkeys(values, "data directory"))


def with_model_settings(settings: Resolved, other: Resolved) -> Resolved:
    """The settings of a run initialized from another one: its model settings, unless they are set here.

    What the preset of that model sets in other sections is inherited, too. Another preset is another model; naming
    the same one again does not undo settings that override it.
    """
    wanted, preset = settings.config.model.preset, other.config.model.preset
    if _explicit(settings, "model.preset") and wanted != preset:
        raise ConfigError(
            f"model.preset = {wanted}, but --init fixes the model, which is {preset}",
            hint="leave out the preset, or leave out --init to train another model",
        )
    names = [name for name in setting_names() if name.startswith("model.")]
    names += PRESETS[preset].others
    inherited = [name for name in names if not _explicit(settings, name) or _from_preset(settings, name)]
    return _inherit(settings, other, inherited, "--init", None)


def changed_settings(before: Resolved, wanted: Resolved | None) -> Changes:
    """The settings of a resumed run: those it had, with the explicitly `wanted` changes.

    Naming its preset again does not undo settings that override the preset.
    """
    names = [
        name
        for name in setting_names()
        if wanted is not None and _explicit(wanted, name) and not _from_preset(wanted, name)
    ]
    different = [
        name for name in names if wanted is not None and _value(wanted, name) != _value(before, name)
    ]
    if wanted is None or not different:
        return Changes(before, (), other_batches=False)
    shown = {name: f"{name} = {_value(before, name)} → {_value(wanted, name)}" for name in different}
    fixed = [
        name
        for name in different
        if name not in _HARMLESS and (name in _FIXED or name.startswith(_FIXED_SECTIONS))
    ]
    if fixed:
        raise ConfigError(
            f"a resumed run cannot change {'; '.join(shown[name] for name in fixed)}",
            hint="leave this out, or start a new run from this model with --init",
        )
    return Changes(
        _replace(
            before, {name: _value(wanted, name) for name in different}, dict.fromkeys(different, "resume")
        ),
        tuple(shown.values()),
        other_batches=any(name in _BATCH_SETTINGS for name in different),
    )


def _inherit(
    settings: Resolved, other: Resolved, names: Iterable[str], origin: str, made_with: str | None
) -> Resolved:
    """`settings` with `names` from `other`. Explicit ones must be the same, if `made_with` says whose they are."""
    names = list(names)
    wrong = [
        f"{name} = {_value(settings, name)} ({settings.provenance[name]}), "
        f"but {made_with} {_value(other, name)}"
        for name in names
        if made_with and _explicit(settings, name) and _value(settings, name) != _value(other, name)
    ]
    if wrong:
        raise ConfigError("; ".join(wrong), hint="leave this out, or make new data with `nmt preprocess`")
    origins = {name: origin if _explicit(other, name) else DEFAULT for name in names}
    return _replace(settings, {name: _value(other, name) for name in names}, origins)


def _replace(resolved: Resolved, values: Mapping[str, Any], provenance: Mapping[str, str]) -> Resolved:
    content = resolved.config.model_dump()
    for name, value in values.items():
        section, _, key = name.partition(".")
        content[section][key] = value
    try:
        config = Config.model_validate(content)
    except ValidationError as error:
        raise ConfigError(
            "; ".join(problems(error, provenance)), hint="`nmt config` lists every setting with its type"
        ) from error
    return Resolved(config, {**resolved.provenance, **provenance})


def _explicit(resolved: Resolved, name: str) -> bool:
    return not resolved.provenance[name].startswith(DEFAULT)


def _from_preset(resolved: Resolved, name: str) -> bool:
    return resolved.provenance[name].startswith("preset ")


def _value(resolved: Resolved, name: str) -> Any:
    section, _, key = name.partition(".")
    return getattr(getattr(resolved.config, section), key)
