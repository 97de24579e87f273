"""From a run directory to a folder that translates without torch.

manifest.json            kind, opset, size and SHA-256 of every file
encoder.onnx             source ids → memory and first state
decoder.onnx             one step: tokens and state → the best candidates and the next state
shared.model             the vocabulary, or source.model and target.model
settings.json            search settings, normalization of text, what was exported
shortlist.npy            the likely target tokens of each source token, if there is a shortlist
translate.py             the runtime: python translate.py < input > output
requirements.txt         what it needs
README.md                model card
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from nmt_cli import __version__
from nmt_cli.config import PRESETS, Config, SearchConfig
from nmt_cli.errors import UsageError
from nmt_cli.export.opening import KIND
from nmt_cli.files.atomic import MANIFEST, new_directory
from nmt_cli.files.manifest import export_refusal, write_manifest
from nmt_cli.run import RunDirectory
from nmt_cli.runtime.folder import RuntimeFailure, SearchSettings

if TYPE_CHECKING:
    from nmt_cli.export.shortlist import ChosenShortlist
    from nmt_cli.model import Seq2Seq

ShortlistOption = Literal["auto", "none"] | int
Reporter = Callable[[str], None]
_LICENSE = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+-]*")


@dataclass(frozen=True)
class Exported:
    """What was written."""

    path: Path
    bytes: int
    shortlist: int | None  # tokens per source token


def export(
    run_path: Path,
    out: Path,
    *,
    int8: bool = False,
    shortlist: ShortlistOption = "auto",
    data: Path | None = None,
    search: Mapping[str, Any] | None = None,
    license_name: str | None = None,
    overwrite: bool = False,
    report: Reporter = lambda message: None,
) -> Exported:
    """Write the folder; it appears complete or not at all.

    int8           weights and matrix products in 8 bits
    shortlist      how many target tokens per source token; auto: as many as cost less than 0.1 BLEU, or none
    data           the data directory of the run, if it is no longer where it was in training
    search         settings that differ from those of the run
    license_name   of the model, an identifier such as cc-by-4.0, for the model card
    """
    from nmt_cli.export.shortlist import choose_shortlist

    if license_name is not None and not _LICENSE.fullmatch(license_name):
        raise UsageError(
            f"{license_name!r} is not a license identifier", hint="give one such as cc-by-4.0 or mit"
        )
    run = RunDirectory.open(run_path)
    run.check_kind(language_model=False)
    check_supported(run.config)
    config = run.config.search.changed(search or {})
    settings = _settings(run, config, int8=int8)
    model = run.load_model()
    with new_directory(out, overwrite=overwrite, refusal=export_refusal) as folder:
        run.vocabularies.save(folder)
        chosen = choose_shortlist(run, model, folder, settings, shortlist, data, int8=int8, report=report)
        write_graphs(folder, model, run.config, int8=int8, shortlist=chosen is not None)
        settings["shortlist"] = None if chosen is None else chosen.facts
        write_settings(folder, settings)
        (folder / "translate.py").write_text(runtime_script(), "utf-8")
        (folder / "requirements.txt").write_text(REQUIREMENTS, "utf-8")
        (folder / "README.md").write_text(model_card(run, settings, chosen, license_name), "utf-8")
        sign(folder)
        size = sum(path.stat().st_size for path in folder.iterdir())
    return Exported(out, size, None if chosen is None else chosen.size)


def check_supported(config: Config) -> None:
    """Refuse what has no graph, with the reason."""
    model = config.model
    window, only = (
        "it needs a window that moves with every step",
        "only attention over all positions is exported",
    )
    problems = {
        "attention_span": (model.attention_span != "global", window),
        "attention": (
            model.attention in ("location", "uniform"),
            "its scores do not depend on the source",
        ),
        "context_gate": (model.context_gate, "only an ungated context is exported"),
        "initial_state": (model.has_first_input, "only the other ways to start are exported"),
        "reverse_target": (model.reverse_target, "exported models write from left to right"),
        "hard_attention": (model.hard_attention, only),
        "coverage": (model.coverage, "its scores depend on the attention of all earlier steps"),
        "copying": (model.copying, "only models that generate every word are exported"),
        "heads": (
            model.heads is not None and model.cell != "transformer",
            "only the Transformer's heads are exported",
        ),
    }
    for name, (present, reason) in problems.items():
        if present:
            value = getattr(model, name)
            shown = str(value).lower() if isinstance(value, bool) else value
            raise UsageError(
                f"a model with model.{name} = {shown} cannot be exported: {reason}",
                hint="translate with the run directory",
            )


def write_graphs(folder: Path, model: Seq2Seq, config: Config, *, int8: bool, shortlist: bool) -> None:
    """encoder.onnx and decoder.onnx"""
    from nmt_cli.export.decoder import decoder_model
    from nmt_cli.export.encoder import encoder_model

    for name, build in (("encoder", encoder_model), ("decoder", decoder_model)):
        graph = build(model, config.model, int8=int8, shortlist=shortlist)
        (folder / f"{name}.onnx").write_bytes(graph.SerializeToString(deterministic=True))


def write_settings(folder: Path, settings: Mapping[str, Any]) -> None:
    """settings.json"""
    (folder / "settings.json").write_text(json.dumps(settings, indent=2, ensure_ascii=False) + "\n", "utf-8")


def sign(folder: Path) -> None:
    """manifest.json, the last file to be written; it names the opset of the graphs."""
    from nmt_cli.export.graph import OPSET

    write_manifest(folder, KIND)
    path = folder / MANIFEST
    content = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps({**content, "opset": OPSET}, indent=2, ensure_ascii=False) + "\n", "utf-8")


def _settings(run: RunDirectory, search: SearchConfig, *, int8: bool) -> dict[str, Any]:
    values = search.model_dump(mode="json", exclude={"seed"})
    try:
        SearchSettings().changed(**values)
    except RuntimeFailure as error:
        name = error.message.partition("search.")[2].partition(" ")[0]
        raise UsageError(
            error.message, hint=f"export with --set search.{name}=…, or translate with the run directory"
        ) from error
    normalization, vocabularies = run.normalization, run.vocabularies
    placeholders = normalization.placeholders
    return {
        "source_language": run.facts.source_lang,
        "target_language": run.facts.target_lang,
        "preset": run.config.model.preset,
        "search": values,
        "max_tokens": run.config.data.max_tokens,
        "lowercase": normalization.lowercase,
        "replacements": normalization.replacements,
        **({} if placeholders is None else {"placeholder_patterns": placeholders.patterns}),
        "vocabulary": [vocabularies.source.kind, vocabularies.target.kind],
        "int8": int8,
        "model_sha256": run.model_sha256,
        "data_sha256": run.facts.data_sha256,
    }


# README.md: the model card, with the front matter of a model hub


def model_card(
    run: RunDirectory,
    settings: Mapping[str, Any],
    shortlist: ChosenShortlist | None,
    license_name: str | None,
) -> str:
    """The card in Markdown."""
    from nmt_cli.export.graph import OPSET

    facts, preset = run.facts, PRESETS[run.config.model.preset]
    size, shortlist_text = run.config.model, "no shortlist" if shortlist is None else shortlist.text()
    unknown = "the run records no license of its training data; check it before you publish the model"
    lines = [
        "---",
        "language:",
        *(f"- {language}" for language in (facts.source_lang, facts.target_lang)),
        *([] if license_name is None else [f"license: {license_name.lower()}"]),
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
        f"- {shortlist_text[0].upper()}{shortlist_text[1:]}",
        f"- Training data: `{Path(facts.data).name}`",
        f"- Model SHA-256 {run.model_sha256}, data manifest SHA-256 {facts.data_sha256}",
        f"- Exported with nmt {__version__}",
        f"- License: {license_name or unknown}",
    ]
    return "\n".join(lines) + "\n"


# translate.py: the runtime as one file

# In the order in which they build on each other.
_MODULES = (
    "words",
    "segments",
    "placeholders",
    "folder",
    "search",
    "model",
    "translation",
    "translate",
)
_PACKAGE = "nmt_cli.runtime"

REQUIREMENTS = "numpy>=1.26\nonnxruntime>=1.18\nsentencepiece>=0.2.0\n"


def runtime_script() -> str:
    """All modules of the runtime in one, without their imports of each other."""
    files = resources.files(_PACKAGE)
    parts, names = [_HEADER], set[str]()
    for name in _MODULES:
        source = (files / f"{name}.py").read_text("utf-8")
        defined = _defined(source)
        assert not names & defined, f"two modules define {names & defined}"
        names |= defined
        parts.append(_without_own_imports(source, name))
    return "\n\n".join(parts)


_HEADER = '''\
"""Translate text with the model in this folder, line by line.

    pip install -r requirements.txt
    python translate.py < input.txt > output.txt

Written by `nmt export`: the runtime of nmt in one file. It needs NumPy, ONNX Runtime and sentencepiece, and reads
nothing outside this folder but the text. `python translate.py --help` lists the options.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
'''


def _defined(source: str) -> set[str]:
    """The names that a module defines at its top level."""
    names = set[str]()
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names.update(
                name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)
            )
    return names


def _without_own_imports(source: str, name: str) -> str:
    lines = source.splitlines()
    tree = ast.parse(source)
    dropped: set[int] = set()
    for position, node in enumerate(tree.body):
        is_docstring = position == 0 and isinstance(node, ast.Expr)
        is_own = isinstance(node, ast.ImportFrom) and (node.module or "").startswith((_PACKAGE, "__future__"))
        if is_docstring or is_own:
            assert node.end_lineno is not None
            dropped.update(range(node.lineno - 1, node.end_lineno))
    kept = "\n".join(line for i, line in enumerate(lines) if i not in dropped).strip("\n")
    return f"# {name}\n\n{kept}\n"
