"""Tables of forms against the tables of a grammar book."""

import pytest

from nmt_cli.demo import english_words, german_words, lexicon
from nmt_cli.demo.german_phrases import noun_phrase
from nmt_cli.demo.numbers import (
    english_clock,
    english_number,
    english_ordinal,
    german_clock,
    german_number,
    german_ordinal,
)
from nmt_cli.demo.tree import Pronoun
from tests.demo.trees import HE, ME, YOU, YOU_ALL, YOU_FORMAL, a, adjective, my, noun, the, verb


@pytest.mark.parametrize(
    ("number", "english", "german"),
    [
        (0, "zero", "null"),
        (1, "one", "eins"),
        (7, "seven", "sieben"),
        (11, "eleven", "elf"),
        (12, "twelve", "zwölf"),
        (13, "thirteen", "dreizehn"),
        (16, "sixteen", "sechzehn"),
        (17, "seventeen", "siebzehn"),
        (20, "twenty", "zwanzig"),
        (21, "twenty-one", "einundzwanzig"),
        (23, "twenty-three", "dreiundzwanzig"),
        (30, "thirty", "dreißig"),
        (40, "forty", "vierzig"),
        (66, "sixty-six", "sechsundsechzig"),
        (77, "seventy-seven", "siebenundsiebzig"),
        (99, "ninety-nine", "neunundneunzig"),
    ],
)
def test_numbers_are_spelled(number: int, english: str, german: str) -> None:
    assert (english_number(number), german_number(number)) == (english, german)


def test_no_two_numbers_are_spelled_alike() -> None:
    assert len({english_number(n) for n in range(100)}) == len({german_number(n) for n in range(100)}) == 100


@pytest.mark.parametrize("number", range(21, 100))
def test_german_says_the_ones_before_the_tens(number: int) -> None:
    tens, ones = divmod(number, 10)
    if ones:
        start = "ein" if ones == 1 else german_number(ones)
        assert german_number(number) == f"{start}und{german_number(tens * 10)}"


@pytest.mark.parametrize(
    ("number", "english", "german"),
    [
        (1, "first", "erste"),
        (2, "second", "zweite"),
        (3, "third", "dritte"),
        (5, "fifth", "fünfte"),
        (7, "seventh", "siebte"),
        (8, "eighth", "achte"),
        (12, "twelfth", "zwölfte"),
        (20, "twentieth", "zwanzigste"),
        (21, "twenty-first", "einundzwanzigste"),
        (28, "twenty-eighth", "achtundzwanzigste"),
    ],
)
def test_ordinals_are_spelled(number: int, english: str, german: str) -> None:
    assert (english_ordinal(number), german_ordinal(number)) == (english, german)


@pytest.mark.parametrize(
    ("hour", "minute", "english", "german"),
    [
        (7, 0, "seven o'clock", "sieben Uhr"),
        (1, 0, "one o'clock", "ein Uhr"),
        (7, 30, "half past seven", "halb acht"),
        (12, 30, "half past twelve", "halb eins"),
        (6, 15, "a quarter past six", "Viertel nach sechs"),
        (12, 45, "a quarter to one", "Viertel vor eins"),
        (3, 20, "twenty past three", "zwanzig nach drei"),
        (8, 55, "five to nine", "fünf vor neun"),
    ],
)
def test_german_counts_the_half_hour_towards_the_next(
    hour: int, minute: int, english: str, german: str
) -> None:
    assert (english_clock(hour, minute), german_clock(hour, minute)) == (english, german)


@pytest.mark.parametrize(
    ("case", "masculine", "feminine", "neuter", "plural"),
    [
        ("nominative", "der neue Hut", "die neue Jacke", "das neue Hemd", "die neuen Hüte"),
        ("accusative", "den neuen Hut", "die neue Jacke", "das neue Hemd", "die neuen Hüte"),
        ("dative", "dem neuen Hut", "der neuen Jacke", "dem neuen Hemd", "den neuen Hüten"),
        ("genitive", "des neuen Huts", "der neuen Jacke", "des neuen Hemds", "der neuen Hüte"),
    ],
)
def test_adjectives_are_weak_after_the_definite_article(
    case: str, masculine: str, feminine: str, neuter: str, plural: str
) -> None:
    phrases = [the("hat", is_="new"), the("jacket", is_="new"), the("shirt", is_="new")]
    phrases.append(the("hat", plural=True, is_="new"))
    assert [" ".join(noun_phrase(p, case)) for p in phrases] == [masculine, feminine, neuter, plural]


