"""Trees written by hand, and the sentences a person would write for them."""

from random import Random

import pytest

from nmt_cli.demo import lexicon
from nmt_cli.demo.complements import described
from nmt_cli.demo.lexicon import EXIST, PRONOUNS, THERE, Pronoun
from nmt_cli.demo.phrases import Dice
from nmt_cli.demo.tree import (
    Body,
    Both,
    Clause,
    Complement,
    Constituent,
    Coordination,
    NounPhrase,
    Person,
    PrepPhrase,
    Quality,
    Subordination,
)
from tests.demo.trees import (
    ANNA,
    HE,
    ME,
    OPEN,
    PETER,
    READ,
    SHE,
    THEY,
    TIRED,
    WE,
    YOU,
    YOU_ALL,
    YOU_FORMAL,
    a,
    acc,
    adjective,
    be,
    both,
    dat,
    direction,
    do,
    gap,
    governed,
    my,
    noun,
    place,
    the,
    to,
    word,
)

TO_OPEN, IN_ORDER_TO_OPEN = Complement("to", OPEN), Complement("in order to", OPEN)
THE_BOOK, THE_WINDOW = acc(the("book")), acc(the("window"))
YEARS, HOURS = (NounPhrase(noun(unit), "count", True, number=2) for unit in ("year", "hour"))


def knows(body: Body, conjunction: str = "that") -> Clause:
    return do(ANNA, "know", "wissen", complement=Complement(conjunction, body))


def at(preposition: str, german: str, phrase: NounPhrase | lexicon.Word, case: str = "dative") -> Constituent:
    return Constituent("time", PrepPhrase(preposition, german, case, phrase))


SLEPT, AT_ONE = do(HE, "sleep", "schlafen", tense="past"), at("at", "um", lexicon.clock_time(1, 0))


def on_table(object_: str, infinitive: str) -> Clause:
    return do(HE, "put", infinitive, acc(the(object_)), direction("on", "auf", the("table")))


VERB_POSITIONS: dict[str, Body] = {
    "Anna read the book. | Anna hat das Buch gelesen.": READ,
    "Yesterday, Anna read the book. | Gestern hat Anna das Buch gelesen.": READ._replace(
        parts=(THE_BOOK, Constituent("time", word("yesterday"))), front=1
    ),
    "Anna read the book because he was tired. | Anna hat das Buch gelesen, weil er müde war.": Subordination(
        READ, "because", TIRED._replace(subject=HE)
    ),
    "Because she was tired, he read the book. | Weil sie müde war, hat er das Buch gelesen.": Subordination(
        READ._replace(subject=HE), "because", TIRED, first=True
    ),
    "Anna knows that Anna read the book. | Anna weiß, dass Anna das Buch gelesen hat.": knows(READ),
    "Anna knows that Anna knows whether he slept. | Anna weiß, dass Anna weiß, ob er geschlafen hat.": knows(
        knows(SLEPT, "whether")
    ),
    "Anna knows that he slept, and she was tired. | Anna weiß, dass er geschlafen hat, und sie war müde.": (
        Coordination(knows(SLEPT), "and", TIRED)
    ),
    "She was tired, and therefore he slept. | Sie war müde und deshalb hat er geschlafen.": Coordination(
        TIRED, "and therefore", SLEPT
    ),
    "She was tired after Anna had read the book. | Sie war müde, nachdem Anna das Buch gelesen hatte.": Subordination(
        TIRED, "after", READ._replace(tense="pluperfect")
    ),
    "She was tired when Anna read the book. | Sie war müde, als Anna das Buch gelesen hat.": Subordination(
        TIRED, "when", READ
    ),
    "Peter opens the window when he returns. | Peter macht das Fenster auf, wenn er zurückkommt.": Subordination(
        OPEN, "when", do(HE, "return", "zurückkommen")
    ),
}

