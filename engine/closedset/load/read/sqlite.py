"""SQLite files: each cell as it is stored, whatever its column declares."""

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from closedset.errors import LoadRefused
from closedset.load.read.cells import Cells
from closedset.load.read.part import Part, Unread
from closedset.render import quoted


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    try:
        con = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
        try:
            yield con
        finally:
            con.close()
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise LoadRefused(f"{path}: not readable as SQLite: {error}") from None


def tables(path: Path) -> list[str]:
    """The tables and views of a file. Refuses what is no SQLite."""
    with _opened(path) as con:
        sql = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name"
        return [name for (name,) in con.execute(sql) if not name.startswith("sqlite_")]


def fill(cells: Cells, part: Part) -> tuple[int, list[Unread]]:
    """Append a table's rows. Refuses, by table, a text that is not UTF-8."""
    assert part.inside is not None
    with _opened(part.path) as con:
        found = con.execute(f"SELECT * FROM {quoted(part.inside)}")
        names = [column[0] for column in found.description]
        cells.widen(names, part.place)
        return cells.rows(names, ([_text(cell) for cell in row] for row in found)), []


def _text(cell: str | int | float | bytes | None) -> str | None:
    """A stored value: texts as they are, numbers in their shortest exact digits, bytes as DuckDB writes them."""
    if isinstance(cell, bytes):
        return "".join(chr(b) if 32 <= b < 127 and b not in b"\\'\"" else f"\\x{b:02X}" for b in cell)
    return None if cell is None else str(cell)
