"""The English lineariser: subject, verb, object, manner, place, time; do in questions and denials."""

from nmt_cli.demo import english_words as forms
from nmt_cli.demo.english_phrases import Words, phrase, value
from nmt_cli.demo.lexicon import EXIST, Adverb
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
    Pronoun,
    Relation,
    Sentence,
    Value,
    agreement,
    relative_of,
)

DEFECTIVE = {"can": "can", "must": "must", "should": "should", "would like": "would"}


PAST_DEFECTIVE = {"can": "could"}


# The order of the parts after the verb; a movable particle goes between a pronoun and the rest.
ORDER = [
    "dative",
    "accusative",
    "recipient",
    "prepositional",
    "predicate",
    "direction",
    "manner",
    "place",
    "instrument",
    "time",
]


RANK = {role: rank for rank, role in enumerate(ORDER)}


def sentence(tree: Sentence) -> str:
    """The whole sentence with its capital letter and its commas."""
    words: Words = []
    if tree.address:
        words += [*phrase(tree.address, subject=True), ","]
    if tree.kind == "order":
        assert isinstance(tree.body, Clause)
        denial = ["do", "not"] if tree.body.negated else []
        words += ["please", *denial, *bare(tree.body)]
    else:
        words += body(tree.body, inverted=tree.kind == "question")
    return punctuate(words, {"statement": ".", "question": "?", "order": "!"}[tree.kind])


def body(tree: Body, *, inverted: bool = False) -> Words:
    """Clauses and their connections."""
    if isinstance(tree, Clause):
        return clause(tree, inverted=inverted)
    if isinstance(tree, Coordination):
        return [
            *body(tree.left, inverted=inverted),
            ",",
            *tree.conjunction.split(),
            *body(tree.right, inverted=inverted),
        ]
    subordinate = [tree.conjunction, *clause(tree.subordinate)]
    if tree.first:
        return [*subordinate, ",", *body(tree.main, inverted=inverted)]
    return [*body(tree.main, inverted=inverted), *subordinate]


def clause(tree: Clause, *, inverted: bool = False) -> Words:
    """A clause with its subject; `inverted` asks."""
    subject = [*phrase(tree.subject, subject=True), *_relative(tree.subject)]
    auxiliary, lexical = verb_complex(tree, inverted=inverted and not isinstance(tree.subject, Asked))
    front: Words = []
    fronted_adverbial = False
    if tree.front >= 0:
        part = tree.parts[tree.front]
        front = value(part.value) + _relative(part.value)
        fronted_adverbial = not inverted and not _moved(part.value)
    frequency = [word for part in tree.parts if part.role == "frequency" for word in value(part.value)]
    denial = ["not"] if tree.negated and tree.verb is not EXIST else []
    rest = [*denial, *frequency, *lexical, *_after(tree)]
    opened = [*front, ","] if fronted_adverbial else front
    if inverted and not isinstance(tree.subject, Asked):
        return [*opened, *auxiliary[:1], *subject, *auxiliary[1:], *rest]
    if denial and auxiliary == ["can"]:
        return [*opened, *subject, "cannot", *rest[1:]]
    return [*opened, *subject, *auxiliary[:1], *_rest_of(auxiliary, rest, denial)]


def _relative(tree: Value) -> Words:
    relative = relative_of(tree)
    return clause(relative) if relative else []


def _rest_of(auxiliary: Words, rest: Words, denial: Words) -> Words:
    """Does not have to go, is not allowed to go: not follows the first auxiliary."""
    if denial and auxiliary[1:]:
        return [*denial, *auxiliary[1:], *rest[1:]]
    return [*auxiliary[1:], *rest]


def bare(tree: Clause) -> Words:
    """The infinitive without to, and everything after it."""
    return [tree.verb.base, *_after(tree)]


