"""English morphology: verbs, pronouns, articles."""

from nmt_cli.demo.lexicon import DOUBLING, VOWELS, Verb
from nmt_cli.demo.tree import Pronoun

SUBJECT = {(1, False): "I", (1, True): "we", (3, True): "they"}
OBJECT = {(1, False): "me", (1, True): "us", (3, True): "them"}
POSSESSIVE = {(1, False): "my", (1, True): "our", (3, True): "their"}
AN_HOUR = ("hour", "hon")  # a silent h
A_UNIT = ("uni", "us", "eu")  # a spoken y


def third(base: str) -> str:
    """Goes, watches, tries, has."""
    if base == "have":
        return "has"
    if base.endswith("y") and base[-2] not in VOWELS:
        return base[:-1] + "ies"
    return base + ("es" if base.endswith(("s", "x", "ch", "sh", "o")) else "s")


def gerund(base: str) -> str:
    """Making, lying, running."""
    if base.endswith("ie"):
        return base[:-2] + "ying"
    if base.endswith("e") and base not in ("be", "see"):
        return base[:-1] + "ing"
    return base + (base[-1] if base in DOUBLING else "") + "ing"


def be(subject: Pronoun, *, past: bool = False) -> str:
    """Am, are, is, was, were."""
    many = subject.plural or subject.person == 2
    if past:
        return "were" if many else "was"
    return "are" if many else "am" if subject.person == 1 else "is"


def finite(verb: Verb, subject: Pronoun, *, past: bool) -> str:
    """The simple present or past."""
    if verb.base == "be":
        return be(subject, past=past)
    if past:
        return verb.past
    singular = subject.person == 3 and not subject.plural
    return third(verb.base) if singular else verb.base


def pronoun_form(pronoun: Pronoun, *, subject: bool) -> str:
    """I or me."""
    if pronoun.person == 2:
        return "you"
    if pronoun.person == 1 or pronoun.plural:
        return (SUBJECT if subject else OBJECT)[pronoun.person, pronoun.plural]
    if pronoun.thing:
        return "it"
    if pronoun.gender == "f":
        return "she" if subject else "her"
    return "he" if subject else "him"


def possessive(owner: Pronoun) -> str:
    """My, your, his."""
    if owner.person == 2:
        return "your"
    if owner.person == 1 or owner.plural:
        return POSSESSIVE[owner.person, owner.plural]
    return "her" if owner.gender == "f" else "his"


def article(word: str) -> str:
    """A or an, by the sound of the next word."""
    vowel = word[0] in VOWELS and not word.startswith(A_UNIT)
    return "an" if vowel or word.startswith(AN_HOUR) else "a"


def comparative(adjective: str) -> list[str]:
    """Older, bigger, heavier, more expensive."""
    syllables = sum(
        letter in "aeiouy" and (not index or adjective[index - 1] not in "aeiouy")
        for index, letter in enumerate(adjective)
    ) - adjective.endswith("e")
    if adjective.endswith("y") and syllables == 2:
        return [adjective[:-1] + "ier"]
    if syllables > 1 and adjective not in ("clever", "quiet"):
        return ["more", adjective]
    if adjective.endswith("e"):
        return [adjective + "r"]
    last_three = adjective[-3:]
    short = last_three[0] not in VOWELS and last_three[1] in VOWELS and last_three[2] not in VOWELS + "wy"
    return [adjective + (adjective[-1] if short and syllables == 1 else "") + "er"]
