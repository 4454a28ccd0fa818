"""Tables of a DuckDB file that is no store."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import duckdb

from closedset.errors import LoadRefused
from closedset.load.read import nested
from closedset.load.read.cells import Cells
from closedset.load.read.part import Part, Unread, first_lines
from closedset.render import quoted

_NAME = "duckdb_export"


@contextlib.contextmanager
def _attached(con: duckdb.DuckDBPyConnection, path: Path) -> Iterator[None]:
    try:
        con.execute(f"ATTACH {nested.literal(str(path))} AS {_NAME} (READ_ONLY)").fetchall()
    except duckdb.Error as error:
        said = first_lines(error)
        cure = "; whoever writes to it must close it first" if "lock" in said else ""
        raise LoadRefused(f"{path}: not readable as a DuckDB file: {said}{cure}") from None
    try:
        yield
    finally:
        con.execute(f"DETACH {_NAME}").fetchall()


def tables(path: Path) -> list[str]:
    """The tables of a file, those of other schemas as `schema.table`; a view may read what nobody hashed."""
    with duckdb.connect() as con, _attached(con, path):
        return [
            table if schema == "main" else f"{schema}.{table}"
            for schema, table in con.execute(
                "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = ? AND NOT internal "
                "ORDER BY ALL",
                [_NAME],
            ).fetchall()
        ]


def fill(cells: Cells, part: Part) -> tuple[int, list[Unread]]:
    """Append a table's rows."""
    assert part.inside is not None
    con = cells.con
    schema, _, table = part.inside.rpartition(".")
    with _attached(con, part.path):
        source = quoted((_NAME, schema or "main", table))
        try:
            relation = con.sql(f"SELECT * FROM {source}")
            columns = list(zip(relation.columns, relation.types, strict=True))
            selected = nested.select(columns, source, part.wanted)
            del relation
            cells.widen(selected.names, part.place)
            return cells.insert(selected.names, selected.sql), []
        except duckdb.Error as error:
            raise LoadRefused(f"{part.place}: {first_lines(error)}") from None
