"""recipe.json in the output directory: which steps of a recipe are done, and with which inputs."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Literal

from nmt_cli.errors import DirectoryError
from nmt_cli.files.atomic import new_file
from nmt_cli.files.guarded import parse_json

NAME = "recipe.json"
State = Literal["begun", "done"]


class StepLog:
    """The state of each step and the fingerprint of its inputs; every change is written immediately."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / NAME
        self._steps: dict[str, dict[str, str]] = {}
        if self.path.exists():
            self._steps = self._read()

    def state(self, step: str, fingerprint: str) -> State | Literal["other"] | None:
        """Whether the step was begun or done with these inputs; "other": with other inputs; None: never."""
        known = self._steps.get(step)
        if known is None:
            return None
        if known["fingerprint"] != fingerprint:
            return "other"
        return "done" if known["state"] == "done" else "begun"

    def before(self, step: str) -> str:
        """The identity of the output that existed when the step began."""
        return self._steps.get(step, {}).get("before", "")

    def note(self, step: str, fingerprint: str, state: State, *, before: str = "") -> None:
        """Record the state; `before` is the identity of the output that exists now."""
        self._steps[step] = {"fingerprint": fingerprint, "state": state, "before": before}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with new_file(self.path) as temporary, temporary.open("w", encoding="utf-8") as file:
            file.write(json.dumps({"steps": self._steps}, indent=2) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def _read(self) -> dict[str, dict[str, str]]:
        try:
            steps = parse_json(self.path.read_bytes())["steps"]
            return {
                str(name): {key: str(one[key]) for key in ("fingerprint", "state", "before")}
                for name, one in steps.items()
            }
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise DirectoryError(
                f"{self.path} is damaged", hint="choose another --out, or remove the file to start over"
            ) from error
