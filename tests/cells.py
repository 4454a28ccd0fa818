"""The plain reading of one cell: what text it states, and which number or days that text means.

Shared by the two proofs (`reference.py` and `worlds.py`); the engine reads cells with code of its own.
What is uncertain about a value (a year where a day was asked, a surface on no term) is not decided here.
"""

import datetime
import re
import unicodedata
from collections.abc import Mapping, Sequence
from decimal import Decimal
from enum import Enum

from closedset.mapping import Cell

Span = tuple[int, int]
"""The first and the last day a written date may mean, as day numbers (1 = 0001-01-01)."""


class Blank(Enum):
    """A cell without a value: nothing recorded, or text that its type cannot read."""

    EMPTY = "empty"
    UNREADABLE = "unreadable"


def fold(text: str) -> str:
    """NFKC, case fold, white space trimmed and squeezed: equal folds are one spelling."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(unicodedata.normalize("NFKC", folded).split())


def stated(cell: Cell | None, row: Mapping[str, str | None], markers: Sequence[str]) -> str | Blank:
    """The text a row states for a slot: trimmed, without null markers, `absent` filled in, `pattern` held."""
    if cell is None:
        return Blank.EMPTY
    if cell.constant is not None:
        return cell.constant.strip() or Blank.EMPTY
    text = (row.get(cell.column or "") or "").strip()
    if text == "" or text in markers or text in cell.null:
        return (cell.absent or "").strip() or Blank.EMPTY
    if cell.pattern is not None and not re.fullmatch(cell.pattern, text):
        return Blank.EMPTY if cell.mismatch == "unrecorded" else Blank.UNREADABLE
    return text


def value(kind: str, cell: Cell | None, text: str | Blank) -> str | Decimal | Span | Blank:
    """A stated text as a value of the slot's type; terms and texts stay as written."""
    if isinstance(text, Blank) or cell is None or kind in ("term", "text"):
        return text
    read = (
        number(text, cell.decimal, cell.grouping)
        if kind == "number"
        else days(text, cell.dates, cell.base_year, cell.excel_serial)
    )
    return Blank.UNREADABLE if read is None else read


def number(text: str, decimal: str = ".", grouping: str = "") -> Decimal | None:
    """An exact decimal of at most 38 digits; None for "€900", "NaN", "1." and undeclared separators."""
    grouped = rf"[0-9]{{1,3}}(?:{re.escape(grouping)}[0-9]{{3}})+|" if grouping else ""
    form = rf"([+-]?)({grouped}[0-9]+)?(?:{re.escape(decimal)}([0-9]+))?([eE][+-]?[0-9]{{1,3}})?"
    found = re.fullmatch(form, text)
    if not found or (found[2] is None and found[3] is None):
        return None
    whole = (found[2] or "0").replace(grouping, "") if grouping else found[2] or "0"
    read = Decimal(f"{found[1]}{whole}.{found[3] or ''}{found[4] or ''}")
    _, digits, power = read.as_tuple()
    assert isinstance(power, int)
    significant = len("".join(map(str, digits)).lstrip("0"))
    return read if max(0, significant + power) + max(0, -power) <= 38 else None


def days(
    text: str, formats: Sequence[str] = (), base_year: int | None = None, excel_serial: bool = False
) -> Span | None:
    """The days a written date may mean: ISO first, then declared formats, then spreadsheet day numbers."""
    if found := re.fullmatch(r"([0-9]{4})(?:-([0-9]{2})(?:-([0-9]{2}))?)?", text):
        year, month, day = (int(part or 0) for part in found.groups())
        fits = month or text.endswith("-00-00") or text == found[1]
        return _span(year, month, day) if fits else None
    clock = r"[T ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})([.,][0-9]+)?)?\s*(?:Z|[+-]([0-9]{2})(?::?([0-9]{2}))?)?"
    if found := re.fullmatch(rf"([0-9]{{4}})-([0-9]{{2}})-([0-9]{{2}}){clock}", text):
        year, month, day, hour, minute, second, far, minutes = (int(found[i] or 0) for i in (1, 2, 3, 4, 5, 6, 8, 9))
        part = float((found[7] or "0").replace(",", "."))
        # The day ends at 24:00:00, and an offset is at most 18 hours.
        there_is = hour * 3600 + minute * 60 + min(second, 59) + part <= 86400 and minute < 60 and second <= 60
        there_is = there_is and far * 60 + minutes <= 18 * 60 and minutes < 60
        return _span(year, month, day) if month and day and there_is else None
    for form in formats:
        if (read := _by_format(text, form, base_year)) is not None:
            return read
    if excel_serial and re.fullmatch(r"[0-9]+", text) and 1 <= int(text) <= 2958465 and int(text) != 60:
        day = datetime.date(1899, 12, 31 if int(text) < 60 else 30).toordinal() + int(text)
        return day, day
    return None


def _by_format(text: str, form: str, base_year: int | None) -> Span | None:
    if "%y" in form and base_year is None:
        return None
    try:
        read = datetime.datetime.strptime(text, form)
    except ValueError:
        return None
    year = read.year
    if "%y" in form and base_year is not None:
        year = base_year + (year - base_year) % 100
    if "%d" in form or "%j" in form:
        return _span(year, read.month, read.day)
    return _span(year, read.month if re.search("%[mbB]", form) else 0, 0)


def _span(year: int, month: int, day: int) -> Span | None:
    """A day, a month (day 0) or a year (month 0), or None when the calendar has none such."""
    try:
        first = datetime.date(year, month or 1, day or 1).toordinal()
        if day:
            return first, first
        last = datetime.date(year, month or 12, 31 if not month else _month_length(year, month))
    except ValueError:
        return None
    return first, last.toordinal()


def _month_length(year: int, month: int) -> int:
    february = 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    return (31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)[month - 1]
