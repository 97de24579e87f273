"""One trial: copy the directories, mutate one file, run one command, and judge."""

from __future__ import annotations

import json
import random
import re
import shutil
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from tests.fork_server import ForkServer, Outcome
from tests.fuzz.mutations import MUTATIONS, Surroundings, sign
from tests.fuzz.originals import KINDS, Command, Originals

# Control characters other than line feed and tab, and those that reverse the direction of text.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_PYTHON = re.compile(
    r"Traceback|internal error|this is a bug|\b[A-Z]\w*(Error|Exception|Warning)\b|out of memory"
)

State = dict[str, tuple[int, int, int]]  # type and mode, size, time of the last change


class Trial(NamedTuple):
    """What is done. Its text is its name on the command line."""

    kind: str
    command: str
    mutation: str
    forged: bool  # the hashes are those of the mutated file
    file: str
    seed: int

    def __str__(self) -> str:
        return ":".join([*self[:3], "forged" if self.forged else "damaged", self.file, str(self.seed)])

    @classmethod
    def parse(cls, text: str) -> Trial:
        """The trial with this name."""
        kind, command, mutation, state, file, seed = text.split(":")
        return cls(kind, command, mutation, state == "forged", file, int(seed))


class Verdict(NamedTuple):
    """`clean error` or `harmless`; anything else is a finding. `not applicable`: nothing was run."""

    name: str
    details: str = ""

    @property
    def is_finding(self) -> bool:
        """Whether the command did what no command may do."""
        return self.name not in ("clean error", "harmless", "not applicable")


def files_of(directory: Path) -> list[str]:
    """What can be mutated: every file, and every folder in the directory."""
    return sorted(str(path.relative_to(directory)) for path in directory.rglob("*"))


def all_trials(originals: Originals, dice: random.Random) -> Iterator[Trial]:
    """Every command, file and mutation in random order, over and over."""
    while True:
        trials = [
            Trial(kind_name, command, mutation, forged, file, dice.randrange(10**6))
            for kind_name, kind in KINDS.items()
            for file in files_of(originals.folder / kind.folder)
            for mutation in MUTATIONS
            for command in kind.commands
            for forged in (False, True)
        ]
        dice.shuffle(trials)
        yield from trials


def run_trial(trial: Trial, originals: Originals, server: ForkServer, place: Path) -> Verdict:
    """Do it in the new folder `place`."""
    kind = KINDS[trial.kind]

    def mutate(directory: Path, outside: Path) -> bool:
        surroundings = Surroundings(directory, outside, originals.others / kind.folder)
        applied = MUTATIONS[trial.mutation](directory / trial.file, random.Random(trial.seed), surroundings)
        if trial.forged:
            sign(directory)
        return applied is not False

    intact = originals.results[trial.kind, trial.command]
    return run_mutated(
        kind.commands[trial.command],
        kind.folder,
        mutate,
        originals.folder,
        server,
        place,
        None if trial.forged else intact,
    )


def run_mutated(
    command: Command,
    folder: str,
    mutate: Callable[[Path, Path], bool],
    originals: Path,
    server: ForkServer,
    place: Path,
    intact: bytes | None,
) -> Verdict:
    """Run a command on a mutated copy of `originals/folder`.

    `intact` is the result of the intact directory. None: the mutated one is valid and may have another result, since
    whoever can change a file and its hash can as well train another model.
    """
    here, outside = place / "here", place / "outside"
    shutil.copytree(originals, here, symlinks=True)
    make_outside(outside)
    if not mutate(here / folder, outside):
        return Verdict("not applicable")
    before = {root: state_of(root) for root in (outside, originals, here / folder)}
    arguments = (*command.arguments, *(command.if_forged if intact is None else ()))
    outcome = server.run(arguments, folder=here, stdin=command.stdin)
    for root in (outside, originals):
        if changed := _changed(before[root], state_of(root)):
            return Verdict("changed something outside the directory", ", ".join(changed))
    if command.may_change is not None:
        changed = _changed(before[here / folder], state_of(here / folder))
        if changed := [name for name in changed if name not in command.may_change]:
            return Verdict("changed the directory", ", ".join(changed))
    return judge(command, here, outcome, intact)


def judge(command: Command, folder: Path, outcome: Outcome, intact: bytes | None) -> Verdict:
    """The verdict on what the command printed and returned."""
    stderr = outcome.stderr.decode(errors="replace")
    shown = stderr[-2000:]
    if outcome.timed_out:
        return Verdict("never ended", shown)
    if outcome.code < 0:
        return Verdict(f"killed by signal {-outcome.code}", shown)
    if _PYTHON.search(stderr):
        return Verdict("internal error", shown)
    for text in (stderr, outcome.stdout.decode(errors="replace")):
        if found := _CONTROLS.search(text):
            return Verdict("raw control characters", repr(text[max(0, found.start() - 80) :][:200]))
    if outcome.code in (1, 2):
        return _judge_error(stderr)
    if outcome.code != 0:
        return Verdict(f"exit code {outcome.code}", shown)
    try:
        result = command.result(folder, outcome)
    except (OSError, ValueError, KeyError) as error:
        return Verdict("no result", repr(error))
    if intact is not None and result != intact:
        return Verdict("silently another result", f"{intact[:300]!r}\n{result[:300]!r}")
    return Verdict("harmless")


def _judge_error(stderr: str) -> Verdict:
    """One line that says what is wrong, then one that says what to do."""
    labels = [line.partition(":")[0] for line in stderr.splitlines()]
    if labels.count("error") != 1 or labels[-2:] != ["error", "hint"]:
        return Verdict("not one error and one hint", stderr[-2000:])
    if max(map(len, stderr.splitlines())) > 2000:
        return Verdict("an endless message", stderr[:300])
    return Verdict("clean error", stderr)


def make_outside(folder: Path) -> None:
    """Files that no command may change, of the kinds that an attacker would like to change."""
    (folder / "home" / "state").mkdir(parents=True)
    (folder / "home" / ".bashrc").write_text("# the user's\n", "utf-8")
    (folder / "home" / "scores.jsonl").write_text(json.dumps({"name": "the user's"}) + "\n", "utf-8")
    for name in ("README.md", "lock", "update-00000001.safetensors", ".x.partial-1", "manifest.json"):
        (folder / "home" / name).write_text("the user's\n", "utf-8")
        (folder / "home" / "state" / name).write_text("the user's\n", "utf-8")


def state_of(folder: Path) -> State:
    """Everything below a folder with type, size and time of the last change; links are not followed."""
    found = {}
    for path in folder.rglob("*"):
        status = path.lstat()
        is_folder = stat.S_ISDIR(status.st_mode)  # its time changes when a temporary file comes and goes
        details = (0, 0) if is_folder else (status.st_size, status.st_ctime_ns)
        found[str(path.relative_to(folder))] = (status.st_mode, *details)
    return found


def _changed(before: State, after: State) -> list[str]:
    return sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
