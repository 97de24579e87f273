"""The German linearizer: where the parts of a clause stand, and the forms of its verb.

A clause consists of front field, finite verb, middle field, right bracket (prefix, participle, infinitive) and,
behind the bracket, what is too heavy for the middle: relative clauses, dass clauses and infinitives.
"""

from typing import NamedTuple

from nmt_cli.demo import tree
from nmt_cli.demo.lexicon import AUXILIARIES, ENDINGS, EXIST, NUMBERS, WHO, WORDS, Pronoun, Word
from nmt_cli.demo.tree import Clause, Constituent, Gap, NounPhrase, Person, Phrase, PrepPhrase, Value

Words = list[str]
CONTRACTIONS = {
    "in dem": "im", "an dem": "am", "zu dem": "zum", "zu der": "zur", "in das": "ins", "an das": "ans",
    "von dem": "vom", "bei dem": "beim",
}  # fmt: skip
MODALS = {word.english: word.german for word in WORDS["modal"]}
CONJUNCTIONS = {word.english: word.german for word in WORDS["conjunction"]}
# The middle field from left to right; pronouns stand before all of it.
MIDDLE = (
    "time", "frequency", "dative", "recipient", "accusative", "not", "manner", "new", "incorporated", "instrument",
    "place", "prepositional", "direction", "price", "predicate",
)  # fmt: skip
CASES = {"dative": "dative", "recipient": "dative", "predicate": "nominative"}  # all others: accusative


class Field(NamedTuple):
    """A part of a clause in words, and its relative clause, which may stand elsewhere."""

    words: Words
    tail: Words = []  # noqa: RUF012  never changed


def sentence(node: tree.Sentence) -> str:
    """The whole sentence with its capital letter and punctuation."""
    words: Words = [*_phrase(node.address, "nominative"), ","] if node.address else []
    if node.kind == "order":
        assert isinstance(node.body, Clause)
        words += _order(node.body)
    else:
        words += _body(node.body, "first" if node.kind == "question" else "second")
    return tree.punctuate(words, node.kind)


def _body(node: tree.Body, place: str) -> Words:
    """Clauses and how they are joined; `place` is where the finite verb of the main clause stands."""
    if isinstance(node, Clause):
        return _clause(node, place)
    if isinstance(node, tree.Coordination):
        comma = [","] if node.conjunction == "but" else []
        joined = [*_body(node.left, place), *comma, CONJUNCTIONS[node.conjunction]]
        if node.conjunction == "and therefore":
            return [*joined, "deshalb", *_body(node.right, "first")]
        return joined + _body(node.right, place)
    when = "als" if node.subordinate.tense == "past" else "wenn"
    subordinate = [CONJUNCTIONS.get(node.conjunction, when), *_clause(node.subordinate, "last"), ","]
    if node.first:  # it fills the front field: the verb follows at once
        return [*subordinate, *_body(node.main, "first")]
    return [*_body(node.main, place), ",", *subordinate]


def _clause(node: Clause, place: str) -> Words:
    """A clause with its finite verb second, first or last, or as an infinitive with zu."""
    fronted = node.front >= 0 or node.subject is WHO
    if "experiencer" in node.verb.traits:
        node = _experienced(node)
    verb, subject = node.verb, tree.agreement(node.subject)
    middle = _middle(node, subject)
    if place == "infinitive":
        zu = f"{verb.prefix}zu" if verb.prefix else "zu "  # aufzumachen, zu machen
        return _close(node, middle, [zu + verb.infinitive])
    front = Field(_phrase(node.subject, "nominative"), _relative(node.subject))
    if node.front >= 0:
        middle.insert(0, front)
        front = _field(node, node.parts[node.front])
    finite, bracket = _verb_group(node, subject)
    if place == "last":
        # At the end of a clause, a separable prefix and its verb are one word.
        bracket = [verb.prefix + finite] if bracket == [verb.prefix] else [*bracket, finite]
        return [*front.words, *front.tail, *_close(node, middle, bracket)]
    rest = _close(node, middle, bracket)
    if place == "second" or fronted:
        return [*front.words, *front.tail, finite, *rest]
    return [finite, *front.words, *front.tail, *rest]


def _order(node: Clause) -> Words:
    """Bitte mach das Fenster zu."""
    you, verb = node.subject, node.verb
    assert isinstance(you, Pronoun)
    forms = {"du": verb.german_imperative, "ihr": verb.german_present["ihr"], "Sie": f"{verb.infinitive} Sie"}
    bracket = [verb.prefix] if verb.prefix else []
    return ["bitte", forms[you.name], *_close(node, _middle(node, you), bracket)]


