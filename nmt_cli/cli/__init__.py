"""The command `nmt`. Only this package uses typer and rich.

app           the command and its subcommands
boundary      errors become a message, a hint and an exit code; how --help looks
commands/     one module per command: parse, call the library, show
options/      one alias per option, and checks before heavy imports
display/      terminal output
documents     `nmt translate` for documents: PO, subtitles, Markdown and so on
line_task     lines to a stream or a file, by one process or several
media         files in, lines out: what `nmt caption` and `nmt transcribe` share
media_explanations  `nmt explain` for images and recordings
loading       models, terms and a translation memory, as the options say
processes     `--processes N` and torchrun: one command in several processes
prompt        `nmt translate` in a terminal: a prompt with line editing and history
"""

import os
import signal
import sys
from pathlib import Path


def main() -> None:
    """Run the command line. What libraries read from the environment when torch is imported is set first.

    Idle threads spin for a moment, then sleep. The next matrix product of a step is only microseconds away, and
    waking up takes longer: threads that sleep at once make translation 1.4 times slower on idle cores, and a single
    line twice as slow. Threads that never sleep, torch's default, make everything ten times slower on busy cores.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ["OMP_WAIT_POLICY"] = "PASSIVE"
        os.environ.setdefault("GOMP_SPINCOUNT", "10000")
    # oneDNN keeps what it has prepared for each shape of an LSTM's input, up to 1024 of them: hundreds of megabytes.
    # Hardly any shape of a batch comes back, so a few are enough (benchmarks/training_memory.py).
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "64")
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # no traceback of our imports; the boundary takes over
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass  # it was closed: a file of ours that took its number would receive what libraries print
    os.close(descriptor)
    if sys.stderr is None:  # closed: messages are lost, but the work continues
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - until the end
    from nmt_cli.cli.app import app

    app()
