"""The plan of a recipe: one `nmt` command per step. The commands that are shown are the ones that run."""

from __future__ import annotations

from nmt_cli.config import resolve
from nmt_cli.files.languages import text_names
from nmt_cli.recipe.definition import NamedRecipe, assignments
from nmt_cli.recipe.fetch import fetched
from nmt_cli.recipe.sources import SETS, Corpora, local_sizes
from nmt_cli.recipe.steps import (
    Choices,
    RecipeStep,
    StepPlan,
    fingerprint_of,
    key_of,
    model_of,
    set_options,
)

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

    def steps(self) -> list[RecipeStep]:
        """All commands, given what is on disk now."""
        return [self.preprocess(), self.train(), self.translate(), self.evaluate()]

    def preprocess(self) -> RecipeStep:
        """From text to a data directory."""
        recipe, corpora = self._named.recipe, self._fetched()
        command = ["preprocess", "--source-lang", recipe.source_lang, "--target-lang", recipe.target_lang]
        for name in SETS:
            for spec in corpora.of(name):
                command += [f"--{name}", spec]
        command += ["--out", str(self.data), *set_options(self._settings["preprocess"])]
        machine = ["--workers", "1"] if self._choices.smoke else []
        return self._step("preprocess", command, self.data, self.fetch_fingerprint(), machine)

    def train(self) -> RecipeStep:
        """From a data directory to a run directory; an interrupted run is resumed."""
        command = ["train", str(self.data), "--out", str(self.run), *set_options(self._settings["train"])]
        return self._resumed(
            self._step("train", command, self.run, self.preprocess().fingerprint, self._machine())
        )

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
        if expected.tokenize is not None:
            command += ["--tokenize", expected.tokenize]
        if expected.lowercase:
            command.append("--lowercase")
        command += set_options(self._settings["search"])
        return self._step("evaluate", command, self.report, model_of(self.run), self._machine())

    def is_fetched(self) -> bool:
        """Whether the same corpora have been fetched and are still there."""
        done = self._log.state("fetch", self.fetch_fingerprint()) == "done"
        return done and (self.text.is_dir() or not self._writes_text())

    def _writes_text(self) -> bool:
        return self._fetched() != self.corpora

    def _fetched(self) -> Corpora:
        return fetched(self.corpora, self._named.recipe, self.text, smoke=self._choices.smoke)


def make_plan(named: NamedRecipe, corpora: Corpora, choices: Choices) -> RecipePlan:
    """The plan for these options; unknown settings are rejected before anything runs."""
    return RecipePlan(named, corpora, choices)


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
