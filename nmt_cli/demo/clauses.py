"""Random clauses: actions, how somebody or something is, and relative clauses."""

from functools import cache

from nmt_cli.demo import lexicon
from nmt_cli.demo.actions import PERSONAL, Actions
from nmt_cli.demo.lexicon import Adjective, Noun, Verb
from nmt_cli.demo.phrases import AMBIGUOUS, PAIRED, adjectives, choices
from nmt_cli.demo.tree import (
    Clause,
    Expletive,
    Gap,
    Measure,
    NounPhrase,
    Part,
    Phrase,
    Profession,
    Pronoun,
    Quality,
    Relation,
)

SIMPLE = ("accusative", "dative", "prepositional")
STATEMENTS = {
    "action": 74, "quality": 6, "mood": 4, "comparison": 4, "have": 4, "profession": 1, "age": 1,
    "price": 2, "exist": 2, "weather": 2,
}  # fmt: skip

HOME_PLACES = ("house", "village", "city", "hotel", "island", "farm")
PRICED = ("thing", "device", "furniture", "clothes", "vehicle", "instrument")
QUALIFIED = (*PRICED[:5], "place", "room", "text", "event", "job", "human")


@cache
def verbs_for_object(noun: Noun) -> tuple[Verb, ...]:
    """The verbs of one object that take this noun as that object."""
    return tuple(
        verb
        for verb in lexicon.VERBS
        if len(verb.slots) == 1
        and verb.subjects[0] == "person"
        and verb.slots[0].role in SIMPLE
        and noun in choices(verb.slots[0].kinds)
    )


@cache
def gradable(noun: Noun) -> tuple[Adjective, ...]:
    """The adjectives of a noun that can be compared, which a color cannot."""
    return tuple(adjective for adjective in adjectives(noun) if adjective.german_comparative)


MOODS = [*lexicon.MOODS, *(a for a in lexicon.ADJECTIVES if a.english in ("tired", "sick", "hungry"))]
COMPARED = [a for a in lexicon.ADJECTIVES if "kin" in a.kinds and a.german_comparative]


