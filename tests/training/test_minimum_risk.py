"""Minimum risk training: its gradient, its candidates, what it improves, resume, and settings it contradicts."""

from itertools import islice, product
from pathlib import Path

import pytest
import torch
from torch import Tensor

from nmt_cli.config import ModelConfig, resolve
from nmt_cli.data.batches import collate
from nmt_cli.data.directory import DataDirectory
from nmt_cli.errors import ConfigError
from nmt_cli.metrics.corpus_metric import CorpusMetric
from nmt_cli.metrics.pairwise import pairwise_bleu
from nmt_cli.model import Risks, Seq2Seq, build_model
from nmt_cli.run import RunDirectory
from nmt_cli.training import UpdateReport, resume, start, start_or_resume
from nmt_cli.training.distributed import ProcessGroup
from nmt_cli.training.dry_run import estimate_run
from nmt_cli.training.minimum_risk import MinimumRisk
from nmt_cli.training.setup import make_batches, make_learner, warm_start

from .conftest import ON_CPU, assert_same, settings, train

WORDS = range(4, 7)
EVERYTHING = [list(words) for length in range(3) for words in product(WORDS, repeat=length)]  # up to 2 words
SOURCES = [[4, 5, 6], [6, 4]]


def tiny(preset: str, *, copying: bool = False) -> Seq2Seq:
    config = ModelConfig.from_preset(preset, embedding_size=8, hidden_size=8, copying=copying)
    model = build_model(config, 7, 7, shared=True, generator=torch.Generator().manual_seed(1))
    return model.double().eval()


def log_probability(model: Seq2Seq, source: list[int], target: list[int]) -> Tensor:
    batch = collate([source], [target])
    memory = model.encode(batch.source, batch.source_lengths)
    features, attention = model.decode(memory, batch.target_inputs)
    log_p = model.project(features, model.copies(attention, memory))[0].log_softmax(dim=1)
    return log_p.gather(1, batch.labels[:, None]).sum()


@pytest.mark.parametrize(
    ("preset", "copying"), [("luong2015", False), ("luong2015", True), ("bahdanau2015", False)]
)
@pytest.mark.parametrize("alpha", [1.0, 0.05])
def test_the_gradient_is_that_of_the_expected_risk_over_all_translations(
    preset: str, copying: bool, alpha: float
) -> None:
    model = tiny(preset, copying=copying)
    count = len(EVERYTHING)
    delta = torch.rand(2 * count, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    batch = collate([source for source in SOURCES for _ in EVERYTHING], EVERYTHING * 2)
    sentences = torch.tensor([0] * count + [1] * count)
    references = torch.zeros(2 * count, dtype=torch.bool)
    references[[3, count + 5]] = True
    loss = model.loss(batch, risks=Risks(sentences, delta, references, alpha))

    log_p = torch.stack([log_probability(model, source, y) for source in SOURCES for y in EVERYTHING])
    expected = torch.zeros((), dtype=torch.float64)
    for rows in (slice(0, count), slice(count, None)):
        expected = expected + (torch.softmax(alpha * log_p[rows], dim=0) * delta[rows]).sum()
    torch.testing.assert_close(loss.total, expected)
    torch.testing.assert_close(loss.cross_entropy, -log_p[references].sum())
    weights = list(model.parameters())
    found = torch.autograd.grad(loss.total, weights, allow_unused=True, materialize_grads=True)
    wanted = torch.autograd.grad(expected, weights, allow_unused=True, materialize_grads=True)
    assert max(float(gradient.abs().max()) for gradient in wanted) > 1e-4
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other)


