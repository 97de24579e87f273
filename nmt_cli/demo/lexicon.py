"""The lexicon as values: the tables of `nouns`, `verbs` and `words`, parsed once at import."""

from collections.abc import Iterator
from typing import NamedTuple

from nmt_cli.demo import nouns, verbs, words

PERSON = ("kin", "circle", "human", "job")
GENITIVE_IN_ES = (
    "Mann",
    "Kind",
    "Arzt",
    "Freund",
    "Sohn",
    "Gast",
    "Dieb",
    "Zahnarzt",
    "Anwalt",
    "Fluss",
    "See",
)
VOWELS = "aeiou"
# Verbs whose last consonant doubles before -ed and -ing; stress decides, so they are listed.
DOUBLING = {"cut", "forget", "get", "hug", "plan", "put", "run", "sit", "stop", "swim", "begin", "let"}


class Noun(NamedTuple):
    """One noun; `oblique` and `genitive` are German singular cases, a mass noun has no plural."""

    english: str
    english_plural: str
    german: str
    german_plural: str
    gender: str
    oblique: str
    genitive: str
    kinds: tuple[str, ...]

    @property
    def mass(self) -> bool:
        """It cannot be counted."""
        return not self.german_plural

    @property
    def person(self) -> bool:
        """It is somebody."""
        return self.kinds[0] in PERSON


class Adjective(NamedTuple):
    """One adjective; no comparative stem where comparing makes no sense."""

    english: str
    german: str
    german_comparative: str
    kinds: tuple[str, ...]


class Adverb(NamedTuple):
    """An adverb or a fixed phrase that works as one."""

    english: str
    german: str


class Slot(NamedTuple):
    """What a verb takes: in German a case and perhaps a preposition; `kinds` are kinds or, with !, nouns."""

    role: str  # accusative, dative, recipient (dative, English to), prepositional, or a kind of place
    kinds: tuple[str, ...]
    german_preposition: str = ""
    case: str = "accusative"


class Verb(NamedTuple):
    """One verb in one meaning."""

    base: str
    past: str
    participle: str
    particle: str  # English: turn on
    movable: bool  # turn it on
    infinitive: str  # German, without the separable prefix
    prefix: str
    third: str
    auxiliary: str
    german_participle: str
    reflexive: str  # the case of sich, or nothing
    subjects: tuple[str, ...]
    slots: tuple[Slot, ...]
    places: tuple[str, ...]
    flags: str


class Name(NamedTuple):
    """A first name (german empty) or a city or country."""

    english: str
    german: str
    gender: str


def _plural(noun: str) -> str:
    if noun.endswith("y") and noun[-2] not in VOWELS:
        return noun[:-1] + "ies"
    return noun + ("es" if noun.endswith(("s", "x", "ch", "sh")) else "s")


def _noun(entry: str, first_kind: str) -> Noun:
    left, _, right = entry.partition("=")
    english = [word.replace("_", " ") for word in left.split()]
    forms, _, kinds = right.partition("+")
    article, german, plural = forms.split()
    if article.endswith("*"):
        oblique = genitive = german + ("n" if german.endswith(("e", "er", "ar")) else "en")
    else:
        oblique = genitive = german
        if article != "die":
            long = german in GENITIVE_IN_ES or german.endswith(("s", "ß", "z", "x"))
            genitive = german + ("es" if long else "s")
    gender = {"der": "m", "die": "f", "das": "n"}[article.rstrip("*")]
    german_plural = "" if plural == "0" else plural
    return Noun(
        english[0],
        english[1] if len(english) > 1 else _plural(english[0]),
        german,
        german_plural,
        gender,
        oblique,
        genitive,
        (first_kind, *kinds.split()),
    )


def _english_forms(text: str) -> tuple[str, str, str, str, bool]:
    forms = text.split()
    particle, movable = "", False
    if forms[-1][0] in "+=":
        movable = forms[-1][0] == "+"
        particle = forms.pop()[1:].replace("_", " ")
    base = forms[0]
    if len(forms) == 1:
        if base.endswith("e"):
            past = base + "d"
        elif base.endswith("y") and base[-2] not in VOWELS:
            past = base[:-1] + "ied"
        else:
            past = base + (base[-1] if base in DOUBLING else "") + "ed"
        forms.append(past)
    return base, forms[1], forms[-1], particle, movable


def _slot(text: str) -> Slot:
    if text.startswith("@>"):
        return Slot("recipient", tuple(text[2:].split(",")), case="dative")
    if text.startswith("@"):
        return Slot("dative", tuple(text[1:].split(",")), case="dative")
    if "+" in text:
        government, _, kinds = text.partition(":")
        preposition, _, case = government.partition("+")
        case = {"a": "accusative", "d": "dative"}[case]
        return Slot("prepositional", tuple(kinds.split(",")), preposition, case)
    if text.startswith("at:"):
        return Slot("at", (text[3:],))
    if text in ("to", "city", "ride", "onto", "hook"):
        return Slot(text, ())
    return Slot("accusative", tuple(text.split(",")))


def _verb(english: str, german: str, subjects: str, slots: str, places: str, flags: str) -> Verb:
    forms = german.split()
    reflexive = ""
    if forms[0].startswith("sich"):
        reflexive = "dative" if forms.pop(0) == "sich3" else "accusative"
    prefix, _, infinitive = forms[0].rpartition("·")
    return Verb(
        *_english_forms(english),
        infinitive,
        prefix,
        forms[1],
        {"hat": "haben", "ist": "sein"}[forms[2]],
        forms[3],
        reflexive,
        tuple(subjects.strip().split(",")),
        tuple(_slot(slot) for slot in slots.split()),
        tuple(places.split()) if places.strip() != "-" else (),
        flags.strip(),
    )


