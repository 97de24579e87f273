"""Random sentences: statements, questions and orders, and how clauses are joined into them.

`chained_sentence` makes sentences of widely varying length: short clauses from a small lexicon, joined by and or but.
With so few words, a small model learns in minutes what each of them means, and what remains hard is only the length of
a sentence. k clauses have a probability proportional to 1/k: short sentences are frequent, and sentences of every
length contribute about as many words.
"""

from collections.abc import Callable
from random import Random

from nmt_cli.demo import complements, phrases, tree
from nmt_cli.demo.clauses import EVENTS, INTENDED, LASTING, ORDERED, action, fronted, negate, owner_of
from nmt_cli.demo.complements import described, mood, possession, statement, weather
from nmt_cli.demo.lexicon import BE, IT, VERBS, WORDS, Adjective, Noun, Pronoun, Verb, adjectives, nouns
from nmt_cli.demo.phrases import Dice, person, you
from nmt_cli.demo.tree import (
    Body,
    Clause,
    Complement,
    Constituent,
    Coordination,
    NounPhrase,
    Person,
    Phrase,
    Sentence,
)

KINDS = {
    "simple": 19, "yes or no": 9, "question word": 10, "order": 7, "subordination": 17, "content": 15,
    "infinitive": 6, "control": 4, "feasible": 2, "purpose": 3, "coordination": 6, "clock": 1, "chain": 20,
}  # fmt: skip
ADDRESSED_KINDS = {"order": 30, "yes or no": 40, "simple": 30}
CONJUNCTIONS = {
    "past": {"because": 30, "although": 18, "when": 18, "while": 12, "before": 10, "after": 12},
    "future": {"if": 40, "because": 15, "as soon as": 20, "before": 10, "so that": 15},
    "present": {"because": 40, "although": 25, "when": 35},
}
DESCRIBED = ("clothes", "thing", "vehicle", "furniture", "text", "device")
REFLECTIVE = ("say", "believe", "know", "hope", "write", "claim", "forget")  # also about oneself
# What is over at some moment, so that something else can follow it.
INCONCLUSIVE = ("hurry", "smoke", "laugh", "smile", "follow")
COMPLETED = tuple(verb for verb in EVENTS if verb not in LASTING and verb.english not in INCONCLUSIVE)
SAYING = [verb for verb in VERBS["clause"] if "that" in verb.complements]
TELLING = [verb for verb in VERBS["clause"] if verb.complements != ("infinitive",)]
MIN_CLAUSES, MAX_CLAUSES = 2, 12  # there are only a few thousand sentences of one clause
NAMES = (*WORDS["woman"][:4], *WORDS["man"][:4])
DONE = (
    "turn on", "turn off", "open", "close", "put on", "take off", "wash", "repair", "read", "find", "lose", "buy",
)  # fmt: skip
THINGS = (
    "lamp", "radio", "oven", "coat", "hat", "jacket", "tie", "car", "bicycle", "book", "newspaper", "door", "window",
    "key", "umbrella", "bag",
)  # fmt: skip
QUALITIES = ("old", "new", "small")
TIMES = {tense: WORDS[tense][:2] for tense in ("past", "future")}


def sentence(random: Random) -> tree.Sentence:
    """One sentence."""
    dice = Dice(random)
    address = _address(dice) if dice.chance(0.07) else None
    kind = dice.weighted(ADDRESSED_KINDS if address else KINDS)
    match kind:
        case "order":
            clause = action(dice, subject=you(dice), tense="order", verbs=ORDERED, light=True)
            return tree.Sentence("order", clause._replace(tense="present"), address)
        case "yes or no":
            question = complements.yes_no_question(dice, you(dice) if address else None)
            return tree.Sentence("question", question, address)
        case "question word":
            return tree.Sentence("question", complements.question(dice))
    if address:
        modal = dice.weighted({"must": 40, "should": 30, "can": 20, "may": 10})
        clause = action(dice, subject=you(dice), tense="present", modal=modal, verbs=INTENDED)
        return tree.Sentence("statement", clause, address)
    return tree.Sentence("statement", STATEMENTS[kind](dice))


def _address(dice: Dice) -> Phrase:
    """Whom the sentence addresses, which decides between du, ihr and Sie."""
    dice.register = dice.weighted({"du": 40, "Sie": 45, "ihr": 15})
    if dice.register == "du":
        return phrases.name(dice)
    if dice.register == "Sie":
        return phrases.titled(dice)
    return NounPhrase(nouns("!child")[0], "bare", True)


