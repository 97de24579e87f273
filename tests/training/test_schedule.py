"""Schedules and limits are pure functions."""

import math

import pytest

from nmt_cli.config import TrainConfig
from nmt_cli.errors import ConfigError
from nmt_cli.training.reports import RunState, SelectionScore
from nmt_cli.training.schedule import (
    cosine,
    inverse_sqrt,
    learning_rate,
    plateau_decays,
    reason_to_stop,
    validations_since_best,
)

from .conftest import settings


def rate(
    config: TrainConfig, update: int, *, epoch: int = 1, scores: list[SelectionScore] | None = None
) -> float:
    return learning_rate(config, update=update, epoch=epoch, scores=scores or [], horizon=1000)


def ranked(*scores: float) -> list[SelectionScore]:
    return [(score, 0.0) for score in scores]


@pytest.mark.parametrize("schedule", ["constant", "inverse_sqrt", "cosine", "plateau", "step"])
def test_warm_up_is_linear(schedule: str) -> None:
    config = TrainConfig.model_validate({"schedule": schedule, "warmup_updates": 10, "learning_rate": 0.5})
    assert [rate(config, update) for update in (1, 5, 10)] == pytest.approx([0.05, 0.25, 0.5])


def test_inverse_square_root_halves_after_four_times_the_updates() -> None:
    assert inverse_sqrt(100, 100) == 1.0
    assert inverse_sqrt(400, 100) == pytest.approx(0.5)
    assert inverse_sqrt(4, 0) == pytest.approx(0.5)


def test_cosine_decays_from_1_to_the_final_rate() -> None:
    assert [cosine(u, 100, 1100, 0.1) for u in (100, 600, 1100, 2000)] == pytest.approx([1.0, 0.55, 0.1, 0.1])


def test_plateau_decays_after_every_patience_without_improvement() -> None:
    assert plateau_decays(ranked(1, 2, 3), 1) == 0
    assert plateau_decays(ranked(3, 3, 3), 2) == 1
    assert plateau_decays(ranked(3, 1, 2, 1, 2), 2) == 2
    assert plateau_decays(ranked(3, 1, 4, 1), 2) == 0
    config = TrainConfig(
        schedule="plateau",
        learning_rate=1e-3,
        warmup_updates=0,
        decay_patience=1,
        decay_factor=0.5,
        final_rate=0.2,
    )
    rates = [rate(config, 50, scores=ranked(*([1.0] * n))) for n in range(1, 6)]
    assert rates == pytest.approx([1e-3, 5e-4, 2.5e-4, 2e-4, 2e-4])


def test_step_decay_halves_every_epoch_after_the_first_ones() -> None:
    config = TrainConfig(schedule="step", warmup_updates=0, learning_rate=1.0, decay_after_epochs=5)
    assert [rate(config, 9, epoch=epoch) for epoch in (1, 5, 6, 7)] == [1.0, 1.0, 0.5, 0.25]


def test_patience_counts_validations_since_the_best() -> None:
    cases: list[tuple[list[float], int]] = [([], 0), ([1], 0), ([1, 2], 0), ([2, 1, 1], 2), ([2, 2], 1)]
    for scores, since in cases:
        assert validations_since_best(ranked(*scores)) == since
    config = TrainConfig(patience=2, max_epochs=3, max_updates=10)

    def why(update: int = 1, epochs: int = 0, *scores: float) -> str | None:
        return reason_to_stop(config, update=update, epochs=epochs, scores=ranked(*scores))

    assert why() is None
    assert why(10) == "train.max_updates = 10"
    assert why(9, 3) == "train.max_epochs = 3"
    assert why(9, 2, 5, 4) is None
    assert why(9, 2, 5, 4, 4) == "no improvement in bleu for 2 validations"
    free = TrainConfig(schedule="constant", patience=0, max_epochs=0, max_updates=0)
    assert reason_to_stop(free, update=10**6, epochs=10**3, scores=ranked(*range(99, 0, -1))) is None


def test_equal_scores_are_ranked_by_loss() -> None:
    progress = RunState(update=1)
    assert progress.record((0.0, -5.0), keep=2)
    progress.update = 2
    assert progress.record((0.0, -4.0), keep=2)
    progress.update = 3
    assert not progress.record((0.0, -4.5), keep=2)
    assert [update for update, _ in progress.best] == [2, 3]
    assert RunState.from_json(progress.to_json()) == progress
    assert validations_since_best(progress.scores) == 1


def test_contradictory_settings_are_all_reported_together() -> None:
    with pytest.raises(ConfigError) as caught:
        settings("train.schedule=cosine", "train.max_epochs=0", "train.momentum=0.9")
    assert "train.schedule = cosine needs a limit" in caught.value.message
    assert "train.momentum = 0.9 is incompatible with train.optimizer = adam" in caught.value.message
    assert math.isclose(settings("train.optimizer=sgd", "train.momentum=0.9").config.train.momentum, 0.9)
