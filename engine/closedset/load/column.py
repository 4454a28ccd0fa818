"""One column of an export read for one slot: each distinct text once, as the dictionary its rows are joined to."""

from collections import defaultdict
from dataclasses import dataclass, field, replace
from decimal import ROUND_FLOOR, Decimal
from typing import Any

import duckdb
import pyarrow as pa

from closedset import cells, decimals
from closedset.catalog import Examples, SlotReport, SourceTable, kept_as
from closedset.cells import Reading
from closedset.fold import excerpt
from closedset.mapping import Cell
from closedset.pack import Pack, Slot
from closedset.render import render
from closedset.vocabulary import Vocabulary

_SHOWN = 5
#: Beyond so many distinct texts, reading each by Python costs more than reading every cell by SQL.
_MANY = 100_000
#: A text that stands in so many cells on average is looked at once for all of them.
_REPEATED = 4
#: The digits up to which DuckDB keeps a decimal in 4, 8 and 16 bytes; and up to which a float is exact.
_WIDTHS = (9, 15, 18, decimals.DIGITS)


@dataclass(frozen=True)
class Plain:
    """The plain form of a column of very many texts: its cells are read by SQL, all others through the dictionary.

    `markers` are the texts that record nothing, by the names they are bound as; `sizes` counts the plain cells by the
    digits they need before and after the point.
    """

    type: str
    decimal: str
    markers: dict[str, str]
    sizes: dict[tuple[int, int], int] = field(default_factory=dict)

    def said(self, scale: int = 0, width: int = decimals.DIGITS) -> dict[str, Any]:
        """As the templates take it."""
        return {
            "type": self.type, "decimal": self.decimal, "markers": [f"${m}" for m in self.markers],
            "scale": scale, "width": width,
        }  # fmt: skip


@dataclass(frozen=True)
class Mapped:
    """One slot of one map entry: how it is read, and the distinct texts of its column with their cells (without
    those in plain form, if it has one). Of plain cells, `unloaded` stand in rows that name no entity."""

    slot: Slot
    cell: Cell
    vocabulary: Vocabulary | None
    readings: dict[str, Reading]
    held: dict[str, int]
    plain: Plain | None = None
    unloaded: int = 0


class Surfaces:
    """The surfaces on no term, per axis: codes from -1 downwards, in order of first sight."""

    def __init__(self) -> None:
        self.codes: dict[tuple[str, str], tuple[int, str]] = {}
        self._next: dict[str, int] = defaultdict(lambda: -1)

    def code(self, axis: str, folded: str, surface: str) -> int:
        """The code of a surface on an axis, given now if it is new."""
        if (axis, folded) not in self.codes:
            self.codes[axis, folded] = (self._next[axis], surface)
            self._next[axis] -= 1
        return self.codes[axis, folded][0]


def read(
    con: duckdb.DuckDBPyConnection,
    pack: Pack,
    null: tuple[str, ...],
    slot: Slot,
    cell: Cell,
    table: SourceTable,
    varied: int = 0,
) -> Mapped:
    """Read the distinct texts of a mapped column (a constant is one text) of a table of kept cells.

    `varied`: about how many they are, where they are so many that those in plain form are better read by SQL.
    """
    plain = _plain(con, null, slot, cell, table, varied) if varied else None
    if cell.column is None:
        held = {"": table.rows}
    else:
        sql = render(
            "load/distinct_cells.sql.j2",
            cells=table.cells, column=kept_as(cell.column), plain=plain.said() if plain else None,
        )  # fmt: skip
        held = dict(con.execute(sql, plain.markers if plain else None).fetchall())
    vocabulary = pack.vocabulary(slot)
    readings = {raw: cells.read(raw, cell, slot, vocabulary, null) for raw in held}
    return Mapped(slot, cell, vocabulary, readings, held, plain)


