"""Translate text with an exported model, line by line: python translate.py < input > output"""

from __future__ import annotations

import os

# NumPy multiplies no matrices here: one pool of threads is enough
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nmt_cli.runtime.folder import Integers, RuntimeFailure, SearchSettings
from nmt_cli.runtime.model import Model
from nmt_cli.runtime.placeholders import Masked, PlaceholderSymbols, outside_symbols, renumbered, restore
from nmt_cli.runtime.search import EOS, UNK, Hypothesis, search
from nmt_cli.runtime.segments import CONTROL, replace_surrogates, split_line, windows
from nmt_cli.runtime.translation import (
    Translation,
    Wanted,
    as_json,
    as_text,
    as_tsv,
    blank_translation,
    join_segments,
)
from nmt_cli.runtime.words import links_of

BATCH_TOKENS = 1024  # source tokens per batch, including padding; larger batches need larger shortlists
WINDOW = 2000  # lines read ahead and sorted by length
_MAX_LOGITS = 1 << 24  # per step: 64 MB
MAX_LINE_BYTES = 1 << 25
_C1 = re.compile("[\x80-\x9f]")
_MAX_SCORED = 4096  # tokens of a line to be scored


class LineWindow(NamedTuple):
    """Consecutive lines and their translations."""

    first: int  # number of the first line, from 0
    sources: Sequence[str]
    translations: Sequence[Translation]


class _Segment(NamedTuple):
    text: str
    prefix: str
    originals: tuple[str, ...]  # what its symbols stand for


