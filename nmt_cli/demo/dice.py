"""The random choices of one sentence."""

from collections.abc import Sequence
from random import Random
from typing import TypeVar

from nmt_cli.demo.lexicon import Noun, Verb, Word

Choice = TypeVar("Choice")
Lexeme = TypeVar("Lexeme", Noun, Word, Verb)


class Dice:
    """Draws from a random stream, and remembers what the sentence has said so far."""

    def __init__(self, random: Random) -> None:
        self.random = random.random
        self.used: set[str] = set()
        self.register = "du"  # how the sentence addresses people: du, ihr or Sie

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return self.random() < probability

    def pick(self, options: Sequence[Choice]) -> Choice:
        """One of the options, all equally likely; faster than `random.choice`."""
        return options[int(self.random() * len(options))]

    def weighted(self, weights: dict[str, int]) -> str:
        """One of the keys, each as likely as its weight."""
        point = self.random() * sum(weights.values())
        for key, weight in weights.items():
            point -= weight
            if point < 0:
                return key
        return next(reversed(weights))

    def integer(self, low: int, high: int, *, skew: int = 1) -> int:
        """A number from `low` to `high`, both included; a larger `skew` favors small ones."""
        return low + int(self.random() ** skew * (high - low + 1))

    def fresh(self, options: Sequence[Lexeme]) -> Lexeme:
        """One of the words, preferably one that the sentence does not contain yet."""
        word = self.pick(options)
        for _ in range(6):
            if not self.is_used(word):
                break
            word = self.pick(options)
        self.used.add(_key(word))
        return word

    def is_used(self, word: Noun | Word | Verb) -> bool:
        """Whether the sentence already contains the word."""
        return _key(word) in self.used


def _key(word: Noun | Word | Verb) -> str:
    return word.german_participle if isinstance(word, Verb) else word.german
