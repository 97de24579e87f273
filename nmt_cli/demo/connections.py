"""Random connections: clauses inside clauses inside clauses, and clauses side by side."""

from nmt_cli.demo import lexicon
from nmt_cli.demo.actions import EVENTS, INTENDED, LASTING
from nmt_cli.demo.infinitives import Infinitives
from nmt_cli.demo.tree import (
    Body,
    Clause,
    Content,
    Coordination,
    NounPhrase,
    Phrase,
    Pronoun,
    Relation,
    Subordination,
)

CONJUNCTIONS = {
    "past": {"because": 30, "although": 18, "when": 18, "while": 12, "before": 10, "after": 12},
    "future": {"if": 40, "because": 15, "as soon as": 20, "before": 10, "so that": 15},
    "present": {"because": 40, "although": 25, "when": 35},
}
# What is over at some moment, so that something else can follow it.
COMPLETED = tuple(
    verb
    for verb in EVENTS
    if "d" not in verb.flags and verb.base not in ("hurry", "smoke", "laugh", "smile", "follow")
)
SAYING = [verb for verb, follows in lexicon.CLAUSE_VERBS.items() if "that" in follows]
TELLING = [
    (verb, [form for form in follows if form != "infinitive"])
    for verb, follows in lexicon.CLAUSE_VERBS.items()
    if follows != ("infinitive",)
]
DESCRIBED = ("clothes", "thing", "vehicle", "furniture", "text", "device")
REFLECTIVE = ("say", "believe", "know", "hope", "write", "claim", "forget")  # one may do that about oneself


