"""Random clauses about how somebody or something is: qualities, moods, possession, prices, the weather."""

from functools import cache

from nmt_cli.demo import lexicon, phrases, tree
from nmt_cli.demo.clauses import DEGREES, PRESENT_OR_PAST, action, being, negate, quality, with_relative
from nmt_cli.demo.dice import Dice
from nmt_cli.demo.lexicon import ADJECTIVES, BE, IT, PRONOUNS, Adjective, Noun, Pronoun, adjectives, nouns
from nmt_cli.demo.phrases import count, name, noun_phrase, person, some_adjective
from nmt_cli.demo.tree import Clause, Constituent, NounPhrase, Phrase, PrepPhrase, Quality

KINDS = {
    "action": 74, "quality": 6, "mood": 4, "comparison": 4, "have": 4, "profession": 1, "age": 1,
    "price": 2, "exist": 2, "weather": 2,
}  # fmt: skip
PRICED = ("thing", "device", "furniture", "clothes", "vehicle", "instrument")
QUALIFIED = (*PRICED[:5], "place", "room", "text", "event", "job", "human")
COMPARED = [word for word in ADJECTIVES["noun"] if "kin" in word.nouns and word.german_comparative]
(YEAR,), (EURO,) = nouns("!year"), nouns("!euro")
ITS = {"m": PRONOUNS["it (der)"], "f": PRONOUNS["it (die)"], "n": PRONOUNS["it (das)"]}


def statement(dice: Dice, *, tense: str = "", depth: int = 1) -> Clause:
    """An action or a state."""
    kind = dice.weighted(KINDS)
    if kind == "action":
        return action(dice, tense=tense, depth=depth)
    tense = tense if tense in PRESENT_OR_PAST else dice.pick(PRESENT_OR_PAST)
    match kind:
        case "quality":
            return _thing_quality(dice, tense, depth)
        case "mood":
            return mood(dice, person(dice), tense)
        case "comparison":
            return _comparison(dice, tense)
        case "have":
            return possession(dice, person(dice), tense, depth)
        case "profession":
            who = name(dice)
            job = dice.fresh([noun for noun in nouns("job") if noun.gender == tree.agreement(who).gender])
            predicate = Constituent("predicate", NounPhrase(job, "profession"))
            return Clause(who, BE, (predicate,), tense, negated=dice.chance(0.3))
        case "age":
            age = PrepPhrase("old", "alt", "accusative", count(YEAR, dice.integer(2, 89)))
            somebody = name(dice) if dice.chance(0.6) else noun_phrase(dice, ("kin",), plain=True)
            return Clause(somebody, BE, (Constituent("predicate", age),), tense)
        case "price":
            thing = _singular(with_relative(dice, noun_phrase(dice, PRICED), depth))
            price = Constituent("price", count(EURO, dice.integer(2, 98)))
            return Clause(thing, lexicon.COST, (price,), tense)
        case "exist":
            return _existence(dice, tense)
    return weather(dice, tense)


def _thing_quality(dice: Dice, tense: str, depth: int) -> Clause:
    def draw() -> NounPhrase:
        return _singular(with_relative(dice, noun_phrase(dice, QUALIFIED, plain=True), depth))

    phrase = draw()
    while "ambiguous" in phrase.noun.kinds or phrase.noun.mass or phrase.determiner == "indefinite":
        phrase = draw()
    if phrase.relative and phrase.relative.verb is BE:
        phrase = phrase._replace(relative=None)
    return quality(dice, phrase, adjectives(phrase.noun), tense)


def _singular(phrase: NounPhrase) -> NounPhrase:
    if "paired" in phrase.noun.kinds:
        return phrase
    determiner = "definite" if phrase.determiner in ("count", "bare") else phrase.determiner
    relative = None if phrase.plural else phrase.relative
    return phrase._replace(plural=False, determiner=determiner, number=0, relative=relative)


def described(dice: Dice, noun: Noun, plural: bool, tense: str) -> Clause:
    """It is cheap, about something just mentioned: the German pronoun takes its gender."""
    it = PRONOUNS["they (things)"] if plural else ITS[noun.gender]
    return being(it, Quality(dice.pick(_gradable(noun)), dice.weighted(DEGREES)), tense)


def mood(dice: Dice, subject: Phrase, tense: str) -> Clause:
    """Somebody is happy, or not."""
    adjective = dice.pick(ADJECTIVES["mood"])
    degree = "very" if dice.chance(0.35) else ""
    return being(subject, Quality(adjective, degree), tense, negated=not degree and dice.chance(0.3))


def possession(dice: Dice, who: Phrase, tense: str, depth: int) -> Clause:
    """Somebody has something, or not."""
    thing = with_relative(dice, noun_phrase(dice, lexicon.HAVE.slots[0].kinds), depth)
    if thing.determiner != "count":
        thing = thing._replace(determiner="indefinite", plural=False, owner=None)
    clause = Clause(who, lexicon.HAVE, (Constituent("accusative", thing),), tense)
    return negate(clause) if dice.chance(0.35) else clause


@cache
def _gradable(noun: Noun) -> tuple[Adjective, ...]:
    return tuple(adjective for adjective in adjectives(noun) if adjective.german_comparative)


def _comparison(dice: Dice, tense: str) -> Clause:
    """Anna is older than my brother; a thing is compared with a thing of its kind."""
    if dice.chance(0.5):
        subject, other = person(dice, joined=False), person(dice, joined=False)
        if isinstance(subject, Pronoun) and isinstance(other, Pronoun):
            other = name(dice)
        fitting = COMPARED
    else:
        kind = dice.pick(("furniture", "vehicle", "clothes", "device", "text"))
        one, two = (_singular(noun_phrase(dice, (kind,), plain=True)) for _ in range(2))
        fitting = [word for word in _gradable(one.noun) if word in _gradable(two.noun)]
        subject, other = _particular(one), _particular(two)
    comparison = Quality(dice.pick(fitting), "more" if dice.chance(0.7) else "as", other)
    return being(subject, comparison, tense)


def _particular(phrase: NounPhrase) -> NounPhrase:
    return phrase._replace(determiner="definite") if phrase.determiner == "indefinite" else phrase


def _existence(dice: Dice, tense: str) -> Clause:
    """There is a bakery in this street."""
    if dice.chance(0.5):
        noun = dice.fresh(nouns("furniture", "device", "plant", "thing"))
        place = phrases.place(dice, ("tidy",))
    else:
        noun = dice.fresh(nouns("run", "shop", "eating"))
        place = phrases.place(dice, ("!village", "!city", "!island", "!street"))
    number = dice.integer(2, 9) if dice.chance(0.4) else 1
    thing = count(noun, number)._replace(adjective=some_adjective(dice, noun, 0.4))
    clause = Clause(lexicon.THERE, lexicon.EXIST, (Constituent("accusative", thing), place), tense)
    return clause._replace(negated=number == 1 and dice.chance(0.3))


def weather(dice: Dice, tense: str) -> Clause:
    """It is raining, it was cold."""
    if dice.chance(0.5):
        verb = dice.pick(lexicon.VERBS["weather"])
        if tense == "present":
            return Clause(IT, verb, (), "progressive")
        time: list[Constituent] = []
        if dice.chance(0.4):
            time = phrases.times(dice, "past")
        elif dice.chance(0.3):
            time = [phrases.duration(dice)]
        return Clause(IT, verb, tuple(time), tense)
    adjective = dice.pick(ADJECTIVES["weather"])
    return being(IT, Quality(adjective, "very" if dice.chance(0.4) else ""), tense)