@pytest.mark.parametrize(
    ("case", "masculine", "feminine", "neuter"),
    [
        ("nominative", "ein teurer Hut", "eine teure Jacke", "ein teures Hemd"),
        ("accusative", "einen teuren Hut", "eine teure Jacke", "ein teures Hemd"),
        ("dative", "einem teuren Hut", "einer teuren Jacke", "einem teuren Hemd"),
    ],
)
def test_adjectives_are_mixed_after_the_indefinite_article(
    case: str, masculine: str, feminine: str, neuter: str
) -> None:
    phrases = [a("hat", is_="expensive"), a("jacket", is_="expensive"), a("shirt", is_="expensive")]
    assert [" ".join(noun_phrase(p, case)) for p in phrases] == [masculine, feminine, neuter]


@pytest.mark.parametrize(
    ("case", "mass", "counted"),
    [
        ("nominative", "frisches Brot", "drei frische Äpfel"),
        ("accusative", "frisches Brot", "drei frische Äpfel"),
        ("dative", "frischem Brot", "drei frischen Äpfeln"),
    ],
)
def test_adjectives_are_strong_without_an_article(case: str, mass: str, counted: str) -> None:
    bread = the("bread", is_="fresh")._replace(determiner="bare")
    apples = the("apple", plural=True, is_="fresh")._replace(determiner="count", number=3)
    assert [" ".join(noun_phrase(p, case)) for p in (bread, apples)] == [mass, counted]


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
    forms = [" ".join(noun_phrase(my(word), case)) for case in ("accusative", "genitive")]
    assert forms == [accusative, genitive]


@pytest.mark.parametrize(
    ("english", "infinitive", "forms", "order"),
    [
        ("work", "arbeiten", "arbeite arbeitest arbeitet arbeitet arbeiten", "arbeite"),
        ("read", "lesen", "lese liest liest lest lesen", "lies"),
        ("take", "nehmen", "nehme nimmst nimmt nehmt nehmen", "nimm"),
        ("drive", "fahren", "fahre fährst fährt fahrt fahren", "fahr"),
        ("iron", "bügeln", "bügle bügelst bügelt bügelt bügeln", "bügle"),
        ("play", "spielen", "spiele spielst spielt spielt spielen", "spiel"),
        ("dance", "tanzen", "tanze tanzt tanzt tanzt tanzen", "tanz"),
        ("draw", "zeichnen", "zeichne zeichnest zeichnet zeichnet zeichnen", "zeichne"),
        ("feed", "füttern", "füttere fütterst füttert füttert füttern", "füttere"),
    ],
)
def test_german_verbs_conjugate(english: str, infinitive: str, forms: str, order: str) -> None:
    word = verb(english, infinitive)
    assert [german_words.present(word, who) for who in (ME, YOU, HE, YOU_ALL, YOU_FORMAL)] == forms.split()
    assert german_words.imperative(word, "du") == order


@pytest.mark.parametrize(
    ("base", "third", "past", "gerund"),
    [
        ("stop", "stops", "stopped", "stopping"),
        ("carry", "carries", "carried", "carrying"),
        ("watch", "watches", "watched", "watching"),
        ("dance", "dances", "danced", "dancing"),
        ("visit", "visits", "visited", "visiting"),
        ("see", "sees", "saw", "seeing"),
        ("put", "puts", "put", "putting"),
        ("play", "plays", "played", "playing"),
    ],
)
def test_english_verbs_conjugate(base: str, third: str, past: str, gerund: str) -> None:
    word = next(word for word in lexicon.VERBS if word.base == base)
    forms = english_words.third(base), word.past, english_words.gerund(base)
    assert forms == (third, past, gerund)


@pytest.mark.parametrize(
    ("word", "english", "german"),
    [
        ("old", "older", "älter"),
        ("big", "bigger", "größer"),
        ("heavy", "heavier", "schwerer"),
        ("expensive", "more expensive", "teurer"),
        ("dark", "darker", "dunkler"),
        ("clever", "cleverer", "klüger"),
        ("nice", "nicer", "netter"),
    ],
)
def test_adjectives_compare(word: str, english: str, german: str) -> None:
    assert " ".join(english_words.comparative(word)) == english
    assert german_words.comparative(adjective(word)) == german


def test_the_article_follows_the_sound() -> None:
    words = ("apple", "book", "hour", "university", "umbrella")
    assert [english_words.article(word) for word in words] == ["an", "a", "an", "a", "an"]


def test_your_and_their_agree_with_their_owner() -> None:
    owners = (YOU, YOU_ALL, YOU_FORMAL, Pronoun(3, False, "f"), Pronoun(3, True), HE)
    phrases = [my("sister")._replace(owner=owner) for owner in owners]
    assert [noun_phrase(p, "dative")[0] for p in phrases] == "deiner eurer Ihrer ihrer ihrer seiner".split()  # noqa: SIM905


def test_a_mass_noun_has_no_plural() -> None:
    assert noun("milk").mass
    assert not noun("apple").mass
