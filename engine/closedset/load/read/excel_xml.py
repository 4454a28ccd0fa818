"""What the workbook library does not say of an .xlsx sheet: it reads an error cell (#N/A, #REF!, …) as an empty one,
and so a formula whose value the file does not keep, as programs that write formulas without computing them leave it.

An empty cell may say something (a period that is still open), and neither of these says anything of the kind.
"""

import posixpath
import re
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

_MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_ID = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_CHUNK = 1 << 20
#: An error cell, or a formula with nothing or nothing but an empty value after it; no tag of these is longer than what
#: is held over from one chunk to the next.
_UNSAID = re.compile(
    rb"""\st=["']e["']|(?:</(?:\w+:)?f\s*>|<(?:\w+:)?f(?:\s[^<>]*)?/>)\s*"""
    rb"""(?:</|<(?:\w+:)?v[^<>]*/>|<(?:\w+:)?v[^<>]*>\s*</)"""
)
_HELD = 1024


@dataclass
class Unsaid:
    """The text of each error cell, and the cells whose formula has no value, by row and column from 1."""

    errors: dict[tuple[int, int], str] = field(default_factory=dict)
    formulas: list[tuple[int, int]] = field(default_factory=list)

    def first_formulas(self, many: int) -> str:
        """The names of the first cells without a value, such as D2."""
        return ", ".join(f"{_letters(column)}{row}" for row, column in self.formulas[:many])


def unsaid(path: Path, sheet: str) -> Unsaid:
    """What is not said of a sheet's cells; nothing for a workbook of another kind."""
    found = Unsaid()
    if path.suffix.lower() in (".xlsx", ".xlsm"):
        with zipfile.ZipFile(path) as book:
            place = _place(book, sheet)
            if place and _any(book, place):
                _cells(book, place, lambda row, column, cell: _note(found, row, column, cell))
    return found


def _place(book: zipfile.ZipFile, sheet: str) -> str | None:
    """Where a sheet lies in its workbook."""
    listed = ElementTree.fromstring(book.read("xl/workbook.xml")).iter(f"{_MAIN}sheet")
    wanted = next((one.get(_ID) for one in listed if one.get("name") == sheet), None)
    links = ElementTree.fromstring(book.read("xl/_rels/workbook.xml.rels"))
    target = next((one.get("Target") for one in links if one.get("Id") == wanted), None)
    return posixpath.normpath(posixpath.join("xl", target)).lstrip("/") if target else None


def _any(book: zipfile.ZipFile, place: str) -> bool:
    """Whether a sheet's text has such a cell at all: most have none, and reading it as XML is slow."""
    held = b""
    with book.open(place) as stream:
        while chunk := stream.read(_CHUNK):
            held = held[-_HELD:] + chunk
            if _UNSAID.search(held):
                return True
    return False


def _note(found: Unsaid, row: int, column: int, cell: ElementTree.Element) -> None:
    value = cell.find(f"{_MAIN}v")
    if cell.get("t") == "e":
        found.errors[row, column] = (value is not None and value.text) or "#ERROR"
        return
    # An empty text is a value, and then the cell says that it holds a text.
    kept = value is not None and (value.text or cell.get("t") == "str")
    if cell.find(f"{_MAIN}f") is not None and cell.find(f"{_MAIN}is") is None and not kept:
        found.formulas.append((row, column))


def _cells(book: zipfile.ZipFile, place: str, note: Callable[[int, int, ElementTree.Element], None]) -> None:
    """Every cell of a sheet with its row and column."""
    row = column = 0
    data: ElementTree.Element | None = None
    with book.open(place) as stream:
        for event, one in ElementTree.iterparse(stream, ("start", "end")):
            if event == "start" and one.tag == f"{_MAIN}sheetData":
                data = one
            elif event == "start" and one.tag == f"{_MAIN}row":
                row, column = int(one.get("r") or row + 1), 0
            elif event == "end" and one.tag == f"{_MAIN}c":
                column = _column(one.get("r")) or column + 1
                note(row, column, one)
            elif event == "end" and one.tag == f"{_MAIN}row" and data is not None:
                data.clear()


def _column(reference: str | None) -> int:
    """The column of a reference such as AB12, from 1; 0 where there is none."""
    number = 0
    for letter in re.match("[A-Z]*", reference or "")[0]:  # type: ignore[index]
        number = number * 26 + ord(letter) - 64
    return number


def _letters(column: int) -> str:
    """A column's name: 28 is AB."""
    letters = ""
    while column:
        column, letter = divmod(column - 1, 26)
        letters = chr(65 + letter) + letters
    return letters
