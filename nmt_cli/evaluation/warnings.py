"""Warnings about hypotheses, references and training data that make a score misleading."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nmt_cli.corpus.checks.tokenization import TokenizedCheck
from nmt_cli.errors import DataWarning
from nmt_cli.evaluation.breakdowns import TrainingText
from nmt_cli.evaluation.output_errors import OutputErrorCounter
from nmt_cli.evaluation.texts import Text, some_lines
from nmt_cli.metrics.corpus_metric import BleuDetails

_BREVITY = 0.9  # brevity penalty below which outputs are too short
_SHARE = 0.01  # of lines with an error that is worth a warning
_NUMBERS_SHARE = 0.1  # the same for missing numbers, of lines with numbers
_FEW = 3  # fewer lines are not worth a warning
_SEEN_SHARE = 0.01  # of references that occur in the training data


def system_warnings(
    name: str,
    text: Text,
    errors: OutputErrorCounter,
    bleu: BleuDetails | None,
    tokenized: TokenizedCheck | None,
) -> Iterator[DataWarning]:
    """What looks wrong with one system; `tokenized` is None if the references are tokenized as well."""
    if tokenized is not None:
        yield from _tokenization_warnings(name, tokenized)
    yield from _encoding_warnings(text)
    yield from _error_warnings(name, errors, text.lines)
    if bleu is not None and bleu.brevity_penalty < _BREVITY:
        yield DataWarning(
            name="short",
            message=f"{name}: the hypotheses have only {bleu.length_ratio:.0%} of the length of the references; "
            f"BLEU is multiplied by a brevity penalty of {bleu.brevity_penalty:.2f}",
            hint="look for lost lines or words; raise search.length_penalty or search.min_length",
        )


def identity_warnings(name: str, text: Text, references: Sequence[Text]) -> Iterator[DataWarning]:
    """A reference among the systems, as a pattern such as `*.de` may match it."""
    for reference in references:
        if text.sha256 == reference.sha256:
            yield DataWarning(
                name="is-the-reference",
                message=f"{name} is identical to the reference {reference.name}",
                hint="remove it from the systems, or pass the hypotheses that you meant",
            )


def reference_warnings(
    texts: Sequence[Text], checks: Sequence[TokenizedCheck], unreferenced: Sequence[int]
) -> Iterator[DataWarning]:
    """What looks wrong with the references."""
    for text, check in zip(texts, checks, strict=True):
        yield from _tokenization_warnings(text.name, check)
        yield from _encoding_warnings(text)
    if unreferenced:
        names = texts[0].name if len(texts) == 1 else "all references"
        yield DataWarning(
            name="blank-reference",
            message=f"{names}: {some_lines(unreferenced)} {_is(unreferenced)} blank, "
            "and scored as an empty reference",
            hint="check whether lines are missing; sacreBLEU scores blank lines the same way",
        )


def training_warnings(training: TrainingText, seen: int, references: int) -> Iterator[DataWarning]:
    """References that the model was trained on."""
    if seen >= _FEW and seen >= _SEEN_SHARE * references:
        yield DataWarning(
            name="seen-in-training",
            message=f"{seen:,} of {references:,} references ({seen / references:.1%}) occur in the training data "
            f"{training.name}",
            hint="the model may have memorized them: evaluate on text that it was not trained on",
        )


def _tokenization_warnings(name: str, check: TokenizedCheck) -> Iterator[DataWarning]:
    for trace, hits, lines in check.found():
        yield DataWarning(
            name=trace.name,
            message=f"{name} looks processed: {hits:,} of {lines:,} sampled lines {trace.meaning}",
            hint="score detokenized text without subword markers; other scores are not comparable",
        )


def _encoding_warnings(text: Text) -> Iterator[DataWarning]:
    if lines := text.undecodable:
        yield DataWarning(
            name="undecodable",
            message=f"{text.name}: {some_lines(lines)} {_is(lines)} not UTF-8",
            hint="convert the file to UTF-8; invalid bytes were read as U+FFFD",
        )


def _error_warnings(name: str, errors: OutputErrorCounter, lines: int) -> Iterator[DataWarning]:
    if errors.empty:
        yield DataWarning(
            name="empty",
            message=f"{name}: {some_lines(errors.empty)} {_is(errors.empty)} empty",
            hint="an empty line is scored as a translation that has nothing right",
        )
    if _is_notable(errors.untranslated, _SHARE * lines):
        yield DataWarning(
            name="untranslated",
            message=f"{name}: {some_lines(errors.untranslated)} are copies of the source",
            hint="check that the file contains translations",
        )
    if _is_notable(errors.repeated, _SHARE * lines):
        yield DataWarning(
            name="repeated",
            message=f"{name}: {some_lines(errors.repeated)} repeat the same words over and over",
            hint="train longer, or set search.no_repeat_ngram",
        )
    if _is_notable(errors.dropped_numbers, _NUMBERS_SHARE * errors.with_numbers):
        yield DataWarning(
            name="dropped-numbers",
            message=f"{name}: {some_lines(errors.dropped_numbers)} lack a number that the reference has "
            f"(of {errors.with_numbers:,} lines with numbers)",
            hint="check them: a wrong number matters more than BLEU shows",
        )


def _is_notable(numbers: Sequence[int], threshold: float) -> bool:
    return len(numbers) >= _FEW and len(numbers) >= threshold


def _is(numbers: Sequence[int]) -> str:
    return "is" if len(numbers) == 1 else "are"
