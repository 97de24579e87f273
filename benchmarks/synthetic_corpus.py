"""A corpus of any size whose number of distinct pairs is known.

    python benchmarks/synthetic_corpus.py PREFIX PAIRS        # writes PREFIX.en and PREFIX.de

A pair is two sentences of the embedded corpus, of at most 8 words each. Pair i is combination a·i + c mod n², with a
prime to n, so that no two are equal. In addition, one pair in twenty is a copy of an earlier one.
"""

import argparse
import random
from collections.abc import Iterator
from pathlib import Path

from nmt_cli.demo import generate

REPEATED_EVERY = 20
_STEP, _START = 1_000_000_007, 12_345


def distinct_pairs(pairs: int) -> int:
    """The number of distinct pairs among the first `pairs`."""
    return pairs - pairs // REPEATED_EVERY


def synthetic_pairs(pairs: int) -> Iterator[tuple[str, str]]:
    """The first `pairs` pairs of English and German."""
    sentences = [pair for pair in generate(60_000, seed=3).train if len(pair[0].split()) <= 8]
    n = len(sentences)
    assert n * n >= pairs
    draw = random.Random(4).randrange

    def combination(index: int) -> tuple[str, str]:
        one, other = divmod((index * _STEP + _START) % (n * n), n)
        return " ".join((sentences[one][0], sentences[other][0])), " ".join(
            (sentences[one][1], sentences[other][1])
        )

    fresh = 0
    for number in range(1, pairs + 1):
        if number % REPEATED_EVERY == 0:
            yield combination(draw(fresh))
        else:
            yield combination(fresh)
            fresh += 1


def write(prefix: Path, pairs: int) -> None:
    """Write pairs as two line-aligned files."""
    names = (prefix.with_name(f"{prefix.name}.{language}") for language in ("en", "de"))
    with next(names).open("w", encoding="utf-8") as source, next(names).open("w", encoding="utf-8") as target:
        for english, german in synthetic_pairs(pairs):
            source.write(english + "\n")
            target.write(german + "\n")


def write_short_lines(path: Path, lines: int) -> None:
    """Write English lines of five words, no two of them equal."""
    with path.open("w", encoding="utf-8") as file:
        for number, (english, _) in enumerate(synthetic_pairs(lines)):
            file.write(f"{' '.join(english.split()[:4])} {number}\n")


def main() -> None:
    """Parse the arguments and write the files."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("prefix", type=Path)
    parser.add_argument("pairs", type=int)
    arguments = parser.parse_args()
    write(arguments.prefix, arguments.pairs)
    print(f"{arguments.pairs:,} pairs, {distinct_pairs(arguments.pairs):,} of them distinct")


if __name__ == "__main__":
    main()
