"""`Explainer`: a run that says what it did with a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import exp
from pathlib import Path
from typing import Any, NamedTuple, Self

import torch

from nmt_cli.config import ModelConfig, SearchConfig
from nmt_cli.corpus.cleaning import Normalization
from nmt_cli.data.batch import pad_source
from nmt_cli.errors import UsageError
from nmt_cli.explanation.explanation import (
    Alternative,
    Candidate,
    Explanation,
    Matrix,
    Step,
    attention_note,
    beam_nodes,
    kept_prefixes,
)
from nmt_cli.explanation.forced_decoding import Forced, force
from nmt_cli.explanation.self_attention import self_attention_maps
from nmt_cli.explanation.words import piece_label, word_attention, words_of
from nmt_cli.model import Seq2Seq
from nmt_cli.run import RunDirectory
from nmt_cli.search import Hypothesis, ModelScorer, SearchNode, SearchTree, search
from nmt_cli.search.penalties import LengthNormalization, coverage_penalty
from nmt_cli.vocabulary import Vocabularies, Vocabulary
from nmt_cli.vocabulary.token_ids import EOS, UNK

LONGEST = 250  # pieces of a sentence: nobody can look at a larger map


class _Facts(NamedTuple):
    """What was found out about a sentence, in ids; both sides end in <eos>."""

    source: list[int]
    target: list[int]
    forced: Forced  # of the target
    found: list[Hypothesis]
    steps: list[list[SearchNode]]


@dataclass(frozen=True)
class Explainer:
    """A model with all that its explanations tell."""

    model: Seq2Seq
    vocabularies: Vocabularies
    search: SearchConfig
    settings: ModelConfig
    normalization: Normalization = field(default_factory=Normalization)
    source_lang: str = ""
    target_lang: str = ""

    @classmethod
    def load(
        cls,
        run_dir: Path,
        *,
        search: Mapping[str, Any] | None = None,
        device: torch.device | str = "cpu",
    ) -> Self:
        """The model to use of a run directory, with some settings of its search changed.

        All that the beam finds is listed, unless `search.n_best` is given.
        """
        run = RunDirectory.open(run_dir)
        run.check_kind(language_model=False)
        config = run.config.search.changed(search or {})
        if "n_best" not in (search or {}) and not config.sampling:
            config = config.changed({"n_best": config.beam_size})
        return cls(
            run.load_model(device),
            run.vocabularies,
            config,
            run.config.model,
            run.normalization,
            run.facts.source_lang,
            run.facts.target_lang,
        )

    def check(self, text: str, target: str | None = None, *, name: str = "the sentence") -> None:
        """Refuse a sentence, or its given translation, that cannot be explained, before any work is done."""
        _check(self._encode(self.vocabularies.source, text), name)
        if target is not None:
            _check(self._encode(self.vocabularies.target, target), f"the target of {name}")

    @torch.inference_mode()
    def explain(
        self, text: str, *, target: str | None = None, alternatives: int = 5, self_attention: bool = False
    ) -> Explanation:
        """Look at the translation that search finds for `text`, or at the given `target`.

        `alternatives` are shown for each piece. Search runs in both cases, so that a given translation can be
        compared with what the model found. `self_attention` adds where the layers look on their own side.
        """
        self.check(text, target)
        source = self._encode(self.vocabularies.source, text)
        given = None if target is None else self._encode(self.vocabularies.target, target)
        facts = self._find_out(source, given, alternatives)
        normalized = self.normalization(text)
        n_best = tuple(
            Candidate(self._text(one, normalized), one.score or 0.0, one.log_probability or 0.0)
            for one in facts.found
        )
        found = self._put_together(normalized, target, facts, n_best, alternatives)
        if not self_attention:
            return found
        pieces = found.source_pieces, found.target_pieces
        maps = self_attention_maps(self.model, self.settings, facts.source, facts.target, pieces)
        return replace(found, self_attention=maps)

    def _find_out(self, source: list[int], given: list[int] | None, alternatives: int) -> _Facts:
        """Search, then forced decoding of what was given or found."""
        scorer = ModelScorer(self.model)
        padded, lengths = pad_source([source])
        memory = scorer.encode(padded.to(scorer.device), lengths)
        target_side = self.vocabularies.target
        tree = SearchTree(candidates=2 * self.search.width)
        found = search(
            scorer,
            memory,
            lengths,
            self.search,
            banned=target_side.banned,
            alignment=target_side.has_unknown,
            tree=tree,
        )[0]
        target = [*(found[0].tokens if given is None else given), EOS]
        forced = force(scorer, memory, target, count=alternatives + 1, banned=target_side.banned)
        return _Facts([*source, EOS], target, forced, found, tree.steps(0))

    def _encode(self, vocabulary: Vocabulary, text: str) -> list[int]:
        """Ids without <eos>; none of a blank text."""
        normalized = self.normalization(text)
        ids: list[int] = vocabulary.encode([normalized])[0].tolist()
        return ids if normalized.strip() else []

    def _put_together(
        self,
        text: str,
        target: str | None,
        facts: _Facts,
        n_best: tuple[Candidate, ...],
        alternatives: int,
    ) -> Explanation:
        source_side, target_side = self.vocabularies.source, self.vocabularies.target
        source_words = words_of(source_side, facts.source)
        target_words = words_of(target_side, facts.target)
        log_p = facts.forced.log_p
        attention: Matrix | None = None
        if facts.forced.attention is not None:
            attention = tuple(tuple(row) for row in facts.forced.attention.tolist())
        between_words = None if attention is None else word_attention(attention, source_words, target_words)
        best = [*facts.found[0].tokens, EOS]
        return Explanation(
            system=self.settings.preset,
            source_lang=self.source_lang,
            target_lang=self.target_lang,
            note=attention_note(self.settings),
            source=text,
            translation=n_best[0].text if target is None else target,
            forced=target is not None,
            score=self._score(facts.forced),
            log_probability=sum(log_p),
            source_pieces=tuple(piece_label(source_side, token) for token in facts.source),
            target_pieces=tuple(piece_label(target_side, token) for token in facts.target),
            source_words=source_words,
            target_words=target_words,
            confidence=tuple(exp(sum(log_p[word.first : word.end])) for word in target_words),
            attention=attention,
            word_attention=between_words,
            steps=self._steps(facts, alternatives),
            n_best=n_best,
            beam=beam_nodes(facts.steps, best, lambda token: piece_label(target_side, token)),
        )

    def _steps(self, facts: _Facts, alternatives: int) -> tuple[Step, ...]:
        vocabulary, target, forced = self.vocabularies.target, facts.target, facts.forced
        kept = kept_prefixes(facts.steps)
        return tuple(
            Step(
                piece_label(vocabulary, token),
                exp(forced.log_p[t]),
                tuple(
                    Alternative(piece_label(vocabulary, other), exp(log_p), (*target[:t], other) in kept)
                    for other, log_p in forced.likely[t]
                    if other != token
                )[:alternatives],
            )
            for t, token in enumerate(target)
        )

    def _score(self, forced: Forced) -> float:
        """The score that search would give: with length normalization and coverage penalty."""
        log_p = torch.tensor(sum(forced.log_p))
        score = LengthNormalization.of(self.search).score(log_p, len(forced.log_p))
        if self.search.coverage_penalty and forced.attention is not None:
            coverage = forced.attention.sum(dim=0)[None, None]  # (1, 1, S)
            everywhere = torch.ones(coverage.shape[1:], dtype=torch.bool)  # (1, S)
            score = score + coverage_penalty(coverage, everywhere, self.search.coverage_penalty)[0, 0]
        return float(score)

    def _text(self, hypothesis: Hypothesis, source: str) -> str:
        """The text of a hypothesis; a word that is not known is that of the source."""
        unknown: list[str] = []
        if hypothesis.alignment is not None and UNK in hypothesis.tokens:
            words = self.vocabularies.source.surfaces(source)
            places = zip(hypothesis.tokens, hypothesis.alignment, strict=False)
            unknown = [words[min(place, len(words) - 1)] for token, place in places if token == UNK]
        return self.vocabularies.target.decode(hypothesis.tokens, unknown=unknown)


def _check(tokens: Sequence[int], name: str) -> None:
    if not tokens:
        raise UsageError(f"{name} is blank", hint="give a text with at least one word")
    if len(tokens) > LONGEST:
        raise UsageError(
            f"{name} has {len(tokens):,} tokens, more than the {LONGEST} that a map can show",
            hint="explain its sentences or clauses one by one",
        )
