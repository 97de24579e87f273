"""Any JSON at any place of any JSON file, with matching hashes, gives a clean error or a valid directory."""

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fork_server import ForkServer
from tests.fuzz.contents import HUGE, TEXTS, paths, replaced, written
from tests.fuzz.mutations import sign
from tests.fuzz.originals import KINDS, Originals
from tests.fuzz.trial import run_mutated

LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from([*HUGE, *TEXTS])
)
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3)
)


@pytest.mark.parametrize(
    ("kind", "command", "file"),
    [
        ("run", "translate", "manifest.json"),
        ("run", "translate", "config.json"),
        ("run", "evaluate", "run.json"),
        ("run", "resume", "state/current.json"),
        ("data", "train", "corpora.json"),
        ("data", "train", "config.json"),
    ],
)
@settings(
    max_examples=6,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(draw=st.data())
def test_any_json_is_rejected_or_valid(
    kind: str, command: str, file: str, draw: st.DataObject, originals: Originals, server: ForkServer
) -> None:
    def mutate(directory: Path, outside: Path) -> bool:
        document: Any = json.loads((directory / file).read_text("utf-8"))
        place = draw.draw(st.sampled_from(list(paths(document))))
        text = written(replaced(document, place, draw.draw(VALUES)))
        (directory / file).write_text(text, "utf-8", errors="surrogatepass")
        sign(directory)
        return True

    what = KINDS[kind]
    with tempfile.TemporaryDirectory() as folder:
        arguments = what.commands[command], what.folder, mutate, originals.folder, server, Path(folder)
        verdict = run_mutated(*arguments, intact=None)
    assert not verdict.is_finding, f"{verdict.name}\n{verdict.details}"
