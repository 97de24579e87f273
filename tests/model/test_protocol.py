"""The protocol is all that training and search know of a model."""

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest
from torch import nn

import nmt_cli
from nmt_cli.model import Seq2Seq, TranslationModel

PACKAGE = Path(nmt_cli.__file__).parent
METHODS = {name for name in vars(TranslationModel) if not name.startswith("_")}
PROTOCOL = METHODS | set(TranslationModel.__annotations__)


def attributes_of_models(tree: ast.AST) -> Iterator[str]:
    """The attributes that are used of whatever is called `model`; `config.model` is not one."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            owner = ast.unparse(node.value)
            if owner.rpartition(".")[2] in ("model", "inference_model") and "config" not in owner:
                yield node.attr


def test_training_and_search_use_nothing_else_of_a_model() -> None:
    paths = [
        path for stage in ("training", "search", "translator") for path in (PACKAGE / stage).glob("*.py")
    ]
    sources = [path.read_text() for path in paths]
    trees = [ast.parse(source) for source in sources if "from nmt_cli.model" in source]
    used = {name for tree in trees for name in attributes_of_models(tree)}
    assert {
        "encode",
        "decode",
        "start",
        "step",
        "project",
        "loss",
        "learn_baseline",
    } <= used  # they are found
    assert used - PROTOCOL - set(dir(nn.Module())) == set()


@pytest.mark.parametrize("name", sorted(METHODS))
def test_a_model_has_the_parameters_of_the_protocol(name: str) -> None:
    wanted, found = (inspect.signature(getattr(kind, name)) for kind in (TranslationModel, Seq2Seq))
    assert [(p.name, p.kind, p.default) for p in wanted.parameters.values()] == [
        (p.name, p.kind, p.default) for p in found.parameters.values()
    ]
