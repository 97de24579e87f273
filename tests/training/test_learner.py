"""One update: laws of accumulation, clipping, skipping and averaging."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from nmt_cli.config import TrainConfig
from nmt_cli.data.batches import RankBatch, TrainingBatches
from nmt_cli.data.directory import DataDirectory
from nmt_cli.errors import TrainingError, UsageError
from nmt_cli.model import Seq2Seq, device
from nmt_cli.model.device import choose_device
from nmt_cli.run.weights import mean_weights, weights_of
from nmt_cli.training import trainer as trainer_module
from nmt_cli.training.distributed import ProcessGroup
from nmt_cli.training.learner import Learner
from nmt_cli.training.optimization import Optimization, Precision, choose_precision
from nmt_cli.training.setup import make_batches, make_learner, start
from nmt_cli.training.validation import Validator

from .conftest import ON_CPU, resume_run, settings, train

CPU = torch.device("cpu")


def learner_of(data: Path, *assignments: str) -> tuple[Learner, TrainingBatches]:
    opened, config = DataDirectory.open(data), settings(*assignments).config
    return make_learner(opened, config, ProcessGroup(), ON_CPU), make_batches(
        opened, config, ProcessGroup(), CPU
    )


def copies(learner: Learner) -> dict[str, Tensor]:
    return {name: tensor.detach().clone() for name, tensor in learner.weights().items()}


def test_accumulation_equals_one_big_batch(data: Path) -> None:
    options = ("model.dropout=0", "train.optimizer=sgd", "train.learning_rate=1", "train.ema_decay=0")
    big, batches = learner_of(data, *options, "train.batch_sentences=12", "train.clip_norm=0")
    small, _ = learner_of(data, *options, "train.clip_norm=0")
    rank_batch = next(batches.stream())
    thirds = [next(_slices(data, rank, 3)) for rank in range(3)]
    before = copies(small)
    big.update(1, [rank_batch], 1.0)
    small.update(1, thirds, 1.0)
    assert any(not torch.equal(before[name], tensor) for name, tensor in big.weights().items())
    for name, tensor in big.weights().items():
        torch.testing.assert_close(small.weights()[name], tensor, msg=name)
    # The losses are summed in float32, in different orders.
    torch.testing.assert_close(big.sums, small.sums, rtol=1e-6, atol=0)


def _slices(data: Path, rank: int, world: int) -> Iterator[RankBatch]:
    opened, config = DataDirectory.open(data), settings("train.batch_sentences=12").config
    for rank_batch in TrainingBatches(opened.train, config.train, rank=rank, world=world).stream():
        assert rank_batch.batch is not None
        # As if each were a batch of its own.
        yield RankBatch(
            rank_batch.epoch,
            rank_batch.index,
            rank_batch.batch,
            len(rank_batch.batch.source),
            len(rank_batch.batch.labels),
        )


def test_an_update_is_a_function_of_seed_and_number(data: Path) -> None:
    results = []
    for update in (1, 1, 2):
        learner, batches = learner_of(data, "model.dropout=0.5")
        torch.rand(5)  # nobody else's draws count
        learner.update(update, [next(batches.stream())], 0.01)
        results.append(copies(learner)["vocabulary.bias"])
    assert torch.equal(results[0], results[1])
    assert not torch.equal(results[0], results[2])


@pytest.mark.parametrize("optimizer", ["adam", "adamw", "sgd"])
@pytest.mark.parametrize("value", [torch.nan, torch.inf])
def test_a_non_finite_gradient_changes_nothing_and_is_counted(optimizer: str, value: float) -> None:
    config = TrainConfig.model_validate(
        {"optimizer": optimizer, "momentum": 0.5 if optimizer == "sgd" else 0.0}
    )
    model = nn.Linear(3, 2)
    optimization = Optimization(model, config, scaled=False)
    for bad in (True, False, True, True):
        before = {
            **{n: t.clone() for n, t in weights_of(model).items()},
            **{n: t.clone() for n, t in optimization.state().items()},
        }
        model(torch.ones(1, 3)).sum().backward()
        if bad:
            assert model.weight.grad is not None
            model.weight.grad[0, 0] = value
        optimization.step(0.1)
        after = {**weights_of(model), **optimization.state()}
        changed = {name for name in before if not torch.equal(before[name], after[name])}
        assert ("weight" in changed) != bad
        assert not bad or changed <= {"scaler.skipped", "scaler.in_a_row"}
    assert (int(optimization.skipped), int(optimization.skipped_in_a_row)) == (3, 2)


def test_many_consecutive_non_finite_gradients_stop_training(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trainer_module, "SKIPPED_LIMIT", 3)
    original = Optimization.scaled
    monkeypatch.setattr(Optimization, "scaled", lambda self, loss: original(self, loss) * torch.nan)
    with pytest.raises(
        TrainingError, match="the gradients of 3 consecutive updates were not finite"
    ) as caught:
        train(data, tmp_path / "run", "train.max_updates=9")
    assert "smaller train.learning_rate" in caught.value.hint


def test_a_non_finite_value_is_null_in_the_metrics(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forward = Seq2Seq.forward

    def broken(model: Seq2Seq, *arguments: Any, **options: Any) -> Any:
        return forward(model, *arguments, **options)._replace(cross_entropy=torch.tensor(torch.nan))

    monkeypatch.setattr(Seq2Seq, "forward", broken)
    train(data, tmp_path / "run", "train.max_updates=3", "train.log_every=3")
    line = (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()[0]
    assert '"perplexity": null' in line
    assert "NaN" not in line
    assert (tmp_path / "run" / "curves.svg").exists()


def test_a_non_finite_validation_loss_stops_training(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loss = Seq2Seq.loss

    def broken(model: Seq2Seq, *arguments: Any, **options: Any) -> Any:
        found = loss(model, *arguments, **options)
        return found if model.training else found._replace(cross_entropy=found.cross_entropy * torch.nan)

    monkeypatch.setattr(Seq2Seq, "loss", broken)
    with pytest.raises(TrainingError, match="training has diverged"):
        train(data, tmp_path / "run", "train.max_updates=2")


def test_running_out_of_memory_in_validation_suggests_a_batch_size(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise torch.OutOfMemoryError

    monkeypatch.setattr(Validator, "validate", full)
    with pytest.raises(TrainingError, match="out of memory on cpu") as caught:
        train(data, tmp_path / "run", "train.max_updates=2")
    assert "--set train.batch_tokens=48" in caught.value.hint


def test_clipping_bounds_the_step() -> None:
    for clip, expected in ((0.0, 30.0), (2.0, 2.0), (99.0, 30.0)):
        model = nn.Linear(1, 1, bias=False)
        optimization = Optimization(model, TrainConfig(optimizer="sgd", clip_norm=clip), scaled=False)
        before = model.weight.item()
        (model.weight * 30).sum().backward()  # type: ignore[no-untyped-call]
        optimization.step(1.0)
        assert before - model.weight.item() == pytest.approx(expected, rel=1e-5)
        assert float(optimization.norm) == pytest.approx(30.0)


def test_the_loss_scale_halves_on_overflow_and_leaves_steps_as_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("nmt_cli.training.optimization.GROWTH_UPDATES", 2)
    plain, scaled = nn.Linear(2, 1), nn.Linear(2, 1)
    scaled.load_state_dict(plain.state_dict())
    config = TrainConfig(clip_norm=0.3)
    one, other = Optimization(plain, config, scaled=False), Optimization(scaled, config, scaled=True)
    scales = []
    for overflow in (False, False, True, False):
        for model, optimization in ((plain, one), (scaled, other)):
            optimization.scaled(model(torch.ones(1, 2)).square().sum()).backward()  # type: ignore[no-untyped-call]
            if overflow:
                assert model.weight.grad is not None
                model.weight.grad.fill_(torch.inf)
            optimization.step(0.1)
        scales.append(float(other.state()["scaler.scale"]))
    assert scales == [2.0**16, 2.0**17, 2.0**16, 2.0**16]
    torch.testing.assert_close(plain.weight, scaled.weight)


def test_bf16_trains_where_supported(data: Path) -> None:
    learner, batches = learner_of(data, "model.cell=gru")
    with torch.backends.mkldnn.flags(enabled=False):  # a CPU without units for it
        learner.precision = Precision("bf16", "cpu")
        learner.update(1, [next(batches.stream())], 0.01)
    assert int(learner.optimization.skipped) == 0
    assert learner.weights()["vocabulary.bias"].dtype == torch.float32


def test_the_moving_average_is_the_inference_model(data: Path) -> None:
    learner, batches = learner_of(data, "train.ema_decay=0.9")
    first = copies(learner)
    learner.update(1, [next(batches.stream())], 0.01)
    decay = 2 / 11
    for name, tensor in weights_of(learner.model).items():
        expected = decay * first[name] + (1 - decay) * tensor
        torch.testing.assert_close(learner.weights()[name], expected)


def test_mean_weights_is_the_mean() -> None:
    mean = mean_weights([{"a": torch.tensor([1.0, 3.0])}, {"a": torch.tensor([2.0, 5.0])}])
    assert mean["a"].tolist() == [1.5, 4.0]
    assert mean["a"].dtype == torch.float32


def test_running_out_of_memory_suggests_what_to_try(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    learner, batches = learner_of(data, "train.batch_tokens=96")

    def full(rate: float) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(learner.optimization, "step", full)
    with pytest.raises(TrainingError, match=r"out of memory on cpu with train\.batch_tokens = 96") as caught:
        learner.update(1, [next(batches.stream())], 0.1)
    assert "--set train.batch_tokens=48 --set train.accumulate=2" in caught.value.hint


def test_a_missing_device_lists_those_that_exist() -> None:
    assert choose_device("cpu") == CPU
    if not torch.cuda.is_available():
        assert choose_device("auto").type in ("cpu", "mps")
        for name in ("cuda", "cuda:1", "tpu", "cuda:x"):
            with pytest.raises(UsageError, match=f"no such device: {name}") as caught:
                choose_device(name)
            assert "available: cpu" in caught.value.hint


def test_small_models_and_the_lstmn_are_trained_without_onednn(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device, "onednn_is_faster", lambda processor: True)
    monkeypatch.setattr(device, "_products_are_exact", lambda: True)
    for assignments, fast in (
        (["model.hidden_size=256"], True),
        (["model.hidden_size=32"], False),
        (["model.hidden_size=256"], True),
        (["model.preset=cheng2016", "model.hidden_size=256"], False),
    ):
        learner_of(data, *assignments)
        assert (torch.get_float32_matmul_precision() == "medium") is fast


def test_training_restores_the_setting_of_the_program(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device, "onednn_is_faster", lambda processor: True)
    monkeypatch.setattr(device, "_products_are_exact", lambda: True)
    torch.set_float32_matmul_precision("high")
    with start(data, tmp_path / "run", settings("model.hidden_size=256"), machine=ON_CPU):
        assert torch.get_float32_matmul_precision() == "medium"
    assert torch.get_float32_matmul_precision() == "high"


def test_an_unsupported_precision_suggests_supported_ones() -> None:
    assert choose_precision(TrainConfig(precision="fp32"), CPU).name == "fp32"
    with pytest.raises(UsageError, match=r"train\.precision = fp16 is not supported by this CPU") as caught:
        choose_precision(TrainConfig(precision="fp16"), CPU)
    assert "fp32" in caught.value.hint


@pytest.mark.parametrize(
    ("amx", "avx512", "auto", "accepted"),
    [(True, True, "bf16", True), (False, True, "fp32", True), (False, False, "fp32", False)],
)
def test_bf16_on_a_cpu_needs_its_instructions_and_is_automatic_only_with_amx(
    amx: bool, avx512: bool, auto: str, accepted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: amx)
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: avx512)
    monkeypatch.setattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", lambda: avx512)
    assert choose_precision(TrainConfig(), CPU).name == auto
    if accepted:
        assert choose_precision(TrainConfig(precision="bf16"), CPU).name == "bf16"
    else:
        with pytest.raises(UsageError, match=r"train\.precision = bf16 is not supported by this CPU"):
            choose_precision(TrainConfig(precision="bf16"), CPU)


@pytest.mark.parametrize("when", ["train.log_every=2", "train.save_every=2", "train.validate_every=3"])
def test_divergence_stops_training_and_keeps_the_last_good_checkpoint(
    data: Path, tmp_path: Path, when: str
) -> None:
    calm = ("train.log_every=100", "train.clip_norm=0", "train.warmup_updates=0")
    train(data, tmp_path / "run", *calm, "train.max_updates=2", "train.average_best=1")
    good = (tmp_path / "run" / "model.safetensors").read_bytes()
    checkpoint = (tmp_path / "run" / "state" / "current.json").read_bytes()
    wild = ("train.learning_rate=1e6", "train.max_updates=50", when)
    with pytest.raises(TrainingError, match=r"training has diverged: .* would give 5\.[67]") as caught:
        resume_run(tmp_path / "run", *wild)
    assert "smaller train.learning_rate" in caught.value.hint
    assert (tmp_path / "run" / "model.safetensors").read_bytes() == good
    assert (tmp_path / "run" / "state" / "current.json").read_bytes() == checkpoint