SEPARABLE_PREFIXES: dict[str, Body] = {
    "Peter opens the window. | Peter macht das Fenster auf.": OPEN,
    "Peter opened the window. | Peter hat das Fenster aufgemacht.": OPEN._replace(tense="past"),
    "Peter will open the window. | Peter wird das Fenster aufmachen.": OPEN._replace(tense="future"),
    "Peter must open the window. | Peter muss das Fenster aufmachen.": OPEN._replace(modal="must"),
    "Peter is opening the window. | Peter macht gerade das Fenster auf.": OPEN._replace(tense="progressive"),
    "Anna knows that Peter opens the window. | Anna weiß, dass Peter das Fenster aufmacht.": knows(OPEN),
    "Peter tried to open the window. | Peter hat versucht, das Fenster aufzumachen.": do(
        PETER, "try", "versuchen", complement=TO_OPEN, tense="past"
    ),
    "Anna asked him to open the window. | Anna hat ihn gebeten, das Fenster aufzumachen.": do(
        ANNA, "ask", "bitten", acc(HE), tense="past", complement=TO_OPEN
    ),
    "Anna turns it on. | Anna schaltet sie ein.": do(ANNA, "turn", "einschalten", acc(PRONOUNS["it (die)"])),
    "He returns in order to open the window. | Er kommt zurück, um das Fenster aufzumachen.": do(
        HE, "return", "zurückkommen", complement=IN_ORDER_TO_OPEN
    ),
}

CASES: dict[str, Body] = {
    "I help the boy. | Ich helfe dem Jungen.": do(ME, "help", "helfen", dat(the("boy"))),
    "We give the children a new book. | Wir geben den Kindern ein neues Buch.": do(
        WE, "give", "geben", dat(the("child", plural=True)), acc(a("book", is_="new"))
    ),
    "She explained the rule to my uncle. | Sie hat meinem Onkel die Regel erklärt.": do(
        SHE, "explain", "erklären", to(my("uncle")), acc(the("rule")), tense="past"
    ),
    "He waits for the bus. | Er wartet auf den Bus.": do(
        HE, "wait", "warten", governed("auf", "accusative", the("bus"))
    ),
    "He went to the park. | Er ist in den Park gegangen.": do(
        HE, "go", "gehen", direction("to", "in", the("park")), tense="past"
    ),
    "He works in the hospital. | Er arbeitet im Krankenhaus.": do(
        HE, "work", "arbeiten", place("in", "in", the("hospital"))
    ),
    "He goes to the university. | Er geht zur Universität.": do(
        HE, "go", "gehen", direction("to", "zu", the("university"), "dative")
    ),
    "He sees my brother's dog. | Er sieht den Hund meines Bruders.": do(
        HE, "see", "sehen", acc(NounPhrase(noun("dog"), "genitive", owner=my("brother")))
    ),
    "He sees Anna's dog. | Er sieht Annas Hund.": do(
        HE, "see", "sehen", acc(NounPhrase(noun("dog"), "genitive", owner=ANNA))
    ),
    "I remember you. | Ich erinnere mich an dich.": do(
        ME, "remember", "erinnern", governed("an", "accusative", YOU)
    ),
    "You watched the film. | Du hast dir den Film angesehen.": do(
        YOU, "watch", "ansehen", acc(the("film")), tense="past"
    ),
    "Anna and I visit Mr. Weber. | Anna und ich besuchen Herrn Weber.": do(
        Both(ANNA, ME), "visit", "besuchen", acc(Person(word("Weber"), "m"))
    ),
}

NEGATION: dict[str, Body] = {
    "Anna did not read the book. | Anna hat das Buch nicht gelesen.": READ._replace(negated=True),
    "Anna did not read a book. | Anna hat kein Buch gelesen.": READ._replace(
        negated=True, parts=(acc(a("book")),)
    ),
    "He does not drink milk. | Er trinkt keine Milch.": do(
        HE, "drink", "trinken", acc(NounPhrase(noun("milk"), "bare")), negated=True
    ),
    "She was not tired. | Sie war nicht müde.": TIRED._replace(negated=True),
    "He does not live in Vienna. | Er wohnt nicht in Wien.": do(
        HE, "live", "wohnen", place("in", "in", word("Vienna")), negated=True
    ),
    "He is not a student. | Er ist kein Student.": be(
        HE, NounPhrase(noun("student"), "profession"), negated=True
    ),
    "He is a student. | Er ist Student.": be(HE, NounPhrase(noun("student"), "profession")),
    "Peter does not have to open the window. | Peter muss das Fenster nicht aufmachen.": OPEN._replace(
        modal="must", negated=True
    ),
    "Peter cannot open the window. | Peter kann das Fenster nicht aufmachen.": OPEN._replace(
        modal="can", negated=True
    ),
    "He does not play the piano. | Er spielt nicht Klavier.": do(
        HE, "play", "spielen", acc(NounPhrase(noun("piano"), "played")), negated=True
    ),
    "He does not learn German. | Er lernt kein Deutsch.": do(
        HE, "learn", "lernen", acc(NounPhrase(noun("German"), "named")), negated=True
    ),
    "He does not like to swim. | Er schwimmt nicht gern.": do(
        HE, "swim", "schwimmen", modal="like", negated=True
    ),
    "There is no bakery in the village. | Es gibt keine Bäckerei im Dorf.": Clause(
        THERE, EXIST, (acc(a("bakery")), place("in", "in", the("village"))), negated=True
    ),
}

