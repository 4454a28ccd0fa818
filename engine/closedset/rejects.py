"""The rows of the exports that a store could not use: each with its place, its text, its fault and its cure."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import pyarrow as pa

from closedset.catalog import Catalog, SourceTable, kept_as
from closedset.errors import RequestRefused
from closedset.execute import Run
from closedset.mapping import Rows
from closedset.store import Generation

_BATCH = 1000
#: What would mend a row, by a part of its fault; then by its state.
_CURES = (
    ("Number of Columns", "give the line as many cells as its header names, and quote a cell that holds the delimiter"),
    ("further record", "write each record on a line of its own"),
    ("entity column is empty", "write the entity's id into the row"),
    (
        "a text that records nothing",
        "write the entity's id into the row; if that text is an id, take it out of the map's `null`",
    ),
    ("withheld", "mend the row in the export"),
    ("unattributed", "mend the row in the export, so that it names its entity"),
)


@dataclass(frozen=True)
class Reject:
    """One row of one relation that is in no answer. `state` is withheld (`entity_id` known) or unattributed.

    `line` is the file's, where no reader could read the row; else `row` is its place from 1 in `file`, or in `table`
    where that is no file's. `text` is the line as written, or the row's cells as a JSON object.
    """

    relation: str
    source: str
    table: str
    state: str
    file: str | None
    line: int | None
    row: int | None
    entity_id: str | None
    text: str | None
    fault: str

    @property
    def place(self) -> str:
        """Where the row stands, as messages write it."""
        if self.line is not None:
            return f"{self.file}:{self.line}"
        return f"{self.file or self.table} row {self.row}"

    @property
    def cure(self) -> str:
        """What would make the row count, once the export is loaded again."""
        return next(cure for part, cure in _CURES if part in self.fault or part == self.state)


@dataclass(frozen=True)
class Rejects:
    """How many rows there are of each state, and the rows themselves, by relation, source, table and place."""

    withheld: int
    unattributed: int
    rows: Iterator[Reject]

    @property
    def total(self) -> int:
        return self.withheld + self.unattributed


def of(generation: Generation, source: str | None = None, limit: int | None = None) -> Rejects:
    """Every withheld and unattributed row of a store, or of one of its sources; `limit` bounds the list only.

    Refuses (RequestRefused) a source that the store does not hold.
    """
    catalog = generation.catalog
    if source is not None and source not in catalog.sources:
        known = ", ".join(catalog.sources)
        raise RequestRefused("source_unknown", f"the store holds no source {source!r}; it has: {known}")
    run = Run(generation)
    entries = [(s, rows) for s, mapping in catalog.maps.items() for rows in mapping.rows]
    mine = [i for i, (of_source, _) in enumerate(entries) if source in (None, of_source)]
    counts = run.statement("rejects/count.sql.j2", {"source": source}, entries=mine or [-1]).to_pylist()
    held = {row["state"]: row["held"] for row in counts}
    return Rejects(held["withheld"], held["unattributed"], _rows(run, entries, source, limit))


def _rows(run: Run, entries: list[tuple[str, Rows]], source: str | None, limit: int | None) -> Iterator[Reject]:
    given = [_Given.of(run.catalog, i, of_source, rows) for i, (of_source, rows) in enumerate(entries)]
    named: dict[str, list[Any]] = {"entry": list(range(len(entries))), "source": [s for s, _ in entries]}
    run.give_table("map_entry", pa.table(named, pa.schema({"entry": pa.int16(), "source": pa.string()})))
    parts = [(one.entry, *part) for one in given for part in one.parts]
    columns = [list(column) for column in zip(*parts, strict=True)] or [[], [], [], []]
    schema = pa.schema({"entry": pa.int16(), "file": pa.string(), "first": pa.int64(), "shift": pa.int64()})
    run.give_table("part", pa.table(columns, schema=schema))
    lost = {(r.source, r.table, r.relation) for r in run.catalog.reports if r.unattributed}
    cells = [
        {"entry": one.entry, "cells": one.cells, "ordinal": one.ordinal, "columns": one.columns}
        for one, (of_source, rows) in zip(given, entries, strict=True)
        if (of_source, rows.table, rows.relation) in lost
    ]
    table = run.statement("rejects/list.sql.j2", {"source": source, "limit": limit}, cells=cells)
    for batch in table.to_batches(max_chunksize=_BATCH):
        for row in batch.to_pylist():
            yield Reject(**row)


@dataclass(frozen=True)
class _Given:
    """What the listing needs of one map entry: its cells, and the parts of the files of an entity's cell."""

    entry: int
    cells: tuple[str, ...]
    columns: list[tuple[str, str]]
    ordinal: str | None
    parts: list[tuple[str, int, int]]

    @classmethod
    def of(cls, catalog: Catalog, entry: int, source: str, rows: Rows) -> "_Given":
        table = catalog.table(source, rows.table)
        origin = table.origins.get(rows.entity)
        within = catalog.table(source, origin.table) if origin else table
        columns = [(kept_as(c), c) for c in table.columns]
        return cls(entry, table.cells, columns, origin.ordinal if origin else None, _parts(within))


def _parts(table: SourceTable) -> list[tuple[str, int, int]]:
    """Each file of a table by name, in stretches: from which row of the table on (from 0), and what is added to the
    number of a row there to give its place in the file."""
    begins = [0, *accumulate(file.rows - file.unreadable for file in table.files)]
    return [
        (file.path.rsplit("/", 1)[-1], begin + row, shift - begin)
        for file, begin in zip(table.files, begins, strict=False)
        if file.rows > file.unreadable
        for row, shift in ([] if file.shifts and file.shifts[0][0] == 0 else [(0, 0)]) + file.shifts
    ]
