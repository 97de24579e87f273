"""What required terms cost and gain: time, terms met and BLEU, with and without, on the same lines.

    python benchmarks/terms.py RUN_DIR SOURCE REFERENCE

The terms of a line are words of its reference that the translation without terms lacks, at most --per-line, chosen at
random with a fixed seed. Lines whose translation lacks none are left out, so every measured line has a term. Both ways
take turns, round by round, in one process; the time is CPU time of `Translator.translate`, and the ratio is the median
over the rounds.
"""

import argparse
import random
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import sacrebleu
import torch

from nmt_cli import Translation, Translator
from nmt_cli.translator.terminology import RequiredTerm, check_terms, words_of


def main() -> None:
    """Parse the arguments, measure, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("run", type=Path)
    add("source", type=Path)
    add("reference", type=Path)
    add("--lines", type=int, default=1000)
    add("--per-line", type=int, default=1)
    add("--beam", type=int, default=5)
    add("--rounds", type=int, default=3)
    add("--threads", type=int, default=1)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    translator = Translator.load(arguments.run, device="cpu", search={"beam_size": arguments.beam})
    sources, references = (
        path.read_text("utf-8").split("\n")[: arguments.lines]
        for path in (arguments.source, arguments.reference)
    )
    measure(translator, _cases(translator, sources, references, arguments.per_line), arguments.rounds)


Case = tuple[str, str, list[list[str]]]  # source, reference, terms


def _cases(
    translator: Translator, sources: Sequence[str], references: Sequence[str], per_line: int
) -> list[Case]:
    generator = random.Random(1)
    cases = []
    for source, reference, found in zip(sources, references, translator.translate(sources), strict=True):
        there = set(words_of(found.text))
        missing = [word for word in words_of(reference) if len(word) > 3 and word not in there]
        generator.shuffle(missing)
        if missing:
            cases.append((source, reference, [[word] for word in missing[:per_line]]))
    return cases


def measure(translator: Translator, cases: Sequence[Case], rounds: int) -> None:
    """Translate all cases both ways, in turns."""
    sources = [source for source, _, _ in cases]
    given: tuple[Any, ...] = (None, [terms for _, _, terms in cases])
    seconds: list[list[float]] = [[], []]
    results: list[list[Translation]] = [[], []]
    for _ in range(rounds):
        for way, terms in enumerate(given):
            began = time.process_time()
            results[way] = translator.translate(sources, terms=terms)
            seconds[way].append(time.process_time() - began)
    required = [[RequiredTerm("", (word,)) for [word] in terms] for _, _, terms in cases]
    print(f"{len(cases)} lines, {sum(map(len, required))} terms, beam {translator.config.beam_size}")
    for name, found, spent in zip(("without", "with terms"), results, seconds, strict=True):
        met = sum(
            one.met
            for terms, translation in zip(required, found, strict=True)
            for one in check_terms(terms, translation.text)
        )
        references = [[reference for _, reference, _ in cases]]
        bleu = sacrebleu.corpus_bleu([translation.text for translation in found], references).score
        lines = len(cases) / statistics.median(spent)
        print(f"{name:11} {met:6} met   BLEU {bleu:5.1f}   {lines:7.1f} lines per CPU second")
    ratios = [with_terms / without for without, with_terms in zip(*seconds, strict=True)]
    print(f"time ratio {statistics.median(ratios):.2f} ({min(ratios):.2f}–{max(ratios):.2f})")


if __name__ == "__main__":
    main()
