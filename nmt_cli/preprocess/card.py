"""The data card: what is in a data directory and what was left out, for people and for machines."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from nmt_cli import __version__
from nmt_cli.data.directory import CorpusRows
from nmt_cli.errors import DataWarning
from nmt_cli.files.markdown import cell
from nmt_cli.files.markdown import table as markdown_table
from nmt_cli.preprocess.drop_log import Tally
from nmt_cli.preprocess.encoding import SideStatistics, SplitStatistics, histogram_labels
from nmt_cli.preprocess.memory import estimate_training_memory
from nmt_cli.preprocess.request import Request
from nmt_cli.vocabulary import Vocabularies

_SHOWN = 100  # characters of an example


class CardTable(NamedTuple):
    """A table of the card."""

    title: str
    headings: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


@dataclass(frozen=True, kw_only=True)
class DataCard:
    """Everything the card tells, before it is put into words."""

    request: Request
    pairs_read: Sequence[int]  # of each --train corpus
    corpora: Sequence[CorpusRows]
    origins: dict[str, str]  # valid, test → where they came from
    splits: dict[str, SplitStatistics]
    tally: Tally
    warnings: Sequence[DataWarning]
    vocabularies: Vocabularies

    def tables(self) -> Iterator[CardTable]:
        """The figures as tables of text."""
        source, target = self.request.source_lang, self.request.target_lang
        yield CardTable(
            "Training corpora",
            ("corpus", "weight", "pairs read", "pairs kept"),
            [
                (corpus.name, f"{corpus.weight:g}", f"{read:,}", f"{corpus.stop - corpus.start:,}")
                for corpus, read in zip(self.corpora, self.pairs_read, strict=True)
            ],
        )
        counts = [*sorted(self.tally.counts.items(), key=lambda item: -item[1]), ("in all", self.tally.total)]
        shares = [(reason, f"{count:,}", _percent(count, sum(self.pairs_read))) for reason, count in counts]
        yield CardTable("Dropped from train", ("reason", "pairs", "share"), shares)
        headings = ("split", "language", "pairs", "tokens", "tokens/word", "longest", "bytes", "unknown")
        rows = [
            (name, language, f"{split.pairs:,}", *_figures(side))
            for name, split in self.splits.items()
            for language, side in ((source, split.source), (target, split.target))
            if language
        ]
        yield CardTable("Tokens", headings, rows)
        yield CardTable("Vocabulary and memory", ("what", "value"), list(self._facts()))

    def _facts(self) -> Iterator[tuple[str, str]]:
        vocabularies = self.vocabularies
        kind, source, target = vocabularies.source.kind, len(vocabularies.source), len(vocabularies.target)
        sizes = f"joint, {source:,} pieces" if vocabularies.joint else f"{source:,} + {target:,} pieces"
        given = f", from {self.request.vocabulary}" if self.request.vocabulary else ""
        yield "vocabulary", f"{kind}, {sizes}{given}"
        yield "training memory (estimate)", f"{self.training_memory() / 1e9:.1f} GB"

    def training_memory(self) -> int:
        """Bytes that training with these settings takes, roughly."""
        train = self.splits["train"]
        return estimate_training_memory(
            self.request.settings.config,
            len(self.vocabularies.source),
            len(self.vocabularies.target),
            joint=self.vocabularies.joint,
            mean_length=train.target.tokens / max(1, train.pairs),
            longest=train.source.longest,
        )

    def to_json(self) -> dict[str, object]:
        """The card for machines."""
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
                        {
                            "corpus": self.tally.names[each.corpus],
                            "line": each.line,
                            "source": each.source,
                            "target": each.target,
                        }
                        for each in self.tally.examples[reason]
                    ],
                }
                for reason, count in sorted(self.tally.counts.items())
            },
            "splits": {
                name: {"origin": self.origins.get(name, "the training corpora"), **split.to_json()}
                for name, split in self.splits.items()
            },
            "vocabulary": {
                "kind": vocabularies.source.kind,
                "joint": vocabularies.joint,
                "source_size": len(vocabularies.source),
                "target_size": len(vocabularies.target),
            },
            "training_memory_bytes": self.training_memory(),
            "warnings": [
                {"name": each.name, "message": each.message, "hint": each.hint} for each in self.warnings
            ],
        }

    def to_markdown(self) -> str:
        """The card for people."""
        languages = [self.request.source_lang, self.request.target_lang]
        parts = [f"# Data card: {' → '.join(filter(None, languages))}", ""]
        for name, origin in self.origins.items():
            parts.append(f"- {name}: {origin}")
        for warning in self.warnings:
            parts.append(f"- **warning** ({warning.name}): {cell(warning.message)}. {cell(warning.hint)}")
        for table in self.tables():
            parts += ["", f"## {table.title}", "", *_markdown(table)]
        parts += ["", "## Sentence lengths in train (tokens)", "", *_markdown(self._histogram())]
        if self.tally.examples:
            parts += ["", "## Examples of dropped pairs"]
        shown = ""
        for reason, corpus, line, text in self.examples():
            parts += ["", f"### {reason}", ""] if reason != shown else []
            parts.append(f"- {corpus} line {line}: `{text}`")
            shown = reason
        return "\n".join(parts) + "\n"

    def examples(self) -> Iterator[tuple[str, str, int, str]]:
        """Reason, corpus, line and shortened text of a few dropped pairs."""
        for reason, examples in sorted(self.tally.examples.items()):
            for each in examples:
                sides = (each.source, each.target)[self.request.is_one_sided and not each.source :]
                text = " ⇥ ".join(map(_shorten, sides))
                yield reason, self.tally.names[each.corpus], each.line, text

    def _histogram(self) -> CardTable:
        train = self.splits["train"]
        columns = zip(histogram_labels(), train.source.histogram, train.target.histogram, strict=True)
        rows = [(label, f"{source:,}", f"{target:,}") for label, source, target in columns]
        table = CardTable("", ("tokens", self.request.source_lang, self.request.target_lang), rows)
        if not self.request.is_one_sided:
            return table
        return CardTable("", ("tokens", self.request.target_lang), [(row[0], row[2]) for row in rows])


def write_card(card: DataCard, directory: Path) -> None:
    """Write `data-card.json` and `data-card.md`."""
    content = json.dumps(card.to_json(), indent=2, ensure_ascii=False)
    (directory / "data-card.json").write_text(content + "\n", encoding="utf-8", errors="replace")
    (directory / "data-card.md").write_text(card.to_markdown(), encoding="utf-8", errors="replace")


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
    """An example on one line: no control characters, no backquotes, not too long."""
    shown = "".join(char if char.isprintable() else repr(char)[1:-1] for char in text[: _SHOWN + 1])
    shown = shown.replace("`", "ˋ")
    return f"{shown[:_SHOWN]}…" if len(shown) > _SHOWN else shown


def _percent(part: int, whole: int) -> str:
    share = 100 * part / max(1, whole)
    return f"{share:.2f} %" if share else "0"
