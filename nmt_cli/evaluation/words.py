"""Words of a text, for counting how often they were seen: quick, and without punctuation."""

import re
from collections.abc import Callable

from nmt_cli.metrics.corpus_metric import CorpusMetric
from nmt_cli.metrics.tokenizers import WITHOUT_SPACES

_WORD = re.compile(r"\w+(?:['’-]\w+)*")


def word_splitter(tokenizer: str) -> Callable[[str], list[str]]:
    """Runs of letters and digits; where no spaces stand between words, what BLEU's tokenizer makes of it."""
    if tokenizer not in WITHOUT_SPACES:
        return _WORD.findall
    metric = CorpusMetric("bleu", tokenize=tokenizer)

    def split(text: str) -> list[str]:
        return [word for word in metric.tokens(text) if any(map(str.isalnum, word))]

    return split
