"""CSV: the header, DuckDB's fast reading, and a slow twin for what it cannot read.

Longer than most files here on purpose: the three must agree on what one line of a file is, and on which line a
fault stands.
"""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import duckdb

from closedset.errors import LoadRefused
from closedset.load.read import text
from closedset.load.read.cells import Cells, unique
from closedset.load.read.part import FURTHER, Part, Unread, first_lines
from closedset.load.read.places import Places
from closedset.render import quoted

_DELIMITERS = ",;\t|"
#: The delimiter that a file's name states.
_NAMED = {".tsv": "\t", ".tab": "\t", ".psv": "|"}
_LONGEST_LINE = 16_000_000
#: Stands for a delimiter of several characters in the slow reading; no text holds it (Unicode keeps it unassigned).
_NO_LETTER = "\U0010ffff"
_QUOTE_LEFT_OPEN = "close the quote, and double a quote that stands inside a quoted cell"
_BLANK = re.compile(rb"\n\r?\n|\r\r")
#: DuckDB's words for rows whose line ends differ from row to row.
_MIXED_LINE_ENDS = "state machine reached an invalid state"


@dataclass(frozen=True)
class _Form:
    """One CSV file as it is read: the UTF-8 bytes at `file`, of which line 1 is line `before` + 1 of the export."""

    part: Part
    file: Path
    before: int
    names: list[str]
    delimiter: str
    quote: str
    escape: str
    header: bool
    #: The first record runs over lines.
    broken: bool = False

    def reader(self, lines: Iterable[str]) -> Iterator[list[str]]:
        """Python's reading of the text."""
        one = len(self.delimiter) == 1
        given = lines if one else (line.replace(self.delimiter, _NO_LETTER) for line in lines)
        rows = _python_reader(given, self.delimiter if one else _NO_LETTER, self.quote, self.escape)
        return rows if one else ([c.replace(_NO_LETTER, self.delimiter) for c in row] for row in rows)

    def place(self, line: int) -> str:
        return f"{self.part.place}:{self.before + line}"


def _python_reader(lines: Iterable[str], delimiter: str, quote: str, escape: str) -> Iterator[list[str]]:
    csv.field_size_limit(_LONGEST_LINE)
    return csv.reader(
        lines,
        delimiter=delimiter,
        quotechar=quote or None,
        quoting=csv.QUOTE_MINIMAL if quote else csv.QUOTE_NONE,
        escapechar=(escape if escape != quote else None) or None,
        strict=True,
    )


def fill(cells: Cells, part: Part) -> tuple[int, list[Unread]]:
    """Append a CSV file's rows, every cell as written; their number, and the rows left out. Refuses, by line, an
    empty file, one without header, a byte its encoding does not know, and what may have swallowed other rows."""
    with text.as_utf8(part) as (file, before):
        form = _form(part, file, before)
        cells.widen(form.names, f"{part.place}:{before + 1}")
        # DuckDB takes an escape inside quotes only, and drops what it does not know of it. It takes the first line
        # break it meets for the end of every row, and looks for that to the end of the file: one inside the first
        # record says nothing of the others.
        if form.escape not in ("", form.quote) or form.broken:
            return _slowly(cells, form)
        return _fast(cells, form)


def _form(part: Part, file: Path, before: int) -> _Form:
    """What a file's first record says. Refuses a file without header, and names that clash."""
    said = part.options
    head, whole = text.first_bytes(file)
    try:
        decoded = head.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if whole or error.start < len(head) - 4:
            line = before + head.count(b"\n", 0, error.start) + 1
            raise LoadRefused(f"{part.place}:{line}: {text.not_text(head[error.start])}") from None
        decoded = head[: error.start].decode("utf-8-sig")
    quote = '"' if said.quote is None else said.quote
    first = _first_record(decoded, quote)
    place = f"{part.place}:{before + 1}"
    if "\0" in first:
        raise LoadRefused(
            f"{place}: the header holds NUL bytes (UTF-16 without its mark? write `encoding: utf-16-le` in the map); "
            "save the file as UTF-8"
        )
    if not first.strip():
        raise LoadRefused(f"{place}: no header: the first line is blank; the header must stand there")
    delimiter = said.delimiter or _guessed(first, quote, part.path)
    escape = said.escape if said.escape is not None else quote
    form = _Form(part, file, before, [], delimiter, quote, escape, said.header)
    try:
        found = next(form.reader(io.StringIO(first, newline="")))
    except csv.Error as error:
        raise LoadRefused(f"{place}: the header cannot be read ({error}); mend its quotes") from None
    if said.columns and len(said.columns) != len(found) and (said.header or len(found) == 1):
        raise LoadRefused(
            f"{place}: the map names {len(said.columns)} columns, and the first line has {len(found)} "
            f"(split at {delimiter!r})"
        )
    names = list(said.columns) or [name if name and said.header else f"column_{i}" for i, name in enumerate(found, 1)]
    unique(names, place)
    broken = "\n" in first or "\r" in first
    return _Form(part, file, before, names, delimiter, quote, escape, said.header, broken)


