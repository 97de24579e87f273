"""Random actions: who does what, in a tense that fits the time."""

from nmt_cli.demo import lexicon
from nmt_cli.demo.adverbials import Adverbials
from nmt_cli.demo.lexicon import Adverb, Slot, Verb
from nmt_cli.demo.tree import (
    Both,
    Clause,
    Gap,
    NounPhrase,
    Part,
    Person,
    Phrase,
    Pronoun,
    Relation,
    agreement,
    relative_of,
)


def _manners(verb: Verb) -> list[Adverb]:
    # One talks about a thing, and one talks slowly: only the second needs no further object.
    if verb.slots and verb.slots[0].role == "prepositional" and verb.base != "wait":
        return []
    if verb.base == "wear":
        return []  # tragen, but nobody wears a hat with care
    return [adverb for adverb, suits in lexicon.MANNER.items() if verb.prefix + verb.infinitive in suits]


MANNERS = {verb: _manners(verb) for verb in lexicon.VERBS}
VAGUE = ("indefinite", "bare", "count")
DYNAMIC = ("progressive", "future", "pluperfect", "order", "event")
TENSES = {"past": 40, "present": 20, "future": 13, "progressive": 8, "modal": 13, "past modal": 6}
MODALS = {"can": 25, "must": 22, "want": 22, "should": 10, "may": 8, "would like": 13}
PAST_MODALS = {"can": 28, "must": 34, "want": 28, "may": 10}
ACTIONS = tuple(lexicon.VERBS)
PERSONAL = tuple(verb for verb in ACTIONS if verb.subjects[0] == "person")
LASTING = tuple(verb for verb in PERSONAL if "d" in verb.flags)
ORDERED = tuple(verb for verb in PERSONAL if "i" in verb.flags)
EVENTS = tuple(verb for verb in PERSONAL if "s" not in verb.flags)
INTENDED = tuple(verb for verb in EVENTS if "u" not in verb.flags)


def heavy(part: Part) -> bool:
    """It ends in a relative clause; an adverbial behind that would seem to belong to it."""
    return relative_of(part.value) is not None


