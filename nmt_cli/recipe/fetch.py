"""Getting the text of a recipe: from the hub, from the web, or, for a smoke run, a few hundred pairs of it."""

from __future__ import annotations

import hashlib
import http.client
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from nmt_cli.corpus import parse_spec, read_pairs
from nmt_cli.data.text_files import text_names
from nmt_cli.errors import CorpusError
from nmt_cli.files.atomic import new_file
from nmt_cli.recipe.definition import Recipe
from nmt_cli.recipe.sources import SETS, Corpora, file_name, is_hub, is_web, wanted

SMOKE_PAIRS = {"train": 400, "valid": 40, "test": 60}
_TIMEOUT = 10.0  # seconds without an answer
_PIECE = 1 << 16

Pair = tuple[str, str]


@dataclass(frozen=True)
class Progress:
    """So many bytes or pairs of this are here."""

    stage: str
    done: int
    total: int | None = None


Report = Callable[[Progress], None]


def fetched(corpora: Corpora, recipe: Recipe, text: Path, *, smoke: bool) -> Corpora:
    """The SPECs that `nmt preprocess` gets once everything has been fetched into `text`."""
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
    """SPECs of one set, those of the web as the files that they become."""
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
    """Get everything that is not there yet; what is downloaded goes into `text`."""
    try:
        downloaded = _download_all(corpora, recipe, text, report)
        if smoke:
            _write_excerpts(downloaded, recipe, text, report)
        else:
            for name in SETS:
                for spec in downloaded.of(name):
                    if is_hub(spec):
                        report(Progress(f"fetching {name}", 0))
                        next(_pairs([spec], recipe))  # the first pair comes when all is in the cache
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
    """The first pairs of each set as plain files; what stands in for train serves a set that is not there."""
    stand_in = _stand_in(corpora, recipe) if corpora.stand_in else {}
    for name in SETS:
        own = () if corpora.stand_in and name == "train" else corpora.of(name)
        # A stream ends when enough has been read; else all of a hub's dataset would be downloaded.
        streamed = [f"{spec}@streaming=true" if is_hub(spec) else spec for spec in own]
        pairs = _few(streamed, recipe, SMOKE_PAIRS[name]) if own else stand_in.get(name, [])
        if pairs:
            for side, file in enumerate(text_names(name, *recipe.languages)):
                _write(text / file, [pair[side] for pair in pairs])
            report(Progress(f"excerpt of {name}", len(pairs)))


def _stand_in(corpora: Corpora, recipe: Recipe) -> dict[str, list[Pair]]:
    """One corpus cut into three sets."""
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
    """One file, whole or not at all; a file that is there is taken as it is."""
    if path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    content = hashlib.sha256()
    done = 0
    with new_file(path) as temporary:
        with temporary.open("wb") as file:
            for piece in _pieces(address):
                file.write(piece)
                content.update(piece)
                done += len(piece)
                report(Progress(f"fetching {path.name} (bytes)", done))
        if sha256 is not None and content.hexdigest() != sha256:
            raise CorpusError(
                f"{address} is not the file it was: its SHA-256 is {content.hexdigest()}",
                hint="the server may have sent a page instead; try again later",
            )


def _pieces(address: str) -> Iterator[bytes]:
    """What a server sends. The address is one of a recipe, never of a user."""
    try:
        with urllib.request.urlopen(address, timeout=_TIMEOUT) as answer:
            while piece := answer.read(_PIECE):
                yield piece
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        raise CorpusError(f"{address} cannot be fetched: {reason}", hint="connect to the network") from error
