"""Dates keep the precision they were written with: a date is a span of days, both ends included.

"2024" is a whole year, "2024-02" a month. What cannot be read without guessing is unreadable, never a guess.
"""

import re
from calendar import monthrange
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

_ISO = re.compile(r"([0-9]{4})(?:-([0-9]{2})(?:-([0-9]{2}))?)?")
#: 24:00 is the end of its day; 60 is a leap second; no clock of the earth is 18 hours from UTC.
_TIMESTAMP = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[T ]"
    r"(?:(?:[01][0-9]|2[0-3])(?::?[0-5][0-9](?::?(?:[0-5][0-9]|60)(?:[.,][0-9]+)?)?)?|24(?::?00(?::?00(?:[.,]0+)?)?)?)"
    r" ?(?:Z|UTC|[+-](?:(?:0[0-9]|1[0-7])(?::?[0-5][0-9](?::?[0-5][0-9])?)?|18(?::?00(?::?00)?)?))?"
)
_ADJACENT = re.compile(r"%-?[A-Za-z]%-?[A-Za-z]")
_MONTH = re.compile(r"([0-9]{4})-([0-9]{2})")
#: The spreadsheet's day 0; it counts a 29 February 1900 that never was (serial 60).
_SERIAL_ZERO = date(1899, 12, 31)


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

    ISO first, then each declared strptime format (without `%d` a month, without a month too a year; `%y`
    only with a base year), then a spreadsheet serial when declared.
    """
    span = read_iso(text)
    if span is not None:
        return span
    for form in formats:
        span = _read_format(text, form, base_year)
        if span is not None:
            return span
    if excel_serial and re.fullmatch(r"[0-9]{1,7}", text):
        serial = int(text)
        if 1 <= serial <= 2_958_465 and serial != 60:
            day = _SERIAL_ZERO + timedelta(days=serial if serial < 60 else serial - 1)
            return Span(day, day)
    return None


def _read_format(text: str, form: str, base_year: int | None) -> Span | None:
    if "%y" in form and base_year is None:
        return None
    try:
        found = datetime.strptime(text, form)
        # "%Y%m%d" would read 2024112 as 2 November: where digits touch, only the full width is no guess.
        if _ADJACENT.search(form) and found.strftime(form) != text:
            return None
        year = found.year
        if "%y" in form and base_year is not None:
            year = base_year + (year - base_year) % 100
        if "%j" in form or ("%d" in form and re.search("%[mbB]", form)):
            day = found.date().replace(year=year)
            return Span(day, day)
        if re.search("%[mbB]", form):
            return _month(year, found.month)
        if re.search("%[xcDFsUWV]", form):
            return Span(found.date(), found.date())
        return _year(year)
    except ValueError:
        return None


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
