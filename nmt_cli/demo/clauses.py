"""Random clauses: who does what, in a tense that fits the time, and relative clauses.

The two need each other: an object may end in a relative clause, whose verb may take another object. `depth` says
how many relative clauses may still stand inside one another.
"""

from functools import cache

from nmt_cli.demo import lexicon, phrases, tree
from nmt_cli.demo.lexicon import BE, WORDS, Adjective, Noun, Pronoun, Slot, Verb, adjectives, nouns
from nmt_cli.demo.phrases import Dice, noun_phrase, person, place
from nmt_cli.demo.tree import Clause, Constituent, Gap, NounPhrase, Phrase, PrepPhrase, Quality

VAGUE = ("indefinite", "bare", "count")
PRESENT_OR_PAST = ("present", "past")
UNFIT = {tense: {"state"} for tense in ("progressive", "pluperfect", "order", "event")}
UNFIT["future"] = {"state", "unintended"}
DEGREES = {"": 50, "very": 35, "too": 15}
TENSES = {"past": 40, "present": 20, "future": 13, "progressive": 8, "modal": 13, "past modal": 6}
MODALS = {"can": 25, "must": 22, "want": 22, "should": 10, "may": 8, "would like": 13}
PAST_MODALS = {"can": 28, "must": 34, "want": 28, "may": 10}
ACTIONS = lexicon.VERBS["action"]
PERSONAL = tuple(verb for verb in ACTIONS if verb.subjects[0] == "person")
LASTING = tuple(verb for verb in PERSONAL if "lasting" in verb.traits)
ORDERED = tuple(verb for verb in PERSONAL if verb.german_imperative)
EVENTS = tuple(verb for verb in PERSONAL if "state" not in verb.traits)
INTENDED = tuple(verb for verb in EVENTS if "unintended" not in verb.traits)
STATIONARY = tuple(verb for verb in PERSONAL if verb.slots and verb.slots[0].role in ("home", "stay", "seat"))
(LIVE,) = (verb for verb in PERSONAL if verb.english == "live")


def action(
    dice: Dice,
    *,
    subject: Phrase | None = None,
    tense: str = "",
    depth: int = 1,
    light: bool = False,
    verbs: tuple[Verb, ...] = (),
    modal: str = "",
) -> Clause:
    """Somebody does something; whatever is not given is drawn. `light` leaves out most adverbials.

    Besides the tenses of a clause, `tense` can be `order` or `event`: something that takes place, without a time.
    """
    options = verbs or (INTENDED if modal else PERSONAL if subject else ACTIONS)
    verb = dice.fresh(options)
    while UNFIT.get(tense, set()).intersection(verb.traits):
        verb = dice.fresh(options)
    if subject is None:
        subject = _subject(dice, verb, depth)
    if not tense:
        tense, modal = _tense(dice, verb)
    habit = tense == "present" and not modal and "state" not in verb.traits
    # A habit is not about one thing that needs describing.
    parts = _arguments(dice, verb, subject, 0 if habit else depth)
    if not any(map(heavy, parts)):
        parts += _adverbials(dice, verb, tense, modal, light=light)
    clause = Clause(subject, verb, tuple(parts), tense, modal)
    return clause if habit or tense == "progressive" or dice.chance(0.84) else negate(clause)


def heavy(part: Constituent) -> bool:
    """Whether it ends in a relative clause: an adverbial after it would seem to belong to that."""
    return tree.relative_of(part.value) is not None


def negate(clause: Clause) -> Clause:
    """The negated clause, or the same clause where a negation would be hard to understand."""
    if isinstance(clause.subject, NounPhrase) and clause.subject.determiner in VAGUE:
        return clause
    for part in clause.parts:
        match part.role, part.phrase:
            case ("time", _) | ("accusative", NounPhrase(determiner="indefinite" | "bare", relative=None)):
                continue
            case ("frequency" | "manner", _) | (_, NounPhrase(determiner="indefinite" | "bare" | "count")):
                return clause
    return clause._replace(negated=True)


def fronted(dice: Dice, clause: Clause, rate: float) -> Clause:
    """Perhaps put an adverbial of time or place first: in German the subject then follows the verb."""
    roles = ("time", "place") if clause.verb.places else ("time",)
    movable = [index for index, part in enumerate(clause.parts) if part.role in roles]
    if clause.front >= 0 or not movable or not dice.chance(rate):
        return clause
    if sum(part.role == "time" for part in clause.parts) > 1:
        movable = movable[:1]  # of `on Monday at eight` the day goes first and the hour stays
    return clause._replace(front=dice.pick(movable))


