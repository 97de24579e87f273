"""A model without a source: laws of its own; those of all models hold for it as well (see conftest)."""

import math
import random
from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from nmt_cli.config import (
    CAPTION_PRESETS,
    LANGUAGE_MODEL_PRESETS,
    PRESETS,
    SPEECH_PRESETS,
    TRANSLATION_PRESETS,
    ModelConfig,
    resolve,
)
from nmt_cli.data.batches import Batch, collate
from nmt_cli.errors import ConfigError
from nmt_cli.model import ScheduledSampling, Seq2Seq, build_model
from nmt_cli.model.recurrent_decoders import PlainMemory

Build = Callable[..., Seq2Seq]
Pad = Callable[..., Batch]
Pairs = list[tuple[list[int], list[int]]]
OPENING, MIDDLE, CLOSING = (4, 5), (6, 7, 8), (9, 10)


def sentence(rng: random.Random) -> tuple[list[int], float]:
    """A sentence of a regular language, and its log-probability: the opening word decides the closing one.

    o m … m c <eos>: o is one of two, each m one of three with 0.6, 0.3, 0.1; after each word c comes with 0.25.
    """
    opening = rng.randrange(2)
    words, log_p = [OPENING[opening]], math.log(0.5)
    while rng.random() < 0.75:
        (word,) = rng.choices(range(3), weights=(6, 3, 1))
        words.append(MIDDLE[word])
        log_p += math.log(0.75) + math.log((0.6, 0.3, 0.1)[word])
    return [*words, CLOSING[opening]], log_p + math.log(0.25)


def sentences(count: int, seed: int) -> tuple[list[list[int]], float]:
    """Sentences, and the mean true log-probability of a token, <eos> included."""
    rng = random.Random(seed)
    drawn = [sentence(rng) for _ in range(count)]
    tokens = sum(len(words) + 1 for words, _ in drawn)
    return [words for words, _ in drawn], sum(log_p for _, log_p in drawn) / tokens


def monolingual(targets: list[list[int]]) -> Batch:
    return collate([[] for _ in targets], targets)


def cross_entropy(model: Seq2Seq, targets: list[list[int]]) -> float:
    with torch.no_grad():
        loss = model.eval().loss(monolingual(targets))
    return float(loss.total) / loss.tokens


@pytest.mark.parametrize("cell", ["rnn", "gru", "lstm"])
def test_a_language_model_learns_a_language_to_its_true_perplexity(cell: str) -> None:
    generator = torch.Generator().manual_seed(1)
    sizes = {"embedding_size": 16, "hidden_size": 32, "dropout": 0.0}
    config = ModelConfig.from_preset("mikolov2010", **sizes, cell=cell)
    model = build_model(config, 11, 11, shared=True, generator=generator)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    updates = 300
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, total_iters=updates)
    for update in range(updates):
        loss = model.train().loss(monolingual(sentences(64, update)[0]))
        optimizer.zero_grad()
        (loss.total / loss.tokens).backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    unseen, log_p = sentences(1000, -1)
    learned, true = math.exp(cross_entropy(model, unseen)), math.exp(-log_p)
    assert true == pytest.approx(learned, rel=0.02)
    # Without the first word nobody knows the closing one: remembering it is what was learned.
    forgetful = [[OPENING[0], *words[1:]] for words in unseen]
    assert math.exp(cross_entropy(model, forgetful)) > 1.3 * true


@pytest.mark.parametrize("name", LANGUAGE_MODEL_PRESETS)
def test_the_source_has_no_influence(name: str, build: Build, pad: Pad, pairs: Pairs) -> None:
    model = build(ModelConfig.from_preset(name, embedding_size=6, hidden_size=8))
    with_source, without = pad(pairs), monolingual([target for _, target in pairs])
    assert_close(model.loss(with_source), model.loss(without))
    other = with_source._replace(source=torch.full_like(with_source.source, 10**6))  # not even looked up
    assert_close(model.loss(other), model.loss(without))


@pytest.mark.parametrize("name", ["mikolov2010", "zaremba2014"])
def test_the_first_state_is_zero_and_memory_is_empty(name: str, build: Build, pad: Pad, pairs: Pairs) -> None:
    model = build(ModelConfig.from_preset(name, embedding_size=6, hidden_size=8))
    batch = pad(pairs)
    memory = model.encode(batch.source, batch.source_lengths)
    assert isinstance(memory, PlainMemory)
    assert memory.summary is None
    assert len(memory.initial) == PRESETS[name].settings["decoder_layers"]
    for part in (part for layer in memory.initial for part in layer):
        assert part.shape == (3, 8)
        assert part.dtype == torch.float64
        assert not part.any()


