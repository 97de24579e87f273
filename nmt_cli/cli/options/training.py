"""Options of `nmt train` and `nmt average`."""

from pathlib import Path
from typing import Annotated

from nmt_cli.cli.options.panels import argument, output, run

# nmt train
Data = Annotated[Path | None, argument("DATA_DIR", "Data directory written by `nmt preprocess`.")]
ConfigArgument = Annotated[Path | None, argument("CONFIG", "TOML file with settings.")]
Out = Annotated[Path | None, output("--out -o RUN_DIR", "Run directory to create.")]
Resume = Annotated[Path | None, run("--resume RUN_DIR", "Resume this run exactly where it stopped.")]
Init = Annotated[Path | None, run("--init RUN_DIR", "Start from the weights of this run.")]
TimeLimit = Annotated[
    str | None,
    run("--time-limit TIME", "Stop after this time and keep the best model: 45m, 1h30m or 90s."),
]
Compile = Annotated[bool, run("--compile", "Use torch.compile: takes minutes to start, meant for GPUs.")]
DryRun = Annotated[bool, run("--dry-run", "Show settings, model size, memory and speed without training.")]

# nmt average
AveragedRuns = Annotated[
    list[Path], argument("RUN_DIR...", "Runs with the same model and vocabulary, or a single run.")
]
AverageOut = Annotated[Path, output("--out -o RUN_DIR", "Run directory to create.")]
Last = Annotated[
    int | None,
    run("--last N", "Average only the last N checkpoints of a single run.", min=2),
]
