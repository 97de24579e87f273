"""`nmt serve`: the translator behind HTTP."""

import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nmt_cli.cli.display.console import complain, messages, say
from nmt_cli.cli.options import serving, shared, translation
from nmt_cli.cli.options.checks import check_runs
from nmt_cli.config import defaults
from nmt_cli.errors import NmtError, UsageError
from nmt_cli.export.opening import is_export

if TYPE_CHECKING:
    from nmt_cli.server.process import HttpServer


def serve(
    models: serving.Models,
    host: serving.Host = defaults.HOST,
    port: serving.Port = defaults.PORT,
    open_page: serving.Open = False,
    keys: serving.Keys = None,
    cors: serving.Cors = None,
    rate: serving.Rate = 0,
    max_body: serving.MaxBody = defaults.MAX_BODY,
    max_characters: serving.MaxCharacters = defaults.MAX_CHARACTERS,
    max_lines: serving.MaxLines = defaults.MAX_LINES,
    queue: serving.Queue = defaults.MAX_QUEUE,
    timeout: serving.Timeout = defaults.REQUEST_SECONDS,
    beam: translation.Beam = None,
    config: shared.Config = None,
    settings: shared.Set = None,
    batch_lines: serving.BatchLines = defaults.BATCH_LINES,
    int8: translation.Int8 = False,
    device: shared.Device = defaults.DEVICE,
    threads: shared.Threads = None,
    log_text: serving.LogText = False,
    quiet: serving.Quiet = False,
) -> None:
    """Serve models over HTTP: LibreTranslate's API and a web page.

    [cyan]nmt serve RUN_DIR[/]
    [cyan]nmt serve de-en/ en-fr/ --port 8080 --keys keys.txt[/]

    Several models serve several directions; de-en and en-fr together also
    translate from de to fr. SIGHUP reloads the models; SIGTERM stops the server
    once all accepted requests are answered.
    """
    for name in ("starlette", "uvicorn", "httptools", "python_multipart"):
        if find_spec(name) is None:
            raise UsageError(f"nmt serve needs the package {name}", hint="pip install 'nmt-cli[serve]'")
    check_runs(models, text_hint="nmt translate RUN_DIR --input {path}", exported=True)
    _check_machine(models, device=device, int8=int8)
    search = shared.search_settings(config, settings, {"beam_size": beam})

    from nmt_cli.server.access import read_keys
    from nmt_cli.server.models import load_model
    from nmt_cli.server.process import HttpServer, listen
    from nmt_cli.server.service import ServerSettings, Service

    wanted = ServerSettings(
        max_body=max_body,
        max_characters=max_characters,
        max_lines=max_lines,
        max_queue=queue,
        seconds=timeout,
        rate=rate,
        batch_lines=batch_lines,
        keys=read_keys(keys) if keys is not None else frozenset(),
        cors=tuple(cors or ()),
        log=not quiet,
        log_text=log_text,
    )
    listener = listen(host, port)
    machine: Any = {"search": search, "device": device, "int8": int8, "threads": threads}
    service = Service(lambda: [load_model(path, **machine) for path in models], wanted)
    _run(HttpServer(service, listener, log=_write_line), open_page=open_page, quiet=quiet)


def _run(server: "HttpServer", *, open_page: bool, quiet: bool) -> None:
    console = messages()

    def started() -> None:
        if not quiet:
            console.print(f"serving {server.directions} at {server.address} (Ctrl-C stops)")
        if open_page:
            import webbrowser

            webbrowser.open(server.address.replace("0.0.0.0", "127.0.0.1").replace("[::]", "[::1]"))

    def reloaded(error: NmtError | None) -> None:
        if error is not None:
            complain(f"the models were not loaded again: {error.message}", hint=error.hint)
        elif not quiet:
            console.print(f"loaded {server.directions} again")

    def stopping() -> None:
        if not quiet:
            say(console, "note", "answering the requests that were accepted, then stopping")

    server.run_until_stopped(started=started, reloaded=reloaded, stopping=stopping)


def _check_machine(models: Sequence[Path], *, device: str, int8: bool) -> None:
    """Exported models have their precision and run on the CPU."""
    if not all(is_export(path) for path in models):
        return
    if int8:
        raise UsageError(
            "int8 arithmetic is chosen when a model is exported",
            hint="omit --int8, or export the models again with --int8",
        )
    if device not in ("auto", "cpu"):
        raise UsageError(
            f"exported models run on the CPU, not on {device}", hint="omit --device, or serve run directories"
        )


def _write_line(line: str) -> None:
    """The access log goes to standard output. If nobody reads it any more, the server continues without it."""
    try:
        print(line, flush=True)
    except OSError:
        sys.stdout = None
