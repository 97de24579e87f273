"""Trees written by hand, and the sentences a person would write for them."""

import pytest

from nmt_cli.demo import lexicon
from nmt_cli.demo.lexicon import Adverb
from nmt_cli.demo.tree import (
    Asked,
    Body,
    Both,
    City,
    Clause,
    Clock,
    Content,
    Coordination,
    Date,
    Day,
    Expletive,
    Gap,
    Infinitive,
    Measure,
    NounPhrase,
    Part,
    Person,
    Profession,
    Pronoun,
    Quality,
    Relation,
    Span,
    Subordination,
)
from tests.demo.trees import (
    ANNA,
    HE,
    ME,
    OPEN,
    PETER,
    SHE,
    THEY,
    WE,
    YOU,
    YOU_ALL,
    YOU_FORMAL,
    a,
    acc,
    adjective,
    both,
    dat,
    my,
    name,
    noun,
    the,
    verb,
)

YESTERDAY = Part("time", Adverb("yesterday", "gestern"))
READ = Clause(ANNA, verb("read", "lesen"), (acc(the("book")),), "past")
TIRED = Clause(SHE, lexicon.BE, (Part("predicate", Quality(adjective("tired"))),), "past")


def place(english: str, german: str, word: str, case: str = "dative", role: str = "place") -> Part:
    return Part(role, Relation(english, german, case, the(word)))


def say(body: Body, word: str = "that") -> Clause:
    return Clause(ANNA, verb("know", "wissen"), complement=Content(word, body))


VERB_PLACES: list[tuple[Body, str, str]] = [
    (READ, "Anna read the book.", "Anna hat das Buch gelesen."),
    (
        READ._replace(parts=(acc(the("book")), YESTERDAY), front=1),
        "Yesterday, Anna read the book.",
        "Gestern hat Anna das Buch gelesen.",
    ),
    (
        Subordination(READ, "because", TIRED._replace(subject=HE)),
        "Anna read the book because he was tired.",
        "Anna hat das Buch gelesen, weil er müde war.",
    ),
    (
        Subordination(READ._replace(subject=HE), "because", TIRED, first=True),
        "Because she was tired, he read the book.",
        "Weil sie müde war, hat er das Buch gelesen.",
    ),
    (say(READ), "Anna knows that Anna read the book.", "Anna weiß, dass Anna das Buch gelesen hat."),
    (
        say(say(READ._replace(subject=HE), "whether")),
        "Anna knows that Anna knows whether he read the book.",
        "Anna weiß, dass Anna weiß, ob er das Buch gelesen hat.",
    ),
    (
        Coordination(say(READ), "and", TIRED),
        "Anna knows that Anna read the book, and she was tired.",
        "Anna weiß, dass Anna das Buch gelesen hat, und sie war müde.",
    ),
    (
        Coordination(TIRED, "and therefore", READ),
        "She was tired, and therefore Anna read the book.",
        "Sie war müde und deshalb hat Anna das Buch gelesen.",
    ),
    (
        Subordination(TIRED, "after", READ._replace(tense="pluperfect")),
        "She was tired after Anna had read the book.",
        "Sie war müde, nachdem Anna das Buch gelesen hatte.",
    ),
]

SEPARABLE: list[tuple[Body, str, str]] = [
    (OPEN, "Peter opens the window.", "Peter macht das Fenster auf."),
    (OPEN._replace(tense="past"), "Peter opened the window.", "Peter hat das Fenster aufgemacht."),
    (OPEN._replace(tense="future"), "Peter will open the window.", "Peter wird das Fenster aufmachen."),
    (OPEN._replace(modal="must"), "Peter must open the window.", "Peter muss das Fenster aufmachen."),
    (
        OPEN._replace(tense="progressive"),
        "Peter is opening the window.",
        "Peter macht gerade das Fenster auf.",
    ),
    (say(OPEN), "Anna knows that Peter opens the window.", "Anna weiß, dass Peter das Fenster aufmacht."),
    (
        Clause(PETER, verb("try", "versuchen"), complement=Infinitive(OPEN), tense="past"),
        "Peter tried to open the window.",
        "Peter hat versucht, das Fenster aufzumachen.",
    ),
    (
        Clause(ANNA, verb("ask", "bitten"), (acc(HE),), "past", complement=Infinitive(OPEN)),
        "Anna asked him to open the window.",
        "Anna hat ihn gebeten, das Fenster aufzumachen.",
    ),
    (
        Clause(ANNA, verb("turn", "einschalten"), (acc(Pronoun(3, False, "f", thing=True)),)),
        "Anna turns it on.",
        "Anna schaltet sie ein.",
    ),
    (
        Clause(HE, verb("return", "zurückkommen"), complement=Infinitive(OPEN, purpose=True)),
        "He returns in order to open the window.",
        "Er kommt zurück, um das Fenster aufzumachen.",
    ),
]

