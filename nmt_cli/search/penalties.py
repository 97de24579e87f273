"""From log P(Y | X) to the score by which finished hypotheses are compared.

    s(Y, X) = log P(Y | X) / lp(Y) + cp(X; Y)      (Wu et al. 2016, equation 14)

|Y| counts every token that has a log-probability, <eos> included. Open hypotheses of one step have the same
length and are compared by log P.
"""

from dataclasses import dataclass

from torch import Tensor

from nmt_cli.config.search import SearchConfig
from nmt_cli.errors import ConfigError

_MIN_COVERAGE = 1e-6  # for positions without any attention: log 0 = -∞ would make all scores equal


@dataclass(frozen=True)
class LengthNormalization:
    """How the length of a hypothesis changes its score.

    none:     log P
    average:  log P / |Y|^α
    wu:       log P / lp(Y),  lp(Y) = (5 + |Y|)^α / (5 + 1)^α     (Wu et al. 2016, equation 14)
    reward:   log P + γ |Y|                                       (He et al. 2016, the word reward)
    """

    kind: str
    alpha: float
    gamma: float

    @classmethod
    def of(cls, config: SearchConfig) -> "LengthNormalization":
        """The normalization that the settings describe."""
        return cls(config.length_normalization, config.length_penalty, config.word_reward)

    def score(self, log_p: Tensor, length: int | Tensor) -> Tensor:
        """The scores (…) of hypotheses with log P (…) and |Y| = `length`."""
        match self.kind:
            case "average":
                return log_p / length**self.alpha
            case "wu":
                return log_p / ((5 + length) / 6) ** self.alpha
            case "reward":
                return log_p + self.gamma * length
            case _:
                return log_p

    def bound(self, log_p: Tensor, shortest: int, longest: Tensor) -> Tensor:
        """An upper bound for the final score of log P (B,) so far, if `shortest` ≤ |Y| ≤ `longest` (B,).

        Further tokens can only lower log P ≤ 0, and every score is monotone in |Y|: division by lp and a reward
        γ ≥ 0 favor the longest, γ < 0 the shortest. The coverage penalty is never positive.
        """
        return self.score(log_p, shortest if self.kind == "reward" and self.gamma < 0 else longest)


def coverage_penalty(coverage: Tensor, mask: Tensor, beta: float) -> Tensor:
    """Coverage Σ_j α_ji (B, K, S), mask (B, S) of real positions → cp (B, K)

    cp(X; Y) = β Σ_i log min(Σ_j α_ji, 1)
    (Wu et al. 2016, equation 14; the <eos> of the source is a position as well)
    """
    log_covered = coverage.clamp(_MIN_COVERAGE, 1.0).log()  # (B, K, S)
    return beta * (log_covered * mask[:, None]).sum(dim=-1)


def needs_attention(config: SearchConfig) -> ConfigError:
    """The error for a coverage penalty of a model without attention."""
    return ConfigError(
        f"search.coverage_penalty = {config.coverage_penalty} needs attention, but the model has none",
        hint="set search.coverage_penalty = 0, or use a model with attention",
    )
