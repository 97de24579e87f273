"""Memory and time for reading a large translation memory.

python benchmarks/corpus_memory.py [MEGABYTES]      (a generated TMX file of 1000 MB, deleted afterwards)
"""

import resource
import sys
import tempfile
import time
from pathlib import Path

from nmt_cli.corpus import parse_spec, read_pairs

UNIT = (
    '<tu tuid="{n}" creationdate="20260101T000000Z">\n'
    '  <tuv xml:lang="en-US"><seg>The {n}th sentence of a memory is about as long as this one.</seg></tuv>\n'
    '  <tuv xml:lang="de-DE"><seg><bpt i="1">&lt;b&gt;</bpt>Der {n}. Satz<ept i="1">&lt;/b&gt;</ept> eines Speichers '
    "ist ungefähr so lang wie dieser.</seg></tuv>\n</tu>\n"
)


def main() -> None:
    """Generate, read and report."""
    size = int(sys.argv[1]) * 1_000_000 if len(sys.argv) > 1 else 1_000_000_000
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.tmx"
        write(path, size)
        before = peak_memory()
        start = time.process_time()
        spec = parse_spec(str(path), source_lang="en", target_lang="de")
        pairs = sum(len(block.source) for block in read_pairs(spec))
        seconds = time.process_time() - start
        print(
            f"{path.stat().st_size / 1e6:,.0f} MB, {pairs:,} pairs: {seconds:.0f} s of CPU time, "
            f"peak memory {peak_memory():.0f} MB, of which {before:.0f} before reading"
        )


def write(path: Path, size: int) -> None:
    """A TMX file of about `size` bytes."""
    written = number = 0
    with path.open("w", encoding="utf-8") as file:
        file.write(
            '<?xml version="1.0" encoding="UTF-8"?>\n<tmx version="1.4"><header srclang="en"/><body>\n'
        )
        while written < size:
            units = "".join(UNIT.format(n=n) for n in range(number, number + 1000))
            written += len(units.encode())
            number += 1000
            file.write(units)
        file.write("</body></tmx>\n")


def peak_memory() -> float:
    """The largest resident memory of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