CASES: list[tuple[Body, str, str]] = [
    (
        Clause(ME, verb("help", "helfen"), (dat(the("boy")),)),
        "I help the boy.",
        "Ich helfe dem Jungen.",
    ),
    (
        Clause(WE, verb("give", "geben"), (dat(the("child", plural=True)), acc(a("book", is_="new")))),
        "We give the children a new book.",
        "Wir geben den Kindern ein neues Buch.",
    ),
    (
        Clause(SHE, verb("explain", "erklären"), (Part("recipient", my("uncle")), acc(the("rule"))), "past"),
        "She explained the rule to my uncle.",
        "Sie hat meinem Onkel die Regel erklärt.",
    ),
    (
        Clause(
            HE,
            verb("wait", "warten"),
            (Part("prepositional", Relation("", "auf", "accusative", the("bus"))),),
        ),
        "He waits for the bus.",
        "Er wartet auf den Bus.",
    ),
    (
        Clause(HE, verb("go", "gehen"), (place("to", "in", "park", "accusative", "direction"),), "past"),
        "He went to the park.",
        "Er ist in den Park gegangen.",
    ),
    (
        Clause(HE, verb("work", "arbeiten"), (place("in", "in", "hospital"),)),
        "He works in the hospital.",
        "Er arbeitet im Krankenhaus.",
    ),
    (
        Clause(HE, verb("go", "gehen"), (place("to", "zu", "university", "dative", "direction"),)),
        "He goes to the university.",
        "Er geht zur Universität.",
    ),
    (
        Clause(HE, verb("see", "sehen"), (acc(NounPhrase(noun("dog"), "genitive", owner=my("brother"))),)),
        "He sees my brother's dog.",
        "Er sieht den Hund meines Bruders.",
    ),
    (
        Clause(HE, verb("see", "sehen"), (acc(NounPhrase(noun("dog"), "genitive", owner=ANNA)),)),
        "He sees Anna's dog.",
        "Er sieht Annas Hund.",
    ),
    (
        Clause(
            ME, verb("remember", "erinnern"), (Part("prepositional", Relation("", "an", "accusative", YOU)),)
        ),
        "I remember you.",
        "Ich erinnere mich an dich.",
    ),
    (
        Clause(YOU, verb("watch", "ansehen"), (acc(the("film")),), "past"),
        "You watched the film.",
        "Du hast dir den Film angesehen.",
    ),
    (
        Clause(Both(ANNA, ME), verb("visit", "besuchen"), (acc(Person(name("Weber"), "m")),)),
        "Anna and I visit Mr. Weber.",
        "Anna und ich besuchen Herrn Weber.",
    ),
]

DENIAL: list[tuple[Body, str, str]] = [
    (READ._replace(negated=True), "Anna did not read the book.", "Anna hat das Buch nicht gelesen."),
    (
        READ._replace(negated=True, parts=(acc(a("book")),)),
        "Anna did not read a book.",
        "Anna hat kein Buch gelesen.",
    ),
    (
        Clause(HE, verb("drink", "trinken"), (acc(NounPhrase(noun("milk"), "bare")),), negated=True),
        "He does not drink milk.",
        "Er trinkt keine Milch.",
    ),
    (TIRED._replace(negated=True), "She was not tired.", "Sie war nicht müde."),
    (
        Clause(HE, verb("live", "wohnen"), (Part("place", City("in", "in", name("Vienna"))),), negated=True),
        "He does not live in Vienna.",
        "Er wohnt nicht in Wien.",
    ),
    (
        Clause(HE, lexicon.BE, (Part("predicate", Profession(noun("doctor"))),), negated=True),
        "He is not a doctor.",
        "Er ist kein Arzt.",
    ),
    (
        Clause(HE, lexicon.BE, (Part("predicate", Profession(noun("doctor"))),)),
        "He is a doctor.",
        "Er ist Arzt.",
    ),
    (
        OPEN._replace(modal="must", negated=True),
        "Peter does not have to open the window.",
        "Peter muss das Fenster nicht aufmachen.",
    ),
    (
        OPEN._replace(modal="can", negated=True),
        "Peter cannot open the window.",
        "Peter kann das Fenster nicht aufmachen.",
    ),
    (
        Clause(HE, verb("play", "spielen"), (acc(NounPhrase(noun("piano"), "named")),), negated=True),
        "He does not play the piano.",
        "Er spielt nicht Klavier.",
    ),
    (
        Clause(HE, verb("swim", "schwimmen"), modal="like", negated=True),
        "He does not like to swim.",
        "Er schwimmt nicht gern.",
    ),
    (
        Clause(
            Expletive("there"), lexicon.EXIST, (acc(a("bakery")), place("in", "in", "village")), negated=True
        ),
        "There is no bakery in the village.",
        "Es gibt keine Bäckerei im Dorf.",
    ),
]

