"""Train, run and understand attention-based neural machine translation.

from nmt_cli import Translator

translator = Translator.load("run")
print(translator.translate(["Ein Hund läuft."])[0].text)

docs/python.md shows the way from text to a translator.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nmt_cli.config import Resolved, resolve
    from nmt_cli.errors import NmtError
    from nmt_cli.evaluation.evaluate import evaluate
    from nmt_cli.evaluation.request import EvaluateRequest
    from nmt_cli.evaluation.result import Evaluation
    from nmt_cli.preprocessing import DataCard, PreprocessRequest, preprocess
    from nmt_cli.training import EndReport, Machine, TrainRequest, train
    from nmt_cli.translator import Details, Translation, Translator

__version__ = "0.1.0.dev0"

__all__ = [
    "DataCard",
    "Details",
    "EndReport",
    "EvaluateRequest",
    "Evaluation",
    "Machine",
    "NmtError",
    "PreprocessRequest",
    "Resolved",
    "TrainRequest",
    "Translation",
    "Translator",
    "__version__",
    "evaluate",
    "preprocess",
    "resolve",
    "train",
]

_HOMES = {
    "DataCard": ("preprocessing", "DataCard"),
    "Details": ("translator", "Details"),
    "EndReport": ("training", "EndReport"),
    "EvaluateRequest": ("evaluation.request", "EvaluateRequest"),
    "Evaluation": ("evaluation.result", "Evaluation"),
    "Machine": ("training", "Machine"),
    "NmtError": ("errors", "NmtError"),
    "PreprocessRequest": ("preprocessing", "PreprocessRequest"),
    "Resolved": ("config", "Resolved"),
    "TrainRequest": ("training", "TrainRequest"),
    "Translation": ("translator", "Translation"),
    "Translator": ("translator", "Translator"),
    "evaluate": ("evaluation.evaluate", "evaluate"),
    "preprocess": ("preprocessing", "preprocess"),
    "resolve": ("config", "resolve"),
    "train": ("training", "train"),
}


def __getattr__(name: str) -> Any:
    """Import what is heavy when it is used, so that `import nmt_cli` stays light."""
    if name not in _HOMES:
        raise AttributeError(f"module 'nmt_cli' has no attribute {name!r}")
    module, attribute = _HOMES[name]
    return getattr(import_module(f"nmt_cli.{module}"), attribute)


def __dir__() -> list[str]:
    return __all__
