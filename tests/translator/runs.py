"""Run directories with tiny untrained models."""

import json
from collections.abc import Sequence
from pathlib import Path

import torch

from nmt_cli.config import Config, Resolved, resolve
from nmt_cli.files import manifest
from nmt_cli.model import build_model
from nmt_cli.run.weights import tensor_bytes, weights_of
from nmt_cli.vocabulary import Vocabularies
from nmt_cli.vocabulary.token_ids import EOS

WORDS = [consonant + vowel for consonant in "bdfgklmnprst" for vowel in "aeiou"]
LINES = [" ".join(WORDS[(7 * i + j * j) % len(WORDS)] for j in range(1 + i % 9)) + "." for i in range(200)]

SMALL = (
    "model.embedding_size=16",
    "model.hidden_size=24",
    "model.encoder_layers=1",
    "model.decoder_layers=1",
    "vocabulary.size=330",
    "search.max_length=30",
    "search.max_length_ratio=1.0",
    "search.max_length_constant=5",
)


def make_run(
    folder: Path,
    settings: Sequence[str] = (),
    *,
    seed: int = 1,
    lines: Sequence[str] = LINES,
    prefers_bytes: bool = True,
) -> Path:
    """A run directory as `nmt train` writes it."""
    resolved = resolve(None, [*SMALL, *settings])
    folder.mkdir(parents=True)
    vocabularies = Vocabularies.train(lambda sides: list(lines) * len(sides), resolved.config.vocabulary)
    vocabularies.save(folder)
    (folder / "config.json").write_text(resolved.to_json(), "utf-8")
    facts = {"source_lang": "xx", "target_lang": "yy", "data": "data", "data_sha256": "0" * 64}
    (folder / "run.json").write_text(json.dumps(facts), "utf-8")
    (folder / "model.safetensors").write_bytes(_weights(resolved, vocabularies, seed, prefers_bytes))
    files = [path.name for path in folder.iterdir()]
    manifest.write_manifest(folder, "run", files)
    return folder


def _weights(resolved: Resolved, vocabularies: Vocabularies, seed: int, prefers_bytes: bool) -> bytes:
    config: Config = resolved.config
    generator = torch.Generator().manual_seed(seed)
    sizes = len(vocabularies.source), len(vocabularies.target)
    model = build_model(config.model, *sizes, shared=vocabularies.joint, generator=generator)
    with torch.no_grad():
        for name, parameter in model.named_parameters():  # far from uniform, as after training
            parameter.mul_(1.5 if name.endswith("words.weight") else 3.0)
        model.vocabulary.bias[EOS] += 5.0 if prefers_bytes else 2.0
        # Bytes can break lines and UTF-8, so this model prefers them.
        model.vocabulary.bias[torch.from_numpy(vocabularies.target.is_byte)] += 2.0 if prefers_bytes else -9.0
    return tensor_bytes(weights_of(model))
