"""The run directory: what `nmt train` writes and every other command reads.

durable       files that appear whole or not at all, and survive a power cut
lock          one process at a time
weights       the tensors of a model as safetensors, tied ones once
directory     layout, creation, opening, publishing a model
checkpoint    what resume needs, made visible by one rename
metrics_log   metrics.jsonl
scores_log    scores.jsonl
model_card    README.md
average       the mean of several models
"""

from nmt_cli.run.directory import RunDirectory, RunFacts

__all__ = ["RunDirectory", "RunFacts"]