class Connections(Infinitives):
    """A source of random clauses that hold other clauses."""

    def _body(self, kind: str, depth: int) -> Body:
        match kind:
            case "subordination":
                return self._subordination(depth)
            case "content":
                return self._content(depth)
            case "infinitive":
                return self._infinitive()
            case "control":
                return self._control()
            case "feasible":
                return self._feasible()
            case "purpose":
                return self._purpose()
            case "chain":
                return self._chain()
            case "coordination":
                return self._coordination(depth)
        return self._fronted(self.statement(depth=2), 0.4)

    def _subordination(self, depth: int) -> Subordination:
        """Somebody does something because, although, when, before…"""
        tense = self.weighted({"past": 50, "future": 27, "present": 23})
        conjunction = self.weighted(CONJUNCTIONS[tense])
        verbs = LASTING if conjunction == "while" else EVENTS if tense == "past" else INTENDED
        main = self.action(subject=self.person(), tense=tense, depth=1, light=True, verbs=verbs)
        if conjunction in ("as soon as", "before", "after", "while", "when") and tense != "present":
            # The subordinate clause tells the time.
            main = main._replace(parts=tuple(part for part in main.parts if part.role != "time"))
        subordinate = self._subordinate(conjunction, main, tense)
        # It must follow what it refers to.
        refers = isinstance(subordinate.subject, Pronoun) and subordinate.subject.thing
        if not refers and self.chance(0.35):
            return Subordination(main, conjunction, subordinate, first=True)
        if depth > 1 and self.chance(0.12):
            return Subordination(self._say(main, tense), conjunction, subordinate)
        return Subordination(self._fronted(main, 0.2), conjunction, subordinate)

    def _subordinate(self, conjunction: str, main: Clause, tense: str) -> Clause:
        """A clause that makes sense after the conjunction."""
        again = self._again(main.subject)
        sub_tense = "present" if tense == "future" else tense
        match conjunction:
            case "because" | "although":
                return self._reason(main, again, sub_tense)
            case "if":
                return self._condition(again)
            case "when" if tense == "present":
                return self._condition(again)
            case "while":
                return self.action(tense=tense, depth=0, light=True, verbs=LASTING)._replace(negated=False)
            case "so that":
                other = self.person() if self.chance(0.7) else again
                return self.action(
                    subject=other, tense="present", modal="can", depth=0, light=True, verbs=INTENDED
                )._replace(negated=False)
            case "after":
                clause = self.action(subject=again, tense="pluperfect", depth=1, light=True, verbs=COMPLETED)
                return clause._replace(negated=False)
        who = again if self.chance(0.4) else self.person()
        clause = self.action(subject=who, tense="event", depth=1, light=True, verbs=COMPLETED)
        return clause._replace(tense=sub_tense, negated=False)

    def _again(self, subject: Phrase) -> Phrase:
        """The same subject as a pronoun, if both languages give it the same gender."""
        return self.owner(subject) or self.person()

    def _reason(self, main: Clause, again: Phrase, tense: str, *, describing: bool = True) -> Clause:
        """Why somebody did it: mostly something about them or about the thing."""
        thing = self._mentioned(main) if describing else None
        now = 0 if main.tense == "present" else 12  # a habit does not hang on the weather of one day
        weights = {
            "mood": 20,
            "weather": now,
            "modal": 22,
            "thing": 40 if thing else 0,
            "have": 4,
            "other": 20,
        }
        kind = self.weighted(weights)
        if kind == "thing" and thing:
            return self.described(thing.noun, thing.plural, tense)
        if kind == "mood":
            return self.mood(again, tense)
        if kind == "weather":
            return self.weather(tense)
        if kind == "modal":
            modal = self.weighted({"want": 40, "must": 40, "can": 20})
            clause = self.action(subject=again, tense=tense, modal=modal, depth=1, light=True, verbs=INTENDED)
            return self._denied(clause) if modal == "can" else clause
        if kind == "have":
            return self.state("have", tense=tense, depth=0, subject=again)
        return self.action(subject=self.person(), tense=tense, depth=1, light=True, verbs=EVENTS)

    def _condition(self, again: Phrase) -> Clause:
        """What may come true: in the present, whatever happens then."""
        kind = self.weighted({"weather": 30, "mood": 20, "event": 50})
        if kind == "weather":
            return self.weather("present")._replace(tense="present")
        if kind == "mood":
            return self.mood(again, "present")
        who = again if self.chance(0.5) else self.person()
        event = self.action(subject=who, tense="event", depth=1, light=True, verbs=COMPLETED)
        return event._replace(tense="present")

    def _mentioned(self, clause: Clause) -> NounPhrase | None:
        """The one thing that it can refer to."""
        values = (
            part.value.phrase if isinstance(part.value, Relation) else part.value for part in clause.parts
        )
        things = [value for value in values if isinstance(value, NounPhrase)]
        if len(things) != 1 or things[0].noun.kinds[0] not in DESCRIBED:
            return None
        return None if things[0].relative or things[0].noun.mass else things[0]

    def _say(self, content: Body, tense: str) -> Clause:
        """Somebody says that…"""
        verb = self.pick(SAYING)
        outer = "present" if tense != "past" else "past"
        return Clause(self.person(), verb, (), outer, complement=Content("that", content))

    def _content(self, depth: int) -> Clause:
        """Somebody knows that, somebody asks whether or where; what is known may hold another such clause."""
        verb, follows = self.pick(TELLING)
        subject = self.person()
        state = "s" in verb.flags
        outer = "past" if self.chance(0.5 if state else 0.67) else "present"
        form = self.pick(follows)
        inner = "past" if outer == "past" else ""
        negated = verb.base in ("believe", "notice") and self.chance(0.35)
        if verb.base == "know":
            negated = form == "whether"
        if form == "whether" and self.chance(0.55):
            question = Content("", self._asking(tense=inner, embedded=True))
            return Clause(subject, verb, (), outer, negated=negated, complement=question)
        body = self._embedded(subject if verb.base in REFLECTIVE else None, inner, depth)
        parts = self.times("past")[:1] if outer == "past" and not state and self.chance(0.2) else []
        clause = Clause(subject, verb, tuple(parts), outer, negated=negated, complement=Content(form, body))
        return self._fronted(clause, 0.5)

    def _embedded(self, subject: Phrase | None, tense: str, depth: int) -> Body:
        deep = depth > 1
        weights = {"clause": 50, "again": 22, "content": 14 if deep else 0, "reason": 30 if deep else 0}
        kind = self.weighted(weights)
        if kind == "again" and subject:
            return self.action(subject=self._again(subject), tense=tense, depth=1)
        if kind == "content":
            inner = self._content(depth - 1)._replace(front=-1)
            return inner if not tense or inner.tense == tense else inner._replace(tense=tense)
        if kind == "reason":
            body = self._subordination(depth - 1)
            while body.first or (tense == "past" and self._tense_of(body) != "past"):
                body = self._subordination(depth - 1)
            return self._unfronted(body)
        return self.statement(tense=tense, depth=depth)

    def _tense_of(self, body: Body) -> str:
        while not isinstance(body, Clause):
            body = body.main if isinstance(body, Subordination) else body.left
        return body.tense

    def _unfronted(self, body: Subordination) -> Subordination:
        main = body.main
        return body._replace(main=main._replace(front=-1)) if isinstance(main, Clause) else body

    def _chain(self) -> Body:
        """Two sentences, each with a clause of its own, joined by and or but."""
        conjunction = self.weighted({"and": 55, "but": 45})
        left: Body = self._subordination(1) if self.chance(0.5) else self._content(1)
        past = self._tense_of(left) == "past"
        right: Body = self._subordination(1) if self.chance(0.5) else self._content(1)
        while (self._tense_of(right) == "past") != past:
            right = self._subordination(1) if self.chance(0.5) else self._content(1)
        return Coordination(left, conjunction, right)

    def _coordination(self, depth: int) -> Coordination:
        """Two clauses: and, but, and therefore."""
        conjunction = self.weighted({"and": 45, "but": 35, "and therefore": 20})
        tense = self.weighted({"past": 60, "present": 40})
        left = self.action(tense=tense, depth=1, light=True, verbs=EVENTS)
        again = self._again(left.subject)
        if conjunction == "and therefore":
            left = self._reason(left, left.subject, tense)
            subject = self.owner(left.subject) or self.person()
            right = self.action(subject=subject, tense=tense, depth=1, light=True, verbs=EVENTS)
            return Coordination(left, conjunction, right)
        if conjunction == "but":
            right = self._reason(left, again, tense, describing=False)
            return Coordination(self._fronted(left, 0.3), conjunction, right)
        subject = again if self.chance(0.6) else self.person()
        right = self.action(subject=subject, tense=tense, depth=1, light=True, verbs=EVENTS)
        left_body: Body = self._fronted(left, 0.4)
        if depth > 1 and self.chance(0.2):
            reason = self._reason(right, self._again(right.subject), tense)
            return Coordination(left_body, conjunction, Subordination(right, "because", reason))
        return Coordination(left_body, conjunction, right)
