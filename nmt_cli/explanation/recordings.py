"""Explaining transcripts: when a speech recognition model listens at each character, as a heat map over time."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import exp
from pathlib import Path
from typing import Any

from markupsafe import Markup

from nmt_cli.drawing.attention import attention_svg
from nmt_cli.explanation.images import picture_page
from nmt_cli.translator import Details, Transcriber
from nmt_cli.translator.translation import END

_LABELS = 12  # on the time axis, at least if there are so many positions


@dataclass(frozen=True)
class AttendedRecording:
    """A transcript, and when the model listened at each of its characters (or other tokens)."""

    title: str
    transcript: str
    tokens: tuple[str, ...]
    times: tuple[str, ...]  # when each position begins, in seconds
    weights: tuple[tuple[float, ...], ...]  # (tokens, positions); () without attention
    confidence: tuple[float, ...]  # of each token

    def svg(self) -> str:
        """The heat map; not every position has a label."""
        every = max(1, len(self.times) // _LABELS)
        labels = [f"{time} s" if at % every == 0 else "" for at, time in enumerate(self.times)]
        return attention_svg(labels, self.tokens, self.weights, title=self.transcript)


def explain_recording(transcriber: Transcriber, path: Path, *, title: str) -> AttendedRecording:
    """Transcribe a recording and report when the model listened."""
    [(name, frames)] = transcriber.read(path)
    details = Details(scores=True, attention=transcriber.has_attention)
    [found] = transcriber.transcribe(transcriber.rows_of([frames]), [name], details=details)
    *pieces, _ = found.target_pieces
    weights = () if found.attention is None else tuple(map(tuple, found.attention.tolist()))
    return AttendedRecording(
        title=title,
        transcript=found.text,
        tokens=(*pieces, END),
        times=found.source_pieces,
        weights=weights,
        confidence=tuple(map(exp, found.token_log_probabilities or ())),
    )


def recording_page(recordings: Sequence[AttendedRecording]) -> str:
    """A page with the heat map of each recording and the confidence of each token."""
    return picture_page(
        title="nmt explain: transcripts",
        heading="When the model listens",
        introduction="A row for each character, a column for each moment of the recording.",
        explained=[
            (each.transcript, Markup(each.svg()) if each.weights else "", each.tokens, each.confidence)
            for each in recordings
        ],
    )


def recordings_json(recordings: Sequence[AttendedRecording]) -> str:
    """All numbers."""
    content: list[dict[str, Any]] = [
        {
            "title": each.title,
            "transcript": each.transcript,
            "times": list(map(float, each.times)),
            "tokens": [
                {
                    "token": token,
                    "confidence": round(each.confidence[row], 6),
                    "attention": [round(weight, 6) for weight in each.weights[row]] if each.weights else None,
                }
                for row, token in enumerate(each.tokens)
            ],
        }
        for each in recordings
    ]
    return json.dumps(content, ensure_ascii=False, indent=2) + "\n"