def _guessed(first: str, quote: str, path: Path) -> str:
    outside = re.sub(f"{quote}[^{quote}]*{quote}", "", first) if quote else first
    named = next((d for suffix, d in _NAMED.items() if suffix in (s.lower() for s in path.suffixes)), None)
    if named is not None and named in outside:
        return named
    return max(_DELIMITERS, key=outside.count)


def _first_record(decoded: str, quote: str) -> str:
    """The text up to the first line end that stands outside quotes."""
    inside = re.escape(quote)
    pattern = rf"(?:[^{inside}\r\n]|{inside}[^{inside}]*(?:{inside}|\Z))*" if quote else r"[^\r\n]*"
    match = re.match(pattern, decoded)
    return match[0] if match else ""


def _fast(cells: Cells, form: _Form) -> tuple[int, list[Unread]]:
    con = cells.con
    for table in ("reject_errors", "reject_scans"):
        con.execute(f"DROP TABLE IF EXISTS {table}").fetchall()
    struct = "{" + ", ".join(f"{_text(n)}: 'VARCHAR'" for n in form.names) + "}"
    columns = ", ".join(quoted(c) for c in form.names)
    alone = len(form.names) == 1
    taken = f"nullif({columns}, '')" if alone else columns
    # Of one column DuckDB takes a blank line for a record, which it is not; a quoted cell without a text is one.
    select = (
        f"SELECT {taken} FROM read_csv($file, columns = {struct}, "
        "delim = $delimiter, quote = $quote, escape = $quote, header = $header, auto_detect = false, "
        f"store_rejects = true, nullstr = '', allow_quoted_nulls = {not alone}, hive_partitioning = false, "
        f"max_line_size = {_LONGEST_LINE}){f' WHERE {columns} IS NOT NULL' if alone else ''}"
    )
    bound = {"file": literally(form.file), "delimiter": form.delimiter, "quote": form.quote, "header": form.header}
    con.begin()
    try:
        count = cells.insert(form.names, select, bound)
        faults = _rejected(con, form, cells.places)
    except duckdb.Error as error:
        con.rollback()
        if _MIXED_LINE_ENDS in str(error):
            return _slowly(cells, form)
        raise LoadRefused(f"{form.part.place}: {first_lines(error)}") from None
    except LoadRefused as refusal:
        # Line ends that differ from row to row can look like a quote left open; the other reading knows better.
        con.rollback()
        if _QUOTE_LEFT_OPEN not in str(refusal):
            raise
        return _slowly(cells, form, refusal)
    con.commit()
    return count, faults


def _slowly(cells: Cells, form: _Form, refusal: LoadRefused | None = None) -> tuple[int, list[Unread]]:
    """The twin of the fast reading, row by row, for a file whose line ends differ from row to row, whose first record
    runs over lines, or whose escape is not its quote. `refusal` is what the fast one said of a quote, and stands if
    this one finds it broken too."""
    width = len(form.names)
    ragged: list[_Ragged] = []
    lines = _Lines()
    with text.reading(form.file) as raw, io.TextIOWrapper(raw, encoding="utf-8-sig", newline="") as stream:

        def rows() -> Iterator[list[str]]:
            follows = False
            skip = form.header
            for row in form.reader(lines.counted(stream)):
                if skip:
                    skip = False
                elif len(row) == width or (len(row) == width + 1 and not row[-1]):
                    follows = False
                    cells.places.row()
                    yield row[:width]
                elif row:
                    if any("\n" in cell or "\r" in cell for cell in row):
                        raise LoadRefused(f"{form.place(lines.read)}: {_SEVERAL_LINES}")
                    said = f"Expected Number of Columns: {width} Found: {len(row)}"
                    ragged.append(_Ragged(lines.read, form.delimiter.join(row), said, row, follows))
                    cells.places.skip()
                    follows = True

        try:
            total = cells.rows(form.names, rows())
        except csv.Error as error:
            raise refusal or LoadRefused(f"{form.place(lines.read)}: {error}; mend the quotes of that line") from None
        except UnicodeDecodeError as error:
            byte = error.object[error.start]
            raise LoadRefused(f"{form.place(lines.read + 1)}: {text.not_text(byte)}") from None
    return total, _unread(form, ragged)


class _Lines:
    """How many lines a reader has taken so far."""

    def __init__(self) -> None:
        self.read = 0

    def counted(self, stream: io.TextIOBase) -> Iterator[str]:
        for line in stream:
            self.read += 1
            yield line


def literally(file: Path) -> str:
    """The path as DuckDB's readers take it: in a plain path, `*`, `?` and `[` would match other files."""
    return re.sub(r"([*?\[])", r"[\1]", str(file))


def _text(name: str) -> str:
    return "'" + name.replace("'", "''") + "'"


# --- rows with too few or too many cells ------------------------------------------------------------------