@pytest.mark.parametrize("name", LANGUAGE_MODEL_PRESETS)
@pytest.mark.parametrize(
    "how",
    [{"scheduled_sampling": ScheduledSampling(0.5, "drawn")}, {"token_fraction": 0.5}],
    ids=["own", "share"],
)
def test_training_modes_work_without_a_source(
    name: str, how: dict[str, ScheduledSampling | float], build: Build, pad: Pad, pairs: Pairs
) -> None:
    torch.manual_seed(1)
    model = build(ModelConfig.from_preset(name, embedding_size=6, hidden_size=8), training=True)
    loss = model.loss(pad(pairs), **how)  # type: ignore[arg-type]
    loss.total.backward()  # type: ignore[no-untyped-call]
    assert all(p.grad is not None and bool(p.grad.isfinite().all()) for p in model.parameters())


@pytest.mark.parametrize("name", LANGUAGE_MODEL_PRESETS)
@pytest.mark.parametrize("joint", [True, False])
def test_there_are_no_weights_for_source_words(name: str, joint: bool) -> None:
    config = ModelConfig.from_preset(name, embedding_size=16, hidden_size=16)
    generator = torch.Generator().manual_seed(1)
    sizes = (300, 300) if joint else (500, 300)
    model = build_model(config, *sizes, shared=joint, generator=generator)
    assert [name for name, weights in model.named_parameters() if 500 in weights.shape] == []
    assert {name for name, _ in model.named_parameters() if "encoder" in name or "bridge" in name} == set()


def test_language_models_are_presets_that_bring_what_follows() -> None:
    assert list(PRESETS) == [
        *TRANSLATION_PRESETS,
        *LANGUAGE_MODEL_PRESETS,
        *CAPTION_PRESETS,
        *SPEECH_PRESETS,
    ]
    for name, preset in LANGUAGE_MODEL_PRESETS.items():
        resolved = resolve(assignments=[f"model.preset={name}"])
        assert resolved.config.model == ModelConfig.from_preset(name)
        assert resolved.config.model.is_language_model
        assert resolved.config.train.metric == "perplexity"
        assert resolved.config.search.sampling
        assert resolved.provenance["train.metric"] == f"preset {name}"
        assert preset.paper[-1].isalpha()
        assert "softmax" in preset.equations
    assert not any(ModelConfig.from_preset(name).is_language_model for name in TRANSLATION_PRESETS)


@pytest.mark.parametrize(
    ("setting", "other"),
    [
        ("model.attention=general", "model.encoder_layers = 0"),
        ("model.bidirectional=all", "model.encoder_layers = 0"),
        ("model.initial_state=copy", "model.encoder_layers = 0"),
        ("model.context_every_step=true", "model.encoder_layers = 0"),
        ("model.reverse_source=true", "model.encoder_layers = 0"),
        ("model.intra_attention=both", "model.encoder_layers = 0"),
        ("model.input_feeding=true", "model.encoder_layers = 0"),
        ("model.query=before", "model.encoder_layers = 0"),
        ("model.readout=attentional", "model.encoder_layers = 0"),
        ("model.hard_attention=true", "model.encoder_layers = 0"),
        ("model.attention_span=local-m", "model.encoder_layers = 0"),
        ("model.heads=4", "model.encoder_layers = 0"),
        ("model.residual=true", "model.decoder_layers = 1"),
        ("train.metric=bleu", "model.encoder_layers = 0"),
    ],
)
def test_settings_that_need_a_source_are_rejected_for_a_language_model(setting: str, other: str) -> None:
    with pytest.raises(ConfigError) as caught:
        resolve(assignments=["model.preset=mikolov2010", setting])
    assert setting.replace("=", " = ") in caught.value.message
    assert other in caught.value.message
    assert caught.value.message.count("is incompatible with") == 1  # further advice would mislead


