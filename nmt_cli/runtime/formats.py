"""Output formats of translated and scored lines: one output line per input line in every format."""

from __future__ import annotations

import json
from typing import Any

from nmt_cli.runtime.words import pharaoh

COLUMN = str.maketrans("\t\r\n", "   ")


def as_text(number: int, source: str, translation: Any) -> str:
    """The translation alone."""
    return str(translation.text)


def as_tsv(number: int, source: str, translation: Any, *, n_best: int = 1) -> str:
    """Source; translation and score, `n_best` times; word alignment, if requested.

    Tabs within a text become spaces. Columns are empty where there are fewer than `n_best` translations.
    """
    columns = [source]
    for one in translation.n_best or (translation,):
        columns += [one.text, number_text(one.score)]
    columns += [""] * (1 + 2 * n_best - len(columns))
    if translation.alignment is not None:
        columns.append(pharaoh(translation.alignment))
    return "\t".join(column.translate(COLUMN) for column in columns)


def as_json(number: int, source: str, translation: Any, *, tokens: bool = False) -> str:
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


def _fields(translation: Any) -> dict[str, Any]:
    fields: dict[str, Any] = {"translation": translation.text}
    if translation.score is not None and translation.log_probability is not None:
        fields["score"] = round(translation.score, 6)
        fields["log_probability"] = round(translation.log_probability, 6)
    if translation.alignment is not None:
        fields["alignment"] = pharaoh(translation.alignment)
    if terms := getattr(translation, "terms", ()):  # an exported model knows none
        fields["terms"] = [{"source": one.source, "target": one.target, "met": one.met} for one in terms]
    if translation.attention is not None:
        fields["attention"] = [[round(a, 4) for a in row] for row in translation.attention.tolist()]
    return fields


def as_score(number: int, source: str, translation: Any) -> str:
    """log P and perplexity; an empty line for two blank lines."""
    if not translation.parts:
        return ""
    return f"{number_text(translation.log_probability)}\t{number_text(translation.perplexity)}"


def as_links(number: int, source: str, translation: Any) -> str:
    """The word alignment alone."""
    return pharaoh(translation.alignment or ())


def as_score_tsv(number: int, source: str, translation: Any) -> str:
    """Source, target, log P, perplexity, number of tokens; word alignment, if requested."""
    fields = number_text(translation.log_probability), number_text(translation.perplexity)
    columns = [source, translation.text, *fields, str(len(translation.target_pieces))]
    if translation.alignment is not None:
        columns.append(pharaoh(translation.alignment))
    return "\t".join(column.translate(COLUMN) for column in columns)


def as_score_json(
    number: int, source: str, translation: Any, *, tokens: bool = False, monolingual: bool = False
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


def number_text(value: float | None) -> str:
    """Four decimals, or nothing."""
    return "" if value is None else f"{value:.4f}"
