"""The data card: what is in a data directory and what was left out, for people and for machines."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from nmt_cli import __version__
from nmt_cli.corpus import CorpusWarning
from nmt_cli.preprocess.request import Request
from nmt_cli.preprocess.statistics import SideStatistics, SplitStatistics, histogram_labels
from nmt_cli.preprocess.tally import Tally
from nmt_cli.store import CorpusRows
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
    warnings: Sequence[CorpusWarning]
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
        ]
        yield CardTable("Tokens", headings, rows)
        yield CardTable("Vocabulary and memory", ("what", "value"), list(self._facts()))

    def _facts(self) -> Iterator[tuple[str, str]]:
        vocabularies = self.vocabularies
        sides = "joint" if vocabularies.joint else f"{self.request.source_lang} + {self.request.target_lang}"
        sizes = (
            [len(vocabularies.source)]
            if vocabularies.joint
            else [len(vocabularies.source), len(vocabularies.target)]
        )
        yield (
            "vocabulary",
            f"{self._origin_of_vocabulary()}, {sides}, {' + '.join(f'{size:,}' for size in sizes)} pieces",
        )
        yield "training memory (estimate)", f"{self.training_memory() / 1e9:.1f} GB"

    def _origin_of_vocabulary(self) -> str:
        given = self.request.vocabulary
        return f"from {given}" if given else self.request.settings.config.vocabulary.kind

    def training_memory(self) -> int:
        """Bytes that training with these settings takes, roughly: parameters four times, and one batch.

        Four times: the weights, their gradients and two moments of Adam. Of a batch, every token leaves about a
        dozen vectors of the hidden size behind for the backward pass, and the attention one of the source's length.
        """
        model, batch = self.request.settings.config.model, self.request.settings.config.train.batch_tokens
        source, target = len(self.vocabularies.source), len(self.vocabularies.target)
        embedded = (source + target) * model.embedding_size
        recurrent = 4 * 3 * model.hidden_size * (model.embedding_size + model.hidden_size)
        parameters = embedded + target * model.hidden_size + recurrent
        longest = min(self.splits["train"].source.longest, 100)
        activations = batch * (12 * 2 * model.hidden_size + longest + 2 * model.embedding_size)
        return 4 * (4 * parameters + activations)

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
                "kind": self._origin_of_vocabulary(),
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
        parts = [f"# Data card: {self.request.source_lang} → {self.request.target_lang}", ""]
        for name, origin in self.origins.items():
            parts.append(f"- {name}: {origin}")
        for warning in self.warnings:
            parts.append(f"- **warning** ({warning.name}): {_cell(warning.message)}. {_cell(warning.hint)}")
        for table in self.tables():
            parts += ["", f"## {table.title}", "", *_markdown_table(table)]
        parts += ["", "## Sentence lengths in train (tokens)", "", *_markdown_table(self._histogram())]
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
                text = " ⇥ ".join(_shorten(text) for text in (each.source, each.target))
                yield reason, self.tally.names[each.corpus], each.line, text

    def _histogram(self) -> CardTable:
        train = self.splits["train"]
        columns = zip(histogram_labels(), train.source.histogram, train.target.histogram, strict=True)
        rows = [(label, f"{source:,}", f"{target:,}") for label, source, target in columns]
        return CardTable("", ("tokens", self.request.source_lang, self.request.target_lang), rows)


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


def _markdown_table(table: CardTable) -> list[str]:
    lines = ["| " + " | ".join(table.headings) + " |", "| --- |" + " ---: |" * (len(table.headings) - 1)]
    return lines + ["| " + " | ".join(map(_cell, row)) + " |" for row in table.rows]


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _shorten(text: str) -> str:
    """An example on one line: no control characters, no backquotes, not too long."""
    shown = "".join(char if char.isprintable() else repr(char)[1:-1] for char in text[: _SHOWN + 1])
    shown = shown.replace("`", "ˋ")
    return f"{shown[:_SHOWN]}…" if len(shown) > _SHOWN else shown


def _percent(part: int, whole: int) -> str:
    share = 100 * part / max(1, whole)
    return f"{share:.2f} %" if share else "0"
