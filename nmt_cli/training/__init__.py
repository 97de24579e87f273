"""Training: turns a data directory into a run directory and yields reports on the way.

One batch, from plan to disk:

1. planned    data/batch_plan.py: sentences of similar length, a pure function of (seed, epoch)
2. padded     data/batches.py: the slice of this process, prefetched in a thread
3. forwarded  learner.py, `Learner.update`: model → loss (model/seq2seq.py) → backward, for each accumulated batch
4. stepped    optimization.py: loss scale, clipping, optimizer, moving average; schedule.py has the learning rate
5. reported   trainer.py, `Trainer._loop`: yields an UpdateReport, and a StepReport every train.log_every updates
6. written    run_writer.py: metrics, checkpoints, the model of the run

Read in this order:

setup         `start`, `resume`, `start_or_resume`: from directories to a Trainer; `train`: a whole run in one call
settings      settings inherited from the data or from --init, and changed on resume
trainer       the loop
learner       one update: forward, backward, step
minimum_risk  samples of the model and their risks, for minimum risk training
optimization  optimizer, clipping, loss scale, precision, moving average
schedule      learning rate, scheduled sampling, when to stop
validation    cross-entropy, BLEU and chrF; when to validate, and which model becomes the model of the run
run_writer    everything that is written, and when
reports       what the trainer yields, and the state of a run: position in the data, validation history, time
distributed   several processes
dry_run       `--dry-run`: size, memory and speed
selftest      `nmt selftest`: whether all of this works on a device
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
from nmt_cli.training.setup import Machine, TrainRequest, resume, start, start_or_resume, train
from nmt_cli.training.trainer import Trainer

__all__ = [
    "CheckpointReport",
    "EndReport",
    "Machine",
    "Report",
    "Sample",
    "StartReport",
    "StepReport",
    "TrainRequest",
    "Trainer",
    "UpdateReport",
    "ValidationReport",
    "WarningReport",
    "resume",
    "start",
    "start_or_resume",
    "train",
]
