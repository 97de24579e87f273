"""SPEC: how users name a parallel corpus on the command line.

    data/train                     a prefix: data/train.de[.gz|.xz|.bz2|.zst] and data/train.en…
    a.de,a.en                      two files
    x.tsv   x.tsv#1,3              columns, counted from 1: source, target
    x.jsonl   x.jsonl#from,to      fields; without them `translation` or the two language codes
    x.csv   x.csv#source,target    columns by their names in the first row; without them the language codes
    x.tmx   x.po   x.xlf           localization files, compressed or not
    po/   'po/**/*.po'             all localization files of one format in a directory, or of a pattern
    en-de.txt.zip                  an archive with a text file for each language
    hf:ID[:CONFIG[:SPLIT]]         a dataset on the Hugging Face hub, or a local one
    -   -#2,1                      TSV on standard input

Without a source language, the corpus is monolingual text:

    data/train   a.en              a prefix, data/train.en[.gz|.xz|.bz2|.zst], or a file of any name
    x.tsv#2   x.jsonl#text         a column (by default the first), a field (by default the language code)
    x.csv#text                     a column by its name (by default the language code)
    hf:ID[:CONFIG[:SPLIT]]#text    a column of a dataset
    -                              standard input, line by line

Options follow as `@key=value`: `@weight=2.5` for any corpus; `@tag=<BT>` for a parallel one, the first word of all its
sources; `@revision=…`, `@data_files=…` and `@streaming=true` for hf.
"""

import math
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from nmt_cli.config.data import is_reserved
from nmt_cli.corpus.localization.reader import LocalizationFormat
from nmt_cli.corpus.locate import (
    exists,
    find_localization,
    find_side,
    missing_prefix,
    refuse_unsupported_format,
    table_kind,
)
from nmt_cli.errors import UsageError, closest, did_you_mean
from nmt_cli.files.byte_stream import cannot_read, check_readable

Kind = Literal["files", "tsv", "jsonl", "csv", "archive", "hub", "stdin", "text"] | LocalizationFormat

OPTIONS = ("weight", "tag", "revision", "data_files", "streaming")
HUB_OPTIONS = ("revision", "data_files", "streaming")
# Builders of `datasets` that read files of a format instead of a dataset.
FILE_BUILDERS = {".parquet": "parquet", ".json": "json", ".jsonl": "json", ".csv": "csv", ".arrow": "arrow"}
FORMS = (
    "a SPEC is a prefix, two files a.de,a.en, x.tsv[#1,2], x.jsonl[#from,to], x.csv[#source,target], "
    "x.tmx, x.po, x.xlf, x.zip, hf:ID[:CONFIG[:SPLIT]] or -"
)

MONOLINGUAL_FORMS = (
    "monolingual text is a prefix, a file, x.tsv[#1], x.jsonl[#field], x.csv[#column], "
    "hf:ID[:CONFIG[:SPLIT]][#column] or -"
)

MAX_WEIGHT = 1000.0  # times that an epoch contains each pair

_KNOWN_OPTION = re.compile(rf"@({'|'.join(OPTIONS)})=")
_ANY_OPTION = re.compile(r"@([A-Za-z_-]+)=")
_TAG = re.compile(r"(?=.*[^\W\d_])(<[\w-]+>|⟨[\w-]+⟩)")  # with a letter


@dataclass(frozen=True)
class Spec:
    """A corpus as the user named it, checked as far as possible without reading it."""

    text: str  # for display; a file name that is not UTF-8 has its bytes in `paths`
    kind: Kind
    source_lang: str  # "": monolingual text
    target_lang: str
    # Two for "files"; one for tables; none for "stdin" and for "text" from there.
    paths: tuple[Path, ...] = ()
    columns: tuple[int, int] = (1, 2)  # of TSV, counted from 1
    fields: tuple[str, str] | None = None  # of JSON lines, CSV and hub datasets
    dataset: str = ""
    config: str | None = None
    split: str = "train"
    revision: str | None = None
    data_files: tuple[str, ...] = ()
    streaming: bool = False
    weight: float = 1.0
    tag: str = ""  # put before every source


