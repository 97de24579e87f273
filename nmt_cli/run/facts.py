"""What the small files of a run say: languages and data in run.json, settings in config.json. Read without torch."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self

from nmt_cli.config import Resolved, load_resolved
from nmt_cli.data.text_files import is_language
from nmt_cli.errors import DirectoryError
from nmt_cli.files.guarded import parse_json
from nmt_cli.files.manifest import SHA256, Manifest

if TYPE_CHECKING:
    from nmt_cli.data.directory import DataDirectory

KIND = "run"
MODEL = "model.safetensors"
CONFIG = "config.json"
FACTS = "run.json"


@dataclass(frozen=True)
class RunFacts:
    """Facts about a run, apart from its settings."""

    source_lang: str
    target_lang: str
    data: str  # path of the data directory, absolute
    data_sha256: str  # of its manifest: identifies the data wherever it is

    @classmethod
    def of(cls, data: DataDirectory) -> Self:
        """The facts of a run on this data."""
        return cls(data.source_lang, data.target_lang, str(data.path.resolve()), data.fingerprint)

    @classmethod
    def from_json(cls, content: Any) -> Self:
        """The facts in run.json; a ValueError or TypeError if it was not written by nmt."""
        facts = cls(**content)
        if not (facts.source_lang == "" or is_language(facts.source_lang)) or not is_language(
            facts.target_lang
        ):
            raise ValueError("a language is not a language code")
        if not isinstance(facts.data, str) or "\0" in facts.data:
            raise ValueError("data is not a path")
        if not SHA256.fullmatch(facts.data_sha256):
            raise ValueError("data_sha256 is not a hash")
        return facts

    def to_json(self) -> str:
        """The content of run.json."""
        return json.dumps(asdict(self), indent=2, ensure_ascii=False) + "\n"


def parse_settings(files: Manifest) -> tuple[RunFacts, Resolved]:
    """The facts and settings of a run; an error if they are not well-formed or not those that were written."""
    try:
        return RunFacts.from_json(parse_json(files.read(FACTS))), load_resolved(files.read(CONFIG))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DirectoryError(
            f"the settings in {files.directory.path} cannot be read: {error}",
            hint="copy the whole directory again, or train a new model",
        ) from error
