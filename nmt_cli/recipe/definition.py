"""A recipe: recipe.toml and expected.toml, where recipes are found, and whether a score is as expected."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from nmt_cli.corpus.spec import MAX_WEIGHT, check_tag
from nmt_cli.errors import ConfigError, DirectoryError, UsageError, did_you_mean

Value = str | bool | int | float
Settings = Mapping[str, Mapping[str, Value]]  # section → key → value
Record = dict[str, Any]


class TomlTable(BaseModel):
    """A table in these files. Unknown keys are rejected."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


Content = TypeVar("Content", bound=TomlTable)


class Splits(TomlTable):
    """SPECs of each set as `nmt preprocess` takes them, a pair of URLs `https://…,https://…`, or generated text.

    Generated text is `demo:KIND:SIZE:SET`, as `nmt demo-data` writes it.
    """

    train: tuple[str, ...]
    valid: tuple[str, ...] = ()
    test: tuple[str, ...] = ()


class Local(TomlTable):
    """Candidate SPECs of each set, relative to --data DIR; the first that exists is used.

    A candidate may consist of several corpora: "manpages/train + help/train".
    """

    train: tuple[str, ...]
    valid: tuple[str, ...] = ()
    test: tuple[str, ...] = ()
    held_out: bool = False  # a missing set is held out from train
    smoke: tuple[str, ...] = ()  # replaces train in a smoke run if train is missing


class BackTranslation(TomlTable):
    """How monolingual text in the target language becomes training pairs."""

    share: float = Field(0.0, ge=0.0, lt=1.0)  # of the training pairs: only their target side is used
    search: Literal["beam", "sample"] = "beam"  # how the reverse model translates
    tag: str = "⟨bt⟩"  # before each synthetic source
    weight: float = Field(1.0, gt=0.0, le=MAX_WEIGHT)  # times that an epoch contains each synthetic pair

    @field_validator("tag")
    @classmethod
    def _tag_is_allowed(cls, tag: str) -> str:
        check_tag(tag)
        return tag


class Recipe(TomlTable):
    """recipe.toml: a corpus, and the settings to train on it."""

    title: str
    source_lang: str
    target_lang: str
    pairs: int | None = None  # of the training set; None: the user's own corpus
    time: str  # expected running time, and on which hardware
    license: str
    corpus: Splits | None = None  # where to download it without --data
    local: Local
    sha256: Mapping[str, str] = {}  # of downloaded files, by name
    settings: Settings = {}
    back_translation: BackTranslation | None = None
    processes: Mapping[int, Settings] = {}  # --processes N → settings that differ

    @property
    def languages(self) -> tuple[str, str]:
        """Source and target."""
        return self.source_lang, self.target_lang


class Anchor(TomlTable):
    """A published score."""

    score: float
    system: str
    source: str
    note: str = ""


class Band(TomlTable):
    """The band of scores that a run of this recipe is expected to reach, from our own runs."""

    low: float
    high: float
    scores: tuple[float, ...] = Field(min_length=1)  # one per seed
    hardware: str
    time: str
    version: str


class Expected(TomlTable):
    """expected.toml: how a run is scored, and the known scores."""

    test_set: str
    sentences: int | None = None  # in the test set; a different number means a different test set
    metric: Literal["BLEU", "chrF2", "accuracy"] = "BLEU"
    tokenize: str | None = None  # None: chosen by target language
    lowercase: bool = False
    signature: str  # without sacreBLEU's version
    anchor: tuple[Anchor, ...] = ()
    band: Band | None = None


def read_recipe(folder: Path) -> Recipe:
    """The recipe in `folder`."""
    return read_toml(folder / "recipe.toml", Recipe)


def read_expected(folder: Path) -> Expected:
    """The expected score of the recipe in `folder`."""
    return read_toml(folder / "expected.toml", Expected)


@dataclass(frozen=True)
class NamedRecipe:
    """A recipe with its name, its folder and its expected score."""

    name: str
    folder: Path
    recipe: Recipe
    expected: Expected


def recipes_folder() -> Path:
    """The folder that has one subfolder per recipe."""
    package = Path(__file__).resolve().parent.parent
    # The package has a symbolic link to the folder in the checkout; without symlinks there is only the latter.
    return next(
        (folder for folder in (package / "recipes", package.parent / "recipes") if folder.is_dir()),
        package / "recipes",
    )