TIMES_AND_NUMBERS: dict[str, Body] = {
    "It is half past seven. | Es ist halb acht.": be(lexicon.IT, lexicon.clock_time(7, 30)),
    "The train leaves at a quarter to one. | Der Zug fährt um Viertel vor eins ab.": do(
        the("train"), "leave", "abfahren", at("at", "um", lexicon.clock_time(12, 45))
    ),
    "Peter opens the window on Monday at one o'clock. | Peter macht am Montag um ein Uhr das Fenster auf.": (
        OPEN._replace(parts=(THE_WINDOW, Constituent("time", word("on Monday")), AT_ONE))
    ),
    "On the third of May, Anna read the book. | Am dritten Mai hat Anna das Buch gelesen.": READ._replace(
        parts=(THE_BOOK, at("on", "an", NounPhrase(noun("May"), "ordinal", number=3))), front=1
    ),
    "Anna read the book two years ago. | Anna hat vor zwei Jahren das Buch gelesen.": READ._replace(
        parts=(THE_BOOK, at("ago", "vor", YEARS))
    ),
    "Anna sleeps for two hours. | Anna schläft zwei Stunden lang.": do(
        ANNA, "sleep", "schlafen", at("for", "lang", HOURS, "accusative")
    ),
    "Anna is twenty-three years old. | Anna ist dreiundzwanzig Jahre alt.": be(
        ANNA, PrepPhrase("old", "alt", "accusative", YEARS._replace(number=23))
    ),
}

COMPARISONS_AND_RELATIVE_CLAUSES: dict[str, Body] = {
    "The man who was tired sleeps. | Der Mann, der müde war, schläft.": do(
        the("man", relative=TIRED._replace(subject=gap("man"))), "sleep", "schlafen"
    ),
    "I saw the woman whom he helped. | Ich habe die Frau gesehen, der er geholfen hat.": do(
        ME,
        "see",
        "sehen",
        acc(the("woman", relative=do(HE, "help", "helfen", dat(gap("woman")), tense="past", front=0))),
        tense="past",
    ),
    "The house in which we live is old. | Das Haus, in dem wir wohnen, ist alt.": be(
        the("house", relative=do(WE, "live", "wohnen", place("in", "in", gap("house")), front=0)),
        Quality(adjective("old")),
    ),
    "Peter is taller than Anna. | Peter ist größer als Anna.": be(
        PETER, Quality(adjective("tall"), "more", ANNA)
    ),
    "The house is as old as the castle. | Das Haus ist so alt wie das Schloss.": be(
        the("house"), Quality(adjective("old"), "as", the("castle"))
    ),
}

QUESTIONS: dict[str, Body] = {
    "Did Anna read the book? | Hat Anna das Buch gelesen?": READ,
    "Can Peter open the window? | Kann Peter das Fenster aufmachen?": OPEN._replace(modal="can"),
    "Where did Anna read the book? | Wo hat Anna das Buch gelesen?": READ._replace(
        parts=(THE_BOOK, Constituent("place", word("where"))), front=1
    ),
    "Who read the book? | Wer hat das Buch gelesen?": READ._replace(subject=lexicon.WHO),
    "Which novel did Anna read? | Welchen Roman hat Anna gelesen?": READ._replace(
        parts=(acc(NounPhrase(noun("novel"), "which")),), front=0
    ),
    "Which film does Anna like? | Welcher Film gefällt Anna?": do(
        ANNA, "like", "gefallen", acc(NounPhrase(noun("film"), "which")), front=0
    ),
}