#: Such a record may hold whole rows that a stray quote swallowed: whoever they are about would silently be missing.
_SEVERAL_LINES = (
    "a record that runs over several lines has the wrong number of columns: "
    "is a quote left open there, so that it swallowed the rows after it? Close it, or double it inside a cell"
)
_CURE = {
    "UNQUOTED VALUE": _QUOTE_LEFT_OPEN,
    "INVALID ENCODING": "name the file's encoding in the map, as in `encoding: cp1252`, or save it as UTF-8",
    "LINE SIZE OVER MAXIMUM": "is a quote left open there?",
}


@dataclass(frozen=True)
class _Ragged:
    """A row of one line with too few or too many cells; `follows` another such row directly."""

    line: int
    text: str
    fault: str
    cells: list[str]
    follows: bool


def _unread(form: _Form, ragged: Sequence[_Ragged]) -> list[Unread]:
    """The rows as what could not be read. A line that may be the rest of the row before it (a line break that
    stands in a cell without quotes) begins with no id: whom it is about nobody knows. Nor does anybody of the second
    of two rows on one line, where a line end is lost: the last cell of one and the first of the next are one cell."""
    width = len(form.names)
    unread: list[Unread] = []
    held = 0
    for row in ragged:
        found = len(row.cells)
        joined = held + found - 1 if row.follows and held else width + 1
        rest = found < width and joined <= width
        # One cell alone may be the rest of a readable row's last one; of a row with too many it is not.
        sure = not rest and (found > 1 or width == 1 or (row.follows and not held))
        held = joined if rest else found if found < width else 0
        first = row.cells[0] if sure and row.cells else None
        place = (form.part.name, form.before + row.line, row.text)
        unread.append(Unread(*place, row.fault, first, form.names[0]))
        if found > width and found >= 2 * width - 1:
            unread.append(Unread(*place, FURTHER, None, ""))
    return unread


def _rejected(con: duckdb.DuckDBPyConnection, form: _Form, places: Places) -> list[Unread]:
    """The rows that the fast reading left out. Refuses what may have swallowed the rows after it."""
    rejects = con.execute(
        # Of a record's faults the gravest counts: a quote left open also shows as a wrong number of columns.
        "SELECT min(line_byte_position), arg_max(error_type::VARCHAR, grave), any_value(csv_line), "
        "arg_max(error_message, grave), line FROM "
        "(SELECT *, error_type NOT IN ('MISSING COLUMNS', 'TOO MANY COLUMNS') AS grave FROM reject_errors) "
        "GROUP BY line ORDER BY line"
    ).fetchall()
    # What DuckDB calls a line begins with the blank lines before it.
    starts = [place + len(line) - len(line.lstrip("\r\n")) if line else place for place, _, line, *_ in rejects]
    ragged: list[_Ragged] = []
    end = -1
    lines, blank = _lines(form.file, starts)
    for line, (place, fault, record, message, _) in zip(lines, rejects, strict=True):
        if fault not in ("MISSING COLUMNS", "TOO MANY COLUMNS"):
            said = message.splitlines()[0].rstrip(".")
            raise LoadRefused(f"{form.place(line)}: {said}; {_CURE.get(fault, 'mend that line')}")
        row = record.strip("\r\n")
        if "\n" in row or "\r" in row:
            raise LoadRefused(f"{form.place(line)}: {_SEVERAL_LINES}")
        found = next(form.reader(io.StringIO(row, newline="")), [])
        # DuckDB counts no further than the first cell too many.
        said = f"Expected Number of Columns: {len(form.names)} Found: {len(found)}"
        ragged.append(_Ragged(line, row, said, found, follows=place - end <= len("\r\n")))
        end = place + len(record.rstrip("\r\n").encode())
    if blank:
        places.without(_ragged_places(form, len(rejects)))
    else:
        places.without(line - 1 - form.header for *_, line in rejects)
    return _unread(form, ragged)


def _ragged_places(form: _Form, many: int) -> Iterator[int]:
    """The places of the first so many rows with too few or too many cells. DuckDB counts blank lines, too."""
    width = len(form.names)
    with text.reading(form.file) as raw, io.TextIOWrapper(raw, encoding="utf-8-sig", newline="") as stream:
        records = (row for row in form.reader(stream) if row)
        places = (
            place
            for place, row in enumerate(records, -form.header)
            if place >= 0 and not (len(row) == width or (len(row) == width + 1 and not row[-1]))
        )
        yield from islice(places, many)


def _lines(file: Path, places: Sequence[int]) -> tuple[list[int], bool]:
    """The line, from 1, on which each byte stands, and whether any blank line may stand before the last of them;
    `places` ascend. DuckDB counts records, people count lines."""
    lines: list[int] = []
    if not places:
        return lines, False
    line, at = 1, 0
    blank, last = False, b""
    with text.opened(file) as stream:
        for place in places:
            while at < place and (block := stream.read(min(place - at, 1 << 20))):
                line += block.count(b"\n")
                at += len(block)
                blank = blank or _BLANK.search(last + block) is not None
                last = block[-2:]
            lines.append(line)
    return lines, blank
