"""README.md of an exported folder: what the model is and how to use it, with the front matter of a model hub."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from nmt_cli import __version__
from nmt_cli.config import PRESETS
from nmt_cli.export.graph import OPSET

if TYPE_CHECKING:
    from nmt_cli.export.shortlist import ChosenShortlist
    from nmt_cli.run import RunDirectory


def model_card(run: RunDirectory, settings: Mapping[str, Any], shortlist: ChosenShortlist | None) -> str:
    """The card in Markdown."""
    facts, preset = run.facts, PRESETS[run.config.model.preset]
    size = run.config.model
    lines = [
        "---",
        "language:",
        *(f"- {language}" for language in (facts.source_lang, facts.target_lang)),
        "pipeline_tag: translation",
        "library_name: onnxruntime",
        "tags:",
        "- translation",
        "- onnx",
        "- nmt",
        "---",
        "",
        f"# Translation from {facts.source_lang} to {facts.target_lang}",
        "",
        "```sh",
        "pip install -r requirements.txt",
        "python translate.py < input.txt > output.txt",
        "```",
        "",
        "Or, with `nmt` installed: `nmt translate FOLDER < input.txt > output.txt`.",
        "",
        f"- System: `{run.config.model.preset}`, {preset.summary} ({preset.paper})",
        f"- Sizes: embeddings {size.embedding_size}, hidden states {size.hidden_size}, "
        f"vocabulary {len(run.vocabularies.target):,}",
        f"- Weights: {'int8' if settings['int8'] else 'float32'}; ONNX opset {OPSET}",
        f"- Search: beam {settings['search']['beam_size']}, in `settings.json` with all other settings",
        f"- {'No shortlist' if shortlist is None else shortlist.text().capitalize()}",
        f"- Model SHA-256 {run.model_sha256}, data manifest SHA-256 {facts.data_sha256}",
        f"- Exported with nmt {__version__}",
        "- License: the run records no license of its training data; check it before you publish the model",
    ]
    return "\n".join(lines) + "\n"
