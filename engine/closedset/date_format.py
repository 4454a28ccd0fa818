"""A declared date format (strptime's): whether it says a date without guessing, and what a text says by it."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import lru_cache

#: How many digits each part has that is a number; the year's are never fewer.
_DIGITS = {"d": 2, "m": 2, "y": 2, "H": 2, "I": 2, "M": 2, "S": 2, "U": 2, "W": 2, "V": 2, "j": 3, "Y": 4, "G": 4,
           "w": 1, "u": 1, "f": 6}  # fmt: skip
_ALL_DIGITS = "YGy"
_OTHER = dict.fromkeys("aAbB", r"[^\W\d_]+") | {"p": r"\S*", "Z": r"\S*", "z": r"\S+"}
#: What is another text in another place, or no part that Python reads; and what to write.
_WRITTEN_OUT = {
    "c": "%a %b %d %H:%M:%S %Y", "x": "%m/%d/%y", "X": "%H:%M:%S", "D": "%m/%d/%y", "F": "%Y-%m-%d", "T": "%H:%M:%S",
    "R": "%H:%M", "r": "%I:%M:%S %p", "e": "%d", "h": "%b", "k": "%H", "l": "%I",
}  # fmt: skip
_STATES: dict[str, Callable[[date], int | str]] = {
    "Y": lambda day: day.year,
    "y": lambda day: day.year % 100,
    "G": lambda day: day.isocalendar().year,
    "m": lambda day: day.month,
    "b": lambda day: day.strftime("%b").casefold(),
    "B": lambda day: day.strftime("%B").casefold(),
    "d": lambda day: day.day,
    "j": lambda day: day.timetuple().tm_yday,
    "U": lambda day: int(day.strftime("%U")),
    "W": lambda day: int(day.strftime("%W")),
    "V": lambda day: day.isocalendar().week,
    "u": lambda day: day.isoweekday(),
    "w": lambda day: day.isoweekday() % 7,
    "a": lambda day: day.strftime("%a").casefold(),
    "A": lambda day: day.strftime("%A").casefold(),
}
_MONTH, _WEEK, _WEEKDAY, _YEAR = set("mbB"), set("UWV"), set("aAwu"), set("yYG")
#: Parts that strptime takes without looking whether the others agree.
_UNCHECKED = {"j", "G"} | _WEEK | _WEEKDAY
_TOKEN = re.compile(r"%(.?)|(\s+)|([^%\s]+)", re.DOTALL)


@dataclass(frozen=True)
class Said:
    """What a text says of a date: a day where `day` is given, else a month, else a year."""

    year: int
    month: int | None
    day: int | None


@dataclass(frozen=True)
class _Form:
    """A format: its parts; the pattern of its texts, in which numbers that touch have all their digits; whether what
    a text states must be held against the day read; and the same format with all four digits of its year."""

    parts: frozenset[str]
    pattern: re.Pattern[str]
    checked: bool
    four_digits: str

    @property
    def states_day(self) -> bool:
        day = "j" in self.parts or ("d" in self.parts and self.parts & _MONTH)
        return bool(day or (self.parts & _WEEK and self.parts & _WEEKDAY))


@lru_cache(maxsize=256)
def _form(form: str) -> _Form:
    tokens = [match.groups() for match in _TOKEN.finditer(form)]
    numbers = [part in _DIGITS if part else False for part, *_ in tokens]
    pattern, touching = "", False
    for i, (part, space, literal) in enumerate(tokens):
        if part in _DIGITS:
            touches = any(numbers[j] for j in (i - 1, i + 1) if 0 <= j < len(numbers))
            touching = touching or touches
            least = _DIGITS[part] if part in _ALL_DIGITS or (touches and part != "f") else 1
            pattern += rf"(?P<{part}>\d{{{least},{_DIGITS[part]}}})"
        elif part in _OTHER:
            pattern += rf"(?P<{part}>{_OTHER[part]})"
        else:
            pattern += r"\s+" if space else re.escape(literal or "%")
    parts = frozenset(part for part, *_ in tokens if part)
    four = "".join("%Y" if part == "y" else f"%{part}" if part else space or literal for part, space, literal in tokens)
    return _Form(parts, re.compile(pattern, re.IGNORECASE), touching or bool(parts & _UNCHECKED), four)


def fault(form: str) -> str:
    """Why no map may declare the format: it states no date, or one that would have to be guessed; else nothing."""
    parts = [part for part in re.findall(r"%(.?)", form, re.DOTALL) if part != "%"]
    for part in parts:
        instead = f"write {_WRITTEN_OUT[part]}" if part in _WRITTEN_OUT else "write %d, %m, %Y, …"
        if part in "cxX" and part:
            return f"%{part} is written otherwise in every place; {instead}, or what stands in the cells"
        if part not in _DIGITS and part not in _OTHER:
            return f"%{part} is no strptime directive ({instead})"
        if parts.count(part) > 1:
            return f"states %{part} twice; write it once, and declare a second format if there are two"
    stated = set(parts)
    if not stated & _YEAR:
        return "states no year; write %Y (or %y with a base_year)"
    if len(stated & _YEAR) > 1:
        return "states two years; write one of %Y, %y and %G"
    if stated & _WEEK and not _form(form).states_day:
        return (
            "states a week and no day of it (write %w, %u or %a if the cells have one; else make its first day by a "
            "SELECT under `tables`)"
        )
    if "d" in stated and not stated & _MONTH:
        return "states a day and no month (write %m or %b)"
    return _unread(form)


def _unread(form: str) -> str:
    sample = datetime(2024, 11, 29, 13, 45, 10, tzinfo=UTC).strftime(form)
    try:
        datetime.strptime(sample, form)
    except ValueError as error:
        return f"cannot be read: {error}"
    return "" if read(sample, form, 2000) else f"cannot read what it writes, {sample!r}"


def read(text: str, form: str, base_year: int | None = None) -> Said | None:
    """A text by a format; None where it is another text, states no day of the calendar, or contradicts itself (a day
    366 of a common year, a weekday of another date). Numbers that touch must have all their digits. A two-digit year
    needs the first year of its century."""
    said = _form(form)
    if "y" in said.parts:
        match = said.pattern.fullmatch(text)
        if match is None or base_year is None:
            return None
        year = base_year + (int(match["y"]) - base_year) % 100
        before, after = match.span("y")
        return read(f"{text[:before]}{year:04}{text[after:]}", said.four_digits)
    match = said.pattern.fullmatch(text) if said.checked else None
    if said.checked and match is None:
        return None
    try:
        day = datetime.strptime(text, form).date()
    except ValueError:
        return None
    if match and not all(_agrees(part, match[part], day) for part in said.parts & _STATES.keys()):
        return None
    if said.states_day:
        return Said(day.year, day.month, day.day)
    return Said(day.year, day.month if said.parts & _MONTH else None, None)


def _agrees(part: str, written: str, day: date) -> bool:
    stated = _STATES[part](day)
    return stated == (int(written) if part in _DIGITS else written.casefold())
