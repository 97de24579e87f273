"""The German lineariser: from the tree to a sentence, with case, agreement and the verb in its place.

A clause is front field, finite verb, middle field, right bracket (prefix, participle, infinitive) and, behind
the bracket, what is too heavy for the middle: relative clauses, dass clauses and infinitives.
"""

from nmt_cli.demo import german_words as forms
from nmt_cli.demo.german_phrases import Words, phrase, value
from nmt_cli.demo.lexicon import EXIST, Verb
from nmt_cli.demo.surface import punctuate
from nmt_cli.demo.tree import (
    Asked,
    Body,
    Clause,
    Content,
    Coordination,
    Gap,
    Infinitive,
    NounPhrase,
    Part,
    Phrase,
    Profession,
    Pronoun,
    Sentence,
    Value,
    agreement,
    relative_of,
)

MODALS = {
    "can": "können",
    "must": "müssen",
    "want": "wollen",
    "should": "sollten",
    "may": "dürfen",
    "would like": "möchten",
}


CONJUNCTIONS = {
    "because": "weil",
    "although": "obwohl",
    "if": "falls",
    "while": "während",
    "before": "bevor",
    "after": "nachdem",
    "so that": "damit",
    "as soon as": "sobald",
    "until": "bis",
    "and": "und",
    "but": "aber",
    "or": "oder",
    "and therefore": "und",
}


# The middle field from left to right; pronouns go before all of it, nicht after the noun objects.
MIDDLE = [
    "time",
    "frequency",
    "dative",
    "recipient",
    "accusative",
    "not",
    "manner",
    "new",
    "incorporated",
    "instrument",
    "place",
    "prepositional",
    "direction",
    "predicate",
]
RANK = {role: rank for rank, role in enumerate(MIDDLE)}


def sentence(tree: Sentence) -> str:
    """The whole sentence with its capital letter and its commas."""
    words: Words = []
    if tree.address:
        words += [*phrase(tree.address, "nominative"), ","]
    if tree.kind == "order":
        assert isinstance(tree.body, Clause)
        words += order(tree.body)
    else:
        words += body(tree.body, "first" if tree.kind == "question" else "second")
    return punctuate(words, {"statement": ".", "question": "?", "order": "!"}[tree.kind])


def body(tree: Body, place: str) -> Words:
    """Clauses and their connections; `place` is where the finite verb of the main clause stands."""
    if isinstance(tree, Clause):
        return clause(tree, place)
    if isinstance(tree, Coordination):
        comma = [","] if tree.conjunction == "but" else []
        joined = [*body(tree.left, place), *comma, CONJUNCTIONS[tree.conjunction]]
        if tree.conjunction == "and therefore":
            return [*joined, "deshalb", *body(tree.right, "first")]
        return joined + body(tree.right, place)
    conjunction = CONJUNCTIONS.get(tree.conjunction) or (
        "als" if tree.subordinate.tense == "past" else "wenn"
    )
    subordinate = [conjunction, *clause(tree.subordinate, "last")]
    if tree.first:
        # The subordinate clause fills the front field: the verb follows at once.
        return [*subordinate, ",", *body(tree.main, "first")]
    return [*body(tree.main, place), ",", *subordinate, ","]


def clause(tree: Clause, place: str) -> Words:
    """One clause with its finite verb second, first or last, or as an infinitive with zu."""
    tree = _experienced(tree)
    subject = agreement(tree.subject)
    finite, bracket = verb_complex(tree, subject)
    front, front_tail, middle = _fields(tree, subject, place)
    opened: Words = []
    if place == "infinitive":
        bracket = forms.zu_infinitive(tree.verb)
    elif place == "last":
        opened = front + front_tail
        bracket = _join_prefix(tree.verb, bracket, finite)
    elif place == "second" or tree.front >= 0 or _asks(tree.subject):
        opened = [*front, *front_tail, finite]
    else:
        opened = [finite, *front, *front_tail]
    return opened + _close(middle, bracket, tree)


def _asks(tree: Phrase) -> bool:
    """Who, which film: it stands first whatever the clause."""
    return isinstance(tree, Asked) or (
        isinstance(tree, NounPhrase) and tree.determiner in ("which", "how_many")
    )


def order(tree: Clause) -> Words:
    """Bitte mach das Fenster zu."""
    assert isinstance(tree.subject, Pronoun)
    _, _, middle = _fields(tree, tree.subject, "infinitive")
    polite = ["Sie"] if tree.subject.register == "Sie" else []
    opened = ["bitte", forms.imperative(tree.verb, tree.subject.register), *polite]
    return opened + _close(middle, [tree.verb.prefix] if tree.verb.prefix else [], tree)


def _close(middle: list[tuple[Words, Words]], bracket: Words, tree: Clause) -> Words:
    words: Words = []
    for index, (part, tail) in enumerate(middle):
        words += part
        # A relative clause on the last part steps over the bracket: hat den Mann gesehen, der dort wohnt.
        if index == len(middle) - 1 and not tree.complement:
            return words + bracket + tail
        words += tail
    return words + bracket + _complement(tree)


