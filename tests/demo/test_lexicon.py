"""The tables of the lexicon, and inflection compared with the tables of a grammar book."""

from collections.abc import Iterator
from itertools import chain

import pytest

from nmt_cli.demo import lexicon
from nmt_cli.demo.english import article
from nmt_cli.demo.lexicon import NOUNS, NUMBERS, PRONOUNS, VERBS, Word
from nmt_cli.demo.tree import NounPhrase
from tests.demo.trees import (
    ANNA,
    HE,
    ME,
    YOU,
    YOU_ALL,
    YOU_FORMAL,
    a,
    acc,
    adjective,
    both,
    dat,
    do,
    my,
    noun,
    the,
)

ALL_VERBS = [verb for group in VERBS.values() for verb in group]
ROLES = ("walk", "city", "ride", "onto", "hook", "home", "stay", "seat")
OBJECTS = ("accusative", "dative", "recipient", "prepositional")


def mentioned() -> Iterator[str]:
    """Every kind and every `!noun` that some word goes with."""
    for word in ALL_VERBS:
        yield from chain(word.subjects, word.places, *(slot.kinds for slot in word.slots))
    for group in lexicon.ADJECTIVES.values():
        yield from chain(*(word.nouns for word in group))
    yield from chain(*(kinds for _, _, _, kinds in lexicon.SURFACES))
    yield from (f"!{place}" for place in lexicon.PLACES)


def test_every_noun_that_another_table_mentions_exists() -> None:
    assert [name for name in mentioned() if not lexicon.nouns(name)] == []


def test_every_noun_is_complete() -> None:
    for word in NOUNS:
        assert word.english, word
        assert word.german, word
        assert word.gender in ("m", "f", "n"), word
        assert bool(word.english_plural) == bool(word.german_plural), word
        assert word.determiners in (*lexicon.DETERMINERS, ""), word


def test_every_verb_is_complete() -> None:
    for word in ALL_VERBS:
        forms = (word.english_third, word.english_past, word.english_participle, word.english_gerund)
        assert all((*forms, *word.german_present.values(), word.infinitive, word.german_participle)), word
        assert word.auxiliary in ("haben", "sein"), word
        assert word.german_participle.startswith(word.prefix), word
        assert all((slot.role in OBJECTS and slot.kinds) or slot.role in ROLES for slot in word.slots), word
        assert word.infinitive == "sein" or word.german_present["wir"] == word.infinitive, word


def test_an_adjective_compares_in_both_languages_or_in_none() -> None:
    for word in chain(*lexicon.ADJECTIVES.values()):
        assert bool(word.english_comparative) == bool(word.german_comparative), word
        assert word.english_comparative in ("", f"more {word.english}") or word.english_comparative.endswith(
            "er"
        )


def test_no_two_numbers_are_spelled_alike() -> None:
    for language in ("english", "german"):
        assert len({row[language] for row in NUMBERS.values()}) == len(NUMBERS) == 99


@pytest.mark.parametrize("number", [n for n in range(21, 100) if n % 10])
def test_german_says_the_ones_before_the_tens(number: int) -> None:
    tens, ones = NUMBERS[number - number % 10], NUMBERS[number % 10]
    assert NUMBERS[number]["english"] == f"{tens['english']}-{ones['english']}"
    german_ones = ones["german"].removesuffix("s") if number % 10 == 1 else ones["german"]
    assert NUMBERS[number]["german"] == f"{german_ones}und{tens['german']}"


@pytest.mark.parametrize(
    ("hour", "minute", "english", "german"),
    [
        (7, 0, "seven o'clock", "sieben Uhr"),
        (1, 0, "one o'clock", "ein Uhr"),
        (7, 30, "half past seven", "halb acht"),
        (12, 30, "half past twelve", "halb eins"),
        (6, 15, "a quarter past six", "Viertel nach sechs"),
        (12, 45, "a quarter to one", "Viertel vor eins"),
        (8, 55, "five to nine", "fünf vor neun"),
    ],
)
def test_german_counts_the_half_hour_towards_the_next(
    hour: int, minute: int, english: str, german: str
) -> None:
    time = lexicon.clock_time(hour, minute)
    assert isinstance(time, Word)
    assert (time.english, time.german) == (english, german)


