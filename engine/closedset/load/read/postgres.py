"""PostgreSQL: all tables of one moment, as the server writes their cells, spooled to files before they are read."""

import contextlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from closedset.errors import LoadRefused
from closedset.load.read import arrow
from closedset.load.read.cells import Cells
from closedset.load.read.extra import needed
from closedset.load.read.part import Part, Unread, first_lines
from closedset.render import quoted

SCHEMES = ("postgresql", "postgres")
_ROWS = 65_536
#: What makes the server write a cell the same way whoever asks, and all of one moment.
_SESSION = (
    "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY",
    "SET LOCAL TimeZone = 'UTC'",
    "SET LOCAL DateStyle = 'ISO, YMD'",
    "SET LOCAL IntervalStyle = 'iso_8601'",
    "SET LOCAL bytea_output = 'hex'",
    "SET LOCAL extra_float_digits = 1",
)
_TABLES = """
SELECT CASE WHEN pg_table_is_visible(c.oid) THEN c.relname ELSE n.nspname || '.' || c.relname END
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname NOT IN ('pg_catalog', 'information_schema')
  AND n.nspname NOT LIKE 'pg\\_toast%' ORDER BY 1
"""
_COLUMNS = """
SELECT a.attname, t.typtype::text, t.typcategory::text,
       coalesce((SELECT array_position(i.indkey::int2[], a.attnum) FROM pg_index i
                 WHERE i.indrelid = a.attrelid AND i.indisprimary), 0)::int
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
WHERE a.attrelid = to_regclass('{}') AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""


def server(uri: str) -> str:
    """What may be said of a server: its host and database, never who asks. Refuses what is no such URI."""
    try:
        parts = urlsplit(uri)
        host = parts.hostname or ""
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        raise LoadRefused(
            "the PostgreSQL URI cannot be read (it is not shown, for it may hold a password); write "
            "postgresql://USER:PASSWORD@HOST:PORT/DATABASE, with %40 for @ and %2F for / inside a password"
        ) from None
    return f"postgresql://{host}{port}/{unquote(parts.path.lstrip('/'))}"


def _said(error: Exception, uri: str) -> str:
    """What the server says, without a password."""
    said = first_lines(error)
    parts = urlsplit(uri)
    secrets = [parts.password, *re.findall(r"(?:password|sslpassword)=([^&]*)", parts.query)]
    for secret in secrets:
        for form in {secret or "", unquote(secret or "")} - {""}:
            said = said.replace(form, "***")
    return said


@contextlib.contextmanager
def _session(place: str, uri: str) -> Iterator[Any]:
    """A cursor in one read-only transaction that sees one moment."""
    dbapi = needed("adbc_driver_postgresql.dbapi", "postgres", place)
    try:
        with dbapi.connect(uri) as con, con.cursor() as cursor:
            for statement in _SESSION:
                cursor.execute(statement)
            yield cursor
            con.rollback()
    except dbapi.Error as error:
        raise LoadRefused(f"{place}: {_said(error, uri)}") from None


def tables(part: Part) -> list[str]:
    """The tables and views a server shows, those not on the search path as `schema.table`."""
    with _session(part.place, part.uri) as cursor:
        cursor.execute(_TABLES)
        return [name for (name,) in cursor.fetchall()]


def spooled(parts: Sequence[Part], folder: Path) -> dict[Part, Part]:
    """Write the rows of a server's tables, all of one moment, to files; each part with its file in its place."""
    made: dict[Part, Part] = {}
    for uri in dict.fromkeys(part.uri for part in parts):
        mine = [part for part in parts if part.uri == uri]
        with _session(mine[0].server, uri) as cursor:
            for part in mine:
                made[part] = replace(part, path=folder / f"{len(made)}.arrow", uri="")
                _spool(cursor, part, made[part].path)
    return made


def _spool(cursor: Any, part: Part, file: Path) -> None:
    """A table's rows in the order of its key, else of all its columns, so that the same rows are the same bytes."""
    import pyarrow as pa

    assert part.inside is not None
    name = quoted(part.inside.split("."))
    cursor.execute(_COLUMNS.format(name.replace("'", "''")))
    columns = cursor.fetchall()
    if not columns:
        raise LoadRefused(f"{part.place}: no such table, or it has no columns")
    chosen = ", ".join(
        f"{_text(quoted(column), kind, category)} AS {quoted(column)}" for column, kind, category, _ in columns
    )
    key = [quoted(column) for column, _, _, at in sorted(columns, key=lambda c: c[3]) if at]
    whole = [f'{i} COLLATE "C"' for i in (_text(quoted(c), k, g) for c, k, g, _ in columns)]
    cursor.execute(f"SELECT {chosen} FROM {name} ORDER BY {', '.join(key or whole)}")
    reader = cursor.fetch_record_batch()
    schema = pa.schema([(column, pa.string()) for column, *_ in columns])
    with pa.OSFile(str(file), "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
        held: list[pa.RecordBatch] = []
        for batch in reader:
            held.append(batch.cast(schema))
            if sum(map(len, held)) >= _ROWS:
                table = pa.Table.from_batches(held).combine_chunks()
                whole_rows = len(table) // _ROWS * _ROWS
                writer.write_table(table.slice(0, whole_rows), max_chunksize=_ROWS)
                held = table.slice(whole_rows).combine_chunks().to_batches()
        writer.write_table(pa.Table.from_batches(held, schema).combine_chunks())


def _text(column: str, kind: str, category: str) -> str:
    """A column as the server's own text; arrays and records as JSON, which loses none of their structure."""
    return f"to_json({column})::text" if kind == "c" or category == "A" else f"{column}::text"


def fill(cells: Cells, part: Part) -> tuple[int, list[Unread]]:
    """Append the rows of a spooled table."""
    return arrow.fill(cells, part)
