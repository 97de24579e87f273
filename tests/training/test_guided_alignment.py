"""Guided attention: the loss, what it teaches, resume, and settings it contradicts."""

from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import torch

from nmt_cli import Details, Translator
from nmt_cli.config import ModelConfig, resolve
from nmt_cli.data.aligner import pack_links, unpack_links
from nmt_cli.data.batches import collate
from nmt_cli.data.directory import DataDirectory
from nmt_cli.errors import ConfigError
from nmt_cli.model import build_model
from nmt_cli.runtime.words import group_pieces
from nmt_cli.training import StartReport, UpdateReport, resume, start
from nmt_cli.training.distributed import ProcessGroup
from nmt_cli.training.setup import make_batches
from nmt_cli.vocabulary.token_ids import Ragged, offsets_of

from .conftest import ON_CPU, assert_same, make_data, settings, train

SOURCE, TARGET = [[4, 5, 6, 7], [10, 4], [9]], [[8, 9], [5, 6, 7], [4]]
LINKS = [[(0, 0), (0, 2), (1, 3)], [(2, 1)], []]  # (target, source) of each pair


def packed(links: list[list[tuple[int, int]]]) -> Ragged:
    flat = np.array([link for row in links for link in row]).reshape(-1, 2)
    return Ragged(pack_links(flat[:, 0], flat[:, 1]), offsets_of(np.array([len(row) for row in links])))


@pytest.mark.parametrize("preset", ["luong2015", "bahdanau2015", "gnmt2016", "vaswani2017"])
def test_the_loss_and_its_gradient_are_those_of_plain_loops(preset: str) -> None:
    sizes = {"embedding_size": 8, "hidden_size": 8, "heads": 2 if preset == "vaswani2017" else None}
    config = ModelConfig.from_preset(preset, **{name: size for name, size in sizes.items() if size})
    model = build_model(config, 12, 12, shared=True, generator=torch.Generator().manual_seed(1))
    model = model.double().eval()
    batch = collate(SOURCE, TARGET, packed(LINKS))
    plain = model.loss(batch)
    guided = model.loss(batch, guided_alignment=0.7)
    _, attention = model.decode(model.encode(batch.source, batch.source_lengths), batch.target_inputs)
    assert attention is not None
    expected = torch.zeros((), dtype=torch.float64)
    for b, links in enumerate(LINKS):
        for t, s in links:
            count = sum(other == t for other, _ in links)
            expected = expected - attention[b, t, s].log() / count
    torch.testing.assert_close(
        guided.total.double(), plain.total.double() + 0.7 * expected, rtol=1e-6, atol=0
    )
    assert guided.cross_entropy == plain.cross_entropy

    weights = list(model.parameters())
    extra = torch.autograd.grad(
        guided.total - plain.total, weights, allow_unused=True, materialize_grads=True
    )
    wanted = torch.autograd.grad(0.7 * expected, weights, allow_unused=True, materialize_grads=True)
    assert any(gradient.abs().max() > 1e-4 for gradient in wanted)
    for one, other in zip(extra, wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-6)


def test_without_links_or_weight_the_loss_is_the_plain_one() -> None:
    config = ModelConfig.from_preset("luong2015", embedding_size=8, hidden_size=8)
    model = build_model(config, 12, 12, shared=True, generator=torch.Generator().manual_seed(1)).eval()
    plain = model.loss(collate(SOURCE, TARGET)).total
    assert torch.equal(model.loss(collate(SOURCE, TARGET), guided_alignment=1.0).total, plain)
    assert torch.equal(model.loss(collate(SOURCE, TARGET, packed(LINKS))).total, plain)
    none = collate(SOURCE, TARGET, packed([[], [], []]))
    torch.testing.assert_close(model.loss(none, guided_alignment=1.0).total, plain)


