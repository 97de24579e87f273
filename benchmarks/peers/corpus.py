"""The batches of the benchmark, planned as our trainer does: of Multi30k, or of the embedded corpus."""

import gzip
from pathlib import Path

import numpy as np
from torch import Tensor

from nmt_cli.config import TrainConfig, VocabularyConfig
from nmt_cli.data.batch_plan import plan_epoch
from nmt_cli.data.batches import collate
from nmt_cli.vocabulary import Vocabulary
from nmt_cli.vocabulary.token_ids import Ragged
from peers.batches import BOS, Pairs


def first_batches(data: Path, count: int, *, vocabulary: int, tokens: int) -> tuple[str, list[Pairs]]:
    """The name of the corpus and the first batches of its first epoch, about `tokens` target tokens each."""
    name, sides = _multi30k(data) if (data / "multi30k").is_dir() else _embedded()
    size = vocabulary if name == "Multi30k" else vocabulary // 4  # the embedded corpus has fewer words
    config = VocabularyConfig(size=size, joint=False)
    source, target = (Vocabulary.train(lines, config).encode(lines) for lines in sides)
    plan = plan_epoch(source.lengths, target.lengths, TrainConfig(batch_tokens=tokens), epoch=1)
    full = [
        rows
        for rows in (plan[i] for i in range(len(plan)))
        if len(rows) * (target.lengths[rows].max() + 1) > 0.9 * tokens
    ]
    return name, [_pairs(source.take(rows), target.take(rows)) for rows in full[:count]]


def _multi30k(data: Path) -> tuple[str, list[list[str]]]:
    sides = []
    for language in ("de", "en"):
        with gzip.open(data / "multi30k" / f"train.{language}.gz", "rt", encoding="utf-8") as file:
            sides.append(file.read().split("\n")[:-1])
    return "Multi30k", sides


def _embedded() -> tuple[str, list[list[str]]]:
    from nmt_cli.demo import generate

    pairs = generate(30_000).train
    return "the embedded corpus", [[german for _, german in pairs], [english for english, _ in pairs]]


def _pairs(source: Ragged, target: Ragged) -> Pairs:
    """Rows of ids as tensors, longest source first."""
    order = np.argsort(-source.lengths, kind="stable")
    batch = collate(source.take(order), target.take(order))
    return Pairs(batch.source, batch.source_lengths, _target(target.take(order)), batch.target_lengths)


def _target(rows: Ragged) -> Tensor:
    """(B, T + 1) <bos> y_1 … y_m <eos>"""
    with_bos = Ragged.from_rows([[BOS, *rows[i]] for i in range(len(rows))])
    return collate(with_bos, with_bos).source
