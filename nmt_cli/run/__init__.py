"""The run directory: what `nmt train` writes and every other command reads.

directory     layout, creation, opening, publishing a model; the lock: one training process at a time
checkpoint    what resume needs, made current by one rename
weights       the tensors of a model by name; loading and averaging them
logs          metrics.jsonl and scores.jsonl
model_card    README.md
average       the average of several models: `nmt average`
"""

from nmt_cli.run.directory import RunDirectory, RunFacts

__all__ = ["RunDirectory", "RunFacts"]
