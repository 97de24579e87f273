"""Streams of lines, translated window by window so that memory does not grow with the input, and output formats."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from nmt_cli.config.defaults import WINDOW
from nmt_cli.translator.decoding import pharaoh
from nmt_cli.translator.translation import Details, Translation
from nmt_cli.translator.translator import Translator

_WINDOW_CHARACTERS = 1 << 20  # windows of very long lines have fewer lines

Item = TypeVar("Item", str, tuple[str, str])


class LineWindow(NamedTuple):
    """Consecutive lines and their translations."""

    first: int  # number of the first line, from 0
    sources: Sequence[str]
    translations: Sequence[Translation]


def translate_stream(
    translator: Translator,
    lines: Iterable[str],
    *,
    window: int = WINDOW,
    details: Details = Details(),  # noqa: B008 - frozen
    prefix: str = "",
    first: int = 0,
    progress: Callable[[int], None] | None = None,
) -> Iterator[LineWindow]:
    """All lines in order. Lines are batched by length within a window; a window of 1 answers each line at once.

    first      number of the first line, from 0
    progress   called with the number of lines after each batch
    """
    for sources in windows(lines, window):
        prefixes = [prefix] * len(sources) if prefix else None
        translations = translator.translate(
            sources, details=details, prefixes=prefixes, first_line=first, progress=progress
        )
        yield LineWindow(first, sources, translations)
        first += len(sources)


def score_stream(
    translator: Translator,
    pairs: Iterable[tuple[str, str]],
    *,
    window: int = WINDOW,
    details: Details = Details(scores=True),  # noqa: B008 - frozen
) -> Iterator[LineWindow]:
    """Scores of given translations, in order."""
    first = 0
    for lines in windows(pairs, window):
        sources, targets = [source for source, _ in lines], [target for _, target in lines]
        translations = translator.score(sources, targets, details=details, first_line=first)
        yield LineWindow(first, sources, translations)
        first += len(lines)


def windows(lines: Iterable[Item], max_lines: int) -> Iterator[list[Item]]:
    """Windows of at most `max_lines` lines; a window ends early with the line that exceeds a million characters."""
    window: list[Item] = []
    characters = 0
    for line in lines:
        window.append(line)
        characters += len(line) if isinstance(line, str) else sum(map(len, line))
        if len(window) >= max_lines or characters >= _WINDOW_CHARACTERS:
            yield window
            window, characters = [], 0
    if window:
        yield window


# ------------------------------------------------------------------------------------------------------------
# Output formats: one output line per input line in each of them.


_COLUMN = str.maketrans("\t\r\n", "   ")


def as_text(number: int, source: str, translation: Translation) -> str:
    """The translation alone."""
    return translation.text


def as_tsv(number: int, source: str, translation: Translation, *, n_best: int = 1) -> str:
    """Source; translation and score, `n_best` times; word alignment, if requested.

    Tabs within a text become spaces. Columns are empty where there are fewer than `n_best` translations.
    """
    columns = [source]
    for one in translation.n_best or (translation,):
        columns += [one.text, _number(one.score)]
    columns += [""] * (1 + 2 * n_best - len(columns))
    if translation.alignment is not None:
        columns.append(pharaoh(translation.alignment))
    return "\t".join(column.translate(_COLUMN) for column in columns)


def as_json(number: int, source: str, translation: Translation, *, tokens: bool = False) -> str:
    """A JSON object; lines are numbered from 1.

    `tokens` adds the pieces of both sides and the log-probability of each target piece.
    """
    content: dict[str, Any] = {"line": number, "source": source, **_fields(translation)}
    if translation.parts > 1:
        content["parts"] = translation.parts
    if translation.n_best is not None:
        content["n_best"] = [_fields(one) for one in translation.n_best]
    if tokens:
        content["source_tokens"], content["target_tokens"] = (
            translation.source_pieces,
            translation.target_pieces,
        )
        log_p = translation.token_log_probabilities or ()
        content["token_log_probabilities"] = [round(value, 4) for value in log_p]
    return json.dumps(content, ensure_ascii=False)


def _fields(translation: Translation) -> dict[str, Any]:
    fields: dict[str, Any] = {"translation": translation.text}
    if translation.score is not None and translation.log_probability is not None:
        fields["score"] = round(translation.score, 6)
        fields["log_probability"] = round(translation.log_probability, 6)
    if translation.alignment is not None:
        fields["alignment"] = pharaoh(translation.alignment)
    if translation.attention is not None:
        fields["attention"] = [[round(a, 4) for a in row] for row in translation.attention.tolist()]
    return fields


def as_score(number: int, source: str, translation: Translation) -> str:
    """log P and perplexity; an empty line for two blank lines."""
    if not translation.parts:
        return ""
    return f"{_number(translation.log_probability)}\t{_number(translation.perplexity)}"


def as_links(number: int, source: str, translation: Translation) -> str:
    """The word alignment alone."""
    return pharaoh(translation.alignment or ())


def as_score_tsv(number: int, source: str, translation: Translation) -> str:
    """Source, target, log P, perplexity, number of tokens; word alignment, if requested."""
    fields = _number(translation.log_probability), _number(translation.perplexity)
    columns = [source, translation.text, *fields, str(len(translation.target_pieces))]
    if translation.alignment is not None:
        columns.append(pharaoh(translation.alignment))
    return "\t".join(column.translate(_COLUMN) for column in columns)


def as_score_json(
    number: int, source: str, translation: Translation, *, tokens: bool = False, monolingual: bool = False
) -> str:
    """A JSON object: as for a translation, with target, perplexity and number of tokens.

    `monolingual` text was scored by a language model, and has no source.
    """
    content = json.loads(as_json(number, source, translation, tokens=tokens))
    if monolingual:
        content.pop("source")
        content.pop("source_tokens", None)
    content["target"] = content.pop("translation")
    content["perplexity"] = round(translation.perplexity or 1.0, 6)
    content["tokens"] = len(translation.target_pieces)
    return json.dumps(content, ensure_ascii=False)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"
