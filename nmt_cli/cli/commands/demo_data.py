"""`nmt demo-data`: the embedded corpus as text files."""

from nmt_cli.cli.display.console import messages
from nmt_cli.cli.options import shared, training
from nmt_cli.config.defaults import DEMO_PAIRS, DEMO_SEED


def demo_data(
    out: training.DemoOut,
    size: training.DemoPairs = DEMO_PAIRS,
    clauses: training.DemoClauses = None,
    seed: training.DemoSeed = DEMO_SEED,
    overwrite: training.DemoOverwrite = False,
    quiet: shared.Quiet = False,
) -> None:
    """Write the embedded English–German demo corpus.

    The corpus is generated from a grammar: train, valid and test, each as .en and
    .de. The three sets have no sentence in common, and every test sentence
    combines words in a way that does not occur in training. From 5000 pairs
    upward, every word of the other two sets occurs in training.

    With --clauses, sentences are "Anna turned on the radio, but Paul will wash
    the car tomorrow, and …": few words, many lengths, and test sentences of the
    same kind as those for training. [cyan]nmt recipe ladder[/] uses them.
    """
    from nmt_cli.demo import write

    corpus = write(out, size, seed=seed, clauses=clauses, overwrite=overwrite)
    if not quiet:
        counts = f"{len(corpus.train):,} training, {len(corpus.valid):,} validation and {len(corpus.test):,} test pairs"
        messages().print(f"{out}: {counts}")
