"""Settings of the section `search`."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal, Self

from pydantic import ValidationError, model_validator

from nmt_cli.config.section import Section, setting
from nmt_cli.errors import ConfigError


class SearchConfig(Section):
    """How the best translation is looked for."""

    beam_size: int = setting(5, "hypotheses kept at each step; 1 is greedy search", ge=1, le=1000)
    n_best: int = setting(1, "translations given for each sentence", ge=1)
    stopping: Literal["finished", "exact", "first"] = setting(
        "finished",
        "stop when beam_size hypotheses have ended, when no open one can overtake (exact), or leads (first)",
    )
    length_normalization: Literal["none", "average", "wu", "reward"] = setting(
        "average",
        "score: log P, log P / length^α (average), log P / GNMT's penalty (wu), log P + word_reward · length",
    )
    length_penalty: float = setting(
        1.0, "exponent α of length_normalization = average or wu; 0 for none", ge=0.0
    )
    word_reward: float = setting(0.0, "what each token adds to log P, with length_normalization = reward")
    coverage_penalty: float = setting(
        0.0, "weight β of GNMT's penalty for source positions that got too little attention", ge=0.0
    )
    min_length: int = setting(1, "shortest translation, in tokens", ge=0)
    max_length: int = setting(256, "longest translation, in tokens", ge=1)
    max_length_ratio: float | None = setting(
        3.0, "a translation is no longer than this × length of the source + max_length_constant", ge=0.0
    )
    max_length_constant: int = setting(50, "tokens that max_length_ratio allows in addition", ge=1)
    no_repeat_ngram: int = setting(
        0, "no sequence of this many tokens occurs twice; 0 for no such rule", ge=0
    )
    sampling: bool = setting(False, "draw n_best translations at random instead of looking for the best")
    temperature: float = setting(
        1.0, "logits are divided by it before sampling; below 1 is more cautious", gt=0.0
    )
    top_k: int | None = setting(None, "sample from this many most probable tokens only", ge=1)
    top_p: float | None = setting(
        None, "sample from the fewest tokens that have this probability together", gt=0.0, le=1.0
    )
    seed: int = setting(0, "what is drawn is a function of it and of the number of the line", ge=0, lt=2**63)

    def changed(self, settings: Mapping[str, Any]) -> Self:
        """The same with some settings changed, all of them checked again."""
        try:
            return self.model_validate({**self.model_dump(), **settings})
        except ValidationError as error:
            raise ConfigError(
                "; ".join(map(_problem, error.errors(include_url=False))),
                hint="`nmt config` lists every setting with its type and default",
            ) from error

    @property
    def width(self) -> int:
        """Hypotheses a sentence has at most at the same time."""
        return self.n_best if self.sampling else self.beam_size

    @model_validator(mode="after")
    def _settings_agree(self) -> Self:
        contradictions = list(self._contradictions())
        if contradictions:
            raise ValueError("; ".join(contradictions))
        return self

    def _contradictions(self) -> Iterator[str]:
        if self.min_length > self.max_length:
            yield self._contradiction("min_length", "max_length", "make search.max_length the larger one")
        if self.word_reward and self.length_normalization != "reward":
            yield self._contradiction(
                "word_reward", "length_normalization", "set search.length_normalization = reward"
            )
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

    def _contradiction(self, first: str, second: str, advice: str) -> str:
        one, other = (f"search.{name} = {_shown(getattr(self, name))}" for name in (first, second))
        return f"{one} contradicts {other}; {advice}"


def _problem(detail: Mapping[str, Any]) -> str:
    message = detail["msg"].removeprefix("Value error, ")
    if not detail["loc"]:
        return str(message)  # a contradiction, which names its settings
    return f"search.{detail['loc'][0]} = {detail['input']!r}: {message[0].lower()}{message[1:]}"


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
