"""Explanations agree with the model and with search."""

import json
import math

import pytest
import torch

from nmt_cli.config import TRANSLATION_PRESETS, ModelConfig, VocabularyConfig
from nmt_cli.data.batches import collate
from nmt_cli.errors import UsageError
from nmt_cli.explanation import Explanation, explanations_json
from nmt_cli.explanation.explainer import MAX_PIECES
from nmt_cli.explanation.explanation import attention_note
from nmt_cli.translator import Translator
from nmt_cli.vocabulary import Vocabulary
from nmt_cli.vocabulary.token_ids import UNK

from .conftest import MakeExplainer

TEXT = "ein kleiner Hund läuft."


def check_shapes(found: Explanation) -> None:
    S, T = len(found.source_pieces), len(found.target_pieces)
    assert len(found.steps) == T
    assert found.source_labels[-1] == found.target_labels[-1] == "<eos>"
    for words, pieces in ((found.source_words, S), (found.target_words, T)):
        assert [word.first for word in words] == [0, *(word.end for word in words[:-1])]
        assert words[-1].end == pieces
    assert len(found.confidence) == len(found.target_words)
    if found.attention is not None and found.word_attention is not None:
        assert [len(row) for row in found.attention] == [S] * T
        for row in (*found.attention, *found.word_attention):
            assert sum(row) == pytest.approx(1, abs=1e-5)
        assert len(found.word_attention) == len(found.target_words)
        assert {len(row) for row in found.word_attention} == {len(found.source_words)}


@pytest.mark.parametrize("preset", TRANSLATION_PRESETS)
def test_every_preset_can_be_explained(make_explainer: MakeExplainer, preset: str) -> None:
    explainer = make_explainer(preset)
    found = explainer.explain(TEXT)
    check_shapes(found)
    assert (found.attention is None) == (explainer.settings.attention == "none")
    assert ("has no attention" in found.note) == (found.attention is None)
    assert found.source == TEXT
    assert (found.system, found.forced) == (preset, False)
    assert len(found.n_best) == 3
    assert found.translation == found.n_best[0].text
    # The law: the score of search is the score of forced decoding.
    assert found.log_probability == pytest.approx(found.n_best[0].log_probability, abs=1e-4)
    assert found.score == pytest.approx(found.n_best[0].score, abs=1e-4)
    assert json.loads(explanations_json([found]))[0]["translation"] == found.translation


def test_a_given_translation_has_the_probabilities_and_attention_of_teacher_forcing(
    make_explainer: MakeExplainer,
) -> None:
    explainer = make_explainer("bahdanau2015")
    given = "a small dog runs."
    found = explainer.explain(TEXT, target=given)
    check_shapes(found)
    assert (found.forced, found.translation) == (True, given)
    vocabulary, model = explainer.vocabularies.source, explainer.model
    batch = collate(vocabulary.encode([TEXT]), vocabulary.encode([given]))
    with torch.no_grad():
        features, alpha = model.decode(model.encode(batch.source, batch.source_lengths), batch.target_inputs)
        log_p = model.project(features)[0].log_softmax(dim=-1)  # (T, V)
    assert alpha is not None
    torch.testing.assert_close(torch.tensor(found.attention), alpha[0], atol=1e-5, rtol=1e-4)
    expected = log_p.gather(1, batch.labels[:, None])[:, 0].exp().tolist()
    assert [step.probability for step in found.steps] == pytest.approx(expected, rel=1e-4)
    assert found.log_probability == pytest.approx(sum(map(math.log, expected)), abs=1e-4)
    assert math.prod(found.confidence) == pytest.approx(math.exp(found.log_probability), rel=1e-3)


def test_alternatives_are_the_most_probable_other_pieces(make_explainer: MakeExplainer) -> None:
    found = make_explainer().explain(TEXT, alternatives=4)
    for step in found.steps:
        probabilities = [other.probability for other in step.alternatives]
        assert len(probabilities) == 4
        assert probabilities == sorted(probabilities, reverse=True)
        assert step.piece not in [other.piece for other in step.alternatives]
    assert make_explainer().explain(TEXT, alternatives=0).steps[0].alternatives == ()


