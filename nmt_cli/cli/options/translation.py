"""Options of the commands that run a model: `nmt translate`, `nmt score`, `nmt rerank`, `nmt explain` and so on."""

from pathlib import Path
from typing import Annotated, Literal

from nmt_cli.cli.options import shared
from nmt_cli.cli.options.shared import (
    argument,
    contents,
    documents,
    inputs,
    machine,
    models,
    output,
    search,
    terminology,
)
from nmt_cli.config.defaults import ALTERNATIVES, MAX_THREADS, TermsCase

Run = Annotated[Path, argument("RUN_DIR", "Run directory written by `nmt train`.")]
Runs = Annotated[
    list[Path],
    argument(
        "RUN_DIR...",
        "Run directory written by `nmt train`, or exported model; several runs form an ensemble.",
    ),
]

# nmt translate
RunsAndSentences = Annotated[
    list[str],
    argument(
        "RUN_DIR... [SENTENCE|FILE...]",
        "Run directory written by `nmt train`, or several for an ensemble, or exported model; then sentences or "
        "documents to translate. A document is a file whose name ends like one (.po, .srt, .md …), or any file with "
        "--format.",
    ),
]
Input = Annotated[
    Path | None,
    inputs(
        "--input -i FILE", "Lines of text, may be compressed; or a document.", show_default="standard input"
    ),
]
Format = Annotated[
    str | None,
    documents(
        "--format -f NAME",
        "Format: po, xliff, srt, vtt, markdown, html, json, android, properties, text (paragraphs, sentence by "
        "sentence) or lines.",
        show_default="by name, else lines",
    ),
]
InPlace = Annotated[bool, documents("--in-place", "Write the translation over the document itself.")]
All = Annotated[
    bool, documents("--all", "Translate again what nmt translated before and nobody changed (PO, XLIFF).")
]
NoFuzzy = Annotated[
    bool, documents("--no-fuzzy", "Do not mark translations as unreviewed (PO: fuzzy, XLIFF: state).")
]
LineLength = Annotated[
    int | None,
    documents("--line-length N", "Characters per line of subtitles.", min=10, max=1000, show_default="42"),
]
Placeholder = Annotated[
    list[str] | None,
    documents(
        "--placeholder REGEX", "Text that must not be translated, besides what is recognized; repeatable."
    ),
]
Strict = Annotated[bool, inputs("--strict", "Reject invalid UTF-8 instead of repairing it.")]
MaxTokens = Annotated[
    int | None,
    inputs(
        "--max-tokens N",
        "Split lines that are longer than N tokens and translate the parts.",
        min=1,
        show_default="data.max_tokens of the run",
    ),
]
Output = Annotated[
    Path | None,
    output(
        "--output -o FILE|DIR",
        "Output file; appears when it is complete. Lines are compressed if it ends in .gz or .zst. A directory for "
        "several documents.",
        show_default="standard output",
    ),
]
OutputFile = Annotated[
    Path | None,
    output(
        "--output -o FILE",
        "Output file; appears when it is complete, compressed if its name ends in .gz or .zst.",
        show_default="standard output",
    ),
]
Tsv = Annotated[bool, output("--tsv", "Write source, translation and score, separated by tabs.")]
Json = Annotated[bool, output("--json", "Write one JSON object per line.")]
Alignments = Annotated[
    bool, output("--alignments", "Add word alignments in Pharaoh format; needs --tsv or --json.")
]
Tokens = Annotated[bool, output("--tokens", "Add tokens and their log-probabilities; needs --json.")]
Attention = Annotated[bool, output("--attention", "Add the attention weights between tokens; needs --json.")]
Beam = Annotated[
    int | None,
    search("--beam -b N", "Beam size; 1 is greedy search. Shorthand for --set search.beam_size=N."),
]
NBest = Annotated[
    int | None,
    search(
        "--n-best -n N",
        "Translations per line; needs --tsv or --json. Shorthand for --set search.n_best=N.",
    ),
]
Sample = Annotated[
    bool,
    search("--sample", "Sample translations at random. Shorthand for --set search.sampling=true."),
]
Mbr = Annotated[
    Literal["chrf", "bleu"] | None,
    search(
        "--mbr chrf|bleu",
        "Minimum Bayes risk decoding: choose the candidate of the beam, or of the samples with --sample, that agrees "
        "best with the others. Shorthand for --set search.mbr=chrf.",
    ),
]
Prefix = Annotated[str, search("--prefix TEXT", "Make every translation start with TEXT.")]
Memory = Annotated[
    Path | None,
    search(
        "--memory FILE",
        "Translation memory (.tmx, .po, .xlf, .tsv, .csv, .jsonl): reuse the translations of equal texts. Those of "
        "similar texts are shown with --json, and used in PO and XLIFF, where they are marked.",
    ),
]
MemoryThreshold = Annotated[
    float | None,
    search(
        "--memory-threshold PERCENT",
        "Similarity from which a translation in the memory is offered.",
        min=30,
        max=100,
        show_default="75",
    ),
]
Terms = Annotated[
    Path | None,
    terminology(
        "--terms FILE",
        "Glossary: source term and target term on each line, separated by a tab. A translation contains the target "
        "term where its source contains the source term.",
    ),
]
TermsCaseOption = Annotated[
    TermsCase,
    terminology(
        "--terms-case adapt|keep|exact",
        "How case matters. adapt: find source terms in any case and capitalize the target like the source; keep: find "
        "them in any case, but use the target as given; exact: use both as given.",
    ),
]
TermsInflection = Annotated[
    int,
    terminology(
        "--terms-inflection N",
        "Also find source terms whose words have up to N more letters at the end. The target is not inflected.",
        min=0,
        max=10,
    ),
]
Banned = Annotated[
    Path | None,
    terminology("--banned FILE", "Words or phrases that no translation may contain, one on each line."),
]
JsonInput = Annotated[
    bool,
    inputs(
        "--json-input",
        "Read one JSON object per line, with the keys source and, if wanted, terms (a list of pairs) and prefix.",
    ),
]
Stream = Annotated[
    bool, machine("--stream", "Translate each line as soon as it arrives, as when typing in a terminal.")
]
Window = Annotated[int, machine("--window N", "Number of lines to read ahead and sort by length.", min=1)]
BatchTokens = Annotated[
    int, machine("--batch-tokens N", "Source tokens per batch, including padding.", min=1)
]
Processes = Annotated[
    int,
    machine(
        "--processes N",
        "Translate a file (--input, --output) with N processes; the output is that of one.",
        min=1,
        max=MAX_THREADS,
    ),
]
ScoreProcesses = Annotated[
    int,
    machine(
        "--processes N",
        "Score files into a file (--output) with N processes; the output is that of one.",
        min=1,
        max=MAX_THREADS,
    ),
]
Int8 = Annotated[bool, machine("--int8", "Use int8 arithmetic on the CPU: faster, slightly less accurate.")]
Progress = Annotated[
    bool | None,
    shared.messages(
        "--progress/--no-progress", "Show lines, lines/s and time left.", show_default="in a terminal"
    ),
]

