"""The error cells (#N/A, #REF!, …) of an .xlsx sheet, which the workbook library reads as empty ones.

An empty cell may say something (a period that is still open), and an error says nothing of the kind.
"""

import posixpath
import re
import zipfile
from pathlib import Path
from xml.etree import ElementTree

_MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_ID = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_ERROR = re.compile(rb"""\st=["']e["']""")
_CHUNK = 1 << 20


def errors(path: Path, sheet: str) -> dict[tuple[int, int], str]:
    """Each error cell's text by its row and column, both from 1; empty for a workbook of another kind."""
    if path.suffix.lower() not in (".xlsx", ".xlsm"):
        return {}
    with zipfile.ZipFile(path) as book:
        place = _place(book, sheet)
        return _errors(book, place) if place and _any(book, place) else {}


def _place(book: zipfile.ZipFile, sheet: str) -> str | None:
    """Where a sheet lies in its workbook."""
    listed = ElementTree.fromstring(book.read("xl/workbook.xml")).iter(f"{_MAIN}sheet")
    wanted = next((one.get(_ID) for one in listed if one.get("name") == sheet), None)
    links = ElementTree.fromstring(book.read("xl/_rels/workbook.xml.rels"))
    target = next((one.get("Target") for one in links if one.get("Id") == wanted), None)
    return posixpath.normpath(posixpath.join("xl", target)).lstrip("/") if target else None


def _any(book: zipfile.ZipFile, place: str) -> bool:
    """Whether a sheet's text has an error cell at all: most have none, and reading it as XML is slow."""
    held = b""
    with book.open(place) as stream:
        while chunk := stream.read(_CHUNK):
            held = held[-16:] + chunk
            if _ERROR.search(held):
                return True
    return False


def _errors(book: zipfile.ZipFile, place: str) -> dict[tuple[int, int], str]:
    found: dict[tuple[int, int], str] = {}
    row = column = 0
    with book.open(place) as stream:
        for event, one in ElementTree.iterparse(stream, ("start", "end")):
            if event == "start" and one.tag == f"{_MAIN}row":
                row, column = int(one.get("r") or row + 1), 0
            elif event == "end" and one.tag == f"{_MAIN}c":
                column = _column(one.get("r")) or column + 1
                if one.get("t") == "e":
                    found[row, column] = one.findtext(f"{_MAIN}v") or "#ERROR"
            elif event == "end" and one.tag == f"{_MAIN}row":
                one.clear()
    return found


def _column(reference: str | None) -> int:
    """The column of a reference such as AB12, from 1; 0 where there is none."""
    number = 0
    for letter in re.match("[A-Z]*", reference or "")[0]:  # type: ignore[index]
        number = number * 26 + ord(letter) - 64
    return number
