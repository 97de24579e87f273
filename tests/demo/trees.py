"""Short ways to write a tree by hand."""

from typing import Any

from nmt_cli.demo import english, german, lexicon
from nmt_cli.demo.lexicon import PRONOUNS, Adjective, Noun, Verb, Word
from nmt_cli.demo.tree import (
    Body,
    Clause,
    Constituent,
    Gap,
    NounPhrase,
    Person,
    Phrase,
    PrepPhrase,
    Quality,
    Sentence,
)

ME, WE, HE, SHE, THEY = (PRONOUNS[name] for name in ("I", "we", "he", "she", "they"))
YOU, YOU_ALL, YOU_FORMAL = (PRONOUNS[name] for name in ("du", "ihr", "Sie"))


def noun(english_word: str, german_word: str = "") -> Noun:
    return next(
        word for word in lexicon.NOUNS if word.english == english_word and german_word in ("", word.german)
    )


def verb(english_base: str, infinitive: str) -> Verb:
    (found,) = {
        (word.english, word.prefix + word.infinitive): word for group in lexicon.VERBS.values() for word in group
        if (word.english, word.prefix + word.infinitive) == (english_base, infinitive)
    }.values()  # fmt: skip
    return found


def adjective(english_word: str) -> Adjective:
    return next(word for word in lexicon.ADJECTIVES["noun"] if word.english == english_word)


def word(english_word: str) -> Word:
    return next(word for group in lexicon.WORDS.values() for word in group if word.english == english_word)


ANNA, PETER = Person(word("Anna")), Person(word("Peter"))


def the(noun_word: str, *, plural: bool = False, is_: str = "", **fields: Any) -> NounPhrase:
    return NounPhrase(noun(noun_word), "definite", plural, adjective(is_) if is_ else None, **fields)


def a(noun_word: str, *, is_: str = "") -> NounPhrase:
    return the(noun_word, is_=is_)._replace(determiner="indefinite")


def my(noun_word: str) -> NounPhrase:
    return NounPhrase(noun(noun_word), "possessive", owner=ME)


def gap(noun_word: str) -> Gap:
    return Gap(noun(noun_word), False)


def acc(phrase: Phrase) -> Constituent:
    return Constituent("accusative", phrase)


def dat(phrase: Phrase) -> Constituent:
    return Constituent("dative", phrase)


def to(phrase: Phrase) -> Constituent:
    return Constituent("recipient", phrase)


def governed(preposition: str, case: str, phrase: Phrase) -> Constituent:
    """An object with a German preposition."""
    return Constituent("prepositional", PrepPhrase("", preposition, case, phrase))


def place(english_word: str, german_word: str, phrase: Phrase) -> Constituent:
    return Constituent("place", PrepPhrase(english_word, german_word, "dative", phrase))


def direction(english_word: str, german_word: str, phrase: Phrase, case: str = "accusative") -> Constituent:
    return Constituent("direction", PrepPhrase(english_word, german_word, case, phrase))


def do(subject: Phrase, base: str, infinitive: str, *parts: Constituent, **fields: Any) -> Clause:
    """Somebody does something; the fields are those of the clause."""
    return Clause(subject, verb(base, infinitive), parts, **fields)


def be(subject: Phrase, value: Phrase | Quality | PrepPhrase, **fields: Any) -> Clause:
    return Clause(subject, lexicon.BE, (Constituent("predicate", value),), **fields)


def both(body: Body, *, kind: str = "statement", address: Phrase | None = None) -> tuple[str, str]:
    """The English and the German sentence."""
    tree = Sentence(kind, body, address)
    return english.sentence(tree), german.sentence(tree)


OPEN = do(PETER, "open", "aufmachen", acc(the("window")))
READ = do(ANNA, "read", "lesen", acc(the("book")), tense="past")
TIRED = be(SHE, Quality(adjective("tired")), tense="past")
