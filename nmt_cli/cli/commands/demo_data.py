"""`nmt demo-data`: the embedded corpus as text files."""

from pathlib import Path
from typing import Annotated

import typer

from nmt_cli.cli.display.console import messages
from nmt_cli.cli.options.shared import OUTPUT, QuietOption


def demo_data(
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Directory to write.", rich_help_panel=OUTPUT)
    ],
    size: Annotated[int, typer.Option("--size", metavar="N", help="Number of training pairs.")] = 30_000,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Another seed gives other sentences.")] = 1,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace an earlier demo corpus.", rich_help_panel=OUTPUT)
    ] = False,
    quiet: QuietOption = False,
) -> None:
    """Write an English–German corpus made by a grammar: train, valid and test, each as .en and .de.

    The three sets share no sentence, and every test sentence combines words in a way that training never shows;
    from 5000 pairs on, training has all words of the other two.
    """
    from nmt_cli.demo import write

    corpus = write(out, size, seed=seed, overwrite=overwrite)
    if not quiet:
        counts = f"{len(corpus.train):,} training, {len(corpus.valid):,} validation and {len(corpus.test):,} test pairs"
        messages().print(f"{out}: {counts}")
