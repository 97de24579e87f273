"""Short ways to write a tree by hand."""

from nmt_cli.demo import english, german, lexicon
from nmt_cli.demo.lexicon import Adjective, Name, Noun, Verb
from nmt_cli.demo.tree import Body, Clause, NounPhrase, Part, Person, Phrase, Pronoun, Sentence

ME, WE, HE, SHE, THEY = Pronoun(1), Pronoun(1, True), Pronoun(3), Pronoun(3, False, "f"), Pronoun(3, True)
YOU, YOU_FORMAL, YOU_ALL = Pronoun(2), Pronoun(2, register="Sie"), Pronoun(2, True, register="ihr")


def noun(english_word: str, german_word: str = "") -> Noun:
    return next(
        word for word in lexicon.NOUNS if word.english == english_word and german_word in ("", word.german)
    )


def verb(english_base: str, german_infinitive: str) -> Verb:
    verbs = [
        *lexicon.VERBS,
        *lexicon.CLAUSE_VERBS,
        *lexicon.CONTROL_VERBS,
        *lexicon.WEATHER_VERBS,
        lexicon.COST,
    ]
    return next(
        word
        for word in verbs
        if word.base == english_base and word.prefix + word.infinitive == german_infinitive
    )


def adjective(english_word: str) -> Adjective:
    return next(word for word in [*lexicon.ADJECTIVES, *lexicon.MOODS] if word.english == english_word)


def name(english_word: str) -> Name:
    names = [
        *lexicon.WOMEN,
        *lexicon.MEN,
        *lexicon.SURNAMES,
        *lexicon.CITIES,
        *lexicon.WEEKDAYS,
        *lexicon.MONTHS,
    ]
    return next(word for word in names if word.english == english_word)


ANNA, PETER = Person(name("Anna")), Person(name("Peter"))


def the(word: str, *, plural: bool = False, is_: str = "") -> NounPhrase:
    return NounPhrase(noun(word), "definite", plural, adjective(is_) if is_ else None)


def a(word: str, *, is_: str = "") -> NounPhrase:
    return NounPhrase(noun(word), "indefinite", False, adjective(is_) if is_ else None)


def my(word: str) -> NounPhrase:
    return NounPhrase(noun(word), "possessive", owner=ME)


def acc(phrase: Phrase) -> Part:
    return Part("accusative", phrase)


def dat(phrase: Phrase) -> Part:
    return Part("dative", phrase)


def both(body: Body, *, kind: str = "statement", address: Phrase | None = None) -> tuple[str, str]:
    tree = Sentence(kind, body, address)
    return english.sentence(tree), german.sentence(tree)


OPEN = Clause(PETER, verb("open", "aufmachen"), (acc(the("window")),))