# nmt score
ScoredTarget = Annotated[
    Path, inputs("--target FILE", "Translations to score, line by line; - is standard input.")
]
ScoredSource = Annotated[
    Path | None,
    inputs(
        "--source FILE",
        "Source text; - is standard input.",
        show_default="none, for a language model",
    ),
]
ScoreTsv = Annotated[
    bool, output("--tsv", "Write source, target, log P, perplexity and token count, separated by tabs.")
]
ScoreAlignments = Annotated[
    bool,
    output("--alignments", "Write word alignments in Pharaoh format, or add them to --tsv or --json."),
]

# nmt rerank
CandidatesInput = Annotated[
    Path | None,
    inputs(
        "--input -i FILE",
        "Candidates, written by `nmt translate --json --n-best N`.",
        show_default="standard input",
    ),
]
ReverseRun = Annotated[
    list[str] | None,
    models(
        "--reverse RUN_DIR[@weight=W]",
        "Model from the target language back to the source language; repeatable.",
    ),
]
ForwardRun = Annotated[
    list[str] | None,
    models(
        "--forward RUN_DIR[@weight=W]",
        "Another model in the same direction, such as a right-to-left model; repeatable.",
    ),
]
LanguageModelRun = Annotated[
    list[str] | None,
    models("--language-model RUN_DIR[@weight=W]", "Language model of the target language; repeatable."),
]
TuneOn = Annotated[
    Path | None,
    models("--tune FILE", "References: find the weights with the highest BLEU, and print them as options."),
]

