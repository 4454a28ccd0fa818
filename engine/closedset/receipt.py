"""Receipts: where a slot's value came from, re-read from the kept source cell when it is delivered."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from closedset import cells
from closedset.catalog import Catalog, SourceTable, kept_as
from closedset.cells import Reading
from closedset.execute import Run
from closedset.fold import WHITE_SPACE
from closedset.mapping import Cell, Rows
from closedset.pack import PERIOD, Pack, Slot

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
    place from 1 in the file, `place` that from 0 in the table.
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
        self.entries: list[tuple[str, Rows]] = [
            (source, rows) for source, mapping in run.catalog.maps.items() for rows in mapping.rows
        ]

    def state(self, rows: Iterable[StoredRow]) -> list[StatedRow]:
        """Re-read the cells of some rows, one statement a table, and verify each slot against what is stored."""
        rows = list(rows)
        places: dict[Cells, set[int]] = defaultdict(set)
        for row in rows:
            places[self._table(row.entry).cells].add(row.place)
        kept = {cells_table: self._cells(cells_table, wanted) for cells_table, wanted in places.items()}
        origins: dict[Cells, set[int]] = defaultdict(set)
        for row in rows:
            table = self._table(row.entry)
            for origin in table.origins.values():
                place = kept[table.cells][row.place].get(origin.ordinal)
                if place is not None:
                    origins[self._catalog.table(table.source, origin.table).cells].add(place)
        for cells_table, wanted in origins.items():
            kept[cells_table] = {**kept.get(cells_table, {}), **self._cells(cells_table, wanted)}
        return [self._stated(row, kept) for row in rows]

    def around(self, receipt: SlotReceipt) -> tuple[tuple[str, str | None], ...]:
        """The whole source row that a cell stands in: each column of the export with its cell."""
        table = self._catalog.table(receipt.source, receipt.table)
        held = self._cells(table.cells, {receipt.place})[receipt.place]
        return tuple((column, held[kept_as(column)]) for column in table.columns)

    def _table(self, entry: int) -> SourceTable:
        source, rows = self.entries[entry]
        return self._catalog.table(source, rows.table)

    def _cells(self, cells_table: Cells, places: set[int]) -> dict[int, dict[str, Any]]:
        table = self._run.statement("search/cells.sql.j2", {"places": sorted(places)}, cells=cells_table)
        # By position: the export may have a column of any name.
        at, *columns = [column.to_pylist() for column in table.columns]
        names = table.column_names[1:]
        return {place: dict(zip(names, values, strict=True)) for place, *values in zip(at, *columns, strict=True)}

    def _stated(self, row: StoredRow, kept: dict[Cells, dict[int, dict[str, Any]]]) -> StatedRow:
        source, rows = self.entries[row.entry]
        table = self._table(row.entry)
        relation = self._catalog.pack.relations[row.relation]
        mapped = rows.cells()
        slots = {
            name: self._slot(row, name, slot, mapped.get(name), table, kept, self._catalog.maps[source].null)
            for name, slot in relation.askable().items()
        }
        entity_id = (kept[table.cells][row.place][kept_as(rows.entity)] or "").strip(WHITE_SPACE)
        return StatedRow(row, f"{row.relation}/{source}/{rows.table}/{row.place + 1}", entity_id, slots)

    def _slot(
        self,
        row: StoredRow,
        name: str,
        slot: Slot,
        cell: Cell | None,
        table: SourceTable,
        kept: dict[Cells, dict[int, dict[str, Any]]],
        null: tuple[str, ...],
    ) -> SlotReceipt:
        if cell is None:
            return SlotReceipt(
                None, cells.NOTHING, table.table, None, table.source, None, row.place + 1, row.place, None, True
            )
        here, place, column = table, row.place, cell.column
        origin = table.origins.get(column) if column else None
        if origin is not None and kept[table.cells][row.place].get(origin.ordinal) is not None:
            place = kept[table.cells][row.place][origin.ordinal]
            here, column = self._catalog.table(table.source, origin.table), origin.column
        raw = kept[here.cells][place][kept_as(column)] if column else None
        reading = cells.read(raw, cell, slot, self._catalog.pack.vocabulary(slot), null)
        file, at = here.at(place)
        return SlotReceipt(
            text=reading.text, reading=reading, table=here.table, column=column, source=here.source,
            file=file, row=at, place=place, cell=raw,
            byte_verified=_agrees(self._catalog.pack, row, name, slot, reading),
        )  # fmt: skip


def _agrees(pack: Pack, row: StoredRow, name: str, slot: Slot, reading: Reading) -> bool:
    """Whether a cell read again says what the scan's own columns say."""
    stored = row.columns
    if stored[f"{name}__unreadable"]:
        # A reversed period, and a number beyond 38 digits, are stored as unreadable though the cell reads well.
        return reading.unreadable or reading.number is not None or name in PERIOD
    if reading.unreadable:
        return False
    match slot.type:
        case "term":
            code = stored[name]
            vocabulary = pack.vocabulary(slot)
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
