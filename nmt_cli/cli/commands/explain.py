"""`nmt explain`: attention, confidence and alternatives behind a translation."""

import os.path
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from nmt_cli.cli.display.console import messages, results
from nmt_cli.cli.display.lines import LineWarnings
from nmt_cli.cli.media_explanations import explain_images, explain_recordings
from nmt_cli.cli.options import shared, translation
from nmt_cli.cli.options.checks import STANDARD_STREAM, as_text, check_runs
from nmt_cli.config.defaults import ALTERNATIVES, DEVICE
from nmt_cli.errors import UsageError
from nmt_cli.files.atomic import MANIFEST, new_text_files
from nmt_cli.files.line_writer import line_output

if TYPE_CHECKING:
    from nmt_cli.config import ModelConfig
    from nmt_cli.explanation import Explanation
    from nmt_cli.files.line_writer import Write


def explain(
    run: translation.Run,
    texts: translation.Sentences = None,
    targets: translation.Targets = None,
    beam: translation.Beam = None,
    alternatives: translation.Alternatives = None,
    self_attention: translation.SelfAttention = False,
    gradients: translation.Gradients = False,
    config: shared.Config = None,
    settings: shared.Set = None,
    out: translation.OutputFile = None,
    json: translation.ExplanationsJson = False,
    html: translation.Html = None,
    svg: translation.Svg = None,
    device: shared.Device = DEVICE,
    threads: shared.Threads = None,
    quiet: shared.Quiet = False,
) -> None:
    """Explain a translation: attention, confidence, alternatives.

    [cyan]nmt explain RUN_DIR "Ein Hund läuft."[/]
    [cyan]nmt explain RUN_DIR [RUN_DIR...] image.png --svg strip.svg[/]
    [cyan]nmt explain RUN_DIR recording.wav --svg map.svg[/]
    [cyan]nmt explain RUN_DIR [RUN_DIR...] "Ein Hund läuft." --gradients[/]

    Prints a heat map of the attention, the confidence of each word, and the
    alternatives at each step. [cyan]--html[/] writes an interactive page that also shows
    the beam.
    """
    files = {name: path for name, path in (("html", html), ("svg", svg)) if path is not None}
    _check_files(files, out)
    check_runs([run], text_hint="nmt explain RUN_DIR < {path}")
    search = shared.search_settings(config, settings, {"beam_size": beam})
    reads = _reads(run)
    if reads != "text":
        if targets or self_attention or gradients or alternatives is not None:
            does = "describes images" if reads == "image" else "transcribes recordings"
            raise UsageError(
                "--target, --alternatives, --self-attention and --gradients explain translations, "
                f"but this model {does}",
                hint="leave them out",
            )
        explain_media = explain_images if reads == "image" else explain_recordings
        explain_media(run, texts or (), files, out, search=search, json=json, device=device, threads=threads)
        if not quiet:
            _report_files([*files.values(), out])
        return
    runs, texts = _split_runs(run, texts or [], several=gradients)
    sentences = [as_text(text) for text in texts] if texts else _lines_of_input()
    if svg is not None and len(sentences) > 1 and len(runs) == 1:
        raise UsageError(
            f"--svg draws a single sentence, but {len(sentences)} were given",
            hint="give one sentence, or write a page for all of them with --html",
        )
    pairs = list(zip(sentences, _targets(sentences, targets), strict=True))

    from nmt_cli.explanation.explainer import Explainer
    from nmt_cli.model.device import prepare_device

    place = prepare_device(device, threads)
    explainers = {
        name: Explainer.load(path, search=search, device=place) for name, path in _named(runs).items()
    }
    for explainer in explainers.values():
        _check_model(explainer.settings, svg=svg is not None and not gradients, self_attention=self_attention)
        for number, (text, target) in enumerate(pairs, start=1):
            explainer.check(text, target, name="the sentence" if len(pairs) == 1 else f"sentence {number}")
    explanations = (
        explainer.explain(
            text,
            target=target,
            alternatives=ALTERNATIVES if alternatives is None else alternatives,
            self_attention=self_attention,
            gradients=gradients,
            run=name,
        )
        for text, target in pairs
        for name, explainer in explainers.items()
    )
    with new_text_files(files) as open_files:
        failure = _show(explanations, open_files, out, json=json, open_beam=beam is not None)
    if not quiet:
        _report_files([*files.values(), out])
    if failure is not None:
        raise failure


def _split_runs(run: Path, arguments: Sequence[str], *, several: bool) -> tuple[list[Path], list[str]]:
    """The run directories, of which only gradients compare `several`, and the sentences that follow them."""
    if not several:
        second = next(
            (one for one in arguments if _is_directory(one) and Path(one, MANIFEST).is_file()), None
        )
        if second is not None:
            raise UsageError(
                f"{second} is a directory, but one run is explained at a time",
                hint="explain each run by itself, or compare the gradients of several runs with --gradients",
            )
        return [run], list(arguments)
    count = next((at for at, one in enumerate(arguments) if not _is_directory(one)), len(arguments))
    runs = [run, *map(Path, arguments[:count])]
    check_runs(runs, text_hint="nmt explain RUN_DIR < {path}")
    for other in runs[1:]:
        if _reads(other) != "text":
            raise UsageError(
                f"{other} does not read text, and {run} translates", hint="compare runs that translate"
            )
    return runs, list(arguments[count:])


def _is_directory(argument: str) -> bool:
    """Path.is_dir raises an error if a sentence is longer than a file name can be."""
    return os.path.lexists(argument) and Path(argument).is_dir()


def _named(runs: Sequence[Path]) -> dict[str, Path]:
    """The runs by a short name; a single one needs none."""
    if len(runs) == 1:
        return {"": runs[0]}
    names = [run.name for run in runs]
    return {
        run.name if names.count(run.name) == 1 and run.name else str(run): run for run in dict.fromkeys(runs)
    }


