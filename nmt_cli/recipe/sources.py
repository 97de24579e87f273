"""Which corpora a recipe reads: files below --data DIR, else the hub and the web, from where they are downloaded.

A corpus may be generated as well: `demo:KIND:SIZE:SET`.
"""

from __future__ import annotations

import hashlib
import http.client
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from glob import glob
from itertools import chain, islice
from pathlib import Path
from urllib.parse import urlsplit

from nmt_cli.corpus import parse_spec, read_pairs
from nmt_cli.corpus.locate import find_side, table_kind
from nmt_cli.corpus.spec import split_options
from nmt_cli.errors import CorpusError, UsageError
from nmt_cli.files.atomic import new_file
from nmt_cli.files.byte_stream import COMPRESSIONS, Progress
from nmt_cli.files.languages import text_names
from nmt_cli.recipe.definition import Local, NamedRecipe, Recipe

SETS = ("train", "valid", "test")
WEB = ("https://", "http://")
HUB = "hf:"
DEMO = "demo:"
_AND = " + "  # between the SPECs of a candidate that consists of several corpora
SMOKE_PAIRS = {"train": 400, "valid": 40, "test": 60}
_TIMEOUT = 10.0  # seconds without a response
_CHUNK_BYTES = 1 << 16
Pair = tuple[str, str]
Report = Callable[[Progress], None]


@dataclass(frozen=True)
class Corpora:
    """SPECs of the three sets; URLs are not downloaded yet."""

    train: tuple[str, ...]
    valid: tuple[str, ...] = ()
    test: tuple[str, ...] = ()
    stand_in: bool = False  # train is a stand-in for the real one, which is missing

    def of(self, name: str) -> tuple[str, ...]:
        """The SPECs of one set."""
        specs: tuple[str, ...] = getattr(self, name)
        return specs

    @property
    def remote(self) -> bool:
        """Whether anything comes from the hub or from the web."""
        return any(is_remote(spec) for name in SETS for spec in self.of(name))


def is_web(spec: str) -> bool:
    """Whether this is a pair of URLs."""
    return spec.startswith(WEB)


def is_hub(spec: str) -> bool:
    """Whether this is read by `datasets`."""
    return spec.startswith(HUB)


def is_remote(spec: str) -> bool:
    """Whether this comes from the hub or from the web."""
    return is_web(spec) or (is_hub(spec) and not hub_files(spec))


def hub_files(spec: str) -> list[Path]:
    """The files of a dataset on this machine: those of a folder, or those that the SPEC names."""
    dataset = Path(_dataset(spec))
    named = [name for name in split_options(spec)[1].get("data_files", "").split(",") if name]
    patterns = [str(folder / name) for folder in (Path(), dataset) for name in named]
    matches = chain.from_iterable(map(partial(glob, recursive=True), patterns))
    paths = chain([dataset], dataset.rglob("*"), map(Path, matches))
    return sorted({path for path in paths if path.is_file()})


def is_demo(spec: str) -> bool:
    """Whether this is generated."""
    return spec.startswith(DEMO)


def choose_corpora(named: NamedRecipe, data: Path | None, *, smoke: bool) -> Corpora:
    """The corpora below `data` if it is given, else those on the hub and the web."""
    recipe = named.recipe
    if data is not None:
        return _local(named, data, smoke=smoke)
    if recipe.corpus is None:
        raise UsageError(
            f"{named.name} needs local files", hint=f"give their folder with --data DIR: {wanted(recipe)}"
        )
    return Corpora(recipe.corpus.train, recipe.corpus.valid, recipe.corpus.test)


def wanted(recipe: Recipe) -> str:
    """A description of the files that are looked for below --data DIR."""
    parts = [
        f"{name}: {' or '.join(_shown(spec, recipe) for spec in getattr(recipe.local, name))}"
        for name in SETS
        if getattr(recipe.local, name)
    ]
    return "; ".join(parts) + f"; each plain or {', '.join(COMPRESSIONS)}"


def local_sizes(corpora: Corpora, recipe: Recipe) -> list[int]:
    """The sizes of all files that are read, to detect changed text."""
    paths: list[Path] = []
    for name in SETS:
        for spec in corpora.of(name):
            if is_web(spec) or is_demo(spec):
                continue
            if is_hub(spec):
                paths += hub_files(spec)
            else:
                paths += [path for path in _files(spec, recipe) if path is not None]
    return [path.stat().st_size for path in paths]


def _local(named: NamedRecipe, data: Path, *, smoke: bool) -> Corpora:
    if not data.is_dir():
        raise UsageError(
            f"--data {data} is not a directory", hint=f"give the folder with {wanted(named.recipe)}"
        )
    recipe, local = named.recipe, named.recipe.local
    chosen = {name: _first(getattr(local, name), data, recipe) for name in SETS}
    if not chosen["train"] and recipe.corpus is not None and (copy := _copy_of_hub(data, named)):
        return copy
    stand_in = smoke and not chosen["train"]
    if stand_in:
        chosen["train"] = _first(local.smoke, data, recipe)
    for name in SETS:
        if not chosen[name] and not _may_be_missing(name, local, stand_in=stand_in):
            raise CorpusError(
                f"{data} has no {'training' if name == 'train' else name} set for {named.name}",
                hint=f"these files are looked for: {wanted(recipe)}",
            )
    return Corpora(chosen["train"], chosen["valid"], chosen["test"], stand_in=stand_in)


def _may_be_missing(name: str, local: Local, *, stand_in: bool) -> bool:
    return name != "train" and (local.held_out or stand_in or not getattr(local, name))


