"""Facts about languages: their function words, scripts and codes."""

FUNCTION_WORDS: dict[str, frozenset[str]] = {
    language: frozenset(words.split())
    for language, words in {
        "en": (
            "the of and to a in on is that it for was with as be by are this from at not have but you he "
            "his which or an they we"
        ),
        "de": (
            "der die das und ist nicht ein eine zu den mit dem sich für auf von des es im auch wird "
            "werden sie ich wenn oder kann aus"
        ),
        "fr": (
            "le la les de des et est un une dans pour que qui par sur pas l d du au ce il ne vous je avec "
            "sont ou cette plus"
        ),
        "es": (
            "el la los las de que y en un una es por con para del se no al lo su como más o pero está son "
            "este si"
        ),
        "it": (
            "il la di che e un una è per in non del della con i le si da sono gli al lo nel anche come "
            "più ma questo"
        ),
        "pt": (
            "o a os as de que e em um uma é por com para do da não se no na ao mais dos como mas foi você "
            "são isso"
        ),
        "nl": (
            "de het een en van in is dat op te zijn voor met niet aan er die ook als bij door of maar om "
            "naar hij wordt ik"
        ),
        "sv": (
            "och att det i en som på är av för med den inte ett till om har de jag var han så kan från "
            "eller ska vi"
        ),
        "da": (
            "og at det i en som på er af for med den ikke et til om har de jeg var han så kan fra eller "
            "skal vi sig blev"
        ),
        "no": (
            "og at det i en som på er av for med den ikke et til om har de jeg var han så kan fra eller "
            "skal vi seg ble"
        ),
        "fi": (
            "ja on ei että se oli hän en mutta ovat kun niin olen mitä tai joka ole myös jos kuin minä "
            "sen ovat tämä hänen"
        ),
        "cs": (
            "a je se na v že s z do to jsem ve si pro by ale jako za které nebo po jeho který o tak jsou "
            "není být byl"
        ),
        "pl": (
            "i w na z się nie do to że jest o jak ale za co po dla od przez czy są oraz tak który jego "
            "już może przy"
        ),
        "ro": (
            "și de în a la cu pe nu că este un o care din pentru sau mai să se sunt ce ca lui au fost "
            "prin am era"
        ),
        "hu": (
            "a az és hogy nem egy is van ez de meg csak már volt azt kell mint ha vagy még lesz ezt el én ki"
        ),
        "tr": (
            "ve bir bu için de da ile olarak daha çok ne var o gibi kadar sonra değil ama en her mi olan "
            "ben veya"
        ),
        "vi": (
            "và của là có không một được cho các trong này những người với để đã thì khi tôi anh nó bạn "
            "đó từ cũng như sẽ"
        ),
        "id": (
            "yang dan di itu dengan untuk tidak ini dari dalam akan pada ke adalah saya juga ada dia bisa "
            "karena oleh mereka atau"
        ),
        "sw": (
            "na ya wa kwa ni katika za la kuwa hii cha ya hiyo kama wake au lakini huo yake watu pia hao "
            "baada hilo"
        ),
        "ru": "и в не на что с он как это по но из у за так же от для бы все его к то был мы вы я она",
        "uk": "і в не на що з він як це по але із у за так від для би та до його був ми ви я вона або є",
        "bg": "и в не на че с той как това по но от за да се е са ще като или беше ние вие аз тя ли му",
    }.items()
}

# Languages that their function words do not tell apart.
SIMILAR_LANGUAGES = ({"da", "no"}, {"es", "pt", "it"}, {"cs", "pl"}, {"ru", "uk", "bg"})