# nmt export
ExportOut = Annotated[Path, output("--out DIR", "Folder to write.")]
ExportInt8 = Annotated[
    bool,
    contents("--int8", "Use int8 weights and arithmetic: smaller and faster, slightly less accurate."),
]
Shortlist = Annotated[
    str,
    contents(
        "--shortlist N|auto|none",
        "Likely target tokens per source token, from the training data. auto: the smallest shortlist that costs less "
        "than 0.1 BLEU on the validation set.",
    ),
]
License = Annotated[
    str | None, contents("--license NAME", "License of the model, for its card, such as cc-by-4.0.")
]
ExportData = Annotated[
    Path | None,
    contents(
        "--data DIR",
        "Data directory of the run, for the shortlist.",
        show_default="where it was in training",
    ),
]

# nmt generate
Prompt = Annotated[
    str | None,
    argument(
        "TEXT",
        "Prompt to continue; '' for an empty prompt.",
        show_default="standard input, one prompt per line",
    ),
]
Prompts = Annotated[
    Path | None, inputs("--input -i FILE", "Prompts, one per line.", show_default="standard input")
]
Samples = Annotated[
    int | None, search("--samples -n N", "Texts per prompt. Shorthand for --set search.n_best=N.")
]
SamplingSeed = Annotated[int | None, search("--seed N", "Random seed. Shorthand for --set search.seed=N.")]

# nmt explain
Sentences = Annotated[
    list[str] | None,
    argument(
        "SENTENCE...",
        "Sentences to translate, or the images or recordings that the model reads.",
        show_default="lines of standard input",
    ),
]
Targets = Annotated[
    list[str] | None,
    contents("--target -t TEXT", "Explain this translation instead of the model's own; once per sentence."),
]
Alternatives = Annotated[
    int | None,
    contents(
        "--alternatives N",
        f"Number of alternatives to show for each token ({ALTERNATIVES} by default).",
        min=0,
        max=100,
    ),
]
SelfAttention = Annotated[bool, contents("--self-attention", "Show self-attention as well.")]
Gradients = Annotated[
    bool,
    contents(
        "--gradients",
        "Show ∂ log p(y_t) / ∂x_i: its norm, its product with x_i, and its norm by distance. Further run directories "
        "may follow the first one.",
    ),
]
Html = Annotated[
    Path | None, output("--html FILE", "Write an interactive web page; with --beam, the beam is unfolded.")
]
Svg = Annotated[
    Path | None,
    output("--svg FILE", "Write the heat map of a single sentence, or the curves of several runs."),
]
ExplanationsJson = Annotated[bool, output("--json", "Write all the numbers as JSON instead of the display.")]

# nmt caption
CellAttention = Annotated[
    bool, output("--attention", "Add the attention of each token to the cells of the image; needs --json.")
]
CaptionsNBest = Annotated[
    int | None,
    search("--n-best -n N", "Captions per image; needs --json. Shorthand for --set search.n_best=N."),
]
CaptionPrefix = Annotated[str, search("--prefix TEXT", "Make every caption start with TEXT.")]
ImageFiles = Annotated[
    list[Path] | None,
    argument(
        "IMAGE...",
        "Images to describe, or .npy files for a model that reads features.",
        show_default="paths on standard input, one per line",
    ),
]

# nmt transcribe
TimeAttention = Annotated[
    bool,
    output("--attention", "Add the attention weights of each token over time; needs --json."),
]
TranscriptsNBest = Annotated[
    int | None,
    search("--n-best -n N", "Transcripts per recording; needs --json. Shorthand for --set search.n_best=N."),
]
AudioFiles = Annotated[
    list[Path] | None,
    argument("FILE...", "WAV files to transcribe.", show_default="paths on standard input, one per line"),
]
