"""The score of a run, written where the run is: scores.jsonl and the model card."""

from __future__ import annotations

from pathlib import Path

from nmt_cli.evaluation.result import Evaluation, SystemResult
from nmt_cli.run.logs import ScoresLog
from nmt_cli.run.model_card import update_scores


def record(evaluation: Evaluation, system: SystemResult) -> None:
    """Append the scores of a run to its log, and show them in its card."""
    assert system.run is not None
    folder = Path(system.run.path)
    reference = evaluation.references[0]
    ScoresLog(folder).append(
        {
            "date": evaluation.created,
            "references": [text.model_dump() for text in evaluation.references],
            "source": evaluation.source.model_dump() if evaluation.source is not None else None,
            "test_set": Path(reference.name).name,
            "sentences": evaluation.sentences,
            "scores": [
                {
                    "metric": score.metric,
                    "score": score.score,
                    "interval": score.interval.half_width if score.interval is not None else None,
                    "signature": score.signature,
                }
                for score in system.scores
            ],
            "search": system.run.search,
            "model_sha256": system.run.model_sha256,
            "data_sha256": system.run.data_sha256,
            "hypotheses_sha256": system.text.sha256,
            "versions": evaluation.versions.model_dump(),
        }
    )
    update_scores(folder, model_sha256=system.run.model_sha256)
