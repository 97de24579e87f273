"""The one schema of all settings."""

from nmt_cli.config.data import DataConfig
from nmt_cli.config.model import ModelConfig
from nmt_cli.config.search import SearchConfig
from nmt_cli.config.section import Section
from nmt_cli.config.train import TrainConfig
from nmt_cli.config.vocabulary import VocabularyConfig


class Config(Section):
    """Every setting of the toolkit, by section."""

    data: DataConfig = DataConfig()
    vocabulary: VocabularyConfig = VocabularyConfig()
    model: ModelConfig = ModelConfig()
    train: TrainConfig = TrainConfig()
    search: SearchConfig = SearchConfig()
