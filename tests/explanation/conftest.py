"""Explainers with tiny untrained models, and a hand-made explanation."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from nmt_cli.config import ModelConfig, SearchConfig, VocabularyConfig
from nmt_cli.explanation import Alternative, BeamNode, Explanation, Prediction, RankedTranslation, Word
from nmt_cli.explanation.explainer import Explainer
from nmt_cli.model import build_model
from nmt_cli.vocabulary import Vocabularies, Vocabulary

LINES = [
    "ein kleiner Hund läuft.",
    "zwei Hunde laufen schnell.",
    "a small dog runs.",
    "two (2) dogs run fast.",
] * 4


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def vocabulary() -> Vocabulary:
    return Vocabulary.train(LINES, VocabularyConfig(size=320))


MakeExplainer = Callable[..., Explainer]


@pytest.fixture
def make_explainer(vocabulary: Vocabulary) -> MakeExplainer:
    """An explainer with an untrained model of a preset."""
    usual = vocabulary

    def make(
        preset: str = "luong2015",
        search: dict[str, Any] | None = None,
        vocabulary: Vocabulary | None = None,
        **overrides: Any,
    ) -> Explainer:
        both = vocabulary or usual
        config = ModelConfig.from_preset(preset, **{"embedding_size": 6, "hidden_size": 8, **overrides})
        size = len(both)
        generator = torch.Generator().manual_seed(3)
        model = build_model(config, size, size, shared=True, generator=generator).eval()
        chosen = SearchConfig(**{"beam_size": 3, "n_best": 3, "max_length": 12, **(search or {})})
        return Explainer(model, Vocabularies(both, both), chosen, config)

    return make


def explanation(source: list[str], target: list[str], *, attention: bool = True) -> Explanation:
    """Words of one piece each, and weights that are highest on the diagonal."""
    rows = []
    for t in range(len(target)):
        row = [1.0 / (1 + 4 * abs(t - s)) for s in range(len(source))]
        rows.append(tuple(weight / sum(row) for weight in row))
    matrix = tuple(rows) if attention else None
    words = [tuple(Word(text, at, at + 1) for at, text in enumerate(side)) for side in (source, target)]
    p = tuple((t + 1) / len(target) for t in range(len(target)))
    return Explanation(
        system="luong2015",
        source_lang="de",
        target_lang="en",
        note="A note.",
        source=" ".join(source[:-1]),
        translation=" ".join(target[:-1]),
        forced=False,
        score=-0.5,
        log_probability=-2.5,
        source_pieces=tuple(source),
        target_pieces=tuple(target),
        source_words=words[0],
        target_words=words[1],
        confidence=p,
        attention=matrix,
        word_attention=matrix,
        steps=tuple(
            Prediction(piece, p[t], (Alternative("other", 0.05, True), Alternative("more", 0.01, False)))
            for t, piece in enumerate(target)
        ),
        n_best=(RankedTranslation("one", -0.5, -2.5), RankedTranslation("two", -0.7, -3.5)),
        beam=(
            (BeamNode("one", 0, 0.9, -0.1, 0, False, True),),
            (BeamNode("<eos>", 0, 0.8, -0.3, None, True, True),),
        ),
    )
