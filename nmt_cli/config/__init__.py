"""One schema for all settings, and the layers they come from."""

from nmt_cli.config.data import FILTERS, DataConfig
from nmt_cli.config.defaults import CORPUS_SIZES, corpus_defaults
from nmt_cli.config.layers import Resolved, load_resolved, resolve, sections, setting_names
from nmt_cli.config.model import ModelConfig
from nmt_cli.config.presets import LANGUAGE_MODEL_PRESETS, PRESETS, TRANSLATION_PRESETS, Preset
from nmt_cli.config.schema import Config
from nmt_cli.config.search import SearchConfig
from nmt_cli.config.train import TrainConfig
from nmt_cli.config.vocabulary import VocabularyConfig

__all__ = [
    "CORPUS_SIZES",
    "FILTERS",
    "LANGUAGE_MODEL_PRESETS",
    "PRESETS",
    "TRANSLATION_PRESETS",
    "Config",
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
