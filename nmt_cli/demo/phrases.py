"""Random phrases: somebody and something. Kinds of nouns keep them sensible."""

from collections.abc import Sequence
from functools import cache
from random import Random
from typing import TypeVar

from nmt_cli.demo import lexicon
from nmt_cli.demo.lexicon import Adjective, Name, Noun, Verb, nouns_of
from nmt_cli.demo.tree import (
    Both,
    Clause,
    NounPhrase,
    Person,
    Phrase,
    Pronoun,
)

Choice = TypeVar("Choice")
Word = TypeVar("Word", Noun, Name)
# The chances of each determiner, by the first kind of the noun.
THING = {"definite": 34, "indefinite": 26, "possessive": 16, "genitive": 7, "this": 7, "count": 10}
DETERMINERS = {
    "kin": {"possessive": 80, "genitive": 20},
    "circle": {"possessive": 80, "genitive": 20},
    "human": {"definite": 66, "indefinite": 14, "this": 13, "count": 7},
    "job": {"definite": 76, "indefinite": 14, "this": 10},
    "animal": {"definite": 58, "indefinite": 24, "this": 8, "count": 10},
    "pet": {"definite": 30, "indefinite": 18, "possessive": 30, "genitive": 12, "count": 10},
    "place": {"definite": 62, "indefinite": 16, "this": 22},
    "vehicle": {"definite": 40, "indefinite": 24, "possessive": 20, "genitive": 8, "this": 8},
    "transport": {"definite": 55, "indefinite": 30, "this": 15},
    "room": {"definite": 60, "possessive": 40},
    "event": {"definite": 60, "this": 25, "indefinite": 15},
    "task": {"definite": 55, "this": 25, "indefinite": 20},
    "choice": {"definite": 55, "this": 20, "indefinite": 15, "genitive": 10},
    "tale": {"definite": 40, "this": 20, "indefinite": 30, "genitive": 10},
    "fixture": {"definite": 70, "this": 15, "possessive": 15},
    "cause": {"definite": 1},
    "language": {"named": 1},
    "sport": {"named": 1},
}
PAIRS = {"possessive": 50, "definite": 35, "this": 15}
MASS = {"bare": 55, "definite": 33, "this": 12}
OWN = {"possessive": 70, "definite": 30}  # what one rather has than meets: vacation, birthday, money
OWNED = ("vacation", "birthday", "wedding", "luggage", "job", "dream", "secret", "wallet", "weekend")
# Nobody wears one shoe; these stand in the plural.
PAIRED = ("shoe", "glove", "boot", "cherry", "strawberry", "mushroom", "cookie")
# One German word for two nouns: only a verb tells them apart, an adjective does not.
AMBIGUOUS = ("castle", "lock", "bench", "bank")
MARRIED = {"husband": "f", "wife": "m"}  # the gender of whose they are
SHORE = next(noun for noun in lexicon.NOUNS if noun.german == "Ufer")


@cache
def choices(kinds: tuple[str, ...]) -> tuple[Noun, ...]:
    """The nouns of these kinds; the bank of a river is only spoken of where it says so."""
    return tuple(noun for noun in nouns_of(*kinds) if noun is not SHORE)


@cache
def adjectives(noun: Noun) -> tuple[Adjective, ...]:
    """The adjectives that go with a noun."""
    own = {*noun.kinds, "!" + noun.english.replace(" ", "_")}
    return tuple(adjective for adjective in lexicon.ADJECTIVES if own.intersection(adjective.kinds))