def _lines(text: str) -> Iterator[list[str]]:
    for line in text.strip().splitlines():
        yield [field.strip() for field in line.split("|")]


def _entries(text: str) -> list[str]:
    return [entry.strip() for entry in text.replace("\n", ";").split(";") if entry.strip()]


def _adjective(line: str) -> Adjective:
    left, _, kinds = line.partition(":")
    english, _, german = left.partition("=")
    forms = german.split()
    if forms[0].endswith("*"):
        return Adjective(english.strip(), forms[0].rstrip("*"), "", tuple(kinds.split()))
    return Adjective(english.strip(), forms[0], forms[-1], tuple(kinds.split()))


def _adverbs(text: str) -> list[Adverb]:
    pairs = (entry.partition("=") for entry in _entries(text))
    return [Adverb(english.strip().replace("_", " "), german.strip()) for english, _, german in pairs]


def _moods(text: str) -> list[Adjective]:
    return [Adjective(adverb.english, adverb.german, "", ("person",)) for adverb in _adverbs(text)]


def _names(text: str, gender: str) -> list[Name]:
    pairs = (word.partition("=") for word in text.split())
    return [Name(english, german or english, gender) for english, _, german in pairs]


NOUNS = [_noun(entry, kind) for kind, block in nouns.NOUNS.items() for entry in _entries(block)]
for _kind, _words in nouns.BARE.items():
    for _word in _words.split():
        _english, _, _german = _word.partition("=")
        NOUNS.append(Noun(_english, "", _german, "", "n", _german, _german, (_kind,)))

VERBS = [_verb(*fields) for fields in _lines(verbs.VERBS)]
CLAUSE_VERBS = {
    _verb(english, german, "person", "", "-", flags): tuple(follows.split())
    for english, german, follows, flags in _lines(verbs.CLAUSE_VERBS)
}
CONTROL_VERBS = {
    _verb(english, german, "person", "", "-", "-"): case
    for english, german, case in _lines(verbs.CONTROL_VERBS)
}
WEATHER_VERBS = [_verb(*fields) for fields in _lines(words.WEATHER_VERBS)]
BE = _verb("be was been", "sein ist ist gewesen", "person", "", "-", "s")
HAVE = _verb(
    "have had",
    "haben hat hat gehabt",
    "person",
    "private,pet,device,furniture,!question,!problem,!idea,!plan,small,instrument",
    "-",
    "s",
)
EXIST = _verb("be was been", "geben gibt hat gegeben", "expletive", "", "-", "s")
COST = _verb("cost cost", "kosten kostet hat gekostet", "thing", "", "-", "s")

ADJECTIVES = [_adjective(line) for line in words.ADJECTIVES.strip().splitlines()]
MOODS = _moods(words.MOODS)
WEATHER_ADJECTIVES = _moods(words.WEATHER_ADJECTIVES)
FEASIBLE = _moods(words.FEASIBLE)

FREQUENCY = _adverbs(words.FREQUENCY)
MANNER = {
    _adverbs(left)[0]: tuple(suits.split())
    for left, _, suits in (line.partition(":") for line in words.MANNER.strip().splitlines())
}
PAST_TIMES = _adverbs(words.PAST_TIMES)
FUTURE_TIMES = _adverbs(words.FUTURE_TIMES)
HABITUAL_TIMES = _adverbs(words.HABITUAL_TIMES)
DAY_TIMES = _adverbs(words.DAY_TIMES)
WEEKDAYS = _names(words.WEEKDAYS, "m")
MONTHS = _names(words.MONTHS, "m")
SEASONS = _names(words.SEASONS, "m")
UNITS = [_noun(entry, "unit") for entry in _entries(words.UNITS)]
WOMEN = _names(words.WOMEN, "f")
MEN = _names(words.MEN, "m")
SURNAMES = _names(words.SURNAMES, "")
CITIES = _names(words.CITIES, "n")
COUNTRIES = _names(words.COUNTRIES, "n")


def nouns_of(*kinds: str) -> tuple[Noun, ...]:
    """All nouns of these kinds; `person` is everybody, `!word` one noun by its English name."""
    wanted = set(kinds) | (set(PERSON) if "person" in kinds else set())
    return tuple(noun for noun in NOUNS if wanted & set(noun.kinds) or f"!{noun.english}" in wanted)


def lexemes() -> list[NamedTuple]:
    """Every word of content once per meaning; pronouns, articles, prepositions, numbers are not counted."""
    verb_list = [*VERBS, *CLAUSE_VERBS, *CONTROL_VERBS, *WEATHER_VERBS, BE, HAVE, COST]
    adverbs = [*FREQUENCY, *MANNER, *PAST_TIMES, *FUTURE_TIMES, *HABITUAL_TIMES, *DAY_TIMES]
    calendar = [*WEEKDAYS, *MONTHS, *SEASONS, *UNITS]
    proper = [*WOMEN, *MEN, *SURNAMES, *CITIES, *COUNTRIES]
    found: dict[tuple[str, ...], NamedTuple] = {}
    for word in [*NOUNS, *ADJECTIVES, *MOODS, *FEASIBLE, *adverbs, *calendar, *proper]:
        assert isinstance(word, Noun | Adjective | Adverb | Name)
        found[type(word).__name__, word.english, word.german] = word
    for verb in verb_list:
        # A verb that governs a clause as well as a noun (see, hear) is one lexeme.
        found["Verb", verb.base, verb.particle, verb.prefix + verb.infinitive] = verb
    return list(found.values())
