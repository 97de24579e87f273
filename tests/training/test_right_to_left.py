"""Training from right to left: it learns, text stays in natural order, and it combines with the other methods."""

from itertools import chain, islice
from pathlib import Path

import numpy as np
import pytest
import torch

from nmt_cli import Details, Translator
from nmt_cli.data.aligner import unpack_links
from nmt_cli.data.directory import DataDirectory
from nmt_cli.training import UpdateReport, ValidationReport, resume, start
from nmt_cli.training.distributed import ProcessGroup
from nmt_cli.training.minimum_risk import MinimumRisk
from nmt_cli.training.setup import make_batches, make_learner

from .conftest import ON_CPU, assert_same, settings, train

BACKWARDS = "model.reverse_target=true"


def test_it_learns_to_translate_and_to_align(data: Path, tmp_path: Path) -> None:
    """The target is the source in upper case, so every word aligns with the one at its position."""
    options = ("train.learning_rate=0.01", "train.ema_decay=0", "model.dropout=0", "train.guided_alignment=1")
    updates = ("train.max_updates=300", "train.validate_every=300")
    reports = train(data, tmp_path / "run", BACKWARDS, *options, *updates)
    scores = [report.bleu.value for report in reports if isinstance(report, ValidationReport) and report.bleu]
    assert max(scores) > 50
    translator = Translator.load(tmp_path / "run", device="cpu")
    texts = ["ba de fi", "do du", "fa be bo da", "di fu ba do"]
    targets = [text.upper() for text in texts]
    right = translator.score(texts, targets, details=Details(scores=True, alignment=True))
    wrong = translator.score(texts, [" ".join(target.split()[::-1]) for target in targets])
    for one, other in zip(right, wrong, strict=True):
        assert all(i == j for i, j in one.alignment or ())
        assert one.log_probability is not None
        assert other.log_probability is not None
        assert one.log_probability > other.log_probability + 3


@pytest.mark.parametrize(
    "extra", [("train.subword_sampling=0.1",), ("train.scheduled_sampling=0.5",), ("train.objective=mrt",)]
)
def test_a_resumed_run_equals_an_uninterrupted_one(
    data: Path, tmp_path: Path, extra: tuple[str, ...]
) -> None:
    options = (BACKWARDS, "train.max_updates=4", "train.validate_every=4", *extra)
    train(data, tmp_path / "first", BACKWARDS, "train.max_updates=1")
    train(data, tmp_path / "whole", *options, init=tmp_path / "first")
    with start(
        data, tmp_path / "parts", settings(*options), init=tmp_path / "first", machine=ON_CPU
    ) as trainer:
        for report in trainer.run():
            if isinstance(report, UpdateReport):
                trainer.stop()
    with resume(tmp_path / "parts", machine=ON_CPU) as trainer:
        list(trainer.run())
    assert_same(tmp_path / "whole", tmp_path / "parts")


def test_the_links_of_a_batch_are_mirrored_with_its_targets(data: Path) -> None:
    opened, config = DataDirectory.open(data), settings(BACKWARDS, "train.guided_alignment=0.5").config
    batches = make_batches(opened, config, ProcessGroup(), torch.device("cpu"))
    assert batches._links is not None
    for rank_batch in islice(batches.stream(), 5):
        batch = rank_batch.batch
        assert batch is not None
        assert batch.links is not None
        T, S = batch.target_inputs.shape[1], batch.source.shape[1]
        found = {(link // (T * S), link // S % T, link % S) for link in batch.links.tolist()}
        wanted = set()
        for b, row in enumerate(batches.plan(1)[rank_batch.index].tolist()):
            last = int(batch.target_lengths[b]) - 2  # before <eos>
            t, s = unpack_links(batches._links.take(np.array([row])).values)
            wanted |= {(b, last - i, j) for i, j in zip(t.tolist(), s.tolist(), strict=True)}
        assert found == wanted


def test_candidates_of_minimum_risk_training_are_judged_in_natural_order(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, config = DataDirectory.open(data), settings(BACKWARDS, "train.objective=mrt").config
    learner = make_learner(opened, config, ProcessGroup(), ON_CPU)
    rank_batch = next(make_batches(opened, config, ProcessGroup(), torch.device("cpu")).stream())
    batch = rank_batch.batch
    assert batch is not None
    risk, texts = MinimumRisk(opened, config), list[list[str]]()

    def risks_of(found: list[str]) -> list[float]:
        texts.append(found)
        return [0.0] * len(found)

    monkeypatch.setattr(risk, "_risks", risks_of)
    candidates, risks = risk.draw(learner.model, batch, seed=7)
    rows = torch.split(candidates.labels, candidates.target_lengths.tolist())
    vocabulary = opened.vocabularies.target
    assert [vocabulary.decode(row[:-1].tolist()[::-1]) for row in rows] == list(chain(*texts))
    references = [row for row, is_reference in zip(rows, risks.is_reference, strict=True) if is_reference]
    assert torch.equal(torch.cat(references), batch.labels)
