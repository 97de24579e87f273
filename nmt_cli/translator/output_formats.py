"""How a translated line is written. One line for one line, whatever the format."""

from __future__ import annotations

import json
from typing import Any

from nmt_cli.translator.translation import Translation
from nmt_cli.translator.words import pharaoh

_COLUMN = str.maketrans("\t\r\n", "   ")


def as_text(number: int, source: str, translation: Translation) -> str:
    """The translation and nothing else."""
    return translation.text


def as_tsv(number: int, source: str, translation: Translation, *, n_best: int = 1) -> str:
    """Source; translation and score, `n_best` times; links between words, if they were asked for.

    A tab within a text is written as a space. Where there are fewer translations, columns are empty.
    """
    columns = [source]
    for one in translation.n_best or (translation,):
        columns += [one.text, _number(one.score)]
    columns += [""] * (1 + 2 * n_best - len(columns))
    if translation.alignment is not None:
        columns.append(pharaoh(translation.alignment))
    return "\t".join(column.translate(_COLUMN) for column in columns)


def as_json(number: int, source: str, translation: Translation, *, tokens: bool = False) -> str:
    """One object on one line; numbers of lines count from 1.

    `tokens`: with the pieces of both sides, and the log-probability of each target piece.
    """
    content: dict[str, Any] = {"line": number, "source": source, **_figures(translation)}
    if translation.parts > 1:
        content["parts"] = translation.parts
    if translation.n_best is not None:
        content["n_best"] = [_figures(one) for one in translation.n_best]
    if tokens:
        content["source_tokens"], content["target_tokens"] = (
            translation.source_pieces,
            translation.target_pieces,
        )
        log_p = translation.token_log_probabilities or ()
        content["token_log_probabilities"] = [round(value, 4) for value in log_p]
    return json.dumps(content, ensure_ascii=False)


def _figures(translation: Translation) -> dict[str, Any]:
    figures: dict[str, Any] = {"translation": translation.text}
    if translation.score is not None and translation.log_probability is not None:
        figures["score"] = round(translation.score, 6)
        figures["log_probability"] = round(translation.log_probability, 6)
    if translation.alignment is not None:
        figures["alignment"] = pharaoh(translation.alignment)
    if translation.attention is not None:
        figures["attention"] = [[round(a, 4) for a in row] for row in translation.attention.tolist()]
    return figures


def as_score(number: int, source: str, translation: Translation) -> str:
    """log P and perplexity; nothing for two blank lines."""
    if not translation.parts:
        return ""
    return f"{_number(translation.log_probability)}\t{_number(translation.perplexity)}"


def as_links(number: int, source: str, translation: Translation) -> str:
    """Links between words and nothing else."""
    return pharaoh(translation.alignment or ())


def as_score_tsv(number: int, source: str, translation: Translation) -> str:
    """Source, target, log P, perplexity, number of tokens; links between words, if they were asked for."""
    figures = _number(translation.log_probability), _number(translation.perplexity)
    columns = [source, translation.text, *figures, str(len(translation.target_pieces))]
    if translation.alignment is not None:
        columns.append(pharaoh(translation.alignment))
    return "\t".join(column.translate(_COLUMN) for column in columns)


def as_score_json(number: int, source: str, translation: Translation, *, tokens: bool = False) -> str:
    """One object on one line."""
    content = json.loads(as_json(number, source, translation, tokens=tokens))
    content["target"] = content.pop("translation")
    content["perplexity"] = round(translation.perplexity or 1.0, 6)
    content["tokens"] = len(translation.target_pieces)
    return json.dumps(content, ensure_ascii=False)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"