def test_the_beam_contains_the_path_to_the_best_translation_and_marks_what_it_kept(
    make_explainer: MakeExplainer,
) -> None:
    found = make_explainer().explain(TEXT)
    way = [[node for node in step if node.best] for step in found.beam]
    length = len(found.target_pieces)
    assert [nodes[0].piece for nodes in way[:length]] == list(found.target_pieces)
    assert all(len(nodes) == 1 for nodes in way[:length])
    assert not any(way[length:])
    assert way[length - 1][0].ended
    assert way[length - 1][0].log_probability == pytest.approx(found.log_probability, abs=1e-4)
    first = {node.piece for node in found.beam[0] if node.slot is not None or node.ended}
    assert {other.piece for other in found.steps[0].alternatives if other.kept} == first - {
        found.steps[0].piece
    }
    assert any(other.kept for other in found.steps[0].alternatives)


def test_the_coverage_penalty_is_part_of_the_score(make_explainer: MakeExplainer) -> None:
    found = make_explainer(search={"coverage_penalty": 0.3, "length_normalization": "wu"}).explain(TEXT)
    assert found.score == pytest.approx(found.n_best[0].score, abs=1e-4)


def test_greedy_search_and_sampling_can_be_explained(make_explainer: MakeExplainer) -> None:
    greedy = make_explainer(search={"beam_size": 1, "n_best": 1}).explain(TEXT)
    assert len(greedy.n_best) == 1
    sampled = make_explainer(search={"sampling": True, "n_best": 2}).explain(TEXT)
    check_shapes(sampled)
    assert sampled.log_probability == pytest.approx(sampled.n_best[0].log_probability, abs=1e-4)


@pytest.mark.parametrize("text", ["", "   ", "\t"])
def test_a_blank_sentence_is_rejected(make_explainer: MakeExplainer, text: str) -> None:
    with pytest.raises(UsageError, match="the sentence is blank"):
        make_explainer().explain(text)
    with pytest.raises(UsageError, match="the target of the sentence is blank"):
        make_explainer().explain(TEXT, target=text)


def test_a_sentence_that_is_too_long_is_rejected(make_explainer: MakeExplainer) -> None:
    long = "Hund " * (MAX_PIECES + 1)
    with pytest.raises(UsageError, match=rf"more than the {MAX_PIECES}") as caught:
        make_explainer().explain(long)
    assert "one by one" in caught.value.hint


def test_the_note_explains_the_rows_of_the_map() -> None:
    def note(preset: str, **overrides: object) -> str:
        return attention_note(ModelConfig.from_preset(preset, **overrides))

    assert "s(t-1), before" in note("bahdanau2015")
    assert "s(t), after" in note("luong2015")
    assert "last layer" in note("vaswani2017")
    assert "mean of 4 heads" in note("vaswani2017")
    assert "no attention" in note("cho2014")
    assert "hard" in note("luong2015", hard_attention=True, input_feeding=False)
    assert "local" in note("luong2015", attention_span="local-m", attention_window=2)


def test_the_explained_translation_is_the_translators(make_explainer: MakeExplainer) -> None:
    lines = ["ein Hund läuft", "a dog runs", "zwei Hunde"] * 3
    words = Vocabulary.train(lines, VocabularyConfig(kind="word", size=10))
    for vocabulary, text in ((None, TEXT), (words, "ein Walross läuft")):
        explainer = make_explainer(vocabulary=vocabulary)
        if vocabulary is words:
            with torch.no_grad():
                explainer.model.vocabulary.bias[UNK] += 5.0
        translator = Translator(
            explainer.model, explainer.vocabularies, explainer.search.changed({"n_best": 1})
        )
        found = explainer.explain(text)
        assert found.translation == translator.translate([text])[0].text
        assert "<unk>" not in found.translation
        assert ("<unk>" in found.target_pieces) == (vocabulary is words)
