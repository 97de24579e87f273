"""Search on an accelerator, simulated by the meta device."""

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from nmt_cli.config.search import SearchConfig
from nmt_cli.search import beam
from tests.search.toy import Toy


class OneDevice(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Checks that all operands are on `meta`, which cannot be read: any synchronization would fail."""

    operations = 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.operations += 1
        flat, _ = torch.utils._pytree.tree_flatten((args, kwargs or {}))
        devices = {x.device.type for x in flat if isinstance(x, Tensor) and x.dim() > 0}
        assert len(devices) <= 1, f"{function} mixes {devices}"
        return function(*args, **(kwargs or {}))


@pytest.mark.parametrize(
    "settings",
    [
        {"beam_size": 1},
        {"beam_size": 4, "no_repeat_ngram": 2, "coverage_penalty": 0.1},
        {"beam_size": 4, "stopping": "exact"},
        {"beam_size": 4, "stopping": "first"},
        {"sampling": True, "n_best": 3, "top_p": 0.9},
    ],
    ids=str,
)
def test_no_step_synchronizes_with_the_device_or_leaves_it(
    settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[Any] = []
    monkeypatch.setattr(beam, "_hypotheses", lambda trace, *_: found.append(trace))
    toy = Toy(1, lengths=(3, 4, 2), vocabulary=200)
    toy.logits, toy.attention = toy.logits.to("meta"), toy.attention.to("meta")
    toy.device = torch.device("meta")
    counts = []
    for length in (4, 5):
        with OneDevice() as mode:  # type: ignore[no-untyped-call]
            config = SearchConfig(max_length=length, **settings)
            toy.search(config, banned=(0, 1), prefix=[[5, 6], [], [7]], attention=True)
        counts.append(mode.operations)
    assert [len(trace.steps) for trace in found] == [5, 6]
    assert counts[1] - counts[0] < 120  # operations of one more step
