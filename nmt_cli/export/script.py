"""The runtime as one file, for the exported folder."""

from __future__ import annotations

import ast
from importlib import resources

# In the order in which they build on each other.
_MODULES = (
    "words",
    "segments",
    "formats",
    "search",
    "settings",
    "vocabulary",
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