class Phrases:
    """A source of random phrases; within one sentence no noun, name or verb comes twice."""

    def __init__(self, random: Random) -> None:
        self.draw = random.random
        self.used: set[str] = set()
        self.register = "du"

    def chance(self, probability: float) -> bool:
        """True as often as that."""
        return self.draw() < probability

    def pick(self, options: Sequence[Choice]) -> Choice:
        """One of them; faster than `random.choice`, which the many calls feel."""
        return options[int(self.draw() * len(options))]

    def weighted(self, weights: dict[str, int]) -> str:
        """One of the keys, by its weight."""
        point = self.draw() * sum(weights.values())
        for key, weight in weights.items():
            point -= weight
            if point < 0:
                return key
        return next(reversed(weights))

    def fresh(self, options: Sequence[Word]) -> Word:
        """One that the sentence does not have yet, if there is one."""
        word = self.pick(options)
        for _ in range(6):
            if word.german not in self.used:
                break
            word = self.pick(options)
        self.used.add(word.german)
        return word

    def fresh_verb(self, options: Sequence[Verb]) -> Verb:
        """One that the sentence does not have yet, if there is one."""
        verb = self.pick(options)
        for _ in range(6):
            if verb.german_participle not in self.used:
                break
            verb = self.pick(options)
        self.used.add(verb.german_participle)
        return verb

    def person(self, *, joined: bool = True) -> Phrase:
        """Somebody: a name, a pronoun, a relative, somebody by profession."""
        kind = self.weighted({"name": 33, "pronoun": 20, "noun": 38, "title": 5, "both": 4 if joined else 0})
        if kind == "pronoun":
            return self.pronoun()
        if kind == "noun":
            return self.noun_phrase(("person",))
        if kind == "title":
            return Person(self.fresh(lexicon.SURNAMES), self.pick("mf"))
        if kind == "both":
            return Both(self.name(), self.pick((self.name, lambda: self.noun_phrase(("kin",))))())
        return self.name()

    def name(self) -> Person:
        """A first name."""
        return Person(self.fresh(lexicon.WOMEN if self.chance(0.5) else lexicon.MEN))

    def pronoun(self) -> Pronoun:
        """I, you, he…"""
        person = self.weighted({"I": 30, "you": 16, "we": 20, "he": 12, "she": 12, "they": 10})
        if person == "you":
            return self.you()
        return {
            "I": Pronoun(1),
            "we": Pronoun(1, True),
            "he": Pronoun(3),
            "she": Pronoun(3, False, "f"),
            "they": Pronoun(3, True),
        }[person]

    def you(self) -> Pronoun:
        """The one who is spoken to, the way this sentence speaks to them."""
        return Pronoun(2, self.register == "ihr", register=self.register)

    def object_person(self, kinds: tuple[str, ...], owner: Pronoun | None, depth: int) -> Phrase:
        """Somebody to whom something is done; never the one who does it."""
        if self.chance(0.12):
            options = [Pronoun(1), Pronoun(1, True), Pronoun(3), self.you()]
            return self.pick([option for option in options if not owner or option.person != owner.person])
        if self.chance(0.2) and "person" in kinds:
            return self.name()
        return self.noun_phrase(kinds, owner=owner, depth=depth)

    def noun_phrase(
        self,
        kinds: tuple[str, ...],
        *,
        owner: Pronoun | None = None,
        depth: int = 0,
        bulk: bool = False,
        plain: bool = False,
    ) -> NounPhrase:
        """A noun of these kinds. `owner` is who his and her refer to, `bulk` prefers things in the plural."""
        noun = self.fresh(choices(kinds))
        determiner = self._determiner(noun, bulk=bulk)
        if noun.english in PAIRED and determiner == "indefinite":
            determiner = "definite"
        plural, count = noun.english in PAIRED, 0
        if determiner == "bare" and not noun.mass:
            plural = True
        elif determiner == "count":
            plural, count = True, 2 + int(self.draw() ** 3 * 11)
        elif (
            determiner in ("definite", "possessive", "this")
            and not (plural or noun.mass)
            and self.chance(0.12)
        ):
            clear = noun.english_plural != noun.english
            plural = clear and noun.kinds[0] not in (
                "kin",
                "cause",
                "event",
                "room",
                "place",
                "vehicle",
                "device",
            )
        whose: Phrase | None = None
        if determiner == "possessive":
            whose = self._owner(owner)
            if noun.english in MARRIED and (
                whose.plural or (whose.person == 3 and whose.gender != MARRIED[noun.english])
            ):
                whose = Pronoun(1)
        elif determiner == "genitive":
            if noun.english in MARRIED:
                whose = Person(self.fresh(lexicon.WOMEN if MARRIED[noun.english] == "f" else lexicon.MEN))
            else:
                whose = self.name() if self.chance(0.5) else self._owner_phrase(noun)
        fitting = () if noun.english == "vacation" else adjectives(noun)
        adjective = (
            self.pick(fitting) if fitting and not plain and self.chance(self._adjective_rate(noun)) else None
        )
        phrase = NounPhrase(noun, determiner, plural, adjective, count, whose)
        if depth > 0 and determiner in ("definite", "indefinite") and not noun.mass and self.chance(0.24):
            relative = self.relative(noun, plural, depth - 1)
            # One adjective is enough: not the red car that is blue.
            described = relative is not None and relative.verb is lexicon.BE
            phrase = phrase._replace(relative=relative, adjective=None if described else adjective)
        return phrase

    def relative(self, noun: Noun, plural: bool, depth: int) -> Clause | None:
        """A relative clause; clauses know how to make one."""
        raise NotImplementedError

    def _determiner(self, noun: Noun, *, bulk: bool) -> str:
        kind = noun.kinds[0]
        if noun.english in OWNED:
            return self.weighted(OWN)
        if noun.mass and kind not in ("cause", "language", "sport", "stuff"):
            return self.weighted(MASS)
        if kind == "stuff":
            return (
                "definite"
                if noun.english == "noise"
                else self.weighted({"possessive": 30, "definite": 50, "this": 20})
            )
        if noun.english in PAIRED and kind == "clothes":
            return self.weighted(PAIRS)
        if bulk and kind == "food" and self.chance(0.4):
            return "bare"
        for special in ("pet", "transport"):
            if special in noun.kinds:
                return self.weighted(DETERMINERS[special])
        return self.weighted(DETERMINERS.get(kind, THING))

    def _adjective_rate(self, noun: Noun) -> float:
        return {"kin": 0.1, "job": 0.2, "circle": 0.15}.get(noun.kinds[0], 0.32)

    def _owner(self, owner: Pronoun | None) -> Pronoun:
        # Most often the subject's own, else the speaker's: an unknown his would have to be guessed.
        if owner and self.chance(0.7):
            return owner
        return self.pick((Pronoun(1), Pronoun(1), Pronoun(1, True)))

    def _owner_phrase(self, noun: Noun) -> NounPhrase:
        owner = self.fresh(
            choices(("kin",) if noun.kinds[0] in ("kin", "circle") else ("kin", "job", "circle"))
        )
        if owner.kinds[0] == "job":
            return NounPhrase(owner, "definite")
        return NounPhrase(owner, "possessive", owner=self.pick((Pronoun(1), Pronoun(1, True))))
