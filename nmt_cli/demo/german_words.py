"""German morphology: how articles, adjectives, nouns, pronouns and verbs change."""

from nmt_cli.demo.lexicon import Adjective, Noun, Verb
from nmt_cli.demo.tree import Pronoun

CASES = ("nominative", "accusative", "dative", "genitive")


def _table(text: str) -> dict[tuple[str, str], str]:
    """Rows are masculine, feminine, neuter, plural; columns the four cases; a dash is no ending."""
    return {
        (gender, case): "" if form == "-" else form
        for gender, row in zip("mfnp", text.split("/"), strict=True)
        for case, form in zip(CASES, row.split(), strict=True)
    }


DEFINITE = _table("der den dem des / die die der der / das das dem des / die die den der")
RELATIVE = _table("der den dem dessen / die die der deren / das das dem dessen / die die denen deren")
DIESER = _table("er en em es / e e er er / es es em es / e e en er")
EIN = _table("- en em es / e e er er / - - em es / e e en er")
WEAK = _table("e en en en / e e en en / e e en en / en en en en")
MIXED = _table("er en en en / e e en en / es es en en / en en en en")
STRONG = _table("er en em en / e e er er / es es em en / e e en er")
STEMS = {"teuer": "teur", "dunkel": "dunkl"}

CONTRACTIONS = {
    ("in", "dem"): "im",
    ("an", "dem"): "am",
    ("zu", "dem"): "zum",
    ("zu", "der"): "zur",
    ("in", "das"): "ins",
    ("an", "das"): "ans",
    ("von", "dem"): "vom",
    ("bei", "dem"): "beim",
}

PRESENT = {  # ich, du, er, wir, ihr, sie
    "sein": "bin bist ist sind seid sind",
    "haben": "habe hast hat haben habt haben",
    "werden": "werde wirst wird werden werdet werden",
    "wissen": "weiß weißt weiß wissen wisst wissen",
    "können": "kann kannst kann können könnt können",
    "müssen": "muss musst muss müssen müsst müssen",
    "wollen": "will willst will wollen wollt wollen",
    "sollten": "sollte solltest sollte sollten solltet sollten",  # advice: should
    "dürfen": "darf darfst darf dürfen dürft dürfen",
    "möchten": "möchte möchtest möchte möchten möchtet möchten",
}
PAST = {  # only the verbs whose simple past people speak; all others take the perfect
    "sein": "war warst war waren wart waren",
    "haben": "hatte hattest hatte hatten hattet hatten",
    "wissen": "wusste wusstest wusste wussten wusstet wussten",
    "können": "konnte konntest konnte konnten konntet konnten",
    "müssen": "musste musstest musste mussten musstet mussten",
    "wollen": "wollte wolltest wollte wollten wolltet wollten",
    "dürfen": "durfte durftest durfte durften durftet durften",
    "geben": "gab gabst gab gaben gabt gaben",
}
SECOND_PERSON = {"hält": "hältst", "rät": "rätst"}

PRONOUNS = {  # nominative, accusative, dative
    (1, False): "ich mich mir",
    (1, True): "wir uns uns",
    (3, True): "sie sie ihnen",
    "du": "du dich dir",
    "ihr": "ihr euch euch",
    "Sie": "Sie Sie Ihnen",
    "m": "er ihn ihm",
    "f": "sie sie ihr",
    "n": "es es ihm",
}
POSSESSIVES = {
    (1, False): "mein",
    (1, True): "unser",
    (3, True): "ihr",
    "du": "dein",
    "ihr": "euer",
    "Sie": "Ihr",
}


def adjective_form(adjective: str, ending: str) -> str:
    """Teuer, ein teurer Ring."""
    stem = STEMS.get(adjective, adjective) if ending else adjective
    # An e at the end of the stem is shared with the ending: müde, ein müder Hund.
    return stem + (ending[1:] if stem.endswith("e") and ending.startswith("e") else ending)


def comparative(adjective: Adjective) -> str:
    """Groß, größer."""
    stem = STEMS.get(adjective.german, adjective.german_comparative)
    return stem + "er"


