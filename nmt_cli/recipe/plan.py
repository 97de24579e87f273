"""The plan of a recipe: one `nmt` command per step. The commands that are shown are the ones that run.

recipe.json in the output directory says which steps are done.
"""

from __future__ import annotations

import hashlib
import json
import shlex
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from nmt_cli.config import resolve
from nmt_cli.config.defaults import DEVICE, RECIPE_PROCESSES
from nmt_cli.errors import DirectoryError, UsageError
from nmt_cli.files.atomic import MANIFEST
from nmt_cli.files.guarded import GuardedDirectory
from nmt_cli.files.languages import text_names
from nmt_cli.recipe.definition import NamedRecipe, Verdict, assignments, check_score
from nmt_cli.recipe.sources import SETS, Corpora, Report, fetch, fetched, local_sizes
from nmt_cli.recipe.step_log import StepLog

_DIRECTORIES = ("demo-data", "preprocess", "train")  # commands that replace a directory only with --overwrite
_MODEL = "model.safetensors"
# A tiny model trained for a minute at most: enough to check that every step works.
SMOKE = (
    "model.embedding_size=32",
    "model.hidden_size=32",
    "train.batch_tokens=512",
    "train.accumulate=1",
    "train.max_epochs=0",
    "train.max_updates=20",
    "train.warmup_updates=5",
    "train.validate_every=10",
    "train.save_every=10",
    "train.validate_sentences=10",
    "train.average_best=1",
    "search.beam_size=2",
    "search.max_length=60",
)
# A few hundred pairs are not enough for that many pieces.
_NOT_IN_SMOKE = ("vocabulary.size", "vocabulary.sample")


@dataclass(frozen=True, kw_only=True)
class Choices:
    """The options of the user."""

    out: Path
    smoke: bool = False
    settings: Sequence[str] = ()  # arguments of --set
    processes: int = RECIPE_PROCESSES
    device: str = DEVICE
    threads: int | None = None
    overwrite: bool = False
    monolingual: Sequence[str] = ()  # SPECs of text in the target language, for back-translation
    sample: bool = False  # back-translations are sampled instead of found by beam search


@dataclass(frozen=True)
class RecipeStep:
    """One command. `fingerprint` identifies its inputs and settings, apart from `machine`."""

    name: str
    command: tuple[str, ...]  # without `nmt`
    output: Path
    fingerprint: str
    processes: int = 1
    machine: tuple[str, ...] = ()  # options that affect only the speed
    redirected: bool = False  # standard output goes to `output`
    valuable: bool = False  # its output takes long to make, so it is not replaced without --overwrite

    @property
    def arguments(self) -> list[str]:
        """The complete command without `nmt`."""
        return [*self.command, *self.machine]

    def shown(self) -> str:
        """The command as a user would type it."""
        program = ["nmt"]
        if self.processes > 1:
            program = ["torchrun", "--standalone", "--nproc-per-node", str(self.processes), "-m", "nmt_cli"]
        redirection = f" > {shlex.quote(str(self.output))}" if self.redirected else ""
        return shlex.join([*program, *self.arguments]) + redirection