def test_the_links_of_a_batch_are_those_of_its_rows(data: Path) -> None:
    opened, config = DataDirectory.open(data), settings("train.guided_alignment=0.5").config
    batches = make_batches(opened, config, ProcessGroup(), torch.device("cpu"))
    assert batches._links is not None
    for rank_batch in islice(batches.stream(), 5):
        batch = rank_batch.batch
        assert batch is not None
        assert batch.links is not None
        assert batch.link_weights is not None
        rows = batches.plan(1)[rank_batch.index]
        T, S = batch.target_inputs.shape[1], batch.source.shape[1]
        found = {(link // (T * S), link // S % T, link % S) for link in batch.links.tolist()}
        wanted = set()
        for b, row in enumerate(rows.tolist()):
            t, s = unpack_links(batches._links.take(np.array([row])).values)
            wanted |= {(b, *link) for link in zip(t.tolist(), s.tolist(), strict=True)}
        assert found == wanted
        linked = {(b, t) for b, t, _ in found}
        assert float(batch.link_weights.sum()) == pytest.approx(len(linked))


def test_guided_attention_follows_the_alignment(data: Path, tmp_path: Path) -> None:
    """The target is the source in upper case, so every word aligns with the one at its position."""
    options = (
        "train.max_updates=100",
        "train.validate_every=100",
        "train.learning_rate=0.01",
        "train.ema_decay=0",
        "model.dropout=0",
    )
    shares = {}
    texts = ["ba de fi", "do du", "fa be bo da", "di fu ba do"]
    for weight in ("0", "1"):
        out = tmp_path / weight
        train(data, out, *options, f"train.guided_alignment={weight}")
        translator = Translator.load(out, device="cpu")
        scored = translator.score(texts, [text.upper() for text in texts], details=Details(alignment=True))
        right = sum(i == j for one in scored for i, j in one.alignment or ())
        shares[weight] = right / sum(len(text.split()) for text in texts)
    assert shares["1"] == 1.0
    assert shares["0"] < 0.9


@pytest.fixture(scope="session")
def aligned_backwards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data with given alignments, of the first word with the last one and so on."""
    return make_data(tmp_path_factory.mktemp("backwards"), link=lambda j, count: count - 1 - j)


def test_attention_follows_given_alignments_even_wrong_ones(aligned_backwards: Path, tmp_path: Path) -> None:
    options = ("train.learning_rate=0.01", "train.ema_decay=0", "model.dropout=0", "train.guided_alignment=1")
    limits = ("train.max_updates=100", "train.validate_every=100")
    reports = train(aligned_backwards, tmp_path / "run", *options, *limits)
    assert [each.alignments for each in reports if isinstance(each, StartReport)] == ["given"]
    translator = Translator.load(tmp_path / "run", device="cpu")
    texts = ["ba de fi", "do du", "fa be bo da", "di fu ba do"]
    scored = translator.score(texts, [text.upper() for text in texts], details=Details(alignment=True))
    for text, one in zip(texts, scored, strict=True):
        last = len(text.split()) - 1
        assert sorted(one.alignment or ()) == [(i, last - i) for i in range(last + 1)]


@pytest.mark.parametrize("reverse", [False, True])
def test_batches_have_the_given_links_in_every_process(aligned_backwards: Path, reverse: bool) -> None:
    opened = DataDirectory.open(aligned_backwards)
    config = settings("train.guided_alignment=0.5", f"model.reverse_target={reverse}").config
    for rank in range(2):  # these processes are not connected, and need not be
        batches = make_batches(opened, config, ProcessGroup(rank, 2), torch.device("cpu"))
        for rank_batch in islice(batches.stream(), 5):
            batch = rank_batch.batch
            assert batch is not None
            assert batch.links is not None
            rows = batches.plan(1)[rank_batch.index][rank::2]
            sides = [opened.train.gather(rows, side) for side in ("source", "target")]
            T, S = batch.target_inputs.shape[1], batch.source.shape[1]
            found = {(link // (T * S), link // S % T, link % S) for link in batch.links.tolist()}
            wanted = set()
            for b in range(len(rows)):
                pieces = [
                    [vocabulary.pieces[token] for token in ids[b]]
                    for vocabulary, ids in zip(
                        (opened.vocabularies.source, opened.vocabularies.target), sides, strict=True
                    )
                ]
                x, y = map(group_pieces, pieces)
                tokens = [(t, s) for j in range(len(y)) for t in y[j] for s in x[len(x) - 1 - j]]
                last = len(pieces[1]) - 1
                wanted |= {(b, last - t if reverse else t, s) for t, s in tokens}
            assert found == wanted


@pytest.mark.parametrize("given", [False, True])
def test_a_resumed_run_equals_an_uninterrupted_one(
    data: Path, aligned_backwards: Path, tmp_path: Path, given: bool
) -> None:
    data = aligned_backwards if given else data
    options = ("train.max_updates=8", "train.guided_alignment=0.5", "train.validate_every=4")
    train(data, tmp_path / "whole", *options)
    with start(data, tmp_path / "parts", settings(*options), machine=ON_CPU) as trainer:
        for report in trainer.run():
            if isinstance(report, UpdateReport) and report.update == 3:
                trainer.stop()
    with resume(tmp_path / "parts", machine=ON_CPU) as trainer:
        list(trainer.run())
    assert_same(tmp_path / "whole", tmp_path / "parts")


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("train.subword_sampling=0.1", "incompatible with train.subword_sampling = 0.1"),
        ("model.attention=uniform", "incompatible with model.attention = uniform"),
        (
            "model.attention_span=local-m model.attention_window=5",
            "incompatible with model.attention_span = local-m",
        ),
        ("model.hard_attention=true", "incompatible with model.hard_attention = true"),
        ("model.preset=sutskever2014", "incompatible with model.attention = none"),
    ],
)
def test_contradictory_settings_are_rejected(setting: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        resolve(None, ["train.guided_alignment=0.5", *setting.split()])
