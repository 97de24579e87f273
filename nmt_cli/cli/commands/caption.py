"""`nmt caption`: descriptions of images."""

import sys
from collections.abc import Iterable, Iterator
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nmt_cli.cli.display.console import messages
from nmt_cli.cli.display.lines import LineWarnings
from nmt_cli.cli.options import shared, translation
from nmt_cli.cli.options.checks import check_runs
from nmt_cli.config.defaults import DEVICE
from nmt_cli.errors import CorpusError, UsageError

if TYPE_CHECKING:
    from nmt_cli.translator import Captioner, Translation

_WINDOW = 256  # images that are read ahead


def caption(
    run: translation.Run,
    images: translation.ImageFiles = None,
    out: translation.OutputFile = None,
    json: translation.Json = False,
    attention: translation.CellAttention = False,
    beam: translation.Beam = None,
    n_best: translation.CaptionsNBest = None,
    prefix: translation.CaptionPrefix = "",
    config: shared.Config = None,
    settings: shared.Set = None,
    device: shared.Device = DEVICE,
    threads: shared.Threads = None,
) -> None:
    """Describe images with a captioning model.

    [cyan]nmt caption RUN_DIR a.jpg b.jpg[/]
    [cyan]ls photos/*.jpg | nmt caption RUN_DIR --json[/]

    One line per image, in order. An image that cannot be read is reported, its
    line is empty (with --json, it has an `error`), and the exit status is 1.
    """
    check_runs([run], text_hint="nmt caption RUN_DIR IMAGE")
    if (attention or (n_best or 1) > 1) and not json:
        raise UsageError("--attention and --n-best need --json", hint="add --json")
    search = shared.search_settings(config, settings, {"beam_size": beam, "n_best": n_best})
    paths = images if images else _paths_of_input()

    from nmt_cli.files.line_writer import line_output
    from nmt_cli.model.device import choose_device, set_threads
    from nmt_cli.translator import Captioner

    set_threads(threads)
    captioner = Captioner.load(run, search=search, device=choose_device(device))
    if attention and not captioner.has_attention:
        raise UsageError(f"{run} has no attention", hint="omit --attention")
    failed = total = 0
    with line_output(out) as write:
        for window in _windows(paths):
            for name, found in _captions(captioner, window, attention=attention, scores=json, prefix=prefix):
                total += 1
                if isinstance(found, CorpusError):
                    failed += 1
                    messages().print(f"error: {found.message}", markup=False, highlight=False)
                write(
                    [_as_json(name, found) if json else "" if isinstance(found, CorpusError) else found.text]
                )
    if failed:
        raise CorpusError(
            f"{failed} of {total} images could not be read", hint="the messages above name them and say why"
        )


def _captions(
    captioner: "Captioner", paths: Iterable[Path], *, attention: bool, scores: bool, prefix: str
) -> "Iterator[tuple[str, Translation | CorpusError]]":
    """For each image in order its name and caption, or what is wrong with it."""
    import numpy as np

    from nmt_cli.data.images import Images
    from nmt_cli.translator import Details

    read: list[tuple[str, Any]] = []
    for path in paths:
        try:
            read += captioner.read(path)
        except CorpusError as error:
            read.append((str(path), error))
    good = [(name, content) for name, content in read if not isinstance(content, CorpusError)]
    captions: Iterator[Translation] = iter(())
    if good:
        images = Images(np.stack([content for _, content in good])).rows()
        details = Details(scores=scores, attention=attention)
        names = [name for name, _ in good]
        captions = iter(captioner.caption(images, names, details=details, prefixes=[prefix] * len(good)))
    for name, content in read:
        yield name, content if isinstance(content, CorpusError) else next(captions)


def _windows(paths: Iterable[Path]) -> Iterator[list[Path]]:
    window: list[Path] = []
    for path in paths:
        window.append(path)
        if len(window) == _WINDOW:
            yield window
            window = []
    if window:
        yield window


def _paths_of_input() -> Iterator[Path]:
    from nmt_cli.files.line_reader import TextInput

    if sys.stdin is not None and sys.stdin.isatty():
        raise UsageError("no image given", hint="nmt caption RUN_DIR a.jpg, or pipe in paths of images")
    lines = TextInput(None, undecodable=LineWarnings(messages()).undecodable)
    return (Path(line) for line in lines if line.strip())


def _as_json(name: str, found: "Translation | CorpusError") -> str:
    if isinstance(found, CorpusError):
        return dumps({"image": name, "error": found.message}, ensure_ascii=False)
    content: dict[str, Any] = {
        "image": name,
        "caption": found.text,
        "log_probability": round(found.log_probability or 0.0, 6),
        "tokens": list(found.target_pieces),
    }
    if found.n_best is not None:
        content["n_best"] = [
            {"caption": each.text, "log_probability": round(each.log_probability or 0.0, 6)}
            for each in found.n_best
        ]
    if found.attention is not None:
        content["positions"] = list(found.source_pieces)
        content["attention"] = [[round(weight, 4) for weight in row] for row in found.attention.tolist()]
    return dumps(content, ensure_ascii=False)