class Clauses(Actions):
    """A source of random clauses."""

    def statement(self, *, tense: str = "", depth: int = 1, light: bool = False) -> Clause:
        """Something that can be said; `light` leaves out most of the adverbials."""
        kind = self.weighted(STATEMENTS)
        if kind == "action":
            return self.action(tense=tense, depth=depth, light=light)
        return self.state(kind, tense=tense, depth=depth)

    def state(self, kind: str, *, tense: str = "", depth: int = 1, subject: Phrase | None = None) -> Clause:
        """How somebody or something is."""
        tense = tense if tense in ("present", "past") else self.pick(("present", "past"))
        match kind:
            case "quality":
                return self.quality(subject, tense=tense, depth=depth)
            case "mood":
                return self.mood(subject or self.person(), tense)
            case "comparison":
                return self.comparison(tense)
            case "have":
                who = subject or self.person()
                thing = self._indefinite(self.noun_phrase(lexicon.HAVE.slots[0].kinds, depth=depth))
                clause = Clause(who, lexicon.HAVE, (Part("accusative", thing),), tense)
                return self._denied(clause) if self.chance(0.35) else clause
            case "profession":
                who = self.name()
                jobs = [noun for noun in choices(("job",)) if noun.gender == who.gender]
                job = Part("predicate", Profession(self.fresh(jobs)))
                return Clause(who, lexicon.BE, (job,), tense, negated=self.chance(0.3))
            case "age":
                number = 2 + int(self.draw() * 88)
                who = self.name() if self.chance(0.6) else self.noun_phrase(("kin",), plain=True)
                return Clause(who, lexicon.BE, (Part("predicate", Measure("age", number)),), tense)
            case "price":
                thing = self._singular(self.noun_phrase(PRICED, depth=depth))
                number = 2 + int(self.draw() * 97)
                return Clause(thing, lexicon.COST, (Part("accusative", Measure("price", number)),), tense)
            case "exist":
                return self.existence(tense)
            case _:
                return self.weather(tense)

    def quality(self, subject: Phrase | None = None, *, tense: str = "present", depth: int = 1) -> Clause:
        """Something is big, very old, too expensive."""
        if subject is None:
            phrase = self._singular(self.noun_phrase(QUALIFIED, depth=depth, plain=True))
            while phrase.noun.english in AMBIGUOUS or phrase.noun.mass or phrase.determiner == "indefinite":
                phrase = self._singular(self.noun_phrase(QUALIFIED, depth=depth, plain=True))
            described = phrase.relative is not None and phrase.relative.verb is lexicon.BE
            subject = phrase._replace(relative=None) if described else phrase
        assert isinstance(subject, NounPhrase | Gap)
        adjective = self.pick(adjectives(subject.noun))
        degree = self.weighted({"": 50, "very": 35, "too": 15}) if adjective.german_comparative else ""
        negated = not degree and self.chance(0.25)
        return Clause(
            subject, lexicon.BE, (Part("predicate", Quality(adjective, degree)),), tense, negated=negated
        )

    def described(self, noun: Noun, plural: bool, tense: str) -> Clause:
        """It is cheap, said of something just mentioned: the pronoun takes its gender."""
        adjective = self.pick(gradable(noun))
        degree = self.weighted({"": 50, "very": 35, "too": 15})
        subject = Pronoun(3, plural, noun.gender, thing=True)
        return Clause(subject, lexicon.BE, (Part("predicate", Quality(adjective, degree)),), tense)

    def mood(self, subject: Phrase, tense: str) -> Clause:
        """Somebody is happy, or not."""
        adjective = self.pick(MOODS)
        degree = "very" if self.chance(0.35) else ""
        negated = not degree and self.chance(0.3)
        return Clause(
            subject, lexicon.BE, (Part("predicate", Quality(adjective, degree)),), tense, negated=negated
        )

    def comparison(self, tense: str) -> Clause:
        """Anna is older than my brother; a thing is compared with a thing of its kind."""
        if self.chance(0.5):
            subject, other = self.person(joined=False), self.person(joined=False)
            fitting = COMPARED
            if isinstance(subject, Pronoun) and isinstance(other, Pronoun):
                other = self.name()
        else:
            kind = self.pick(("furniture", "vehicle", "clothes", "device", "text"))
            thing = self._singular(self.noun_phrase((kind,), plain=True))
            counterpart = self._singular(self.noun_phrase((kind,), plain=True))
            thing, counterpart = self._definite(thing), self._definite(counterpart)
            subject, other = thing, counterpart
            fitting = [
                adjective for adjective in gradable(thing.noun) if adjective in gradable(counterpart.noun)
            ]
        quality = Quality(self.pick(fitting), "more" if self.chance(0.7) else "as", other)
        return Clause(subject, lexicon.BE, (Part("predicate", quality),), tense)

    def existence(self, tense: str) -> Clause:
        """There is a bakery in this street."""
        if self.chance(0.5):
            noun = self.fresh(choices(("furniture", "device", "plant", "thing")))
            place = self.place(("tidy",))
        else:
            noun = self.fresh(choices(("run", "shop", "eating")))
            place = self.place(("!village", "!city", "!island", "!street"))
        count = 2 + int(self.draw() * 8) if self.chance(0.4) else 0
        adjective = self.pick(adjectives(noun)) if adjectives(noun) and self.chance(0.4) else None
        thing = NounPhrase(noun, "count" if count else "indefinite", count > 0, adjective, count)
        clause = Clause(Expletive("there"), lexicon.EXIST, (Part("accusative", thing), place), tense)
        return clause._replace(negated=not count and self.chance(0.3))

    def weather(self, tense: str) -> Clause:
        """It is raining, it was cold."""
        subject = Expletive("it")
        if self.chance(0.5):
            verb = self.pick(lexicon.WEATHER_VERBS)
            if tense == "present":
                return Clause(subject, verb, (), "progressive")
            time = self.times("past") if self.chance(0.4) else [self.duration()] if self.chance(0.3) else []
            return Clause(subject, verb, tuple(time), tense)
        quality = Quality(self.pick(lexicon.WEATHER_ADJECTIVES), "very" if self.chance(0.4) else "")
        return Clause(subject, lexicon.BE, (Part("predicate", quality),), tense)

    def relative(self, noun: Noun, plural: bool, depth: int) -> Clause | None:
        """Who lives in Vienna, that Anna bought yesterday, whose car is broken, in which he lives."""
        gap = Gap(noun, plural)
        if noun.english in HOME_PLACES and self.chance(0.4):
            return self._inhabited(gap)
        if noun.person and self.chance(0.6):
            return self._who(gap, depth)
        options = [verb for verb in verbs_for_object(noun) if verb.german_participle not in self.used]
        described = adjectives(noun) and noun.english not in AMBIGUOUS
        if described and (not options or self.chance(0.15)):
            return self.quality(gap, tense=self.pick(("present", "past")), depth=0)
        if not options:
            return None
        verb = self.fresh_verb(options)
        slot = verb.slots[0]
        subject = self.person()
        value = Relation("", slot.german_preposition, slot.case, gap) if slot.role == "prepositional" else gap
        tense = "past" if "s" not in verb.flags or self.chance(0.3) else "present"
        # A preposition left behind (the bus that Anna waited for) wants to be the last word.
        timed = tense == "past" and "s" not in verb.flags and slot.role != "prepositional"
        time = self.times("past") if timed and self.chance(0.3) else []
        return Clause(subject, verb, (Part(slot.role, value), *time), tense, front=0)

    def _who(self, gap: Gap, depth: int) -> Clause:
        if self.chance(0.2):
            thing = self.fresh(choices(("private", "pet", "carried", "clothes")))
            subject = NounPhrase(thing, "whose", owner=gap)
            adjective = self.pick(adjectives(thing))
            return Clause(
                subject, lexicon.BE, (Part("predicate", Quality(adjective)),), self.pick(("present", "past"))
            )
        verbs = (
            tuple(verb for verb in PERSONAL if verb.slots and verb.slots[0].role == "at")
            if self.chance(0.3)
            else ()
        )
        tense = "past" if self.chance(0.6) else "present"
        return self.action(subject=gap, tense=tense, depth=depth, light=True, verbs=verbs)

    def _inhabited(self, gap: Gap) -> Clause:
        live = next(verb for verb in PERSONAL if verb.base == "live")
        preposition = ("on", "auf") if gap.noun.english in ("island", "farm") else ("in", "in")
        place = Part("place", Relation(*preposition, "dative", gap))
        return Clause(self.person(), live, (place,), self.pick(("present", "past")), front=0)

    def _indefinite(self, phrase: NounPhrase) -> NounPhrase:
        if phrase.determiner == "count":
            return phrase
        return phrase._replace(determiner="indefinite", plural=False, owner=None)

    def _definite(self, phrase: NounPhrase) -> NounPhrase:
        return phrase._replace(determiner="definite") if phrase.determiner == "indefinite" else phrase

    def _singular(self, phrase: NounPhrase) -> NounPhrase:
        if phrase.noun.english in PAIRED:
            return phrase
        determiner = "definite" if phrase.determiner in ("count", "bare") else phrase.determiner
        relative = None if phrase.plural else phrase.relative
        return phrase._replace(plural=False, determiner=determiner, number=0, relative=relative)
