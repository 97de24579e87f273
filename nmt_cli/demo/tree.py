"""The meaning of a sentence: a tree that both languages are spoken from.

The tree knows who does what when, what is denied and what is asked. Word order, agreement, case and
endings are not in it: they belong to `english` and `german`.
"""

from collections.abc import Iterator
from typing import NamedTuple, Union

from nmt_cli.demo.lexicon import Adjective, Adverb, Name, Noun, Verb

# ruff: noqa: UP007  a union that is used before its members exist must be a string


class Pronoun(NamedTuple):
    """I, you, he, it…; `register` tells du, ihr and Sie apart, which English does not."""

    person: int
    plural: bool = False
    gender: str = "m"
    thing: bool = False
    register: str = "du"


class Person(NamedTuple):
    """Anna, or with a title Mr. Weber; the gender is the name's own or that of the title."""

    name: Name
    title: str = ""  # "m" Mr., "f" Mrs.

    @property
    def gender(self) -> str:
        """Masculine or feminine."""
        return self.title or self.name.gender


class NounPhrase(NamedTuple):
    """A noun with what belongs to it. `owner` is read by the determiners possessive, genitive and whose."""

    noun: Noun
    determiner: (
        str  # definite indefinite this every by which how_many bare count possessive genitive whose named
    )
    plural: bool = False
    adjective: Adjective | None = None
    number: int = 0
    owner: Union["Phrase", None] = None
    relative: Union["Clause", None] = None
    of: Union["NounPhrase", None] = None


class Both(NamedTuple):
    """Two people joined by and."""

    left: "Phrase"
    right: "Phrase"


class Gap(NamedTuple):
    """What a relative clause says something about: it becomes the relative pronoun."""

    noun: Noun
    plural: bool


class Asked(NamedTuple):
    """Who or what."""

    person: bool


class Expletive(NamedTuple):
    """The subject of it rains and there is."""

    word: str  # it, there


Phrase = Union[Pronoun, Person, NounPhrase, Both, Gap, Asked, Expletive]


class Relation(NamedTuple):
    """A preposition in both languages with the case it governs in German; it may be empty in one of them."""

    english: str
    german: str
    case: str
    phrase: Phrase


class City(NamedTuple):
    """In or to a city or country."""

    english: str
    german: str
    name: Name


class Clock(NamedTuple):
    """At a quarter to eight; `preposition` is at, until or nothing."""

    hour: int
    minute: int
    preposition: str = "at"


class Day(NamedTuple):
    """On Monday, until Monday, every Monday."""

    weekday: Name
    preposition: str = "on"


class Date(NamedTuple):
    """On the third of May."""

    day: int
    month: Name


class Season(NamedTuple):
    """In May, in summer."""

    name: Name


class Span(NamedTuple):
    """Three hours ago, in three hours, for three hours."""

    kind: str  # ago, in, for
    number: int
    unit: Noun


class Quality(NamedTuple):
    """Is very old, is older than Peter, is as old as Peter."""

    adjective: Adjective
    degree: str = ""  # very, too, more, as
    than: Phrase | None = None


class Profession(NamedTuple):
    """Is a doctor; German has no article here, unless there is none to be one."""

    noun: Noun


class Measure(NamedTuple):
    """Is twenty years old, costs twenty euros."""

    kind: str  # age, price
    number: int


Value = Union[Phrase, Adverb, Relation, City, Clock, Day, Date, Season, Span, Quality, Profession, Measure]


class Part(NamedTuple):
    """A part of a clause and the role it plays."""

    # accusative dative recipient prepositional time frequency manner instrument place direction predicate
    role: str
    value: Value


class Clause(NamedTuple):
    """One verb and everything around it; `front` is the part that stands first, -1 the subject."""

    subject: Phrase
    verb: Verb
    parts: tuple[Part, ...] = ()
    tense: str = "present"  # present progressive past future pluperfect
    modal: str = ""
    negated: bool = False
    front: int = -1
    complement: Union["Content", "Infinitive", None] = None


class Content(NamedTuple):
    """That, whether, or a question word (the clause's own front) and what is said, known or asked."""

    word: str  # that, whether, or empty for a question word
    body: "Body"


class Infinitive(NamedTuple):
    """To do something, in order to do something; the clause's subject is understood, not spoken."""

    clause: Clause
    purpose: bool = False


class Subordination(NamedTuple):
    """A clause and its because, although, when…"""

    main: "Body"
    conjunction: str
    subordinate: Clause
    first: bool = False


class Coordination(NamedTuple):
    """Two clauses of equal rank."""

    left: "Body"
    conjunction: str
    right: "Body"


Body = Union[Clause, Subordination, Coordination]


class Sentence(NamedTuple):
    """What is said, asked or ordered, and perhaps to whom."""

    kind: str  # statement, question, order
    body: Body
    address: Phrase | None = None


def agreement(tree: Phrase) -> Pronoun:
    """The pronoun that has the person, number and gender of a phrase."""
    match tree:
        case Pronoun():
            return tree
        case NounPhrase() | Gap():
            return Pronoun(3, tree.plural, tree.noun.gender)
        case Both():
            first = any(agreement(side).person == 1 for side in tree)
            return Pronoun(1 if first else 3, True)
        case Person():
            return Pronoun(3, False, tree.gender)
        case Asked() | Expletive():
            return Pronoun(3, False, "n")


def relative_of(value: Value) -> Clause | None:
    """The relative clause at the end of a phrase, also behind a preposition."""
    phrase = value.phrase if isinstance(value, Relation) else value
    return phrase.relative if isinstance(phrase, NounPhrase) else None


OBJECTS = ("accusative", "dative", "recipient", "prepositional")
CATEGORY = {Noun: "noun", Verb: "verb", Adjective: "adjective", Adverb: "adverb", Name: "name"}


def pattern(node: object) -> str:
    """The shape of a tree: every word replaced by its category; tense, determiners, numbers left out."""
    kind = type(node)
    if kind in CATEGORY:
        return CATEGORY[kind]
    if kind is Part:
        assert isinstance(node, Part)
        return f"{node.role}:{pattern(node.value)}"
    if isinstance(node, tuple):
        inner = ",".join(filter(None, map(pattern, node)))
        return f"{kind.__name__ if hasattr(node, '_fields') else ''}({inner})"
    return ""


def combinations(tree: Sentence) -> list[tuple[str, str]]:
    """The pairs of words that belong together: a verb and its object, an adjective and its noun."""
    found: list[tuple[str, str]] = []
    branches: list[object] = [tree]
    while branches:
        node = branches.pop()
        if isinstance(node, Clause):
            found += _governed(node)
        elif isinstance(node, NounPhrase) and node.adjective:
            found.append((node.adjective.german, node.noun.german))
        if isinstance(node, tuple):
            branches += [child for child in node if type(child) in BRANCHING]
    return found


def _governed(clause: Clause) -> Iterator[tuple[str, str]]:
    verb = clause.verb.prefix + clause.verb.infinitive
    for role, part in clause.parts:
        value = part.phrase if isinstance(part, Relation) else part
        if isinstance(value, NounPhrase | Gap) and role in OBJECTS:
            yield verb, value.noun.german
        elif isinstance(value, Quality) and isinstance(clause.subject, NounPhrase | Gap):
            yield value.adjective.german, clause.subject.noun.german


BRANCHING = {
    tuple,
    Part,
    NounPhrase,
    Relation,
    Quality,
    Clause,
    Content,
    Infinitive,
    Subordination,
    Coordination,
}
