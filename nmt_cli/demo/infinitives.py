"""Random clauses that hold an infinitive: try to, ask somebody to, in order to."""

from nmt_cli.demo import lexicon
from nmt_cli.demo.actions import EVENTS, INTENDED, heavy
from nmt_cli.demo.lexicon import Verb
from nmt_cli.demo.questions import Questions
from nmt_cli.demo.tree import (
    Clause,
    Expletive,
    Infinitive,
    Part,
    Phrase,
    Quality,
)

TRYING = [verb for verb, follows in lexicon.CLAUSE_VERBS.items() if "infinitive" in follows]
CONTROLLING = list(lexicon.CONTROL_VERBS.items())
MOTION = tuple(verb for verb in EVENTS if verb.slots and verb.slots[0].role in ("to", "ride", "city"))
GOALS = tuple(
    verb
    for verb in INTENDED
    if verb.slots and verb.slots[0].role in ("accusative", "dative", "recipient", "prepositional")
)


class Infinitives(Questions):
    """A source of random clauses with an infinitive."""

    def _fronted(self, clause: Clause, rate: float) -> Clause:
        """Put an adverbial of time or place first: in German the subject then follows the verb."""
        movable = [
            index
            for index, part in enumerate(clause.parts)
            if part.role == "time" or (part.role == "place" and clause.verb.places)
        ]
        if clause.front >= 0 or not movable or not self.chance(rate):
            return clause
        if sum(part.role == "time" for part in clause.parts) > 1:
            # On Monday at eight moves as one; the hour stays where it is, the day goes first.
            movable = movable[:1]
        return clause._replace(front=self.pick(movable))

    def _infinitive(self) -> Clause:
        """Somebody tries, forgets, promises to do something."""
        verb = self.pick(TRYING)
        subject = self.person()
        tense = self.weighted({"past": 55, "present": 30, "future": 15 if "s" not in verb.flags else 0})
        inner = self._done(subject, "future" if verb.base != "claim" else "past")
        return Clause(subject, verb, (), tense, complement=Infinitive(inner))

    def _control(self) -> Clause:
        """Somebody asks somebody to do something."""
        verb, case = self.pick(CONTROLLING)
        subject = self.person(joined=False)
        other = self.object_person(("person",), self.owner(subject), 0)
        inner = self._done(other, "future")
        tense = self.weighted({"past": 70, "future": 30})
        parts = [Part(case, other)]
        if tense == "past" and self.chance(0.2):
            parts += self.times("past")[:1]
        return self._fronted(Clause(subject, verb, tuple(parts), tense, complement=Infinitive(inner)), 1.0)

    def _done(self, subject: Phrase, tense: str, verbs: tuple[Verb, ...] = INTENDED) -> Clause:
        """What an infinitive says: an action whose subject is understood."""
        clause = self.action(subject=subject, tense="event", depth=1, light=True, verbs=verbs)
        parts = clause.parts
        if tense == "future" and not any(map(heavy, parts)) and self.chance(0.15):
            parts = (*parts, *self.times("future")[:1])
        return clause._replace(tense="present", negated=False, parts=parts)

    def _feasible(self) -> Clause:
        """It is important to…"""
        quality = Quality(self.pick(lexicon.FEASIBLE), "")
        if quality.adjective.english not in ("possible", "forbidden") and self.chance(0.3):
            quality = quality._replace(degree="very")
        it = Expletive("it")
        parts = (Part("predicate", quality),)
        clause = Clause(it, lexicon.BE, parts, self.pick(("present", "past")))
        negated = not quality.degree and self.chance(0.3)
        return clause._replace(negated=negated, complement=Infinitive(self._done(it, "present")))

    def _purpose(self) -> Clause:
        """Somebody does something in order to do something else."""
        tense = self.weighted({"past": 65, "future": 35})
        clause = self.action(tense=tense, depth=0, light=True, verbs=MOTION)
        goal = Infinitive(self._done(clause.subject, "present", GOALS), purpose=True)
        return self._fronted(clause._replace(negated=False, complement=goal), 0.5)
