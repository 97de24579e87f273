"""The English linearizer: subject, verb, object, manner, place, time; `do` in questions and negations."""

from nmt_cli.demo import tree
from nmt_cli.demo.lexicon import EXIST, NUMBERS, WHO, Pronoun, Word
from nmt_cli.demo.tree import Clause, Gap, NounPhrase, Phrase, PrepPhrase, Value

Words = list[str]

# The order of the parts behind the verb; adverbs of frequency stand before it.
ORDER = (
    "dative", "accusative", "recipient", "prepositional", "price", "predicate", "direction", "manner", "place",
    "instrument", "time",
)  # fmt: skip
MODALS = {"can": ["can"], "must": ["must"], "should": ["should"], "would like": ["would", "like", "to"]}
INFLECTED_MODALS = {"have": ("has", "had"), "want": ("wants", "wanted"), "like": ("likes", "liked")}


def sentence(node: tree.Sentence) -> str:
    """The whole sentence with its capital letter and punctuation."""
    words: Words = [*_phrase(node.address, subject=True), ","] if node.address else []
    if node.kind == "order":
        assert isinstance(node.body, Clause)
        words += ["please", *(["do", "not"] if node.body.negated else []), *_infinitive(node.body)]
    else:
        words += _body(node.body, asks=node.kind == "question")
    return tree.punctuate(words, node.kind)


def _body(node: tree.Body, *, asks: bool = False) -> Words:
    """Clauses and how they are joined."""
    if isinstance(node, Clause):
        return _clause(node, inverted=asks and node.subject is not WHO)  # who read the book?
    if isinstance(node, tree.Coordination):
        return [*_body(node.left), ",", node.conjunction, *_body(node.right)]
    subordinate = [node.conjunction, *_clause(node.subordinate)]
    return [*subordinate, ",", *_body(node.main)] if node.first else [*_body(node.main), *subordinate]


def _clause(node: Clause, *, inverted: bool = False) -> Words:
    """A clause with its subject; `inverted` makes it a question."""
    auxiliary, verb = _verb_group(node, inverted=inverted)
    if node.negated and node.verb is not EXIST:
        auxiliary = ["cannot"] if auxiliary == ["can"] else [auxiliary[0], "not", *auxiliary[1:]]
    front: Words = []
    if node.front >= 0:
        part = node.parts[node.front]
        front = _value(part.value) + _relative(part.value)
        asks = isinstance(part.phrase, Word) and part.phrase.group == "question"
        if part.role in ("time", "place") and not asks and not isinstance(part.phrase, Gap):
            front.append(",")
    subject = _phrase(node.subject, subject=True) + _relative(node.subject)
    frequency = [word for part in node.parts if part.role == "frequency" for word in _value(part.value)]
    rest = [*auxiliary[1:], *frequency, *verb, *_behind_verb(node)]
    opening = [*auxiliary[:1], *subject] if inverted else [*subject, *auxiliary[:1]]
    return [*front, *opening, *rest]


def _verb_group(node: Clause, *, inverted: bool) -> tuple[Words, Words]:
    """The auxiliaries, and the verb that follows `not` and the adverb of frequency."""
    verb, past, helped = node.verb, node.tense == "past", inverted or node.negated
    agreeing = node.parts[0].value if verb is EXIST else node.subject  # there are three chairs
    assert not isinstance(agreeing, PrepPhrase | tree.Quality)
    subject = tree.agreement(agreeing)
    if node.modal:
        return _modal(node, subject, helped=helped), [verb.english]
    match node.tense:
        case "future":
            return ["will"], [verb.english]
        case "pluperfect":
            return ["had"], [verb.english_participle]
        case "progressive":
            return [subject.be], [verb.english_gerund]
    if verb.english == "be":
        return [subject.was if past else subject.be], []
    if helped:
        return ["did" if past else subject.do], [verb.english]
    return [], [verb.english_past if past else verb.english_third if subject.do == "does" else verb.english]


def _modal(node: Clause, subject: Pronoun, *, helped: bool) -> Words:
    """A modal verb; those without a past or a negation are paraphrased."""
    past = node.tense == "past"
    if node.modal == "may":
        return [subject.was if past else subject.be, "allowed", "to"]
    base = "have" if node.modal == "must" and (past or helped) else node.modal
    if base not in INFLECTED_MODALS:
        return ["could"] if past else MODALS[base]
    if helped:
        return ["did" if past else subject.do, base, "to"]
    third, past_form = INFLECTED_MODALS[base]
    return [past_form if past else third if subject.do == "does" else base, "to"]


