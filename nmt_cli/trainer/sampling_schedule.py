"""How often the decoder is fed its own words, as a pure function of the update."""

import math

from nmt_cli.config import TrainConfig


def own_word_probability(config: TrainConfig, update: int) -> float:
    """The probability at an update, counted from 1   (Bengio et al. 2015, section 2.4; theirs is 1 minus this)"""
    return config.scheduled_sampling * _growth(config, update)


def _growth(config: TrainConfig, update: int) -> float:
    """From 0 towards 1 with the updates u, on the scale k."""
    k, u = config.sampling_updates, update
    match config.sampling_schedule:
        case "linear":
            return min(1.0, u / k)
        case "exponential":
            return 1 - math.exp(-u / k)
        case "inverse_sigmoid":
            return 1 - k / (k + math.exp(min(u / k, 700.0)))  # beyond, a double overflows
        case _:
            return 1.0