class StepPlan(ABC):
    """Creates steps, one at a time, since a step depends on the output of the previous one."""

    def __init__(self, choices: Choices) -> None:
        self._choices = choices
        refuse_links(choices.out)
        self._log = StepLog(choices.out)

    @abstractmethod
    def steps(self) -> Iterator[RecipeStep]:
        """All commands; each is created when the one before it is done."""

    def number_of_steps(self) -> int:
        """How many commands there are."""
        return sum(1 for _ in self.steps())

    def is_done(self, step: RecipeStep) -> bool:
        """Whether its output exists and was made with the same inputs and settings."""
        return self._log.state(step.name, step.fingerprint) == "done" and _is_complete(step.output)

    def begin(self, step: RecipeStep) -> None:
        """Record that a step has begun."""
        if self._log.state(step.name, step.fingerprint) != "begun":
            self._log.note(step.name, step.fingerprint, "begun", before=_identity(step.output))

    def finish(self, step: RecipeStep) -> None:
        """Record that a step is done."""
        self._log.note(step.name, step.fingerprint, "done")

    def protect_other(self, step: RecipeStep) -> None:
        """Raise an error if the step would replace data or a model made with other settings, unless asked to."""
        other = self._log.state(step.name, step.fingerprint) == "other"
        if step.valuable and other and step.output.exists() and not self._choices.overwrite:
            raise UsageError(
                f"{step.output} was made with other settings or other text",
                hint="choose another --out, or start over from this step with --overwrite",
            )

    def _step(
        self,
        name: str,
        command: Sequence[str],
        output: Path,
        before: str,
        machine: Sequence[str],
        *,
        valuable: bool = False,
    ) -> RecipeStep:
        fingerprint = fingerprint_of([name, command, before])
        processes = self._choices.processes if command[0] == "train" else 1
        step = RecipeStep(
            name,
            tuple(command),
            output,
            fingerprint,
            processes,
            tuple(machine),
            valuable=valuable or command[0] in _DIRECTORIES,
        )
        return replace(step, machine=(*machine, "--overwrite")) if self._replaces(step) else step

    def _resumed(self, step: RecipeStep) -> RecipeStep:
        """The same training, resumed if it was interrupted."""
        begun = self._log.state(step.name, step.fingerprint) == "begun"
        if not begun or not _is_complete(step.output) or self._is_old(step):
            return step
        command = ("train", "--resume", str(step.output))
        return replace(step, command=command, machine=tuple(self._machine()))

    def _replaces(self, step: RecipeStep) -> bool:
        """Whether the step replaces an existing output, and may."""
        if step.command[0] not in _DIRECTORIES or not step.output.exists():
            return False
        state = self._log.state(step.name, step.fingerprint)
        if state == "begun":  # it was killed: the output may be new, or still the one to be replaced
            return step.command[0] != "train" or self._is_old(step)
        return state == "other" and self._choices.overwrite

    def _is_old(self, step: RecipeStep) -> bool:
        """Whether a step was killed before it replaced the old output."""
        before = self._log.before(step.name)
        return bool(before) and _identity(step.output) == before

    def _machine(self) -> list[str]:
        choices = self._choices
        device = ["--device", choices.device] if choices.device != DEVICE else []
        return [*device, *(["--threads", str(choices.threads)] if choices.threads is not None else [])]


def refuse_links(folder: Path) -> None:
    """Results are written to files in this folder: a link would lead them elsewhere. Its folders may be links."""
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if not path.is_dir() and (path.is_symlink() or not path.is_file()):
            kind = "a symbolic link" if path.is_symlink() else "a pipe or a device"
            raise DirectoryError(
                f"{path} is {kind}, so {folder} is not used", hint="remove it, or choose another --out"
            )


def model_of(run: Path) -> str:
    """Identifies the model of a run."""
    try:
        files = GuardedDirectory(run).read_json(MANIFEST)["files"]
        return str(files[_MODEL]["sha256"])
    except (OSError, ValueError, KeyError, TypeError, DirectoryError):  # no model yet
        return "no model"


def set_options(texts: Sequence[str]) -> list[str]:
    """Settings as options."""
    return [part for text in texts for part in ("--set", text)]


def key_of(text: str) -> str:
    """The key of an argument of --set."""
    return text.partition("=")[0].strip()


def fingerprint_of(content: object) -> str:
    """A short hash of anything that JSON can hold."""
    return hashlib.sha256(json.dumps(content, ensure_ascii=False).encode()).hexdigest()[:16]


def _identity(output: Path) -> str:
    """Identifies a data or run directory by its settings and the text or data it was made from."""
    names = ("config.json", "run.json", "corpora.json")
    directory = GuardedDirectory(output)
    content = []
    for name in names:
        with suppress(OSError):  # no directory yet
            if directory.exists(name):
                content.append(directory.read(name).decode(errors="replace"))
    return fingerprint_of(content) if content else ""


def _is_complete(output: Path) -> bool:
    return (output / MANIFEST).exists() if output.is_dir() else output.exists()


