"""The run directory: what `nmt train` writes and every other command reads.

directory     layout, creation, opening, publishing a model; the lock: one training process at a time
facts         run.json, config.json, and the shapes of the tensors in a file, without torch
checkpoint    what resume needs, made current by one rename
weights       the tensors of a model by name; loading and averaging them
logs          metrics.jsonl and scores.jsonl; the metrics as TensorBoard event files
model_card    README.md
average       the average of several models: `nmt average`
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nmt_cli.run.directory import RunDirectory

__all__ = ["RunDirectory"]


def __getattr__(name: str) -> Any:
    """Import torch only if a run is opened: `nmt info` reads its logs without it."""
    if name in __all__:
        from nmt_cli.run import directory

        return getattr(directory, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