def parse_spec(text: str, *, source_lang: str, target_lang: str) -> Spec:
    """Parse a SPEC and find its files; an error says what was looked for."""
    body, options = split_options(text)
    text = text.encode(errors="backslashreplace").decode()
    weight = _parse_weight(options.pop("weight", "1"), text)
    tag = _parse_tag(options.pop("tag", None), text, source_lang)
    if body.startswith("hf:"):
        spec = _parse_hub(text, body.removeprefix("hf:"), options, source_lang, target_lang)
        return replace(spec, weight=weight, tag=tag)
    if options:
        key = next(iter(options))
        raise UsageError(
            f"{text}: @{key} applies only to hf: corpora",
            hint=f"remove @{key}=…, or read a hub dataset: hf:ID",
        )
    if not body:
        raise UsageError(f"{text!r} does not name a corpus", hint=FORMS if source_lang else MONOLINGUAL_FORMS)
    try:
        kind, paths, choice = (
            _parse_files(body, source_lang, target_lang) if source_lang else _parse_text(body, target_lang)
        )
    except OSError as error:  # looking for files can fail just as reading them can
        raise cannot_read(error.filename or body, error) from error
    columns, fields = (1, 2) if source_lang else (1, 1), None
    if choice is not None and kind in ("jsonl", "csv"):
        fields = _parse_fields(choice, text) if source_lang else _parse_field(choice, text)
    elif choice is not None:
        columns = _parse_columns(choice, text) if source_lang else _parse_column(choice, text)
    return Spec(
        text,
        kind,
        source_lang,
        target_lang,
        paths=paths,
        columns=columns,
        fields=fields,
        weight=weight,
        tag=tag,
    )


def split_options(text: str) -> tuple[str, dict[str, str]]:
    """Split a SPEC into its body and its options. An '@' counts only before a known key and '=': paths may have one."""
    pattern = _ANY_OPTION if text.startswith("hf:") else _KNOWN_OPTION
    starts = list(pattern.finditer(text))
    options: dict[str, str] = {}
    ends = [*(found.start() for found in starts), len(text)][1:]
    for found, end in zip(starts, ends, strict=True):
        key = found[1]
        if key not in OPTIONS:
            suggestion = did_you_mean(f"@{key}", [f"@{name}" for name in OPTIONS])
            raise UsageError(
                f"{text}: @{key} is not an option{suggestion}",
                hint=f"options are {', '.join(f'@{name}=' for name in OPTIONS)}",
            )
        if key in options:
            raise UsageError(f"{text}: @{key} is given twice", hint="give each option once")
        options[key] = text[found.end() : end]
    return (text[: starts[0].start()] if starts else text), options


def _parse_weight(value: str, text: str) -> float:
    try:
        weight = float(value)
    except ValueError:
        weight = math.nan
    if not 0 < weight <= MAX_WEIGHT:
        raise UsageError(
            f"{text}: weight {value!r} is not a positive number up to {MAX_WEIGHT:g}",
            hint="for example @weight=2.5, the number of times an epoch goes through the corpus",
        )
    return weight


def _parse_tag(tag: str | None, text: str, source_lang: str) -> str:
    if tag is None:
        return ""
    if not source_lang:
        raise UsageError(
            f"{text}: @tag applies to source sentences; monolingual text has no source side",
            hint="leave it out; a parallel corpus needs --source-lang",
        )
    try:
        check_tag(tag)
    except ValueError as error:
        raise UsageError(f"{text}: {error}", hint="choose a tag such as @tag=<BT>") from None
    return tag


def check_tag(tag: str) -> None:
    """Raise a ValueError if this cannot mark a corpus."""
    if is_reserved(tag):
        raise ValueError(f"the tag {tag!r} is empty, reserved or contains whitespace")
    # A symbol is one token wherever it occurs, so it must not be part of ordinary text.
    if not _TAG.fullmatch(tag):
        raise ValueError(f"the tag {tag!r} is not letters, digits, - and _ in angle brackets")


def _parse_hub(text: str, body: str, options: dict[str, str], source_lang: str, target_lang: str) -> Spec:
    body, hash_sign, choice = body.partition("#")
    dataset, _, rest = body.partition(":")
    config, _, split = rest.partition(":")
    if not dataset:
        raise UsageError(
            f"{text} does not name a dataset",
            hint="write hf:ID[:CONFIG[:SPLIT]], such as hf:wmt/wmt14:de-en:train",
        )
    if dataset in FILE_BUILDERS.values() and not options.get("data_files"):
        raise UsageError(
            f"{text}: {dataset} is a file format, not a dataset",
            hint=f"give the files: hf:{dataset}@data_files=PATH",
        )
    streaming = options.get("streaming", "false").lower()
    if streaming not in ("true", "false"):
        raise UsageError(
            f"{text}: streaming={streaming} is neither true nor false",
            hint="write @streaming=true or @streaming=false",
        )
    return Spec(
        text,
        "hub",
        source_lang,
        target_lang,
        fields=(_parse_fields if source_lang else _parse_field)(choice, text) if hash_sign else None,
        dataset=dataset,
        config=config or None,
        split=split or "train",
        revision=options.get("revision"),
        data_files=tuple(part for part in options.get("data_files", "").split(",") if part),
        streaming=streaming == "true",
    )