def verb_complex(tree: Clause, *, inverted: bool) -> tuple[Words, Words]:
    """The auxiliaries, and the verb that follows not and the frequency."""
    subject = _number(tree)
    past = tree.tense == "past"
    base = tree.verb.base
    if tree.modal:
        return _modal(tree, subject, inverted=inverted), [base]
    match tree.tense:
        case "future":
            return ["will"], [base]
        case "pluperfect":
            return ["had"], [tree.verb.participle]
        case "progressive":
            return [forms.be(subject)], [forms.gerund(base)]
    if base == "be":
        return [forms.be(subject, past=past)], []
    if inverted or tree.negated:
        return [_do(subject, past=past)], [base]
    return [], [forms.finite(tree.verb, subject, past=past)]


def _do(subject: Pronoun, *, past: bool) -> str:
    return "did" if past else "does" if subject.person == 3 and not subject.plural else "do"


def _modal(tree: Clause, subject: Pronoun, *, inverted: bool) -> Words:
    """A modal verb as the list of its words; those without a past or a denial are paraphrased."""
    past = tree.tense == "past"
    helped = inverted or tree.negated
    if tree.modal == "may":
        return [forms.be(subject, past=past), "allowed", "to"]
    if tree.modal in ("want", "like"):
        return _agreeing(tree.modal, subject, past=past, helped=helped)
    if tree.modal == "must" and (past or helped):
        return _agreeing("have", subject, past=past, helped=helped)
    if past:
        return [PAST_DEFECTIVE[tree.modal]]
    return [DEFECTIVE[tree.modal], *(["like", "to"] if tree.modal == "would like" else [])]


def _agreeing(base: str, subject: Pronoun, *, past: bool, helped: bool) -> Words:
    """Wants to, does not want to, had to."""
    if helped:
        return [_do(subject, past=past), base, "to"]
    if past:
        return [{"have": "had", "want": "wanted", "like": "liked"}[base], "to"]
    singular = subject.person == 3 and not subject.plural
    return [forms.third(base) if singular else base, "to"]


def _number(tree: Clause) -> Pronoun:
    """There are three chairs: the verb agrees with what there is."""
    if tree.verb is EXIST:
        objects = [part.value for part in tree.parts if part.role == "accusative"]
        return agreement(next(thing for thing in objects if isinstance(thing, NounPhrase)))
    return agreement(tree.subject)


def _after(tree: Clause) -> Words:
    """Everything behind the verb, with the particle and the complement."""
    parts = [
        part for index, part in enumerate(tree.parts) if index != tree.front and part.role != "frequency"
    ]
    parts.sort(key=_rank)
    if tree.verb is EXIST and tree.negated:
        parts = [_none(part) for part in parts]
    particle = tree.verb.particle.split()
    words: Words = []
    if tree.verb.movable and parts and isinstance(parts[0].value, Pronoun) and parts[0].role == "accusative":
        words, parts = value(parts[0].value), parts[1:]
    words += particle
    for part in parts:
        words += ["to"] if part.role == "recipient" else []
        words += value(part.value) + _relative(part.value)
    return words + _complement(tree)


def _none(part: Part) -> Part:
    """There is no bakery, rather than there is not a bakery."""
    if part.role == "accusative" and isinstance(part.value, NounPhrase):
        return Part(part.role, part.value._replace(determiner="no"))
    return part


def _rank(part: Part) -> int:
    return RANK[part.role]


def _complement(tree: Clause) -> Words:
    complement = tree.complement
    if isinstance(complement, Content):
        return [*([complement.word] if complement.word else []), *body(complement.body)]
    if isinstance(complement, Infinitive):
        return [*(["in", "order"] if complement.purpose else []), "to", *bare(complement.clause)]
    return []


def _moved(tree: Value) -> bool:
    """A question word or a relative pronoun, not an adverbial that was put first."""
    if isinstance(tree, Relation):
        tree = tree.phrase
    if isinstance(tree, NounPhrase):
        return tree.determiner in ("which", "how_many", "whose")
    return isinstance(tree, Asked | Gap) or tree in QUESTION_WORDS


QUESTION_WORDS = (
    Adverb("where", "wo"),
    Adverb("when", "wann"),
    Adverb("why", "warum"),
    Adverb("how", "wie"),
)
