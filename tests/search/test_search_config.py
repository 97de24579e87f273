"""Contradictory search settings are rejected with the names of both."""

from typing import Any

import pytest

from nmt_cli.config import resolve
from nmt_cli.config.search import SearchConfig
from nmt_cli.errors import ConfigError


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_best": 6}, "search.n_best = 6 is incompatible with search.beam_size = 5"),
        (
            {"min_length": 9, "max_length": 8},
            "search.min_length = 9 is incompatible with search.max_length = 8",
        ),
        (
            {"word_reward": 0.5},
            "search.word_reward = 0.5 is incompatible with search.length_normalization = average",
        ),
        ({"temperature": 0.5}, "search.temperature = 0.5 is incompatible with search.sampling = false"),
        ({"top_k": 5}, "search.top_k = 5 is incompatible with search.sampling = false"),
        ({"top_p": 0.5}, "search.top_p = 0.5 is incompatible with search.sampling = false"),
        (
            {"sampling": "true", "stopping": "exact"},
            "search.stopping = exact is incompatible with search.sampling = true",
        ),
    ],
    ids=str,
)
def test_a_contradiction_names_both_settings(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        resolve(None, [f"search.{key}={value}" for key, value in settings.items()])
    assert message in caught.value.message


def test_all_contradictions_are_named_together() -> None:
    with pytest.raises(ValueError, match=r"search\.n_best = 9.*search\.top_k = 3"):
        SearchConfig(n_best=9, top_k=3)


def test_n_best_may_exceed_the_beam_size_when_sampling() -> None:
    assert SearchConfig(n_best=9, sampling=True, top_k=3).width == 9


@pytest.mark.parametrize(
    "assignment",
    [
        "length_penalty=300",
        "word_reward=1e300",
        "coverage_penalty=1e300",
        "max_length=99999999999999999999",
        "max_length_constant=99999999999999999999",
        "temperature=1e-300",
        "temperature=1e300",
        "n_best=1000000000000",
    ],
)
def test_a_number_that_would_overflow_is_rejected(assignment: str) -> None:
    with pytest.raises(ConfigError, match=f"search.{assignment.split('=')[0]} = .*: input should be"):
        resolve(None, [f"search.{assignment}"])