def _infinitive(node: Clause) -> Words:
    return [node.verb.english, *_behind_verb(node)]


def _behind_verb(node: Clause) -> Words:
    """The particle, the parts in their order, and the complement."""
    parts = [part for index, part in enumerate(node.parts) if index != node.front and part.role in ORDER]
    parts.sort(key=lambda part: ORDER.index(part.role))
    words = [node.verb.particle] if node.verb.particle else []
    pronoun = parts and parts[0].role == "accusative" and isinstance(parts[0].value, Pronoun)
    if pronoun and node.verb.particle_moves:
        words = [*_value(parts.pop(0).value), *words]  # turn it on
    for role, thing in parts:
        if node.negated and node.verb is EXIST and isinstance(thing, NounPhrase):
            thing = thing._replace(determiner="no")  # there is no bakery
        words += [*(["to"] if role == "recipient" else []), *_value(thing), *_relative(thing)]
    match node.complement:
        case tree.Complement("to" | "in order to" as word, Clause() as clause):
            return [*words, word, *_infinitive(clause)]
        case tree.Complement(word, body):
            return [*words, *([word] if word else []), *_body(body)]
    return words


def _relative(node: Value) -> Words:
    relative = tree.relative_of(node)
    return _clause(relative) if relative else []


def _value(node: Value) -> Words:
    """Any part of a clause."""
    match node:
        case PrepPhrase("ago" | "old" as postposition):
            return [*_phrase(node.phrase), postposition]
        case PrepPhrase(""):
            return _phrase(node.phrase)
        case PrepPhrase(preposition, phrase=Gap()):  # only a thing: the house in which he lives
            return [preposition, "which"]
        case PrepPhrase(preposition):
            return [preposition, *_phrase(node.phrase)]
        case tree.Quality():
            return _quality(node)
    return _phrase(node)


def _quality(node: tree.Quality) -> Words:
    """Very old, older than Peter, as old as Peter."""
    compared = _phrase(node.than, subject=True) if node.than else []
    if node.degree == "more":
        return [node.adjective.english_comparative, "than", *compared]
    if node.degree == "as":
        return ["as", node.adjective.english, "as", *compared]
    return [node.degree, node.adjective.english] if node.degree else [node.adjective.english]


def _phrase(node: Phrase, *, subject: bool = False) -> Words:
    """A phrase; only pronouns show whether they are the subject."""
    match node:
        case NounPhrase():
            return _noun_phrase(node)
        case Pronoun():
            return [node.english_subject if subject else node.english_object]
        case tree.Person():
            return [*{"m": ["Mr."], "f": ["Mrs."], "": []}[node.title], node.name.english]
        case tree.Both():
            return [*_phrase(node.left, subject=subject), "and", *_phrase(node.right, subject=subject)]
        case Word():
            return [node.english]
    return ["that" if not node.noun.person else "who" if subject else "whom"]


def _noun_phrase(node: NounPhrase) -> Words:
    """Determiner, adjective and noun, without the relative clause."""
    noun = node.noun.english_plural if node.plural else node.noun.english
    words = [node.adjective.english, noun] if node.adjective else [noun]
    words = _determiner(node, words[0]) + words
    return [*words, "of", *_noun_phrase(node.of)] if node.of else words


def _determiner(node: NounPhrase, following: str) -> Words:
    match node.determiner:
        case "definite":
            return ["the"]
        case "played" if node.noun.kinds[0] == "instrument":
            return ["the"]
        case "indefinite" | "profession" if not node.plural:
            return [article(following)]
        case "possessive":
            assert isinstance(node.owner, Pronoun)
            return [node.owner.english_possessive]
        case "genitive":
            assert node.owner
            *start, last = _phrase(node.owner)
            return [*start, f"{last}'s"]
        case "this":
            return ["these" if node.plural else "this"]
        case "count":
            return [NUMBERS[node.number]["english"]]
        case "ordinal":
            return ["the", NUMBERS[node.number]["english_ordinal"], "of"]
        case "how_many":
            return ["how", "many"]
        case "which" | "whose" | "no":
            return [node.determiner]
    return []


def article(word: str) -> str:
    """A or an, depending on the sound that follows: an hour, a university."""
    vowel = word[0] in "aeiou" and not word.startswith(("uni", "us", "eu"))
    return "an" if vowel or word.startswith(("hour", "hon")) else "a"
