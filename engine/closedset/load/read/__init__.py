"""Reading an export: what was given → the parts of each table → one table of cells, all text, as written."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import duckdb

from closedset.catalog import SourceFile, SourceTable, kept_as
from closedset.errors import LoadRefused
from closedset.load.read import arrow, csv_file, parquet
from closedset.load.read.cells import Cells
from closedset.load.read.found import choose, found
from closedset.load.read.part import Part, Unread, nearest
from closedset.render import quoted

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Digest", "Part", "Unread", "choose", "digest", "found", "keep", "nearest", "read", "stamp"]

_FILL: dict[str, Callable[[Cells, Part], tuple[int, list[Unread]]]] = {
    "arrow": arrow.fill,
    "csv": csv_file.fill,
    "parquet": parquet.fill,
}


@dataclass(frozen=True)
class Digest:
    """A part's bytes when they were hashed, and how to see that they are no longer the same."""

    sha256: str
    stamp: tuple[int, ...]


def stamp(part: Part) -> tuple[int, ...]:
    """What changes when a part is written to. Refuses one that is gone."""
    try:
        status = part.path.stat()
    except OSError as error:
        raise LoadRefused(f"{part.place}: cannot be read: {error.strerror}") from None
    return status.st_size, status.st_mtime_ns


def digest(part: Part) -> Digest:
    """The hash of a part's bytes. Refuses what cannot be read."""
    before = stamp(part)
    try:
        with part.path.open("rb") as stream:
            return Digest(hashlib.file_digest(stream, "sha256").hexdigest(), before)
    except OSError as error:
        raise LoadRefused(f"{part.place}: cannot be read: {error.strerror}") from None


def read(
    con: duckdb.DuckDBPyConnection,
    source: str,
    table: str,
    cells: tuple[str, ...],
    parts: Sequence[Part],
    digests: Sequence[str],
) -> tuple[SourceTable, list[Unread]]:
    """Read a table's parts, in order, into the table `cells`: one VARCHAR column each, empty as NULL.

    Takes each part's digest, which the record keeps. A column that only some parts have is empty in the others, and
    the notes say so. Refuses what cannot be read whole, naming file and line.
    """
    kept = Cells(con, cells)
    records: list[SourceFile] = []
    unread: list[Unread] = []
    had: list[list[str]] = []
    for part, sha256 in zip(parts, digests, strict=True):
        count, faults = _FILL[part.kind](kept, part)
        had.append(kept.latest)
        unread.extend(faults)
        records.append(
            SourceFile(
                path=part.place, sha256=sha256, bytes=part.path.stat().st_size,
                rows=count + len(faults), unreadable=len(faults),
            )
        )  # fmt: skip
    for record, names in zip(records, had, strict=True):
        record.lacks = [c for c in kept.columns if c not in names]
    return (
        SourceTable(
            source=source, table=table, cells=cells, columns=kept.columns,
            rows=sum(r.rows - r.unreadable for r in records), files=records, notes=_drift(table, records),
        ),
        unread,
    )  # fmt: skip


def _drift(table: str, records: Sequence[SourceFile]) -> list[str]:
    """What to say of parts whose columns differ."""
    return [
        f"{table}: {record.path.rsplit('/', 1)[-1]} has no column {', '.join(map(repr, record.lacks))}, which other "
        "parts have: not recorded in its rows"
        for record in records
        if record.lacks
    ]


def keep(
    con: duckdb.DuckDBPyConnection, source: str, table: str, cells: tuple[str, ...], data: "pa.Table"
) -> SourceTable:
    """Keep an Arrow table's cells as text; the in-memory twin of `read`."""
    con.register("arrow_cells", data)
    columns = list(data.column_names)
    casts = ", ".join(f"nullif({quoted(c)}::VARCHAR, '') AS {quoted(kept_as(c))}" for c in columns)
    con.execute(f"CREATE TABLE {quoted(cells)} AS SELECT {casts} FROM arrow_cells").fetchall()
    con.unregister("arrow_cells")
    return SourceTable(source=source, table=table, cells=cells, columns=columns, rows=data.num_rows)
