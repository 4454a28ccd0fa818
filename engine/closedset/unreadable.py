"""The cells of the exports that their slot's type cannot read: each with its place, its text and why."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import pyarrow as pa
import pyarrow.compute as pc

from closedset.cells import Reading
from closedset.errors import RequestRefused
from closedset.execute import Run
from closedset.fold import WHITE_SPACE
from closedset.mapping import Cell
from closedset.matches import stored_row
from closedset.pack import Slot
from closedset.receipt import Sources
from closedset.store import Generation

_BATCH = 1000
_FAULTS = {
    "date": "is no date in ISO form, nor as the map declares under `dates`",
    "number": "is no number as the map declares it (`decimal`, `grouping`)",
}


@dataclass(frozen=True)
class UnreadableCell:
    """One cell of one slot of a row that is loaded. `row` is its place from 1 in `file`, or in `table` where that is no
    file's; `row_id` names the row as replies do."""

    relation: str
    source: str
    table: str
    file: str | None
    row: int
    entity_id: str
    row_id: str
    slot: str
    column: str | None
    text: str | None
    fault: str

    @property
    def place(self) -> str:
        """Where the cell stands, as messages write it."""
        return f"{self.file or self.table} row {self.row}"


@dataclass(frozen=True)
class UnreadableCells:
    """How many there are, and the cells themselves, by relation, source row and slot."""

    total: int
    cells: Iterator[UnreadableCell]


def of(generation: Generation, source: str | None = None, limit: int | None = None) -> UnreadableCells:
    """Every unreadable cell of the loaded rows of a store, or of one of its sources, the two ends of a reversed period
    included; `limit` bounds the list only. Refuses (RequestRefused) a source that the store does not hold.
    """
    run = Run(generation)
    catalog = run.catalog
    if source is not None and source not in catalog.sources:
        raise RequestRefused(
            "source_unknown", f"the store holds no source {source!r}; it has: {', '.join(catalog.sources)}"
        )
    sources = Sources(run)
    found: list[tuple[str, list[str], pa.Table]] = []
    total = 0
    for relation, stored in catalog.relations.items():
        mine = [e.number for e in sources.entries if e.rows.relation == relation and source in (None, e.source)]
        reports = [r.slots for r in catalog.reports if r.relation == relation]
        slots = [n for n in stored.slots if any(s[n].unreadable.rows + s[n].reversed for s in reports if n in s)]
        if stored.table is not None and mine and slots:
            rows = run.statement("rejects/cells.sql.j2", table=stored.table, entries=mine, slots=slots)
            total += sum(pc.sum(rows[f"{slot}__unreadable"]).as_py() or 0 for slot in slots)
            found.append((relation, slots, rows))
    listed = (cell for one in found for cell in _cells(run, sources, *one))
    return UnreadableCells(total, islice(listed, limit))


def _cells(run: Run, sources: Sources, relation: str, slots: list[str], rows: pa.Table) -> Iterator[UnreadableCell]:
    askable = run.catalog.pack.relations[relation].askable()
    for batch in rows.to_batches(max_chunksize=_BATCH):
        for stated in sources.state([stored_row(relation, row) for row in batch.to_pylist()]):
            cells = sources.entries[stated.row.entry].rows.cells()
            for slot in slots:
                one = stated.slots[slot]
                if stated.row.columns[f"{slot}__unreadable"]:
                    yield UnreadableCell(
                        relation=relation, source=one.source, table=one.table, file=one.file, row=one.row,
                        entity_id=stated.entity_id, row_id=stated.row_id, slot=slot, column=one.column,
                        text=one.text, fault=_fault(askable[slot], cells[slot], one.reading),
                    )  # fmt: skip


def _fault(slot: Slot, cell: Cell, reading: Reading) -> str:
    if not reading.unreadable:
        return "its period ends before it starts" if slot.type == "date" else "needs more than 38 digits in its column"
    if cell.pattern is not None and not re.fullmatch(cell.pattern, (reading.text or "").strip(WHITE_SPACE)):
        return f"does not fit the map's `pattern` {cell.pattern}"
    return _FAULTS.get(slot.type, "cannot be read")