def of_loaded(con: duckdb.DuckDBPyConnection, mapped: Mapped, table: SourceTable, entry: int) -> Mapped:
    """The same, of the rows of a map entry that are loaded: without the cells of those that name no entity."""
    column = kept_as(mapped.cell.column) if mapped.cell.column else None
    sql = render("load/unloaded_cells.sql.j2", cells=table.cells, column=column, entry=entry)
    gone: dict[str, int] = dict(con.execute(sql).fetchall())
    held = {raw: count - gone.get(raw, 0) for raw, count in mapped.held.items() if count > gone.get(raw, 0)}
    readings = {raw: mapped.readings[raw] for raw in held}
    plain = sum(count for raw, count in gone.items() if raw not in mapped.held)
    return replace(mapped, readings=readings, held=held, unloaded=plain)


def varied(con: duckdb.DuckDBPyConnection, mapped: dict[str, Cell], table: SourceTable) -> dict[str, int]:
    """The slots whose column holds very many distinct texts, and about how many."""
    columns = {name: kept_as(cell.column) for name, cell in mapped.items() if cell.column is not None}
    if table.rows <= _MANY or not columns:
        return {}
    (counts,) = con.execute(render("load/varied.sql.j2", cells=table.cells, columns=list(columns.values()))).fetchall()
    return {name: count for name, count in zip(columns, counts, strict=True) if count > _MANY}


def _plain(
    con: duckdb.DuckDBPyConnection, null: tuple[str, ...], slot: Slot, cell: Cell, table: SourceTable, varied: int
) -> Plain | None:
    """The plain form of a column, if its type has one and the map says nothing that SQL could not see."""
    if slot.type == "term" or cell.column is None or cell.pattern is not None or cell.grouping == ".":
        return None
    markers = {f"marker_{i}": text for i, text in enumerate(dict.fromkeys((*cell.null, *null)))}
    plain = Plain(slot.type, cell.decimal, markers)
    sql = render(
        "load/plain_cells.sql.j2",
        cells=table.cells, column=kept_as(cell.column), plain=plain.said(), repeated=varied * _REPEATED < table.rows,
    )  # fmt: skip
    plain.sizes.update(
        {(whole, fraction): held for whole, fraction, held in con.execute(sql, markers or None).fetchall()}
    )
    return plain


def scale(mapped: list[Mapped]) -> int:
    """The scale at which a column of 38 digits holds the most cells exactly; the rest of them is unreadable.

    Of two that do not go together the one of fewer digits is held: money beside the noise of a float, or beside an id.
    """
    sizes: dict[tuple[int, int], int] = defaultdict(int)
    for one in mapped:
        for size, count in (one.plain.sizes if one.plain else {}).items():
            sizes[size] += count
        for raw, reading in one.readings.items():
            if reading.number is not None:
                sizes[decimals.digits(decimals.trimmed(reading.number))] += one.held[raw]
    fractions = {0, *(fraction for _, fraction in sizes)}

    def held(scale: int) -> tuple[int, int]:
        most = decimals.DIGITS - scale
        fitting = [(w + f, n) for (w, f), n in sizes.items() if w <= most and f <= scale]
        return sum(n for _, n in fitting), -sum(digits * n for digits, n in fitting)

    return max(fractions, key=lambda scale: (*held(scale), scale))


def fits(mapped: Mapped, scale: int) -> bool:
    """Whether a column of this scale holds all of a column's plain numbers exactly."""
    sizes = mapped.plain.sizes if mapped.plain else {}
    return all(whole + scale <= decimals.DIGITS and fraction <= scale for whole, fraction in sizes)


def width(mapped: list[Mapped], scale: int) -> int:
    """The digits of the narrowest column of a scale that holds each cell that one of 38 digits holds: DuckDB keeps
    and compares narrow ones as machine integers."""
    whole = [w for one in mapped if one.plain for w, _ in one.plain.sizes]
    whole += [
        decimals.digits(decimals.trimmed(number))[0]
        for one in mapped
        for reading in one.readings.values()
        if (number := _fitting(reading, scale)) is not None
    ]
    return next(digits for digits in _WIDTHS if max(whole, default=0) + scale <= digits or digits == decimals.DIGITS)