def noun_form(noun: Noun, case: str, plural: bool) -> str:
    """The noun in its case and number."""
    if plural:
        needs_n = case == "dative" and not noun.german_plural.endswith(("n", "s"))
        return noun.german_plural + ("n" if needs_n else "")
    if case == "nominative":
        return noun.german
    return noun.genitive if case == "genitive" else noun.oblique


def pronoun_form(pronoun: Pronoun, case: str) -> str:
    """Ich, mich, mir."""
    return _pronoun_row(pronoun)[CASES.index(case)]


def _pronoun_row(pronoun: Pronoun) -> list[str]:
    if pronoun.person == 2:
        return PRONOUNS[pronoun.register].split()
    if pronoun.person == 1 or pronoun.plural:
        return PRONOUNS[pronoun.person, pronoun.plural].split()
    return PRONOUNS[pronoun.gender].split()


def reflexive(pronoun: Pronoun, case: str) -> str:
    """Mich, dich, sich."""
    if pronoun.person == 3 or (pronoun.person == 2 and pronoun.register == "Sie"):
        return "sich"
    return pronoun_form(pronoun, case)


def possessive(owner: Pronoun, ending: str) -> str:
    """Mein, meine; the second e of euer is lost before an ending."""
    if owner.person == 2:
        stem = POSSESSIVES[owner.register]
    elif owner.person == 1 or owner.plural:
        stem = POSSESSIVES[owner.person, owner.plural]
    else:
        stem = "ihr" if owner.gender == "f" else "sein"
    return ("eur" if stem == "euer" and ending else stem) + ending


def _person_index(subject: Pronoun) -> int:
    if subject.person == 2:
        return {"du": 1, "ihr": 4, "Sie": 5}[subject.register]
    return subject.person - 1 + (3 if subject.plural else 0)


def stem_of(verb: Verb) -> str:
    """Machen: mach; bügeln: bügel."""
    return verb.infinitive[:-2] if verb.infinitive.endswith("en") else verb.infinitive[:-1]


def needs_e(stem: str) -> bool:
    """Arbeit-e-t, öffn-e-t: a t could not be heard without it."""
    return stem.endswith(("t", "d", "chn")) or (stem[-1] in "nm" and stem[-2] not in "aeiouäöürlhnm")


def present(verb: Verb, subject: Pronoun) -> str:
    """The present tense without the separable prefix."""
    index = _person_index(subject)
    if verb.infinitive in PRESENT:
        return PRESENT[verb.infinitive].split()[index]
    stem = stem_of(verb)
    if index == 0:
        return stem[:-2] + "le" if verb.infinitive.endswith("eln") else stem + "e"
    if index == 1:
        short = verb.third[:-1]
        return SECOND_PERSON.get(verb.third) or short + ("t" if short[-1] in "sßzx" else "st")
    if index == 2:
        return verb.third
    if index == 4:
        return stem + ("et" if needs_e(stem) else "t")
    return verb.infinitive


def auxiliary(infinitive: str, subject: Pronoun, *, past: bool = False) -> str:
    """A form of haben, sein, werden or a modal verb."""
    return (PAST if past else PRESENT)[infinitive].split()[_person_index(subject)]


def imperative(verb: Verb, register: str) -> str:
    """Mach, macht, machen Sie: the verb alone, without Sie and without the prefix."""
    if register == "Sie":
        return verb.infinitive
    if register == "ihr":
        return present(verb, Pronoun(2, register="ihr"))
    stem, changed = stem_of(verb), verb.third[:-1]
    # Only e changes to i in an order: gib, lies; but fahr, lauf.
    if changed not in (stem, stem + "e") and not set("äöü") & (set(changed) - set(stem)):
        return changed
    if verb.infinitive.endswith("eln"):
        return stem[:-2] + "le"
    return stem + ("e" if needs_e(stem) or stem.endswith("er") else "")


def zu_infinitive(verb: Verb) -> list[str]:
    """Aufzumachen, but zu machen."""
    return [f"{verb.prefix}zu{verb.infinitive}"] if verb.prefix else ["zu", verb.infinitive]