TIMES: list[tuple[Body, str, str]] = [
    (
        Clause(Expletive("it"), lexicon.BE, (Part("predicate", Clock(7, 30, "")),)),
        "It is half past seven.",
        "Es ist halb acht.",
    ),
    (
        Clause(the("train"), verb("leave", "abfahren"), (Part("time", Clock(12, 45)),)),
        "The train leaves at a quarter to one.",
        "Der Zug fährt um Viertel vor eins ab.",
    ),
    (
        OPEN._replace(
            parts=(acc(the("window")), Part("time", Day(name("Monday"))), Part("time", Clock(1, 0)))
        ),
        "Peter opens the window on Monday at one o'clock.",
        "Peter macht am Montag um ein Uhr das Fenster auf.",
    ),
    (
        READ._replace(parts=(acc(the("book")), Part("time", Date(3, name("May")))), front=1),
        "On the third of May, Anna read the book.",
        "Am dritten Mai hat Anna das Buch gelesen.",
    ),
    (
        READ._replace(parts=(acc(the("book")), Part("time", Span("ago", 2, lexicon.UNITS[4])))),
        "Anna read the book two years ago.",
        "Anna hat vor zwei Jahren das Buch gelesen.",
    ),
    (
        Clause(ANNA, lexicon.BE, (Part("predicate", Measure("age", 23)),)),
        "Anna is twenty-three years old.",
        "Anna ist dreiundzwanzig Jahre alt.",
    ),
]

RELATIVES: list[tuple[Body, str, str]] = [
    (
        Clause(
            NounPhrase(noun("man"), "definite", relative=TIRED._replace(subject=Gap(noun("man"), False))),
            verb("sleep", "schlafen"),
        ),
        "The man who was tired sleeps.",
        "Der Mann, der müde war, schläft.",
    ),
    (
        Clause(
            ME,
            verb("see", "sehen"),
            (
                acc(
                    NounPhrase(
                        noun("woman"),
                        "definite",
                        relative=Clause(
                            HE, verb("help", "helfen"), (dat(Gap(noun("woman"), False)),), "past", front=0
                        ),
                    )
                ),
            ),
            "past",
        ),
        "I saw the woman whom he helped.",
        "Ich habe die Frau gesehen, der er geholfen hat.",
    ),
    (
        Clause(
            NounPhrase(
                noun("house"),
                "definite",
                relative=Clause(
                    WE,
                    verb("live", "wohnen"),
                    (Part("place", Relation("in", "in", "dative", Gap(noun("house"), False))),),
                    front=0,
                ),
            ),
            lexicon.BE,
            (Part("predicate", Quality(adjective("big"), "more", the("castle"))),),
        ),
        "The house in which we live is bigger than the castle.",
        "Das Haus, in dem wir wohnen, ist größer als das Schloss.",
    ),
]

QUESTIONS: list[tuple[Body, str, str]] = [
    (READ, "Did Anna read the book?", "Hat Anna das Buch gelesen?"),
    (OPEN._replace(modal="can"), "Can Peter open the window?", "Kann Peter das Fenster aufmachen?"),
    (
        READ._replace(parts=(acc(the("book")), Part("place", Adverb("where", "wo"))), front=1),
        "Where did Anna read the book?",
        "Wo hat Anna das Buch gelesen?",
    ),
    (READ._replace(subject=Asked(True)), "Who read the book?", "Wer hat das Buch gelesen?"),
    (
        READ._replace(parts=(acc(NounPhrase(noun("novel"), "which")),), front=0),
        "Which novel did Anna read?",
        "Welchen Roman hat Anna gelesen?",
    ),
    (
        Clause(ANNA, verb("like", "gefallen"), (acc(NounPhrase(noun("film"), "which")),), front=0),
        "Which film does Anna like?",
        "Welcher Film gefällt Anna?",
    ),
]

