"""The parts of a model, one by one: cells, dropout, initial weights, tied weights, saving."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_model, save_model
from torch import nn
from torch.testing import assert_close

from nmt_cli.config.model import ModelConfig
from nmt_cli.data.batches import Batch
from nmt_cli.errors import ConfigError
from nmt_cli.model import Seq2Seq, build_model
from nmt_cli.model.attention import masked_softmax
from nmt_cli.model.encoder import reversal
from nmt_cli.model.recurrent import CELLS, Dropout, RecurrentLayer, WordDropout
from nmt_cli.model.recurrent_decoders import SequentialDecoder

Build = Callable[..., Seq2Seq]
Pad = Callable[..., Batch]
Pairs = list[tuple[list[int], list[int]]]


@pytest.mark.parametrize("layer_norm", [False, True])
@pytest.mark.parametrize("cell", CELLS)
def test_steps_written_out_equal_the_fused_call(cell: str, layer_norm: bool) -> None:
    torch.manual_seed(1)
    layer = RecurrentLayer(cell, 3, 4, layer_norm=layer_norm).double()
    x = torch.randn(2, 5, 3, dtype=torch.float64)
    state = tuple(torch.randn(2, 4, dtype=torch.float64) for _ in range(CELLS[cell].parts))
    outputs, last = layer(x, state)
    for t in range(5):
        output, state = layer.step(x[:, t], state)
        assert_close(output, outputs[:, t])
    assert_close(state, last)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("cell", CELLS)
def test_reading_stops_at_the_last_real_token_as_a_packed_sequence_does(
    cell: str, dtype: torch.dtype
) -> None:
    torch.manual_seed(1)
    layer = RecurrentLayer(cell, 3, 4, layer_norm=False).to(dtype)
    x = torch.randn(3, 6, 3, dtype=dtype)
    lengths = torch.tensor([6, 1, 4])
    mask = torch.arange(6) < lengths[:, None]
    outputs, last = layer.read(x, mask)
    packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    expected, final = layer.fused(packed)
    expected, _ = nn.utils.rnn.pad_packed_sequence(expected, batch_first=True)
    assert_close(outputs * mask[..., None], expected)
    assert_close(last, tuple(part[0] for part in (final if isinstance(final, tuple) else (final,))))


def test_reversal_reverses_real_tokens_only() -> None:
    assert reversal(torch.tensor([3, 0, 5]), 5).tolist() == [
        [2, 1, 0, 3, 4],
        [0, 1, 2, 3, 4],
        [4, 3, 2, 1, 0],
    ]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_masked_softmax_is_finite_and_exact_in_every_precision(dtype: torch.dtype) -> None:
    e = torch.tensor([[[60000.0, -60000.0, 3.0]], [[1.0, 2.0, 3.0]], [[5.0, 5.0, 9.0]]], dtype=dtype)
    alpha = masked_softmax(e, torch.tensor([[True, True, False], [False, False, False], [True, True, False]]))
    assert alpha.tolist() == [[[1, 0, 0]], [[0, 0, 0]], [[0.5, 0.5, 0]]]
    assert alpha.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)


def test_dropout_draws_a_mask_for_each_step_and_variational_dropout_one_for_all() -> None:
    torch.manual_seed(1)
    x = torch.ones(50, 10, 20)
    each, one = Dropout(0.3, variational=False)(x), Dropout(0.3, variational=True)(x)
    assert bool((one == one[:, :1]).all())
    assert not bool((each == each[:, :1]).all())
    for dropped in (each, one):
        assert dropped.unique().tolist() == pytest.approx([0.0, 1 / 0.7])
        assert float(dropped.mean()) == pytest.approx(1.0, abs=0.05)


def test_word_dropout_drops_whole_words() -> None:
    torch.manual_seed(1)
    dropped = WordDropout(0.3)(torch.ones(50, 40, 6))
    assert bool((dropped == dropped[..., :1]).all())
    assert float((dropped[..., 0] == 0).float().mean()) == pytest.approx(0.3, abs=0.05)
    assert float(dropped.mean()) == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize(
    "settings", [{"dropout": 0.5, "input_dropout": 0.0}, {"dropout": 0.0, "input_dropout": 0.5}]
)
@pytest.mark.parametrize("variational", [False, True])
@pytest.mark.parametrize("feeding", [False, True])
def test_every_kind_of_dropout_has_an_effect_on_its_own(
    settings: dict[str, float], variational: bool, feeding: bool, build: Build, pad: Pad, pairs: Pairs
) -> None:
    config = ModelConfig(
        embedding_size=6, hidden_size=8, variational_dropout=variational, input_feeding=feeding, **settings
    )
    model, batch = build(config, training=True), pad(pairs)
    assert float(model.loss(batch).total.detach()) != float(model.loss(batch).total.detach())


def test_recurrent_weights_are_orthogonal_and_the_forget_gate_starts_open(
    preset: ModelConfig, build: Build
) -> None:
    model = build(preset)
    fused = [module for module in model.modules() if isinstance(module, nn.RNNBase)]
    assert bool(fused) is (preset.cell != "transformer")
    for module in fused:
        H = module.hidden_size
        for gate in module.weight_hh_l0.split(H):  # type: ignore[operator]
            assert_close(gate @ gate.t(), torch.eye(H, dtype=gate.dtype), rtol=0, atol=1e-5)
        bias = module.bias_ih_l0 + module.bias_hh_l0  # type: ignore[operator]
        gates = bias.view(-1, H).mean(dim=1).tolist()
        assert gates == ([0, 1, 0, 0] if isinstance(module, nn.LSTM) else [0] * len(gates))


def test_word_vectors_and_vocabulary_start_at_their_scale_and_padding_at_zero(
    preset: ModelConfig, build: Build
) -> None:
    model = build(preset.model_copy(update={"embedding_size": 400}))
    scale = 2 if preset.cell != "transformer" and not preset.is_language_model else 1
    for words in (model.source_words, model.target_words):
        assert not bool(words.weight[0].any())
        assert float(words.weight[1:].std().detach()) == pytest.approx(scale * 400**-0.5, rel=0.1)
    if scale == 2:
        vocabulary = model.vocabulary.weight[1:].detach()
        assert float(vocabulary.std()) == pytest.approx(2 * vocabulary.shape[1] ** -0.5, rel=0.1)


def test_the_generator_alone_determines_the_initial_weights(preset: ModelConfig, build: Build) -> None:
    torch.manual_seed(5)
    before = torch.get_rng_state()
    one, same, other = build(preset, seed=1), build(preset, seed=1), build(preset, seed=2)
    assert torch.equal(before, torch.get_rng_state())
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), same.parameters(), strict=True))
    assert not all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))


@pytest.mark.parametrize("name", ["bahdanau2015", "luong2015"])
@pytest.mark.parametrize(("tied", "matrices"), [("none", 3), ("decoder", 2), ("all", 1)])
def test_tied_embeddings_are_one_matrix(name: str, tied: str, matrices: int, build: Build) -> None:
    model = build(ModelConfig.from_preset(name, embedding_size=6, hidden_size=8, tied_embeddings=tied))
    weights = {id(w) for w in (model.source_words.weight, model.target_words.weight, model.vocabulary.weight)}
    assert len(weights) == matrices


def test_tying_all_needs_one_vocabulary() -> None:
    config = ModelConfig(tied_embeddings="all")
    with pytest.raises(ConfigError) as caught:
        build_model(config, 8, 9, shared=False, generator=torch.Generator())
    assert caught.value.message == "model.tied_embeddings = all is incompatible with vocabulary.joint = false"
    assert "set model.tied_embeddings = decoder" in caught.value.hint


def test_a_saved_and_loaded_model_gives_the_same_results(
    config: ModelConfig, build: Build, pad: Pad, pairs: Pairs, tmp_path: Path
) -> None:
    model, other = build(config, seed=1), build(config, seed=2)
    batch = pad(pairs)
    save_model(model, str(tmp_path / "model.safetensors"))
    load_model(other, tmp_path / "model.safetensors")
    assert torch.equal(model.loss(batch).total, other.loss(batch).total)


@pytest.mark.parametrize(("variational", "width"), [(False, 4), (True, 1)])
def test_the_loop_over_time_applies_dropout_between_its_layers(
    variational: bool, width: int, build: Build, pad: Pad, pairs: Pairs, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = ModelConfig(
        embedding_size=6,
        hidden_size=8,
        encoder_layers=3,
        decoder_layers=3,
        variational_dropout=variational,
        input_feeding=True,
    )
    model = build(config, training=True, dtype=torch.float32)
    decoder = model.decoder
    assert isinstance(decoder, SequentialDecoder)
    gates = torch.zeros(2, 4, 32)
    masks = decoder.dropout_masks(gates)
    assert [tuple(mask.shape) for mask in masks] == [(2, width, 8)] * 2
    assert not torch.equal(masks[0], masks[1])

    # Masks of nothing but zeros cut the first layer off: its weights no longer matter.
    monkeypatch.setattr(decoder, "dropout_masks", lambda gates: [gates.new_zeros(*gates.shape[:2], 8)] * 2)
    model.loss(pad(pairs)).total.backward()  # type: ignore[no-untyped-call]
    gradients = [layer.fused.weight_ih_l0.grad for layer in decoder.layers]
    assert [bool(gradient.any()) for gradient in gradients] == [False, False, False]  # type: ignore[operator, union-attr]
    assert bool(decoder.layers[2].fused.weight_hh_l0.grad.any())  # type: ignore[operator, union-attr]
    monkeypatch.undo()
    assert decoder.eval().dropout_masks(gates) == []
