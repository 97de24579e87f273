"""Options of `nmt serve`."""

from pathlib import Path
from typing import Annotated

from nmt_cli.cli.options import shared
from nmt_cli.cli.options.shared import access, argument, limits, machine, network

Models = Annotated[
    list[Path],
    argument("MODEL...", "Run directories and exported models, one for each direction of translation."),
]
Host = Annotated[
    str,
    network(
        "--host ADDRESS", "Address to listen on. 0.0.0.0 makes the server reachable from other machines."
    ),
]
Port = Annotated[int, network("--port -p N", "Port to listen on; 0 is any free one.", min=0, max=65535)]
Open = Annotated[bool, network("--open", "Open the page in a browser.")]
Keys = Annotated[
    Path | None, access("--keys FILE", "Require an API key; FILE has one per line.", show_default="no keys")
]
Cors = Annotated[
    list[str] | None,
    access(
        "--cors ORIGIN",
        "Let web pages of this origin use the API, such as https://example.org; repeatable. '*' is any origin.",
    ),
]
Rate = Annotated[int, access("--rate N", "Requests per minute and key or address; 0 is any number.", min=0)]
MaxBody = Annotated[int, limits("--max-body BYTES", "Size of a request.", min=1024)]
MaxCharacters = Annotated[int, limits("--max-characters N", "Characters per request.", min=1)]
MaxLines = Annotated[int, limits("--max-lines N", "Lines per request.", min=1)]
Queue = Annotated[
    int, limits("--queue N", "Lines that may wait for a model; beyond it, the answer is 429.", min=1)
]
Timeout = Annotated[
    float,
    limits(
        "--timeout SECONDS",
        "Time for a request to arrive, and again for it to be translated.",
        min=0.1,
        max=86400,
    ),
]
BatchLines = Annotated[
    int, machine("--batch-lines N", "Lines of all requests that are translated together.", min=1)
]
LogText = Annotated[bool, shared.messages("--log-text", "Log the texts and their translations, too.")]
Quiet = Annotated[bool, shared.messages("--quiet -q", "No access log; show only warnings and errors.")]
