"""Settings of the section `model`."""

from typing import Literal

from nmt_cli.config.section import Section, setting


class ModelConfig(Section):
    """The network."""

    preset: Literal["luong2015"] = setting("luong2015", "a published system; `nmt presets` lists them")
    embedding_size: int = setting(256, "size of a word vector", ge=1)
    hidden_size: int = setting(512, "size of a decoder state; the encoder has half in each direction", ge=1)
