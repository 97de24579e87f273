"""German phrases: determiner, adjective and noun in their case, prepositions, times, qualities."""

from nmt_cli.demo import german_words as forms
from nmt_cli.demo.lexicon import Adverb, Noun
from nmt_cli.demo.numbers import german_clock, german_number, german_ordinal
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


def phrase(tree: Phrase, case: str, *, kein: bool = False) -> Words:
    """A phrase in its case, without its relative clause, which may stand elsewhere."""
    match tree:
        case NounPhrase():
            return noun_phrase(tree, case, kein=kein)
        case Pronoun():
            return [forms.pronoun_form(tree, case)]
        case Person():
            if tree.title == "m":
                return ["Herr" if case == "nominative" else "Herrn", tree.name.german]
            return [*(["Frau"] if tree.title else []), tree.name.german]
        case Both():
            left, right = phrase(tree.left, case), phrase(tree.right, case)
            return [*left, "und", *right]
        case Gap():
            return [forms.RELATIVE["p" if tree.plural else tree.noun.gender, case]]
        case Asked():
            words = {"nominative": "wer", "accusative": "wen", "dative": "wem"}
            return [words[case] if tree.person else "was"]
        case Expletive():
            return ["es"]


def noun_phrase(tree: NounPhrase, case: str, *, kein: bool = False) -> Words:
    """Determiner, adjective and noun agree in case, number and gender."""
    key = ("p" if tree.plural else tree.noun.gender, case)
    determiner, endings = _determiner(tree, key, kein=kein)
    adjective = [forms.adjective_form(tree.adjective.german, endings[key])] if tree.adjective else []
    words = [*determiner, *adjective, forms.noun_form(tree.noun, case, tree.plural)]
    if tree.of:
        words += noun_phrase(tree.of, "genitive")
    if tree.determiner == "genitive" and isinstance(tree.owner, NounPhrase):
        words += noun_phrase(tree.owner, "genitive")
    return words


def _determiner(
    tree: NounPhrase, key: tuple[str, str], *, kein: bool
) -> tuple[Words, dict[tuple[str, str], str]]:
    """The determiner and the table that the adjective after it takes its ending from."""
    owner = tree.owner
    if kein:
        return ["kein" + forms.EIN[key]], forms.MIXED
    match tree.determiner:
        case "indefinite" if not tree.plural:
            return ["ein" + forms.EIN[key]], forms.MIXED
        case "possessive":
            assert isinstance(owner, Pronoun)
            return [forms.possessive(owner, forms.EIN[key])], forms.MIXED
        case "genitive" if isinstance(owner, Person):
            return [
                *(["Herrn"] if owner.title == "m" else ["Frau"] if owner.title else []),
                owner.name.german + "s",
            ], forms.STRONG
        case "whose":
            assert isinstance(owner, Gap)
            return ["deren" if owner.plural or owner.noun.gender == "f" else "dessen"], forms.STRONG
        case "this" | "every" | "which":
            stem = {"this": "dies", "every": "jed", "which": "welch"}[tree.determiner]
            return [stem + forms.DIESER[key]], forms.WEAK
        case "definite" | "genitive" | "by":
            return [forms.DEFINITE[key]], forms.WEAK
        case "count":
            return [german_number(tree.number)], forms.STRONG
        case "how_many":
            return ["wie", "viele"], forms.STRONG
    return [], forms.STRONG


def value(tree: Value, case: str, *, kein: bool = False) -> Words:
    """Any part of a clause."""
    match tree:
        case Adverb():
            return [tree.german]
        case Relation():
            words = phrase(tree.phrase, tree.case)
            contracted = forms.CONTRACTIONS.get((tree.german, words[0]))
            # In dem Haus, das…: a relative clause needs the full article, and a pronoun is none.
            if contracted and isinstance(tree.phrase, NounPhrase) and not tree.phrase.relative:
                return [contracted, *words[1:]]
            return [*([tree.german] if tree.german else []), *words]
        case City():
            return [tree.german, tree.name.german]
        case Clock() | Day() | Date() | Season() | Span():
            return time(tree)
        case Quality():
            return quality(tree)
        case Profession():
            key = (tree.noun.gender, "nominative")
            return [*(["kein" + forms.EIN[key]] if kein else []), tree.noun.german]
        case Measure():
            unit = ["Jahre", "alt"] if tree.kind == "age" else ["Euro"]
            return [german_number(tree.number), *unit]
        case _:
            return phrase(tree, case, kein=kein)


def quality(tree: Quality) -> Words:
    """Sehr alt, älter als Peter, so alt wie Peter."""
    compared = phrase(tree.than, "nominative") if tree.than else []
    if tree.degree == "more":
        return [forms.comparative(tree.adjective), "als", *compared]
    if tree.degree == "as":
        return ["so", tree.adjective.german, "wie", *compared]
    return [*({"very": ["sehr"], "too": ["zu"]}.get(tree.degree, [])), tree.adjective.german]


def time(tree: Clock | Day | Date | Season | Span) -> Words:
    """Um halb acht, am Montag, am dritten Mai, im Sommer, vor drei Tagen."""
    match tree:
        case Clock():
            preposition = {"at": ["um"], "until": ["bis"], "": []}[tree.preposition]
            return [*preposition, german_clock(tree.hour, tree.minute)]
        case Day():
            return [{"on": "am", "until": "bis", "every": "jeden"}[tree.preposition], tree.weekday.german]
        case Date():
            return ["am", german_ordinal(tree.day) + "n", tree.month.german]
        case Season():
            return ["im", tree.name.german]
        case Span():
            number = [_one(tree.unit, "accusative" if tree.kind == "for" else "dative")]
            if tree.number > 1:
                number = [german_number(tree.number)]
            if tree.kind == "for":
                return [*number, forms.noun_form(tree.unit, "accusative", tree.number > 1), "lang"]
            return [
                {"ago": "vor", "in": "in"}[tree.kind],
                *number,
                forms.noun_form(tree.unit, "dative", tree.number > 1),
            ]


def _one(unit: Noun, case: str) -> str:
    return "ein" + forms.EIN[unit.gender, case]
