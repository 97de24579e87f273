"""`nmt preprocess`: from a parallel corpus in any format to training data."""

from typing import TYPE_CHECKING

from nmt_cli.cli.display.console import StageProgress, Verbosity, messages, results
from nmt_cli.cli.options import shared, training
from nmt_cli.errors import UsageError

if TYPE_CHECKING:
    from nmt_cli.preprocessing import DataCard, Report


def preprocess(
    *,
    source_lang: training.SourceLang = None,
    target_lang: training.TargetLang,
    train: training.Train,
    out: training.DataOut,
    images: training.Images = None,
    audio: training.Audio = None,
    valid: training.Valid = None,
    test: training.Test = None,
    alignments: training.GivenAlignments = None,
    vocabulary: training.Vocabulary = None,
    keep_all: training.KeepAll = False,
    config: shared.Config = None,
    settings: shared.Set = None,
    dropped: training.Dropped = None,
    overwrite: shared.Overwrite = False,
    workers: shared.Workers = None,
    quiet: shared.Quiet = False,
    verbose: training.ShowDropped = False,
) -> None:
    """Clean and tokenize a corpus, image captions or transcripts.

    The result is a data directory for [cyan]nmt train[/]. SPEC names a corpus:
      [cyan]data/train[/]                 data/train.de + .en, also .gz .xz .bz2 .zst
      [cyan]a.de,a.en[/]                  two files
      [cyan]x.tsv[/] or [cyan]x.tsv#1,3[/]         columns, source first
      [cyan]x.jsonl[/] or [cyan]x.jsonl#a,b[/]     a `translation` object, or two fields
      [cyan]x.csv[/] or [cyan]x.csv#a,b[/]         columns by the names in the first row
      [cyan]x.tmx[/], [cyan]x.po[/], [cyan]x.xlf[/]         finished translations of a localization file
      [cyan]po/[/] or [cyan]'po/**/de.po'[/]       all such files in a directory, or of a pattern
      [cyan]en-de.txt.zip[/]              an OPUS archive in Moses format
      [cyan]hf:DATASET:CONFIG:SPLIT[/]    from the Hugging Face Hub
      [cyan]-[/] or [cyan]-#2,1[/]                 TSV on standard input
    Without --source-lang, it is one file, column or field: [cyan]a.en[/], [cyan]x.tsv#2[/] or
    [cyan]x.jsonl#text[/]. Options follow: with [cyan]@weight=2[/], each pair is used twice per
    epoch; with [cyan]@tag=TAG[/], each source starts with TAG, a word in angle brackets;
    for the Hub also @revision=NAME, @data_files=PATH and @streaming=true.
    With --images, SPEC names captions: [cyan]x.jsonl[/] with `image` and `captions`,
    COCO's [cyan]x.json[/], Flickr's [cyan]x.token.txt[/], [cyan]x.csv[/], or a dataset with images;
    [cyan]FILE#LIST[/] reads only the images whose names are in the file LIST.
    With --audio, SPEC names transcripts: [cyan]x.jsonl[/] with `audio` and `text`, [cyan]x.tsv[/]
    with `path` and `sentence` (Common Voice), or a folder of LibriSpeech.
    """
    level = shared.verbosity(quiet=quiet, verbose=verbose)

    from nmt_cli.config import FILTERS, resolve
    from nmt_cli.corpus import parse_spec
    from nmt_cli.files.languages import check_language

    if source_lang is not None:
        check_language(source_lang)
    if images and audio:
        raise UsageError("--images and --audio cannot be used together", hint="leave out one of them")
    if (images or audio) and source_lang is not None:
        option, what = ("--images", "images") if images else ("--audio", "recordings")
        raise UsageError(
            f"--source-lang cannot be used together with {option}",
            hint=f"the sources are {what}: leave it out",
        )
    switched_off = [f"data.{name}=false" for name in FILTERS] if keep_all else []
    resolved = resolve(config, switched_off + shared.assignments(settings))
    for text in () if images or audio else (*train, *(valid or ()), *(test or ())):
        parse_spec(text, source_lang=source_lang or "", target_lang=target_lang)  # a missing file is an error

    from nmt_cli.preprocessing import PreprocessRequest
    from nmt_cli.preprocessing import preprocess as run

    request = PreprocessRequest(
        source_lang=source_lang or "",
        target_lang=target_lang,
        train=train,
        valid=valid or (),
        test=test or (),
        alignments=alignments or (),
        images=images or (),
        audio=audio or (),
        out=out,
        settings=resolved,
        vocabulary=vocabulary,
        dropped=dropped,
        workers=workers or shared.available_cores(),
        overwrite=overwrite,
    )
    with StageProgress(level) as progress:
        reporter = _Reporter(progress)
        try:
            card = run(request, reporter)
        finally:
            reporter.flush()
    _show(card, level)
    if level > Verbosity.QUIET:
        messages().print(f"wrote {out} (data card: {out / 'data-card.md'})")


class _Reporter:
    """Shows progress, and warnings in groups of the same kind."""

    def __init__(self, progress: StageProgress) -> None:
        self._progress = progress
        self._groups: dict[tuple[str, str], list[str]] = {}  # messages by kind and hint

    def __call__(self, report: "Report") -> None:
        from nmt_cli.files.byte_stream import Progress

        if isinstance(report, Progress):
            self.flush()
            self._progress.update(report.stage, report.done, report.total)
        else:
            self._groups.setdefault((report.name, report.hint), []).append(report.message)

    def flush(self) -> None:
        """Show the warnings so far: those of a corpus arrive together, before the next stage."""
        for (_, hint), found in self._groups.items():
            self._progress.warn(found, hint=hint)
        self._groups = {}


def _show(card: "DataCard", level: Verbosity) -> None:
    from rich.table import Table

    if level is Verbosity.QUIET:
        return
    console = results()
    for title, headings, rows in card.tables():
        table = Table(title=title, title_justify="left", box=None, pad_edge=False)
        for index, heading in enumerate(headings):
            table.add_column(heading, justify="left" if index == 0 else "right", overflow="fold")
        for row in rows:
            table.add_row(*row)
        console.print(table)
        console.print()
    if level is Verbosity.VERBOSE:
        for reason, corpus, line, text in card.examples():
            messages().print(f"{reason}: {corpus} line {line}: {text}")
