"""Random choices, and the random phrases made with them: people and things, places and times."""

from collections.abc import Sequence
from functools import cache
from random import Random
from typing import TypeVar

from nmt_cli.demo import lexicon
from nmt_cli.demo.lexicon import PLACES, PRONOUNS, WORDS, Adjective, Noun, Pronoun, Verb, Word, nouns
from nmt_cli.demo.tree import Both, Constituent, NounPhrase, Person, Phrase, PrepPhrase

Choice = TypeVar("Choice")
Lexeme = TypeVar("Lexeme", Noun, Word, Verb)

SPOUSES = {"husband": "f", "wife": "m"}  # the gender of the owner
SINGULAR_KINDS = ("kin", "cause", "event", "room", "place", "vehicle", "device")
ADJECTIVE_RATES = {"kin": 0.1, "job": 0.2, "circle": 0.15}
# The kinds of times that are not handled one by one are groups of words.tsv.
HABITS = {"habit": 45, "every weekday": 20, "daytime": 20, "season": 15}
PAST_TIMES = {"past": 34, "weekday": 20, "date": 10, "span": 12, "clock": 14, "part of year": 10}
FUTURE_TIMES = {"future": 34, "weekday": 20, "date": 10, "span": 12, "clock": 14, "part of year": 10}
WHOLE_DAYS = ("yesterday", "tomorrow", "the day before yesterday", "the day after tomorrow", "every day")
MINUTES = (0, 0, 0, 5, 10, 15, 15, 20, 30, 30, 30, 40, 45, 45, 50, 55)
MONTHS, UNITS, (SHORE,) = nouns("month"), nouns("unit"), nouns("shore")


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


ME, WE, HE = PRONOUNS["I"], PRONOUNS["we"], PRONOUNS["he"]


def person(dice: Dice, *, joined: bool = True) -> Phrase:
    """Somebody: a name, a pronoun, a relative, somebody with a profession; two people only if `joined`."""
    kind = dice.weighted({"name": 33, "pronoun": 20, "noun": 38, "title": 5, "both": 4 if joined else 0})
    match kind:
        case "pronoun":
            word = dice.weighted({"I": 30, "you": 16, "we": 20, "he": 12, "she": 12, "they": 10})
            return you(dice) if word == "you" else PRONOUNS[word]
        case "noun":
            return noun_phrase(dice, ("person",))
        case "title":
            return titled(dice)
        case "both":
            return Both(name(dice), name(dice) if dice.chance(0.5) else noun_phrase(dice, ("kin",)))
    return name(dice)


def name(dice: Dice) -> Person:
    """A first name."""
    return Person(dice.fresh(WORDS["woman" if dice.chance(0.5) else "man"]))


def titled(dice: Dice) -> Person:
    """A surname with Mr. or Mrs."""
    return Person(dice.fresh(WORDS["surname"]), dice.pick("mf"))


def you(dice: Dice) -> Pronoun:
    """The person addressed, in the register of the sentence."""
    return PRONOUNS[dice.register]


def other_person(dice: Dice, kinds: tuple[str, ...], owner: Pronoun | None) -> Phrase:
    """Somebody to whom something is done; never the person who does it."""
    if dice.chance(0.12):
        return dice.pick([who for who in (ME, WE, HE, you(dice)) if not owner or who.person != owner.person])
    if dice.chance(0.2) and "person" in kinds:
        return name(dice)
    return noun_phrase(dice, kinds, owner=owner)


def noun_phrase(
    dice: Dice,
    kinds: tuple[str, ...],
    *,
    owner: Pronoun | None = None,
    bulk: bool = False,
    plain: bool = False,
) -> NounPhrase:
    """A noun of these kinds; `owner` is whom his and her refer to, `plain` means without an adjective."""
    noun = dice.fresh(nouns(*kinds))
    determiner = _determiner(dice, noun, bulk=bulk)
    plural, number = "paired" in noun.kinds, 0  # nobody wears one shoe
    if determiner == "bare" and not noun.mass:
        plural = True
    elif determiner == "count":
        plural, number = True, dice.integer(2, 12, skew=3)
    elif determiner in ("definite", "possessive", "this") and not (plural or noun.mass) and dice.chance(0.12):
        plural = noun.english_plural != noun.english and noun.kinds[0] not in SINGULAR_KINDS
    whose: Phrase | None = None
    if determiner == "possessive":
        whose = _possessor(dice, noun, owner)
    elif determiner == "genitive":
        whose = _named_possessor(dice, noun)
    adjective = None
    if not plain and noun.english != "vacation":
        adjective = some_adjective(dice, noun, ADJECTIVE_RATES.get(noun.kinds[0], 0.32))
    return NounPhrase(noun, determiner, plural, adjective, number, whose)


def _determiner(dice: Dice, noun: Noun, *, bulk: bool) -> str:
    if noun.english == "noise":
        return "definite"
    if bulk and noun.kinds[0] == "food" and not noun.mass and dice.chance(0.4):
        return "bare"
    determiner = dice.weighted(lexicon.DETERMINERS[noun.determiners])
    return "definite" if determiner == "indefinite" and "paired" in noun.kinds else determiner


def _possessor(dice: Dice, noun: Noun, owner: Pronoun | None) -> Pronoun:
    # Usually the subject, otherwise the speaker: whom another `his` refers to would be anybody's guess.
    whose = owner if owner and dice.chance(0.7) else dice.pick((ME, ME, WE))
    if noun.english in SPOUSES and (whose.plural or whose.gender not in (SPOUSES[noun.english], "")):
        return ME
    return whose


