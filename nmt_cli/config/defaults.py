"""Defaults that are not in the schema: by corpus size, and of command-line options that are not settings.

The schema (`Config`) has the default of every setting. This module has the rest and imports nothing heavy, so
that the command line can show a default without loading torch or NumPy.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple


class CorpusSize(NamedTuple):
    """Defaults for corpora of up to so many training pairs."""

    pairs: float
    settings: Mapping[str, Any]  # what differs from the schema
    slower: Mapping[str, Any] = MappingProxyType(
        {}
    )  # what else differs for presets that set a lower learning rate


# Small corpora need small batches, dropout and many epochs. The schema has the defaults for 25,000 to 100,000 pairs,
# found by experiment (docs/experiments.md).
CORPUS_SIZES: tuple[CorpusSize, ...] = (
    CorpusSize(10_000, {"train.max_epochs": 30, "model.dropout": 0.4}),
    CorpusSize(25_000, {"train.max_epochs": 12}),
    CorpusSize(100_000, {}, {"train.max_epochs": 10}),
    CorpusSize(
        1_000_000,
        {"train.batch_tokens": 1024, "train.max_epochs": 4, "model.dropout": 0.2},
        {"train.max_epochs": 6},
    ),
    CorpusSize(
        float("inf"),
        {
            "train.batch_tokens": 8192,
            "train.learning_rate": 2e-3,
            "train.max_epochs": 5,
            "train.warmup_updates": 2000,
            "train.validate_every": 5000,
            "model.dropout": 0.1,
        },
    ),
)


def corpus_defaults(pairs: int, *, slower: bool = False) -> Mapping[str, Any]:
    """Settings whose default differs from the schema for a corpus of this many training pairs.

    `slower`: the preset sets a lower learning rate than the schema.
    """
    size = next(size for size in CORPUS_SIZES if pairs <= size.pairs)
    return {**size.settings, **(size.slower if slower else {})}


# All commands that run a model
DEVICE: Final = "auto"
MAX_THREADS: Final = 1024  # limit for --threads and --workers

# nmt train
PROCESS_TIMEOUT: Final = 1800.0  # seconds that another process may take to respond

# nmt translate, nmt score
WINDOW: Final = 2000  # lines read ahead and sorted by length
BATCH_TOKENS: Final = 4096  # source tokens per batch, including padding

# nmt translate
TermsCase = Literal["adapt", "keep", "exact"]
TERMS_CASE: Final[TermsCase] = "adapt"
TERMS_INFLECTION: Final = 0  # letters that may follow a source term

# nmt generate
GENERATED_AT_ONCE: Final = 256  # texts per batch

# nmt explain
ALTERNATIVES: Final = 5  # shown for each target piece

# nmt evaluate
DEFAULT_METRICS: Final = ("bleu", "chrf")  # the first one ranks systems
SPEECH_METRICS: Final = ("wer", "cer")
SIGNIFICANCE_TEST: Final[Literal["bootstrap", "randomization"]] = "bootstrap"
BOOTSTRAP_SAMPLES: Final = 1000
RANDOMIZATION_TRIALS: Final = 10_000
RESAMPLING_SEED: Final = 12345  # sacreBLEU's
ALIGNMENTS_BASE: Final = 0  # index of the first word in alignments to be evaluated
GOLD_BASE: Final = 1  # index of the first word in gold alignments

# nmt recipe
RECIPE_PROCESSES: Final = 1

# nmt demo-data
DEMO_PAIRS: Final = 30_000  # for training
DEMO_SCENES: Final = 3_000
DEMO_RECORDINGS: Final = 2_000
DEMO_SEED: Final = 1

# nmt serve
HOST: Final = "127.0.0.1"
PORT: Final = 5000  # LibreTranslate's
MAX_BODY: Final = 2 << 20  # bytes of a request
MAX_CHARACTERS: Final = 100_000  # of a request
MAX_LINES: Final = 5_000  # of a request
MAX_QUEUE: Final = 10_000  # lines that wait for a model
REQUEST_SECONDS: Final = 60.0  # for a request to arrive, to be translated, and to be sent, each
BATCH_LINES: Final = 64  # lines of one or several requests that are translated together
