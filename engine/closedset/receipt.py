"""Receipts: where a slot's value came from, re-read from the kept source cell when it is delivered."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from closedset import cells, ids, row_id
from closedset.catalog import Catalog, SourceTable, kept_as
from closedset.cells import Reading
from closedset.execute import Run
from closedset.mapping import Cell
from closedset.pack import PERIOD, Slot
from closedset.vocabulary import Vocabulary

Cells = tuple[str, ...]


@dataclass(frozen=True)
class StoredRow:
    """A row of a relation as a scan gives it: its typed columns, and the place of its source row."""

    relation: str
    ordinal: int
    entry: int
    place: int
    columns: dict[str, Any]


@dataclass(frozen=True)
class SlotReceipt:
    """`text` is what the slot states (None: nothing recorded); the cell it came from, read again just now.

    `byte_verified` says that this cell still reads as the store has it; `column` is None for a constant. `row` is its
    place from 1 among all records of the file, `place` that from 0 among the table's rows.
    """

    text: str | None
    reading: Reading
    table: str
    column: str | None
    source: str
    file: str | None
    row: int
    place: int
    cell: str | None
    byte_verified: bool


@dataclass(frozen=True)
class StatedRow:
    """A row with every slot as its source states it, the period columns included; `entity_id` as the source has it."""

    row: StoredRow
    row_id: str
    entity_id: str
    slots: dict[str, SlotReceipt]


class Sources:
    """The map entries of one generation, and their kept cells."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._catalog: Catalog = run.catalog
        self._tables = {(t.source, t.table): t for t in run.catalog.tables}
        self._mapped: dict[tuple[int, str], list[_Mapped]] = {}
        self.entries = row_id.entries(run.catalog.maps)

    def state(self, rows: Iterable[StoredRow]) -> list[StatedRow]:
        """Re-read the cells of some rows, one statement a table, and verify each slot against what is stored."""
        rows = list(rows)
        places: dict[Cells, set[int]] = defaultdict(set)
        for row in rows:
            places[self._table(row.entry).cells].add(row.place)
        begun = {table: self._run.soon(partial(self._cells, table, wanted)) for table, wanted in places.items()}
        kept = {table: cells() for table, cells in begun.items()}
        origins: dict[Cells, set[int]] = defaultdict(set)
        for row in rows:
            table = self._table(row.entry)
            for origin in table.origins.values():
                place = kept[table.cells][row.place].get(origin.ordinal)
                if place is not None:
                    origins[self._tables[table.source, origin.table].cells].add(place)
        for cells_table, wanted in origins.items():
            kept[cells_table] = {**kept.get(cells_table, {}), **self._cells(cells_table, wanted, self._run)}
        return [self._stated(row, kept) for row in rows]

    def around(self, receipt: SlotReceipt) -> tuple[tuple[str, str | None], ...]:
        """The whole source row that a cell stands in: each column of the export with its cell."""
        table = self._catalog.table(receipt.source, receipt.table)
        held = self._cells(table.cells, {receipt.place}, self._run)[receipt.place]
        return tuple((column, held[kept_as(column)]) for column in table.columns)

    def _table(self, entry: int) -> SourceTable:
        one = self.entries[entry]
        return self._tables[one.source, one.rows.table]

    def _cells(self, cells_table: Cells, places: set[int], run: Run) -> dict[int, dict[str, Any]]:
        table = run.statement("search/cells.sql.j2", {"places": sorted(places)}, cells=cells_table)
        # By position: the export may have a column of any name.
        at, *columns = [column.to_pylist() for column in table.columns]
        next(t for t in self._tables.values() if t.cells == cells_table).refuse_lost(places, at)
        names = table.column_names[1:]
        return {place: dict(zip(names, values, strict=True)) for place, *values in zip(at, *columns, strict=True)}

    def _stated(self, row: StoredRow, kept: dict[Cells, dict[int, dict[str, Any]]]) -> StatedRow:
        entry = self.entries[row.entry]
        table = self._table(row.entry)
        slots = {one.name: self._slot(row, one, table, kept) for one in self._mapped_slots(row)}
        entity_id = ids.read(kept[table.cells][row.place][kept_as(entry.rows.entity)], ())
        return StatedRow(row, entry.row_id(row.place), entity_id, slots)

    def _mapped_slots(self, row: StoredRow) -> "list[_Mapped]":
        """The slots of a row's relation as its map entry reads them; worked out once an entry."""
        key = row.entry, row.relation
        if key not in self._mapped:
            entry = self.entries[row.entry]
            pack, mapped = self._catalog.pack, entry.rows.cells()
            null = self._catalog.maps[entry.source].null
            self._mapped[key] = [
                _Mapped(name, slot, mapped.get(name), pack.vocabulary(slot), null)
                for name, slot in pack.relations[row.relation].askable().items()
            ]
        return self._mapped[key]

    def _slot(
        self, row: StoredRow, one: "_Mapped", table: SourceTable, kept: dict[Cells, dict[int, dict[str, Any]]]
    ) -> SlotReceipt:
        cell = one.cell
        if cell is None:
            file, at = table.at(row.place)
            return SlotReceipt(None, cells.NOTHING, table.table, None, table.source, file, at, row.place, None, True)
        here, place, column = table, row.place, cell.column
        origin = table.origins.get(column) if column else None
        if origin is not None and kept[table.cells][row.place].get(origin.ordinal) is not None:
            place = kept[table.cells][row.place][origin.ordinal]
            here, column = self._tables[table.source, origin.table], origin.column
        raw = kept[here.cells][place][kept_as(column)] if column else None
        reading = one.read(raw)
        file, at = here.at(place)
        return SlotReceipt(
            text=reading.text, reading=reading, table=here.table, column=column, source=here.source,
            file=file, row=at, place=place, cell=raw,
            byte_verified=_agrees(row, one, reading),
        )  # fmt: skip


class _Mapped:
    """A slot as one map entry reads it. Many rows state the same text: each is read once."""

    def __init__(
        self, name: str, slot: Slot, cell: Cell | None, vocabulary: Vocabulary | None, null: tuple[str, ...]
    ) -> None:
        self.name, self.slot, self.cell, self.vocabulary = name, slot, cell, vocabulary
        self._null = null
        self._readings: dict[str | None, Reading] = {}

    def read(self, raw: str | None) -> Reading:
        if raw not in self._readings:
            assert self.cell is not None
            self._readings[raw] = cells.read(raw, self.cell, self.slot, self.vocabulary, self._null)
        return self._readings[raw]


def _agrees(row: StoredRow, one: _Mapped, reading: Reading) -> bool:
    """Whether a cell read again says what the scan's own columns say."""
    stored, name, vocabulary = row.columns, one.name, one.vocabulary
    if stored[f"{name}__unreadable"]:
        # A reversed period, and a number beyond 38 digits, are stored as unreadable though the cell reads well.
        return reading.unreadable or reading.number is not None or name in PERIOD
    if reading.unreadable:
        return False
    match one.slot.type:
        case "term":
            code = stored[name]
            if reading.term is not None and vocabulary is not None:
                return bool(code == vocabulary.codes[reading.term])
            return code is None if reading.unplaced is None else code is not None and code < 0
        case "text":
            return bool(stored[name] == reading.folded)
        case "number":
            return bool(stored[name] == reading.number)
        case "date":
            start, end = stored[f"{name}__start"], stored[f"{name}__end"]
            return (start, end) == ((reading.span.start, reading.span.end) if reading.span else (None, None))
