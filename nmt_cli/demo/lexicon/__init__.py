"""The lexicon: the words of both languages, read once from the tables next to this file.

The tables list every form, so the grammar needs no rules of spelling and hardly any exceptions:

    nouns.tsv        forms, gender and kinds; `determiners` names a row of determiners.tsv
    determiners.tsv  how often a noun takes which determiner
    verbs.tsv        forms, and what a verb goes with; `·` ends a separable prefix: auf·machen, macht auf
    adjectives.tsv   forms, and the nouns an adjective goes with
    words.tsv        adverbs, names and conjunctions: words that never change
    places.tsv       the prepositions of a place: in the park, to the park
    surfaces.tsv     where things are put or hung, and where people sit
    endings.tsv      German articles, and the endings of determiners and adjectives
    pronouns.tsv, auxiliaries.tsv, numbers.tsv, clock.tsv

Kinds keep sentences sensible: one eats `food` and reads `reading`. A list of nouns names kinds, or single
nouns after an exclamation mark: `livestock, pet, !garden`. The first kind of a noun says what it is.

Two words may share a form in one language (castle and lock: Schloss; know: kennen, wissen). Whatever takes the
one never takes the other, so every sentence shows which of them is meant.
"""

import csv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import resources
from io import StringIO
from typing import Any, TypeVar

PERSON_KINDS = ("kin", "circle", "human", "job")


@dataclass(frozen=True, eq=False, slots=True)  # each word is a single object: equality is identity
class Noun:
    """A noun with its forms."""

    english: str
    english_plural: str
    gender: str  # m, f, n
    german: str
    german_plural: str  # empty for a mass noun
    german_accusative: str  # and dative
    german_genitive: str
    determiners: str
    kinds: tuple[str, ...]

    @property
    def mass(self) -> bool:
        """Whether it cannot be counted."""
        return not self.german_plural

    @property
    def person(self) -> bool:
        """Whether it names a person."""
        return self.kinds[0] in PERSON_KINDS


