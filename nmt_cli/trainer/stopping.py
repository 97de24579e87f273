"""When training ends: limits by updates and epochs, and patience on the validation score."""

from collections.abc import Sequence

from nmt_cli.config import TrainConfig
from nmt_cli.trainer.progress import Merit


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
