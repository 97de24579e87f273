"""`Explainer`: translate a sentence with a run and report what the model did.

Search finds the translation and the beam; forced decoding of it (or of a given translation) yields the probability
of each piece, its alternatives and the attention. Both are put together as an `Explanation`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import exp
from pathlib import Path
from typing import Any, NamedTuple, Self

import torch
from torch import Tensor

from nmt_cli.config import ModelConfig, SearchConfig
from nmt_cli.config.defaults import ALTERNATIVES
from nmt_cli.corpus.cleaning import Normalization
from nmt_cli.data.batches import collate, pad_source
from nmt_cli.errors import UsageError
from nmt_cli.explanation.explanation import (
    Alternative,
    Explanation,
    Matrix,
    Prediction,
    RankedTranslation,
    Word,
    attention_note,
    beam_nodes,
    kept_prefixes,
)
from nmt_cli.explanation.gradients import describe_gradients, source_gradients
from nmt_cli.explanation.self_attention import self_attention_maps
from nmt_cli.model import Seq2Seq
from nmt_cli.run import RunDirectory
from nmt_cli.runtime.placeholders import restore
from nmt_cli.runtime.words import Groups
from nmt_cli.search import Hypothesis, ModelScorer, SearchNode, SearchTree, search
from nmt_cli.search.penalties import LengthNormalization, coverage_penalty
from nmt_cli.translator.forced_decoding import force
from nmt_cli.translator.segmentation import check_prefixes
from nmt_cli.translator.translation import END, decode_hypothesis, displayed_words, word_attention
from nmt_cli.translator.translator import Translator
from nmt_cli.vocabulary import Vocabularies, Vocabulary
from nmt_cli.vocabulary.token_ids import EOS, mirrored

MAX_PIECES = 250  # per sentence: a larger heat map would be unreadable


class _Findings(NamedTuple):
    """The results for a sentence, as ids; both sides end in <eos>."""

    source: list[int]
    target: list[int]
    log_p: list[float]  # T, of the target tokens
    attention: Tensor | None  # (T, S) on the CPU
    likely: list[list[tuple[int, float]]]  # T, the most probable ids with log p, best first
    hypotheses: list[Hypothesis]
    tree: list[list[SearchNode]]  # the candidates of each step


@dataclass(frozen=True)
class Explainer:
    """A model with its vocabularies and settings."""

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
        """The model of a run directory, with some search settings changed.

        The explanation lists the whole beam, unless `search.n_best` is given.
        """
        run = RunDirectory.open(run_dir)
        run.check_kind(language_model=False)
        config = run.config.search.changed(search or {})
        if config.mbr != "none" and "mbr" in (search or {}):
            raise UsageError(
                f"search.mbr = {config.mbr}: only search itself can be explained",
                hint="set search.mbr = none; the beam shows the candidates",
            )
        config = config.without_mbr()
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

    @classmethod
    def of(cls, translator: Translator, run_dir: Path) -> Self:
        """The model that a translator has loaded from a run directory, which is not loaded again."""
        run, config = RunDirectory.open(run_dir), translator.config.without_mbr()
        if not config.sampling:
            config = config.changed({"n_best": config.beam_size})
        (model,) = translator.models
        languages = run.facts.source_lang, run.facts.target_lang
        return cls(
            model, translator.vocabularies, config, run.config.model, translator.normalization, *languages
        )

    def check(self, text: str, target: str | None = None, *, name: str = "the sentence") -> None:
        """Reject a sentence or given translation that is blank or too long, before any work is done."""
        normalized, originals = self.normalization.masked(text)
        _check(_encode(self.vocabularies.source, normalized), name)
        if target is not None:
            _check(self._encode_target(target, originals), f"the target of {name}")

    @torch.inference_mode()
    def explain(
        self,
        text: str,
        *,
        target: str | None = None,
        prefix: str = "",
        alternatives: int = ALTERNATIVES,
        self_attention: bool = False,
        gradients: bool = False,
        run: str = "",
    ) -> Explanation:
        """Explain the translation that search finds for `text`, or the given `target`.

        Search runs in both cases, so that a given translation can be compared with what the model finds.

        prefix           what the translations of search begin with
        alternatives     how many to list for each piece
        self_attention   add the self-attention maps of the layers
        gradients        add the gradients of log p(y_t) with respect to the source word vectors
        run              what to call this run where several are compared
        """
        self.check(text, target)
        normalized, originals = self.normalization.masked(text)
        source = _encode(self.vocabularies.source, normalized)
        given = None if target is None else self._encode_target(target, originals)
        [start] = check_prefixes([prefix], 1, reverse_target=self.model.reverse_target)
        findings = self._search_and_force(source, given, self._encode_target(start, originals), alternatives)
        n_best = tuple(
            RankedTranslation(
                self._restored(
                    decode_hypothesis(hypothesis, normalized, self.vocabularies, prefix=start), originals
                ),
                hypothesis.score or 0.0,
                hypothesis.log_probability or 0.0,
            )
            for hypothesis in findings.hypotheses
        )
        explanation = replace(self._explanation(normalized, target, findings, n_best, alternatives), run=run)
        if self_attention:
            pieces = explanation.source_pieces, explanation.target_pieces
            maps = self_attention_maps(self.model, self.settings, findings.source, findings.target, pieces)
            explanation = replace(explanation, self_attention=maps)
        if gradients:
            g, x = source_gradients(self.model, findings.source, findings.target)
            words = _groups(explanation.source_words), _groups(explanation.target_words)
            read, written = self.settings.reverse_source, self.settings.reverse_target
            found = describe_gradients(g, x, *words, reversed_source=read, reversed_target=written)
            explanation = replace(explanation, gradients=found)
        return explanation

    def _search_and_force(
        self, source: list[int], given: list[int] | None, prefix: list[int], alternatives: int
    ) -> _Findings:
        """Search, then forced decoding of the given translation or of the best one found."""
        scorer, target_side = ModelScorer(self.model), self.vocabularies.target
        tree = SearchTree(candidates=2 * self.search.width)
        padded, lengths = pad_source([source])
        [hypotheses] = search(
            scorer,
            scorer.encode(padded.to(scorer.device), lengths),
            lengths,
            self.search,
            banned=target_side.banned,
            prefix=[prefix] if prefix else None,
            alignment=target_side.has_unknown,
            tree=tree,
        )
        if self.model.reverse_target:
            hypotheses = [hypothesis.reversed() for hypothesis in hypotheses]
        target = hypotheses[0].tokens if given is None else given
        batch = collate([source], [target], reverse_target=self.model.reverse_target).to(scorer.device)
        forced = force(self.model, batch, n=alternatives + 1, banned=target_side.banned)
        return _Findings(
            source=[*source, EOS],
            target=[*target, EOS],
            log_p=forced.log_p.tolist(),
            attention=None if forced.attention is None else forced.attention[0].float().cpu(),
            likely=[
                list(zip(*columns, strict=True))
                for columns in zip(forced.best.tolist(), forced.best_log_p.tolist(), strict=True)
            ],
            hypotheses=hypotheses,
            tree=tree.steps(0),
        )

    def _encode_target(self, text: str, originals: Sequence[str]) -> list[int]:
        return _encode(self.vocabularies.target, self.normalization.target(text, originals))

    def _restored(self, text: str, originals: Sequence[str]) -> str:
        return text if self.normalization.placeholders is None else restore(text, originals)

    def _explanation(
        self,
        text: str,
        target: str | None,
        findings: _Findings,
        n_best: tuple[RankedTranslation, ...],
        alternatives: int,
    ) -> Explanation:
        source_side, target_side = self.vocabularies.source, self.vocabularies.target
        source_words = split_words(source_side, findings.source)
        target_words = split_words(target_side, findings.target)
        log_p = findings.log_p
        attention: Matrix | None = None
        between_words: Matrix | None = None
        if (alpha := findings.attention) is not None:  # (T, S)
            attention = _matrix(alpha)
            between_words = _matrix(
                word_attention(alpha.double(), _groups(source_words), _groups(target_words))
            )
        best = [*findings.hypotheses[0].tokens, EOS]
        if self.settings.reverse_target:
            best = mirrored(best)
        return Explanation(
            system=self.settings.preset,
            source_lang=self.source_lang,
            target_lang=self.target_lang,
            note=attention_note(self.settings),
            source=text,
            translation=n_best[0].text if target is None else target,
            forced=target is not None,
            score=self._score(findings),
            log_probability=sum(log_p),
            source_pieces=tuple(piece_label(source_side, token) for token in findings.source),
            target_pieces=tuple(piece_label(target_side, token) for token in findings.target),
            source_words=source_words,
            target_words=target_words,
            confidence=tuple(exp(sum(log_p[word.first : word.end])) for word in target_words),
            attention=attention,
            word_attention=between_words,
            steps=self._steps(findings, alternatives),
            n_best=n_best,
            beam=beam_nodes(findings.tree, best, lambda token: piece_label(target_side, token)),
        )

    def _steps(self, findings: _Findings, alternatives: int) -> tuple[Prediction, ...]:
        """The prediction of each piece; its alternatives are those at the step in which it was written."""
        vocabulary, target = self.vocabularies.target, findings.target
        kept = kept_prefixes(findings.tree)
        steps, written = list(range(len(target))), target
        if self.settings.reverse_target:
            steps, written = mirrored(steps), mirrored(target)
        return tuple(
            Prediction(
                piece_label(vocabulary, token),
                exp(findings.log_p[t]),
                tuple(
                    Alternative(piece_label(vocabulary, other), exp(log_p), (*written[:step], other) in kept)
                    for other, log_p in findings.likely[t]
                    if other != token
                )[:alternatives],
            )
            for t, (token, step) in enumerate(zip(target, steps, strict=True))
        )

    def _score(self, findings: _Findings) -> float:
        """The score search would give it: with length normalization and coverage penalty."""
        log_p = torch.tensor(sum(findings.log_p))
        score = LengthNormalization.of(self.search).score(log_p, len(findings.log_p))
        if self.search.coverage_penalty and findings.attention is not None:
            coverage = findings.attention.sum(dim=0)[None, None]  # (1, 1, S)
            everywhere = torch.ones(coverage.shape[1:], dtype=torch.bool)  # (1, S)
            score = score + coverage_penalty(coverage, everywhere, self.search.coverage_penalty)[0, 0]
        return float(score)


def piece_label(vocabulary: Vocabulary, token: int) -> str:
    """A piece as it is shown, with '▁' for a space."""
    return END if token == EOS else vocabulary.pieces[token]


def split_words(vocabulary: Vocabulary, tokens: Sequence[int]) -> tuple[Word, ...]:
    """The words of ids that end in <eos>."""
    pieces = [vocabulary.pieces[token] for token in tokens]
    texts, groups = displayed_words(pieces, whole_words=vocabulary.kind == "word")
    return tuple(Word(text, group[0], group[-1] + 1) for text, group in zip(texts, groups, strict=True))


def _encode(vocabulary: Vocabulary, normalized: str) -> list[int]:
    """Ids without <eos>; empty for a blank text."""
    ids: list[int] = vocabulary.encode([normalized])[0].tolist()
    return ids if normalized.strip() else []


def _groups(words: Sequence[Word]) -> Groups:
    return tuple(tuple(range(word.first, word.end)) for word in words)


def _matrix(weights: Tensor) -> Matrix:
    return tuple(tuple(row) for row in weights.tolist())


def _check(tokens: Sequence[int], name: str) -> None:
    if not tokens:
        raise UsageError(f"{name} is blank", hint="give a text with at least one word")
    if len(tokens) > MAX_PIECES:
        raise UsageError(
            f"{name} has {len(tokens):,} tokens, more than the {MAX_PIECES} that a heat map can show",
            hint="explain its sentences or clauses one by one",
        )