@dataclass(frozen=True, eq=False, slots=True)
class Adjective:
    """An adjective; the comparatives are empty where comparing makes no sense (red, broken)."""

    group: str  # noun: goes with `nouns`; mood, weather, feasible: only after `to be`
    english: str
    english_comparative: str
    german: str
    german_stem: str  # before an ending: teuer, ein teurer Ring
    german_comparative: str
    nouns: tuple[str, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Word:
    """A word or fixed phrase that never changes: an adverb, a name, a conjunction, a time of day."""

    group: str
    english: str
    german: str


@dataclass(frozen=True, eq=False, slots=True)
class Pronoun:
    """I, you, he, who…; German has an `it` for each gender, and a `you` for each register: du, ihr, Sie."""

    name: str
    person: str
    plural: str  # yes or empty
    gender: str
    thing: str  # yes or empty
    english_subject: str
    english_object: str
    english_possessive: str
    be: str
    was: str
    do: str
    nominative: str
    accusative: str
    dative: str
    german_possessive: str
    verb_form: str  # ich, du, er, wir, ihr; `they` takes the form of wir


@dataclass(frozen=True, eq=False, slots=True)
class Slot:
    """What a verb takes, and the nouns that can fill it.

    `accusative`, `dative`, `recipient` (a dative that English marks with `to`) and `prepositional` are objects;
    `walk`, `city` and `ride` directions; `onto` and `hook` surfaces; `home`, `stay` and `seat` places.
    """

    role: str
    kinds: tuple[str, ...]
    preposition: str  # German; in English it is the particle of the verb
    case: str  # that the preposition governs


@dataclass(frozen=True, eq=False, slots=True)
class Verb:
    """A verb in one of its meanings."""

    group: str  # action, clause, control (ask somebody to), weather, or one of be, have, exist, cost
    english: str
    english_third: str
    english_past: str
    english_participle: str
    english_gerund: str
    particle: str
    particle_moves: str  # yes: turn it on; empty: look for it
    prefix: str  # separable
    infinitive: str  # without the prefix
    german_present: dict[str, str]  # without the prefix; by the verb form of the pronoun
    german_imperative: str  # of du; empty for what one does not ask others to do
    german_participle: str
    auxiliary: str  # of the perfect: haben, sein
    reflexive: str  # the case of sich, or empty
    subjects: tuple[str, ...]
    slots: tuple[Slot, ...]
    complements: tuple[str, ...]  # that, whether, infinitive
    places: tuple[str, ...]  # where one does it
    manners: tuple[Word, ...]  # how one does it
    # state, lasting (for hours), unintended, bulk (things in the plural or in mass),
    # experiencer (subject and object change places in German: I like it, es gefällt mir)
    traits: tuple[str, ...]


Row = dict[str, Any]
Grouped = TypeVar("Grouped", bound=Adjective | Word | Verb)


def _rows(table: str) -> Iterator[Row]:
    text = resources.files(__name__).joinpath(f"{table}.tsv").read_text("utf-8")
    return csv.DictReader(StringIO(text), delimiter="\t", quoting=csv.QUOTE_NONE)


def _list(cell: str, separator: str = ", ") -> tuple[str, ...]:
    return tuple(cell.split(separator)) if cell else ()


def _grouped(words: Iterable[Grouped]) -> dict[str, tuple[Grouped, ...]]:
    groups: dict[str, tuple[Grouped, ...]] = {}
    for word in words:
        groups[word.group] = (*groups.get(word.group, ()), word)
    return groups


def _noun(row: Row) -> Noun:
    for form in ("german_accusative", "german_genitive"):
        row[form] = row[form] or row["german"]
    return Noun(**row | {"kinds": _list(row["kinds"])})


def _slot(text: str) -> Slot:
    """`accusative: food, drink`, `auf + accusative: transport` or `ride`."""
    role, _, kinds = text.partition(": ")
    preposition, _, case = role.rpartition(" + ")
    return Slot("prepositional" if preposition else role, _list(kinds), preposition, case)


def _verb(row: Row) -> Verb:
    row["prefix"], _, row["infinitive"] = row.pop("german").rpartition("·")
    row["german_present"] = {form: row.pop(form) for form in ("ich", "du", "er", "wir", "ihr")}
    row["slots"] = tuple(map(_slot, _list(row.pop("arguments"), "; ")))
    row["manners"] = tuple(word for word in WORDS["manner"] if word.english in _list(row["manners"]))
    return Verb(**row | {name: _list(row[name]) for name in ("subjects", "complements", "places", "traits")})


WORDS = _grouped(Word(**row) for row in _rows("words"))
NOUNS = tuple(map(_noun, _rows("nouns")))
VERBS = _grouped(map(_verb, _rows("verbs")))
ADJECTIVES = _grouped(Adjective(**row | {"nouns": _list(row["nouns"])}) for row in _rows("adjectives"))
PRONOUNS = {row["name"]: Pronoun(**row) for row in _rows("pronouns")}
DETERMINERS = {
    row["name"]: {name: int(weight) for name, weight in map(str.split, _list(row["weights"]))}
    for row in _rows("determiners")
}
PLACES = {row["noun"]: row for row in _rows("places")}
SURFACES = [(row["use"], row["english"], row["german"], _list(row["nouns"])) for row in _rows("surfaces")]
ENDINGS = {(row["table"], row["gender"]): row for row in _rows("endings")}
AUXILIARIES = {(row["infinitive"], row["tense"]): row for row in _rows("auxiliaries")}
NUMBERS = {int(row["number"]): row for row in _rows("numbers")}
CLOCK = {int(row["minute"]): row for row in _rows("clock")}
BE, HAVE, EXIST, COST = (VERBS[group][0] for group in ("be", "have", "exist", "cost"))
IT, THERE = WORDS["expletive"]
WHO, WHAT = PRONOUNS["who"], PRONOUNS["what"]


@cache
def nouns(*kinds: str) -> tuple[Noun, ...]:
    """The nouns of these kinds; `person` stands for everybody."""
    wanted = {*kinds, *(PERSON_KINDS if "person" in kinds else ())}
    return tuple(noun for noun in NOUNS if wanted.intersection((*noun.kinds, f"!{noun.english}")))


@cache
def adjectives(noun: Noun) -> tuple[Adjective, ...]:
    """The adjectives that go with a noun."""
    own = {*noun.kinds, f"!{noun.english}"}
    return tuple(adjective for adjective in ADJECTIVES["noun"] if own.intersection(adjective.nouns))


@cache
def clock_time(hour: int, minute: int) -> Word:
    """7:30 is half past seven, but halb acht: half of the eighth hour."""

    def spoken(language: str) -> str:
        hours = {"hour": NUMBERS[hour][language], "next": NUMBERS[hour % 12 + 1][language]}
        return str(CLOCK[minute][language]).format(**hours).replace("eins Uhr", "ein Uhr")

    return Word("clock", spoken("english"), spoken("german"))
