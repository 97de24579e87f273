"""Kinds of attention: heads, windows, location, hard, coverage."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from nmt_cli.config.model import ModelConfig
from nmt_cli.data.batches import Batch
from nmt_cli.model import Seq2Seq
from nmt_cli.model.attention import (
    NO_HISTORY,
    Attention,
    AttentionHistory,
    HeadedReader,
    HeadedScore,
    build_attention,
    fused_attention,
    masked_softmax,
    pick,
)
from nmt_cli.model.decoder import RecurrentState
from nmt_cli.model.loss import coverage_loss
from nmt_cli.model.scores import CoverageScore, ScaledDot, Sizes

Build = Callable[..., Seq2Seq]
Pad = Callable[..., Batch]
Pairs = list[tuple[list[int], list[int]]]
B, Q, S, H = 2, 3, 5, 8
MASK = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])


def draw(*shape: int, seed: int = 1) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def attention_of(**settings: object) -> Attention:
    torch.manual_seed(1)
    attention = build_attention(ModelConfig(embedding_size=6, hidden_size=H, **settings))
    return attention.double()


def look(attention: Attention, history: AttentionHistory = NO_HISTORY) -> tuple[Tensor, Tensor]:
    states = draw(B, S, H, seed=2)
    reading = attention(draw(B, Q, H), attention.keys(states), attention.values(states), MASK, history)
    return reading.context, reading.alpha


@pytest.mark.parametrize("biases", [False, True])
def test_each_head_is_an_attention_with_its_own_projections(biases: bool) -> None:
    attention = attention_of(attention="scaled_dot", heads=2, head_biases=biases)
    score, reader = attention.score, attention.reader
    assert isinstance(score, HeadedScore)
    assert isinstance(reader, HeadedReader)
    query, states = draw(B, Q, H), draw(B, S, H, seed=2)
    contexts, weights = [], []
    for rows in (slice(0, 4), slice(4, 8)):
        q, k, v = (
            x @ W.weight[rows].t() + (W.bias[rows] if biases else 0.0)
            for x, W in ((query, score.W_q), (states, score.W_k), (states, reader.W_v))
        )
        alpha = masked_softmax(q @ k.transpose(1, 2) / math.sqrt(4), MASK)
        contexts.append(alpha @ v)
        weights.append(alpha)
    context, alpha = look(attention)
    assert_close(context, torch.cat(contexts, dim=-1))
    assert_close(alpha, torch.stack(weights).mean(dim=0))


@pytest.mark.parametrize("causal", [False, True])
def test_the_fused_kernel_equals_the_parts_in_value_and_gradient(causal: bool) -> None:
    attention = attention_of(attention="scaled_dot", heads=4)
    assert isinstance(attention.score, HeadedScore)
    mask = None if causal else MASK
    seen = torch.ones(1, S, S, dtype=torch.bool).tril() if causal else MASK
    found = []
    for fused in (False, True):
        query, states = (draw(B, S, H, seed=seed).requires_grad_() for seed in (1, 2))
        keys, values = attention.keys(states), attention.values(states)
        if fused:
            context = fused_attention(attention.score.queries(query), keys, values, mask, causal=causal)
        else:
            context = attention(query, keys, values, seen).context
        found.append((context, *torch.autograd.grad(context.square().sum(), (query, states))))
    assert_close(found[0], found[1])


def test_a_monotonic_window_follows_the_step_and_stays_at_the_end() -> None:
    attention = attention_of(attention_span="local-m", attention_window=1)
    _, alpha = look(attention, AttentionHistory(torch.tensor([[0, 2, 9]])))
    seen = [
        [[1, 1, 0, 0, 0], [0, 1, 1, 1, 0], [0, 0, 0, 1, 1]],
        [[1, 1, 0, 0, 0], [0, 1, 1, 0, 0], [0, 1, 1, 0, 0]],  # three real positions
    ]
    assert (alpha > 0).int().tolist() == seen
    assert_close(alpha.sum(dim=-1), torch.ones(B, Q, dtype=torch.float64))


def test_a_predictive_window_is_a_bell_around_the_position_it_predicts() -> None:
    attention = attention_of(attention_span="local-p", attention_window=2)
    window, states, query = attention.window, draw(B, S, H, seed=2), draw(B, Q, H)
    assert window is not None
    _, alpha = look(attention)
    for b, n in enumerate((5, 3)):
        for t in range(Q):
            p = (n - 1) * torch.sigmoid(window.v(torch.tanh(window.W(query[b, t])))).item()  # type: ignore[operator]
            e = query[b, t] @ attention.keys(states)[b].t()
            near = torch.tensor([s < n and abs(s - p) <= 2 for s in range(S)])
            plain = e.masked_fill(~near, -math.inf).softmax(dim=-1)
            bell = torch.tensor([math.exp(-((s - p) ** 2) / (2 * (2 / 2) ** 2)) for s in range(S)])
            assert_close(alpha[b, t], plain * bell)


def test_a_location_score_ignores_the_source_states() -> None:
    attention = attention_of(attention="location", attention_positions=3)
    _, alpha = look(attention)
    states = draw(B, S, H, seed=9)
    other = attention(draw(B, Q, H), attention.keys(states), attention.values(states), MASK).alpha
    assert_close(alpha, other)
    assert torch.count_nonzero(alpha[..., 3:]) == 0
    assert torch.count_nonzero(alpha[..., :3]) == B * Q * 3


def test_uniform_attention_reads_the_mean_of_the_real_positions() -> None:
    attention = attention_of(attention="uniform")
    context, alpha = look(attention)
    share = MASK.double() / MASK.sum(dim=1, keepdim=True)
    assert_close(alpha, share[:, None].expand_as(alpha).to(alpha.dtype))
    assert_close(context[:, 0], context[:, -1])


def test_hard_attention_takes_the_best_position_of_the_soft_one() -> None:
    soft, hard = attention_of(), attention_of(hard_attention=True).eval()
    _, alpha = look(soft)
    context, choice = look(hard)
    assert choice.argmax(dim=-1).tolist() == alpha.argmax(dim=-1).tolist()
    assert choice.sum(dim=-1).tolist() == [[1.0] * Q] * B
    states = draw(B, S, H, seed=2)
    assert_close(context[1, 2], states[1, choice[1, 2].argmax()])


def test_in_training_hard_attention_draws_from_the_soft_weights() -> None:
    torch.manual_seed(1)
    alpha = torch.tensor([[0.5, 0.3, 0.2, 0.0]]).expand(20000, 1, 4)
    drawn = pick(alpha, draw=True)
    assert bool((drawn.sum(dim=-1) == 1).all())
    assert drawn.mean(dim=(0, 1)).tolist() == pytest.approx([0.5, 0.3, 0.2, 0.0], abs=0.015)
    assert not pick(torch.zeros(2, 1, 3), draw=True).any()


def test_the_covering_score_sees_the_attention_so_far() -> None:
    attention = attention_of(attention="additive", coverage=True, attention_size=5)
    score, coverage = attention.score, draw(B, Q, S, seed=3).abs()
    assert isinstance(score, CoverageScore)
    query, states = draw(B, Q, H), draw(B, S, H, seed=2)
    e = score(query, score.keys(states), coverage)
    W, U, v, w = (
        score.additive.W.weight,
        score.additive.U.weight,
        score.additive.v.weight[0],
        score.w.weight[:, 0],
    )
    expected = v @ torch.tanh(W @ query[1, 2] + U @ states[1, 0] + w * coverage[1, 2, 0])
    assert_close(e[1, 2, 0], expected)


def test_coverage_is_the_sum_of_the_attention_of_all_earlier_steps(
    build: Build, pad: Pad, pairs: Pairs
) -> None:
    config = ModelConfig(embedding_size=6, hidden_size=H, attention="additive", coverage=True)
    model, batch = build(config), pad(pairs)
    memory = model.encode(batch.source, batch.source_lengths)
    state, total = model.start(memory, 2), torch.zeros(3, 2, 5, dtype=torch.float64)
    for token in (2, 5, 7):
        assert isinstance(state, RecurrentState)
        assert state.history.coverage is not None
        assert_close(state.history.coverage, total, check_dtype=False)
        _, state, alpha = model.step(torch.full((3, 2), token), state, memory)
        assert alpha is not None
        total = total + alpha


def test_the_coverage_loss_penalizes_repeated_attention() -> None:
    attention = torch.tensor([[[1.0, 0.0], [0.25, 0.75], [0.5, 0.5], [0.9, 0.1]]])
    # step 2 repeats 0.25 of position 0; step 3 0.5 and 0.5; step 4 is padding
    assert float(coverage_loss(attention, torch.tensor([0, 1, 2]))) == pytest.approx(0.25 + 0.5 + 0.5)


def test_only_the_total_includes_the_coverage_loss(build: Build, pad: Pad, pairs: Pairs) -> None:
    settings = {"embedding_size": 6, "hidden_size": H, "attention": "additive", "coverage": True}
    plain, punished = (build(ModelConfig(**settings, coverage_loss=weight)) for weight in (0.0, 2.0))
    batch = pad(pairs)
    _, attention = plain.decode(plain.encode(batch.source, batch.source_lengths), batch.target_inputs)
    assert attention is not None
    extra = 2.0 * coverage_loss(attention, batch.positions)
    assert_close(punished.loss(batch).total, plain.loss(batch).total + extra)
    assert_close(punished.loss(batch).cross_entropy, plain.loss(batch).cross_entropy)
    assert float(extra.detach()) > 0


def test_keys_and_scores_have_a_head_dimension() -> None:
    score = HeadedScore(ScaledDot(Sizes(2, 2, 0)), H, 4).double()
    keys = score.keys(draw(B, S, H))
    assert keys.shape == (B, 4, S, 2)
    assert score(draw(B, Q, H), keys).shape == (B, 4, Q, S)