def _experienced(tree: Clause) -> Clause:
    """Anna likes the film: der Film gefällt Anna. What is the object in English is the subject here."""
    if "c" not in tree.verb.flags:
        return tree
    index = next(i for i, part in enumerate(tree.parts) if part.role == "accusative")
    liked = tree.parts[index].value
    assert isinstance(liked, NounPhrase | Gap | Asked | Pronoun)
    parts = list(tree.parts)
    parts[index] = Part("dative", tree.subject)
    front = tree.front
    if front == index:
        front = -1
    elif isinstance(tree.subject, Asked | Gap):
        front = index
    return tree._replace(subject=liked, parts=tuple(parts), front=front)


def _fields(tree: Clause, subject: Pronoun, place: str) -> tuple[Words, Words, list[tuple[Words, Words]]]:
    """The front field, its relative clause, and the middle field part by part."""
    denial = "" if not tree.negated else "kein" if _takes_kein(tree) else "nicht"
    pronouns: list[tuple[int, Words]] = []
    ranked: list[tuple[int, Words, Words]] = []
    front: Words = []
    front_tail: Words = []
    if tree.verb.reflexive:
        pronouns.append((1, [forms.reflexive(subject, tree.verb.reflexive)]))
    for index, part in enumerate(tree.parts):
        role = part.role
        kein = denial == "kein" and role in ("accusative", "predicate")
        words, tail = value(part.value, _case(role), kein=kein), _relative(part.value)
        if index == tree.front:
            front, front_tail = words, tail
        elif isinstance(part.value, Pronoun) and role in ("accusative", "dative", "recipient"):
            pronouns.append((0 if role == "accusative" else 2, words))
        else:
            ranked.append((_rank(part), words, tail))
    if denial == "nicht":
        # Nicht gern: what is denied is the liking, so it goes where gern goes.
        ranked.append((RANK["frequency"] if tree.modal == "like" else RANK["not"], [denial], []))
    if tree.modal == "like":
        ranked.append((RANK["frequency"], ["gern"], []))
    if tree.tense == "progressive":
        ranked.append((RANK["frequency"], ["gerade"], []))
    middle = [(words, tail) for _, words, tail in sorted(ranked, key=lambda entry: entry[0])]
    middle = [(words, []) for _, words in sorted(pronouns)] + middle
    if place == "infinitive":
        return [], [], middle
    spoken, spoken_tail = phrase(tree.subject, "nominative"), _relative(tree.subject)
    if tree.front < 0:
        return spoken, spoken_tail, middle
    return front, front_tail, [(spoken, spoken_tail), *middle]


def _relative(tree: Value) -> Words:
    relative = relative_of(tree)
    return [",", *clause(relative, "last"), ","] if relative else []


def _takes_kein(tree: Clause) -> bool:
    """An indefinite object or profession is denied with kein, everything else with nicht."""
    if tree.modal == "like":
        return False
    for part in tree.parts:
        if isinstance(part.value, Profession):
            return True
        if part.role == "accusative" and isinstance(part.value, NounPhrase):
            if part.value.determiner == "named":
                return not _incorporated(part.value)  # kein Deutsch, but nicht Klavier
            return part.value.determiner in ("indefinite", "bare")
    return False


def _incorporated(value: Value) -> bool:
    """Klavier spielen, Fußball spielen: the noun is half of the verb and stays next to it."""
    return (
        isinstance(value, NounPhrase)
        and value.noun.kinds[0] in ("sport", "instrument")
        and value.determiner == "named"
    )


def _rank(part: Part) -> int:
    if not isinstance(part.value, NounPhrase):
        return RANK[part.role]
    if _incorporated(part.value):
        return RANK["incorporated"]
    # What is new comes late: er hat die Tür vorsichtig aufgemacht, but er hat vorsichtig eine Tür aufgemacht.
    new = part.role == "accusative" and part.value.determiner in ("indefinite", "bare", "count", "named")
    return RANK["new"] if new else RANK[part.role]


def _case(role: str) -> str:
    return "dative" if role in ("dative", "recipient") else "accusative"


def verb_complex(tree: Clause, subject: Pronoun) -> tuple[str, Words]:
    """The finite form and what stands in the right bracket."""
    verb = tree.verb
    prefix = [verb.prefix] if verb.prefix else []
    past = tree.tense == "past"
    full_infinitive = verb.prefix + verb.infinitive
    if tree.modal and tree.modal != "like":
        return forms.auxiliary(MODALS[tree.modal], subject, past=past), [full_infinitive]
    if tree.tense == "future":
        return forms.auxiliary("werden", subject), [full_infinitive]
    if past and (verb is EXIST or verb.infinitive in ("sein", "haben", "wissen")):
        return forms.auxiliary(verb.infinitive, subject, past=True), []
    if past or tree.tense == "pluperfect":
        finite = forms.auxiliary(verb.auxiliary, subject, past=tree.tense == "pluperfect")
        return finite, [verb.german_participle]
    return forms.present(verb, subject), prefix


def _join_prefix(verb: Verb, bracket: Words, finite: str) -> Words:
    """At the end of the clause a separable prefix and its verb are one word."""
    if bracket and bracket[-1] == verb.prefix:
        return [verb.prefix + finite]
    return [*bracket, finite]


def _complement(tree: Clause) -> Words:
    complement = tree.complement
    if isinstance(complement, Content):
        word = {"that": ["dass"], "whether": ["ob"]}.get(complement.word, [])
        return [",", *word, *body(complement.body, "last"), ","]
    if isinstance(complement, Infinitive):
        return [",", *(["um"] if complement.purpose else []), *clause(complement.clause, "infinitive"), ","]
    return []
