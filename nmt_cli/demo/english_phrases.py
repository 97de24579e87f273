"""English phrases: determiner, adjective and noun, prepositions, times, qualities."""

from nmt_cli.demo import english_words as forms
from nmt_cli.demo.lexicon import Adverb
from nmt_cli.demo.numbers import english_clock, english_number, english_ordinal
from nmt_cli.demo.tree import (
    Asked,
    Both,
    City,
    Clock,
    Date,
    Day,
    Expletive,
    Gap,
    Measure,
    NounPhrase,
    Person,
    Phrase,
    Profession,
    Pronoun,
    Quality,
    Relation,
    Season,
    Span,
    Value,
)

Words = list[str]


def phrase(tree: Phrase, *, subject: bool = False) -> Words:
    """A phrase; only pronouns know whether they are the subject."""
    match tree:
        case NounPhrase():
            return noun_phrase(tree)
        case Pronoun():
            return [forms.pronoun_form(tree, subject=subject)]
        case Person():
            return [*({"m": ["Mr."], "f": ["Mrs."]}.get(tree.title, [])), tree.name.english]
        case Both():
            return [*phrase(tree.left, subject=subject), "and", *phrase(tree.right, subject=subject)]
        case Gap():
            if tree.noun.person:
                return ["who" if subject else "whom"]
            return ["that"]
        case Asked():
            return [("who" if subject else "whom") if tree.person else "what"]
        case Expletive():
            return [tree.word]


def noun_phrase(tree: NounPhrase) -> Words:
    """Determiner, adjective and noun, without the relative clause."""
    noun = tree.noun.english_plural if tree.plural else tree.noun.english
    described = [*([tree.adjective.english] if tree.adjective else []), noun]
    words = _determiner(tree, described[0]) + described
    if tree.of:
        words += ["of", *noun_phrase(tree.of)]
    return words


def _determiner(tree: NounPhrase, following: str) -> Words:
    owner = tree.owner
    match tree.determiner:
        case "definite":
            return ["the"]
        case "named" if tree.noun.kinds[0] == "instrument":
            return ["the"]
        case "indefinite" if not tree.plural:
            return [forms.article(following)]
        case "possessive":
            assert isinstance(owner, Pronoun)
            return [forms.possessive(owner)]
        case "genitive":
            assert isinstance(owner, Person | NounPhrase)
            *start, last = phrase(owner)
            return [*start, last + "'s"]
        case "this":
            return ["these" if tree.plural else "this"]
        case "count":
            return [english_number(tree.number)]
        case "how_many":
            return ["how", "many"]
        case "every" | "which" | "whose" | "no":
            return [tree.determiner]
    return []


def value(tree: Value) -> Words:
    """Any part of a clause."""
    match tree:
        case Adverb():
            return [tree.english]
        case Relation():
            words = phrase(tree.phrase)
            if tree.english and words == ["that"] and isinstance(tree.phrase, Gap):
                words = ["which"]
            return [*([tree.english] if tree.english else []), *words]
        case City():
            return [tree.english, tree.name.english]
        case Clock() | Day() | Date() | Season() | Span():
            return time(tree)
        case Quality():
            return quality(tree)
        case Profession():
            return [forms.article(tree.noun.english), tree.noun.english]
        case Measure():
            unit = ["years", "old"] if tree.kind == "age" else ["euros"]
            return [english_number(tree.number), *unit]
        case _:
            return phrase(tree)


def quality(tree: Quality) -> Words:
    """Very old, older than Peter, as old as Peter."""
    adjective = tree.adjective.english
    compared = phrase(tree.than, subject=True) if tree.than else []
    if tree.degree == "more":
        return [*forms.comparative(adjective), "than", *compared]
    if tree.degree == "as":
        return ["as", adjective, "as", *compared]
    return [*([tree.degree] if tree.degree else []), adjective]


def time(tree: Clock | Day | Date | Season | Span) -> Words:
    """At half past seven, on Monday, on the third of May, in summer, three days ago."""
    match tree:
        case Clock():
            return [*([tree.preposition] if tree.preposition else []), english_clock(tree.hour, tree.minute)]
        case Day():
            return [tree.preposition, tree.weekday.english]
        case Date():
            return ["on", "the", english_ordinal(tree.day), "of", tree.month.english]
        case Season():
            return ["in", tree.name.english]
        case Span():
            many = tree.number > 1
            unit = tree.unit.english_plural if many else tree.unit.english
            number = english_number(tree.number) if many else forms.article(unit)
            if tree.kind == "ago":
                return [number, unit, "ago"]
            return [tree.kind, number, unit]
