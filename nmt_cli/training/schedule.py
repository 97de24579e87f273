"""Schedules: learning rate, scheduled sampling, and when to stop.

All are pure functions of the position in the data and of the validation scores so far; none keeps any state, so a
resumed run needs nothing else.
"""

import math
from collections.abc import Sequence

from nmt_cli.config import TrainConfig
from nmt_cli.training.reports import SelectionScore


def learning_rate(
    config: TrainConfig, *, update: int, epoch: int, scores: Sequence[SelectionScore], horizon: int | None
) -> float:
    """The learning rate of an update in an epoch, both counted from 1.

    `scores` are the scores of all validations so far; `horizon` is the last update, if known. Every schedule is
    multiplied by a linear warm-up, which reaches 1 at update `warmup_updates`.
    """
    warmup = min(1.0, update / config.warmup_updates) if config.warmup_updates else 1.0
    return config.learning_rate * warmup * _factor(config, update, epoch, scores, horizon)


def _factor(
    config: TrainConfig, update: int, epoch: int, scores: Sequence[SelectionScore], horizon: int | None
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


def plateau_decays(scores: Sequence[SelectionScore], patience: int) -> int:
    """The number of times that `patience` scores in a row did not improve; the count then restarts."""
    best, waited, decays = (-math.inf, -math.inf), 0, 0
    for score in scores:
        if score > best:
            best, waited = score, 0
        else:
            waited += 1
            if waited == patience:
                decays, waited = decays + 1, 0
    return decays


def sampling_probability(config: TrainConfig, update: int) -> float:
    """How often the decoder is fed its own prediction at an update, counted from 1.

    Scheduled sampling (Bengio et al. 2015, section 2.4, whose ε is 1 minus this).
    """
    return config.scheduled_sampling * _growth(config, update)


def _growth(config: TrainConfig, update: int) -> float:
    """Grows from 0 towards 1 with update u, on the time scale k."""
    k, u = config.sampling_updates, update
    match config.sampling_schedule:
        case "linear":
            return min(1.0, u / k)
        case "exponential":
            return 1 - math.exp(-u / k)
        case "inverse_sigmoid":
            return 1 - k / (k + math.exp(min(u / k, 700.0)))  # a double would overflow
        case _:
            return 1.0


def validations_since_best(scores: Sequence[SelectionScore]) -> int:
    """The number of validations since the best one; of equal scores, the first is the best."""
    return len(scores) - 1 - max(range(len(scores)), key=lambda i: (scores[i], -i)) if scores else 0


def reason_to_stop(
    config: TrainConfig, *, update: int, epochs: int, scores: Sequence[SelectionScore]
) -> str | None:
    """Why training stops after this many updates and completed epochs, or None if it continues."""
    if config.max_updates and update >= config.max_updates:
        return f"train.max_updates = {config.max_updates}"
    if config.max_epochs and epochs >= config.max_epochs:
        return f"train.max_epochs = {config.max_epochs}"
    if config.patience and validations_since_best(scores) >= config.patience:
        return f"no improvement in {config.metric} for {config.patience} validations"
    return None