def owner_of(subject: Phrase) -> Pronoun | None:
    """Whom his, her and their may refer to: only somebody whose gender shows in both languages."""
    match subject:
        case tree.Both() | tree.Person():
            return tree.agreement(subject)
        case Pronoun(thing="") if subject is not lexicon.WHO:
            return subject
        case NounPhrase(noun) | Gap(noun) if noun.person and (noun.gender != "n" or subject.plural):
            return tree.agreement(subject)
    return None


def _subject(dice: Dice, verb: Verb, depth: int) -> Phrase:
    if verb.subjects[0] == "person":
        if depth > 0 and dice.chance(0.15):
            return with_relative(dice, noun_phrase(dice, ("human", "job", "circle")), depth)
        return person(dice)
    if verb.subjects == ("human", "kin"):
        return person(dice, joined=False)
    return noun_phrase(dice, verb.subjects)


def _tense(dice: Dice, verb: Verb) -> tuple[str, str]:
    """A tense and a modal verb, or none."""
    if "state" in verb.traits:
        return ("present" if dice.chance(0.7) else "past"), ""
    if verb.subjects[0] != "person":
        return dice.weighted({"past": 50, "present": 25, "future": 25}), ""
    tense = dice.weighted(TENSES)
    if "modal" in tense and "unintended" in verb.traits:
        return "past", ""
    if tense == "modal":
        return "present", dice.weighted(MODALS)
    if tense == "past modal":
        return "past", dice.weighted(PAST_MODALS)
    return tense, "like" if tense == "present" and "lasting" in verb.traits and dice.chance(0.5) else ""


def _arguments(dice: Dice, verb: Verb, subject: Phrase, depth: int) -> list[Constituent]:
    """What the slots of the verb require."""
    owner = owner_of(subject)
    parts: list[Constituent] = []
    for slot in verb.slots:
        match slot.role:
            case "walk":
                parts.append(place(dice, ("place",), "direction"))
            case "city":
                parts.append(phrases.city(dice, "direction"))
            case "ride":
                parts += phrases.ride(dice)
            case "onto" | "hook":
                parts.append(phrases.surface(dice, slot.role, "direction"))
            case "home" | "stay" | "seat":
                parts.append(_station(dice, slot.role, depth))
            case _:
                # Only the object that comes last in English may end in a relative clause.
                last = slot is verb.slots[0 if verb.slots[0].role == "recipient" else -1]
                thing = _object(dice, slot, owner, depth if last else 0, bulk="bulk" in verb.traits)
                parts.append(_governed(slot, thing))
    return parts


def _governed(slot: Slot, phrase: Phrase) -> Constituent:
    if slot.preposition:
        return Constituent(slot.role, PrepPhrase("", slot.preposition, slot.case, phrase))
    return Constituent(slot.role, phrase)


def _object(dice: Dice, slot: Slot, owner: Pronoun | None, depth: int, *, bulk: bool) -> Phrase:
    if "person" in slot.kinds or "kin" in slot.kinds:
        somebody = phrases.other_person(dice, slot.kinds, owner)
        return with_relative(dice, somebody, depth) if isinstance(somebody, NounPhrase) else somebody
    phrase = with_relative(dice, noun_phrase(dice, slot.kinds, owner=owner, bulk=bulk), depth)
    if phrase.noun.kinds[0] == "instrument" and slot.kinds == ("sport", "instrument"):
        return NounPhrase(phrase.noun, "played")
    if slot.role == "prepositional" and phrase.determiner == "bare":
        return phrase._replace(determiner="definite")
    return phrase


def _station(dice: Dice, role: str, depth: int) -> Constituent:
    """Where one lives, stays or sits."""
    if role == "seat":
        return phrases.surface(dice, "seat", "place")
    if dice.chance(0.6 if role == "home" else 0.3):
        return phrases.city(dice, "place")
    if role == "stay":
        return place(dice, ("sleeping", "leisure", "workplace"))
    part = place(dice, ("!city", "!village", "!island", "!farm", "!hotel"))
    match part.value:
        case PrepPhrase(phrase=NounPhrase(noun, "definite") as site) if depth > 0 and dice.chance(0.1):
            site = site._replace(relative=relative(dice, noun, False, depth - 1))
            return Constituent("place", part.value._replace(phrase=site))
    return part


