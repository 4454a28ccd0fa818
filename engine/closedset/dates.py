"""Dates keep the precision they were written with: a date is a span of days, both ends included.

"2024" is a whole year, "2024-02" a month. What cannot be read without guessing is unreadable, never a guess.
"""

import re
from calendar import monthrange
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from closedset import date_format

_ISO = re.compile(r"([0-9]{4})(?:-([0-9]{2})(?:-([0-9]{2}))?)?")
#: 24:00 is the end of its day; 60 is a leap second; no clock of the earth is 18 hours from UTC.
_TIMESTAMP = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[T ]"
    r"(?:(?:[01][0-9]|2[0-3])(?::?[0-5][0-9](?::?(?:[0-5][0-9]|60)(?:[.,][0-9]+)?)?)?|24(?::?00(?::?00(?:[.,]0+)?)?)?)"
    r" ?(?:Z|UTC|[+-](?:(?:0[0-9]|1[0-7])(?::?[0-5][0-9](?::?[0-5][0-9])?)?|18(?::?00(?::?00)?)?))?"
)
_MONTH = re.compile(r"([0-9]{4})-([0-9]{2})")
#: The spreadsheet's day 0; it counts a 29 February 1900 that never was (serial 60).
_SERIAL_ZERO = date(1899, 12, 31)
#: Days whose texts show whether a format's are also ISO.
_SAMPLES = (date(1999, 12, 31), date(2003, 4, 5), date(2024, 2, 29))


@dataclass(frozen=True, order=True)
class Span:
    """The days a written date may mean, first and last."""

    start: date
    end: date


def _year(year: int) -> Span | None:
    return Span(date(year, 1, 1), date(year, 12, 31)) if year >= 1 else None


def _month(year: int, month: int) -> Span | None:
    if year < 1 or not 1 <= month <= 12:
        return None
    return Span(date(year, month, 1), date(year, month, monthrange(year, month)[1]))


def read_iso(text: str) -> Span | None:
    """An ISO year, month or day (`2024-00-00` and `2024-02-00` mean the year and the month), or the written
    calendar date of a timestamp, whatever its offset (up to 18 hours). None when the text is none of them."""
    stamp = _TIMESTAMP.fullmatch(text)
    match = _ISO.fullmatch(stamp[1] if stamp else text)
    # "2024-02-00" is a month; with a time of day it is neither a month nor a day.
    if not match or (stamp and "00" in (match[2], match[3])):
        return None
    year, month, day = int(match[1]), match[2], match[3]
    if month is None or (month == "00" and day in (None, "00")):
        return None if month == "00" and day is None else _year(year)
    if day is None or day == "00":
        return _month(year, int(month))
    try:
        return Span(*[date(year, int(month), int(day))] * 2)
    except ValueError:
        return None


def read(
    text: str, formats: Sequence[str] = (), base_year: int | None = None, excel_serial: bool = False
) -> Span | None:
    """A trimmed cell as a span of days, or None when it is unreadable.

    ISO first, then each declared strptime format (as precise as its parts; `%y` only with a base year), then a
    spreadsheet serial when declared.
    """
    span = read_iso(text)
    if span is not None:
        return span
    for form in formats:
        span = _by_format(text, form, base_year)
        if span is not None:
            return span
    if excel_serial and re.fullmatch(r"[0-9]{1,7}", text):
        serial = int(text)
        if 1 <= serial <= 2_958_465 and serial != 60:
            day = _SERIAL_ZERO + timedelta(days=serial if serial < 60 else serial - 1)
            return Span(day, day)
    return None


def _by_format(text: str, form: str, base_year: int | None) -> Span | None:
    said = date_format.read(text, form, base_year)
    if said is None:
        return None
    if said.month is None:
        return _year(said.year)
    return Span(*[date(said.year, said.month, said.day)] * 2) if said.day else _month(said.year, said.month)


def fault(form: str) -> str:
    """Why no map may declare a format, or nothing: it states no date without a guess, or ISO, which is read first,
    takes its texts for other days."""
    if wrong := date_format.fault(form):
        return wrong
    for day in _SAMPLES:
        text = day.strftime(form)
        iso = read_iso(text)
        if iso and iso != _by_format(text, form, _SAMPLES[0].year):
            return (
                f"is never asked for {text!r}: ISO is read first, and that is {iso.start} to {iso.end}; make ISO dates "
                "of such cells by a SELECT under `tables`"
            )
    return ""


def month_end(text: str) -> date | None:
    """The last day of an `as_of` month `YYYY-MM`, or None when the text is no month."""
    match = _MONTH.fullmatch(text)
    span = _month(int(match[1]), int(match[2])) if match else None
    return span.end if span else None


def joined(spans: Iterable[Span]) -> tuple[Span, ...]:
    """The same days in as few spans as possible: spans that touch or overlap become one."""
    merged: list[Span] = []
    for span in sorted(spans):
        last = merged[-1] if merged else None
        if last and (last.end == date.max or span.start <= last.end + timedelta(days=1)):
            merged[-1] = Span(last.start, max(last.end, span.end))
        else:
            merged.append(span)
    return tuple(merged)
