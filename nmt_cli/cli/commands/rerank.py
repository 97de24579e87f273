"""`nmt rerank`: choose among the candidates of a list with further models."""

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import count
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from nmt_cli.cli.display.console import messages
from nmt_cli.cli.display.lines import LineWarnings
from nmt_cli.cli.loading import ModelLoader
from nmt_cli.cli.options import shared, translation
from nmt_cli.cli.options.checks import check_runs, check_texts
from nmt_cli.config.defaults import BATCH_TOKENS, DEVICE, WINDOW
from nmt_cli.errors import UsageError

if TYPE_CHECKING:
    from nmt_cli.translator.reranking import CandidateList, Direction, Reranker

_WEIGHT = "@weight="
_DEFAULT_WEIGHT = 0.5


def rerank(
    source: translation.CandidatesInput = None,
    reverse: translation.ReverseRun = None,
    forward: translation.ForwardRun = None,
    language_model: translation.LanguageModelRun = None,
    references: translation.TuneOn = None,
    strict: translation.Strict = False,
    out: translation.OutputFile = None,
    json: translation.Json = False,
    window: translation.Window = WINDOW,
    batch_tokens: translation.BatchTokens = BATCH_TOKENS,
    device: shared.Device = DEVICE,
    threads: shared.Threads = None,
    quiet: shared.Quiet = False,
) -> None:
    """Rerank lists of candidates with further models.

    [cyan]nmt translate RUN_DIR --json --n-best 10 < in > candidates[/]
    [cyan]nmt rerank -i candidates --reverse REVERSE_RUN > out[/]

    The new score is that of search plus the log-probability per token of each
    model, times its weight: [cyan]--reverse REVERSE_RUN@weight=0.3[/]. With --tune, the
    weights with the highest BLEU are printed instead of translations.
    """
    given = [
        *_models("reverse", reverse),
        *_models("forward", forward),
        *_models("language model", language_model),
    ]
    if not given:
        raise UsageError(
            "there is no model to rerank with", hint="add --reverse, --forward or --language-model RUN_DIR"
        )
    if references is not None and json:
        raise UsageError("--tune prints weights, not translations", hint="omit --json")
    if str(references) == "-" and str(source or "-") == "-":
        raise UsageError(
            "candidates and references cannot both come from standard input", hint="give a file with --input"
        )
    check_runs([model.run for model in given], text_hint="nmt rerank --input {path} --reverse RUN_DIR")
    check_texts([source, references])
    loader = ModelLoader(device, False, threads, quiet, batch_tokens)
    warnings = LineWarnings(messages())

    from nmt_cli.files.line_reader import TextInput
    from nmt_cli.files.line_writer import line_output
    from nmt_cli.runtime.segments import windows
    from nmt_cli.translator.reranking import parse_candidates
    from nmt_cli.translator.reranking import rerank as reranked

    lines = TextInput(source, strict=strict, undecodable=warnings.undecodable)
    numbers = count(1)
    rerankers = [model.load(loader) for model in given]
    if references is not None:
        texts = TextInput(
            references, strict=strict, undecodable=partial(warnings.undecodable, file=str(references))
        )
        with line_output(out) as write, warnings:
            lists = [parse_candidates(next(numbers), line) for line in lines]
            write(_tuned(lists, list(texts), given, rerankers, quiet=quiet))
        return
    with line_output(out) as write, warnings:
        for part in windows(lines, window):
            found = reranked([parse_candidates(next(numbers), line) for line in part], rerankers)
            write(dumps(line, ensure_ascii=False) if json else line["translation"] for line in found)


class _Model(NamedTuple):
    direction: "Direction"
    run: Path
    weight: float

    def load(self, loader: ModelLoader) -> "Reranker":
        from nmt_cli.translator.reranking import Reranker

        translator = loader.load_runs([self.run], {}, language_model=self.direction == "language model")
        return Reranker(self.direction, translator, self.weight)

    def option(self, weight: float) -> str:
        """As it is given on the command line."""
        return f"--{self.direction.replace(' ', '-')} {self.run}{_WEIGHT}{weight:g}"


def _models(direction: "Direction", runs: Iterable[str] | None) -> Iterator[_Model]:
    for text in runs or ():
        path, found, number = text.rpartition(_WEIGHT)
        try:
            weight = float(number) if found else _DEFAULT_WEIGHT
        except ValueError:
            weight = -1.0
        if not 0 <= weight <= 1000:
            raise UsageError(
                f"{number!r} is not a weight", hint=f"use a number from 0 to 1000, as in {path}{_WEIGHT}0.3"
            )
        yield _Model(direction, Path(path if found else text), weight)


def _tuned(
    lists: "list[CandidateList]",
    references: list[str],
    given: list[_Model],
    rerankers: "list[Reranker]",
    *,
    quiet: bool,
) -> list[str]:
    from nmt_cli.metrics import tokenizer_for
    from nmt_cli.translator.reranking import tune

    first = rerankers[0]
    languages = first.translator.languages or ("", "")
    language = languages[0] if first.direction == "reverse" else languages[1]
    found = tune(lists, references, rerankers, tokenizer=tokenizer_for(language))
    if not quiet:
        messages().print(f"BLEU {found.before:.2f} → {found.after:.2f} on {len(lists):,} lines")
    return [model.option(weight) for model, weight in zip(given, found.weights, strict=True)]