def meanings(mapped: Mapped) -> int:
    """At most so many codes the cells of a term slot have."""
    return len({(r.term, r.unplaced, r.unreadable) for r in mapped.readings.values()})


def dictionary(mapped: Mapped, scale: int, width: int, surfaces: Surfaces) -> pa.Table:
    """The distinct texts of a column and what each means, as the columns that rows.sql.j2 joins. Of a term `kind` is
    the rank of its code among those of the column."""
    raws = list(mapped.readings)
    readings = [mapped.readings[raw] for raw in raws]
    table: dict[str, pa.Array] = {"raw": pa.array(raws, pa.string())}
    unreadable = [r.unreadable for r in readings]
    match mapped.slot.type:
        case "term":
            # Distinct texts come in no order; met in their own, a surface of two spellings is always said alike.
            for raw in sorted(raw for raw, r in mapped.readings.items() if r.unplaced is not None):
                _code(mapped, mapped.readings[raw], surfaces)
            codes = [_code(mapped, r, surfaces) for r in readings]
            table["code"] = pa.array(codes, pa.int32())
            said = list(zip(codes, unreadable, strict=True))
            ranks = {one: rank for rank, one in enumerate(sorted(set(said), key=_by_code))}
            table["kind"] = pa.array([ranks[one] for one in said], pa.int64())
        case "text":
            table["folded"] = pa.array([r.folded for r in readings], pa.string())
        case "number":
            numbers = [_fitting(r, scale) for r in readings]
            table["number"] = pa.array(numbers, pa.decimal128(width, scale))
            unreadable = [r.text is not None and n is None for r, n in zip(readings, numbers, strict=True)]
        case "date":
            table["span_start"] = pa.array([r.span.start if r.span else None for r in readings], pa.date32())
            table["span_end"] = pa.array([r.span.end if r.span else None for r in readings], pa.date32())
            table["recorded"] = pa.array([r.text is not None for r in readings], pa.bool_())
    table["unreadable"] = pa.array(unreadable, pa.bool_())
    return pa.table(table)


def _by_code(said: tuple[int | None, bool]) -> tuple[bool, int, bool]:
    code, unreadable = said
    return code is not None, code or 0, unreadable


def _code(mapped: Mapped, reading: Reading, surfaces: Surfaces) -> int | None:
    if reading.unplaced is not None:
        assert mapped.slot.axis is not None
        assert reading.text is not None
        return surfaces.code(mapped.slot.axis, reading.unplaced, reading.text)
    vocabulary = mapped.vocabulary
    return vocabulary.codes[reading.term] if vocabulary and reading.term else None


def _fitting(reading: Reading, scale: int) -> Decimal | None:
    """The number if the column's 38 digits can hold it exactly."""
    if reading.number is None:
        return None
    whole, fraction = decimals.digits(decimals.trimmed(reading.number))
    if whole + scale > decimals.DIGITS or fraction > scale:
        return None
    return decimals.at_scale(reading.number, scale, ROUND_FLOOR)


def report(mapped: Mapped, scale: int) -> SlotReport:
    """What the cells of a column say, by rows, with the most frequent texts that say nothing usable."""
    report = SlotReport(recorded=sum(mapped.plain.sizes.values()) - mapped.unloaded if mapped.plain else 0)
    unreadable: dict[str, int] = {}
    unplaced: dict[str, int] = {}
    for raw, reading in mapped.readings.items():
        held = mapped.held[raw]
        if reading.unreadable or (reading.number is not None and _fitting(reading, scale) is None):
            unreadable[raw] = held
        elif reading.text is None:
            report.empty += held
        else:
            report.recorded += held
            if reading.unplaced is not None and mapped.vocabulary:
                unplaced[raw] = held
    report.unreadable, report.unplaced = _examples(unreadable), _examples(unplaced)
    return report


def _examples(texts: dict[str, int]) -> Examples:
    most = sorted(texts.items(), key=lambda pair: (-pair[1], pair[0]))
    shown = [(excerpt(text), rows) for text, rows in most[:_SHOWN]]
    return Examples(rows=sum(texts.values()), distinct=len(texts), texts=shown)
