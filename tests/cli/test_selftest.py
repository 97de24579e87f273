"""`nmt selftest` passes on a CPU, and finds what is wrong with a device."""

from typing import Any

import pytest
import torch

from nmt_cli.model import Seq2Seq
from nmt_cli.training import selftest

from .conftest import Run


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selftest, "TRANSLATION_PRESETS", ("luong2015",))
    monkeypatch.setattr(selftest, "LANGUAGE_MODEL_PRESETS", ("zaremba2014",))
    monkeypatch.setattr(selftest, "CAPTION_PRESETS", ("xu2015",))
    monkeypatch.setattr(selftest, "SPEECH_PRESETS", ("chan2016",))
    monkeypatch.setattr(selftest, "_precisions", lambda device: [])  # measures speed with a large model


def test_everything_passes_on_a_cpu(nmt: Run) -> None:
    outcome = nmt("selftest", "--device", "cpu", "--threads", 1)
    assert outcome.code == 0, outcome.stdout
    checks = [line.split()[:2] for line in outcome.stdout.split("\n")[1:-1]]
    assert checks == [
        ["ok", "loss"],
        ["ok", "beam"],
        ["ok", "learning"],
        ["ok", "loss"],
        ["ok", "learning"],
        ["ok", "loss"],
        ["ok", "beam"],
        ["ok", "learning"],
        ["ok", "loss"],
        ["ok", "beam"],
        ["ok", "learning"],
        ["ok", "overflow"],
    ]
    assert "all 12 checks passed" in outcome.stderr


def test_wrong_results_and_errors_of_a_device_are_reported(nmt: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    loss = Seq2Seq.loss

    def wrong(model: Seq2Seq, batch: Any, **options: Any) -> Any:
        found = loss(model, batch, **options)
        if model.training and next(model.parameters()).dtype == torch.float32:
            return found._replace(total=found.total * 1.01)
        return found

    def broken(*arguments: Any, **options: Any) -> None:
        raise RuntimeError("no kernel image is available\nfor execution")

    monkeypatch.setattr(Seq2Seq, "loss", wrong)
    monkeypatch.setattr(selftest, "search", broken)
    outcome = nmt("selftest", "--device", "cpu", "--threads", 1)
    assert outcome.code == 1
    failed = [line for line in outcome.stdout.split("\n") if line.startswith("FAILED")]
    assert ["loss and gradients" in line for line in failed] == [
        True,
        False,
        True,
        True,
        False,
        True,
        False,
    ]
    assert failed[1].endswith("RuntimeError: no kernel image is available")
    assert "7 of 12 checks failed" in outcome.stderr
