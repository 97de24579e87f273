"""`nmt explain` for images and recordings: where the model looks, and when it listens."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nmt_cli.cli.display.console import results
from nmt_cli.cli.options.checks import STANDARD_STREAM, check_runs
from nmt_cli.errors import UsageError
from nmt_cli.files.atomic import new_text_files
from nmt_cli.files.line_writer import line_output

if TYPE_CHECKING:
    from nmt_cli.files.line_writer import Write


def explain_images(
    run: Path,
    arguments: Sequence[str],
    files: Mapping[str, Path],
    out: Path | None,
    *,
    search: dict[str, Any],
    json: bool,
    device: str,
    threads: int | None,
) -> None:
    """Every image with every run: further run directories may precede the images."""
    paths = [Path(argument) for argument in arguments]
    runs = [run, *(path for path in paths if path.is_dir())]
    images = [path for path in paths if not path.is_dir()]
    if not images:
        raise UsageError("no image given", hint="nmt explain RUN_DIR image.png")
    check_runs(runs, text_hint="nmt explain RUN_DIR image.png")

    from nmt_cli.cli.display.explanation import show_image
    from nmt_cli.drawing.images import film_strip
    from nmt_cli.explanation.images import explain_image, image_page, images_json
    from nmt_cli.model.device import prepare_device
    from nmt_cli.translator import Captioner

    place = prepare_device(device, threads)
    captioners = [(each, Captioner.load(each, search=search, device=place)) for each in runs]
    found = [
        explain_image(captioner, image, title=f"{each.name}: {image.name}")
        for image in images
        for each, captioner in captioners
    ]
    with line_output(out) as write:
        with new_text_files(files) as opened:
            for name, file in opened.items():
                file.write(image_page(found) if name == "html" else film_strip(found))
        _show_media(found, show_image, write, out, as_json=images_json(found) if json else None)


def explain_recordings(
    run: Path,
    arguments: Sequence[str],
    files: Mapping[str, Path],
    out: Path | None,
    *,
    search: dict[str, Any],
    json: bool,
    device: str,
    threads: int | None,
) -> None:
    """Every recording, with one run."""
    if not arguments:
        raise UsageError("no recording given", hint="nmt explain RUN_DIR recording.wav")
    if "svg" in files and len(arguments) > 1:
        raise UsageError(
            f"--svg draws a single recording, but {len(arguments)} were given",
            hint="give one recording, or write a page for all of them with --html",
        )

    from nmt_cli.cli.display.explanation import show_recording
    from nmt_cli.explanation.recordings import explain_recording, recording_page, recordings_json
    from nmt_cli.model.device import prepare_device
    from nmt_cli.translator import Transcriber

    transcriber = Transcriber.load(run, search=search, device=prepare_device(device, threads))
    if "svg" in files and not transcriber.has_attention:
        raise UsageError(f"{run} has no attention, so there is no heat map to draw", hint="omit --svg")
    paths = [Path(argument) for argument in arguments]
    found = [explain_recording(transcriber, path, title=path.name) for path in paths]
    with line_output(out) as write:
        with new_text_files(files) as opened:
            for name, file in opened.items():
                file.write(recording_page(found) if name == "html" else found[0].svg())
        _show_media(found, show_recording, write, out, as_json=recordings_json(found) if json else None)


def _show_media(
    found: Iterable[Any], show: Callable[..., None], write: "Write", out: Path | None, *, as_json: str | None
) -> None:
    """Write explanations of images or recordings as JSON, or display them with `show`, on the screen or in a file."""
    if as_json is not None:
        write(as_json.removesuffix("\n").split("\n"))
        return
    buffer = StringIO() if out is not None and out != STANDARD_STREAM else None
    console = results(buffer)
    for each in found:
        show(console, each)
    if buffer is not None:
        write(buffer.getvalue().removesuffix("\n").split("\n"))
