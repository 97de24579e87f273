"""The page `docs/models.md` describes the code."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nmt_cli.config.model import ModelConfig
from nmt_cli.config.presets import TRANSLATION_PRESETS
from nmt_cli.data.batches import Batch
from nmt_cli.model import Seq2Seq
from nmt_cli.model.scores import SCORES

PAGE = (Path(__file__).parents[2] / "docs" / "models.md").read_text(encoding="utf-8")
Build = Callable[..., Seq2Seq]
Pad = Callable[..., Batch]
Pairs = list[tuple[list[int], list[int]]]


@pytest.mark.parametrize("overrides", [{}, {"heads": 2}, {"hard_attention": True}, {"query": "before"}])
def test_the_example_of_a_new_score_function_works(
    overrides: dict[str, Any], build: Build, pad: Pad, pairs: Pairs, monkeypatch: pytest.MonkeyPatch
) -> None:
    section = PAGE.partition("### Adding a score function")[2]
    [code] = re.findall(r"```python\n(.*?)```", section.partition("\n## ")[0], re.DOTALL)
    assert sum(bool(line.strip()) for line in code.splitlines()) <= 20
    # So that the example's own line is undone in the end.
    monkeypatch.setitem(SCORES, "cosine", SCORES["dot"])
    exec(code, {"__name__": "example"})
    settings = ModelConfig(embedding_size=6, hidden_size=8, input_feeding=False, readout="tanh", **overrides)
    model = build(settings.model_copy(update={"attention": "cosine"}), training=True)
    model.loss(pad(pairs)).total.backward()  # type: ignore[no-untyped-call]
    learned = [p for name, p in model.named_parameters() if name.endswith(".g")]
    assert len(learned) == 1
    assert learned[0].grad is not None
    assert float(learned[0].grad) != 0


def test_every_preset_and_every_score_is_documented() -> None:
    assert re.findall(r"^### (\w+\d{4})$", PAGE, re.MULTILINE) == list(TRANSLATION_PRESETS)
    for score in SCORES:
        assert f"`{score}`" in PAGE


def test_every_score_can_be_chosen_by_its_name() -> None:
    choices = ModelConfig.model_fields["attention"].annotation
    assert set(SCORES) | {"none"} == set(choices.__args__)  # type: ignore[union-attr]
