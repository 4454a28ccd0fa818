"""Reading an export: what was given → the parts of each table → one table of cells, all text, as written."""

import contextlib
import hashlib
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from closedset import progress
from closedset.catalog import SourceFile, SourceTable, kept_as
from closedset.errors import LoadRefused
from closedset.load.read import arrow, csv_file, duckdb_file, excel, json_file, lake, parquet, postgres, sqlite
from closedset.load.read.cells import Cells
from closedset.load.read.found import choose, closed, found, passed_over, tables
from closedset.load.read.part import Part, Unread, nearest
from closedset.load.read.places import Places
from closedset.render import quoted

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "Chosen", "Digest", "Part", "Unread", "choose", "closed", "digest", "found", "keep", "nearest", "passed_over",
    "read", "settled", "stamp", "tables",
]  # fmt: skip

_FILL: dict[str, Callable[[Cells, Part], tuple[int, list[Unread]]]] = {
    "arrow": arrow.fill,
    "csv": csv_file.fill,
    "delta": lake.fill_delta,
    "duckdb": duckdb_file.fill,
    "excel": excel.fill,
    "iceberg": lake.fill_iceberg,
    "json": json_file.fill,
    "jsonl": json_file.fill,
    "parquet": parquet.fill,
    "postgres": postgres.fill,
    "sqlite": sqlite.fill,
}


#: The parts of each table.
Chosen = Mapping[str, list[Part]]


@dataclass(frozen=True)
class Digest:
    """A part's bytes when they were hashed, and how to see that they are no longer the same."""

    sha256: str
    stamp: tuple[int, ...]


def stamp(part: Part) -> tuple[int, ...]:
    """What changes when a part is written to. Refuses one that is gone."""
    try:
        return tuple(n for file in _files(part) for s in (file.stat(),) for n in (s.st_size, s.st_mtime_ns))
    except OSError as error:
        raise LoadRefused(f"{part.place}: cannot be read: {error.strerror}") from None


def _files(part: Part) -> list[Path]:
    """The files whose bytes say what a part is: a database's log beside it, a table folder's own log."""
    if part.kind in ("delta", "iceberg"):
        log = part.path / ("_delta_log" if part.kind == "delta" else "metadata")
        return sorted(f for f in log.rglob("*") if f.is_file())
    beside = [part.path.with_name(part.path.name + end) for end in ("-wal", ".wal")]
    return [part.path, *(f for f in beside if part.kind in ("sqlite", "duckdb") and f.is_file())]


def _bytes(part: Part) -> int:
    folder = part.kind in ("delta", "iceberg")
    return sum(f.stat().st_size for f in (part.path.rglob("*") if folder else _files(part)) if f.is_file())


def digest(part: Part) -> Digest:
    """The hash of a part's bytes. Refuses what cannot be read."""
    before = stamp(part)
    try:
        if part.kind in ("delta", "iceberg"):
            return Digest(lake.digest(part), before)
        digests = []
        for file in _files(part):
            with file.open("rb") as stream:
                digests.append(hashlib.file_digest(stream, "sha256").hexdigest())
        joined = digests[0] if len(digests) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest()
        return Digest(joined, before)
    except OSError as error:
        raise LoadRefused(f"{part.place}: cannot be read: {error.strerror}") from None


@contextlib.contextmanager
def settled(chosen: "Chosen") -> "Iterator[Chosen]":
    """The same parts with every server's tables in files, all of one moment; the files are gone afterwards."""
    servers = [part for parts in chosen.values() for part in parts if part.kind == "postgres"]
    if not servers:
        yield chosen
        return
    with tempfile.TemporaryDirectory(prefix="closedset-") as folder:
        made = postgres.spooled(list(dict.fromkeys(servers)), Path(folder))
        yield {name: [made.get(part, part) for part in parts] for name, parts in chosen.items()}


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
    for number, (part, sha256) in enumerate(zip(parts, digests, strict=True), 1):
        progress.step(f"table {table}: reading {part.name} ({number} of {len(parts)})")
        kept.places = Places()
        count, faults = _FILL[part.kind](kept, part)
        had.append(kept.latest)
        unread.extend(faults)
        records.append(
            SourceFile(
                path=part.place, sha256=sha256, bytes=_bytes(part),
                rows=count + len(faults), unreadable=len(faults), shifts=kept.places.shifts,
            )
        )  # fmt: skip
    if not kept.columns:
        raise LoadRefused(f"table {table}: {_no_row(parts, records, unread)}")
    for part, record, names in zip(parts, records, had, strict=True):
        # An object without a key is how JSON writes an empty cell; a key that none of them has is another thing.
        if record.rows > record.unreadable or part.kind not in ("json", "jsonl"):
            record.lacks = [c for c in kept.columns if c not in names]
    return (
        SourceTable(
            source=source, table=table, cells=cells, columns=kept.columns,
            rows=sum(r.rows - r.unreadable for r in records), files=records, notes=_drift(table, records),
        ),
        unread,
    )  # fmt: skip


def _no_row(parts: Sequence[Part], records: Sequence[SourceFile], unread: Sequence[Unread]) -> str:
    """What to say of files that name no column."""
    if unread:
        first = unread[0]
        place = next((part.place for part in parts if part.name == first.file), first.file)
        return f"no line is a row; {place}:{first.line}: {first.fault}"
    places = ", ".join(record.path for record in records)
    return f"{places} holds no row, and so names no column; declare its `columns` under `files` in the map"


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
