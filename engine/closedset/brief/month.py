"""Whether words write a month: a compile may pin only a month that its brief writes."""

import re

_NAMES = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]
_MONTHS = {name[:n]: i for i, name in enumerate(_NAMES, 1) for n in {3, 4, len(name)}}
#: Words that stand before a year and name no month; any other word may be a month in another language.
_NO_MONTH = frozenset(
    [
        "as",
        "of",
        "in",
        "at",
        "on",
        "by",
        "the",
        "a",
        "end",
        "start",
        "beginning",
        "year",
        "during",
        "since",
        "until",
        "till",
        "before",
        "after",
        "from",
        "through",
        "late",
        "early",
        "mid",
    ]
)
_NUMERIC = (
    re.compile(r"(?<![0-9])([0-9]{4})\s*[-/.年]\s*([0-9]{1,2})(?![0-9])"),
    re.compile(r"(?<![0-9])(?P<month>[0-9]{1,2})\s*[-/.]\s*(?P<year>[0-9]{4})(?![0-9])"),
)
_WORD = re.compile(r"[^\W\d_]+|[0-9]+")


def writes(words: str, month: str) -> bool:
    """Whether `words` write the month `YYYY-MM`: its year, and beside it this month by number or English name, or
    a word that may be a month in another language.

    >>> writes("as of March 2020", "2020-03"), writes("as of March 2020", "2020-07"), writes("as of 2020", "2020-01")
    (True, False, False)
    """
    year, number = month.split("-")
    numeric = [m for m in _NUMERIC[0].finditer(words) if m[1] == year]
    found = [int(m[2]) for m in numeric] + [int(m["month"]) for m in _NUMERIC[1].finditer(words) if m["year"] == year]
    if found:
        return int(number) in found
    tokens = _WORD.findall(words.casefold())
    return any(_beside(tokens, i, int(number)) for i, token in enumerate(tokens) if token == year)


def _beside(tokens: list[str], at: int, month: int) -> bool:
    """Whether the words around a year name the month; a day between them is passed over."""
    before = [t for t in tokens[:at] if not t.isdigit()][-1:]
    after = [t for t in tokens[at + 1 :] if not t.isdigit()][:1]
    named = [_MONTHS[t] for t in (*before, *after) if t in _MONTHS]
    if named:
        return month in named
    return any(word not in _NO_MONTH for word in before)
