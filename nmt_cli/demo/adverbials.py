"""Random adverbials: where, where to, when and for how long."""

from functools import cache

from nmt_cli.demo import lexicon, nouns
from nmt_cli.demo.lexicon import Adverb, Noun
from nmt_cli.demo.phrases import SHORE, Phrases, adjectives, choices
from nmt_cli.demo.tree import City, Clock, Date, Day, NounPhrase, Part, Relation, Season, Span

VEHICLES = {
    "far": ("!train", "!bus", "!car", "!motorcycle"),
    "near": ("!bus", "!tram", "!bicycle", "!taxi", "!car", "!motorcycle"),
}
SURFACES = {
    "onto": {
        ("on", "auf"): ("!table", "!shelf", "!chair", "!bed", "!desk", "!armchair", "!sofa", "!carpet"),
        ("under", "unter"): ("!table", "!bed", "!chair", "!desk"),
        ("next to", "neben"): ("!door", "!lamp", "!sofa", "!bed", "!window", "!cupboard"),
        ("behind", "hinter"): ("!door", "!cupboard", "!sofa", "!fridge"),
        ("into", "in"): ("!cupboard", "!box", "!basket", "!bag", "!fridge"),
        ("in front of", "vor"): ("!door", "!house", "!garage", "!window", "!bed"),
    },
    "hook": {
        ("on", "an"): ("!wall", "!door"),
        ("over", "über"): ("!bed", "!sofa", "!desk", "!table"),
        ("in", "in"): ("!cupboard",),
    },
    "seat": {
        ("on", "auf"): ("!chair", "!sofa", "!bed", "!bench", "!carpet", "!armchair"),
        ("under", "unter"): ("!tree", "!roof"),
        ("next to", "neben"): ("!window", "!door", "!oven"),
        ("in front of", "vor"): ("!house", "!television", "!computer", "!mirror"),
        ("behind", "hinter"): ("!house", "!tree", "!bush"),
    },
}


def _places() -> dict[str, tuple[str, str, str, str]]:
    table = {}
    for line in nouns.PLACES.strip().splitlines():
        names, _, prepositions = line.partition(":")
        at, to, german_at, german_to = prepositions.split()
        for name in names.split():
            table[name.replace("_", " ")] = (at, to, german_at, german_to)
    return table


PLACES = _places()


@cache
def places(kinds: tuple[str, ...]) -> tuple[Noun, ...]:
    """The nouns of these kinds that one can be at."""
    return tuple(noun for noun in choices(kinds) if noun.english in PLACES)


class Adverbials(Phrases):
    """A source of random adverbials."""

    def place(self, kinds: tuple[str, ...], *, depth: int = 0) -> Part:
        """Where something happens."""
        fitting = places(kinds)
        if "outdoors" in kinds and self.chance(0.1):
            water = NounPhrase(self.pick(choices(("!river", "!lake"))), "definite")
            return Part("place", Relation("on", "an", "dative", NounPhrase(SHORE, "definite", of=water)))
        noun = self.fresh(fitting)
        at, _, german_at, _ = PLACES[noun.english]
        return Part("place", Relation(at, german_at, "dative", self._site(noun, depth)))

    def direction(self) -> Part:
        """Where one goes on foot."""
        noun = self.fresh(places(("place",)))
        _, to, _, german_to = PLACES[noun.english]
        case = "dative" if german_to == "zu" else "accusative"
        return Part("direction", Relation(to, german_to, case, self._site(noun, 0)))

    def _site(self, noun: Noun, depth: int) -> NounPhrase:
        fitting = adjectives(noun)
        determiner = self.weighted({"definite": 80, "indefinite": 8, "this": 12})
        adjective = self.pick(fitting) if fitting and self.chance(0.15) else None
        site = NounPhrase(noun, determiner, adjective=adjective)
        if depth > 0 and determiner == "definite" and self.chance(0.1):
            site = site._replace(relative=self.relative(noun, False, depth - 1))
        return site

    def city(self, role: str) -> Part:
        """In Vienna, to Italy."""
        name = self.fresh(lexicon.CITIES if self.chance(0.7) else lexicon.COUNTRIES)
        if role == "direction":
            return Part(role, City("to", "nach", name))
        return Part(role, City("in", "in", name))

    def surface(self, table: str, role: str) -> Part:
        """On the table: accusative for where to, dative for where."""
        english, german = self.pick(list(SURFACES[table]))
        noun = self.fresh(choices(SURFACES[table][english, german]))
        case = "accusative" if role == "direction" else "dative"
        fitting = adjectives(noun)
        adjective = self.pick(fitting) if fitting and self.chance(0.2) else None
        return Part(role, Relation(english, german, case, NounPhrase(noun, "definite", adjective=adjective)))

    def vehicle(self, distance: str) -> Part:
        """By train: mit dem Zug."""
        noun = self.fresh(choices(VEHICLES[distance]))
        return Part("instrument", Relation("by", "mit", "dative", NounPhrase(noun, "by")))

    def clock(self, preposition: str = "at") -> Clock:
        """A time of day in steps of five minutes."""
        minute = self.pick((0, 0, 0, 5, 10, 15, 15, 20, 30, 30, 30, 40, 45, 45, 50, 55))
        return Clock(1 + int(self.draw() * 12), minute, preposition)

    def times(self, tense: str) -> list[Part]:
        """One or two adverbials of time that go with the tense."""
        if tense == "present":
            kind = self.weighted({"habit": 45, "weekday": 20, "daytime": 20, "season": 15})
            if kind == "habit":
                adverb = self.pick(lexicon.HABITUAL_TIMES)
                clear_day = adverb.english == "every day"
                return self._with_clock(adverb) if clear_day else [Part("time", adverb)]
            if kind == "weekday":
                return self._with_clock(Day(self.pick(lexicon.WEEKDAYS), "every"))
            if kind == "daytime":
                return [Part("time", self.pick(lexicon.DAY_TIMES))]
            return [Part("time", Season(self.pick(lexicon.SEASONS)))]
        kind = self.weighted({"fixed": 34, "weekday": 20, "date": 10, "span": 12, "clock": 14, "season": 10})
        past = tense in ("past", "pluperfect")
        if kind == "fixed":
            adverb = self.pick(lexicon.PAST_TIMES if past else lexicon.FUTURE_TIMES)
            clear_day = adverb.english in (
                "yesterday",
                "tomorrow",
                "the day before yesterday",
                "the day after tomorrow",
            )
            return self._with_clock(adverb) if clear_day else [Part("time", adverb)]
        if kind == "weekday":
            return self._with_clock(Day(self.pick(lexicon.WEEKDAYS)))
        if kind == "date":
            return [Part("time", Date(1 + int(self.draw() * 28), self.pick(lexicon.MONTHS)))]
        if kind == "span":
            unit = self.pick(lexicon.UNITS)
            return [Part("time", Span("ago" if past else "in", 1 + int(self.draw() ** 2 * 10), unit))]
        if kind == "clock":
            return [Part("time", self.clock())]
        return [Part("time", Season(self.pick(lexicon.MONTHS + lexicon.SEASONS[:3])))]

    def _with_clock(self, day: Adverb | Day) -> list[Part]:
        return [Part("time", day), *([Part("time", self.clock())] if self.chance(0.3) else [])]

    def duration(self) -> Part:
        """For three hours, until half past seven."""
        if self.chance(0.6):
            return Part("time", Span("for", 1 + int(self.draw() * 9), lexicon.UNITS[0]))
        return Part(
            "time", self.clock("until") if self.chance(0.6) else Day(self.pick(lexicon.WEEKDAYS), "until")
        )
