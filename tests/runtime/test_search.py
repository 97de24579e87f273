"""The runtime's beam search against the same references as the search of the models: `tests.search`."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_cli.config.search import SearchConfig
from nmt_cli.runtime.folder import Floats, Integers, RuntimeFailure, SearchSettings
from nmt_cli.runtime.search import Hypothesis, Step, search
from tests.search.test_beam import NORMALIZATIONS, config_of
from tests.search.toy import BEAM_CASES, HISTORIES, BeamCase, Toy

SUPPORTED = [one for one in NORMALIZATIONS if "coverage_penalty" not in one]
normalizations = pytest.mark.parametrize("normalization", SUPPORTED, ids=str)


class ToyDecoder:
    """The table of a `Toy`, as a decoder of the runtime."""

    def __init__(self, toy: Toy, banned: Sequence[int] = ()) -> None:
        self.banned = list(banned)
        self.logits, self.attention = toy.logits.numpy(), toy.attention.numpy()
        self.ids = np.arange(self.logits.shape[2])
        self.batches: list[int] = []
        self._history = np.zeros(len(self.logits), np.int64)

    def step(
        self, tokens: Integers, parents: Integers | None, scores: Floats, exclude: Floats, count: int
    ) -> Step:
        B = len(tokens)
        self.batches.append(B)
        before = self._history.reshape(tokens.shape) if parents is None else self._history[parents]
        history = (before * 31 + tokens + 1) % HISTORIES  # (B, K)
        self._history = history.ravel()
        logits = self.logits[np.arange(B)[:, None], history].astype(np.float64)  # (B, K, V)
        log_p = (logits - np.log(np.exp(logits).sum(axis=2, keepdims=True))).astype(np.float32)
        total = (log_p + exclude[:, None] + scores[:, :, None]).reshape(B, -1)
        index = np.argsort(-total, axis=1, kind="stable")[:, :count]
        best = np.take_along_axis(total, index, axis=1)
        peak = np.delete(log_p, self.banned, axis=2).max(axis=2)
        return Step(best, index, peak, self.attention[np.arange(B)[:, None], history])

    def select(self, rows: Integers) -> None:
        self.logits, self.attention = self.logits[rows], self.attention[rows]


def settings_of(config: SearchConfig) -> SearchSettings:
    return SearchSettings(**{field.name: getattr(config, field.name) for field in fields(SearchSettings)})


def find(
    toy: Toy, config: SearchConfig, banned: Sequence[int] = (), **options: Any
) -> list[list[Hypothesis]]:
    excluded = np.array(banned, np.int64)
    return search(
        ToyDecoder(toy, banned), toy.lengths.numpy(), settings_of(config), banned=excluded, **options
    )


@given(normalization=st.sampled_from(SUPPORTED), **BEAM_CASES)
@settings(max_examples=150, deadline=None, derandomize=True)
def test_matches_a_plain_python_beam_search(normalization: dict[str, Any], **case: Any) -> None:
    one = BeamCase(normalization, **case)
    one.check(find(one.toy, one.config))


@given(
    seed=st.integers(0, 10**6),
    beam=st.integers(1, 6),
    stopping=st.sampled_from(["finished", "first", "exact"]),
    prefix=st.lists(st.sampled_from([0, 4, 5, 6, 7]), max_size=4),
    limit=st.integers(1, 8),
)
@settings(max_examples=80, deadline=None, derandomize=True)
def test_equals_the_search_of_the_models(
    seed: int, beam: int, stopping: str, prefix: list[int], limit: int
) -> None:
    config = config_of(beam_size=beam, n_best=beam, stopping=stopping, max_length=limit, min_length=1)
    toy = Toy(seed, lengths=(3, 1, 4, 2), vocabulary=20)
    prefixes, banned = [prefix, [], prefix[:1], []], (0, 2)
    found = find(toy, config, banned, prefixes=prefixes, attention=True)
    for one, other in zip(
        found, toy.search(config, banned=banned, prefix=prefixes, attention=True), strict=True
    ):
        assert [h.tokens for h in one] == [h.tokens for h in other]
        assert [h.score for h in one] == pytest.approx([h.score for h in other], abs=1e-5)
        for a, b in zip(one, other, strict=True):
            assert a.token_log_probabilities == pytest.approx(b.token_log_probabilities, abs=1e-5)
            assert a.truncated == b.truncated
            assert a.log_probability == pytest.approx(b.log_probability, abs=1e-5)
            assert b.attention is not None
            assert a.attention == pytest.approx(b.attention.numpy())


@normalizations
@pytest.mark.parametrize("stopping", ["finished", "exact"])
def test_a_beam_as_wide_as_the_space_equals_exhaustive_search(
    normalization: dict[str, Any], stopping: str
) -> None:
    config = config_of(beam_size=200, n_best=20, stopping=stopping, max_length=3, **normalization)
    toy = Toy(5, lengths=(4, 2, 3), vocabulary=5)
    for b, found in enumerate(find(toy, config)):
        expected = toy.sentence(b).exhaustive(config, 3)
        assert [tuple(hypothesis.tokens) for hypothesis in found] == [tokens for _, tokens in expected[:20]]


@pytest.mark.parametrize("beam", [1, 4])
def test_neighbors_and_compaction_do_not_change_results(beam: int) -> None:
    config = config_of(beam_size=beam, n_best=min(beam, 3), max_length=25)
    toy = Toy(21, lengths=(3, 5, 2, 7, 1, 4, 4, 6), vocabulary=30)
    decoder = ToyDecoder(toy)
    together = search(
        decoder, toy.lengths.numpy(), settings_of(config), banned=np.zeros(0, np.int64), attention=True
    )
    assert len(set(decoder.batches)) > 1  # the batch was compacted
    for b, found in enumerate(together):
        alone = Toy(0, lengths=(int(toy.lengths[b]),))
        alone.logits, alone.attention = toy.logits[b : b + 1], toy.attention[b : b + 1, :, : toy.lengths[b]]
        [expected] = find(alone, config, attention=True)
        assert [h.tokens for h in found] == [h.tokens for h in expected]
        for one, other in zip(found, expected, strict=True):
            assert one.score == other.score
            assert np.array_equal(one.attention, other.attention)  # type: ignore[arg-type]


def test_a_model_that_returns_nan_is_an_error() -> None:
    toy = Toy(3, lengths=(3, 2))
    toy.logits[:] = np.nan
    with pytest.raises(RuntimeFailure, match="no translation for 2 of 2 sentences"):
        find(toy, config_of(max_length=5))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("sampling", True),
        ("coverage_penalty", 0.2),
        ("no_repeat_ngram", 3),
        ("top_k", 5),
        ("temperature", 0.5),
        ("mbr", "chrf"),
    ],
)
def test_settings_that_need_the_run_directory_are_refused_by_name(name: str, value: object) -> None:
    with pytest.raises(RuntimeFailure, match=f"does not support search.{name} = {value}") as caught:
        SearchSettings().changed(**{name: value})
    assert "run directory" in caught.value.hint