def _report_files(paths: Iterable[Path | None]) -> None:
    for path in paths:
        if path not in (None, STANDARD_STREAM):
            messages().print(f"wrote {path}")


def _reads(run: Path) -> str:
    from nmt_cli.files.manifest import Manifest
    from nmt_cli.run.facts import KIND, parse_settings

    model = parse_settings(Manifest.open(run, KIND))[1].config.model
    return "image" if model.reads_images else "audio" if model.reads_frames else "text"


def _check_files(files: Mapping[str, Path], out: Path | None) -> None:
    if STANDARD_STREAM in files.values():
        raise UsageError(
            "a page or picture cannot be written to standard output", hint="give the path of a file"
        )
    paths = [path.resolve() for path in (*files.values(), out) if path is not None]
    if len(set(paths)) < len(paths):
        raise UsageError("--html, --svg and --output name the same file", hint="give each a file of its own")


def _check_model(model: "ModelConfig", *, svg: bool, self_attention: bool) -> None:
    from nmt_cli.explanation.self_attention import has_self_attention

    if svg and model.attention == "none":
        raise UsageError(
            f"{model.preset} has no attention, so there is no heat map to draw",
            hint="omit --svg; --html shows confidence, alternatives and the beam",
        )
    if self_attention and not has_self_attention(model):
        raise UsageError(
            f"{model.preset} has no self-attention",
            hint="omit --self-attention; cheng2016 and vaswani2017 have it, others with model.intra_attention",
        )


def _show(
    found: "Iterable[Explanation]",
    files: Mapping[str, TextIO],
    out: Path | None,
    *,
    json: bool,
    open_beam: bool,
) -> OSError | None:
    """Display each explanation as soon as it is available, or write all of them as JSON; then fill `files`.

    Returns the error if standard output cannot be written, as with `| head`. The files are filled all the same.
    """
    from nmt_cli.explanation import explanations_json

    explanations = []
    with line_output(out) as write:
        output = _Output(write, is_file=out is not None and out != STANDARD_STREAM)
        for explanation in found:
            if files or json or explanation.gradients is not None:
                explanations.append(explanation)
            if not json:
                output.display(explanation)
            if output.failure is not None and not files:
                return output.failure
        if json:
            output.write(explanations_json(explanations))
        elif explanations and explanations[0].gradients is not None:
            output.display_distances(explanations)
    for name, file in files.items():
        file.write(_content(name, explanations, open_beam=open_beam))
    return output.failure


class _Output:
    """The display, or JSON, in a file or on standard output, whose first error ends it and is kept in `failure`.

    Raised where other files are being written, it would be reported as an error of those.
    """

    def __init__(self, write: "Write", *, is_file: bool) -> None:
        self._write = write
        self._buffer = StringIO() if is_file else None
        self._console = results(self._buffer)
        self._displayed = 0
        self.failure: OSError | None = None

    def display(self, explanation: "Explanation") -> None:
        """Add the heat map, confidence and alternatives of one sentence."""
        from nmt_cli.cli.display.explanation import show_explanation

        if self.failure is not None:
            return
        with self._attempt():
            if self._displayed:
                self._console.print("─" * min(self._console.width, 80), style="dim")
            show_explanation(self._console, explanation)
            self._displayed += 1
        self._flush()

    def display_distances(self, explanations: "Sequence[Explanation]") -> None:
        """Add the mean gradient norm by distance, of all sentences of a run together."""
        from nmt_cli.cli.display.explanation import show_distances
        from nmt_cli.explanation import distances_of_runs

        if self.failure is None:
            with self._attempt():
                show_distances(self._console, distances_of_runs(explanations))
            self._flush()

    def _flush(self) -> None:
        if self._buffer is not None:
            self.write(self._buffer.getvalue())
            self._buffer.seek(0)
            self._buffer.truncate()

    def write(self, text: str) -> None:
        """Write text that ends with a line feed."""
        with self._attempt():
            self._write(text.removesuffix("\n").split("\n"))

    @contextmanager
    def _attempt(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if self._buffer is not None:
                raise
            self.failure = error


def _lines_of_input() -> list[str]:
    from nmt_cli.files.line_reader import TextInput

    if sys.stdin is not None and sys.stdin.isatty():
        raise UsageError(
            "no sentence given", hint='nmt explain RUN_DIR "Ein Hund läuft.", or pipe in lines of text'
        )
    lines = list(TextInput(None, undecodable=LineWarnings(messages()).undecodable))
    if not lines:
        raise UsageError(
            "standard input is empty", hint='nmt explain RUN_DIR "Ein Hund läuft.", or pipe in lines of text'
        )
    return lines


def _targets(sentences: Sequence[str], targets: Sequence[str] | None) -> Sequence[str | None]:
    if targets and len(targets) != len(sentences):
        raise UsageError(
            f"{len(sentences)} sentences, but {len(targets)} targets",
            hint="give one --target for each sentence, in the same order",
        )
    return [as_text(target) for target in targets] if targets else [None] * len(sentences)


def _content(name: str, explanations: "Sequence[Explanation]", *, open_beam: bool) -> str:
    from nmt_cli.explanation import (
        attention_svg,
        explanation_page,
        gradient_distances_svg,
        gradient_maps_svg,
    )

    if name == "html":
        return explanation_page(explanations, open_beam=open_beam)
    if explanations[0].run:
        return gradient_distances_svg(explanations)
    (only,) = explanations
    if only.gradients is not None:
        return gradient_maps_svg(only)
    assert only.word_attention is not None
    return attention_svg(only.source_labels, only.target_labels, only.word_attention)