def _close(node: Clause, middle: list[Field], bracket: Words) -> Words:
    """The middle field, the right bracket and what follows it."""
    words: Words = []
    tail: Words = []
    for field in middle:
        words += [*tail, *field.words]
        tail = field.tail
    if not node.complement:  # a relative clause follows the bracket: hat den Mann gesehen, der dort wohnt
        return [*words, *bracket, *tail]
    word, body = node.complement
    opening = {"that": ["dass"], "whether": ["ob"], "in order to": ["um"]}.get(word, [])
    place = "infinitive" if word in ("to", "in order to") else "last"
    return [*words, *tail, *bracket, ",", *opening, *_body(body, place), ","]


def _experienced(node: Clause) -> Clause:
    """Anna likes the film: der Film gefällt Anna. The English object is the German subject."""
    liked = node.parts[0].value
    assert isinstance(liked, Phrase)
    front = -1 if node.front == 0 else node.front
    if node.subject is WHO or isinstance(node.subject, Gap):
        front = 0
    parts = (Constituent("dative", node.subject), *node.parts[1:])
    return node._replace(subject=liked, parts=parts, front=front)


def _relative(node: Value) -> Words:
    relative = tree.relative_of(node)
    return [",", *_clause(relative, "last"), ","] if relative else []


def _middle(node: Clause, subject: Pronoun) -> list[Field]:
    """The middle field in its order, without the subject and without the part that stands first."""
    pronouns: list[tuple[int, Field]] = []
    ranked: list[tuple[int, Field]] = []
    if node.verb.reflexive:
        sich = subject.person == "3" or subject.name == "Sie"
        pronouns.append((1, Field(["sich"] if sich else _phrase(subject, node.verb.reflexive))))
    for index, part in enumerate(node.parts):
        if index == node.front:
            continue
        if isinstance(part.value, Pronoun) and part.role in ("accusative", "dative", "recipient"):
            pronouns.append((0 if part.role == "accusative" else 2, _field(node, part)))
        else:
            ranked.append((MIDDLE.index(_position(part)), _field(node, part)))
    if node.negated and not _takes_kein(node):
        # Nicht gern: what is negated is the liking, so it stands where gern stands.
        ranked.append((MIDDLE.index("frequency" if node.modal == "like" else "not"), Field(["nicht"])))
    if node.modal == "like":
        ranked.append((MIDDLE.index("frequency"), Field(["gern"])))
    if node.tense == "progressive":
        ranked.append((MIDDLE.index("frequency"), Field(["gerade"])))
    return [field for fields in (pronouns, ranked) for _, field in sorted(fields, key=lambda entry: entry[0])]


def _field(node: Clause, part: Constituent) -> Field:
    kein = node.negated and part.role in ("accusative", "predicate") and _takes_kein(node)
    return Field(_value(part.value, CASES.get(part.role, "accusative"), kein=kein), _relative(part.value))


def _takes_kein(node: Clause) -> bool:
    """An indefinite object or a profession is negated with kein, everything else with nicht."""
    for part in node.parts if node.modal != "like" else ():
        if part.role in ("accusative", "predicate") and isinstance(part.value, NounPhrase):
            return part.value.determiner in ("indefinite", "bare", "named", "profession")
    return False


def _position(part: Constituent) -> str:
    if part.role == "accusative" and isinstance(part.value, NounPhrase):
        if part.value.determiner == "played":
            return "incorporated"  # Klavier spielen: the noun is half of the verb and stays next to it
        if part.value.determiner in ("indefinite", "bare", "count", "named"):
            return "new"  # comes late: er hat vorsichtig eine Tür aufgemacht, but er hat die Tür vorsichtig aufgemacht
    return part.role


def _verb_group(node: Clause, subject: Pronoun) -> tuple[str, Words]:
    """The finite form and what stands in the right bracket."""

    def auxiliary(infinitive: str, tense: str) -> str:
        return str(AUXILIARIES[infinitive, tense][subject.verb_form])

    verb, past = node.verb, node.tense == "past"
    infinitive = [verb.prefix + verb.infinitive]
    if node.modal and node.modal != "like":
        return auxiliary(MODALS[node.modal], node.tense), infinitive
    if node.tense == "future":
        return auxiliary("werden", "present"), infinitive
    if past and (verb is EXIST or verb.infinitive in ("sein", "haben", "wissen")):  # all others: the perfect
        return auxiliary(verb.infinitive, "past"), []
    if past or node.tense == "pluperfect":
        return auxiliary(verb.auxiliary, "present" if past else "past"), [verb.german_participle]
    return verb.german_present[subject.verb_form], [verb.prefix] if verb.prefix else []


