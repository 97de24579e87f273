"""A damaged or forged directory gives a clean error or does no harm: a fixed sample of what `make fuzz` draws."""

import random
from pathlib import Path

import pytest

from tests.fork_server import ForkServer, Outcome
from tests.fuzz.mutations import MUTATIONS
from tests.fuzz.originals import KINDS, Originals, standard_output
from tests.fuzz.trial import Trial, files_of, judge, run_trial

COMMANDS = [(kind, command) for kind in KINDS for command in KINDS[kind].commands]


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_every_mutation_is_rejected_or_harmless(
    mutation: str, originals: Originals, server: ForkServer, tmp_path: Path
) -> None:
    dice = random.Random(mutation)
    trials = [
        Trial(kind, command, mutation, forged, file, dice.randrange(100))
        for kind, command in COMMANDS
        for file in files_of(originals.folder / KINDS[kind].folder)
        for forged in (False, True)
    ]
    dice.shuffle(trials)
    assert check(trials, 2, originals, server, tmp_path) == 2


@pytest.mark.parametrize(("kind", "command"), COMMANDS)
def test_every_command_rejects_mutated_files_or_is_not_affected(
    kind: str, command: str, originals: Originals, server: ForkServer, tmp_path: Path
) -> None:
    dice = random.Random(f"{kind} {command}")
    files = files_of(originals.folder / KINDS[kind].folder)
    assert len(files) > 8
    trials = [
        Trial(kind, command, mutation, forged, file, dice.randrange(100))
        for file in files
        for mutation in MUTATIONS
        for forged in (False, True)
    ]
    dice.shuffle(trials)
    assert check(trials, 3, originals, server, tmp_path) == 3


def check(trials: list[Trial], most: int, originals: Originals, server: ForkServer, folder: Path) -> int:
    """Run the first trials that apply; their number. A finding fails the test with the command that repeats it."""
    done = 0
    for number, trial in enumerate(trials):
        if done == most:
            break
        verdict = run_trial(trial, originals, server, folder / str(number))
        assert not verdict.is_finding, f"{verdict.name}\n{verdict.details}\nmake fuzz TRIAL='{trial}'"
        done += verdict.name != "not applicable"
    return done


@pytest.mark.parametrize(
    ("code", "stdout", "stderr", "finding"),
    [
        (0, b"same", b"", None),
        (1, b"", b"warning: w\nhint: h\nerror: e\nhint: h\n", None),
        (0, b"other", b"", "silently another result"),
        (1, b"", b"error: e\n", "not one error and one hint"),
        (1, b"", b"error: e\nerror: f\nhint: h\n", "not one error and one hint"),
        (1, b"", b"error: internal error: KeyError: 3\nhint: this is a bug\n", "internal error"),
        (1, b"", b"error: \x1b[31me\nhint: h\n", "raw control characters"),
        (0, b"sam\x07e", b"", "raw control characters"),
        (3, b"", b"error: e\nhint: h\n", "exit code 3"),
        (-11, b"", b"", "killed by signal 11"),
    ],
)
def test_only_a_clean_error_or_the_same_result_is_not_a_finding(
    code: int, stdout: bytes, stderr: bytes, finding: str | None, tmp_path: Path
) -> None:
    command = KINDS["run"].commands["translate"]
    assert command.result is standard_output
    verdict = judge(command, tmp_path, Outcome(code, stdout, stderr), b"same")
    assert verdict.is_finding == (finding is not None)
    assert finding in (None, verdict.name)
