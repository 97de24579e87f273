"""Training: an iterator of reports over a run directory.

setup         `start` and `resume` make a Trainer
trainer       the loop
learner       one update: forward, backward, step
optimization  optimizer, clipping, loss scale, skipping without waiting
schedule      the learning rate as a pure function
precision     fp32, bf16, fp16
device        what there is
averaging     moving average, mean of checkpoints
validation    cross-entropy, BLEU and chrF of a model
judge         when to validate, which model is the best
stopping      limits and patience
progress      where a run stands
records       all that is written
curves        curves.svg
distributed   several processes
settings      what a run inherits and what resume may change
rehearsal     what `--dry-run` measures
"""

from nmt_cli.training.reports import (
    CheckpointReport,
    EndReport,
    Report,
    Sample,
    StartReport,
    StepReport,
    UpdateReport,
    ValidationReport,
    WarningReport,
)
from nmt_cli.training.setup import Machine, resume, start
from nmt_cli.training.trainer import Trainer

__all__ = [
    "CheckpointReport",
    "EndReport",
    "Machine",
    "Report",
    "Sample",
    "StartReport",
    "StepReport",
    "Trainer",
    "UpdateReport",
    "ValidationReport",
    "WarningReport",
    "resume",
    "start",
]
