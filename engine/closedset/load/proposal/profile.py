"""What the columns of an export hold: how many cells, which texts, and as what every one of them reads."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

import duckdb

from closedset import cells, dates
from closedset.catalog import SourceTable, kept_as
from closedset.fold import WHITE_SPACE, fold
from closedset.mapping import Cell
from closedset.pack import Slot
from closedset.render import render

#: The most texts that are looked at as a vocabulary.
TOP = 80
_FORMS = 4
_SHAPED = 2_000
_BATCH = 10_000
_PLAIN, _COMMA, _NUMBER = Cell(column="x"), Cell(column="x", decimal=",", grouping="."), Slot(type="number")
_GROUPED = Cell(column="x", grouping=",")
#: What exports write where they know nothing. Only suggested: NA is Namibia, and "none" may be a fact.
MARKERS = frozenset(
    {"n/a", "na", "#n/a", "n.a.", "nan", "null", "none", "nil", "-", "--", "—", "–", "?", "unknown", "not available",
     "not applicable", "tbd", "unbekannt", "k.a.", "inconnu", "desconocido", "(blank)", "(null)", "\\n"}
)  # fmt: skip
_NUMERIC = tuple(f"{a}{s}{b}{s}{y}" for s in "/.-" for a, b in (("%d", "%m"), ("%m", "%d")) for y in ("%Y", "%y"))
_LONGEST_MARKER = max(map(len, MARKERS))
#: Date formats that an export may be written in, beside ISO.
FORMATS = (
    *_NUMERIC,
    *(f"{form} {time}" for form in _NUMERIC for time in ("%H:%M", "%H:%M:%S")),
    "%Y/%m/%d", "%Y.%m.%d", "%Y%m%d", "%d %b %Y", "%d %B %Y", "%d%b%Y", "%b %d, %Y", "%B %d, %Y", "%d-%b-%Y",
    "%d-%b-%y", "%d. %B %Y", "%Y/%m", "%m/%Y", "%b %Y", "%B %Y",
)  # fmt: skip
COMPACT = "%Y%m%d"
#: A first year for two-digit ones, to see whether such a format fits at all; it is never written into a draft.
_SOME_YEAR = 1950
_YEAR = re.compile("[0-9]{4}")
_LIKELY_YEARS = range(1800, 2101)


@dataclass(frozen=True)
class Column:
    """One column. Counts are of cells that hold more than white space; `distinct` of texts trimmed, `folded` of
    spellings. `top` are the most frequent texts with their cells, `forms` the most frequent shapes (9 a digit, a
    letters). `markers` are texts that may record nothing; what the others read as: `number` (all are exact
    decimals), `comma` (all are with a decimal comma and grouping dots), `grouped` (all
    are with a decimal point and grouping commas), `formats` (date formats that read all;
    "" is ISO alone), `agree` (these formats mean the same days), `years` (all are bare likely years), `odd` (a text
    that ISO reads as a date of an unlikely year: four digits such as 0324 or 5003, a day before the year 1000),
    `padded` (some number starts with a zero that would be lost)."""

    name: str
    place: int
    rows: int
    filled: int
    distinct: int
    folded: int
    longest: int
    top: tuple[tuple[str, int], ...]
    forms: tuple[tuple[str, int], ...]
    markers: tuple[tuple[str, int], ...]
    number: bool
    comma: bool
    padded: bool
    years: bool
    odd: str
    formats: tuple[str, ...]
    agree: bool
    grouped: bool

    @property
    def unique(self) -> bool:
        """Whether every row has a text of its own here."""
        return self.rows > 0 and self.filled == self.distinct == self.rows


def profile(con: duckdb.DuckDBPyConnection, table: SourceTable) -> list[Column]:
    """Every column of a table of kept cells, in its order."""
    return [_column(con, table, name, place) for place, name in enumerate(table.columns, 1)]


@dataclass
class _Reading:
    """As what every text so far reads; markers are passed over."""

    number: bool = True
    comma: bool = True
    grouped: bool = True
    padded: bool = False
    years: bool = True
    odd: str = ""
    formats: tuple[str, ...] = ("", *FORMATS)
    agree: bool = True
    texts: int = 0

    @property
    def open(self) -> bool:
        """Whether the texts may still be anything but text."""
        return self.number or self.comma or self.grouped or bool(self.formats)

    def take(self, text: str) -> None:
        self.texts += 1
        self.number = self.number and not cells.read(text, _PLAIN, _NUMBER, None).unreadable
        self.comma = self.comma and not cells.read(text, _COMMA, _NUMBER, None).unreadable
        self.grouped = self.grouped and not cells.read(text, _GROUPED, _NUMBER, None).unreadable
        self.padded = self.padded or (len(text) > 1 and text[0] == "0" and text[1] not in ".,")
        self.years = self.years and bool(_YEAR.fullmatch(text)) and int(text) in _LIKELY_YEARS
        self.odd = self.odd or (text if _odd(text) else "")
        self.formats = tuple(form for form in self.formats if _reads(text, form))

    def compare(self, text: str) -> None:
        """Whether the formats that are left mean the same days by this text."""
        self.agree = self.agree and len({_span(text, form) for form in self.formats}) < 2


def _column(con: duckdb.DuckDBPyConnection, table: SourceTable, name: str, place: int) -> Column:
    reading = _Reading()
    top: list[tuple[str, int]] = []
    forms: Counter[str] = Counter()
    markers: list[tuple[str, int]] = []
    texts = _texts(con, table, name)
    first = next(texts, None)
    distinct, filled, longest = first[2:] if first else (0, 0, 0)
    for i, (said, held, *_) in enumerate(chain([first], texts) if first else ()):
        if i < _SHAPED:
            forms[_shape(said)] += held
            top += [(said, held)] if i < TOP else []
        elif not reading.open:
            break
        if len(said) <= _LONGEST_MARKER and said.lower() in MARKERS:
            markers.append((said, held))
        elif reading.open:
            reading.take(said)
    if "" in reading.formats:
        # A format that reads no text that ISO does not read adds nothing.
        reading.formats = ("",)
    if len(reading.formats) > 1:
        for said, *_ in _texts(con, table, name):
            if said.lower() not in MARKERS:
                reading.compare(said)
    some = reading.texts > 0
    folded = len({fold(said) for said, _ in top}) if distinct <= TOP else distinct
    shapes = sorted(forms.items(), key=lambda pair: (-pair[1], pair[0]))[:_FORMS]
    return Column(
        name, place, table.rows, filled, distinct, folded, longest, tuple(top), tuple(shapes), tuple(sorted(markers)),
        some and reading.number, some and reading.comma, reading.padded, some and reading.years, reading.odd,
        reading.formats if some else (), reading.agree, some and reading.grouped,
    )  # fmt: skip


def _texts(con: duckdb.DuckDBPyConnection, table: SourceTable, name: str) -> Iterator[tuple[str, int, int, int, int]]:
    sql = render("load/proposal_column.sql.j2", cells=table.cells, column=kept_as(name))
    cursor = con.execute(sql, {"white_space": WHITE_SPACE})
    while batch := cursor.fetchmany(_BATCH):
        yield from batch


def _shape(text: str) -> str:
    """A text's shape: 9 for a digit, a for letters in a row."""
    return re.sub(r"[^\W\d_]+", "a", re.sub(r"\d", "9", text[:40]))


def _span(text: str, form: str) -> dates.Span | None:
    return dates.read(text, (form,) if form else (), _SOME_YEAR if "%y" in form else None)


def _odd(text: str) -> bool:
    """Whether ISO reads a date of a year that hardly anybody writes: more often it is a code, or a month and year."""
    span = dates.read_iso(text)
    least = _LIKELY_YEARS if _YEAR.fullmatch(text) else range(1000, 10000)
    return span is not None and span.start.year not in least


def _reads(text: str, form: str) -> bool:
    span = _span(text, form)
    return span is not None and (form != COMPACT or span.start.year in _LIKELY_YEARS)
