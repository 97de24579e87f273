"""Sentences of widely varying length: short clauses from a small lexicon, joined by and or but.

With so few words, a small model learns in minutes what each of them means, and what remains hard is only the length
of a sentence. k clauses have a probability proportional to 1/k: short sentences are frequent, and sentences of every
length contribute about as many words.
"""

from random import Random

from nmt_cli.demo.clauses import EVENTS
from nmt_cli.demo.dice import Dice
from nmt_cli.demo.lexicon import WORDS, Adjective, Noun, Verb, adjectives, nouns
from nmt_cli.demo.tree import Body, Clause, Constituent, Coordination, NounPhrase, Person, Sentence

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
