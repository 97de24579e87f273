"""Downloading the corpora of a recipe from the hub or the web; for a smoke run, only a few hundred pairs."""

from __future__ import annotations

import hashlib
import http.client
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path

from nmt_cli.corpus import parse_spec, read_pairs
from nmt_cli.errors import CorpusError
from nmt_cli.files.atomic import new_file
from nmt_cli.files.byte_stream import Progress
from nmt_cli.files.languages import text_names
from nmt_cli.recipe.definition import Recipe
from nmt_cli.recipe.sources import SETS, Corpora, file_name, is_hub, is_web, wanted

SMOKE_PAIRS = {"train": 400, "valid": 40, "test": 60}
_TIMEOUT = 10.0  # seconds without a response
_CHUNK_BYTES = 1 << 16

Pair = tuple[str, str]


Report = Callable[[Progress], None]


def fetched(corpora: Corpora, recipe: Recipe, text: Path, *, smoke: bool) -> Corpora:
    """The SPECs for `nmt preprocess` after everything has been fetched into `text`."""
    if smoke:
        excerpts = {
            name: (_excerpt_spec(text, name, recipe),)
            for name in SETS
            if corpora.of(name) or corpora.stand_in
        }
        return Corpora(**excerpts, stand_in=corpora.stand_in)
    train, valid, test = (_places(corpora, name, text) for name in SETS)
    return Corpora(train, valid, test, stand_in=corpora.stand_in)


def _places(corpora: Corpora, name: str, text: Path) -> tuple[str, ...]:
    """SPECs of one set, with the paths of downloaded files in place of URLs."""
    return tuple(
        ",".join(str(text / name / file_name(address)) for address in spec.split(","))
        if is_web(spec)
        else spec
        for spec in corpora.of(name)
    )


def _excerpt_spec(text: Path, name: str, recipe: Recipe) -> str:
    if recipe.source_lang != recipe.target_lang:
        return str(text / name)
    return ",".join(str(text / file) for file in text_names(name, *recipe.languages))


def fetch(
    corpora: Corpora, recipe: Recipe, text: Path, *, smoke: bool, report: Report = lambda progress: None
) -> Corpora:
    """Fetch everything that is missing; downloads go into `text`."""
    try:
        downloaded = _download_all(corpora, recipe, text, report)
        if smoke:
            _write_excerpts(downloaded, recipe, text, report)
        else:
            for name in SETS:
                for spec in downloaded.of(name):
                    if is_hub(spec):
                        report(Progress(f"fetching {name}", 0))
                        next(_pairs([spec], recipe))  # returns once the whole dataset is cached
    except CorpusError as error:
        if not corpora.remote:
            raise
        hint = f"give local files with --data DIR ({wanted(recipe)}); or {error.hint}"
        raise CorpusError(error.message, hint=hint) from error
    return fetched(corpora, recipe, text, smoke=smoke)


def _pairs(specs: Iterable[str], recipe: Recipe, block_pairs: int = 1024) -> Iterator[Pair]:
    for text in specs:
        spec = parse_spec(text, source_lang=recipe.source_lang, target_lang=recipe.target_lang)
        for block in read_pairs(spec, block_pairs=block_pairs):
            yield from zip(block.source, block.target, strict=True)


def _write_excerpts(corpora: Corpora, recipe: Recipe, text: Path, report: Report) -> None:
    """The first pairs of each set as plain files; missing sets are cut from the stand-in for train."""
    stand_in = _stand_in(corpora, recipe) if corpora.stand_in else {}
    for name in SETS:
        own = () if corpora.stand_in and name == "train" else corpora.of(name)
        # Streaming reads only what is needed instead of downloading the whole dataset.
        streamed = [f"{spec}@streaming=true" if is_hub(spec) else spec for spec in own]
        pairs = _few(streamed, recipe, SMOKE_PAIRS[name]) if own else stand_in.get(name, [])
        if pairs:
            for side, file in enumerate(text_names(name, *recipe.languages)):
                _write(text / file, [pair[side] for pair in pairs])
            report(Progress(f"excerpt of {name}", len(pairs)))


def _stand_in(corpora: Corpora, recipe: Recipe) -> dict[str, list[Pair]]:
    """One corpus split into three sets."""
    pairs = _few(corpora.train, recipe, sum(SMOKE_PAIRS.values()))
    valid, test = min(SMOKE_PAIRS["valid"], len(pairs) // 10), min(SMOKE_PAIRS["test"], len(pairs) // 6)
    return {"train": pairs[valid + test :], "valid": pairs[:valid], "test": pairs[valid : valid + test]}


def _few(specs: Iterable[str], recipe: Recipe, count: int) -> list[Pair]:
    return list(islice(_pairs(specs, recipe, block_pairs=count), count))


def _write(path: Path, lines: Iterable[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with new_file(path) as temporary:
        temporary.write_bytes("".join(f"{line}\n" for line in lines).encode())


def _download_all(corpora: Corpora, recipe: Recipe, text: Path, report: Report) -> Corpora:
    places = fetched(corpora, recipe, text, smoke=False)
    for name in SETS:
        for spec, place in zip(corpora.of(name), places.of(name), strict=True):
            if is_web(spec):
                for address, path in zip(spec.split(","), place.split(","), strict=True):
                    _download(address, Path(path), recipe.sha256.get(file_name(address)), report)
    return places


def _download(address: str, path: Path, sha256: str | None, report: Report) -> None:
    """Download one file atomically; an existing file is kept."""
    if path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    content = hashlib.sha256()
    done = 0
    with new_file(path) as temporary:
        with temporary.open("wb") as file:
            for chunk in _chunks(address):
                file.write(chunk)
                content.update(chunk)
                done += len(chunk)
                report(Progress(f"fetching {path.name} (bytes)", done))
        if sha256 is not None and content.hexdigest() != sha256:
            raise CorpusError(
                f"{address} has changed: its SHA-256 is {content.hexdigest()}",
                hint="the server may have sent an error page; try again later",
            )


def _chunks(address: str) -> Iterator[bytes]:
    """The content of a URL, in chunks. URLs come from recipes, never from users."""
    try:
        with urllib.request.urlopen(address, timeout=_TIMEOUT) as response:
            while chunk := response.read(_CHUNK_BYTES):
                yield chunk
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        raise CorpusError(
            f"{address} cannot be fetched: {reason}", hint="check the network connection"
        ) from error
