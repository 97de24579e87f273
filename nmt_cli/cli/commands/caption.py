"""`nmt caption`: descriptions of images."""

from nmt_cli.cli.media import MediaTask
from nmt_cli.cli.options import shared, translation
from nmt_cli.cli.options.checks import check_runs
from nmt_cli.config.defaults import DEVICE


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
    task = MediaTask("nmt caption RUN_DIR a.jpg", "image", "caption", json, attention, prefix)
    task.check(n_best)
    search = shared.search_settings(config, settings, {"beam_size": beam, "n_best": n_best})
    paths = task.paths(images)

    from nmt_cli.model.device import prepare_device
    from nmt_cli.translator import Captioner

    task.run(Captioner.load(run, search=search, device=prepare_device(device, threads)), run, paths, out)
