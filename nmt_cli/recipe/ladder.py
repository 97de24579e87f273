"""A ladder: systems trained on the same generated text, each with one idea more than the one before.

ladder.toml defines it. The plan has one `nmt` command per step: text, data, a run for each rung, the scores of all of
them with greedy and with beam search, and explanations of a few sentences. `ladder_page` shows the results.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import Field

from nmt_cli.config import resolve
from nmt_cli.errors import UsageError
from nmt_cli.recipe.definition import Settings, TomlTable, assignments, read_toml, recipes_folder
from nmt_cli.recipe.plan import (
    SMOKE,
    Choices,
    RecipeStep,
    StepPlan,
    fingerprint_of,
    key_of,
    model_of,
    set_options,
)

LADDER = "ladder.toml"
LANGUAGES = ("en", "de")  # of the generated text
SMOKE_PAIRS = 300


class Rung(TomlTable):
    """One system."""

    name: str  # of its run directory
    title: str
    idea: str  # what is new, in a sentence
    preset: str
    settings: Settings = Field(default_factory=dict)


class Passage(TomlTable):
    """A sentence that every system translates, with its reference."""

    source: str
    reference: str
    attention: bool = False  # whether to draw attention maps of it


class Ladder(TomlTable):
    """ladder.toml."""

    title: str
    pairs: int
    clauses: int  # at most, per sentence
    time: str
    beam_size: int
    expect: tuple[str, ...]  # what the reader should see, in paragraphs
    settings: Settings = Field(default_factory=dict)  # of all rungs
    rung: tuple[Rung, ...] = Field(min_length=2)
    passage: tuple[Passage, ...] = Field(min_length=1)


@dataclass(frozen=True)
class NamedLadder:
    """A ladder with its name."""

    name: str
    ladder: Ladder


def ladder_names() -> list[str]:
    """All ladders, in alphabetical order."""
    return sorted(path.parent.name for path in recipes_folder().glob(f"*/{LADDER}"))


def find_ladder(name: str) -> NamedLadder:
    """The ladder of this name."""
    return NamedLadder(name, read_toml(recipes_folder() / name / LADDER, Ladder))


class LadderPlan(StepPlan):
    """The steps of a ladder; those of one rung depend only on the text and on its own settings."""

    def __init__(self, ladder: Ladder, choices: Choices) -> None:
        """Unknown settings are rejected here, before anything runs."""
        super().__init__(choices)
        self._ladder = ladder
        self.text, self.data = choices.out / "text", choices.out / "data"
        self.page = choices.out / "ladder.html"
        if choices.processes > 1:
            raise UsageError(
                "--processes: the models of a ladder are too small for several processes",
                hint="leave out --processes",
            )
        for rung in ladder.rung:
            resolve(None, self._settings(rung))

    def run(self, rung: Rung) -> Path:
        """The run directory of a rung."""
        return self._choices.out / rung.name

    def scores(self, search: str) -> Path:
        """The file with the scores of all rungs for "greedy" or "beam" search."""
        return self._choices.out / f"{search}.json"

    def explanations(self, rung: Rung) -> Path:
        """The file with the explanations of a rung."""
        return self._choices.out / f"{rung.name}.json"

    def steps(self) -> Iterator[RecipeStep]:
        """See StepPlan."""
        yield self._generate()
        yield self._preprocess()
        for rung in self._ladder.rung:
            yield self._train(rung)
        yield self._evaluate("greedy", 1)
        yield self._evaluate("beam", self._ladder.beam_size)
        for rung in self._ladder.rung:
            yield self._explain(rung)

    def _generate(self) -> RecipeStep:
        size = SMOKE_PAIRS if self._choices.smoke else self._ladder.pairs
        options = ["--size", str(size), "--clauses", str(self._ladder.clauses)]
        return self._step("text", ["demo-data", "--out", str(self.text), *options], self.text, "", ())

    def _preprocess(self) -> RecipeStep:
        command = ["preprocess", "--source-lang", LANGUAGES[0], "--target-lang", LANGUAGES[1]]
        for name in ("train", "valid", "test"):
            command += [f"--{name}", str(self.text / name)]
        settings = [text for text in self._common() if _is_data(text)]
        command += ["--out", str(self.data), *set_options(settings)]
        machine = ["--workers", "1"]  # the text is small
        return self._step("data", command, self.data, self._generate().fingerprint, machine)

    def _train(self, rung: Rung) -> RecipeStep:
        settings = [text for text in self._settings(rung)[1:] if not _is_data(text)]
        command = ["train", str(self.data), "--preset", rung.preset, "--out", str(self.run(rung))]
        command += set_options(settings)
        step = self._step(
            f"train {rung.name}", command, self.run(rung), self._preprocess().fingerprint, self._machine()
        )
        return self._resumed(step)

    def _evaluate(self, search: str, beam_size: int) -> RecipeStep:
        runs = [self.run(rung) for rung in self._ladder.rung]
        command = ["evaluate", *map(str, runs), "--json", "--set", f"search.beam_size={beam_size}"]
        step = self._step(f"evaluate {search}", command, self.scores(search), _models(runs), self._machine())
        return replace(step, redirected=True)

    def _explain(self, rung: Rung) -> RecipeStep:
        sentences = [passage.source for passage in self._ladder.passage]
        command = ["explain", str(self.run(rung)), *sentences, "--beam", "1", "--json"]
        command += ["--output", str(self.explanations(rung))]
        before = model_of(self.run(rung))
        return self._step(f"explain {rung.name}", command, self.explanations(rung), before, self._machine())

    def _common(self) -> list[str]:
        texts = assignments(self._ladder.settings)
        if self._choices.smoke:
            texts = [text for text in texts if not _is_data(text)] + list(SMOKE)
        return [*texts, *self._choices.settings]

    def _settings(self, rung: Rung) -> list[str]:
        """All settings of a rung, its preset first; the user's come last and win."""
        mine = len(self._choices.settings)
        common = self._common()
        texts = [*common[: len(common) - mine], *assignments(rung.settings), *self._choices.settings]
        return [f"model.preset={rung.preset}", *{key_of(text): text for text in texts}.values()]


def _is_data(text: str) -> bool:
    return key_of(text).startswith(("data.", "vocabulary."))


def _models(runs: Sequence[Path]) -> str:
    return fingerprint_of([model_of(run) for run in runs])
