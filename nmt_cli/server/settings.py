"""`ServerSettings`: limits, access and logging of a server, with the defaults of the command line."""

from __future__ import annotations

from dataclasses import dataclass

from nmt_cli.config import defaults


@dataclass(frozen=True)
class ServerSettings:
    """What a request may be, who may send it, and what is logged."""

    max_body: int = defaults.MAX_BODY  # bytes
    max_characters: int = defaults.MAX_CHARACTERS  # of all texts of a request
    max_lines: int = defaults.MAX_LINES
    max_queue: int = defaults.MAX_QUEUE  # lines that wait for a model
    seconds: float = defaults.REQUEST_SECONDS  # for a request to arrive, to be translated, and to be sent
    rate: int = 0  # requests per minute and key or address; 0: any number
    batch_lines: int = defaults.BATCH_LINES
    keys: frozenset[str] = frozenset()  # none: no key is needed
    cors: tuple[str, ...] = ()  # origins whose pages may use the API
    log: bool = True
    log_text: bool = False
