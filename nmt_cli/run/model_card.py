"""README.md of a run directory: what the model is, and its scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nmt_cli import __version__
from nmt_cli.config import PRESETS
from nmt_cli.drawing.markup import cell
from nmt_cli.files.guarded import GuardedDirectory
from nmt_cli.run.directory import RunDirectory
from nmt_cli.run.logs import ScoresLog, is_score

NAME = "README.md"
_TEST_SCORES = "## Scores on test sets"


def model_card(run: RunDirectory, *, parameters: int, best: Mapping[str, Any] | None) -> str:
    """The card in Markdown; `best` is the line of metrics.jsonl for the model, if any."""
    facts, config = run.facts, run.config
    preset = PRESETS[config.model.preset]
    changed = [
        f"`{name} = {getattr(getattr(config, name.partition('.')[0]), name.partition('.')[2])}`"
        for name, origin in run.resolved.provenance.items()
        if not origin.startswith(("default", "preset", "data")) and name != "model.preset"
    ]
    sources = len(run.vocabularies.source), len(run.vocabularies.target)
    pieces = f"{sources[0]:,} shared" if run.vocabularies.joint else f"{sources[0]:,} and {sources[1]:,}"
    network = config.data.backbone if config.model.source == "features" else None
    title, use = purpose(run)
    lines = [
        title,
        "",
        f"- System: `{config.model.preset}`, {preset.summary} ({preset.paper}); {parameters:,} parameters",
        *([f"- Images: features of a pretrained `{network}`"] if network is not None else []),
        f"- Vocabulary: {pieces} {config.vocabulary.kind} pieces",
        f"- Data: `{Path(facts.data).name}` (manifest SHA-256 {facts.data_sha256[:12]}…)",
        f"- Non-default settings: {', '.join(changed) or 'none'}; all settings are in `config.json`",
        f"- Made with nmt {__version__}",
        f"- {use}",
        "",
        "## Scores on the validation set",
        "",
        *_scores(best, token="token" if config.vocabulary.kind == "char" else "subword token"),
    ]
    if tested := _scores_of_model(run.path, run.model_sha256):
        lines += ["", *_test_scores(tested)]
    return "\n".join(lines) + "\n"


def purpose(run: RunDirectory) -> tuple[str, str]:
    """A heading that says what the model does, and the command to use it."""
    facts = run.facts
    if run.config.model.is_language_model:
        use = "Continue text with: `nmt generate DIRECTORY TEXT`, where DIRECTORY is this one"
        return f"# Language model for {facts.target_lang}", use
    if run.config.model.reads_frames:
        use = "Transcribe recordings with: `nmt transcribe DIRECTORY FILE`, where DIRECTORY is this one"
        return f"# Speech recognition in {facts.target_lang}", use
    if run.config.model.reads_images:
        use = "Describe images with: `nmt caption DIRECTORY IMAGE`, where DIRECTORY is this one"
        return f"# Image captions in {facts.target_lang}", use
    use = "Translate with: `nmt translate DIRECTORY < text`, where DIRECTORY is this one"
    return f"# Translation from {facts.source_lang} to {facts.target_lang}", use


def _scores(best: Mapping[str, Any] | None, *, token: str) -> list[str]:
    if best is None:
        return ["None yet."]
    averaged = best.get("averaged")
    what = (
        f"the average of updates {', '.join(map(str, averaged))}" if averaged else f"update {best['update']}"
    )
    return [
        f"Scores of {what}:",
        "",
        "| score | value | signature |",
        "| --- | ---: | --- |",
        *(
            f"| {name} | {best[key]:.1f} | `{cell(best[f'{key}_signature'])}` |"
            for name, key in (("WER", "wer"), ("CER", "cer"), ("BLEU", "bleu"), ("chrF2", "chrf"))
            if key in best
        ),
        f"| perplexity | {best['perplexity']:.2f} | per {token}, teacher forcing |",
    ]


def update_scores(folder: Path, *, model_sha256: str) -> None:
    """Update the test scores in the card from scores.jsonl; the rest of the card is unchanged."""
    directory = GuardedDirectory(folder)
    card = directory.read(NAME).decode(errors="replace") if directory.exists(NAME) else ""
    before = card.partition(_TEST_SCORES)[0].rstrip("\n")
    section = _test_scores(_scores_of_model(folder, model_sha256))
    directory.write_text(NAME, "\n".join([before, "", *section] if before else section) + "\n")


def _scores_of_model(folder: Path, model_sha256: str | None) -> list[dict[str, Any]]:
    """The scores of this model only, not of an earlier model of the same run."""
    records = (record for record in ScoresLog(folder).read() if is_score(record))
    return [record for record in records if record.get("model_sha256") == model_sha256]


def _test_scores(records: Sequence[Mapping[str, Any]]) -> list[str]:
    """The latest score for each combination of test set, metric, signature and search settings."""
    rows: dict[tuple[str, ...], str] = {}
    for record in records:
        test_set = f"{record['test_set']} ({record['sentences']:,} sentences, SHA-256 {_short(record)})"
        beam = record["search"].get("beam_size")
        for score in record["scores"]:
            interval = f" ± {score['interval']:.1f}" if score["interval"] is not None else ""
            test_sha256, search = record["references"][0]["sha256"], str(record["search"])
            key = (test_sha256, score["metric"], score["signature"], search)
            rows.pop(key, None)
            rows[key] = (
                f"| {cell(test_set)} | {score['metric']} | {score['score']:.1f}{interval} | {beam} "
                f"| `{cell(score['signature'])}` | {record['date'][:10]} |"
            )
    return [
        _TEST_SCORES,
        "",
        "From `nmt evaluate`; `scores.jsonl` has all details.",
        "",
        "| test set | score | value | beam | signature | date |",
        "| --- | --- | ---: | ---: | --- | --- |",
        *rows.values(),
    ]


def _short(record: Mapping[str, Any]) -> str:
    return f"{record['references'][0]['sha256'][:12]}…"
