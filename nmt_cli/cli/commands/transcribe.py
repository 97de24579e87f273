"""`nmt transcribe`: what is said in recordings."""

from nmt_cli.cli.media import MediaTask
from nmt_cli.cli.options import shared, translation
from nmt_cli.cli.options.checks import check_runs
from nmt_cli.config.defaults import DEVICE


def transcribe(
    run: translation.Run,
    recordings: translation.AudioFiles = None,
    out: translation.OutputFile = None,
    json: translation.Json = False,
    attention: translation.TimeAttention = False,
    beam: translation.Beam = None,
    n_best: translation.TranscriptsNBest = None,
    config: shared.Config = None,
    settings: shared.Set = None,
    device: shared.Device = DEVICE,
    threads: shared.Threads = None,
) -> None:
    """Transcribe recordings with a speech recognition model.

    [cyan]nmt transcribe RUN_DIR a.wav b.wav[/]
    [cyan]ls recordings/*.wav | nmt transcribe RUN_DIR --json[/]

    One line per WAV file, in order. A file that cannot be read is reported, its
    line is empty (with --json, it has an `error`), and the exit status is 1.
    """
    check_runs([run], text_hint="nmt transcribe RUN_DIR a.wav")
    task = MediaTask("nmt transcribe RUN_DIR a.wav", "recording", "transcript", json, attention)
    task.check(n_best)
    search = shared.search_settings(config, settings, {"beam_size": beam, "n_best": n_best})
    paths = task.paths(recordings)

    from nmt_cli.model.device import prepare_device
    from nmt_cli.translator import Transcriber

    task.run(Transcriber.load(run, search=search, device=prepare_device(device, threads)), run, paths, out)
