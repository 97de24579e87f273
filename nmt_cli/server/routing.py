"""Languages: their names, which one a text is in, and which models lead from one to another, or through a pivot."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from nmt_cli.corpus.checks.language import LetterProfile, identify
from nmt_cli.corpus.checks.language_profiles import base_language
from nmt_cli.errors import UsageError
from nmt_cli.runtime.segments import join_texts
from nmt_cli.server.batcher import Batcher
from nmt_cli.server.models import ServedModel

MakeBatcher = Callable[[ServedModel], Batcher]

_NAMES = """
    af Afrikaans, am Amharic, ar Arabic, as Assamese, az Azerbaijani, be Belarusian, bg Bulgarian, bn Bengali,
    bo Tibetan, br Breton, bs Bosnian, ca Catalan, cs Czech, cy Welsh, da Danish, de German, dz Dzongkha, el Greek,
    en English, eo Esperanto, es Spanish, et Estonian, eu Basque, fa Persian, fi Finnish, fr French, ga Irish,
    gl Galician, gu Gujarati, ha Hausa, he Hebrew, hi Hindi, hr Croatian, hu Hungarian, hy Armenian, id Indonesian,
    ig Igbo, is Icelandic, it Italian, ja Japanese, ka Georgian, kk Kazakh, km Khmer, kn Kannada, ko Korean,
    ky Kyrgyz, la Latin, lb Luxembourgish, lo Lao, lt Lithuanian, lv Latvian, mk Macedonian, ml Malayalam,
    mn Mongolian, mr Marathi, ms Malay, mt Maltese, my Burmese, ne Nepali, nl Dutch, no Norwegian, oc Occitan,
    or Odia, pa Punjabi, pl Polish, ps Pashto, pt Portuguese, ro Romanian, ru Russian, sa Sanskrit, sd Sindhi,
    si Sinhala, sk Slovak, sl Slovenian, so Somali, sq Albanian, sr Serbian, sv Swedish, sw Swahili, ta Tamil,
    te Telugu, tg Tajik, th Thai, ti Tigrinya, tl Tagalog, tr Turkish, ug Uyghur, uk Ukrainian, ur Urdu, uz Uzbek,
    vi Vietnamese, wo Wolof, xh Xhosa, yi Yiddish, yo Yoruba, yue Cantonese, zh Chinese, zu Zulu
"""


class Router:
    """The models that are being served, each with its batcher."""

    def __init__(self, models: Sequence[ServedModel], make_batcher: MakeBatcher) -> None:
        _check_directions(models)
        self._profiles = _profiles(models)
        self.batchers = {(model.source, model.target): make_batcher(model) for model in models}
        self.languages = sorted({language for pair in self.batchers for language in pair})
        self._chains = {source: _chains(source, self.batchers) for source in self.languages}

    def language(self, code: str) -> str | None:
        """The served language that a request means by a code: `EN` and `en-US` mean en, if there is only en."""
        wanted = code.lower().replace("_", "-")
        for language in self.languages:
            if language.lower().replace("_", "-") == wanted:
                return language
        related = [one for one in self.languages if base_language(one) == base_language(code)]
        return related[0] if len(related) == 1 else None

    def targets(self, source: str) -> list[str]:
        """The languages that a language can be translated into."""
        return sorted(self._chains[source])

    def chain(self, source: str, target: str) -> list[Batcher] | None:
        """The models to apply one after the other; none if the languages are the same, None if there is no way."""
        return [] if source == target else self._chains[source].get(target)

    def explains(self, source: str, target: str) -> bool:
        """Whether one model translates between the languages, and can show how."""
        chain = self.chain(source, target)
        return chain is not None and len(chain) == 1 and chain[0].model.explains

    def detect(self, text: str) -> list[tuple[str, float]]:
        """The served languages with the probabilities that the text is in each, best first."""
        return identify(text, self._profiles)

    @property
    def waiting(self) -> int:
        """Lines that wait for a model."""
        return sum(batcher.waiting for batcher in self.batchers.values())

    def close(self) -> None:
        """Finish what is in the queues, then end the threads."""
        for batcher in self.batchers.values():
            batcher.close()


async def translate_lines(
    chain: Sequence[Batcher], lines: Sequence[str], prefixes: Sequence[str] | None = None, n_best: int = 1
) -> list[tuple[str, ...]]:
    """At most `n_best` translations of each line through all models of a chain.

    Prefixes and alternatives belong to the last model; the others pass on their best translation.
    """
    for batcher in chain[:-1]:
        lines = [best[0] for best in await _translate(batcher, lines, None, 1)]
    return await _translate(chain[-1], lines, prefixes, n_best)


async def _translate(
    batcher: Batcher, lines: Sequence[str], prefixes: Sequence[str] | None, n_best: int
) -> list[tuple[str, ...]]:
    """Lines that are too long are translated in parts and joined again, as `nmt translate` does it."""
    split = [batcher.model.split(line) for line in lines]
    parts = [chunk.text for chunks in split for chunk in chunks]
    starts = None
    if prefixes is not None:
        starts = [
            "" if i else prefix
            for prefix, chunks in zip(prefixes, split, strict=True)
            for i in range(len(chunks))
        ]
    found = await batcher.translate(parts, starts, min(n_best, batcher.model.beam_size))
    results = []
    position = 0
    for chunks in split:
        own = found[position : position + len(chunks)]
        position += len(chunks)
        separators = [chunk.separator for chunk in chunks]
        ranks = range(max(map(len, own)))
        results.append(
            tuple(
                join_texts([texts[min(rank, len(texts) - 1)] for texts in own], separators) for rank in ranks
            )
        )
    return results


def _check_directions(models: Sequence[ServedModel]) -> None:
    paths: dict[tuple[str, str], Path] = {}
    for model in models:
        pair = model.source, model.target
        if pair in paths:
            raise UsageError(
                f"{paths[pair]} and {model.path} both translate from {pair[0]} to {pair[1]}",
                hint="serve one model per direction",
            )
        paths[pair] = model.path


def _chains(source: str, batchers: dict[tuple[str, str], Batcher]) -> dict[str, list[Batcher]]:
    """The shortest chain of models to every language that can be reached."""
    found: dict[str, list[Batcher]] = {source: []}
    waiting = deque([source])
    while waiting:
        language = waiting.popleft()
        for (start, end), batcher in sorted(batchers.items(), key=lambda item: item[0]):
            if start == language and end not in found:
                found[end] = [*found[language], batcher]
                waiting.append(end)
    del found[source]
    return found


def _profiles(models: Iterable[ServedModel]) -> dict[str, LetterProfile]:
    """What the letters of each language look like: in the validation sets of the models, else in its function words.

    Profiles of the two kinds cannot be compared, so the function words are used for all languages or for none.
    """
    models = list(models)
    languages = sorted({language for model in models for language in (model.source, model.target)})
    found: dict[str, LetterProfile] = {}
    for model in models:
        for language, profile in model.profiles().items():
            found.setdefault(language, profile)
    if all(language in found for language in languages):
        return found
    words = {language: LetterProfile.of_function_words(language) for language in languages}
    known = {language: profile for language, profile in words.items() if profile is not None}
    return {language: known.get(language, LetterProfile({})) for language in languages}


def language_name(code: str) -> str:
    """`German` for de, `German (de_AT)` for de_AT; the code itself if the language is not known here."""
    names = dict(one.split() for one in _NAMES.split(","))
    name = names.get(base_language(code))
    if name is None:
        return code
    return name if code.lower() in names else f"{name} ({code})"
