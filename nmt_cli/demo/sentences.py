"""Random sentences: statements, questions and orders."""

from nmt_cli.demo import lexicon
from nmt_cli.demo.actions import INTENDED, ORDERED
from nmt_cli.demo.connections import Connections
from nmt_cli.demo.phrases import choices
from nmt_cli.demo.tree import Clause, Clock, Expletive, NounPhrase, Part, Person, Phrase, Sentence

KINDS = {
    "simple": 19, "yes or no": 9, "question word": 10, "order": 7, "subordination": 17, "content": 15,
    "infinitive": 6, "control": 4, "feasible": 2, "purpose": 3, "coordination": 6, "clock": 1, "chain": 20,
}  # fmt: skip


class Sentences(Connections):
    """A source of random sentences; everything in one sentence is drawn from one state."""

    def sentence(self) -> Sentence:
        """One sentence."""
        self.used.clear()
        self.register = "du"
        address = self._address() if self.chance(0.07) else None
        kind = self.weighted({"order": 30, "yes or no": 40, "simple": 30} if address else KINDS)
        match kind:
            case "order":
                return self._order(address)
            case "yes or no":
                return Sentence("question", self._plain_question(self.you() if address else None), address)
            case "question word":
                return Sentence("question", self._asking())
            case "clock":
                return Sentence("statement", self._clock())
        if address:
            modal = self.weighted({"must": 40, "should": 30, "can": 20, "may": 10})
            return Sentence("statement", self._modal(self.you(), modal), address)
        return Sentence("statement", self._body(kind, depth=2))

    def _address(self) -> Phrase:
        """Whom the sentence speaks to; it decides between du, ihr and Sie."""
        how = self.weighted({"du": 40, "Sie": 45, "ihr": 15})
        self.register = how
        if how == "du":
            return self.name()
        if how == "Sie":
            return Person(self.fresh(lexicon.SURNAMES), self.pick("mf"))
        return NounPhrase(choices(("!child",))[0], "bare", True)

    def _modal(self, subject: Phrase, modal: str = "", tense: str = "present") -> Clause:
        options = {"can": 30, "must": 30, "want": 25, "would like": 15}
        return self.action(
            subject=subject, tense=tense, modal=modal or self.weighted(options), verbs=INTENDED, depth=1
        )

    def _order(self, address: Phrase | None) -> Sentence:
        clause = self.action(subject=self.you(), tense="order", verbs=ORDERED, depth=1, light=True)
        return Sentence("order", clause._replace(tense="present"), address)

    def _clock(self) -> Clause:
        """It is half past seven."""
        clock = self.clock("")
        return Clause(Expletive("it"), lexicon.BE, (Part("predicate", Clock(clock.hour, clock.minute, "")),))