def recipe_names() -> list[str]:
    """All recipes, in alphabetical order."""
    return sorted(path.parent.name for path in recipes_folder().glob("*/recipe.toml"))


def find_recipe(name: str) -> NamedRecipe:
    """The recipe of this name; the error for an unknown name suggests the nearest one."""
    if name not in recipe_names():
        names = sorted(path.name for path in recipes_folder().iterdir() if path.is_dir())
        raise UsageError(
            f"there is no recipe {name}{did_you_mean(name, names)}", hint="`nmt recipe` lists all recipes"
        )
    folder = recipes_folder() / name
    return NamedRecipe(name, folder, read_recipe(folder), read_expected(folder))


def assignments(settings: Settings) -> list[str]:
    """Settings as arguments of `--set`."""
    return [
        f"{section}.{key}={_text(value)}" for section, keys in settings.items() for key, value in keys.items()
    ]


def _text(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def read_toml(path: Path, kind: type[Content]) -> Content:
    """A TOML file as a model; what is wrong with it is an error that names the file."""
    hint = "see the recipes that come with nmt for examples of these files"
    try:
        content: Mapping[str, Any] = tomllib.loads(path.read_text("utf-8"))
        return kind.model_validate(content)
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}", hint=hint) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not valid TOML: {error}", hint=hint) from error
    except ValidationError as error:
        details = (
            f"{'.'.join(map(str, one['loc']))}: {one['msg'].lower()}"
            for one in error.errors(include_url=False)
        )
        raise ConfigError(f"{path}: {'; '.join(details)}", hint=hint) from error


@dataclass(frozen=True)
class Verdict:
    """One sentence, further notes, and whether the score reaches the expected band."""

    sentence: str
    notes: tuple[str, ...] = ()
    passed: bool = True


def check_score(expected: Expected, run: Path, *, more_text: bool = False) -> Verdict:
    """Compare the last evaluation of a run with the expected score.

    `more_text`: the model was trained on more than the corpus of the recipe, so no score is expected of it.
    """
    record, score = _evaluation(expected, run)
    value = round(score["score"], 1)
    shown = f"{expected.metric} {value:.1f}"
    notes = (f"signature: {score['signature']}", *_anchors(expected))
    if not _computed_as_expected(score, expected):
        return Verdict(
            f"{shown}: not comparable, since it was not computed as expected",
            (*notes, f"expected: {expected.signature}"),
        )
    if expected.sentences is not None and record["sentences"] != expected.sentences:
        return Verdict(
            f"{shown}: not comparable, since this test set has {record['sentences']:,} sentences and "
            f"{expected.test_set} has {expected.sentences:,}",
            notes,
        )
    if expected.band is None:
        return Verdict(f"{shown} on {expected.test_set}; no expected band has been measured yet", notes)
    low, high = expected.band.low, expected.band.high
    if more_text:
        without = f"{low:.1f}–{high:.1f} is expected without the additional text"
        return Verdict(f"{shown} on {expected.test_set}; {without}", notes)
    place = "below" if value < low else "above" if value > high else "inside"
    return Verdict(f"{shown}, {place} the expected band {low:.1f}–{high:.1f}", notes, passed=value >= low)


def _evaluation(expected: Expected, run: Path) -> tuple[Record, Record]:
    """The last evaluation with the expected signature, or else the last one, and its score."""
    from nmt_cli.run.logs import ScoresLog  # torch takes seconds to import

    found = [
        (record, score)
        for record in ScoresLog(run).read()
        for score in record["scores"]
        if score["metric"] == expected.metric
    ]
    if not found:
        raise DirectoryError(f"{run} has no {expected.metric} score yet", hint=f"run nmt evaluate {run}")
    return next((one for one in reversed(found) if _computed_as_expected(one[1], expected)), found[-1])


def _computed_as_expected(score: Record, expected: Expected) -> bool:
    return _essence(score["signature"]) == _essence(expected.signature)


def _anchors(expected: Expected) -> tuple[str, ...]:
    return tuple(
        f"published: {anchor.score:g}, {anchor.system} ({anchor.source}{f'; {anchor.note}' if anchor.note else ''})"
        for anchor in expected.anchor
    )


def _essence(signature: str) -> str:
    """The parts of a signature that affect the score: not the resampling, nor sacreBLEU's version."""
    parts = signature.split("|")
    return "|".join(part for part in parts if part.partition(":")[0] not in ("version", "bs", "ar", "seed"))