def test_candidates_are_the_reference_and_samples_of_the_model_each_once(data: Path) -> None:
    opened = DataDirectory.open(data)
    config = settings("train.objective=mrt", "train.mrt_samples=5").config
    learner = make_learner(opened, config, ProcessGroup(), ON_CPU)
    batches = make_batches(opened, config, ProcessGroup(), torch.device("cpu"))
    risk, vocabulary = MinimumRisk(opened, config), opened.vocabularies.target
    for rank_batch in islice(batches.stream(), 2):
        batch = rank_batch.batch
        assert batch is not None
        candidates, risks = risk.draw(learner.model, batch, seed=7)
        assert learner.model.training
        again, _ = risk.draw(learner.model, batch, seed=7)
        assert torch.equal(candidates.labels, again.labels)
        other, _ = risk.draw(learner.model, batch, seed=8)
        assert not torch.equal(candidates.labels, other.labels)
        rows = torch.split(candidates.labels, candidates.target_lengths.tolist())
        texts = [vocabulary.decode(row[:-1].tolist()) for row in rows]
        for b, m in enumerate(batch.target_lengths.tolist()):
            own = [r for r, sentence in enumerate(risks.sentences.tolist()) if sentence == b]
            found = [texts[r] for r in own]
            reference = vocabulary.decode(batch.target_inputs[b, 1:m].tolist())
            assert 1 <= len(found) <= 6
            assert len(set(found)) == len(found)
            assert found[-1] == reference
            assert risks.is_reference[own].tolist() == [*[False] * (len(own) - 1), True]
            scores = pairwise_bleu(found, CorpusMetric("bleu").tokens)[:, -1]
            assert risks.risks[own].tolist() == pytest.approx((1 - scores / 100).tolist(), abs=1e-6)


def test_training_makes_better_candidates_more_probable(data: Path, tmp_path: Path) -> None:
    first = (
        "train.max_updates=90",
        "train.validate_every=90",
        "train.learning_rate=0.01",
        "train.ema_decay=0",
    )
    train(data, tmp_path / "first", *first)
    opened = DataDirectory.open(data)
    config = settings(
        "train.objective=mrt", "train.mrt_metric=chrf", "train.ema_decay=0", "model.dropout=0"
    ).config
    learner = make_learner(opened, config, ProcessGroup(), ON_CPU)
    warm_start(learner, RunDirectory.open(tmp_path / "first"), opened)
    rank_batch = next(make_batches(opened, config, ProcessGroup(), torch.device("cpu")).stream())
    batch = rank_batch.batch
    assert batch is not None
    candidates, risks = MinimumRisk(opened, config).draw(learner.model, batch, seed=1)
    expected = []
    for updates in (range(0), range(1, 31)):
        for update in updates:
            learner.update(update, [rank_batch], 5e-3)
        with torch.no_grad():
            expected.append(float(learner.model.loss(candidates, risks=risks._replace(sharpness=1.0)).total))
    assert expected[1] < 0.8 * expected[0]


def test_a_resumed_run_equals_an_uninterrupted_one(data: Path, tmp_path: Path) -> None:
    options = ("train.max_updates=6", "train.objective=mrt", "train.mrt_samples=3", "train.validate_every=3")
    first = tmp_path / "first"
    train(data, first, "train.max_updates=1")
    train(data, tmp_path / "whole", *options, init=first)
    with start(data, tmp_path / "parts", settings(*options), init=first, machine=ON_CPU) as trainer:
        for report in trainer.run():
            if isinstance(report, UpdateReport) and report.update == 2:
                trainer.stop()
    with resume(tmp_path / "parts", machine=ON_CPU) as trainer:
        list(trainer.run())
    assert_same(tmp_path / "whole", tmp_path / "parts")


def test_it_needs_a_trained_model(data: Path, tmp_path: Path) -> None:
    for begin in (start, start_or_resume):
        with (
            pytest.raises(ConfigError, match="objective = mrt needs a trained model") as error,
            begin(data, tmp_path / "run", settings("train.objective=mrt"), machine=ON_CPU),
        ):
            pass
        assert "--init RUN_DIR" in error.value.hint
    with pytest.raises(ConfigError, match="objective = mrt needs a trained model"):
        estimate_run(data, settings("train.objective=mrt"), machine=ON_CPU)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("assignments", "message"),
    [
        (["train.mrt_samples=4"], "train.mrt_samples = 4 is incompatible with train.objective = likelihood"),
        (
            ["train.objective=mrt", "train.guided_alignment=1"],
            "train.guided_alignment = 1.0 is incompatible with train.objective = mrt",
        ),
        (
            ["train.objective=mrt", "train.loss_share=0.5"],
            "train.loss_share = 0.5 is incompatible with train.objective = mrt",
        ),
        (
            [
                "train.objective=mrt",
                "model.attention=additive",
                "model.coverage=true",
                "model.coverage_loss=1",
            ],
            "train.objective = mrt is incompatible with model.coverage_loss = 1.0",
        ),
        (
            ["train.objective=mrt", "model.preset=zaremba2014", "train.metric=perplexity"],
            "train.objective = mrt is incompatible with model.encoder_layers = 0",
        ),
    ],
)
def test_contradictory_settings_are_rejected(assignments: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        resolve(None, assignments)
