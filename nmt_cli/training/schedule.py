"""The learning rate as a pure function of the position and of the validation scores so far."""

import math
from collections.abc import Sequence

from nmt_cli.config import TrainConfig
from nmt_cli.training.progress import Merit


def learning_rate(
    config: TrainConfig, *, update: int, epoch: int, scores: Sequence[Merit], horizon: int | None
) -> float:
    """The rate of an update, counted from 1, in an epoch, counted from 1.

    `scores` are those of all validations so far; `horizon` is the last update, if it is known.
    Warm-up multiplies any schedule: it grows linearly and reaches 1 at update `warmup_updates`.
    """
    warmup = min(1.0, update / config.warmup_updates) if config.warmup_updates else 1.0
    return config.learning_rate * warmup * _factor(config, update, epoch, scores, horizon)


def _factor(
    config: TrainConfig, update: int, epoch: int, scores: Sequence[Merit], horizon: int | None
) -> float:
    match config.schedule:
        case "inverse_sqrt":
            return inverse_sqrt(update, config.warmup_updates)
        case "cosine":
            assert horizon is not None
            return cosine(update, config.warmup_updates, horizon, config.final_rate)
        case "plateau":
            decays = plateau_decays(scores, config.decay_patience)
            return max(config.final_rate, config.decay_factor**decays)
        case "step":
            return config.decay_factor ** max(0, epoch - config.decay_after_epochs)
        case _:
            return 1.0


def inverse_sqrt(update: int, warmup: int) -> float:
    """√(w / u) after w updates of warm-up   (Vaswani et al. 2017, 5.3)"""
    start = max(1, warmup)
    return math.sqrt(start / max(update, start))


def cosine(update: int, warmup: int, horizon: int, final: float) -> float:
    """Half a cosine from 1 at the end of warm-up to `final` at the horizon   (Loshchilov & Hutter 2017)"""
    through = (update - warmup) / max(1, horizon - warmup)
    return final + (1 - final) * (1 + math.cos(math.pi * min(1.0, max(0.0, through)))) / 2


def plateau_decays(scores: Sequence[Merit], patience: int) -> int:
    """How often `patience` scores in a row did not beat the best before them; the count then begins anew."""
    best, waited, decays = (-math.inf, -math.inf), 0, 0
    for score in scores:
        if score > best:
            best, waited = score, 0
        else:
            waited += 1
            if waited == patience:
                decays, waited = decays + 1, 0
    return decays


# How often the decoder is fed its own words, as a pure function of the update.


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


# When training ends: limits by updates and epochs, and patience on the validation score.


def waited(scores: Sequence[Merit]) -> int:
    """Validations since the best one; the first of equal scores is the best."""
    return len(scores) - 1 - max(range(len(scores)), key=lambda i: (scores[i], -i)) if scores else 0


def reason_to_end(config: TrainConfig, *, update: int, epochs: int, scores: Sequence[Merit]) -> str | None:
    """Why training ends after so many updates and whole epochs, or None: a pure function, no clock."""
    if config.max_updates and update >= config.max_updates:
        return f"train.max_updates = {config.max_updates}"
    if config.max_epochs and epochs >= config.max_epochs:
        return f"train.max_epochs = {config.max_epochs}"
    if config.patience and waited(scores) >= config.patience:
        return f"no better {config.metric} in {config.patience} validations"
    return None