def in_case(phrase: NounPhrase, case: str) -> str:
    """The German phrase as a sentence says it that needs this case."""
    match case:
        case "nominative":
            return both(do(phrase, "sleep", "schlafen"))[1].rpartition(" ")[0]
        case "accusative":
            sentence = both(do(ME, "see", "sehen", acc(phrase)))[1]
        case "dative":
            sentence = both(do(ME, "help", "helfen", dat(phrase)))[1]
        case _:
            owned = NounPhrase(noun("dog"), "genitive", owner=phrase)
            return both(do(ME, "see", "sehen", acc(owned)))[1].removeprefix("Ich sehe den Hund ").rstrip(".")
    return sentence.split(" ", 2)[2].rstrip(".")


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        ("nominative", ["Der neue Hut", "Die neue Jacke", "Das neue Hemd", "Die neuen Hüte"]),
        ("accusative", ["den neuen Hut", "die neue Jacke", "das neue Hemd", "die neuen Hüte"]),
        ("dative", ["dem neuen Hut", "der neuen Jacke", "dem neuen Hemd", "den neuen Hüten"]),
        ("genitive", ["des neuen Huts", "der neuen Jacke", "des neuen Hemds", "der neuen Hüte"]),
    ],
)
def test_adjectives_are_weak_after_the_definite_article(case: str, expected: list[str]) -> None:
    phrases = [the(word, is_="new") for word in ("hat", "jacket", "shirt")]
    assert [in_case(p, case) for p in (*phrases, the("hat", plural=True, is_="new"))] == expected


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        ("nominative", ["Ein teurer Hut", "Eine teure Jacke", "Ein teures Hemd"]),
        ("accusative", ["einen teuren Hut", "eine teure Jacke", "ein teures Hemd"]),
        ("dative", ["einem teuren Hut", "einer teuren Jacke", "einem teuren Hemd"]),
    ],
)
def test_adjectives_are_mixed_after_the_indefinite_article(case: str, expected: list[str]) -> None:
    assert [in_case(a(word, is_="expensive"), case) for word in ("hat", "jacket", "shirt")] == expected


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        ("nominative", ["Frisches Brot", "Drei frische Äpfel"]),
        ("accusative", ["frisches Brot", "drei frische Äpfel"]),
        ("dative", ["frischem Brot", "drei frischen Äpfeln"]),
    ],
)
def test_adjectives_are_strong_without_an_article(case: str, expected: list[str]) -> None:
    bread = the("bread", is_="fresh")._replace(determiner="bare")
    apples = the("apple", plural=True, is_="fresh")._replace(determiner="count", number=3)
    assert [in_case(bread, case), in_case(apples, case)] == expected


@pytest.mark.parametrize(
    ("word", "accusative", "genitive"),
    [
        ("boy", "meinen Jungen", "meines Jungen"),
        ("bear", "meinen Bären", "meines Bären"),
        ("neighbor", "meinen Nachbarn", "meines Nachbarn"),
        ("student", "meinen Studenten", "meines Studenten"),
        ("son", "meinen Sohn", "meines Sohnes"),
        ("boss", "meinen Chef", "meines Chefs"),
        ("aunt", "meine Tante", "meiner Tante"),
    ],
)
def test_weak_nouns_change_in_the_singular(word: str, accusative: str, genitive: str) -> None:
    assert [in_case(my(word), "accusative"), in_case(my(word), "genitive")] == [accusative, genitive]


@pytest.mark.parametrize(
    ("english", "infinitive", "forms"),
    [
        ("work", "arbeiten", "arbeite arbeitest arbeitet arbeitet arbeiten"),
        ("read", "lesen", "lese liest liest lest lesen"),
        ("drive", "fahren", "fahre fährst fährt fahrt fahren"),
        ("iron", "bügeln", "bügle bügelst bügelt bügelt bügeln"),
        ("dance", "tanzen", "tanze tanzt tanzt tanzt tanzen"),
        ("advise", "raten", "rate rätst rät ratet raten"),
    ],
)
def test_german_verbs_conjugate(english: str, infinitive: str, forms: str) -> None:
    people = (ME, YOU, HE, YOU_ALL, YOU_FORMAL)
    sentences = [both(do(who, english, infinitive))[1] for who in people]
    assert [sentence.rstrip(".").split()[1] for sentence in sentences] == forms.split()


@pytest.mark.parametrize(
    ("english", "infinitive", "order"),
    [("read", "lesen", "lies"), ("take", "nehmen", "nimm"), ("feed", "füttern", "füttere")],
)
def test_an_order_to_a_friend_is_the_bare_imperative(english: str, infinitive: str, order: str) -> None:
    assert both(do(YOU, english, infinitive), kind="order")[1] == f"Bitte {order}!"


@pytest.mark.parametrize(
    ("base", "infinitive", "third", "past", "gerund"),
    [
        ("stop", "anhalten", "stops", "stopped", "stopping"),
        ("carry", "tragen", "carries", "carried", "carrying"),
        ("watch", "ansehen", "watches", "watched", "watching"),
        ("dance", "tanzen", "dances", "danced", "dancing"),
        ("visit", "besuchen", "visits", "visited", "visiting"),
        ("put", "legen", "puts", "put", "putting"),
    ],
)
def test_english_verbs_conjugate(base: str, infinitive: str, third: str, past: str, gerund: str) -> None:
    clause = do(ANNA, base, infinitive)
    assert both(clause)[0] == f"Anna {third}."
    assert both(clause._replace(tense="past"))[0] == f"Anna {past}."
    assert both(clause._replace(tense="progressive"))[0] == f"Anna is {gerund}."


@pytest.mark.parametrize(
    ("word", "english", "german"),
    [
        ("old", "older", "älter"),
        ("big", "bigger", "größer"),
        ("expensive", "more expensive", "teurer"),
        ("dark", "darker", "dunkler"),
    ],
)
def test_adjectives_compare(word: str, english: str, german: str) -> None:
    assert (adjective(word).english_comparative, adjective(word).german_comparative) == (english, german)


def test_the_article_follows_the_sound() -> None:
    words = ("apple", "book", "hour", "university", "umbrella")
    assert [article(word) for word in words] == ["an", "a", "an", "a", "an"]


def test_your_and_their_agree_with_their_owner() -> None:
    owners = [PRONOUNS[name] for name in ("du", "ihr", "Sie", "she", "they", "he")]
    phrases = [my("sister")._replace(owner=owner) for owner in owners]
    forms = [in_case(phrase, "dative").removesuffix(" Schwester") for phrase in phrases]
    assert forms == ["deiner", "eurer", "Ihrer", "ihrer", "ihrer", "seiner"]
