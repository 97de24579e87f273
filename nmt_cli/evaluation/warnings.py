"""Warnings about hypotheses, references and training data that make a score misleading.

They include errors that can be seen in a single hypothesis: empty, untranslated, repetitive, or missing a number.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from operator import eq

from nmt_cli.corpus.checks.characters import TokenizedCheck
from nmt_cli.errors import DataWarning
from nmt_cli.evaluation.breakdowns import TrainingWords
from nmt_cli.evaluation.result import ErrorLines, OutputErrors
from nmt_cli.evaluation.texts import Lines, Text, some_lines
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


def training_warnings(training: TrainingWords, seen: int, references: int) -> Iterator[DataWarning]:
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
            hint="an empty translation scores zero",
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


# ------------------------------------------------------------------------------------------------------------
# Errors in single hypotheses.


_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_LONGEST = 6  # words of a repeated phrase
_THRICE_BELOW = 3  # shorter phrases must occur three times in a row: "very very" is fine
_KEPT = 20  # line numbers that are reported for each error


class OutputErrorCounter:
    """The line numbers (from 1) of one system's hypotheses that have each error."""

    def __init__(self) -> None:
        self.empty: list[int] = []
        self.untranslated: list[int] = []
        self.repeated: list[int] = []
        self.dropped_numbers: list[int] = []
        self.with_numbers = 0  # lines with a number that should be kept

    def observe(self, lines: Lines, hypotheses: Sequence[str]) -> None:
        """Check the next hypotheses."""
        for row, hypothesis in enumerate(hypotheses):
            line = lines.first + row
            references = [texts[row] or "" for texts in lines.references]
            source = lines.sources[row] if lines.sources is not None else None
            if not hypothesis or hypothesis.isspace():
                if any(text.strip() for text in references):
                    self.empty.append(line)
                continue
            if source is not None and hypothesis == source and hypothesis not in references:
                self.untranslated.append(line)
            if has_loop(hypothesis) and not any(map(has_loop, references)):
                self.repeated.append(line)
            if expected := _numbers_to_keep(references, source):
                self.with_numbers += 1
                if expected - _numbers(hypothesis):
                    self.dropped_numbers.append(line)

    def result(self, lines: int, *, has_source: bool) -> OutputErrors:
        """The errors in so many lines; without the source, nothing is known about untranslated ones."""
        return OutputErrors(
            empty=_error_lines(self.empty, lines),
            untranslated=_error_lines(self.untranslated, lines) if has_source else None,
            repeated=_error_lines(self.repeated, lines),
            dropped_numbers=_error_lines(self.dropped_numbers, self.with_numbers),
        )


def has_loop(text: str) -> bool:
    """Whether a phrase of one or two words occurs three times in a row, or one of three to six words twice."""
    words = text.split()
    if len(words) < 3 and len(text) > 20:
        words = list(text)  # no spaces: compare characters
    for period in range(1, min(_LONGEST, len(words) // 2) + 1):
        needed = 2 * period if period < _THRICE_BELOW else period
        same = list(map(eq, words, words[period:]))
        if sum(same) >= needed and _longest_run(same, words) >= needed:
            return True
    return False


def _error_lines(numbers: list[int], total: int) -> ErrorLines:
    return ErrorLines(count=len(numbers), of=total, lines=numbers[:_KEPT])


def _longest_run(same: Sequence[bool], words: Sequence[str]) -> int:
    """The longest run of repeated words that does not consist of punctuation only."""
    longest = run = 0
    lettered = False
    for is_same, word in zip(same, words, strict=False):
        run = run + 1 if is_same else 0
        lettered = is_same and (lettered or any(character.isalnum() for character in word))
        if lettered:
            longest = max(longest, run)
    return longest


def _numbers_to_keep(references: Sequence[str], source: str | None) -> Counter[str]:
    """The numbers that all references have, and the source too if it is known."""
    texts = [*filter(None, references), *([source] if source else [])]
    if not texts:
        return Counter()
    kept = _numbers(texts[0])
    for text in texts[1:]:
        if not kept:
            break
        kept &= _numbers(text)
    return kept


def _numbers(text: str) -> Counter[str]:
    """Numbers as digits only, because 1,000 in one language is 1.000 in another."""
    return Counter(re.sub("[.,]", "", number) for number in _NUMBER.findall(text))
