"""Datasets on the Hugging Face hub, or local files in its formats, through `datasets`."""

import logging
import re
import socket
import sys
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from nmt_cli.corpus.block import INNER_NEWLINE, Block, remove_newlines
from nmt_cli.corpus.spec import FILE_BUILDERS, Spec
from nmt_cli.errors import CorpusError

if TYPE_CHECKING:
    import pyarrow

# `load_dataset` tries for 23 seconds to reach an unreachable hub; a single connection attempt is faster.
_CONNECT_SECONDS = 4.0


def read_hub(spec: Spec, block_pairs: int) -> Iterator[Block]:
    """The pairs of a dataset with a `translation` column or two text columns."""
    columns: tuple[str, str] | None = None
    first = 1
    for table in _tables(spec, block_pairs):
        if columns is None:
            columns = _choose_columns(table, spec)
        source, target = (_texts(table.column(name)) for name in columns)
        newlines = remove_newlines(source) + remove_newlines(target)
        yield Block(first, source, target, {}, {INNER_NEWLINE: newlines} if newlines else {})
        first += len(source)


def _tables(spec: Spec, block_pairs: int) -> Iterator["pyarrow.Table"]:
    """Arrow tables of a few rows, with structs flattened to columns such as `translation.de`."""
    return (table.flatten() for table in load_rows(spec, block_pairs))


def load_rows(spec: Spec, block_pairs: int) -> Iterator["pyarrow.Table"]:
    """Arrow tables of a few rows."""
    batches = iter(_load(spec).with_format("arrow").iter(batch_size=block_pairs))
    while True:
        try:
            table = next(batches, None)
        except Exception as error:  # with streaming, files are opened only here
            raise _explain(error, spec) from error
        if table is None:
            return
        yield table


def _load(spec: Spec) -> Any:
    import datasets

    datasets.logging.set_verbosity(logging.CRITICAL)  # errors are reported once, by us
    if not sys.stderr.isatty():
        datasets.disable_progress_bars()
    arguments: dict[str, Any] = {"path": spec.dataset, "name": spec.config, "revision": spec.revision}
    path = Path(spec.dataset)
    if path.suffix in FILE_BUILDERS and _exists(path) and path.is_file():
        arguments.update(path=FILE_BUILDERS[path.suffix], data_files={_bare(spec.split): [str(path)]})
    elif spec.data_files:
        arguments["data_files"] = {_bare(spec.split): list(spec.data_files)}
    try:
        with _offline_if_unplugged(needed=not _is_local(spec)):
            return datasets.load_dataset(**arguments, split=spec.split, streaming=spec.streaming)
    except Exception as error:  # the user gets one line and a hint, whatever it is
        raise _explain(error, spec) from error


def _is_local(spec: Spec) -> bool:
    return spec.dataset in FILE_BUILDERS.values() or _exists(Path(spec.dataset))


def _exists(path: Path) -> bool:
    """Whether a file or directory exists; a path that cannot be checked is the name of a dataset."""
    try:
        return path.exists()
    except OSError:
        return False


def _bare(split: str) -> str:
    """The name of a split without its slice, as in `train[:10%]`."""
    return split.partition("[")[0]


@contextmanager
def _offline_if_unplugged(*, needed: bool) -> Iterator[None]:
    """Turn on Hugging Face's offline mode while the hub is unreachable, so that cached datasets load at once."""
    import datasets.config
    import huggingface_hub.constants

    homes: tuple[Any, ...] = (huggingface_hub.constants, datasets.config)
    if (
        not needed
        or any(home.HF_HUB_OFFLINE for home in homes)
        or _reachable(huggingface_hub.constants.ENDPOINT)
    ):
        yield
        return
    before = [home.HF_HUB_OFFLINE for home in homes]
    for home in homes:
        home.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        for home, value in zip(homes, before, strict=True):
            home.HF_HUB_OFFLINE = value


def _reachable(endpoint: str) -> bool:
    """Whether the hub, or the proxy in front of it, accepts a connection within a few seconds."""
    address = urlsplit(endpoint)
    proxies = urllib.request.getproxies()
    if address.scheme in proxies and not urllib.request.proxy_bypass(address.hostname or ""):
        address = urlsplit(proxies[address.scheme])
    port = address.port or (80 if address.scheme == "http" else 443)
    answers: list[bool] = []

    def connect() -> None:
        try:
            socket.create_connection((address.hostname or "", port), timeout=_CONNECT_SECONDS).close()
            answers.append(True)
        except OSError:
            answers.append(False)

    # In a thread, because a DNS lookup has no timeout.
    thread = threading.Thread(target=connect, daemon=True)
    thread.start()
    thread.join(_CONNECT_SECONDS)
    return answers == [True]


