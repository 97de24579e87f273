"""Another layout of the weights in memory changes no result."""

import pytest
import torch

from nmt_cli.config import ModelConfig
from nmt_cli.config.presets import PRESETS
from nmt_cli.model import build_model
from nmt_cli.translator.arranging import arrange


@pytest.mark.parametrize("preset", PRESETS)
def test_an_arranged_model_computes_the_same(preset: str) -> None:
    config = ModelConfig.from_preset(preset, embedding_size=12, hidden_size=16)
    model = build_model(config, 40, 40, shared=True, generator=torch.Generator().manual_seed(1)).eval()
    source, lengths = torch.tensor([[7, 8, 9, 3], [5, 6, 3, 0]]), torch.tensor([4, 3])
    words = torch.tensor([[2, 9, 4], [2, 7, 5]])  # (B, T)

    def logits() -> tuple[torch.Tensor, torch.Tensor]:
        """Of teacher forcing, and step by step: (B, T, V) each."""
        memory = model.encode(source, lengths)
        state, steps = model.start(memory, 1), []
        for column in torch.split(words, 1, dim=1):
            features, state, _ = model.step(column, state, memory)
            steps.append(model.project(features))
        return model.project(model.decode(memory, words)[0]), torch.cat(steps, dim=1)

    with torch.inference_mode():
        before = logits()
        arrange(model)
        assert model.vocabulary.weight.stride() == (1, 40)
        for a, b in zip(before, logits(), strict=True):
            torch.testing.assert_close(a, b)
