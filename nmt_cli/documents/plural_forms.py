"""Plural forms of gettext: `nplurals=2; plural=(n != 1);`

The expression is in C. It is parsed, not evaluated as code: a PO file may come from a stranger.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

_HEADER = re.compile(r"nplurals\s*=\s*(\d{1,2})\s*;\s*plural\s*=\s*([^;\n]{1,500})")
_TOKEN = re.compile(r"\s*(\d{1,9}|n|\|\||&&|[=!<>]=|[-+*/%<>!?:()])")
_MOST = 200  # numbers that are tried out

Rule = Callable[[int], int]
_BINARY: list[dict[str, Callable[[int, int], int]]] = [
    {"||": lambda a, b: int(bool(a or b))},
    {"&&": lambda a, b: int(bool(a and b))},
    {"==": lambda a, b: int(a == b), "!=": lambda a, b: int(a != b)},
    {
        "<": lambda a, b: int(a < b),
        ">": lambda a, b: int(a > b),
        "<=": lambda a, b: int(a <= b),
        ">=": lambda a, b: int(a >= b),
    },
    {"+": lambda a, b: a + b, "-": lambda a, b: a - b},
    {"*": lambda a, b: a * b, "/": lambda a, b: a // b if b else 0, "%": lambda a, b: a % b if b else 0},
]

_ONE_FORM = "nplurals=1; plural=0;"
_TWO_FORMS = "nplurals=2; plural=(n != 1);"
_FRENCH = "nplurals=2; plural=(n > 1);"
_SLAVIC = "(n%10>=2 && n%10<=4 && (n%100<12 || n%100>14) ? 1 : 2);"
_RULES = {
    **dict.fromkeys(["ja", "zh", "ko", "vi", "th", "id", "ms", "lo", "my"], _ONE_FORM),
    **dict.fromkeys(["fr", "pt_BR", "tr", "wo", "ln", "hy"], _FRENCH),
    **dict.fromkeys(
        ["ru", "uk", "be", "hr", "sr", "bs"], f"nplurals=3; plural=n%10==1 && n%100!=11 ? 0 : {_SLAVIC}"
    ),
    **dict.fromkeys(["cs", "sk"], "nplurals=3; plural=(n==1) ? 0 : (n>=2 && n<=4) ? 1 : 2;"),
    "pl": f"nplurals=3; plural=n==1 ? 0 : {_SLAVIC}",
    "ro": "nplurals=3; plural=(n==1 ? 0 : (n==0 || (n%100 > 0 && n%100 < 20)) ? 1 : 2);",
    **dict.fromkeys(
        "de en nl sv da nb nn no fi et es it pt el hu he bg ca eu gl sq sw ig af eo hi bn ta ur".split(),  # noqa: SIM905
        _TWO_FORMS,
    ),
}


class PluralForms(NamedTuple):
    """The number of forms, and the numbers that each is used for, of those that were tried out."""

    size: int  # number of forms
    numbers: tuple[frozenset[int], ...]

    def is_singular(self, form: int) -> bool:
        """Whether a form is used for 1, and for nothing else."""
        return self.numbers[form] == {1}

    def includes_one(self, form: int) -> bool:
        """Whether a form is used for 1, and perhaps for other numbers."""
        return 1 in self.numbers[form]


def rule_of_language(language: str) -> str | None:
    """The `Plural-Forms` of a language, if they are known here."""
    name = language.replace("-", "_")
    return _RULES.get(name) or _RULES.get(name.split("_")[0])


def plural_forms(header: str) -> PluralForms | None:
    """The forms according to a `Plural-Forms` field; None if it has none that make sense."""
    match = _HEADER.search(header)
    if not match or not 1 <= int(match[1]) <= 10:
        return None
    count = int(match[1])
    try:
        rule = _parse(match[2])
        chosen = [rule(n) for n in range(_MOST + 1)]
    except (ValueError, IndexError, RecursionError):
        return None
    if not all(0 <= form < count for form in chosen):
        return None
    return PluralForms(
        count, tuple(frozenset(n for n, form in enumerate(chosen) if form == i) for i in range(count))
    )


def _parse(expression: str) -> Rule:
    tokens, position = list[str](), 0
    expression = expression.strip()
    while position < len(expression):
        match = _TOKEN.match(expression, position)
        if not match:
            raise ValueError(expression)
        tokens.append(match[1])
        position = match.end()
    rule = _conditional(tokens)
    if tokens:
        raise ValueError(expression)
    return rule


def _conditional(tokens: list[str]) -> Rule:
    condition = _binary(tokens, 0)
    if not tokens or tokens[0] != "?":
        return condition
    tokens.pop(0)
    first = _conditional(tokens)
    if tokens.pop(0) != ":":
        raise ValueError("?")
    second = _conditional(tokens)
    return lambda n: first(n) if condition(n) else second(n)


def _binary(tokens: list[str], level: int) -> Rule:
    if level == len(_BINARY):
        return _unary(tokens)
    left = _binary(tokens, level + 1)
    while tokens and tokens[0] in _BINARY[level]:
        left = _applied(_BINARY[level][tokens.pop(0)], left, _binary(tokens, level + 1))
    return left


def _applied(operator: Callable[[int, int], int], left: Rule, right: Rule) -> Rule:
    return lambda n: operator(left(n), right(n))


def _unary(tokens: list[str]) -> Rule:
    token = tokens.pop(0)
    if token == "!":
        inner = _unary(tokens)
        return lambda n: int(not inner(n))
    if token == "(":
        inner = _conditional(tokens)
        if tokens.pop(0) != ")":
            raise ValueError("(")
        return inner
    if token == "n":
        return lambda n: n
    value = int(token)
    return lambda n: value
