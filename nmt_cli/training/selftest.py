"""`nmt selftest`: whether training and search work on a device, in about two minutes.

Every preset, in a small size, must have the same loss, gradients and translations on the device as on the CPU in double
precision, must learn in the best precision of the device, and must not make the host wait for a GPU within an update.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import torch

from nmt_cli.config import (
    CAPTION_PRESETS,
    LANGUAGE_MODEL_PRESETS,
    SPEECH_PRESETS,
    TRANSLATION_PRESETS,
    ModelConfig,
    SearchConfig,
    TrainConfig,
)
from nmt_cli.data.batches import Batch, RankBatch, collate
from nmt_cli.model import Seq2Seq, build_model
from nmt_cli.model.device import prepare_device
from nmt_cli.search import ModelScorer, search
from nmt_cli.training.distributed import ProcessGroup
from nmt_cli.training.learner import Learner
from nmt_cli.training.optimization import Precision, choose_precision

VOCABULARY = 60
SIDE = 16  # of an image, in pixels
FRAMES_PER_TARGET_TOKEN = 5  # of a recording
UPDATES = 30  # to learn the task
LEARNED = 0.8  # of the first loss
SKIPPED = 16  # updates that fp16 may need to find its loss scale
_FIRST_TOKEN = 4  # after the special ones


@dataclass(frozen=True)
class Check:
    """One thing that was tried."""

    name: str
    preset: str
    passed: bool
    seconds: float
    detail: str  # figures, or what went wrong


class CheckError(Exception):
    """A result is wrong."""


def selftest(device: str, threads: int | None = None) -> Iterator[Check]:
    """Check everything on this device, and yield each result as soon as it is there."""
    place = prepare_device(device, threads)
    for preset in (*TRANSLATION_PRESETS, *LANGUAGE_MODEL_PRESETS, *CAPTION_PRESETS, *SPEECH_PRESETS):
        is_language_model = preset in LANGUAGE_MODEL_PRESETS
        yield _checked("loss and gradients", preset, partial(_compare_gradients, preset, place))
        if not is_language_model:
            yield _checked("beam search", preset, partial(_compare_search, preset, place))
        yield _checked("learning", preset, partial(_learn, preset, place))
        if place.type == "cuda":
            yield _checked("no waiting", preset, partial(_update_without_waiting, preset, place))
    yield _checked("overflow", "luong2015", partial(_overflow, place))
    for name in _precisions(place):
        yield _checked(f"speed in {name}", "luong2015", partial(_speed, name, place))


def _checked(name: str, preset: str, run: Callable[[], str]) -> Check:
    start = time.monotonic()
    try:
        detail, passed = run(), True
    except CheckError as error:
        detail, passed = str(error), False
    except Exception as error:  # whatever a device or its driver comes up with belongs in the report
        detail, passed = f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}", False
    return Check(name, preset, passed, time.monotonic() - start, detail)


def _model(preset: str, device: torch.device, **settings: object) -> Seq2Seq:
    sizes = {"embedding_size": 32, "hidden_size": 32, "dropout": 0.0} | settings
    config = ModelConfig.from_preset(preset, **sizes)
    generator = torch.Generator().manual_seed(1)
    return build_model(config, VOCABULARY, VOCABULARY, shared=True, generator=generator).to(device)


def _batch(preset: str, rows: int, length: int, vocabulary: int = VOCABULARY) -> Batch:
    """Sentences of several lengths, to be copied; or to be recalled when an image or a recording of noise is met."""
    random = torch.Generator().manual_seed(2)
    sentences = [
        torch.randint(
            _FIRST_TOKEN, vocabulary, (length - row % max(1, length // 2),), generator=random
        ).tolist()
        for row in range(rows)
    ]
    batch = collate(sentences, sentences)
    if preset in CAPTION_PRESETS:
        images = torch.randint(256, (rows, SIDE, SIDE, 3), dtype=torch.uint8, generator=random)
        batch = batch._replace(source=images)
    if preset in SPEECH_PRESETS:
        size = ModelConfig.from_preset(preset).frame_size
        lengths = batch.source_lengths * FRAMES_PER_TARGET_TOKEN
        frames = torch.randn(rows, int(lengths.max()), size, generator=random)
        batch = batch._replace(source=frames, source_lengths=lengths)
    return batch


def _learner(model: Seq2Seq, device: torch.device, precision: Precision) -> Learner:
    return Learner(
        model, TrainConfig(ema_decay=0.0), device=device, precision=precision, group=ProcessGroup()
    )


def _rank_batch(batch: Batch) -> RankBatch:
    return RankBatch(1, 0, batch, len(batch.source_lengths), len(batch.labels))


@contextmanager
def _exact_products(device: torch.device) -> Iterator[None]:
    """Without TF32, which has 10 bits of mantissa. On a CPU, products stay as commands compute them."""
    if device.type == "cpu":
        yield
        return
    before = torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32
    torch.set_float32_matmul_precision("highest")
    torch.backends.cudnn.allow_tf32 = False
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before[0])
        torch.backends.cudnn.allow_tf32 = before[1]


def _compare_gradients(preset: str, device: torch.device) -> str:
    batch, found = _batch(preset, 8, 9), []
    with _exact_products(device):
        for place, dtype in ((torch.device("cpu"), torch.float64), (device, torch.float32)):
            model = _model(preset, place).to(dtype).train()
            loss = model.loss(batch.to(place), label_smoothing=0.1)
            (loss.total / loss.tokens).backward()  # type: ignore[no-untyped-call]
            gradients = [p.grad.double().cpu() for p in model.parameters() if p.grad is not None]
            found.append(
                (float(loss.total.detach()), torch.cat([gradient.flatten() for gradient in gradients]))
            )
    (loss_here, ours), (loss_there, theirs) = found
    error = float((ours - theirs).norm() / ours.norm())
    if not abs(loss_here - loss_there) <= 1e-4 * abs(loss_here) or not error <= 1e-3:
        raise CheckError(f"loss {loss_there:.4f} instead of {loss_here:.4f}, gradients differ by {error:.1e}")
    return f"gradients differ by {error:.0e}"


def _compare_search(preset: str, device: torch.device) -> str:
    batch = _batch(preset, 6, 9)
    config = SearchConfig(beam_size=4, max_length=20)
    best = []
    with _exact_products(device), torch.inference_mode():
        for place, dtype in ((torch.device("cpu"), torch.float64), (device, torch.float32)):
            model = _model(preset, place).to(dtype).eval()
            memory = model.encode(batch.source.to(place), batch.source_lengths)
            found = search(ModelScorer(model, place), memory, batch.source_lengths, config)
            best.append([hypotheses[0] for hypotheses in found])
    for one, other in zip(*best, strict=True):
        if abs(one.score - other.score) > 1e-3:  # of equally good ones, either may win
            raise CheckError(f"another translation: score {other.score:.4f} instead of {one.score:.4f}")
    return f"{len(best[0])} sentences, beam 4"


def _learn(preset: str, device: torch.device) -> str:
    precision = choose_precision(TrainConfig(), device)
    learner, batch = _learner(_model(preset, device), device, precision), _rank_batch(_batch(preset, 16, 8))
    losses = []
    for update in range(1, UPDATES + 1):
        learner.update(update, [batch], 5e-3)
        losses.append(float(learner.sums[1]) / batch.tokens)
        learner.sums.zero_()
    skipped = int(learner.optimization.skipped)
    if not losses[-1] < LEARNED * losses[0] or skipped > (SKIPPED if precision.scaled else 0):
        raise CheckError(f"loss {losses[0]:.2f} → {losses[-1]:.2f}, {skipped} updates skipped")
    return f"{precision.name}: loss {losses[0]:.2f} → {losses[-1]:.2f}"


def _update_without_waiting(preset: str, device: torch.device) -> str:
    learner = _learner(_model(preset, device), device, choose_precision(TrainConfig(), device))
    batch = _rank_batch(_batch(preset, 16, 8).pin())
    learner.update(1, [batch], 1e-3)  # allocates
    torch.cuda.synchronize(device)
    torch.cuda.set_sync_debug_mode("error")
    try:
        learner.update(2, [batch], 1e-3)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    return "an update never waits for the GPU"


def _overflow(device: torch.device) -> str:
    """An infinite gradient changes no weight and halves the loss scale."""
    learner = _learner(_model("luong2015", device), device, Precision("fp16", device.type))
    optimization = learner.optimization
    before = [parameter.detach().clone() for parameter in learner.model.parameters()]
    scale = float(optimization.state()["scaler.scale"])
    for parameter in learner.model.parameters():
        parameter.grad = torch.full_like(parameter, torch.inf)
    optimization.step(1e-3)
    changed = [
        not torch.equal(one, other) for one, other in zip(before, learner.model.parameters(), strict=True)
    ]
    after = float(optimization.state()["scaler.scale"])
    if any(changed) or after != scale / 2 or int(optimization.skipped) != 1:
        raise CheckError(f"{sum(changed)} weights changed, loss scale {scale:.0f} → {after:.0f}")
    return f"skipped; loss scale {scale:.0f} → {after:.0f}"


def _precisions(device: torch.device) -> list[str]:
    best = choose_precision(TrainConfig(), device).name
    return ["fp32"] if best == "fp32" else ["fp32", best]


def _speed(precision: str, device: torch.device) -> str:
    """Target tokens per second of updates with the default sizes of the preset."""
    config = ModelConfig.from_preset("luong2015")
    vocabulary, rows = 8000, 256 if device.type == "cuda" else 40
    model = build_model(
        config, vocabulary, vocabulary, shared=True, generator=torch.Generator().manual_seed(1)
    )
    learner = _learner(model, device, Precision(precision, device.type))
    batch = _rank_batch(_batch("luong2015", rows, 25, vocabulary))
    learner.update(1, [batch], 1e-3)
    _finish(device)
    start, updates = time.monotonic(), 20 if device.type == "cuda" else 2
    for update in range(2, 2 + updates):
        learner.update(update, [batch], 1e-3)
    _finish(device)
    return f"{updates * batch.tokens / (time.monotonic() - start):,.0f} target tokens/s, {batch.tokens} per update"


def _finish(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