class RecipePlan(StepPlan):
    """The steps after `fetch`, created one at a time, since a step depends on the output of the previous one."""

    def __init__(self, named: NamedRecipe, corpora: Corpora, choices: Choices) -> None:
        super().__init__(choices)
        self.corpora, self._named = corpora, named
        self._settings = _by_step(named, choices)
        self.text, self.data, self.run = choices.out / "text", choices.out / "data", choices.out / "run"
        self.hypotheses = choices.out / f"test.hyp.{named.recipe.target_lang}"
        self.report = choices.out / "report.html"

    def fetch_fingerprint(self) -> str:
        """Identifies what is fetched."""
        sizes = local_sizes(self.corpora, self._named.recipe)
        sets = {name: self.corpora.of(name) for name in SETS}
        return fingerprint_of(["fetch", sets, sizes, self._choices.smoke])

    def fetch(self, report: Report) -> None:
        """Download and write what `preprocess` reads."""
        fingerprint = self.fetch_fingerprint()
        self._log.note("fetch", fingerprint, "begun")  # so that half-written text is not taken for complete
        self._write_text(report)
        self._log.note("fetch", fingerprint, "done")

    def _write_text(self, report: Report) -> None:
        fetch(self.corpora, self._named.recipe, self.text, smoke=self._choices.smoke, report=report)

    def steps(self) -> Iterator[RecipeStep]:
        """See StepPlan."""
        yield self.preprocess()
        yield self.train()
        yield self.translate()
        yield self.evaluate()

    def verdict(self) -> Verdict:
        """Whether the score is as expected."""
        return check_score(self._named.expected, self.run)

    def preprocess(self) -> RecipeStep:
        """From text to a data directory."""
        languages, before = self._named.recipe.languages, self.fetch_fingerprint()
        return self._preprocess_step("preprocess", languages, self._fetched(), self.data, before)

    def _preprocess_step(
        self, name: str, languages: tuple[str, str], corpora: Corpora, data: Path, before: str
    ) -> RecipeStep:
        command = ["preprocess", "--source-lang", languages[0], "--target-lang", languages[1]]
        for split in SETS:
            for spec in corpora.of(split):
                command += [f"--{split}", spec]
        command += ["--out", str(data), *set_options(self._settings["preprocess"])]
        machine = ["--workers", "1"] if self._choices.smoke else []
        return self._step(name, command, data, before, machine)

    def train(self) -> RecipeStep:
        """From a data directory to a run directory; an interrupted run is resumed."""
        return self._train_step("train", self.data, self.run, self.preprocess().fingerprint)

    def _train_step(self, name: str, data: Path, run: Path, before: str) -> RecipeStep:
        command = ["train", str(data), "--out", str(run), *set_options(self._settings["train"])]
        return self._resumed(self._step(name, command, run, before, self._machine()))

    def translate(self) -> RecipeStep:
        """Translate the test set."""
        recipe = self._named.recipe
        source = self.run / text_names("test", *recipe.languages)[0]
        command = ["translate", str(self.run), "--input", str(source), "--output", str(self.hypotheses)]
        command += set_options(self._settings["search"])
        return self._step("translate", command, self.hypotheses, model_of(self.run), self._machine())

    def evaluate(self) -> RecipeStep:
        """Score the test set, write a report, and record the scores in the run."""
        expected = self._named.expected
        command = ["evaluate", str(self.run), "--report", str(self.report)]
        if expected.metric == "accuracy":
            command += ["--metrics", "accuracy"]
        if expected.tokenize is not None:
            command += ["--tokenize", expected.tokenize]
        if expected.lowercase:
            command.append("--lowercase")
        command += set_options(self._settings["search"])
        return self._step("evaluate", command, self.report, model_of(self.run), self._machine())

    def protect_all(self) -> None:
        """Raise an error before anything is done if a later step would replace what it must not."""
        for step in self.steps():
            self.protect_other(step)

    @property
    def is_remote(self) -> bool:
        """Whether anything comes from the hub or from the web."""
        return self.corpora.remote

    def is_fetched(self) -> bool:
        """Whether the same corpora have been fetched and are still there."""
        done = self._log.state("fetch", self.fetch_fingerprint()) == "done"
        return done and (self.text.is_dir() or not self._writes_text())

    def _writes_text(self) -> bool:
        return self._fetched() != self.corpora

    def _fetched(self) -> Corpora:
        return fetched(self.corpora, self._named.recipe, self.text, smoke=self._choices.smoke)


def _by_step(named: NamedRecipe, choices: Choices) -> dict[str, list[str]]:
    """The settings of each step: those of the recipe, then of a smoke run, then of the user.

    Search settings of the recipe go into the run; search settings of the user only affect translation.
    """
    recipe = named.recipe
    texts = assignments(recipe.settings) + assignments(recipe.processes.get(choices.processes, {}))
    if choices.smoke:
        texts = [text for text in texts if key_of(text) not in _NOT_IN_SMOKE] + list(SMOKE)
    resolve(None, [*texts, *choices.settings])  # reports all mistakes at once, before anything runs
    search = [text for text in choices.settings if key_of(text).startswith("search.")]
    merged = {key_of(text): text for text in [*texts, *choices.settings] if text not in search}
    preprocess = [text for key, text in merged.items() if key.startswith(("data.", "vocabulary."))]
    return {
        "preprocess": preprocess,
        "train": [text for text in merged.values() if text not in preprocess],
        "search": search,
    }
