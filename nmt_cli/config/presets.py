"""Every system of the lectures has a name: the settings that make it, apart from the defaults."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Preset:
    """A published system as settings of the section `model`."""

    title: str
    paper: str
    settings: Mapping[str, Any]  # keys of the section `model`


PRESETS: dict[str, Preset] = {
    "luong2015": Preset(
        title="stacked LSTM, attention from the new decoder state, attentional output",
        paper="Luong, Pham & Manning 2015, Effective Approaches to Attention-based Neural Machine Translation",
        settings={},
    ),
}