# The first code point of each range of letters, in order, and the script of the letters from there on.
_RANGES: tuple[tuple[int, str], ...] = (
    (0x0, ""),
    (0x41, "Latin"),
    (0x5B, ""),
    (0x61, "Latin"),
    (0x7B, ""),
    (0xC0, "Latin"),
    (0xD7, ""),
    (0xD8, "Latin"),
    (0xF7, ""),
    (0xF8, "Latin"),
    (0x2B0, ""),
    (0x370, "Greek"),
    (0x400, "Cyrillic"),
    (0x530, "Armenian"),
    (0x590, "Hebrew"),
    (0x600, "Arabic"),
    (0x700, ""),
    (0x750, "Arabic"),
    (0x780, ""),
    (0x8A0, "Arabic"),
    (0x900, "Devanagari"),
    (0x980, "Bengali"),
    (0xA00, "Gurmukhi"),
    (0xA80, "Gujarati"),
    (0xB00, "Oriya"),
    (0xB80, "Tamil"),
    (0xC00, "Telugu"),
    (0xC80, "Kannada"),
    (0xD00, "Malayalam"),
    (0xD80, "Sinhala"),
    (0xE00, "Thai"),
    (0xE80, "Lao"),
    (0xF00, "Tibetan"),
    (0x1000, "Myanmar"),
    (0x10A0, "Georgian"),
    (0x1100, "Hangul"),
    (0x1200, "Ethiopic"),
    (0x13A0, ""),
    (0x1780, "Khmer"),
    (0x1800, ""),
    (0x1C90, "Georgian"),
    (0x1CC0, ""),
    (0x1E00, "Latin"),
    (0x1F00, "Greek"),
    (0x2000, ""),
    (0x3040, "Kana"),
    (0x3100, ""),
    (0x3400, "Han"),
    (0x4DC0, ""),
    (0x4E00, "Han"),
    (0xA000, ""),
    (0xAC00, "Hangul"),
    (0xD7B0, ""),
    (0xFB50, "Arabic"),
    (0xFE00, ""),
    (0xFE70, "Arabic"),
    (0xFEFF, ""),
    (0x20000, "Han"),
    (0x32000, ""),
)

SCRIPTS: tuple[str, ...] = tuple(sorted({script for _, script in _RANGES}))
RANGE_STARTS: tuple[int, ...] = tuple(start for start, _ in _RANGES)
RANGE_SCRIPTS: tuple[int, ...] = tuple(SCRIPTS.index(script) for _, script in _RANGES)

_SCRIPTS_OF: dict[str, frozenset[str]] = {
    language: frozenset(scripts.split())
    for scripts, languages in {
        "Latin": (
            "en de fr es it pt nl sv da no fi cs sk pl ro hu tr vi id ms sw ig yo ha wo zu xh af ca gl eu "
            "hr sl et lv lt is ga cy sq mt tl so eo la lb oc br"
        ),
        "Cyrillic": "ru uk bg be mk kk ky tg mn",
        "Cyrillic Latin": "sr bs uz az",
        "Greek": "el",
        "Armenian": "hy",
        "Georgian": "ka",
        "Hebrew": "he yi",
        "Arabic": "ar fa ur ps ug sd",
        "Devanagari": "hi mr ne sa",
        "Bengali": "bn as",
        "Gurmukhi": "pa",
        "Gujarati": "gu",
        "Oriya": "or",
        "Tamil": "ta",
        "Telugu": "te",
        "Kannada": "kn",
        "Malayalam": "ml",
        "Sinhala": "si",
        "Thai": "th",
        "Lao": "lo",
        "Tibetan": "bo dz",
        "Myanmar": "my",
        "Khmer": "km",
        "Ethiopic": "am ti",
        "Hangul": "ko",
        "Han": "zh yue",
        "Kana Han": "ja",
    }.items()
    for language in languages.split()
}

_OTHER_CODES = {
    other: code
    for code, others in {
        "ar": "ara arb",
        "bg": "bul",
        "cs": "ces cze",
        "da": "dan",
        "de": "deu ger",
        "el": "ell gre",
        "en": "eng",
        "es": "spa",
        "fa": "fas pes",
        "fi": "fin",
        "fr": "fra fre",
        "he": "heb",
        "hi": "hin",
        "hu": "hun",
        "id": "ind",
        "ig": "ibo",
        "it": "ita",
        "ja": "jpn jp",
        "ka": "kat",
        "ko": "kor",
        "nl": "nld dut",
        "no": "nor nb nn nob nno",
        "pl": "pol",
        "pt": "por",
        "ro": "ron rum",
        "ru": "rus",
        "sv": "swe",
        "sw": "swa swh",
        "th": "tha",
        "tr": "tur",
        "uk": "ukr ua",
        "vi": "vie",
        "wo": "wol",
        "zh": "zho chi cmn cn",
    }.items()
    for other in others.split()
}


def base_language(code: str) -> str:
    """The two-letter language of a code such as `de_DE`, `zh-cn` or `deu_Latn`."""
    base = code.replace("_", "-").partition("-")[0].lower()
    return _OTHER_CODES.get(base, base)


def scripts_of(code: str) -> frozenset[str] | None:
    """The scripts in which a language is written; None if unknown."""
    explicit = code.replace("_", "-").lower()
    if explicit.endswith(("-latn", "-latin")):
        return frozenset({"Latin"})
    return _SCRIPTS_OF.get(base_language(code))
