"""One update: forward, backward, step. The model and all that changes with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from nmt_cli.config import TrainConfig
from nmt_cli.data.batch import Batch, collate
from nmt_cli.data.batches import Portion
from nmt_cli.errors import TrainingError
from nmt_cli.model import OwnWords, Seq2Seq
from nmt_cli.run.weights import load_weights, weights_of
from nmt_cli.training.distributed import Group
from nmt_cli.training.optimization import MovingAverage, Optimization, Precision
from nmt_cli.training.schedule import own_word_probability


class Learner:
    """A model, its optimizer and its moving average."""

    def __init__(
        self,
        model: Seq2Seq,
        config: TrainConfig,
        *,
        device: torch.device,
        precision: Precision,
        group: Group,
        compiled: bool = False,
    ) -> None:
        self.model = model.to(device).train()
        self.device = device
        self.precision = precision
        self._config = config
        self._group = group
        self.optimization = Optimization(self.model, config, scaled=precision.scaled)
        self._average = MovingAverage(self.model, config.ema_decay) if config.ema_decay else None
        # Any: torch's wrappers lose the signature.
        self._forward: Any = group.wrap(torch.compile(self.model, dynamic=True) if compiled else self.model)  # type: ignore[arg-type]
        # Sums since the last report: loss and cross-entropy. Doubles, where the device has them.
        exact = torch.float32 if device.type == "mps" else torch.float64
        self.sums = torch.zeros(2, dtype=exact, device=device)
        self._nothing = collate([[]], [[]])

    @property
    def model_to_use(self) -> Seq2Seq:
        """The averaged model, if there is one, else the model itself."""
        return self._average.model if self._average else self.model

    def update(self, update: int, portions: Sequence[Portion], rate: float) -> None:
        """Change the weights by the gradient of the mean loss of all tokens of `portions`, whoever has them.

        Chance (dropout, sampling) depends on the seed, the update and the process only: no generator has to be saved.
        """
        torch.manual_seed(_seed(self._config.seed, update, self._group.rank))
        tokens = sum(portion.tokens for portion in portions)
        own_words = OwnWords(own_word_probability(self._config, update), self._config.sampled_word)
        with self.explained():
            for portion in portions:
                last = portion is portions[-1]
                with nullcontext() if last or self._group.world == 1 else self._forward.no_sync():
                    self._accumulate(portion.batch, tokens, own_words)
            self.optimization.step(rate)
            if self._average:
                self._average.update(update)

    def _accumulate(self, batch: Batch | None, tokens: int, own_words: OwnWords) -> None:
        with self.precision.autocast():
            loss = self._forward(
                (batch or self._nothing).to(self.device),
                label_smoothing=self._config.label_smoothing,
                own_words=own_words,
                share=self._config.loss_share,
            )
        # Wrapped models average over processes; each token of the update is to count the same wherever it is.
        weight = self._group.world / tokens if batch is not None else 0.0
        self.optimization.scaled(loss.total * weight).backward()  # type: ignore[no-untyped-call]
        if batch is not None:
            self.sums += torch.stack([loss.total.detach(), loss.cross_entropy])
            self.model.learn_baseline(loss)

    def gather_sums(self) -> Tensor:
        """The sums of all processes; they all take part. From then on the leading process has them."""
        total = self._group.sum(self.sums)
        self.sums = total.clone() if self._group.leads else torch.zeros_like(total)
        return total

    def state(self) -> dict[str, Tensor]:
        """What resume needs beside the weights to use."""
        raw = (
            {f"weights.{name}": tensor for name, tensor in weights_of(self.model).items()}
            if self._average
            else {}
        )
        return {**self.optimization.state(), **raw, "sums": self.sums}

    def weights(self) -> dict[str, Tensor]:
        """The weights to use, not copied."""
        return weights_of(self.model_to_use)

    def load(self, weights: Mapping[str, Tensor], state: Mapping[str, Tensor] | None, origin: Path) -> None:
        """Go on from what `weights` and `state` gave; without a state, begin with these weights."""
        load_weights(self.model_to_use, weights, origin)
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
            if self._group.leads:
                self.sums = state["sums"].to(self.sums)

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Turn what torch says when memory runs out or another process is gone into what to do."""
        try:
            with self._group.talking():
                yield
        except (torch.OutOfMemoryError, MemoryError) as error:
            raise self._out_of_memory() from error
        except RuntimeError as error:
            if "can't allocate memory" in str(error) or "not enough memory" in str(error):
                raise self._out_of_memory() from error
            if type(error).__module__.startswith(("torch._dynamo", "torch._inductor")):
                raise TrainingError(
                    f"torch.compile failed: {str(error).strip().partition(chr(10))[0]}",
                    hint="train without --compile; on a CPU it needs a C++ compiler",
                ) from error
            raise

    def _out_of_memory(self) -> TrainingError:
        config = self._config
        name = "batch_sentences" if config.batch_sentences else "batch_tokens"
        size = max(1, getattr(config, name) // 2)
        return TrainingError(
            f"out of memory on {self.device} with train.{name} = {getattr(config, name)}",
            hint=f"try --set train.{name}={size} --set train.accumulate={config.accumulate * 2}: "
            "the same updates in half the memory; the last checkpoint is intact",
        )


def _seed(*numbers: int) -> int:
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0] >> 1)