def _choose_columns(table: "pyarrow.Table", spec: Spec) -> tuple[str, str]:
    languages = spec.source_lang, spec.target_lang
    asked = spec.fields or languages
    one = asked[0] == asked[1]  # monolingual text
    way = "hf:…#COLUMN" if one else "hf:…#SOURCE,TARGET"
    names = table.column_names
    translation = f"translation.{languages[0]}", f"translation.{languages[1]}"
    for choice in [spec.fields] if spec.fields else [translation, languages]:
        if set(choice) <= set(names):
            break
    else:
        raise CorpusError(
            f"{spec.text} has no {f'column {asked[0]}' if one else f'columns {asked[0]} and {asked[1]}'}",
            hint=f"its columns are {', '.join(names)}; choose {'one' if one else 'two'} with {way}",
        )
    for name in choice:
        kind = str(table.schema.field(name).type)
        if kind not in ("string", "large_string", "string_view", "null"):
            raise CorpusError(
                f"{spec.text}: column {name} contains {kind}, not text",
                hint=f"choose {'a text column' if one else 'text columns'} with {way}",
            )
    return choice


def _texts(column: "pyarrow.ChunkedArray") -> list[str]:
    texts: list[str | None] = column.to_pylist()
    return [text or "" for text in texts] if column.null_count else texts  # type: ignore[return-value]


def _explain(error: Exception, spec: Spec) -> CorpusError:
    """One line and a hint for an exception of `datasets`."""
    if isinstance(error, CorpusError):
        return error
    if type(error).__name__ == "DatasetGenerationError" and isinstance(error.__cause__, Exception):
        error = error.__cause__  # the actual problem
    text = " ".join(str(error).split())
    kinds = {kind.__name__ for kind in type(error).__mro__}
    page = f"https://huggingface.co/datasets/{spec.dataset}"
    if kinds & {"ConnectionError", "OfflineModeIsEnabled", "ConnectError", "TimeoutException"}:
        return CorpusError(
            f"{spec.text}: the Hugging Face hub is unreachable, and the dataset is not in the local cache",
            hint="connect to the network, or copy the cache (HF_HOME) from a machine that has it; "
            "HF_HUB_OFFLINE=1 reads only the cache",
        )
    if "scripts are no longer supported" in text:
        return CorpusError(
            f"{spec.text}: {spec.dataset} needs a loading script, which nmt never runs",
            hint="read its converted files with @revision=refs/convert/parquet"
            "@data_files=CONFIG/SPLIT/0000.parquet",
        )
    if "DatasetNotFoundError" in kinds:
        return CorpusError(
            f"{spec.text}: {text}", hint=f"see {page}; a private or gated dataset needs HF_TOKEN"
        )
    if "FileNotFoundError" in kinds:
        return CorpusError(f"{spec.text}: {text}", hint="check the path, or the names in @data_files")
    if configs := _listed(r"(?:Available:|available configs:) (\[.*?\])", text):
        split_hint = f"; for a split write hf:{spec.dataset}::{spec.config}" if spec.config else ""
        what = f"has no config {spec.config}" if spec.config else "needs a config"
        return CorpusError(f"{spec.text}: {spec.dataset} {what}", hint=f"configs are {configs}{split_hint}")
    if splits := _listed(r"(?:Should be one of|Available splits:) (\[.*?\])", text):
        return CorpusError(
            f"{spec.text}: {spec.dataset} has no split {spec.split}",
            hint=f"splits are {splits}; write hf:{spec.dataset}:{spec.config or ''}:SPLIT",
        )
    return CorpusError(
        f"{spec.text}: {type(error).__name__}: {text[:300]}",
        hint="check the file" if _is_local(spec) else f"see {page}",
    )


def _listed(pattern: str, text: str) -> str:
    found = re.search(pattern, text)
    return ", ".join(re.findall(r"'([^']*)'", found[1])) if found else ""
