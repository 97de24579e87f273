"""What it costs to translate a document instead of its bare lines: the ratio of CPU times, on the same sentences.

    python benchmarks/documents.py RUN_DIR SOURCE

The lines of SOURCE become the messages of a PO file. Both ways take turns, round by round, in one process; a document
is read, translated and written. The ratio is the median over the rounds. Lines with several sentences are left out,
because a document is translated sentence by sentence.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from nmt_cli import Translator
from nmt_cli.config.defaults import WINDOW
from nmt_cli.documents.document import DocumentOptions
from nmt_cli.documents.driver import rendered
from nmt_cli.documents.placeholders import Recognizer
from nmt_cli.documents.po import read_po
from nmt_cli.documents.segment_translation import SegmentTranslator
from nmt_cli.documents.sentences import lines_of
from nmt_cli.translator import Details


def main() -> None:
    """Parse the arguments, measure, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path)
    parser.add_argument("source", type=Path)
    parser.add_argument("--lines", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    translator = Translator.load(arguments.run, device="cpu")
    texts = dict.fromkeys(arguments.source.read_text("utf-8").split("\n"))
    lines = [text for text in texts if text.strip() and len(lines_of((text,))) == 1][: arguments.lines]
    document = "".join(
        f'msgid {json.dumps(line, ensure_ascii=False)}\nmsgstr ""\n\n' for line in lines
    ).encode()

    ratios, left = [], 0
    for number in range(arguments.rounds):
        bare = cpu_seconds(lambda: translate_lines(translator, lines))
        whole = cpu_seconds(lambda: translate_document(translator, document))
        ratios.append(whole[0] / bare[0])
        left = whole[1]
        print(f"round {number + 1}: lines {bare[0]:.1f} s, document {whole[0]:.1f} s, ratio {ratios[-1]:.2f}")
    print(f"{len(lines)} lines, {left} entries left untranslated, ratio {statistics.median(ratios):.2f}")


def cpu_seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    """CPU time, and the result."""
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def translate_lines(translator: Translator, lines: Sequence[str]) -> None:
    """As `nmt translate` does, window by window."""
    for first in range(0, len(lines), WINDOW):
        translator.translate(lines[first : first + WINDOW])


def translate_document(translator: Translator, data: bytes) -> int:
    """The number of entries that are left as they are."""

    def translate(texts: Sequence[str], align: bool) -> Any:
        return translator.translate(texts, details=Details(attention=align))

    patterns = translator.normalization.placeholders
    segments = SegmentTranslator(
        translate, Recognizer(patterns.patterns if patterns else ()), symbols=patterns is not None
    )
    document = read_po(data, Path("lines.po"), DocumentOptions())
    found = list(dict.fromkeys(one for entry in document.entries for one in entry.segments))
    results = []
    for first in range(0, len(found), WINDOW):
        results += segments.translate(found[first : first + WINDOW])
    return len(rendered(document, dict(zip(found, results, strict=True))).untouched)


if __name__ == "__main__":
    main()
