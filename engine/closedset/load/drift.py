"""Parts of one table whose columns differ, where reading a lacking column as empty would say more than the part."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import sqlglot
from sqlglot import exp

from closedset import kinds
from closedset.catalog import SourceFile, SourceTable
from closedset.errors import LoadRefused
from closedset.mapping import Map
from closedset.pack import PERIOD

#: Where an identifier gives a name rather than reading a column: (what holds it, as which part).
_NAMING = {(exp.Alias, "alias"), (exp.TableAlias, "this"), *((exp.Table, of) for of in ("this", "db", "catalog"))}


def refuse(mapping: Map, tables: Sequence[SourceTable]) -> None:
    """A column that a part lacks is empty in its rows: not recorded, so that nobody's membership is claimed.

    Refuses where an empty cell says something: the end of a period (still open), a slot with `absent`, and what a
    SELECT of the map may decide by.
    """
    for table in tables:
        for file in table.files:
            lacking = {column.casefold(): column for column in file.lacks}
            for column, why in _telling(mapping, table) if lacking else ():
                if column.casefold() in lacking:
                    raise LoadRefused(_lacks(table, file, lacking[column.casefold()], why))


def _lacks(table: SourceTable, file: SourceFile, column: str, why: str) -> str:
    others = f"which other files of table {table.table} have, and {why}"
    if kinds.kind_of(Path(file.path).name) in ("json", "jsonl"):
        return (
            f"{file.path}: none of its objects has the key {column!r}, {others}; if they leave out what is empty, "
            f"declare `columns: [{column}]` under files.{table.table} in the map; else give that file the key, or load "
            "the two kinds of file as two sources"
        )
    return (
        f"{file.path}: has no column {column!r}, {others}; give every file that column, or load the two kinds of file "
        "as two sources"
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
        for column in _read(parsed):
            yield column, f"tables.{name} reads it"
        if any(_all_of(parsed, table.columns)):
            for column in table.columns:
                yield column, f"tables.{name} may read every column (name those it reads)"


def _over(select: str, table: str) -> exp.Expr | None:
    """A SELECT, if it reads the table."""
    parsed = sqlglot.parse_one(select, dialect="duckdb")
    return parsed if any(t.name == table for t in parsed.find_all(exp.Table)) else None


def _read(parsed: exp.Expr) -> list[str]:
    """The columns that a SELECT names, of whatever table: as such, in USING, inside another."""
    found = parsed.find_all(exp.Identifier)
    return [one.name for one in found if (type(one.parent), one.arg_key) not in _NAMING]


def _all_of(parsed: exp.Expr, columns: Sequence[str]) -> Iterator[bool]:
    """Whether a SELECT may read columns that it does not name: by a pattern, by their place, as a whole row, or as
    what two tables share. A plain `*` only passes them on, and `count(*)` reads none."""
    yield parsed.find(exp.Columns, exp.Pivot) is not None
    yield any(bool(alias.args.get("columns")) for alias in parsed.find_all(exp.TableAlias))
    yield any((join.args.get("method") or "").upper() == "NATURAL" for join in parsed.find_all(exp.Join))
    for star in parsed.find_all(exp.Star):
        held = (star.parent if isinstance(star.parent, exp.Column) else star).parent
        yield bool(star.args.get("rename")) or not isinstance(held, exp.Select | exp.Count)
        yield star.find_ancestor(exp.SetOperation) is not None
    tables = {t.name for t in parsed.find_all(exp.Table)} | {a.name for a in parsed.find_all(exp.TableAlias)}
    rows = {name.casefold() for name in tables} - {name.casefold() for name in columns}
    yield any(not column.table and column.name.casefold() in rows for column in parsed.find_all(exp.Column))