TWO_MEANINGS: list[tuple[Body, str, str]] = [
    (Clause(ME, verb("know", "kennen"), (acc(the("man")),)), "I know the man.", "Ich kenne den Mann."),
    (
        Clause(ME, verb("know", "wissen"), complement=Content("whether", OPEN)),
        "I know whether Peter opens the window.",
        "Ich weiß, ob Peter das Fenster aufmacht.",
    ),
    (
        Clause(HE, verb("leave", "verlassen"), (acc(the("hotel")),), "past"),
        "He left the hotel.",
        "Er hat das Hotel verlassen.",
    ),
    (Clause(the("bus"), verb("leave", "abfahren"), (), "past"), "The bus left.", "Der Bus ist abgefahren."),
    (
        Clause(
            HE,
            verb("put", "stellen"),
            (acc(the("bottle")), place("on", "auf", "table", "accusative", "direction")),
        ),
        "He puts the bottle on the table.",
        "Er stellt die Flasche auf den Tisch.",
    ),
    (
        Clause(
            HE,
            verb("put", "legen"),
            (acc(the("letter")), place("on", "auf", "table", "accusative", "direction")),
        ),
        "He puts the letter on the table.",
        "Er legt den Brief auf den Tisch.",
    ),
    (
        Clause(ME, verb("visit", "besuchen"), (acc(the("castle")),)),
        "I visit the castle.",
        "Ich besuche das Schloss.",
    ),
    (
        Clause(ME, verb("repair", "reparieren"), (acc(the("lock")),)),
        "I repair the lock.",
        "Ich repariere das Schloss.",
    ),
    (
        Clause(HE, verb("sit", "sitzen"), (place("on", "auf", "bench"),)),
        "He sits on the bench.",
        "Er sitzt auf der Bank.",
    ),
    (
        Clause(HE, verb("work", "arbeiten"), (place("at", "in", "bank"),)),
        "He works at the bank.",
        "Er arbeitet in der Bank.",
    ),
    (
        Clause(
            HE,
            verb("sleep", "schlafen"),
            (
                Part(
                    "place",
                    Relation(
                        "on", "an", "dative", NounPhrase(noun("bank", "Ufer"), "definite", of=the("river"))
                    ),
                ),
            ),
        ),
        "He sleeps on the bank of the river.",
        "Er schläft am Ufer des Flusses.",
    ),
    (
        Subordination(TIRED, "when", READ),
        "She was tired when Anna read the book.",
        "Sie war müde, als Anna das Buch gelesen hat.",
    ),
    (
        Subordination(OPEN, "when", Clause(HE, verb("return", "zurückkommen"))),
        "Peter opens the window when he returns.",
        "Peter macht das Fenster auf, wenn er zurückkommt.",
    ),
    (
        Clause(ME, verb("like", "gefallen"), (acc(the("dress")),)),
        "I like the dress.",
        "Das Kleid gefällt mir.",
    ),
    (
        Clause(ME, verb("like", "schmecken"), (acc(the("soup")),)),
        "I like the soup.",
        "Die Suppe schmeckt mir.",
    ),
]


@pytest.mark.parametrize(
    ("tree", "english", "german"),
    [*VERB_PLACES, *SEPARABLE, *CASES, *DENIAL, *TIMES, *RELATIVES, *TWO_MEANINGS],
)
def test_a_statement_is_what_a_person_would_write(tree: Body, english: str, german: str) -> None:
    assert both(tree) == (english, german)


@pytest.mark.parametrize(("tree", "english", "german"), QUESTIONS)
def test_a_question_puts_the_verb_where_it_belongs(tree: Body, english: str, german: str) -> None:
    assert both(tree, kind="question") == (english, german)


def test_who_is_spoken_to_decides_between_du_ihr_and_sie() -> None:
    def order(you: Pronoun) -> Clause:
        return Clause(you, verb("return", "zurückgeben"), (Part("recipient", THEY), acc(the("key"))))

    assert both(order(YOU), kind="order", address=ANNA) == (
        "Anna, please return the key to them!",
        "Anna, bitte gib ihnen den Schlüssel zurück!",
    )
    weber = Person(name("Weber"), "f")
    assert both(order(YOU_FORMAL), kind="order", address=weber) == (
        "Mrs. Weber, please return the key to them!",
        "Frau Weber, bitte geben Sie ihnen den Schlüssel zurück!",
    )
    children = NounPhrase(noun("child"), "bare", True)
    assert both(order(YOU_ALL), kind="order", address=children) == (
        "Children, please return the key to them!",
        "Kinder, bitte gebt ihnen den Schlüssel zurück!",
    )


@pytest.mark.parametrize(("thing", "pronoun"), [("coat", "er"), ("jacket", "sie"), ("dress", "es")])
def test_it_takes_the_gender_of_what_it_refers_to(thing: str, pronoun: str) -> None:
    it = Pronoun(3, False, noun(thing).gender, thing=True)
    cheap = Clause(it, lexicon.BE, (Part("predicate", Quality(adjective("cheap"))),), "past")
    bought = Clause(ME, verb("buy", "kaufen"), (acc(the(thing)),), "past")
    english, german = both(Subordination(bought, "because", cheap))
    assert english == f"I bought the {thing} because it was cheap."
    assert german.endswith(f", weil {pronoun} billig war.")
