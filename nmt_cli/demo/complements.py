"""Random clauses about how somebody or something is, and clauses that can complete a verb."""

from functools import cache

from nmt_cli.demo import lexicon, phrases, tree
from nmt_cli.demo.clauses import (
    DEGREES,
    EVENTS,
    INTENDED,
    PRESENT_OR_PAST,
    action,
    being,
    fronted,
    heavy,
    negate,
    owner_of,
    quality,
    with_relative,
)
from nmt_cli.demo.lexicon import (
    ADJECTIVES,
    BE,
    IT,
    PRONOUNS,
    VERBS,
    WHAT,
    WHO,
    WORDS,
    Adjective,
    Noun,
    Pronoun,
    Verb,
    adjectives,
    nouns,
)
from nmt_cli.demo.phrases import Dice, count, name, noun_phrase, person, some_adjective, you
from nmt_cli.demo.tree import (
    OBJECTS,
    Clause,
    Complement,
    Constituent,
    NounPhrase,
    Phrase,
    PrepPhrase,
    Quality,
)

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


# ------------------------------------------------------------------------------------------------------------
# Random clauses that can complete a verb: questions (asks where…) and infinitives (tries to…).


QUESTION_WORDS = {"where": 20, "when": 20, "why": 20, "who": 14, "what": 8, "which": 18, "how many": 8}
OFTEN, NEVER = WORDS["frequency"][0], WORDS["frequency"][-1]
LOCATED = tuple(verb for verb in INTENDED if verb.places)
TRANSITIVE = tuple(verb for verb in EVENTS if [slot.role for slot in verb.slots] == ["accusative"])
MOTION = tuple(verb for verb in EVENTS if verb.slots and verb.slots[0].role in ("walk", "ride", "city"))
GOALS = tuple(verb for verb in INTENDED if verb.slots and verb.slots[0].role in OBJECTS)
TRYING = [verb for verb in VERBS["clause"] if "infinitive" in verb.complements]


def yes_no_question(dice: Dice, subject: Phrase | None = None) -> Clause:
    """A question to be answered with yes or no."""
    if subject is None:
        subject = you(dice) if dice.chance(0.35) else person(dice)
    tense, modal = _question_tense(dice)
    verbs = EVENTS if tense == "past" else INTENDED
    clause = action(dice, subject=subject, tense=tense, modal=modal, verbs=verbs)
    parts = (Constituent("frequency", OFTEN) if part.value is NEVER else part for part in clause.parts)
    return clause._replace(negated=False, parts=tuple(parts))


def _question_tense(dice: Dice) -> tuple[str, str]:
    tense = dice.weighted({"past": 45, "future": 15, "present": 15, "modal": 25})
    if tense == "modal":
        return "present", dice.weighted({"can": 40, "must": 25, "want": 25, "may": 10})
    return tense, ""


def question(dice: Dice, *, tense: str = "", embedded: bool = False) -> Clause:
    """A question with where, when, why, who, what, which or how many."""
    word = dice.weighted(QUESTION_WORDS)
    modal = ""
    if not tense:
        tense, modal = _question_tense(dice)
    if word == "why" and modal in ("can", "may"):
        modal = "must"
    if word in ("where", "when", "why"):
        return _adverbial_question(dice, word, tense, modal)
    if word == "who":
        clause = action(dice, subject=WHO, tense=tense, modal=modal, verbs=INTENDED)
        return clause._replace(negated=False)
    clause = action(dice, tense=tense, modal=modal, depth=0, verbs=TRANSITIVE, light=not embedded)
    asked = Constituent("accusative", _asked_object(clause.parts[0].value, word))
    return clause._replace(parts=(asked, *clause.parts[1:]), front=0, negated=False)


def _asked_object(thing: object, word: str) -> Phrase:
    """Whom or what, which book, how many books."""
    if not isinstance(thing, NounPhrase):
        return WHO  # a pronoun or a name
    if thing.noun.mass or word == "what":
        return WHO if thing.noun.person else WHAT
    if word == "which" or thing.noun.kinds[0] in ("kin", "room", "cause"):
        return NounPhrase(thing.noun, "which", adjective=thing.adjective)
    return NounPhrase(thing.noun, "how_many", True, thing.adjective)


def _adverbial_question(dice: Dice, word: str, tense: str, modal: str) -> Clause:
    """Where, when or why."""
    verbs = LOCATED if word == "where" else INTENDED if modal or word == "when" else EVENTS
    clause = action(dice, tense=tense, modal=modal, verbs=verbs, light=True)
    dropped = {"where": ("place", "frequency"), "when": ("time", "frequency"), "why": ()}[word]
    parts = tuple(part for part in clause.parts if part.role not in dropped)
    (adverb,) = (adverb for adverb in WORDS["question"] if adverb.english == word)
    asked = Constituent("place" if word == "where" else "time", adverb)
    negated = clause.negated and word == "why" and not modal
    return clause._replace(parts=(*parts, asked), front=len(parts), negated=negated)


def infinitive(dice: Dice) -> Clause:
    """Somebody tries, forgets, promises to do something."""
    verb = dice.pick(TRYING)
    subject = person(dice)
    tense = dice.weighted({"past": 55, "present": 30, "future": 0 if "state" in verb.traits else 15})
    return Clause(subject, verb, (), tense, complement=_to_do(dice, subject, timed=True))


def control(dice: Dice) -> Clause:
    """Somebody asks somebody to do something."""
    verb = dice.pick(VERBS["control"])
    subject = person(dice, joined=False)
    other = phrases.other_person(dice, ("person",), owner_of(subject))
    complement = _to_do(dice, other, timed=True)
    tense = dice.weighted({"past": 70, "future": 30})
    parts = [Constituent(verb.slots[0].role, other)]
    if tense == "past" and dice.chance(0.2):
        parts += phrases.times(dice, "past")[:1]
    return fronted(dice, Clause(subject, verb, tuple(parts), tense, complement=complement), 1.0)


def feasible(dice: Dice) -> Clause:
    """It is important to…"""
    adjective = dice.pick(ADJECTIVES["feasible"])
    gradable = adjective.english not in ("possible", "forbidden")
    degree = "very" if gradable and dice.chance(0.3) else ""
    clause = being(IT, Quality(adjective, degree), dice.pick(PRESENT_OR_PAST))
    negated = not degree and dice.chance(0.3)
    return clause._replace(negated=negated, complement=_to_do(dice, IT))


def purpose(dice: Dice) -> Clause:
    """Somebody goes somewhere in order to do something."""
    tense = dice.weighted({"past": 65, "future": 35})
    clause = action(dice, tense=tense, depth=0, light=True, verbs=MOTION)
    goal = _to_do(dice, clause.subject, verbs=GOALS)._replace(word="in order to")
    return fronted(dice, clause._replace(negated=False, complement=goal), 0.5)


def _to_do(dice: Dice, who: Phrase, *, timed: bool = False, verbs: tuple[Verb, ...] = INTENDED) -> Complement:
    """What an infinitive says: an action whose subject is understood."""
    clause = action(dice, subject=who, tense="event", light=True, verbs=verbs)
    parts = clause.parts
    if timed and not any(map(heavy, parts)) and dice.chance(0.15):
        parts = (*parts, *phrases.times(dice, "future")[:1])
    return Complement("to", clause._replace(tense="present", negated=False, parts=parts))