class Actions(Adverbials):
    """A source of random actions."""

    def action(
        self,
        *,
        subject: Phrase | None = None,
        tense: str = "",
        depth: int = 1,
        light: bool = False,
        verbs: tuple[Verb, ...] = (),
        modal: str = "",
    ) -> Clause:
        """Somebody does something; whatever is not given is drawn."""
        options = verbs or (INTENDED if modal else PERSONAL if subject else ACTIONS)
        verb = self.fresh_verb(options)
        while ("s" in verb.flags and tense in DYNAMIC) or ("u" in verb.flags and tense == "future"):
            verb = self.fresh_verb(options)
        if subject is None:
            subject = self._subject(verb, depth)
        if not tense:
            tense, modal = self._tense(verb)
        # A habit is not about one thing that needs describing.
        habit = tense == "present" and not modal and "s" not in verb.flags
        parts = self._filled(verb.slots, subject, 0 if habit else depth, bulk="m" in verb.flags)
        if not any(heavy(part) for part in parts):
            parts += self._adverbials(verb, tense, modal, light=light)
        clause = Clause(subject, verb, tuple(parts), tense, modal)
        if habit or tense == "progressive" or self.chance(0.84):
            return clause
        return self._denied(clause)

    def _tense(self, verb: Verb) -> tuple[str, str]:
        if "s" in verb.flags:
            return ("present" if self.chance(0.7) else "past"), ""
        if verb.subjects[0] != "person":
            return self.weighted({"past": 50, "present": 25, "future": 25}), ""
        tense = self.weighted(TENSES)
        if "modal" in tense and "u" in verb.flags:
            return "past", ""
        if tense == "modal":
            return "present", self.weighted(MODALS)
        if tense == "past modal":
            return "past", self.weighted(PAST_MODALS)
        if tense == "present" and "d" in verb.flags and self.chance(0.5):
            return "present", "like"
        return tense, ""

    def _subject(self, verb: Verb, depth: int) -> Phrase:
        if verb.subjects[0] == "person":
            if depth > 0 and self.chance(0.15):
                return self.noun_phrase(("human", "job", "circle"), depth=depth)
            return self.person()
        if verb.subjects == ("human", "kin"):
            return self.person(joined=False)
        return self.noun_phrase(verb.subjects)

    def _filled(self, slots: tuple[Slot, ...], subject: Phrase, depth: int, *, bulk: bool) -> list[Part]:
        owner = self.owner(subject)
        parts: list[Part] = []
        for slot in slots:
            match slot.role:
                case "accusative" | "prepositional" | "dative" | "recipient":
                    # Only the object that comes last in English may end in a relative clause.
                    last = slot is (slots[0] if slots[0].role == "recipient" else slots[-1])
                    phrase = self._object(slot, owner, depth if last else 0, bulk=bulk)
                    relation = Relation("", slot.german_preposition, slot.case, phrase)
                    parts.append(Part(slot.role, relation if slot.role == "prepositional" else phrase))
                case "to":
                    parts.append(self.direction())
                case "city":
                    parts.append(self.city("direction"))
                case "ride":
                    far = self.chance(0.5)
                    parts.append(self.city("direction") if far else self.direction())
                    parts.append(self.vehicle("far" if far else "near"))
                case "onto" | "hook":
                    parts.append(self.surface(slot.role, "direction"))
                case "at":
                    parts.append(self._station(slot.kinds[0], depth))
        return parts

    def _object(self, slot: Slot, owner: Pronoun | None, depth: int, *, bulk: bool) -> Phrase:
        if set(slot.kinds) & {"person", "kin"}:
            return self.object_person(slot.kinds, owner, depth)
        phrase = self.noun_phrase(slot.kinds, owner=owner, depth=depth, bulk=bulk)
        if slot.role == "prepositional" and phrase.determiner == "bare":
            phrase = phrase._replace(determiner="definite")
        if phrase.noun.kinds[0] == "instrument" and slot.kinds == ("sport", "instrument"):
            return NounPhrase(phrase.noun, "named")
        return phrase

    def _station(self, kind: str, depth: int) -> Part:
        if kind == "home":
            if self.chance(0.6):
                return self.city("place")
            return self.place(("!city", "!village", "!island", "!farm", "!hotel"), depth=depth)
        if kind == "stay":
            city = self.chance(0.3)
            return self.city("place") if city else self.place(("sleeping", "leisure", "workplace"))
        return self.surface("seat", "place")

    def _adverbials(self, verb: Verb, tense: str, modal: str, *, light: bool) -> list[Part]:
        scale = 0.4 if light else 1.0
        parts: list[Part] = []
        fitting = MANNERS[verb]
        if fitting and self.chance(0.4):
            manner = self.pick(fitting)
            parts.append(Part("manner", manner))
            if manner.english == "immediately" and tense != "present":
                return parts  # Any other time would contradict it.
        if verb.places and self.chance(0.36 * scale):
            parts.append(self.place(verb.places))
        if tense in ("progressive", "event", "pluperfect") or "s" in verb.flags:
            return parts
        if tense == "order":
            time = self.clock() if self.chance(0.4) else self.pick(lexicon.FUTURE_TIMES)
            return [*parts, Part("time", time)] if self.chance(0.25) else parts
        if tense == "present" and not modal:
            if self.chance(0.5):
                return [*parts, Part("frequency", self.pick(lexicon.FREQUENCY))]
            return parts + self.times("present")
        if modal == "like":
            return parts
        if "d" in verb.flags and self.chance(0.25 * scale):
            return [*parts, self.duration()]
        if self.chance(0.5 * scale):
            parts += self.times("future" if modal and tense == "present" else tense)
        return parts

    def owner(self, subject: Phrase) -> Pronoun | None:
        """Whom his, her and their may refer to: only somebody whose gender both languages see."""
        known = agreement(subject)
        if isinstance(subject, Both | Person) or (isinstance(subject, Pronoun) and not subject.thing):
            return known
        if not isinstance(subject, NounPhrase | Gap) or not subject.noun.person:
            return None
        return known if known.gender != "n" or known.plural else None

    def _denied(self, clause: Clause) -> Clause:
        """The denial, where denying makes a plain sense."""
        if isinstance(clause.subject, NounPhrase) and clause.subject.determiner in VAGUE:
            return clause
        for part in clause.parts:
            phrase = part.value.phrase if isinstance(part.value, Relation) else part.value
            if part.role in ("frequency", "manner"):
                return clause
            if isinstance(phrase, NounPhrase):
                plain = part.role == "accusative" and not phrase.relative and phrase.determiner != "count"
                if phrase.determiner in VAGUE and not plain:
                    return clause
        return clause._replace(negated=True)
