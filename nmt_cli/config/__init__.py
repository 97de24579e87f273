"""Settings: one schema, no defaults anywhere else.

section         what a setting is: name, default, check, one line of help
data, model, train, search   the settings; `data` has those of `vocabulary` too
contradictions  settings of `model` that cannot be combined
presets         published systems as settings
layers          `Config`, all sections; defaults < preset < file < `--set`; the reference that `nmt config` prints
defaults        defaults by corpus size, and of command-line options that are not settings
"""

from nmt_cli.config.data import FILTERS, DataConfig, VocabularyConfig
from nmt_cli.config.defaults import CORPUS_SIZES, CorpusSize, corpus_defaults
from nmt_cli.config.layers import Config, Resolved, load_resolved, resolve, sections, setting_names
from nmt_cli.config.model import ModelConfig
from nmt_cli.config.presets import (
    CAPTION_PRESETS,
    LANGUAGE_MODEL_PRESETS,
    PRESETS,
    SPEECH_PRESETS,
    TRANSLATION_PRESETS,
    Preset,
)
from nmt_cli.config.search import SearchConfig
from nmt_cli.config.train import TrainConfig

__all__ = [
    "CAPTION_PRESETS",
    "CORPUS_SIZES",
    "FILTERS",
    "LANGUAGE_MODEL_PRESETS",
    "PRESETS",
    "SPEECH_PRESETS",
    "TRANSLATION_PRESETS",
    "Config",
    "CorpusSize",
    "DataConfig",
    "ModelConfig",
    "Preset",
    "Resolved",
    "SearchConfig",
    "TrainConfig",
    "VocabularyConfig",
    "corpus_defaults",
    "load_resolved",
    "resolve",
    "sections",
    "setting_names",
]
