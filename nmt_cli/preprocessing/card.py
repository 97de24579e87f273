"""The data card: what a data directory contains and what was dropped, as Markdown and as JSON.

It is written last, with the manifest, which makes the directory complete.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

from nmt_cli import __version__
from nmt_cli.corpus.cleaning import Normalization, write_replacements
from nmt_cli.data.directory import CorpusRows, DataDirectory
from nmt_cli.drawing.markup import cell
from nmt_cli.drawing.markup import table as markdown_table
from nmt_cli.errors import DataWarning
from nmt_cli.preprocessing.encoding import LinkStatistics, SideStatistics, SplitStatistics, histogram_labels
from nmt_cli.preprocessing.request import PreprocessRequest
from nmt_cli.preprocessing.splits import FROM_TRAIN, DropLog
from nmt_cli.vocabulary import Vocabularies

_SHOWN = 100  # characters of an example


class CardTable(NamedTuple):
    """A table of the card."""

    title: str
    headings: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


@dataclass(frozen=True, kw_only=True)
class DataCard:
    """The content of the card, before it is formatted."""

    request: PreprocessRequest
    pairs_read: Sequence[int]  # of each --train corpus
    corpora: Sequence[CorpusRows]
    origins: dict[str, str]  # valid, test → where they came from
    splits: dict[str, SplitStatistics]
    drop_log: DropLog
    warnings: Sequence[DataWarning]
    vocabularies: Vocabularies
    media: dict[str, tuple[str, ...]] | None = (
        None  # of each split: images or recordings, and one more figure
    )
    links: Sequence[LinkStatistics] | None = None  # of each --train corpus, if word alignments were given

    @property
    def _unit(self) -> str:
        if self.request.has_media:
            return "captions" if self.request.has_images else "transcripts"
        return "lines" if self.request.is_monolingual else "pairs"

    @property
    def _is_one_sided(self) -> bool:
        """Whether only the target is text."""
        return self.request.is_monolingual or self.request.has_media

    def tables(self) -> Iterator[CardTable]:
        """The figures as tables, formatted."""
        source, target, unit = self.request.source_lang, self.request.target_lang, self._unit
        yield CardTable(
            "Training corpora",
            ("corpus", "weight", f"{unit} read", f"{unit} kept"),
            [
                (corpus.name, f"{corpus.weight:g}", f"{read:,}", f"{corpus.stop - corpus.start:,}")
                for corpus, read in zip(self.corpora, self.pairs_read, strict=True)
            ],
        )
        counts = [
            *sorted(self.drop_log.counts.items(), key=lambda item: -item[1]),
            ("total", self.drop_log.total),
        ]
        taken = [name for name, origin in self.origins.items() if origin == FROM_TRAIN]
        if taken:
            held_out = sum(self.splits[name].pairs for name in taken)
            counts.append((f"not dropped, but held out for {' and '.join(taken)}", held_out))
        shares = [(reason, f"{count:,}", _percent(count, sum(self.pairs_read))) for reason, count in counts]
        yield CardTable("Dropped from train", ("reason", unit, "share"), shares)
        headings = ("split", "language", unit, "tokens", "tokens/word", "longest", "bytes", "unknown")
        rows = [
            (name, language, f"{split.pairs:,}", *_figures(side))
            for name, split in self.splits.items()
            for language, side in ((source, split.source), (target, split.target))
            if language and not (self.request.has_media and side is split.source)
        ]
        yield CardTable("Tokens", headings, rows)
        if self.media is not None:
            names = ("images", "captions per image") if self.request.has_images else ("recordings", "minutes")
            rows = [(name, *figures) for name, figures in self.media.items()]
            yield CardTable(names[0].capitalize(), ("split", *names), rows)
        if self.links is not None:
            yield self._alignments(self.links)
        yield CardTable("Vocabulary and memory", ("what", "value"), list(self._vocabulary_and_memory()))

    def _alignments(self, links: Sequence[LinkStatistics]) -> CardTable:
        headings = ("file", "pairs with links", "word links", "unused", "token links")
        rows = [
            (
                str(path),
                f"{each.pairs:,}",
                f"{each.links:,}",
                f"{each.left_out + each.too_many_tokens:,}",
                f"{each.token_links:,}",
            )
            for path, each in zip(self.request.alignments, links, strict=True)
        ]
        return CardTable("Word alignments of train", headings, rows)

    def _vocabulary_and_memory(self) -> Iterator[tuple[str, str]]:
        vocabularies = self.vocabularies
        kind, source, target = vocabularies.source.kind, len(vocabularies.source), len(vocabularies.target)
        sizes = f"joint, {source:,} pieces" if vocabularies.joint else f"{source:,} + {target:,} pieces"
        given = f", from {self.request.vocabulary}" if self.request.vocabulary else ""
        yield "vocabulary", f"{kind}, {sizes}{given}"
        if (data := self.request.settings.config.data).backbone is not None:
            yield "backbone", f"{data.backbone}, layer {data.backbone_layer}, {data.image_size} pixels"
        yield "training memory", "measure it: nmt train DATA --dry-run"

    def to_json(self) -> dict[str, object]:
        """The content of data-card.json."""
        vocabularies = self.vocabularies
        return {
            "nmt_version": __version__,
            "source_lang": self.request.source_lang,
            "target_lang": self.request.target_lang,
            "corpora": [
                {
                    "spec": corpus.name,
                    "weight": corpus.weight,
                    "read": read,
                    "kept": corpus.stop - corpus.start,
                }
                for corpus, read in zip(self.corpora, self.pairs_read, strict=True)
            ],
            "dropped": {
                reason: {
                    "count": count,
                    "examples": [
                        {"corpus": corpus, "line": line, "source": each.source, "target": each.target}
                        for each in self.drop_log.examples[reason]
                        for corpus, line in [self.drop_log.place(each)]
                    ],
                }
                for reason, count in sorted(self.drop_log.counts.items())
            },
            "splits": {
                name: {"origin": self.origins.get(name, "the training corpora"), **split.to_json()}
                for name, split in self.splits.items()
            },
            **self._media_json(),
            **({} if self.links is None else {"alignments": [*self._alignments_json(self.links)]}),
            "vocabulary": {
                "kind": vocabularies.source.kind,
                "joint": vocabularies.joint,
                "source_size": len(vocabularies.source),
                "target_size": len(vocabularies.target),
            },
            "warnings": [
                {"name": each.name, "message": each.message, "hint": each.hint} for each in self.warnings
            ],
        }

    def _alignments_json(self, links: Sequence[LinkStatistics]) -> Iterator[dict[str, object]]:
        for path, each in zip(self.request.alignments, links, strict=True):
            yield {"file": str(path), **asdict(each)}

    def _media_json(self) -> dict[str, object]:
        """How many images or recordings each split has."""
        if self.media is None:
            return {}
        counts = {name: int(figures[0].replace(",", "")) for name, figures in self.media.items()}
        return {"images" if self.request.has_images else "recordings": counts}

    def to_markdown(self) -> str:
        """The content of data-card.md."""
        languages = [self.request.source_lang, self.request.target_lang]
        parts = [f"# Data card: {' → '.join(filter(None, languages))}", ""]
        for name, origin in self.origins.items():
            parts.append(f"- {name}: {origin}")
        for warning in self.warnings:
            parts.append(f"- **warning** ({warning.name}): {cell(warning.message)}. {cell(warning.hint)}")
        for table in self.tables():
            parts += ["", f"## {table.title}", "", *_markdown(table)]
        parts += ["", "## Sentence lengths in train (tokens)", "", *_markdown(self._histogram())]
        if self.drop_log.examples:
            parts += ["", f"## Examples of dropped {self._unit}"]
        shown = ""
        for reason, corpus, line, text in self.examples():
            parts += ["", f"### {reason}", ""] if reason != shown else []
            parts.append(f"- {corpus} line {line}: `{text}`")
            shown = reason
        return "\n".join(parts) + "\n"

    def examples(self) -> Iterator[tuple[str, str, int, str]]:
        """Reason, corpus, line and abbreviated text of a few dropped pairs."""
        for reason, examples in sorted(self.drop_log.examples.items()):
            for each in examples:
                sides = (each.source, each.target)[self.request.is_monolingual and not each.source :]
                text = " ⇥ ".join(map(_shorten, sides))
                yield reason, *self.drop_log.place(each), text

    def _histogram(self) -> CardTable:
        train = self.splits["train"]
        columns = zip(histogram_labels(), train.source.histogram, train.target.histogram, strict=True)
        rows = [(label, f"{source:,}", f"{target:,}") for label, source, target in columns]
        table = CardTable("", ("tokens", self.request.source_lang, self.request.target_lang), rows)
        if not self._is_one_sided:
            return table
        return CardTable("", ("tokens", self.request.target_lang), [(row[0], row[2]) for row in rows])


def write_card(card: DataCard, directory: Path) -> None:
    """Write `data-card.json` and `data-card.md`."""
    content = json.dumps(card.to_json(), indent=2, ensure_ascii=False)
    (directory / "data-card.json").write_text(content + "\n", encoding="utf-8", errors="replace")
    (directory / "data-card.md").write_text(card.to_markdown(), encoding="utf-8", errors="replace")


def finish_directory(card: DataCard, directory: Path, normalization: Normalization) -> None:
    """Write the last files of a data directory: replacements, the card, settings and the manifest."""
    request = card.request
    if request.settings.config.data.normalization is not None:
        write_replacements(directory / "normalization.tsv", normalization.replacements)
    write_card(card, directory)
    DataDirectory.finish(
        directory,
        source_lang=request.source_lang,
        target_lang=request.target_lang,
        vocabularies=card.vocabularies,
        resolved=request.settings,
        corpora=card.corpora,
    )


def _figures(side: SideStatistics) -> tuple[str, ...]:
    return (
        f"{side.tokens:,}",
        f"{side.tokens / max(1, side.words):.2f}",
        f"{side.longest:,}",
        _percent(side.byte_tokens, side.tokens),
        _percent(side.unknown_tokens, side.tokens),
    )


def _markdown(table: CardTable) -> list[str]:
    return markdown_table(table.headings, [list(map(cell, row)) for row in table.rows])


def _shorten(text: str) -> str:
    """An example on one line: no control characters, no backticks, not too long."""
    shown = "".join(char if char.isprintable() else repr(char)[1:-1] for char in text[: _SHOWN + 1])
    shown = shown.replace("`", "ˋ")
    return f"{shown[:_SHOWN]}…" if len(shown) > _SHOWN else shown


def _percent(part: int, whole: int) -> str:
    share = 100 * part / max(1, whole)
    return f"{share:.2f} %" if share else "0"
