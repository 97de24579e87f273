"""`nmt demo-data`: the embedded corpus as text files, or the embedded images or recordings."""

from pathlib import Path

from nmt_cli.cli.display.console import messages
from nmt_cli.cli.options import shared, training
from nmt_cli.config.defaults import DEMO_PAIRS, DEMO_RECORDINGS, DEMO_SCENES, DEMO_SEED
from nmt_cli.errors import UsageError


def demo_data(
    out: training.DemoOut,
    kind: training.DemoKind = "sentences",
    size: training.DemoPairs = None,
    clauses: training.DemoClauses = None,
    seed: training.DemoSeed = DEMO_SEED,
    overwrite: training.DemoOverwrite = False,
    quiet: shared.Quiet = False,
) -> None:
    """Write embedded data: English–German pairs, images, recordings.

    The corpus is generated from a grammar: train, valid and test, each as .en and
    .de. The three sets have no sentence in common, and every test sentence
    combines words in a way that does not occur in training. From 5000 pairs
    upward, every word of the other two sets occurs in training.

    With --clauses, sentences are "Anna turned on the radio, but Paul will wash
    the car tomorrow, and …": few words, many lengths, and test sentences of the
    same kind as those for training. [cyan]nmt recipe ladder[/] uses them.

    With --kind tenses, the other side of an English sentence is a single word,
    its tense: .en and .tense. [cyan]nmt recipe tenses[/] learns to predict it.

    With --kind scenes, it is images of colored shapes with captions and boxes:
    train, valid, test and unseen as .jsonl. Scenes in the last set combine a
    color and a shape in a way that does not occur in training. The scenes of
    --kind shapes are simpler: two shapes, "a red square and a blue circle".

    --kind numbers writes WAV recordings of spoken numbers such as "forty-two":
    train, valid and test as .jsonl. No number is in two of these sets. Many
    voices of espeak-ng speak them; if it is not installed, every word is a
    sequence of tones, as it always is with --kind tones.
    """
    if kind in ("numbers", "tones"):
        size = DEMO_RECORDINGS if size is None else size
        _write_numbers(out, size, kind=kind, clauses=clauses, seed=seed, overwrite=overwrite, quiet=quiet)
        return
    if kind not in ("sentences", "tenses"):
        size = DEMO_SCENES if size is None else size
        _write_scenes(
            out, size, simple=kind == "shapes", clauses=clauses, seed=seed, overwrite=overwrite, quiet=quiet
        )
        return
    from nmt_cli.demo import write

    corpus = write(
        out,
        size if size is not None else DEMO_PAIRS,
        seed=seed,
        clauses=clauses,
        labels=kind == "tenses",
        overwrite=overwrite,
    )
    if not quiet:
        counts = f"{len(corpus.train):,} training, {len(corpus.valid):,} validation and {len(corpus.test):,} test pairs"
        messages().print(f"{out}: {counts}")


def _write_numbers(
    out: Path, size: int, *, kind: str, clauses: int | None, seed: int, overwrite: bool, quiet: bool
) -> None:
    if clauses is not None:
        raise UsageError("--clauses has no effect on recordings", hint="leave it out")
    from nmt_cli.demo.numbers import espeak, write

    voice = espeak() if kind == "numbers" else None
    found = write(out, size, seed=seed, espeak=voice, overwrite=overwrite)
    if not quiet:
        spoken = "spoken by espeak-ng" if voice else "in tones"
        if kind == "numbers" and voice is None:
            spoken += " (espeak-ng is not installed)"
        counts = ", ".join(f"{len(numbers):,} {split}" for split, numbers in found.items())
        messages().print(f"{out}: {counts}, {spoken}")


def _write_scenes(
    out: Path, size: int, *, simple: bool, clauses: int | None, seed: int, overwrite: bool, quiet: bool
) -> None:
    if clauses is not None:
        raise UsageError("--clauses has no effect on images", hint="leave it out")
    from nmt_cli.demo.scenes import write

    found = write(out, size, seed=seed, simple=simple, overwrite=overwrite)
    if not quiet:
        messages().print(
            f"{out}: " + ", ".join(f"{len(scenes):,} {split}" for split, scenes in found.items())
        )