def _parse_files(body: str, source_lang: str, target_lang: str) -> tuple[Kind, tuple[Path, ...], str | None]:
    """The kind, the files, and the text after '#'."""
    name, hash_sign, choice = body.rpartition("#")
    if body == "-" or (hash_sign and name == "-"):
        return "stdin", (), choice if hash_sign else None
    if hash_sign and (kind := table_kind(name)):
        check_readable(Path(name))
        return kind, (Path(name),), choice
    if (kind := table_kind(body)) and ("," not in body or exists(Path(body))):
        check_readable(Path(body))
        return kind, (Path(body),), None
    sides = find_side(body, source_lang), find_side(body, target_lang)
    if sides[0] and sides[1]:
        _need_two_languages(body, source_lang, target_lang)
        return "files", (sides[0], sides[1]), None
    if localization := find_localization(body):
        _need_two_languages(body, source_lang, target_lang)
        for path in localization[1]:
            check_readable(path)
        return *localization, None
    if body.lower().endswith(".zip"):
        _need_two_languages(body, source_lang, target_lang)
        check_readable(Path(body))
        return "archive", (Path(body),), None
    if "," in body:
        return "files", _two_files(body), None
    refuse_unsupported_format(Path(body))
    raise missing_prefix(body, source_lang, target_lang, sides, _misspelt_option(body))


def _need_two_languages(body: str, source_lang: str, target_lang: str) -> None:
    if source_lang == target_lang:
        raise UsageError(
            f"{body}: both languages are {source_lang}, so both sides would be the same text",
            hint="give the two files: a.txt,b.txt; for monolingual text, leave out --source-lang",
        )


def _parse_text(body: str, lang: str) -> tuple[Kind, tuple[Path, ...], str | None]:
    """The kind, the file, and the text after '#', for monolingual text."""
    if body == "-":
        return "text", (), None
    name, hash_sign, choice = body.rpartition("#")
    if hash_sign and (kind := table_kind(name)):
        check_readable(Path(name))
        return kind, (Path(name),), choice
    path = find_side(body, lang) or Path(body)
    two = "; for a parallel corpus, give --source-lang too" if "," in body else ""
    check_readable(path, hint_after=two or _misspelt_option(body))
    if kind := table_kind(str(path)):
        return kind, (path,), None
    refuse_unsupported_format(path)
    return "text", (path,), None


def _two_files(body: str) -> tuple[Path, Path]:
    parts = body.split(",")
    # A comma may also be part of a name: split where both parts are files.
    cuts = [(",".join(parts[:i]), ",".join(parts[i:])) for i in range(1, len(parts))]
    present = [cut for cut in cuts if all(name and exists(Path(name)) for name in cut)]
    if not present and len(cuts) > 1:
        raise UsageError(
            f"{body} names {len(parts)} files",
            hint="give two, source and target: a.de,a.en; repeat the option for more corpora",
        )
    source, target = map(Path, (present or cuts)[0])
    if not cuts[0][0] or not cuts[-1][1]:
        raise UsageError(
            f"{body}: one of the two file names is empty", hint="give source and target: a.de,a.en"
        )
    for path in (source, target):
        check_readable(path, hint_after=_misspelt_option(body))
        refuse_unsupported_format(path)
    return source, target


def _misspelt_option(body: str) -> str:
    """A hint for something like `x.tsv@wieght=2`, which is read as part of the file name."""
    found = _ANY_OPTION.search(body)
    near = closest(found[1], OPTIONS, cutoff=0.6) if found else []
    return f"; did you mean @{near[0]}=?" if near else ""


def _parse_columns(choice: str, text: str) -> tuple[int, int]:
    numbers = choice.split(",")
    if len(numbers) != 2 or not all(number.strip().isdecimal() and int(number) > 0 for number in numbers):
        raise UsageError(
            f"{text}: #{choice} is not two column numbers",
            hint="columns are counted from 1, source first: x.tsv#1,3",
        )
    source, target = map(int, numbers)
    if source == target:
        raise UsageError(
            f"{text}: column {source} cannot be both source and target",
            hint="give two different columns: x.tsv#1,3",
        )
    return source, target


def _parse_column(choice: str, text: str) -> tuple[int, int]:
    """The column of monolingual text, as both source and target."""
    if not choice.strip().isdecimal() or int(choice) == 0:
        raise UsageError(
            f"{text}: #{choice} is not a column number",
            hint="monolingual text is one column, counted from 1: x.tsv#2; "
            "for a parallel corpus, give both languages",
        )
    return int(choice), int(choice)


def _parse_field(choice: str, text: str) -> tuple[str, str]:
    """The field of monolingual text, as both source and target."""
    field = choice.strip()
    if not field or "," in field:
        raise UsageError(
            f"{text}: #{choice} is not a field name",
            hint="monolingual text is one field: x.jsonl#text; for a parallel corpus, give both languages",
        )
    return field, field


def _parse_fields(choice: str, text: str) -> tuple[str, str]:
    source, comma, target = (part.strip() for part in choice.partition(","))
    if not (source and comma and target) or "," in target:
        raise UsageError(
            f"{text}: #{choice} is not two field names", hint="source first: x.jsonl#prompt,response"
        )
    if source == target:
        raise UsageError(
            f"{text}: field {source} cannot be both source and target", hint="give two different fields"
        )
    return source, target
