"""Workbooks (.xlsx, .xls, .ods): a sheet's cells as they are stored."""

import datetime as dt
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from closedset.errors import LoadRefused
from closedset.load.read.cells import Cells
from closedset.load.read.excel_xml import Unsaid, unsaid
from closedset.load.read.extra import needed
from closedset.load.read.part import Part, Unread, first_lines
from closedset.load.read.places import Places

#: Beyond this a double no longer holds every whole number: what is stored is said in its own shortest digits.
_EXACT = 2**53


def sheets(path: Path) -> list[str]:
    """A workbook's sheets. Refuses what is no workbook, or is locked by a password."""
    book = _book(path)
    try:
        return list(book.sheet_names)
    finally:
        book.close()


def _book(path: Path) -> Any:
    calamine = needed("python_calamine", "excel", path)
    try:
        return calamine.CalamineWorkbook.from_path(str(path))
    except (calamine.CalamineError, calamine.PasswordError, OSError) as error:
        raise LoadRefused(f"{path}: not readable as a workbook: {first_lines(error)}") from None


def fill(cells: Cells, part: Part) -> tuple[int, list[Unread]]:
    """Append a sheet's rows; wholly empty ones are no rows. Refuses a sheet without header, and
    one with formulas that were never computed."""
    assert part.inside is not None
    book = _book(part.path)
    try:
        sheet = book.get_sheet_by_name(part.inside)
        # Rows are given from the sheet's first on, columns from the first that holds anything.
        before = (sheet.start or (0, 0))[1]
        beside = unsaid(part.path, part.inside)
        _refuse_formulas(part, beside)
        wrong = beside.errors
        rows: Iterator[tuple[int, list[str | None]]] = (
            (
                i,
                [_text(cell) or wrong.get((i, before + j)) for j, cell in enumerate(row, 1)]
                if wrong
                else [_text(cell) for cell in row],
            )
            for i, row in enumerate(sheet.iter_rows(), 1)
        )
        rows = ((line, row) for line, row in rows if line > part.options.skip and any(row))
        first = next(rows, None)
        if first is None:
            raise LoadRefused(f"{part.place}: the sheet is empty: not even a header; nobody was looked at by it")
        names = _names(part, first)
        given = [] if part.options.header else [first]
        unread: list[Unread] = []
        whole = _whole(part, names, given, rows, unread, cells.places)
        cells.widen(names, f"{part.place} row {first[0]}")
        return cells.rows(names, whole), unread
    finally:
        book.close()


def _refuse_formulas(part: Part, beside: Unsaid) -> None:
    """Refuse a sheet with formulas whose values the file does not keep: what they say nobody can know."""
    beside.formulas = [(row, column) for row, column in beside.formulas if row > part.options.skip]
    if beside.formulas:
        many, shown = len(beside.formulas), 3
        cells = "1 cell holds a formula" if many == 1 else f"{many} cells hold formulas"
        raise LoadRefused(
            f"{part.place}: {cells} without a value ({beside.first_formulas(shown)}{', …' if many > shown else ''}): "
            "whatever wrote the workbook did not compute them; open it in a spreadsheet program and save it, or export "
            "its values"
        )


def _names(part: Part, first: tuple[int, list[str | None]]) -> list[str]:
    said = part.options
    held = len(first[1]) - next(i for i, cell in enumerate(reversed(first[1])) if cell is not None)
    if said.columns:
        if said.header and len(said.columns) != held:
            raise LoadRefused(f"{part.place}: the map names {len(said.columns)} columns, and row {first[0]} has {held}")
        return list(said.columns)
    return [(cell if cell and said.header else None) or f"column_{i}" for i, cell in enumerate(first[1][:held], 1)]


def _whole(
    part: Part,
    names: Sequence[str],
    given: Sequence[tuple[int, list[str | None]]],
    rows: Iterator[tuple[int, list[str | None]]],
    unread: list[Unread],
    places: Places,
) -> Iterator[list[str | None]]:
    """The rows that fit the columns; one with a cell beyond them goes to `unread`. A row's place is its number in the
    sheet, as whoever opens it sees it."""
    from itertools import chain

    width = len(names)
    for line, row in chain(given, rows):
        if any(row[width:]):
            said = f"a cell stands beyond the {width} columns"
            text = "\t".join(cell or "" for cell in row)
            unread.append(Unread(part.name, line, text, said, row[0], names[0]))
        else:
            places.row(line - 1)
            yield [*row[:width], *([None] * (width - len(row)))]


def _text(cell: Any) -> str | None:
    """A cell's text: whole numbers without a point, dates as ISO."""
    if cell is None or cell == "":
        return None
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < _EXACT:
        return str(int(cell))
    if isinstance(cell, dt.datetime):
        return cell.isoformat(sep=" ")
    if isinstance(cell, dt.date | dt.time):
        return cell.isoformat()
    return str(cell)
