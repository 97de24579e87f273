"""Back-translation: a model of the reverse direction translates monolingual text in the target language.

Its translations and the genuine text become training pairs (Sennrich et al. 2016). Everything that this adds to a
recipe is in DIR/back-translation: text (the parallel text as plain files, and monolingual.LANG), data and run of the
reverse model, and its translations, synthetic.LANG. Lines of monolingual text that occur in the validation or test set
are dropped in preprocessing. The settings of the recipe apply to both models; search settings of the user apply to the
test set only, as in every recipe.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, replace
from itertools import chain, islice
from pathlib import Path
from typing import TextIO

from nmt_cli.config import resolve
from nmt_cli.corpus import Spec, parse_spec, read_pairs
from nmt_cli.corpus.cleaning import normalization_of
from nmt_cli.corpus.duplicates import fingerprints
from nmt_cli.corpus.spec import MAX_WEIGHT, split_options
from nmt_cli.errors import CorpusError, UsageError
from nmt_cli.files.atomic import new_file
from nmt_cli.files.byte_stream import Progress
from nmt_cli.files.languages import text_names
from nmt_cli.recipe.definition import BackTranslation, NamedRecipe, Verdict, check_score
from nmt_cli.recipe.plan import Choices, RecipePlan, RecipeStep, fingerprint_of, refuse_links
from nmt_cli.recipe.sources import SETS, Corpora, Report, hub_files, is_remote, read_specs

_SMOKE_LINES = 100


def make_plan(named: NamedRecipe, corpora: Corpora, choices: Choices) -> RecipePlan:
    """The plan for these options; unknown settings are rejected before anything runs."""
    method = named.recipe.back_translation
    if choices.monolingual or (method is not None and method.share):
        return BackTranslationPlan(named, corpora, choices)
    if choices.sample:
        raise UsageError(
            "--sample applies only to back-translation",
            hint="add --monolingual SPEC, text in the target language",
        )
    return RecipePlan(named, corpora, choices)


class BackTranslationPlan(RecipePlan):
    """The steps of a recipe, and before them those that make training pairs of monolingual text."""

    def __init__(self, named: NamedRecipe, corpora: Corpora, choices: Choices) -> None:
        super().__init__(named, corpora, choices)
        self._method = named.recipe.back_translation or BackTranslation()
        if self._method.share and choices.monolingual:
            raise UsageError(
                f"--monolingual: {named.name} takes monolingual text from its own corpus",
                hint="leave it out, or choose another recipe",
            )
        if not (corpora.valid and corpora.test) and not corpora.stand_in:
            raise UsageError(
                "back-translation needs validation and test sets that are not held out from the training text",
                hint="choose a recipe with fixed sets, or add their files to the folder of --data",
            )
        if named.expected.metric == "accuracy":
            raise UsageError(
                f"back-translation: the targets of {named.name} are labels, so there is nothing to translate back",
                hint="choose another recipe",
            )
        self._source_lang, self._target_lang = named.recipe.languages
        self._specs = [self._monolingual_spec(text) for text in choices.monolingual]
        self._weight = self._method.weight * self._weight_of_specs()
        self._check_tag()
        folder = choices.out / "back-translation"
        self._plain, self._reverse_data, self._reverse_run = folder / "text", folder / "data", folder / "run"
        self._monolingual = self._plain / f"monolingual.{self._target_lang}"
        self._synthetic = folder / f"synthetic.{self._source_lang}"
        for directory in (folder, self._plain):
            refuse_links(directory)

    def _monolingual_spec(self, text: str) -> Spec:
        lang = self._target_lang
        forms = f"such as a file, x.tsv#2 or hf:ID#{lang}"
        try:
            spec = parse_spec(text, source_lang="", target_lang=lang)
        except (UsageError, CorpusError) as error:
            fits = "--source-lang" not in error.hint
            hint = error.hint if fits else f"give text in {lang}, {forms}"
            raise type(error)(f"--monolingual {error.message}", hint=hint) from error
        is_stdin = spec.kind == "text" and not spec.paths
        if is_stdin or any(path.exists() and not (path.is_file() or path.is_dir()) for path in spec.paths):
            raise UsageError(
                f"--monolingual {text}: not a file, so it cannot be read again when the recipe continues",
                hint="write the text to a file first",
            )
        return replace(spec, streaming=spec.kind == "hub" and (spec.streaming or self._choices.smoke))

    def _weight_of_specs(self) -> float:
        weights = {spec.weight for spec in self._specs}
        if len(weights) > 1:
            raise UsageError(
                "--monolingual: all texts become one corpus, so they need the same @weight",
                hint="repeat it after each of them",
            )
        weight = weights.pop() if weights else 1.0
        if weight * self._method.weight > MAX_WEIGHT:
            raise UsageError(
                f"--monolingual: @weight times the weight of the recipe, {self._method.weight:g}, is more than "
                f"{MAX_WEIGHT:g}",
                hint="choose a lower weight",
            )
        return weight

    def _check_tag(self) -> None:
        data = resolve(None, self._settings["preprocess"]).config.data
        changed = normalization_of(data)(self._method.tag)
        if changed != self._method.tag:
            raise UsageError(
                f"data.* settings change {self._method.tag}, the tag of back-translations, to {changed!r}",
                hint="choose data.lowercase, data.normalization and data.placeholder_patterns that leave it alone",
            )

    @property
    def is_remote(self) -> bool:
        """See RecipePlan."""
        return super().is_remote or any(is_remote(spec.text) for spec in self._specs)

    def verdict(self) -> Verdict:
        """See RecipePlan."""
        return check_score(self._named.expected, self.run, more_text=bool(self._specs))

    def steps(self) -> Iterator[RecipeStep]:
        """The reverse model and its translations, then the steps of the recipe."""
        yield self.preprocess_reverse()
        yield self.train_reverse()
        yield self.back_translate()
        yield from super().steps()

    def preprocess_reverse(self) -> RecipeStep:
        """The parallel text with source and target exchanged."""
        train, valid, test = (self._plain_specs(name, reverse=True) for name in SETS)
        corpora = Corpora(train, valid, test)
        languages = self._target_lang, self._source_lang
        return self._preprocess_step(
            "reverse data", languages, corpora, self._reverse_data, self._parallel_fingerprint()
        )

    def train_reverse(self) -> RecipeStep:
        """The reverse model, with the settings of the recipe."""
        before = self.preprocess_reverse().fingerprint
        return self._train_step("reverse model", self._reverse_data, self._reverse_run, before)

    def back_translate(self) -> RecipeStep:
        """The synthetic sources."""
        command = ["translate", str(self._reverse_run), "--input", str(self._monolingual)]
        command += ["--output", str(self._synthetic)]
        sampled = self._choices.sample or self._method.search == "sample"
        command += ["--sample"] if sampled else []
        before = fingerprint_of([self.fetch_fingerprint(), self.train_reverse().fingerprint])
        machine = self._machine()
        return self._step("back-translation", command, self._synthetic, before, machine, valuable=True)

    def preprocess(self) -> RecipeStep:
        """The parallel text and the synthetic pairs."""
        options = f"@weight={self._weight:g}@tag={self._method.tag}"
        train, valid, test = map(self._plain_specs, SETS)
        corpora = Corpora((*train, f"{self._synthetic},{self._monolingual}{options}"), valid, test)
        languages = self._named.recipe.languages
        return self._preprocess_step(
            "preprocess", languages, corpora, self.data, self.back_translate().fingerprint
        )

    def _plain_files(self, name: str) -> list[list[Path]]:
        """The source and target file of each corpus of a set."""
        corpora = len(self._fetched().of(name))
        names = [name] if corpora == 1 else [f"{name}-{number + 1}" for number in range(corpora)]
        languages = self._named.recipe.languages
        return [[self._plain / file for file in text_names(each, *languages)] for each in names]

    def _plain_specs(self, name: str, *, reverse: bool = False) -> tuple[str, ...]:
        """The plain files of a set as SPECs; a weight stays, a tag is for sources only."""
        specs = []
        for files, original in zip(self._plain_files(name), self._fetched().of(name), strict=True):
            options = split_options(original)[1]
            kept = [key for key in ("weight", "tag")[: 1 if reverse else 2] if key in options]
            paths = ",".join(map(str, reversed(files) if reverse else files))
            specs.append("".join([paths, *(f"@{key}={options[key]}" for key in kept)]))
        return tuple(specs)

    def _parallel_fingerprint(self) -> str:
        return fingerprint_of([super().fetch_fingerprint(), self._method.share])

    def fetch_fingerprint(self) -> str:
        """Identifies the parallel and the monolingual text."""
        paths = [path for spec in self._specs for path in (spec.paths or hub_files(spec.text))]
        files = [[str(path.resolve()), path.stat().st_size] for path in paths]
        choices = [asdict(replace(spec, text="", paths=(), weight=1.0)) for spec in self._specs]
        return fingerprint_of([self._parallel_fingerprint(), files, choices])

    def is_fetched(self) -> bool:
        """Whether the plain files are there, too."""
        plain = [self._monolingual, *(path for name in SETS for path in chain(*self._plain_files(name)))]
        return super().is_fetched() and all(path.exists() for path in plain)

    def _write_text(self, report: Report) -> None:
        """Fetch the corpora, and write them and the monolingual text as plain files."""
        self._plain.mkdir(parents=True, exist_ok=True)
        with _new_text(self._monolingual) as monolingual:
            self._write_monolingual(monolingual, report)  # before the rest is downloaded, which takes longer
            super()._write_text(report)
            for name in SETS:
                report(Progress(f"writing {name}", 0))
                for spec, files in zip(self._fetched().of(name), self._plain_files(name), strict=True):
                    self._write_pairs(spec, files, monolingual, self._method.share * (name == "train"))
            if not monolingual.tell():
                raise CorpusError(
                    "there is no monolingual text to translate back", hint="the training set is too small"
                )

    def _write_monolingual(self, file: TextIO, report: Report) -> None:
        """The text of `--monolingual`."""
        if not self._specs:
            return
        report(Progress("writing monolingual text", 0))
        try:
            texts = chain.from_iterable(map(_lines_of, self._specs))
            file.writelines(islice(texts, _SMOKE_LINES if self._choices.smoke else None))
        except CorpusError as error:
            raise CorpusError(f"--monolingual {error.message}", hint=error.hint) from error
        if not file.tell():
            raise CorpusError(
                f"--monolingual {', '.join(self._choices.monolingual)}: there are only blank lines",
                hint="give text in the target language, one sentence per line",
            )

    def _write_pairs(self, spec: str, files: Sequence[Path], monolingual: TextIO, share: float) -> None:
        """The pairs of a corpus; of a share of them, only the target side."""
        with ExitStack() as stack:
            source, target = (stack.enter_context(_new_text(path)) for path in files)
            for pair in read_specs([spec], self._named.recipe):
                if share and _draw(pair[1]) < share:
                    monolingual.write(f"{pair[1]}\n")
                else:
                    source.write(f"{pair[0]}\n")
                    target.write(f"{pair[1]}\n")


@contextmanager
def _new_text(path: Path) -> Iterator[TextIO]:
    with new_file(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        yield file


def _lines_of(spec: Spec) -> Iterable[str]:
    """The lines of monolingual text, without blank ones."""
    for block in read_pairs(spec):
        yield from (f"{text}\n" for text in block.target if text.strip())


def _draw(text: str) -> float:
    """A number from 0 to 1 that depends on nothing but the text, so that equal sentences stay together."""
    return float(fingerprints([text])[0]) / 2**64
