"""The meaning of a sentence: a tree that the linearizers of both languages read.

The tree says who does what when, what is negated and what is asked. Word order, agreement, case and endings
are not in it: they belong to `english` and `german`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from nmt_cli.demo.lexicon import PRONOUNS, Adjective, Noun, Pronoun, Verb, Word

OBJECTS = ("accusative", "dative", "recipient", "prepositional")


class Person(NamedTuple):
    """Anna, or with a title Mr. Weber."""

    name: Word
    title: str = ""  # "m" Mr., "f" Mrs.


class NounPhrase(NamedTuple):
    """A noun and what belongs to it.

    Determiners are definite, indefinite, this, no, which, how_many, bare, named, count and ordinal (with
    `number`), possessive, genitive and whose (with `owner`), and three in which the languages differ: played (play
    the piano: Klavier spielen), by (by train: mit dem Zug) and profession (is a doctor: ist Arzt).
    """

    noun: Noun
    determiner: str
    plural: bool = False
    adjective: Adjective | None = None
    number: int = 0
    owner: Phrase | None = None
    relative: Clause | None = None
    of: NounPhrase | None = None


class Both(NamedTuple):
    """Two people joined by `and`."""

    left: Phrase
    right: Phrase


class Gap(NamedTuple):
    """The noun that a relative clause is about; it becomes the relative pronoun."""

    noun: Noun
    plural: bool


Phrase = Pronoun | Person | NounPhrase | Both | Gap | Word


class PrepPhrase(NamedTuple):
    """A prepositional phrase, with the case it takes in German; `english` is empty after a verb's particle."""

    english: str
    german: str
    case: str
    phrase: Phrase


class Quality(NamedTuple):
    """Very old, older than Peter, as old as Peter."""

    adjective: Adjective
    degree: str = ""  # very, too, more, as
    than: Phrase | None = None


Value = Phrase | PrepPhrase | Quality


class Constituent(NamedTuple):
    """A part of a clause."""

    role: str  # one of OBJECTS; predicate, price, direction, place, instrument, manner, time, frequency
    value: Value

    @property
    def phrase(self) -> Value:
        """The value without its preposition."""
        return self.value.phrase if isinstance(self.value, PrepPhrase) else self.value


class Clause(NamedTuple):
    """A verb and everything around it."""

    subject: Phrase
    verb: Verb
    parts: tuple[Constituent, ...] = ()
    tense: str = "present"  # present progressive past future pluperfect
    modal: str = ""  # can, must, want, should, may, like, would like
    negated: bool = False
    front: int = -1  # the index of the part that stands first; -1 is the subject
    complement: Complement | None = None


class Complement(NamedTuple):
    """What somebody says, asks or tries: a clause after that or whether, an embedded question, an infinitive.

    The subject of an infinitive remains unspoken.
    """

    # That, whether, to, in order to; empty before a question word, which is the front of its clause.
    word: str
    body: Body


class Subordination(NamedTuple):
    """A clause with a subordinate clause: because, although, when…"""

    main: Body
    conjunction: str
    subordinate: Clause
    first: bool = False


class Coordination(NamedTuple):
    """Two clauses of equal rank."""

    left: Body
    conjunction: str
    right: Body


Body = Clause | Subordination | Coordination


class Sentence(NamedTuple):
    """A whole sentence, and perhaps whom it addresses."""

    kind: str  # statement, question, order
    body: Body
    address: Phrase | None = None


def agreement(phrase: Phrase) -> Pronoun:
    """The pronoun with the person, number and gender of a phrase."""
    match phrase:
        case Pronoun():
            return phrase
        case Both():
            return PRONOUNS["we" if any(agreement(side).person == "1" for side in phrase) else "they"]
        case NounPhrase(plural=True) | Gap(plural=True):
            return PRONOUNS["they"]
        case NounPhrase(noun) | Gap(noun):
            return PRONOUNS[{"m": "he", "f": "she", "n": "it"}[noun.gender]]
        case Person(name, title):
            return PRONOUNS["she" if title == "f" or name.group == "woman" else "he"]
    return PRONOUNS["it"]


def relative_of(value: Value) -> Clause | None:
    """The relative clause at the end of a phrase, if it has one."""
    phrase = value.phrase if isinstance(value, PrepPhrase) else value
    return phrase.relative if isinstance(phrase, NounPhrase) else None


def punctuate(words: list[str], kind: str) -> str:
    """Join the words of a sentence; of several commas in a row one remains, and none at the end."""
    text = ""
    for word in words:
        if word != ",":
            text += f" {word}"
        elif not text.endswith(","):
            text += ","
    text = text.strip(" ,")
    return text[0].upper() + text[1:] + {"statement": ".", "question": "?", "order": "!"}[kind]


def combinations(tree: Sentence) -> list[tuple[str, str]]:
    """The pairs of words that belong together: a verb and its object, an adjective and its noun."""
    found: list[tuple[str, str]] = []
    nodes: list[object] = [tree]
    while nodes:
        node = nodes.pop()
        if isinstance(node, Clause):
            found += _governed(node)
        elif isinstance(node, NounPhrase) and node.adjective:
            found.append((node.adjective.german, node.noun.german))
        if isinstance(node, tuple):
            nodes += [child for child in node if type(child) in BRANCHING]
    return found


def _governed(clause: Clause) -> Iterator[tuple[str, str]]:
    verb = clause.verb.prefix + clause.verb.infinitive
    for part in clause.parts:
        phrase = part.phrase
        if isinstance(phrase, NounPhrase | Gap) and part.role in OBJECTS:
            yield verb, phrase.noun.german
        elif isinstance(phrase, Quality) and isinstance(clause.subject, NounPhrase | Gap):
            yield phrase.adjective.german, clause.subject.noun.german


PHRASES = {Constituent, NounPhrase, PrepPhrase, Quality}
BRANCHING = {tuple, Clause, Complement, Subordination, Coordination} | PHRASES
