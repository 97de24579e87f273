"""Warnings that save papers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nmt_cli.corpus.checks.tokenization import TokenizedCheck
from nmt_cli.errors import DataWarning
from nmt_cli.evaluation.output_errors import Faults
from nmt_cli.evaluation.tally import SystemTally
from nmt_cli.evaluation.texts import Text, some_lines
from nmt_cli.evaluation.training_text import TrainingText
from nmt_cli.metrics.corpus_metric import BleuDetails

_BREVITY = 0.9
_SHARE = 0.01  # of lines from which on a fault is worth a warning
_NUMBERS_SHARE = 0.1  # the same, of lines with numbers
_FEW = 3
_SEEN_SHARE = 0.01


def system_notices(
    name: str, text: Text, tally: SystemTally, bleu: BleuDetails | None, *, tokenized_references: bool
) -> list[DataWarning]:
    """What looks wrong with one system, the gravest first."""
    found = [*_processed(name, tally.tokenized)] if not tokenized_references else []
    found += _undecodable(text)
    found += _fault_notices(name, tally.faults, text.lines)
    if bleu is not None and bleu.brevity_penalty < _BREVITY:
        found.append(
            DataWarning(
                name="short",
                message=f"{name}: hypotheses have {bleu.length_ratio:.0%} of the length of the references; "
                f"the brevity penalty {bleu.brevity_penalty:.2f} costs BLEU that share",
                hint="look for lost lines or words; raise search.length_penalty or search.min_length",
            )
        )
    return found


def identical_notices(name: str, text: Text, references: Sequence[Text]) -> Iterator[DataWarning]:
    """A reference that was taken for a system, as `*.de` does."""
    for reference in references:
        if text.sha256 == reference.sha256:
            yield DataWarning(
                name="is-the-reference",
                message=f"{name} is the same text as the reference {reference.name}",
                hint="leave it out, or name the hypotheses that were meant",
            )


def reference_notices(
    texts: Sequence[Text], checks: Sequence[TokenizedCheck], unreferenced: Sequence[int]
) -> list[DataWarning]:
    """What looks wrong with the references."""
    found: list[DataWarning] = []
    for text, check in zip(texts, checks, strict=True):
        found += _processed(text.name, check)
        found += _undecodable(text)
    if unreferenced:
        names = texts[0].name if len(texts) == 1 else "all references"
        found.append(
            DataWarning(
                name="blank-reference",
                message=f"{names}: {some_lines(unreferenced)} "
                f"{'is' if len(unreferenced) == 1 else 'are'} blank, and scored as an empty reference",
                hint="check whether lines were lost; sacreBLEU counts them the same way",
            )
        )
    return found


def training_notices(training: TrainingText, seen: int, references: int) -> Iterator[DataWarning]:
    """References that the model has been shown."""
    if seen >= _FEW and seen >= _SEEN_SHARE * references:
        yield DataWarning(
            name="seen-in-training",
            message=f"{seen:,} of {references:,} references ({seen / references:.1%}) occur in the training data "
            f"{training.name}",
            hint="a model may know them by heart: test on text that was not trained on",
        )


def _processed(name: str, check: TokenizedCheck) -> Iterator[DataWarning]:
    for trace, hits, lines in check.found():
        yield DataWarning(
            name=trace.name,
            message=f"{name} looks processed: {hits:,} of {lines:,} sampled lines {trace.meaning}",
            hint="score detokenized text with whole words; scores of processed text do not compare",
        )


def _undecodable(text: Text) -> Iterator[DataWarning]:
    if lines := text.undecodable:
        yield DataWarning(
            name="undecodable",
            message=f"{text.name}: {some_lines(lines)} {'is' if len(lines) == 1 else 'are'} not UTF-8",
            hint="convert the file; what stands for no character was read as U+FFFD",
        )


def _fault_notices(name: str, faults: Faults, lines: int) -> Iterator[DataWarning]:
    if faults.empty:
        yield DataWarning(
            name="empty",
            message=f"{name}: {some_lines(faults.empty)} {_is(faults.empty)} empty",
            hint="an empty line is scored as a translation with nothing right",
        )
    rows = (
        (
            "untranslated",
            faults.untranslated,
            lines,
            _SHARE,
            "the source, word for word",
            "check that the hypotheses are translations, and not copies",
        ),
        (
            "repeated",
            faults.repeated,
            lines,
            _SHARE,
            "caught in a loop of repeated words",
            "train longer, or forbid it with search.no_repeat_ngram",
        ),
        (
            "dropped-numbers",
            faults.dropped_numbers,
            faults.with_numbers,
            _NUMBERS_SHARE,
            f"without a number that the reference has (of {faults.with_numbers:,} with numbers)",
            "look at them: numbers matter more than BLEU tells",
        ),
    )
    for kind, numbers, of, share, meaning, hint in rows:
        if len(numbers) >= _FEW and len(numbers) >= share * of:
            yield DataWarning(name=kind, message=f"{name}: {some_lines(numbers)} are {meaning}", hint=hint)


def _is(numbers: Sequence[int]) -> str:
    return "is" if len(numbers) == 1 else "are"
