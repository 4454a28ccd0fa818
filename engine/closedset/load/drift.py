"""Parts of one table whose columns differ, where reading a lacking column as empty would say more than the part."""

from collections.abc import Iterator, Sequence

import sqlglot
from sqlglot import exp

from closedset.catalog import SourceTable
from closedset.errors import LoadRefused
from closedset.mapping import Map
from closedset.pack import PERIOD


def refuse(mapping: Map, tables: Sequence[SourceTable]) -> None:
    """A column that a part lacks is empty in its rows: not recorded, so that nobody's membership is claimed.

    Refuses where an empty cell says something: the end of a period (still open), a slot with `absent`, and what a
    SELECT of the map may decide by.
    """
    for table in tables:
        for file in table.files:
            for column, why in _telling(mapping, table) if file.lacks else ():
                if column in file.lacks:
                    raise LoadRefused(
                        f"{file.path}: has no column {column!r}, which other files of table {table.table} have, and "
                        f"{why}; give every file that column, or load the two kinds of file as two sources"
                    )


def _telling(mapping: Map, table: SourceTable) -> Iterator[tuple[str, str]]:
    """The columns of a table whose empty cells say something, each with what they say."""
    views = {name: parsed for name, select in mapping.tables.items() if (parsed := _over(select, table.table))}
    for rows in mapping.rows:
        if rows.table != table.table and rows.table not in views:
            continue
        for name, cell in rows.cells().items():
            if cell.column and cell.absent is not None:
                yield cell.column, f"an empty cell of it means {cell.absent!r} ({rows.relation}.{name})"
            elif cell.column and name == PERIOD[1]:
                yield cell.column, f"an empty cell of it means a period that is still open ({rows.relation})"
    for name, parsed in views.items():
        for column in parsed.find_all(exp.Column):
            yield column.name, f"tables.{name} reads it"


def _over(select: str, table: str) -> exp.Expr | None:
    """A SELECT, if it reads the table."""
    parsed = sqlglot.parse_one(select, dialect="duckdb")
    return parsed if any(t.name == table for t in parsed.find_all(exp.Table)) else None
