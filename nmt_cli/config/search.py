"""Settings of the section `search`: how translations are searched for, or sampled."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal, Self

from pydantic import ValidationError, model_validator

from nmt_cli.config.section import Section, default_of, incompatible, problems, reject, setting
from nmt_cli.errors import ConfigError

MAX_LENGTH = 1_000_000  # of max_length: beyond any translation, and exact in single precision


class SearchConfig(Section):
    """Beam search or sampling, length control and penalties."""

    beam_size: int = setting(5, "beam size; 1 is greedy search", ge=1, le=1000)
    n_best: int = setting(1, "number of translations per sentence", ge=1, le=10_000)
    stopping: Literal["finished", "exact", "first"] = setting(
        "finished",
        "stop when beam_size hypotheses are finished, when no open one can still win (exact), or when no "
        "open one is ahead (first)",
    )
    length_normalization: Literal["none", "average", "wu", "reward"] = setting(
        "average",
        "score: log P, log P / length^α (average), log P / GNMT's penalty (wu), log P + word_reward · length (reward)",
    )
    length_penalty: float = setting(
        1.0, "exponent α for length_normalization = average or wu; 0: no normalization", ge=0.0, le=10.0
    )
    word_reward: float = setting(
        0.0, "added to log P for each token if length_normalization = reward", ge=-1000.0, le=1000.0
    )
    coverage_penalty: float = setting(
        0.0, "weight β of GNMT's penalty for source positions with too little attention", ge=0.0, le=1000.0
    )
    min_length: int = setting(1, "minimum length of a translation, in tokens", ge=0)
    max_length: int = setting(256, "maximum length of a translation, in tokens", ge=1, le=MAX_LENGTH)
    max_length_ratio: float | None = setting(
        3.0, "maximum length relative to the source: this × source length + max_length_constant", ge=0.0
    )
    max_length_constant: int = setting(
        50, "tokens allowed in addition to max_length_ratio × source length", ge=1, le=MAX_LENGTH
    )
    no_repeat_ngram: int = setting(0, "block repeated n-grams of this length; 0: no blocking", ge=0)
    diversity_groups: int = setting(
        1,
        "divide the beam into this many groups that avoid each other's tokens (diverse beam search); must divide "
        "beam_size",
        ge=1,
        le=1000,
    )
    diversity_strength: float = setting(
        0.5,
        "subtracted from the log-probability of a token for each hypothesis of an earlier group that has just chosen "
        "it, if diversity_groups > 1",
        ge=0.0,
        le=1000.0,
    )
    sampling: bool = setting(False, "sample n_best translations instead of searching for the best ones")
    temperature: float = setting(
        1.0, "sampling temperature; values below 1 favor probable tokens", ge=0.01, le=100.0
    )
    top_k: int | None = setting(None, "sample only from the k most probable tokens", ge=1)
    top_p: float | None = setting(
        None,
        "sample only from the smallest set of tokens with at least this total probability (nucleus sampling)",
        gt=0.0,
        le=1.0,
    )
    seed: int = setting(0, "random seed for sampling, combined with the line number", ge=0, lt=2**63)
    mbr: Literal["none", "chrf", "bleu"] = setting(
        "none",
        "minimum Bayes risk decoding: choose the candidate with the highest expected sentence-level chrF or BLEU "
        "against all candidates, which are the beam, or samples if sampling = true",
    )
    mbr_samples: int = setting(
        32, "number of samples for minimum Bayes risk decoding with sampling = true", ge=2, le=1000
    )

    def changed(self, settings: Mapping[str, Any]) -> Self:
        """A validated copy with some settings changed."""
        try:
            return self.model_validate({**self.model_dump(), **settings})
        except ValidationError as error:
            raise ConfigError(
                "; ".join(problems(error, {}, prefix="search")),
                hint="`nmt config` lists every setting with its type and default",
            ) from error

    @property
    def candidates(self) -> int:
        """Number of hypotheses per sentence that search returns; minimum Bayes risk decoding chooses among them."""
        if self.mbr == "none":
            return self.n_best
        return self.mbr_samples if self.sampling else self.beam_size

    @property
    def width(self) -> int:
        """Maximum number of hypotheses per sentence at any time."""
        return self.candidates if self.sampling else self.beam_size

    def without_mbr(self, **settings: Any) -> Self:
        """A copy without minimum Bayes risk decoding, and with some other settings changed."""
        return self.model_copy(
            update={"mbr": "none", "mbr_samples": default_of(self, "mbr_samples"), **settings}
        )

    @model_validator(mode="after")
    def _reject_contradictions(self) -> Self:
        reject(self._contradictions())
        return self

    def _contradictions(self) -> Iterator[str]:
        if self.min_length > self.max_length:
            yield self._contradiction(
                "min_length", "max_length", "set search.max_length to at least search.min_length"
            )
        if self.word_reward and self.length_normalization != "reward":
            yield self._contradiction(
                "word_reward", "length_normalization", "set search.length_normalization = reward"
            )
        if self.diversity_groups == 1:
            if self.diversity_strength != default_of(self, "diversity_strength"):
                yield self._contradiction(
                    "diversity_strength", "diversity_groups", "set search.diversity_groups to at least 2"
                )
        elif self.sampling:
            yield self._contradiction("diversity_groups", "sampling", "set search.diversity_groups = 1")
        else:
            if self.beam_size % self.diversity_groups:
                yield self._contradiction(
                    "diversity_groups",
                    "beam_size",
                    "set search.beam_size to a multiple of search.diversity_groups",
                )
            if self.stopping != "finished":
                yield self._contradiction("stopping", "diversity_groups", "set search.stopping = finished")
        yield from self._mbr_contradictions()
        if self.sampling:
            if self.stopping != "finished":
                yield self._contradiction("stopping", "sampling", "set search.stopping = finished")
            return
        if self.n_best > self.beam_size:
            yield self._contradiction(
                "n_best", "beam_size", f"set search.beam_size = {self.n_best} or search.sampling = true"
            )
        for name, neutral in (("temperature", 1.0), ("top_k", None), ("top_p", None)):
            if getattr(self, name) != neutral:
                yield self._contradiction(name, "sampling", "set search.sampling = true")

    def _mbr_contradictions(self) -> Iterator[str]:
        if self.mbr_samples != default_of(self, "mbr_samples"):
            if self.mbr == "none":
                yield self._contradiction("mbr_samples", "mbr", "set search.mbr = chrf or bleu")
            elif not self.sampling:
                yield self._contradiction("mbr_samples", "sampling", "set search.sampling = true")
        if self.mbr == "none":
            return
        if self.sampling and self.n_best > self.mbr_samples:
            yield self._contradiction("n_best", "mbr_samples", f"set search.mbr_samples = {self.n_best}")
        if not self.sampling and self.beam_size == 1:
            yield self._contradiction(
                "mbr", "beam_size", "set search.beam_size to at least 2, or search.sampling = true"
            )

    def _contradiction(self, first: str, second: str, advice: str) -> str:
        return incompatible("search", self, first, second, advice)
