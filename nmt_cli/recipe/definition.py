"""What stands in recipe.toml and expected.toml."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from nmt_cli.errors import ConfigError

Value = str | bool | int | float
Settings = Mapping[str, Mapping[str, Value]]  # section → key → value


class Part(BaseModel):
    """A part of these files: nothing in it that is not named here."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


Content = TypeVar("Content", bound=Part)


class Splits(Part):
    """For each set, SPECs as `nmt preprocess` takes them, or two addresses `https://…,https://…`."""

    train: tuple[str, ...]
    valid: tuple[str, ...] = ()
    test: tuple[str, ...] = ()


class Local(Part):
    """For each set, SPECs below --data DIR; the first one that is there is taken."""

    train: tuple[str, ...]
    valid: tuple[str, ...] = ()
    test: tuple[str, ...] = ()
    held_out: bool = False  # a set that is not there is held out from train
    smoke: tuple[str, ...] = ()  # stands in for train in a smoke run


class Recipe(Part):
    """recipe.toml: a corpus, the settings to train on it, and what it takes."""

    title: str
    source_lang: str
    target_lang: str
    pairs: int | None = None  # of the training set; None: any
    time: str  # what to expect, and of what
    license: str
    corpus: Splits | None = None  # where it comes from without --data
    local: Local
    sha256: Mapping[str, str] = {}  # of downloads, by file name
    settings: Settings = {}
    processes: Mapping[int, Settings] = {}  # --processes N → what is different

    @property
    def languages(self) -> tuple[str, str]:
        """Source and target."""
        return self.source_lang, self.target_lang


class Anchor(Part):
    """A published score."""

    score: float
    system: str
    source: str
    note: str = ""


class Band(Part):
    """Scores of our own runs: what a run of this recipe is expected to reach."""

    low: float
    high: float
    scores: tuple[float, ...] = Field(min_length=1)  # one for each seed
    hardware: str
    time: str
    version: str


class Expected(Part):
    """expected.toml: how a run is scored, and which scores are known."""

    test_set: str
    sentences: int | None = None  # a test set of another size is another test set
    metric: Literal["BLEU", "chrF2"] = "BLEU"
    tokenize: str | None = None  # None: by the target language
    lowercase: bool = False
    signature: str  # without the version of sacreBLEU
    anchor: tuple[Anchor, ...] = ()
    band: Band | None = None


def read_recipe(folder: Path) -> Recipe:
    """The recipe in `folder`."""
    return _read(folder / "recipe.toml", Recipe)


def read_expected(folder: Path) -> Expected:
    """What is expected of the recipe in `folder`."""
    return _read(folder / "expected.toml", Expected)


def assignments(settings: Settings) -> list[str]:
    """Settings as the texts that `--set` takes."""
    return [
        f"{section}.{key}={_text(value)}" for section, keys in settings.items() for key, value in keys.items()
    ]


def _text(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _read(path: Path, kind: type[Content]) -> Content:
    hint = "see the recipes that come with nmt for the form of these files"
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