@pytest.mark.parametrize(
    ("setting", "other"),
    [
        ("model.attention=scaled_dot", "model.encoder_layers = 0"),
        ("model.bidirectional=all", "model.encoder_layers = 0"),
        ("model.initial_state=copy", "model.encoder_layers = 0"),
        ("model.reverse_source=true", "model.encoder_layers = 0"),
        ("model.context_every_step=true", "model.encoder_layers = 0"),
        ("model.readout=tanh", "model.cell = transformer"),
        ("model.residual=false", "model.cell = transformer"),
        ("model.intra_attention=decoder", "model.cell = transformer"),
        ("model.input_feeding=true", "model.cell = transformer"),
        ("model.heads=5", "model.hidden_size = 256"),
    ],
)
def test_settings_of_another_system_are_rejected_for_a_transformer_language_model(
    setting: str, other: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        resolve(assignments=["model.preset=radford2018", setting])
    assert f"{setting.replace('=', ' = ')} is incompatible with {other}" in caught.value.message
    assert caught.value.message.count("is incompatible with") == 1


# The Transformer of Radford et al. 2018, written out for one position at a time.


WORDS = "source_words.weight"  # the one matrix of word vectors, which is the output matrix as well


def normalized(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    centered = x - x.mean()
    return centered / (centered.square().mean() + 1e-5).sqrt() * weight + bias


def attended(name: str, past: list[Tensor], w: dict[str, Tensor], heads: int) -> Tensor:
    """W_o [head^1; …; head^n] at the last of the positions `past`."""

    def projected(part: str, z: Tensor) -> Tensor:
        return w[f"{name}.attention.{part}.weight"] @ z + w[f"{name}.attention.{part}.bias"]

    size, contexts = len(past[-1]) // heads, []
    for i in range(heads):
        rows = slice(i * size, (i + 1) * size)
        q = projected("score.W_q", past[-1])[rows]
        keys = [projected("score.W_k", z)[rows] for z in past]
        values = [projected("reader.W_v", z)[rows] for z in past]
        weights = [((q @ k) / math.sqrt(size)).exp() for k in keys]
        total = sum(weights, torch.zeros((), dtype=torch.float64))
        context = sum((a * v for a, v in zip(weights, values, strict=True)), torch.zeros_like(q)) / total
        contexts.append(context)
    return w[f"{name}.W_o.weight"] @ torch.cat(contexts) + w[f"{name}.W_o.bias"]


def written_out(words: list[int], w: dict[str, Tensor], layers: int, heads: int, norm: str) -> list[Tensor]:
    """Logits (V,) after each of `words`."""

    def sublayer(name: str, x: Tensor, f: Callable[[Tensor], Tensor]) -> Tensor:
        weight, bias = w[f"{name}.norm.weight"], w[f"{name}.norm.bias"]
        return x + f(normalized(x, weight, bias)) if norm == "pre" else normalized(x + f(x), weight, bias)

    E = w[WORDS].shape[1]
    position = [
        [
            math.sin(t / 10000 ** (i / E)) if i % 2 == 0 else math.cos(t / 10000 ** ((i - 1) / E))
            for i in range(E)
        ]
        for t in range(len(words))
    ]
    x = [
        math.sqrt(E) * w[WORDS][word] + torch.tensor(position[t], dtype=torch.float64)
        for t, word in enumerate(words)
    ]
    for layer in range(layers):
        name = f"decoder.layers.{layer}"
        past: list[Tensor] = []
        for t in range(len(x)):

            def attend(z: Tensor, name: str = name, past: list[Tensor] = past) -> Tensor:
                past.append(z)
                return attended(f"{name}.self_attention", past, w, heads)

            def feed(z: Tensor, name: str = f"{name}.feed_forward") -> Tensor:
                a = w[f"{name}.0.weight"] @ z + w[f"{name}.0.bias"]
                a = a * (1 + torch.erf(a / math.sqrt(2))) / 2
                return w[f"{name}.3.weight"] @ a + w[f"{name}.3.bias"]

            x[t] = sublayer(f"{name}.around_self", x[t], attend)
            x[t] = sublayer(f"{name}.around_feed", x[t], feed)
    if norm == "pre":
        x = [normalized(z, w["decoder.norm.weight"], w["decoder.norm.bias"]) for z in x]
    return [w[WORDS] @ z + w["vocabulary.bias"] for z in x]


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_the_transformer_is_that_of_the_paper_in_logits_and_gradients(
    norm: str, build: Build, pad: Pad
) -> None:
    sizes = {"embedding_size": 8, "hidden_size": 8, "decoder_layers": 2, "heads": 2}
    model = build(ModelConfig.from_preset("radford2018", **sizes, norm=norm))
    with torch.no_grad():
        for parameter in model.parameters():  # biases and norms, too, away from 0 and 1
            parameter.add_(
                torch.randn(parameter.shape, generator=torch.Generator().manual_seed(5)), alpha=0.3
            )
    texts = [[4, 5, 6, 7, 8], [9, 10]]
    batch = monolingual(texts)
    w = {name: weight.detach().clone().requires_grad_() for name, weight in model.named_parameters()}
    expected = [written_out([2, *text], w, layers=2, heads=2, norm=norm) for text in texts]
    features, attention = model.decode(model.encode(batch.source, batch.source_lengths), batch.target_inputs)
    assert attention is None
    found = model.project(features)
    for row, logits in enumerate(expected):
        assert_close(found[row, : len(logits)], torch.stack(logits), rtol=0, atol=1e-12)
    labels = [token for text in texts for token in (*text, 3)]
    flat = torch.stack([z for logits in expected for z in logits])
    (-flat.log_softmax(dim=-1)[range(len(labels)), labels].sum()).backward()  # type: ignore[no-untyped-call]
    model.loss(batch).total.backward()  # type: ignore[no-untyped-call]
    for name, parameter in model.named_parameters():
        assert_close(parameter.grad, w[name].grad, rtol=0, atol=1e-12, msg=name)


def test_an_encoder_whose_output_is_not_used_is_rejected() -> None:
    with pytest.raises(ConfigError, match="the source would not be used"):
        resolve(assignments=["model.preset=sutskever2014", "model.initial_state=zero"])
