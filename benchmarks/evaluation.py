"""Speed of `nmt evaluate`, against sacreBLEU on the same work.

    python benchmarks/evaluation.py                    # speed: BLEU and chrF, one process, 1 and 4 systems

The two sides alternate, and the median of the ratios of processor time is shown, because other work on the machine
disturbs both alike. sacreBLEU gets its references once for all systems, as it does from its own command.
"""

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from sacrebleu.metrics import BLEU, CHRF  # type: ignore[attr-defined]
from sacrebleu.significance import PairedTest

from nmt_cli.demo import generate
from nmt_cli.evaluation.evaluate import evaluate
from nmt_cli.evaluation.request import EvaluateRequest


def main() -> None:
    """Parse the arguments, run, and print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--lines", type=int, default=3000)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measure_speed(Path(folder), arguments.lines, arguments.rounds)


def measure_speed(folder: Path, lines: int, rounds: int) -> None:
    """Processor time of `evaluate`, analysis and warnings included, for each second of sacreBLEU."""
    reference = [pair[1] for pair in generate(lines, seed=1).train]
    hypotheses = [list(damaged(reference, seed)) for seed in range(4)]
    references = write(folder / "ref.de", reference)
    systems = [write(folder / f"hyp.{index}.de", texts) for index, texts in enumerate(hypotheses)]
    print("| work | sacreBLEU s | nmt s | nmt / sacreBLEU |")
    print("| --- | ---: | ---: | ---: |")

    def scores(count: int) -> tuple[Callable[[], object], Callable[[], object]]:
        def theirs() -> None:
            for metric in (BLEU(references=[reference]), CHRF(references=[reference])):
                for texts in hypotheses[:count]:
                    metric.corpus_score(texts, None)

        return theirs, lambda: evaluate(EvaluateRequest(systems[:count], [references], samples=0))

    def comparison() -> tuple[Callable[[], object], Callable[[], object]]:
        def theirs() -> None:
            metrics = {"BLEU": BLEU(references=[reference]), "chrF2": CHRF(references=[reference])}
            PairedTest(list(zip("abcd", hypotheses, strict=True)), metrics, None, test_type="bs")()

        return theirs, lambda: evaluate(EvaluateRequest(systems, [references]))

    works = {
        "BLEU and chrF of 1 system": scores(1),
        "BLEU and chrF of 4 systems": scores(4),
        "the same with intervals and paired bootstrap": comparison(),
    }
    for name, (theirs, ours) in works.items():
        pairs = [(seconds(theirs), seconds(ours)) for _ in range(rounds)]
        ratio = statistics.median(own / other for other, own in pairs)
        medians = [statistics.median(side) for side in zip(*pairs, strict=True)]
        print(f"| {name} | {medians[0]:.2f} | {medians[1]:.2f} | {ratio:.2f} |", flush=True)


def damaged(texts: Sequence[str], seed: int) -> Iterator[str]:
    """Texts with a tenth of the words missing."""
    chance = random.Random(seed)
    for text in texts:
        yield " ".join(word for word in text.split() if chance.random() > 0.1)


def write(path: Path, texts: Sequence[str] | Iterator[str]) -> Path:
    """Put one text on each line."""
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{text}\n" for text in texts)
    return path


def seconds(work: Callable[[], object]) -> float:
    """Processor time of some work."""
    began = time.process_time()
    work()
    return time.process_time() - began


if __name__ == "__main__":
    main()
