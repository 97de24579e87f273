"""Random clauses that can complete a verb: questions (asks where…) and infinitives (tries to…)."""

from nmt_cli.demo import phrases
from nmt_cli.demo.clauses import EVENTS, INTENDED, PRESENT_OR_PAST, action, being, fronted, heavy, owner_of
from nmt_cli.demo.dice import Dice
from nmt_cli.demo.lexicon import ADJECTIVES, IT, VERBS, WHAT, WHO, WORDS, Verb
from nmt_cli.demo.phrases import person, you
from nmt_cli.demo.tree import OBJECTS, Clause, Complement, Constituent, NounPhrase, Phrase, Quality

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
