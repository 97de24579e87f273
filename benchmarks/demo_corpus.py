"""The embedded corpus as a data directory, for benchmarks that need no other."""

from pathlib import Path

from nmt_cli.config import resolve
from nmt_cli.demo import write
from nmt_cli.preprocessing import PreprocessRequest, preprocess


def demo_corpus(folder: Path, *, pairs: int, vocabulary: int) -> Path:
    """Write text and data below `folder`; returns the data directory."""
    text = folder / "text"
    write(text, pairs, seed=1, overwrite=False)
    request = PreprocessRequest(
        source_lang="en",
        target_lang="de",
        train=[str(text / "train")],
        valid=[str(text / "valid")],
        test=[str(text / "test")],
        out=folder / "demo",
        settings=resolve(None, [f"vocabulary.size={vocabulary}"]),
    )
    preprocess(request, lambda report: None)
    return folder / "demo"
