"""Self-attention maps: one per layer, rows that sum to 1, no attention to later positions."""

import json
from typing import Any

import pytest

from nmt_cli.config import TRANSLATION_PRESETS
from nmt_cli.explanation import explanations_json
from nmt_cli.explanation.self_attention import START, has_self_attention

from .conftest import MakeExplainer

TEXT = "ein kleiner Hund läuft."


@pytest.mark.parametrize(
    ("preset", "overrides", "layers"),
    [
        ("cheng2016", {}, ["encoder, layer 1, forwards", "decoder, layer 1"]),
        (
            "cheng2016",
            {"intra_attention": "encoder", "bidirectional": "all"},
            ["encoder, layer 1, forwards", "encoder, layer 1, backwards"],
        ),
        (
            "vaswani2017",
            {"encoder_layers": 1, "decoder_layers": 2},
            ["encoder, layer 1", "decoder, layer 1", "decoder, layer 2"],
        ),
    ],
)
def test_each_layer_has_a_map_whose_rows_sum_to_1(
    make_explainer: MakeExplainer, preset: str, overrides: dict[str, Any], layers: list[str]
) -> None:
    found = make_explainer(preset, **overrides).explain(TEXT, self_attention=True)
    assert [own.layer for own in found.self_attention] == layers
    for own in found.self_attention:
        side = found.source_pieces if own.layer.startswith("encoder") else found.target_pieces
        assert own.rows == (side[::-1] if own.layer.endswith("backwards") else side)
        assert len(own.columns) == len(own.rows) == len(own.weights)
        for row in own.weights:
            assert len(row) == len(own.columns)
            assert sum(row) == pytest.approx(1, abs=1e-5)
        if own.columns[0] == START:
            assert own.columns[1:] == own.rows[:-1]
            # No attention to later positions.
            assert all(not any(row[at + 1 :]) for at, row in enumerate(own.weights))
    assert json.loads(explanations_json([found]))[0]["self_attention"][0]["layer"] == layers[0]


def test_labels_follow_the_order_in_which_the_source_is_read(make_explainer: MakeExplainer) -> None:
    found = make_explainer("cheng2016", reverse_source=True).explain(TEXT, self_attention=True)
    assert found.self_attention[0].rows == (*found.source_pieces[-2::-1], "<eos>")


def test_self_attention_is_included_only_on_request(make_explainer: MakeExplainer) -> None:
    assert make_explainer("cheng2016").explain(TEXT).self_attention == ()


def test_two_presets_have_self_attention(make_explainer: MakeExplainer) -> None:
    having = [name for name in TRANSLATION_PRESETS if has_self_attention(make_explainer(name).settings)]
    assert having == ["cheng2016", "vaswani2017"]
