"""Numbers, ordinals and clock times as both languages say them."""

ENGLISH_SMALL = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
ENGLISH_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
GERMAN_SMALL = [
    "null",
    "eins",
    "zwei",
    "drei",
    "vier",
    "fünf",
    "sechs",
    "sieben",
    "acht",
    "neun",
    "zehn",
    "elf",
    "zwölf",
    "dreizehn",
    "vierzehn",
    "fünfzehn",
    "sechzehn",
    "siebzehn",
    "achtzehn",
    "neunzehn",
]
GERMAN_TENS = ["zwanzig", "dreißig", "vierzig", "fünfzig", "sechzig", "siebzig", "achtzig", "neunzig"]

ENGLISH_ORDINALS = {
    "one": "first",
    "two": "second",
    "three": "third",
    "five": "fifth",
    "eight": "eighth",
    "nine": "ninth",
    "twelve": "twelfth",
}
GERMAN_ORDINALS = {1: "erste", 3: "dritte", 7: "siebte", 8: "achte"}


def english_number(number: int) -> str:
    """23: twenty-three."""
    if number < 20:
        return ENGLISH_SMALL[number]
    tens, ones = divmod(number, 10)
    return ENGLISH_TENS[tens - 2] + (f"-{ENGLISH_SMALL[ones]}" if ones else "")


def german_number(number: int) -> str:
    """23: dreiundzwanzig."""
    if number < 20:
        return GERMAN_SMALL[number]
    tens, ones = divmod(number, 10)
    if not ones:
        return GERMAN_TENS[tens - 2]
    # The s of eins is lost inside a number: einundzwanzig.
    return f"{'ein' if ones == 1 else GERMAN_SMALL[ones]}und{GERMAN_TENS[tens - 2]}"


def english_ordinal(number: int) -> str:
    """23: twenty-third."""
    stem, dash, last = english_number(number).rpartition("-")
    last = ENGLISH_ORDINALS.get(last) or (last[:-1] + "ieth" if last.endswith("y") else last + "th")
    return stem + dash + last


def german_ordinal(number: int) -> str:
    """23: dreiundzwanzigste, with the weak ending of the nominative."""
    return GERMAN_ORDINALS.get(number) or german_number(number) + ("te" if number < 20 else "ste")


def english_clock(hour: int, minute: int) -> str:
    """7:30 is half past seven."""
    if minute == 0:
        return f"{english_number(hour)} o'clock"
    if minute == 30:
        return f"half past {english_number(hour)}"
    past = minute < 30
    distance = minute if past else 60 - minute
    what = "a quarter" if distance == 15 else english_number(distance)
    return f"{what} {'past' if past else 'to'} {english_number(hour if past else hour % 12 + 1)}"


def german_clock(hour: int, minute: int) -> str:
    """7:30 is halb acht: half of the eighth hour."""
    if minute == 0:
        return f"{'ein' if hour == 1 else german_number(hour)} Uhr"
    following = german_number(hour % 12 + 1)
    if minute == 30:
        return f"halb {following}"
    past = minute < 30
    distance = minute if past else 60 - minute
    what = "Viertel" if distance == 15 else german_number(distance)
    return f"{what} {'nach' if past else 'vor'} {german_number(hour) if past else following}"