def _adverbials(dice: Dice, verb: Verb, tense: str, modal: str, *, light: bool) -> list[Constituent]:
    scale = 0.4 if light else 1.0
    parts: list[Constituent] = []
    if verb.manners and dice.chance(0.4):
        manner = dice.pick(verb.manners)
        parts.append(Constituent("manner", manner))
        if manner.english == "immediately" and tense != "present":
            return parts  # any other time would contradict it
    if verb.places and dice.chance(0.36 * scale):
        parts.append(place(dice, verb.places))
    if tense in ("progressive", "event", "pluperfect") or "state" in verb.traits or modal == "like":
        return parts
    if tense == "order":
        soon = phrases.at_clock(dice) if dice.chance(0.4) else Constituent("time", dice.pick(WORDS["future"]))
        return [*parts, soon] if dice.chance(0.25) else parts
    if tense == "present" and not modal:
        if dice.chance(0.5):
            return [*parts, Constituent("frequency", dice.pick(WORDS["frequency"]))]
        return parts + phrases.times(dice, "present")
    if "lasting" in verb.traits and dice.chance(0.25 * scale):
        return [*parts, phrases.duration(dice)]
    if dice.chance(0.5 * scale):
        parts += phrases.times(dice, "future" if modal and tense == "present" else tense)
    return parts


@cache
def _verbs_for(noun: Noun) -> tuple[Verb, ...]:
    """The verbs whose only argument can be this noun."""
    roles = ("accusative", "dative", "prepositional")
    single = [verb for verb in PERSONAL if len(verb.slots) == 1 and verb.slots[0].role in roles]
    return tuple(verb for verb in single if noun in nouns(*verb.slots[0].kinds))


def with_relative(dice: Dice, phrase: NounPhrase, depth: int) -> NounPhrase:
    """The phrase, now and then with a relative clause."""
    clear = phrase.determiner in ("definite", "indefinite") and not phrase.noun.mass
    if depth <= 0 or not clear or not dice.chance(0.24):
        return phrase
    clause = relative(dice, phrase.noun, phrase.plural, depth - 1)
    described = clause and clause.verb is BE  # one description is enough: not the red car that is blue
    return phrase._replace(relative=clause, adjective=None if described else phrase.adjective)


def relative(dice: Dice, noun: Noun, plural: bool, depth: int) -> Clause | None:
    """Who lives in Vienna, that Anna bought yesterday, whose car is broken, in which he lives."""
    gap = Gap(noun, plural)
    if "inhabited" in noun.kinds and dice.chance(0.4):
        english, german = ("on", "auf") if noun.english in ("island", "farm") else ("in", "in")
        where = Constituent("place", PrepPhrase(english, german, "dative", gap))
        return Clause(person(dice), LIVE, (where,), dice.pick(PRESENT_OR_PAST), front=0)
    if noun.person and dice.chance(0.6):
        return _who(dice, gap, depth)
    verbs = [verb for verb in _verbs_for(noun) if not dice.is_used(verb)]
    describable = adjectives(noun) and "ambiguous" not in noun.kinds
    if describable and (not verbs or dice.chance(0.15)):
        tense = dice.pick(PRESENT_OR_PAST)
        return quality(dice, gap, adjectives(noun), tense)
    if not verbs:
        return None
    verb = dice.fresh(verbs)
    (slot,) = verb.slots
    subject = person(dice)
    state = "state" in verb.traits
    tense = "past" if not state or dice.chance(0.3) else "present"
    # A preposition left behind (the bus that Anna waited for) should be the last word.
    timed = not state and slot.role != "prepositional"
    time = phrases.times(dice, "past") if timed and dice.chance(0.3) else []
    return Clause(subject, verb, (_governed(slot, gap), *time), tense, front=0)


def _who(dice: Dice, gap: Gap, depth: int) -> Clause:
    if dice.chance(0.2):
        thing = dice.fresh(nouns("private", "pet", "carried", "clothes"))
        adjective = dice.pick(adjectives(thing))
        return being(NounPhrase(thing, "whose", owner=gap), Quality(adjective), dice.pick(PRESENT_OR_PAST))
    verbs = STATIONARY if dice.chance(0.3) else ()
    tense = "past" if dice.chance(0.6) else "present"
    return action(dice, subject=gap, tense=tense, depth=depth, light=True, verbs=verbs)


def being(subject: Phrase, quality: Quality, tense: str, *, negated: bool = False) -> Clause:
    """Somebody or something is like that."""
    return Clause(subject, BE, (Constituent("predicate", quality),), tense, negated=negated)


def quality(dice: Dice, subject: Phrase, options: tuple[Adjective, ...], tense: str) -> Clause:
    """Something is big, very old, too expensive, not cheap."""
    adjective = dice.pick(options)
    degree = dice.weighted(DEGREES) if adjective.german_comparative else ""
    return being(subject, Quality(adjective, degree), tense, negated=not degree and dice.chance(0.25))
