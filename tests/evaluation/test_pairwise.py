"""Sentence-level scores of all pairs of texts are those of sacreBLEU."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU, CHRF  # type: ignore[attr-defined]

from nmt_cli.metrics.corpus_metric import CorpusMetric
from nmt_cli.metrics.pairwise import overlap, pairwise_bleu, pairwise_chrf

WORDS = st.sampled_from(["a", "b", "the", "The", "dog,", "läuft.", "1,000", "👋🏽", "x"])
TEXTS = st.lists(st.lists(WORDS, max_size=9).map(" ".join) | st.text(max_size=12), min_size=1, max_size=5)


@given(TEXTS)
def test_the_scores_of_all_pairs_are_the_sentence_scores_of_sacrebleu(texts: list[str]) -> None:
    bleu, chrf = BLEU(effective_order=True), CHRF()
    found = pairwise_bleu(texts, CorpusMetric("bleu").tokens), pairwise_chrf(texts)
    for i, hypothesis in enumerate(texts):
        for j, reference in enumerate(texts):
            assert found[0][i, j] == pytest.approx(bleu.sentence_score(hypothesis, [reference]).score)
            assert found[1][i, j] == pytest.approx(chrf.sentence_score(hypothesis, [reference]).score)


@given(TEXTS, st.data())
def test_references_can_be_the_last_texts_only(texts: list[str], data: st.DataObject) -> None:
    count = data.draw(st.integers(1, len(texts)))
    tokens = CorpusMetric("bleu").tokens
    assert np.array_equal(pairwise_chrf(texts, references=count), pairwise_chrf(texts)[:, -count:])
    assert np.array_equal(
        pairwise_bleu(texts, tokens, references=count), pairwise_bleu(texts, tokens)[:, -count:]
    )


def test_common_ngrams_count_as_often_as_in_both_texts() -> None:
    counts, matches = overlap([np.array([1, 1, 1, 2]), np.array([1, 1]), np.array([2, 1])], 2)
    assert counts.tolist() == [[4, 2, 2], [3, 1, 1]]
    assert matches[0].tolist() == [[4, 2, 2], [2, 2, 1], [2, 1, 2]]
    assert matches[1].tolist() == [[3, 1, 0], [1, 1, 0], [0, 0, 1]]
