"""Options of the commands around training: `nmt preprocess`, `demo-data`, `train`, `average`, `recipe`, `info`."""

from pathlib import Path
from typing import Annotated, Literal

from nmt_cli.cli.options.shared import argument, corpora, inputs, machine, messages, output, run
from nmt_cli.config.defaults import DEMO_PAIRS, DEMO_RECORDINGS, DEMO_SCENES, PROCESS_TIMEOUT


def _complete_recipe(incomplete: str) -> list[str]:
    from nmt_cli.recipe import ladder_names, recipe_names

    return [name for name in sorted([*recipe_names(), *ladder_names()]) if name.startswith(incomplete)]


# nmt preprocess
SourceLang = Annotated[
    str | None,
    corpora(
        "--source-lang -s LANG",
        "Source language, such as de.",
        show_default="none: monolingual text, for a language model",
    ),
]
TargetLang = Annotated[
    str,
    corpora("--target-lang -t LANG", "Target language, or the language of monolingual text, such as en."),
]
Images = Annotated[
    list[Path] | None,
    corpora(
        "--images DIR",
        "Read captioned images from this folder, or features from a .npy file; repeatable.",
    ),
]
Audio = Annotated[
    list[Path] | None,
    corpora("--audio DIR", "Read recordings (WAV) with transcripts from this folder; repeatable."),
]
Train = Annotated[list[str], corpora("--train SPEC", "Training corpus; repeatable.")]
Valid = Annotated[
    list[str] | None,
    corpora("--valid SPEC", "Validation corpus; held out from the training data if not given."),
]
Test = Annotated[
    list[str] | None, corpora("--test SPEC", "Test corpus; held out from the training data if not given.")
]
GivenAlignments = Annotated[
    list[Path] | None,
    corpora(
        "--alignments FILE",
        "Word alignments of the training corpus in Pharaoh format (fast_align, eflomal, `nmt align`), for guided "
        "attention; one for each --train.",
    ),
]
Vocabulary = Annotated[
    Path | None, corpora("--vocabulary DIR", "Reuse the sentencepiece models in this directory.")
]
KeepAll = Annotated[
    bool, corpora("--keep-all", "Turn off all filters; --set data.NAME=true turns one on again.")
]
DataOut = Annotated[Path, output("--out -o DIR", "Data directory to create.")]
Dropped = Annotated[
    Path | None, output("--dropped FILE", "List every dropped pair with its line number and reason.")
]
ShowDropped = Annotated[bool, messages("--verbose -v", "Show examples of dropped pairs.")]

# nmt demo-data
DemoOut = Annotated[Path, output("--out DIR", "Directory to create.")]
DemoKind = Annotated[
    Literal["sentences", "tenses", "shapes", "scenes", "numbers", "tones"],
    corpora(
        "--kind sentences|tenses|shapes|scenes|numbers|tones",
        "English–German sentences, English sentences labeled with their tense, rendered images with captions (two "
        "shapes each, or more varied scenes), or numbers, spoken or in tones.",
    ),
]
DemoPairs = Annotated[
    int | None,
    corpora(
        "--size N",
        "Number of training pairs.",
        show_default=f"{DEMO_PAIRS}; {DEMO_SCENES} scenes; {DEMO_RECORDINGS} recordings",
    ),
]
DemoClauses = Annotated[
    int | None,
    corpora(
        "--clauses N",
        "Chains of 1 to N short clauses from a small lexicon, to study sentence length.",
        show_default="the whole grammar",
    ),
]
DemoSeed = Annotated[int, corpora("--seed N", "Random seed.")]
DemoOverwrite = Annotated[bool, output("--overwrite", "Replace an existing demo corpus.")]

# nmt recipe
RecipeName = Annotated[
    str | None,
    argument("NAME", "Recipe to run; lists all recipes if not given.", autocompletion=_complete_recipe),
]
LocalData = Annotated[Path | None, inputs("--data DIR", "Use local files instead of downloading the corpus.")]
Smoke = Annotated[bool, inputs("--smoke", "Run every step within a minute, on a few hundred sentence pairs.")]
Monolingual = Annotated[
    list[str] | None,
    inputs(
        "--monolingual SPEC",
        "Text in the target language for back-translation, such as a file or x.tsv#2; repeatable.",
    ),
]
SampleBackTranslations = Annotated[
    bool, inputs("--sample", "For back-translation, sample instead of using beam search.")
]
RecipeOut = Annotated[
    Path | None,
    output(
        "--out -o DIR",
        "Directory for all results.",
        show_default="runs/NAME, plus -back-translation or -smoke",
    ),
]
RecipeOverwrite = Annotated[
    bool, output("--overwrite", "Replace data and models made with different settings.")
]
Processes = Annotated[int, machine("--processes N", "Train with torchrun, one process per GPU.", min=1)]
ShowCommands = Annotated[bool, messages("--dry-run", "Show the commands without running them.")]


# nmt train
Data = Annotated[Path | None, argument("DATA_DIR", "Data directory written by `nmt preprocess`.")]
ConfigArgument = Annotated[Path | None, argument("CONFIG", "TOML file with settings.")]
Out = Annotated[Path | None, output("--out -o RUN_DIR", "Run directory to create.")]
Resume = Annotated[Path | None, run("--resume RUN_DIR", "Resume this run exactly where it stopped.")]
AutoResume = Annotated[
    bool,
    run(
        "--auto-resume",
        "Resume the run in --out if there is one, otherwise start it: for schedulers and torchrun.",
    ),
]
Init = Annotated[Path | None, run("--init RUN_DIR", "Start from the weights of this run.")]
TimeLimit = Annotated[
    str | None,
    run("--time-limit TIME", "Stop after this time and keep the best model: 45m, 1h30m or 90s."),
]
ProcessTimeout = Annotated[
    str | None,
    run(
        "--process-timeout TIME",
        "With torchrun: stop if another process has not responded for this long.",
        show_default=f"{PROCESS_TIMEOUT / 60:.0f}m",
    ),
]
Compile = Annotated[bool, run("--compile", "Use torch.compile: takes minutes to start, meant for GPUs.")]
TensorBoard = Annotated[
    bool, run("--tensorboard", "Also write metrics for TensorBoard, to RUN_DIR/tensorboard.")
]
DryRun = Annotated[bool, run("--dry-run", "Show changed settings, size, memory and speed without training.")]
On = Annotated[
    str | None,
    run("--on HARDWARE", "With --dry-run: also estimate time and memory on other hardware, such as 8×A100."),
]

# nmt average
AveragedRuns = Annotated[
    list[Path], argument("RUN_DIR...", "Runs with the same model and vocabulary, or a single run.")
]
AverageOut = Annotated[Path, output("--out -o RUN_DIR", "Run directory to create.")]
Last = Annotated[
    int | None,
    run("--last N", "Average only the last N checkpoints of a single run.", min=2),
]

# nmt info
InfoRuns = Annotated[
    list[Path] | None,
    argument("DIR...", "Run directories, or directories that contain runs; this machine if not given."),
]
InfoJson = Annotated[bool, output("--json", "Print everything as JSON.")]