def _subordination(dice: Dice, depth: int = 2) -> tree.Subordination:
    """Somebody does something because, although, when, before…"""
    tense = dice.weighted({"past": 50, "future": 27, "present": 23})
    conjunction = dice.weighted(CONJUNCTIONS[tense])
    verbs = LASTING if conjunction == "while" else EVENTS if tense == "past" else INTENDED
    main = action(dice, subject=person(dice), tense=tense, light=True, verbs=verbs)
    if conjunction in ("as soon as", "before", "after", "while", "when") and tense != "present":
        # The subordinate clause tells the time.
        main = main._replace(parts=tuple(part for part in main.parts if part.role != "time"))
    subordinate = _subordinate(dice, conjunction, main, tense)
    # A pronoun for a thing must follow what it refers to.
    refers = isinstance(subordinate.subject, Pronoun) and subordinate.subject.thing
    if not refers and dice.chance(0.35):
        return tree.Subordination(main, conjunction, subordinate, first=True)
    if depth > 1 and dice.chance(0.12):
        verb = dice.pick(SAYING)
        outer = "past" if tense == "past" else "present"
        saying = Clause(person(dice), verb, (), outer, complement=Complement("that", main))
        return tree.Subordination(saying, conjunction, subordinate)
    return tree.Subordination(fronted(dice, main, 0.2), conjunction, subordinate)


def _subordinate(dice: Dice, conjunction: str, main: Clause, tense: str) -> Clause:
    """A clause that makes sense after the conjunction."""
    again = _again(dice, main.subject)
    own_tense = "present" if tense == "future" else tense
    match conjunction:
        case "because" | "although":
            return _reason(dice, main, again, own_tense)
        case "if":
            return _condition(dice, again)
        case "when" if tense == "present":
            return _condition(dice, again)
        case "while":
            clause = action(dice, tense=tense, depth=0, light=True, verbs=LASTING)
        case "so that":
            who = person(dice) if dice.chance(0.7) else again
            clause = action(dice, subject=who, tense="present", modal="can", depth=0, light=True)
        case "after":
            clause = action(dice, subject=again, tense="pluperfect", light=True, verbs=COMPLETED)
        case _:
            who = again if dice.chance(0.4) else person(dice)
            clause = action(dice, subject=who, tense="event", light=True, verbs=COMPLETED)
            clause = clause._replace(tense=own_tense)
    return clause._replace(negated=False)


def _again(dice: Dice, subject: Phrase) -> Phrase:
    """The subject as a pronoun if its gender shows in both languages, otherwise somebody else."""
    return owner_of(subject) or person(dice)


def _reason(dice: Dice, main: Clause, again: Phrase, tense: str, *, describing: bool = True) -> Clause:
    """Why somebody does it: mostly something about them or about the thing."""
    thing = _mentioned(main) if describing else None
    weights = {"mood": 20, "weather": 12, "modal": 22, "thing": 40, "have": 4, "other": 20}
    if main.tense == "present":
        weights["weather"] = 0  # a habit does not depend on the weather of one day
    if not thing:
        weights["thing"] = 0
    kind = dice.weighted(weights)
    if kind == "thing" and thing:
        return described(dice, thing.noun, thing.plural, tense)
    match kind:
        case "mood":
            return mood(dice, again, tense)
        case "weather":
            return weather(dice, tense)
        case "have":
            return possession(dice, again, tense, depth=0)
        case "modal":
            modal = dice.weighted({"want": 40, "must": 40, "can": 20})
            clause = action(dice, subject=again, tense=tense, modal=modal, light=True, verbs=INTENDED)
            return negate(clause) if modal == "can" else clause
    return action(dice, subject=person(dice), tense=tense, light=True, verbs=EVENTS)


def _mentioned(clause: Clause) -> NounPhrase | None:
    """The only thing that `it` can refer to."""
    values = [part.phrase for part in clause.parts if part.role != "time"]
    things = [value for value in values if isinstance(value, NounPhrase)]
    if len(things) != 1 or things[0].noun.kinds[0] not in DESCRIBED:
        return None
    return None if things[0].relative or things[0].noun.mass else things[0]


def _condition(dice: Dice, again: Phrase) -> Clause:
    """What may come true, in the present tense."""
    kind = dice.weighted({"weather": 30, "mood": 20, "event": 50})
    if kind == "weather":
        return weather(dice, "present")._replace(tense="present")
    if kind == "mood":
        return mood(dice, again, "present")
    who = again if dice.chance(0.5) else person(dice)
    event = action(dice, subject=who, tense="event", light=True, verbs=COMPLETED)
    return event._replace(tense="present")


def _content(dice: Dice, depth: int = 2) -> Clause:
    """Somebody knows that, asks whether or where; what is known may contain another such clause."""
    verb = dice.pick(TELLING)
    subject = person(dice)
    state = "state" in verb.traits
    outer = "past" if dice.chance(0.5 if state else 0.67) else "present"
    word = dice.pick([form for form in verb.complements if form != "infinitive"])
    inner = "past" if outer == "past" else ""
    negated = verb.english in ("believe", "notice") and dice.chance(0.35)
    if verb.english == "know":
        negated = word == "whether"
    if word == "whether" and dice.chance(0.55):
        question = Complement("", complements.question(dice, tense=inner, embedded=True))
        return Clause(subject, verb, (), outer, negated=negated, complement=question)
    body = _embedded(dice, subject if verb.english in REFLECTIVE else None, inner, depth)
    parts = phrases.times(dice, "past")[:1] if outer == "past" and not state and dice.chance(0.2) else []
    clause = Clause(subject, verb, tuple(parts), outer, negated=negated, complement=Complement(word, body))
    return fronted(dice, clause, 0.5)