class ExportedTranslator:
    """An exported model with its search settings; any number of threads may use it at the same time."""

    def __init__(
        self,
        path: Path | str,
        *,
        search: dict[str, Any] | None = None,
        threads: int = 0,
        batch_tokens: int = BATCH_TOKENS,
        max_tokens: int | None = None,
    ) -> None:
        """search: settings that differ from those of the folder; max_tokens: longer lines are translated in parts."""
        self.model = Model(Path(path), threads=threads)
        settings = self.model.settings
        self.config = SearchSettings().changed(**settings["search"]).changed(**(search or {}))
        self._lowercase, self._replacements = settings["lowercase"], settings["replacements"]
        patterns = settings.get("placeholder_patterns")
        self.placeholders = None if patterns is None else PlaceholderSymbols(tuple(patterns))
        self.has_attention = self.model.has_attention
        self.batch_tokens = batch_tokens
        self.max_tokens = max_tokens or min(settings["max_tokens"], self.config.max_length)

    def translate(
        self,
        texts: Sequence[str],
        *,
        scores: bool = False,
        attention: bool = False,
        alignment: bool = False,
        prefixes: Sequence[str] | None = None,
    ) -> list[Translation]:
        """One translation for each text, in order; that of a blank text is blank."""
        blank = blank_translation(scores=scores, alignment=alignment)
        lines: dict[int, tuple[list[_Segment], list[str]]] = {}
        for row, text in enumerate(texts):
            masked = self._masked(text)
            if masked.text.strip():
                prefix = _checked_prefix(prefixes[row]) if prefixes is not None else ""
                lines[row] = self._segments(masked, prefix)
        distinct = list(dict.fromkeys(segment for segments, _ in lines.values() for segment in segments))
        wanted = Wanted(scores or self.config.n_best > 1, attention, alignment)
        done = self._search(distinct, wanted)
        results = [blank] * len(texts)
        for row, (segments, separators) in lines.items():
            results[row] = join_segments([done[segment] for segment in segments], separators, self.config)
        return results

    def score(
        self, sources: Sequence[str], targets: Sequence[str], *, alignment: bool = False, first_line: int = 0
    ) -> list[Translation]:
        """log P(target | source) of given translations, over the whole vocabulary."""
        pairs = [self._pair(source, target) for source, target in zip(sources, targets, strict=True)]
        ids = [
            self.model.source.encode([s for s, _ in pairs]),
            self.model.target.encode([t for _, t in pairs]),
        ]
        results = [blank_translation(scores=True, alignment=alignment)] * len(pairs)
        lengths = np.array([max(len(s), len(t)) + 1 for s, t in zip(*ids, strict=True)], np.int64)
        if len(lengths) and lengths.max() > _MAX_SCORED:
            row = int(lengths.argmax())
            raise RuntimeFailure(
                f"line {first_line + row + 1} has {lengths[row]:,} tokens; the limit for scoring is {_MAX_SCORED:,}",
                "put one sentence on a line",
            )
        # A search whose every token is given, <eos> included, only adds up probabilities.
        settings = replace(
            self.config, beam_size=1, n_best=1, min_length=0, max_length=0, max_length_ratio=None
        )
        for rows in _batches(lengths, self.batch_tokens):
            batch = [ids[0][row] for row in rows], [ids[1][row] for row in rows]
            decoding = self.model.encode(batch[0], full=True)
            found = search(
                decoding,
                decoding.lengths,
                settings,
                banned=np.zeros(0, np.int64),
                prefixes=batch[1],
                attention=alignment,
            )
            wanted = Wanted(True, False, alignment)
            for row, [hypothesis] in zip(rows, found, strict=True):
                if pairs[row][0].strip() or pairs[row][1].strip():
                    results[row] = self._translation(
                        pairs[row][0], ids[0][row], hypothesis, pairs[row][1], wanted
                    )
        return results

    def windows(
        self, lines: Iterable[str], window: int = WINDOW, prefix: str = "", **wanted: bool
    ) -> Iterator[LineWindow]:
        """All lines in order. Lines are batched by length within a window; a window of 1 answers each line at once."""
        first = 0
        for sources in windows(lines, window):
            prefixes = [prefix] * len(sources) if prefix else None
            yield LineWindow(first, sources, self.translate(sources, prefixes=prefixes, **wanted))
            first += len(sources)

    def scored_windows(
        self, pairs: Iterable[tuple[str, str]], window: int = WINDOW, *, alignment: bool = False
    ) -> Iterator[LineWindow]:
        """Scores of given translations, in order."""
        first = 0
        for lines in windows(pairs, window):
            sources, targets = [source for source, _ in lines], [target for _, target in lines]
            scored = self.score(sources, targets, alignment=alignment, first_line=first)
            yield LineWindow(first, sources, scored)
            first += len(lines)

    def normalized(self, text: str) -> str:
        """The text as the vocabulary sees it."""
        if self._lowercase:
            text = text.lower()
        for old, new in self._replacements:
            text = text.replace(old, new)
        return replace_surrogates(text)

    def _masked(self, text: str) -> Masked:
        """The text as the vocabulary sees it, with the placeholders of which it sees symbols."""
        if self.placeholders is None:
            return Masked(self.normalized(text), ())
        masked = self.placeholders.mask(replace_surrogates(text))
        return masked._replace(text=outside_symbols(masked.text, self.normalized))

    def _pair(self, source: str, target: str) -> tuple[str, str]:
        """A text and its translation, whose placeholders have the same symbols."""
        if self.placeholders is None:
            return self.normalized(source), self.normalized(target)
        pair = self.placeholders.mask_pair(replace_surrogates(source), replace_surrogates(target))
        return outside_symbols(pair[0], self.normalized), outside_symbols(pair[1], self.normalized)

    def _prefix(self, segment: _Segment) -> str:
        """The beginning of a translation, with the symbols of its source."""
        if self.placeholders is None:
            return self.normalized(segment.prefix)
        masked = self.placeholders.mask_target(replace_surrogates(segment.prefix), segment.originals)
        return outside_symbols(masked, self.normalized)

    def _segments(self, masked: Masked, prefix: str) -> tuple[list[_Segment], list[str]]:
        """The text itself, or what it is split into if it has more than `max_tokens`."""
        text, originals = masked
        encode = self.model.source.encode
        # A token covers at least one byte, so short lines need not be encoded.
        if 4 * len(text) < self.max_tokens or len(encode([text])[0]) <= self.max_tokens:
            return [_Segment(text, prefix, originals)], [""]
        chunks = split_line(text, self.max_tokens, lambda texts: [len(ids) for ids in encode(texts)])
        own = [Masked(chunk.text, ()) for chunk in chunks]
        if self.placeholders is not None:
            own = [renumbered(chunk.text, originals) for chunk in chunks]
        segments = [_Segment(one.text, "" if i else prefix, one.originals) for i, one in enumerate(own)]
        return segments, [chunk.separator for chunk in chunks]

    def _search(self, segments: Sequence[_Segment], wanted: Wanted) -> dict[_Segment, Translation]:
        """Translate all segments in batches of similar length, longest first."""
        model, config, done = self.model, self.config, dict[_Segment, Translation]()
        ids = model.source.encode([segment.text for segment in segments])
        lengths = np.array([len(row) + 1 for row in ids], np.int64)
        logits = config.beam_size * len(model.target.pieces)
        load = np.maximum(lengths, self.batch_tokens * logits // _MAX_LOGITS)
        for rows in _batches(load, self.batch_tokens):
            batch = [segments[row] for row in rows]
            prefixes, forced = None, list[int]()
            if any(segment.prefix for segment in batch):
                prefixes = model.target.encode([self._prefix(segment) for segment in batch])
                forced = sorted({token for prefix in prefixes for token in prefix})
            decoding = model.encode([ids[row] for row in rows], forced=forced)
            found = search(
                decoding,
                decoding.lengths,
                config,
                banned=model.target.banned,
                prefixes=prefixes,
                attention=self.has_attention and (wanted.needs_attention or model.target.has_unknown),
            )
            for row, segment, hypotheses in zip(rows, batch, found, strict=True):
                translations = [
                    replace(
                        self._translation(segment.text, ids[row], one, self._text(segment, one), wanted),
                        reached_limit=one.truncated,
                    )
                    for one in hypotheses
                ]
                best = translations[0]
                done[segment] = replace(best, n_best=tuple(translations)) if config.n_best > 1 else best
        return done

    def _text(self, segment: _Segment, hypothesis: Hypothesis) -> str:
        """The text of a hypothesis; each <unk> is replaced by the source word with the most attention."""
        unknown: list[str] = []
        if UNK in hypothesis.tokens:
            given = self.model.target.surfaces(segment.prefix) if segment.prefix else []
            words = self.model.source.surfaces(segment.text)
            matrix = hypothesis.attention
            positions = [0] * len(given) if matrix is None else matrix.argmax(axis=1).tolist()
            for t, (token, position) in enumerate(zip(hypothesis.tokens, positions, strict=False)):
                if token == UNK:
                    at = min(position, len(words) - 1)  # <eos> stands for the last word
                    unknown.append(given[t] if t < len(given) else CONTROL.sub(" ", words[at]))
        text = self.model.target.decode(hypothesis.tokens, unknown)
        prefix = segment.prefix if text.startswith(segment.prefix) else ""
        # C1 control characters that were spelled in bytes, which search cannot ban; those of the prefix stay.
        text = prefix + _C1.sub("\ufffd", text[len(prefix) :])
        return text if self.placeholders is None else restore(text, segment.originals)

    def _translation(
        self, source: str, ids: Sequence[int], hypothesis: Hypothesis, text: str, wanted: Wanted
    ) -> Translation:
        model = self.model
        translation = Translation(
            text=text,
            source=source,
            source_pieces=tuple(model.source.pieces[i] for i in (*ids, EOS)),
            target_pieces=tuple(model.target.pieces[i] for i in (*hypothesis.tokens, EOS)),
            score=hypothesis.score if wanted.scores else None,
            log_probability=hypothesis.log_probability if wanted.scores else None,
            token_log_probabilities=tuple(hypothesis.token_log_probabilities) if wanted.scores else None,
            attention=hypothesis.attention if wanted.attention else None,
            whole_words=(model.source.words, model.target.words),
        )
        if not wanted.alignment or hypothesis.attention is None:
            return translation
        links = links_of(hypothesis.attention, translation.source_groups, translation.target_groups)
        return replace(translation, alignment=links)


def _checked_prefix(prefix: str) -> str:
    r"""A trailing space would be a word of its own; "\n" would be a second line."""
    if "\n" in prefix:
        raise RuntimeFailure("a prefix has a line break", "a translation is one line: leave the break out")
    return prefix.replace("\r", " ").rstrip()


def _batches(lengths: Integers, budget: int) -> Iterator[list[int]]:
    """Rows in batches of similar length, longest first, with rows × longest ≤ budget."""
    order = np.argsort(-lengths, kind="stable").tolist()
    while order:
        size = max(1, budget // int(lengths[order[0]]))
        yield order[:size]
        order = order[size:]


# The command line of translate.py


def read_lines(stream: Any) -> Iterator[str]:
    r"""Only "\n" ends a line, and "\r\n"; bytes that are not UTF-8 become U+FFFD; a byte order mark is dropped."""
    first = True
    while line := stream.readline(MAX_LINE_BYTES + 1):
        if len(line) > MAX_LINE_BYTES:
            raise RuntimeFailure(
                f"a line has more than {MAX_LINE_BYTES:,} bytes", "put one sentence on a line"
            )
        if first:
            line, first = line.removeprefix(b"\xef\xbb\xbf"), False
            if not line:
                return
        yield line.removesuffix(b"\n").removesuffix(b"\r").decode(errors="replace")


def main(arguments: Sequence[str] | None = None) -> int:
    """Translate standard input; returns the exit code."""
    parser = argparse.ArgumentParser(description="Translate standard input, one line for one line.")
    parser.add_argument(
        "--model", type=Path, default=Path(__file__).resolve().parent, help="the exported folder"
    )
    parser.add_argument("--beam", type=int, help="beam size; 1 is greedy search")
    parser.add_argument("--n-best", type=int, help="translations per line; needs --tsv or --json")
    parser.add_argument("--prefix", default="", help="what every translation begins with")
    parser.add_argument("--tsv", action="store_true", help="write source, translation and score")
    parser.add_argument("--json", action="store_true", help="write one JSON object per line")
    parser.add_argument("--alignments", action="store_true", help="add word alignments to --tsv or --json")
    parser.add_argument("--stream", action="store_true", help="answer each line at once, as at a terminal")
    parser.add_argument("--threads", type=int, default=1, help="CPU threads (default: 1; 0: all cores)")
    given = parser.parse_args(arguments)
    if (given.alignments or (given.n_best or 1) > 1) and not (given.tsv or given.json):
        parser.error("--alignments and --n-best need --tsv or --json")
    changes = {"beam_size": given.beam, "n_best": given.n_best}
    try:
        translator = ExportedTranslator(
            given.model,
            search={name: value for name, value in changes.items() if value is not None},
            threads=given.threads,
        )
        if given.alignments and not translator.has_attention:
            raise RuntimeFailure("--alignments needs attention, but the model has none", "leave it out")
        formats: dict[str, Callable[..., str]] = {
            "json": as_json,
            "tsv": partial(as_tsv, n_best=translator.config.n_best),
            "text": as_text,
        }
        write = formats["json" if given.json else "tsv" if given.tsv else "text"]
        window = 1 if given.stream or sys.stdin.isatty() else WINDOW
        wanted = {"scores": given.tsv or given.json, "alignment": given.alignments}
        for part in translator.windows(read_lines(sys.stdin.buffer), window, given.prefix, **wanted):
            pairs = enumerate(zip(part.sources, part.translations, strict=True), start=part.first + 1)
            sys.stdout.buffer.writelines(f"{write(number, *pair)}\n".encode() for number, pair in pairs)
            sys.stdout.buffer.flush()
    except RuntimeFailure as error:
        # The names in a folder and the messages of ONNX Runtime must not control the terminal.
        print(f"error: {CONTROL.sub('?', error.message)}\nhint: {error.hint}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