def _first(candidates: Sequence[str], data: Path, recipe: Recipe) -> tuple[str, ...]:
    """The first candidate that exists; all of its SPECs, if it has several."""
    for candidate in candidates:
        found = [_existing(spec, data, recipe) for spec in candidate.split(_AND)]
        if all(found):
            return tuple(found)
    return ()


def _existing(spec: str, data: Path, recipe: Recipe) -> str:
    """The SPEC below `data`; "" if there is none of its files."""
    names, hash_sign, columns = spec.partition("#")
    parts = [str(data / name) for name in names.split(",")]
    if not any(_files(",".join(parts), recipe)):
        return ""
    found = [str(_present(part) or part) for part in parts] if _names_files(names) else parts
    return ",".join(found) + hash_sign + columns


def _files(spec: str, recipe: Recipe) -> tuple[Path | None, ...]:
    """The files of a SPEC, None for one that does not exist."""
    names = spec.partition("#")[0]
    if _names_files(names):
        return tuple(_present(name) for name in names.split(","))
    return find_side(names, recipe.source_lang), find_side(names, recipe.target_lang)


def _names_files(names: str) -> bool:
    """Whether these are file names; otherwise they are a prefix of two file names."""
    return "," in names or table_kind(names) is not None


def _present(name: str) -> Path | None:
    """The file of this name, possibly compressed."""
    return next((path for suffix in ("", *COMPRESSIONS) if (path := Path(name + suffix)).is_file()), None)


def _shown(candidate: str, recipe: Recipe) -> str:
    return " and ".join(_shown_spec(spec, recipe) for spec in candidate.split(_AND))


def _shown_spec(spec: str, recipe: Recipe) -> str:
    names = spec.partition("#")[0]
    if _names_files(names):
        return names.replace(",", " + ")
    return f"{names}.{recipe.source_lang} + .{recipe.target_lang}"


def _copy_of_hub(data: Path, named: NamedRecipe) -> Corpora | None:
    """The same SPECs on local copies of the hub repositories, if they are below `data` or `data` is the only one."""
    assert named.recipe.corpus is not None
    corpus = named.recipe.corpus
    hub = [[spec for spec in specs if is_hub(spec)] for specs in (corpus.train, corpus.valid, corpus.test)]
    datasets = {_dataset(spec) for specs in hub for spec in specs}
    folders = {
        name: folder for name in datasets if (folder := _folder_of(name, data, alone=len(datasets) == 1))
    }
    if not hub[0] or len(folders) < len(datasets):
        return None
    train, valid, test = (tuple(_on_disk(spec, folders[_dataset(spec)]) for spec in specs) for specs in hub)
    return Corpora(train, valid, test)


def _folder_of(dataset: str, data: Path, *, alone: bool) -> Path | None:
    candidates = [data / dataset, data / Path(dataset).name, *([data] if alone else [])]
    return next((folder for folder in candidates if folder.is_dir() and _has_tables(folder)), None)


def _has_tables(folder: Path) -> bool:
    return any(next(folder.rglob(f"*.{ending}"), None) for ending in ("parquet", "json", "jsonl"))


def _dataset(spec: str) -> str:
    return spec.removeprefix(HUB).partition("@")[0].partition("#")[0].partition(":")[0]


def _on_disk(spec: str, folder: Path) -> str:
    body, *options = spec.removeprefix(HUB).split("@")
    kept = [option for option in options if not option.startswith("revision=")]
    return "@".join([f"{HUB}{folder}{body.removeprefix(_dataset(spec))}", *kept])


def file_name(address: str) -> str:
    """The last component of a URL."""
    return Path(urlsplit(address).path).name


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
    """SPECs of one set, with the paths of downloaded and generated files in place of their sources."""

    def place(spec: str) -> str:
        if is_demo(spec):
            return str(text / "demo" / spec.rpartition(":")[2])
        if is_web(spec):
            return ",".join(str(text / name / file_name(address)) for address in spec.split(","))
        return spec

    return tuple(map(place, corpora.of(name)))


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
                        next(read_specs([spec], recipe))  # returns once the whole dataset is cached
    except CorpusError as error:
        if not corpora.remote:
            raise
        hint = f"give local files with --data DIR ({wanted(recipe)}); or {error.hint}"
        raise CorpusError(error.message, hint=hint) from error
    return fetched(corpora, recipe, text, smoke=smoke)


def read_specs(specs: Iterable[str], recipe: Recipe, block_pairs: int = 1024) -> Iterator[Pair]:
    """All pairs of these corpora."""
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
    return list(islice(read_specs(specs, recipe, block_pairs=count), count))


def _write(path: Path, lines: Iterable[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with new_file(path) as temporary:
        temporary.write_bytes("".join(f"{line}\n" for line in lines).encode())


def _download_all(corpora: Corpora, recipe: Recipe, text: Path, report: Report) -> Corpora:
    places = fetched(corpora, recipe, text, smoke=False)
    for name in SETS:
        for spec, place in zip(corpora.of(name), places.of(name), strict=True):
            if is_demo(spec):
                _generate(spec, text / "demo", report)
            if is_web(spec):
                for address, path in zip(spec.split(","), place.split(","), strict=True):
                    _download(address, Path(path), recipe.sha256.get(file_name(address)), report)
    return places


def _generate(spec: str, folder: Path, report: Report) -> None:
    """Write the corpus of `demo:KIND:SIZE:SET`, all three sets at once; existing files are kept."""
    from nmt_cli.demo import write

    _, kind, size, _ = spec.split(":")
    if not folder.exists():
        report(Progress("generating text", 0))
        folder.parent.mkdir(parents=True, exist_ok=True)
        write(folder, int(size), labels=kind == "tenses")


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
