"""From the ids that search found to text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from nmt_cli.search import Hypothesis, SearchTree
from nmt_cli.translator.segmentation import Part
from nmt_cli.translator.translation import Details, Translation, with_links
from nmt_cli.vocabulary import Vocabularies
from nmt_cli.vocabulary.token_ids import EOS, UNK

_BREAKS = str.maketrans("\n\r", "  ")


class Decoding:
    """Makes translations of hypotheses."""

    def __init__(self, vocabularies: Vocabularies, details: Details) -> None:
        self._vocabularies = vocabularies
        self._details = details
        self._whole_words = (vocabularies.source.kind == "word", vocabularies.target.kind == "word")

    def translation(
        self,
        part: Part,
        source: Sequence[int],
        hypotheses: Sequence[Hypothesis],
        *,
        limit: int,
        n_best: bool,
        tree: tuple[SearchTree, int] | None = None,
    ) -> Translation:
        """The best hypothesis, and with `n_best` all of them; `tree`: of a batch, and the row in it."""
        pieces = tuple(self._vocabularies.source.pieces[i] for i in (*source, EOS))
        several = [self._one(part, pieces, hypothesis, limit) for hypothesis in hypotheses]
        best = several[0]
        if n_best:
            best = replace(best, n_best=tuple(several))
        if tree is not None:
            steps = tree[0].steps(tree[1])
            best = replace(best, tree=tuple(map(tuple, steps)))
        return best

    def _one(self, part: Part, source_pieces: tuple[str, ...], found: Hypothesis, limit: int) -> Translation:
        target = self._vocabularies.target
        parts = found.token_log_probabilities
        translation = Translation(
            text=target.decode(found.tokens, unknown=self._unknown(part, found)),
            source=part.text,
            source_pieces=source_pieces,
            target_pieces=tuple(target.pieces[i] for i in (*found.tokens, EOS)),
            score=found.score,
            log_probability=found.log_probability,
            token_log_probabilities=None if parts is None else tuple(parts),
            attention=found.attention if self._details.attention else None,
            reached_limit=len(found.tokens) >= limit,
            whole_words=self._whole_words,
        )
        return with_links(translation, found.attention) if self._details.alignment else translation

    def _unknown(self, part: Part, found: Hypothesis) -> list[str]:
        """What stands for each <unk>: the word of the prefix, else the source word that it looked at most."""
        if UNK not in found.tokens:
            return []
        given = self._vocabularies.target.surfaces(part.prefix) if part.prefix else []
        words = self._vocabularies.source.surfaces(part.text)
        texts = []
        # Without attention there is no place in the source to look at: <unk> stays, after the prefix.
        places = [0] * len(given) if found.alignment is None else found.alignment
        for t, (token, place) in enumerate(zip(found.tokens, places, strict=False)):
            if token == UNK:
                word = (
                    given[t] if t < len(given) else words[min(place, len(words) - 1)]
                )  # <eos>: the last word
                texts.append(word.translate(_BREAKS))
        return texts