def _named_possessor(dice: Dice, noun: Noun) -> Phrase:
    """Anna's, my brother's, the doctor's."""
    if noun.english in SPOUSES:
        return Person(dice.fresh(WORDS["woman" if SPOUSES[noun.english] == "f" else "man"]))
    if dice.chance(0.5):
        return name(dice)
    private = noun.kinds[0] in ("kin", "circle")
    owner = dice.fresh(nouns("kin") if private else nouns("kin", "job", "circle"))
    if owner.kinds[0] == "job":
        return NounPhrase(owner, "definite")
    return NounPhrase(owner, "possessive", owner=dice.pick((ME, WE)))


def some_adjective(dice: Dice, noun: Noun, rate: float) -> Adjective | None:
    """Perhaps an adjective that goes with the noun."""
    fitting = lexicon.adjectives(noun)
    return dice.pick(fitting) if fitting and dice.chance(rate) else None


@cache
def _places(kinds: tuple[str, ...]) -> tuple[Noun, ...]:
    return tuple(noun for noun in nouns(*kinds) if noun.english in PLACES)


def place(dice: Dice, kinds: tuple[str, ...], role: str = "place") -> Constituent:
    """Where something happens, or as a `direction` where one goes."""
    if "outdoors" in kinds and dice.chance(0.1):
        water = NounPhrase(dice.pick(nouns("!river", "!lake")), "definite")
        return Constituent(role, PrepPhrase("on", "an", "dative", NounPhrase(SHORE, "definite", of=water)))
    noun = dice.fresh(_places(kinds))
    way = "to" if role == "direction" else "at"
    english, german = PLACES[noun.english][f"english_{way}"], PLACES[noun.english][f"german_{way}"]
    case = "accusative" if role == "direction" and german != "zu" else "dative"
    determiner = dice.weighted({"definite": 80, "indefinite": 8, "this": 12})
    site = NounPhrase(noun, determiner, adjective=some_adjective(dice, noun, 0.15))
    return Constituent(role, PrepPhrase(english, german, case, site))


def city(dice: Dice, role: str) -> Constituent:
    """In Vienna, to Italy."""
    where = dice.fresh(WORDS["city" if dice.chance(0.7) else "country"])
    english, german = ("to", "nach") if role == "direction" else ("in", "in")
    return Constituent(role, PrepPhrase(english, german, "dative", where))


def surface(dice: Dice, use: str, role: str) -> Constituent:
    """On the table: German takes the accusative for where to, the dative for where."""
    _, english, german, kinds = dice.pick([row for row in lexicon.SURFACES if row[0] == use])
    noun = dice.fresh(nouns(*kinds))
    case = "accusative" if role == "direction" else "dative"
    phrase = NounPhrase(noun, "definite", adjective=some_adjective(dice, noun, 0.2))
    return Constituent(role, PrepPhrase(english, german, case, phrase))


def ride(dice: Dice) -> list[Constituent]:
    """To Vienna by train, to the park by bicycle."""
    far = dice.chance(0.5)
    goal = city(dice, "direction") if far else place(dice, ("place",), "direction")
    vehicle = NounPhrase(dice.fresh(nouns("far" if far else "near")), "by")
    return [goal, Constituent("instrument", PrepPhrase("by", "mit", "dative", vehicle))]


def clock(dice: Dice) -> Word:
    """A time of day in steps of five minutes."""
    minute = dice.pick(MINUTES)
    return lexicon.clock_time(dice.integer(1, 12), minute)


def count(unit: Noun, number: int) -> NounPhrase:
    """Three hours, or an hour."""
    return NounPhrase(unit, "count", True, number=number) if number > 1 else NounPhrase(unit, "indefinite")


def times(dice: Dice, tense: str) -> list[Constituent]:
    """When: one or two adverbials that go with the tense."""
    past = tense in ("past", "pluperfect")
    kind = dice.weighted(HABITS if tense == "present" else PAST_TIMES if past else FUTURE_TIMES)
    time: PrepPhrase | Word
    match kind:
        case "clock":
            return [at_clock(dice)]
        case "date":
            day = dice.integer(1, 28)
            time = PrepPhrase("on", "an", "dative", NounPhrase(dice.pick(MONTHS), "ordinal", number=day))
        case "span":
            unit = dice.pick(UNITS)
            span = count(unit, dice.integer(1, 10, skew=2))
            time = (
                PrepPhrase("ago", "vor", "dative", span) if past else PrepPhrase("in", "in", "dative", span)
            )
        case _:
            time = dice.pick(WORDS[kind])
    # An hour goes with a day, but not with a week or with `recently`.
    whole_day = "weekday" in kind or time.english in WHOLE_DAYS
    return [Constituent("time", time), *([at_clock(dice)] if whole_day and dice.chance(0.3) else [])]


def at_clock(dice: Dice) -> Constituent:
    """At half past seven."""
    return Constituent("time", PrepPhrase("at", "um", "accusative", clock(dice)))


def duration(dice: Dice) -> Constituent:
    """For three hours, until half past seven, until Monday."""
    if dice.chance(0.6):
        hours = count(UNITS[0], dice.integer(1, 9))
        return Constituent("time", PrepPhrase("for", "lang", "accusative", hours))
    if dice.chance(0.6):
        return Constituent("time", PrepPhrase("until", "bis", "accusative", clock(dice)))
    return Constituent("time", dice.pick(WORDS["until"]))