def _value(node: Value, case: str, *, kein: bool = False) -> Words:
    """Any part of a clause."""
    if isinstance(node, PrepPhrase):
        return _prepositional(node)
    return _quality(node) if isinstance(node, tree.Quality) else _phrase(node, case, kein=kein)


def _prepositional(node: PrepPhrase) -> Words:
    words = _phrase(node.phrase, node.case)
    if node.german in ("lang", "alt"):  # drei Stunden lang, drei Jahre alt
        return [*words, node.german]
    contracted = CONTRACTIONS.get(f"{node.german} {words[0]}")
    # In dem Haus, das…: a relative clause needs the full article. A relative pronoun is never contracted.
    if contracted and isinstance(node.phrase, NounPhrase) and not node.phrase.relative:
        return [contracted, *words[1:]]
    return [node.german, *words]


def _quality(node: tree.Quality) -> Words:
    """Sehr alt, älter als Peter, so alt wie Peter."""
    compared = _phrase(node.than, "nominative") if node.than else []
    if node.degree == "more":
        return [node.adjective.german_comparative, "als", *compared]
    if node.degree == "as":
        return ["so", node.adjective.german, "wie", *compared]
    return [*{"very": ["sehr"], "too": ["zu"], "": []}[node.degree], node.adjective.german]


def _phrase(node: Phrase, case: str, *, kein: bool = False) -> Words:
    """A phrase in its case, without its relative clause, which may stand elsewhere."""
    match node:
        case NounPhrase():
            return _noun_phrase(node, case, kein=kein)
        case Pronoun():
            return [{"nominative": node.nominative, "accusative": node.accusative}.get(case, node.dative)]
        case Person():
            herr = "Herr" if case == "nominative" else "Herrn"
            return [*{"m": [herr], "f": ["Frau"], "": []}[node.title], node.name.german]
        case tree.Both():
            return [*_phrase(node.left, case), "und", *_phrase(node.right, case)]
        case Word():
            return [node.german]
    return [_ending("relative", node, case)]


def _ending(table: str, node: NounPhrase | Gap, case: str) -> str:
    return str(ENDINGS[table, "plural" if node.plural else node.noun.gender][case])


def _noun_phrase(node: NounPhrase, case: str, *, kein: bool = False) -> Words:
    """Determiner, adjective and noun agree in case, number and gender; `kein` negates the phrase."""
    words, table = (["kein" + _ending("ein", node, case)], "mixed") if kein else _determiner(node, case)
    if node.adjective:
        words.append(node.adjective.german_stem + _ending(table, node, case))
    words.append(_noun(node, case))
    if node.of:
        words += _noun_phrase(node.of, "genitive")
    if node.determiner == "genitive" and isinstance(node.owner, NounPhrase):
        words += _noun_phrase(node.owner, "genitive")
    return words


def _determiner(node: NounPhrase, case: str) -> tuple[Words, str]:
    """The determiner, and the table from which the adjective after it takes its ending."""
    owner, ein = node.owner, _ending("ein", node, case)
    match node.determiner:
        case "indefinite" if not node.plural:
            return ["ein" + ein], "mixed"
        case "possessive":
            assert isinstance(owner, Pronoun)
            stem = "eur" if owner.name == "ihr" and ein else owner.german_possessive  # euer, eure
            return [stem + ein], "mixed"
        case "genitive" if isinstance(owner, Person):
            *title, surname = _phrase(owner, "genitive")
            return [*title, surname + "s"], "strong"
        case "whose":
            assert isinstance(owner, Gap)
            return [_ending("relative", owner, "genitive")], "strong"
        case "this" | "which":
            return [
                ("dies" if node.determiner == "this" else "welch") + _ending("dieser", node, case)
            ], "weak"
        case "definite" | "genitive" | "by":
            return [_ending("der", node, case)], "weak"
        case "ordinal":
            ordinal = NUMBERS[node.number]["german_ordinal_stem"] + _ending("weak", node, case)
            return [_ending("der", node, case), ordinal], "weak"
        case "count":
            return [NUMBERS[node.number]["german"]], "strong"
        case "how_many":
            return ["wie", "viele"], "strong"
    return [], "strong"


def _noun(node: NounPhrase, case: str) -> str:
    noun = node.noun
    if node.plural:
        needs_n = case == "dative" and not noun.german_plural.endswith(("n", "s"))
        return noun.german_plural + ("n" if needs_n else "")
    return {"nominative": noun.german, "genitive": noun.german_genitive}.get(case, noun.german_accusative)
