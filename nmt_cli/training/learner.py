"""One update: forward, backward, optimizer step. Holds the model and everything that changes with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from nmt_cli.config import TrainConfig
from nmt_cli.data.batches import Batch, RankBatch
from nmt_cli.errors import TrainingError
from nmt_cli.model import ScheduledSampling, Seq2Seq
from nmt_cli.run.weights import load_weights, weights_of
from nmt_cli.training.distributed import ProcessGroup
from nmt_cli.training.minimum_risk import MinimumRisk
from nmt_cli.training.optimization import MovingAverage, Optimization, Precision
from nmt_cli.training.schedule import sampling_probability


class Learner:
    """A model with its optimizer and moving average."""

    def __init__(
        self,
        model: Seq2Seq,
        config: TrainConfig,
        *,
        device: torch.device,
        precision: Precision,
        group: ProcessGroup,
        compiled: bool = False,
        risk: MinimumRisk | None = None,
    ) -> None:
        """`risk` draws the candidates of minimum risk training, instead of cross-entropy."""
        self.model = model.to(device).train()
        self.device = device
        self.precision = precision
        self._config = config
        self._group = group
        self._risk = risk
        self.optimization = Optimization(self.model, config, scaled=precision.scaled)
        self._average = MovingAverage(self.model, config.ema_decay) if config.ema_decay else None
        # Any: torch's wrappers lose the signature. Without `dynamic=True`, only sizes that change become symbols. With
        # it, sizes of layers do, too, and torch 2.13 fails to compile luong2015.
        forward: Any = torch.compile(self.model) if compiled else self.model
        self._forward: Any = group.wrap(forward, config)
        # Loss and cross-entropy, summed since the last report. Double precision where the device has it.
        double = torch.float32 if device.type == "mps" else torch.float64
        self.sums = torch.zeros(2, dtype=double, device=device)
        self._empty_batch = self.model.empty_batch()

    @property
    def inference_model(self) -> Seq2Seq:
        """The moving average if there is one, else the model itself: what is validated and saved."""
        return self._average.model if self._average else self.model

    def update(self, update: int, rank_batches: Sequence[RankBatch], rate: float) -> None:
        """One step on the mean loss over all tokens of `rank_batches`, on all processes.

        Random draws (dropout, sampling) depend only on the seed, the update and the process, so no generator state
        has to be saved.
        """
        torch.manual_seed(_seed(self._config.seed, update, self._group.rank))
        self.model.start_softly(update <= self._config.soft_updates)
        tokens = sum(rank_batch.tokens for rank_batch in rank_batches)
        scheduled_sampling = ScheduledSampling(
            sampling_probability(self._config, update), self._config.sampled_word
        )
        with self.readable_errors():
            for index, rank_batch in enumerate(rank_batches):
                last = rank_batch is rank_batches[-1]
                seed = _seed(self._config.seed, update, self._group.rank, index)
                with nullcontext() if last or self._group.world == 1 else self._forward.no_sync():
                    self._accumulate(rank_batch.batch, tokens, scheduled_sampling, seed)
            self.optimization.step(rate)
            if self._average:
                self._average.update(update)

    def _accumulate(
        self, batch: Batch | None, tokens: int, scheduled_sampling: ScheduledSampling, seed: int
    ) -> None:
        risks = None
        with self.precision.autocast():
            moved = (batch or self._empty_batch).to(self.device)
            if self._risk is not None and batch is not None:
                moved, risks = self._risk.draw(self.model, moved, seed)
            loss = self._forward(
                moved,
                label_smoothing=self._config.label_smoothing,
                scheduled_sampling=scheduled_sampling,
                token_fraction=self._config.loss_share,
                tokens_per_sentence=self._config.loss_words,
                guided_alignment=self._config.guided_alignment,
                risks=risks,
            )
        # DistributedDataParallel averages over processes, but every token of the update should have the same weight.
        weight = self._group.world / tokens if batch is not None else 0.0
        self.optimization.scaled(loss.total * weight).backward()  # type: ignore[no-untyped-call]
        if batch is not None:
            self.sums += torch.stack([loss.total.detach(), loss.cross_entropy])
            self.model.learn_baseline(loss)

    def gather_sums(self) -> Tensor:
        """The sums over all processes, which must all call this. Afterwards the main process holds the total."""
        total = self._group.sum(self.sums)
        self.sums = total.clone() if self._group.is_main else torch.zeros_like(total)
        return total

    def state(self) -> dict[str, Tensor]:
        """What resume needs besides the inference weights."""
        raw = (
            {f"weights.{name}": tensor for name, tensor in weights_of(self.model).items()}
            if self._average
            else {}
        )
        return {**self.optimization.state(), **raw, "sums": self.sums}

    def weights(self) -> dict[str, Tensor]:
        """The inference weights, not copied."""
        return weights_of(self.inference_model)

    def load(self, weights: Mapping[str, Tensor], state: Mapping[str, Tensor] | None, origin: Path) -> None:
        """Restore what `weights()` and `state()` returned; without a state, only initialize the weights."""
        load_weights(self.inference_model, weights, origin)
        if self._average:
            raw = weights
            if state is not None:
                raw = {
                    name.removeprefix("weights."): tensor
                    for name, tensor in state.items()
                    if name.startswith("weights.")
                }
            load_weights(self.model, raw, origin)
        if state is not None:
            self.optimization.load_state(state)
            if self._group.is_main:
                self.sums = state["sums"].to(self.sums)

    @contextmanager
    def readable_errors(self) -> Iterator[None]:
        """Turn torch's errors for lack of memory, lost processes and failed compilation into readable ones."""
        try:
            with self._group.connection_errors():
                yield
        except (torch.OutOfMemoryError, MemoryError) as error:
            raise self._out_of_memory() from error
        except RuntimeError as error:
            if "can't allocate memory" in str(error) or "not enough memory" in str(error):
                raise self._out_of_memory() from error
            if type(error).__module__.startswith(("torch._dynamo", "torch._inductor")):
                raise TrainingError(
                    f"torch.compile failed: {str(error).strip().partition(chr(10))[0]}",
                    hint="train without --compile; on a CPU, it needs a C++ compiler",
                ) from error
            raise

    def _out_of_memory(self) -> TrainingError:
        config = self._config
        name = "batch_sentences" if config.batch_sentences else "batch_tokens"
        size = max(1, getattr(config, name) // 2)
        return TrainingError(
            f"out of memory on {self.device} with train.{name} = {getattr(config, name)}",
            hint=f"try --set train.{name}={size} --set train.accumulate={config.accumulate * 2}: "
            "the same updates with half the memory; the last checkpoint is intact",
        )


def _seed(*numbers: int) -> int:
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0] >> 1)
