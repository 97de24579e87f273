"""Random questions: with a question word, or to be answered with yes or no."""

from nmt_cli.demo import lexicon
from nmt_cli.demo.actions import EVENTS, INTENDED
from nmt_cli.demo.clauses import Clauses
from nmt_cli.demo.lexicon import Adverb
from nmt_cli.demo.tree import (
    Asked,
    Body,
    Clause,
    NounPhrase,
    Part,
    Person,
    Phrase,
    Pronoun,
)

OFTEN, NEVER = lexicon.FREQUENCY[0], lexicon.FREQUENCY[-1]
WHERE, WHEN, WHY = Adverb("where", "wo"), Adverb("when", "wann"), Adverb("why", "warum")
LOCATED = tuple(verb for verb in INTENDED if verb.places)
TRANSITIVE = tuple(verb for verb in EVENTS if len(verb.slots) == 1 and verb.slots[0].role == "accusative")


class Questions(Clauses):
    """A source of random questions."""

    def _plain_question(self, subject: Phrase | None) -> Body:
        if subject is None:
            subject = self.you() if self.chance(0.35) else self.person()
        tense, modal = self._question_tense()
        verbs = EVENTS if tense == "past" else INTENDED
        clause = self.action(subject=subject, tense=tense, modal=modal, depth=1, verbs=verbs)
        parts = tuple(Part("frequency", OFTEN) if part.value is NEVER else part for part in clause.parts)
        return clause._replace(negated=False, parts=parts)

    def _question_tense(self) -> tuple[str, str]:
        tense = self.weighted({"past": 45, "future": 15, "present": 15, "modal": 25})
        if tense == "modal":
            return "present", self.weighted({"can": 40, "must": 25, "want": 25, "may": 10})
        return tense, ""

    def _asking(self, *, tense: str = "", embedded: bool = False) -> Clause:
        """A question with where, when, why, who, what, which or how many."""
        word = self.weighted(
            {"where": 20, "when": 20, "why": 20, "who": 14, "what": 8, "which": 18, "how many": 8}
        )
        modal = ""
        if not tense:
            tense, modal = self._question_tense()
        if word == "why" and modal in ("can", "may"):
            modal = "must"
        if word in ("where", "when", "why"):
            return self._asked_about(word, tense, modal)
        if word == "who":
            clause = self.action(subject=Asked(True), tense=tense, modal=modal, depth=1, verbs=INTENDED)
            return clause._replace(negated=False)
        clause = self.action(tense=tense, modal=modal, depth=0, verbs=TRANSITIVE, light=not embedded)
        thing = clause.parts[0].value
        if not isinstance(thing, NounPhrase) or thing.noun.mass or word == "what":
            person = isinstance(thing, Pronoun | Person) or (
                isinstance(thing, NounPhrase) and thing.noun.person
            )
            asked: Phrase = Asked(person)
        elif word == "which" or thing.noun.kinds[0] in ("kin", "room", "cause"):
            asked = NounPhrase(thing.noun, "which", adjective=thing.adjective)
        else:
            asked = NounPhrase(thing.noun, "how_many", True, thing.adjective)
        parts = (Part("accusative", asked), *clause.parts[1:])
        return clause._replace(parts=parts, front=0, negated=False)

    def _asked_about(self, word: str, tense: str, modal: str) -> Clause:
        adverb, role = {"where": (WHERE, "place"), "when": (WHEN, "time"), "why": (WHY, "time")}[word]
        verbs = INTENDED if modal or word == "when" else EVENTS
        verbs = LOCATED if word == "where" else verbs
        clause = self.action(tense=tense, modal=modal, depth=1, verbs=verbs, light=True)
        dropped = {"where": ("place", "frequency"), "when": ("time", "frequency"), "why": ()}[word]
        parts = tuple(part for part in clause.parts if part.role not in dropped)
        negated = clause.negated and word == "why" and not modal
        return clause._replace(parts=(*parts, Part(role, adverb)), front=len(parts), negated=negated)
