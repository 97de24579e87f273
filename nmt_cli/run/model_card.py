"""README.md of a run directory: what the model is and how good it is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nmt_cli import __version__
from nmt_cli.config import PRESETS
from nmt_cli.run.directory import RunDirectory


def model_card(run: RunDirectory, *, parameters: int, best: Mapping[str, Any] | None) -> str:
    """The card in Markdown; `best` is the line of metrics.jsonl of the model to use, if there is one."""
    facts, config = run.facts, run.config
    preset = PRESETS[config.model.preset]
    changed = [
        f"`{name} = {getattr(getattr(config, name.partition('.')[0]), name.partition('.')[2])}`"
        for name, origin in run.resolved.provenance.items()
        if not origin.startswith(("default", "preset", "data")) and name != "model.preset"
    ]
    sources = len(run.vocabularies.source), len(run.vocabularies.target)
    pieces = f"{sources[0]:,} shared" if run.vocabularies.joint else f"{sources[0]:,} and {sources[1]:,}"
    lines = [
        f"# Translation from {facts.source_lang} to {facts.target_lang}",
        "",
        f"- System: `{config.model.preset}`, {preset.title} ({preset.paper}); {parameters:,} parameters",
        f"- Vocabulary: {pieces} {config.vocabulary.kind} pieces",
        f"- Data: `{Path(facts.data).name}` (manifest SHA-256 {facts.data_sha256[:12]}…)",
        f"- Settings other than the defaults: {', '.join(changed) or 'none'}; all are in `config.json`",
        f"- Made by nmt {__version__}",
        "",
        "## Scores on the validation set",
        "",
        *_scores(best),
    ]
    return "\n".join(lines) + "\n"


def _scores(best: Mapping[str, Any] | None) -> list[str]:
    if best is None:
        return ["None yet."]
    averaged = best.get("averaged")
    what = f"the mean of updates {', '.join(map(str, averaged))}" if averaged else f"update {best['update']}"
    return [
        f"Of {what}:",
        "",
        "| score | value | signature |",
        "| --- | ---: | --- |",
        f"| BLEU | {best['bleu']:.1f} | `{best['bleu_signature']}` |",
        f"| chrF2 | {best['chrf']:.1f} | `{best['chrf_signature']}` |",
        f"| perplexity | {best['perplexity']:.2f} | a subword token, teacher forcing |",
    ]