BANK_OF_THE_RIVER = NounPhrase(noun("bank", "Ufer"), "definite", of=the("river"))
TWO_MEANINGS: dict[str, Body] = {
    "I know the man. | Ich kenne den Mann.": do(ME, "know", "kennen", acc(the("man"))),
    "I know whether Peter opens the window. | Ich weiß, ob Peter das Fenster aufmacht.": do(
        ME, "know", "wissen", complement=Complement("whether", OPEN)
    ),
    "He left the hotel. | Er hat das Hotel verlassen.": do(
        HE, "leave", "verlassen", acc(the("hotel")), tense="past"
    ),
    "The bus left. | Der Bus ist abgefahren.": do(the("bus"), "leave", "abfahren", tense="past"),
    "He puts the bottle on the table. | Er stellt die Flasche auf den Tisch.": on_table("bottle", "stellen"),
    "He puts the letter on the table. | Er legt den Brief auf den Tisch.": on_table("letter", "legen"),
    "I visit the castle. | Ich besuche das Schloss.": do(ME, "visit", "besuchen", acc(the("castle"))),
    "I repair the lock. | Ich repariere das Schloss.": do(ME, "repair", "reparieren", acc(the("lock"))),
    "He sits on the bench. | Er sitzt auf der Bank.": do(
        HE, "sit", "sitzen", place("on", "auf", the("bench"))
    ),
    "He works at the bank. | Er arbeitet in der Bank.": do(
        HE, "work", "arbeiten", place("at", "in", the("bank"))
    ),
    "He sleeps on the bank of the river. | Er schläft am Ufer des Flusses.": do(
        HE, "sleep", "schlafen", place("on", "an", BANK_OF_THE_RIVER)
    ),
    "I like the dress. | Das Kleid gefällt mir.": do(ME, "like", "gefallen", acc(the("dress"))),
    "I like the soup. | Die Suppe schmeckt mir.": do(ME, "like", "schmecken", acc(the("soup"))),
}

STATEMENTS = {
    **VERB_POSITIONS,
    **SEPARABLE_PREFIXES,
    **CASES,
    **NEGATION,
    **TIMES_AND_NUMBERS,
    **COMPARISONS_AND_RELATIVE_CLAUSES,
    **TWO_MEANINGS,
}


@pytest.mark.parametrize("expected", STATEMENTS)
def test_a_statement_is_what_a_person_would_write(expected: str) -> None:
    assert " | ".join(both(STATEMENTS[expected])) == expected


@pytest.mark.parametrize("expected", QUESTIONS)
def test_a_question_puts_the_verb_where_it_belongs(expected: str) -> None:
    assert " | ".join(both(QUESTIONS[expected], kind="question")) == expected


@pytest.mark.parametrize(
    ("you", "address", "expected"),
    [
        (YOU, ANNA, "Anna, bitte gib ihnen den Schlüssel zurück!"),
        (YOU_FORMAL, Person(word("Weber"), "f"), "Frau Weber, bitte geben Sie ihnen den Schlüssel zurück!"),
        (
            YOU_ALL,
            the("child", plural=True)._replace(determiner="bare"),
            "Kinder, bitte gebt ihnen den Schlüssel zurück!",
        ),
    ],
)
def test_an_order_takes_the_register_of_the_person_addressed(
    you: Pronoun, address: Person | NounPhrase, expected: str
) -> None:
    order = do(you, "return", "zurückgeben", to(THEY), acc(the("key")))
    english, german = both(order, kind="order", address=address)
    assert english.endswith(", please return the key to them!")
    assert german == expected


@pytest.mark.parametrize(("thing", "pronoun"), [("coat", "er"), ("jacket", "sie"), ("dress", "es")])
def test_it_takes_the_gender_of_what_it_refers_to(thing: str, pronoun: str) -> None:
    bought = do(ME, "buy", "kaufen", acc(the(thing)), tense="past")
    reason = described(Dice(Random(1)), noun(thing), plural=False, tense="past")
    english, german = both(Subordination(bought, "because", reason))
    assert english.startswith(f"I bought the {thing} because it was ")
    assert f", weil {pronoun} " in german
