"""Checkpoints of a run whose files were changed together with their hashes."""

import hashlib
import json
from pathlib import Path

import pytest
import torch

from nmt_cli.errors import DirectoryError
from nmt_cli.run.checkpoint import Checkpoint, Checkpoints
from nmt_cli.run.weights import tensor_bytes


@pytest.mark.parametrize(
    "other",
    [
        {"b": torch.zeros(2)},
        {"a": torch.zeros(3)},
        {"a": torch.zeros(2, dtype=torch.int32)},
        {"a": torch.zeros(2), "b": torch.zeros(1)},
        {},
    ],
)
def test_kept_weights_of_another_model_are_refused(tmp_path: Path, other: dict[str, torch.Tensor]) -> None:
    checkpoints = Checkpoints(tmp_path)
    for update in (1, 2):
        checkpoints.commit(Checkpoint(update, {}, {}, {"a": torch.ones(2)}), keep=lambda update: True)
    assert set(checkpoints.load_weights(1)) == {"a"}
    content, name = tensor_bytes(other), "checkpoints/update-00000001.safetensors"
    (tmp_path / name).write_bytes(content)
    current = json.loads((tmp_path / "state" / "current.json").read_text())
    current["files"][name] = {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    (tmp_path / "state" / "current.json").write_text(json.dumps(current))
    with pytest.raises(DirectoryError, match="other weights"):
        checkpoints.load_weights(1)
