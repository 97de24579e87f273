"""Options of `nmt evaluate`, `nmt align` and `nmt align-eval`."""

from pathlib import Path
from typing import Annotated, Literal

from nmt_cli.cli.options.shared import (
    alignment_format,
    argument,
    comparison,
    inputs,
    machine,
    output,
    scores,
    test_set,
)
from nmt_cli.config.defaults import DEFAULT_METRICS, MAX_THREADS, SPEECH_METRICS

# nmt evaluate
Systems = Annotated[
    list[Path] | None,
    argument("SYSTEM...", "Files of hypotheses (- is standard input) or run directories."),
]
References = Annotated[
    list[Path] | None,
    test_set("--reference -r FILE", "Reference; repeatable.", show_default="the test set of the run"),
]
Source = Annotated[
    Path | None,
    test_set(
        "--source -s FILE",
        "Source text, which runs translate; for captioning and speech models, a file of images with captions or "
        "recordings with transcripts.",
        show_default="the test set of the run",
    ),
]
TargetLang = Annotated[
    str | None,
    test_set(
        "--target-lang -t LANG",
        "Target language, which determines the tokenizer.",
        show_default="from file names or the run",
    ),
]
Train = Annotated[
    list[Path] | None,
    test_set(
        "--train FILE",
        "Target side of the training data, for the recall of rare words and references seen in training.",
        show_default="that of the run",
    ),
]
Metrics = Annotated[
    str | None,
    scores(
        "--metrics -m LIST",
        "Comma-separated: bleu, chrf, chrf++, ter, accuracy (of labels), wer, cer. Systems are ranked by the first.",
        show_default=f"{','.join(DEFAULT_METRICS)}; for speech {','.join(SPEECH_METRICS)}",
    ),
]
Tokenize = Annotated[
    str | None,
    scores(
        "--tokenize NAME",
        "BLEU tokenizer, such as 13a, intl, zh, ja-mecab, ko-mecab or char.",
        show_default="by target language",
    ),
]
Lowercase = Annotated[bool, scores("--lowercase", "Ignore case.")]
Baseline = Annotated[
    str | None,
    comparison("--baseline -b SYSTEM", "System to compare the others with.", show_default="the first"),
]
SignificanceTest = Annotated[
    Literal["bootstrap", "randomization"],
    comparison("--test NAME", "Significance test: paired bootstrap, or approximate randomization."),
]
Samples = Annotated[
    int,
    comparison("--samples N", "Bootstrap samples; 0 for no intervals and no significance tests.", min=0),
]
Trials = Annotated[int, comparison("--trials N", "Trials of the approximate randomization.", min=1)]
Seed = Annotated[int, comparison("--seed N", "Random seed.", min=0)]
Plain = Annotated[bool, output("--plain", "Print only the score, such as BLEU = 34.56.")]
Json = Annotated[bool, output("--json", "Print the complete result as JSON.")]
Markdown = Annotated[bool, output("--markdown", "Print a Markdown table for a paper or pull request.")]
Report = Annotated[Path | None, output("--report FILE", "Write a web page with charts and examples.")]
SaveHypotheses = Annotated[
    Path | None, output("--save-hypotheses FILE", "Write the translations of the run.")
]
NoRecord = Annotated[
    bool, output("--no-record", "Do not add the scores to the scores.jsonl and model card of the run.")
]
Processes = Annotated[
    int,
    machine(
        "--processes N",
        "Translate with N processes; the translations are those of one.",
        min=1,
        max=MAX_THREADS,
    ),
]

# nmt align
SourceToAlign = Annotated[Path, inputs("--source -s FILE", "Source text; - is standard input.")]
TargetToAlign = Annotated[Path, inputs("--target -t FILE", "Target text; - is standard input.")]

# nmt align-eval
Alignments = Annotated[
    list[Path], argument("HYP...", "Word alignments to evaluate, as written by `nmt score --alignments`.")
]
Gold = Annotated[Path, test_set("--gold FILE", "Gold alignments: 1-2 is a sure link, 1p2 a possible one.")]
AlignedSource = Annotated[
    Path | None, test_set("--source -s FILE", "Source sentences, to find links past their end.")
]
AlignedTarget = Annotated[
    Path | None, test_set("--target -t FILE", "Target sentences, to find links past their end.")
]
AlignmentsBase = Annotated[
    int, alignment_format("--alignments-base N", "Index of the first word in HYP.", min=0, max=1)
]
GoldBase = Annotated[
    int, alignment_format("--gold-base N", "Index of the first word in the gold alignments.", min=0, max=1)
]
Reverse = Annotated[bool, alignment_format("--reverse", "The links in HYP are target-source.")]
PlainAer = Annotated[bool, output("--plain", "Print only the score, such as AER = 12.34.")]