def _embedded(dice: Dice, subject: Phrase | None, tense: str, depth: int) -> Body:
    """What somebody says or knows."""
    deep = depth > 1
    weights = {"clause": 50, "again": 22, "content": 14 if deep else 0, "reason": 30 if deep else 0}
    kind = dice.weighted(weights)
    if kind == "again" and subject:
        return action(dice, subject=_again(dice, subject), tense=tense)
    if kind == "content":
        inner = _content(dice, depth - 1)._replace(front=-1)
        return inner._replace(tense=tense) if tense else inner
    if kind == "reason":
        body = _subordination(dice, depth - 1)
        while body.first or (tense == "past" and _tense_of(body) != "past"):
            body = _subordination(dice, depth - 1)
        main = body.main
        return body._replace(main=main._replace(front=-1)) if isinstance(main, Clause) else body
    return statement(dice, tense=tense, depth=depth)


def _tense_of(body: Body) -> str:
    while not isinstance(body, Clause):
        body = body.main if isinstance(body, tree.Subordination) else body.left
    return body.tense


def _chain(dice: Dice) -> tree.Coordination:
    """Two sentences, each with a clause of its own, joined by and or but."""

    def draw() -> Body:
        return _subordination(dice, 1) if dice.chance(0.5) else _content(dice, 1)

    conjunction = dice.weighted({"and": 55, "but": 45})
    left, right = draw(), draw()
    while (_tense_of(right) == "past") != (_tense_of(left) == "past"):
        right = draw()
    return tree.Coordination(left, conjunction, right)


def _coordination(dice: Dice) -> tree.Coordination:
    """Two clauses joined by and, but, and therefore."""
    conjunction = dice.weighted({"and": 45, "but": 35, "and therefore": 20})
    tense = dice.weighted({"past": 60, "present": 40})
    left = action(dice, tense=tense, light=True, verbs=EVENTS)
    again = _again(dice, left.subject)
    if conjunction == "and therefore":
        left = _reason(dice, left, left.subject, tense)
        subject = _again(dice, left.subject)
    elif conjunction == "but":
        reason = _reason(dice, left, again, tense, describing=False)
        return tree.Coordination(fronted(dice, left, 0.3), conjunction, reason)
    else:
        subject = again if dice.chance(0.6) else person(dice)
    right = action(dice, subject=subject, tense=tense, light=True, verbs=EVENTS)
    if conjunction == "and therefore":
        return tree.Coordination(left, conjunction, right)
    left = fronted(dice, left, 0.4)
    if dice.chance(0.2):
        reason = _reason(dice, right, _again(dice, right.subject), tense)
        return tree.Coordination(left, conjunction, tree.Subordination(right, "because", reason))
    return tree.Coordination(left, conjunction, right)


STATEMENTS: dict[str, Callable[[Dice], Body]] = {
    "simple": lambda dice: fronted(dice, statement(dice, depth=2), 0.4),
    "clock": lambda dice: Clause(IT, BE, (Constituent("predicate", phrases.clock(dice)),)),
    "infinitive": complements.infinitive,
    "control": complements.control,
    "feasible": complements.feasible,
    "purpose": complements.purpose,
    "subordination": _subordination,
    "content": _content,
    "chain": _chain,
    "coordination": _coordination,
}


def chained_sentence(random: Random, clauses: int) -> Sentence:
    """One sentence of up to that many clauses."""
    dice = Dice(random)
    count = int(dice.weighted({str(number): 1000 // number for number in range(1, clauses + 1)}))
    body: Body = _clause(dice)
    for _ in range(count - 1):
        body = Coordination(body, "and" if dice.chance(0.6) else "but", _clause(dice))
    return Sentence("statement", body)


def _clause(dice: Dice) -> Clause:
    """Somebody did something, or will do it."""
    verb, things = dice.pick(_ACTIONS)
    thing = dice.pick(things)
    fitting = _qualities(thing)
    adjective = dice.pick(fitting) if fitting and dice.chance(0.3) else None
    determiner = "definite" if dice.chance(0.7) else "indefinite"
    parts = [Constituent("accusative", NounPhrase(thing, determiner, adjective=adjective))]
    tense = "past" if dice.chance(0.7) else "future"
    if dice.chance(0.3):
        parts.append(Constituent("time", dice.pick(TIMES[tense])))
    return Clause(Person(dice.pick(NAMES)), verb, tuple(parts), tense)


def _qualities(thing: Noun) -> tuple[Adjective, ...]:
    return tuple(adjective for adjective in adjectives(thing) if adjective.english in QUALITIES)


def _actions() -> list[tuple[Verb, tuple[Noun, ...]]]:
    """The verbs, each with the things that one does that to."""
    found = []
    for verb in EVENTS:
        if f"{verb.english} {verb.particle}".strip() in DONE:
            (slot,) = verb.slots
            found.append((verb, tuple(noun for noun in nouns(*slot.kinds) if noun.english in THINGS)))
    return found


_ACTIONS = _actions()
