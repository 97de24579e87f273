"""Terms and banned words as token ids of the target vocabulary, for search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from nmt_cli.errors import UsageError
from nmt_cli.search import BannedWords, Phrase, build_banned_words
from nmt_cli.translator.segmentation import Segment
from nmt_cli.translator.terminology import (
    BannedList,
    Glossary,
    RequiredTerm,
    TermPair,
    check_pair,
    is_without_spaces,
)
from nmt_cli.vocabulary import Vocabulary
from nmt_cli.vocabulary.token_ids import UNK

# More than this search does not enforce in one sentence; such terms may be missing, and are counted.
_MAX_PHRASES = 32
_MAX_TOKENS = 200
_SPACE = "▁"


@dataclass(frozen=True)
class Terminology:
    """What translations must and must not contain."""

    glossary: Glossary = field(default_factory=Glossary)
    banned: BannedList = field(default_factory=BannedList)
    words: tuple[BannedWords, ...] = ()  # `banned` for search

    def required(self, segment: Segment, terms: Sequence[Sequence[str]], *, first: bool) -> Segment:
        """The segment with the terms that its translation must contain: of the glossary and of its own line.

        Terms without a source are required of the first segment of a line.
        """
        if not terms and not self.glossary:
            return segment
        for term in terms:
            check_pair(term)
        pairs: list[TermPair] = [(term[0], term[1]) for term in terms if len(term) == 2]
        found = self.glossary.find(segment.text, *([self.glossary.changed(pairs)] if pairs else []))
        alone = tuple(RequiredTerm("", (term[0],)) for term in terms if len(term) == 1 and first)
        for required in (*found, *alone):
            self.refuse_banned(required.targets, f"the target term of line {segment.number + 1}")
        return segment._replace(required=found + alone)

    def fingerprint(self) -> list[str]:
        """What identifies the terms and banned words, for `PartialOutput`."""
        return [*self.glossary.fingerprint(), *self.banned.words]

    def refuse_banned(self, texts: Sequence[str], what: str) -> None:
        """Raise a UsageError if a required text contains a banned word."""
        for text in texts:
            if (word := self.banned.find(text)) is not None:
                raise UsageError(
                    f"{what}, {text!r}, contains the banned word {word!r}", hint="remove one of the two"
                )


def banned_words(banned: BannedList, vocabulary: Vocabulary) -> tuple[BannedWords, ...]:
    """One automaton for words whose case is ignored, one for the others."""
    return tuple(
        build_banned_words(words, vocabulary.pieces, vocabulary.is_byte, ignore_case=ignore_case)
        for ignore_case, words in banned.by_case().items()
    )


def phrases_of(required: Sequence[RequiredTerm], vocabulary: Vocabulary) -> list[Phrase]:
    """The required terms of a sentence that search can enforce.

    A term is encoded as the vocabulary encodes it at the start of a word. A term with <unk> cannot be enforced.
    """
    phrases: list[Phrase] = []
    tokens = 0
    for term in required:
        phrase = _phrase(term, vocabulary)
        if phrase is None:
            continue
        tokens += max(map(len, phrase.alternatives))
        if tokens > _MAX_TOKENS or len(phrases) == _MAX_PHRASES:
            break
        phrases.append(phrase)
    # A phrase within another one is required once more, or a single occurrence would count for both.
    contained = [
        one
        for one in dict.fromkeys(phrases)
        for other in phrases
        if one != other and all(_contains(ids, one) for ids in other.alternatives)
    ]
    return phrases + contained


def word_continuations(vocabulary: Vocabulary) -> Tensor:
    """(V,) whether each token continues the word before it."""
    return torch.from_numpy(vocabulary.continues_word)


def _phrase(term: RequiredTerm, vocabulary: Vocabulary) -> Phrase | None:
    encoded = vocabulary.encode(list(term.targets))
    alternatives = [encoded[row].tolist() for row in range(len(term.targets))]
    spaced = not is_without_spaces(term.targets[0])
    if not spaced:
        alternatives += [_without_space(ids, vocabulary) for ids in alternatives]
    usable = {tuple(ids): None for ids in alternatives if ids and UNK not in ids and len(ids) <= _MAX_TOKENS}
    return Phrase(tuple(usable), whole_word=spaced) if usable else None


def _without_space(ids: Sequence[int], vocabulary: Vocabulary) -> list[int]:
    """The same text within a sentence of a script without spaces; nothing if the vocabulary has no such piece."""
    piece = vocabulary.pieces[ids[0]]
    if piece == _SPACE:
        return list(ids[1:])
    within = piece.removeprefix(_SPACE)
    return [vocabulary.pieces.index(within), *ids[1:]] if within in vocabulary.pieces else []


def _contains(ids: Sequence[int], phrase: Phrase) -> bool:
    return any(
        tuple(ids[start : start + len(part)]) == part
        for part in phrase.alternatives
        for start in range(len(ids) - len(part) + 1)
    )
