"""The one schema of all settings."""

from typing import Self

from pydantic import model_validator

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

    @model_validator(mode="after")
    def _a_language_model_translates_nothing(self) -> Self:
        if self.model.is_language_model and self.train.metric != "perplexity":
            raise ValueError(
                f"train.metric = {self.train.metric} contradicts model.encoder_layers = 0, which makes a "
                "language model; set train.metric = perplexity"
            )
        return self
