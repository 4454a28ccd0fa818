"""From kept cells to a generation: entities, coded rows, coverage and the catalog, in one database.

A pure function of (pack, maps, cells): a re-load of one source re-derives every source from its kept cells.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import ROUND_FLOOR, Decimal
from typing import Any

import duckdb
import pyarrow as pa

from closedset import cells, decimals
from closedset.catalog import (
    Catalog,
    Entry,
    Examples,
    Lost,
    RowsReport,
    SlotColumns,
    SlotReport,
    SourceTable,
    Statement,
    StoredRelation,
    kept_as,
)
from closedset.cells import Reading
from closedset.entity_set import EntitySet, union, width
from closedset.errors import LoadRefused
from closedset.fold import WHITE_SPACE
from closedset.load.files import Unread, nearest
from closedset.mapping import Cell, Entities, Map, Rows
from closedset.pack import PERIOD, Pack, Relation, Slot
from closedset.render import quoted, render
from closedset.vocabulary import Vocabulary

_SHOWN = 5
_LISTED = 50
#: Characters that nobody sees: a soft hyphen, zero-width ones, direction marks, a byte order mark.
_UNSEEN = "\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff"
_TABLES = """
CREATE TABLE withheld (relation VARCHAR, entry SMALLINT, "table" VARCHAR, entity_id VARCHAR, file VARCHAR,
                       line BIGINT, text VARCHAR, fault VARCHAR);
CREATE TABLE unattributed (relation VARCHAR, entry SMALLINT, "table" VARCHAR, "row" BIGINT, file VARCHAR,
                           line BIGINT, fault VARCHAR);
CREATE TABLE coverage (statement SMALLINT, entity INTEGER);
CREATE TABLE bitmap (relation VARCHAR, held BLOB, looked_at BLOB, withheld BLOB);
CREATE TABLE surface (axis VARCHAR, code INTEGER, folded VARCHAR, surface VARCHAR);
"""


@dataclass(frozen=True)
class _Mapped:
    """One slot of one map entry: how it is read, and the distinct texts of its column with their cells."""

    slot: Slot
    cell: Cell
    vocabulary: Vocabulary | None
    readings: dict[str, Reading]
    held: dict[str, int]


@dataclass
class _Entry:
    number: int
    source: str
    rows: Rows
    table: SourceTable
    mapped: dict[str, _Mapped] = field(default_factory=dict)


class _Surfaces:
    """The surfaces on no term, per axis: codes from -1 downwards, in order of first sight."""

    def __init__(self) -> None:
        self.codes: dict[tuple[str, str], tuple[int, str]] = {}
        self._next: dict[str, int] = defaultdict(lambda: -1)

    def code(self, axis: str, folded: str, surface: str) -> int:
        if (axis, folded) not in self.codes:
            self.codes[axis, folded] = (self._next[axis], surface)
            self._next[axis] -= 1
        return self.codes[axis, folded][0]


def build(
    con: duckdb.DuckDBPyConnection,
    pack: Pack,
    maps: dict[str, Map],
    tables: Sequence[SourceTable],
    unread: dict[tuple[str, str], list[Unread]],
    fingerprints: dict[str, str],
    generation: int,
) -> Catalog:
    """Derive everything into `con` and return the catalog, which the caller writes.

    Takes the kept cells as tables of `con`; `unread` by (source, table). Refuses (LoadRefused) a map that
    names a column the export lacks.
    """
    con.execute(_TABLES).fetchall()
    by_name = {(t.source, t.table): t for t in tables}
    entries = _entries(maps, by_name)
    _refuse_unknown_columns(maps, by_name)
    for entry in entries:
        _withhold(con, entry, unread, by_name)
    universe, map_version = _entity_table(con, maps, by_name)
    stored = {name: StoredRelation() for name in pack.relations}
    reports: list[RowsReport] = []
    surfaces = _Surfaces()
    for name, relation in pack.relations.items():
        mine = [e for e in entries if e.rows.relation == name]
        if mine:
            stored[name], said = _relation(con, pack, maps, name, relation, mine, surfaces)
            reports.extend(said)
    _write_surfaces(con, surfaces)
    statements = _coverage(con, maps, by_name)
    _lose_listed(con, pack, maps, unread, by_name)
    for name, count in con.execute("SELECT relation, count(*) FROM unattributed GROUP BY relation").fetchall():
        if name in stored:
            stored[name].unattributed = count
    _bitmaps(con, stored, statements, universe)
    return Catalog(
        generation=generation,
        loaded_at=datetime.now(UTC).isoformat(timespec="seconds"),
        pack=pack,
        maps=maps,
        sources=list(maps),
        fingerprints=fingerprints,
        tables=list(tables),
        entries=[Entry(source=e.source, table=e.rows.table, rows=e.table.rows) for e in entries],
        statements=statements,
        relations=stored,
        reports=reports,
        universe=universe,
        map_version=map_version,
        lost=_lost(con),
        near_duplicates=con.execute(render("load/near_duplicate.sql.j2"), {"unseen": _UNSEEN}).fetchall(),
    )


def _entries(maps: dict[str, Map], by_name: dict[tuple[str, str], SourceTable]) -> list[_Entry]:
    listed = [(source, rows) for source, mapping in maps.items() for rows in mapping.rows]
    return [_Entry(i, source, rows, by_name[source, rows.table]) for i, (source, rows) in enumerate(listed)]


def _refuse_unknown_columns(maps: dict[str, Map], by_name: dict[tuple[str, str], SourceTable]) -> None:
    for source, mapping in maps.items():
        named: list[tuple[str, str, str | None]] = []
        for i, rows in enumerate(mapping.rows):
            named += [(f"rows.{i}.entity", rows.table, rows.entity), (f"rows.{i}.name", rows.table, rows.name)]
            named += [(f"rows.{i}.slots.{s}", rows.table, c.column) for s, c in rows.cells().items()]
        for i, entities in enumerate(mapping.entities):
            named += [(f"entities.{i}.entity", entities.table, entities.entity)]
            named += [(f"entities.{i}.name", entities.table, entities.name)]
        named += [("looked_at", said.table, said.column) for _, said in mapping.statements()]
        for place, table, column in named:
            columns = by_name[source, table].columns
            if column is not None and column not in columns:
                raise LoadRefused(
                    f"map of {source}: {place}: table {table} has no column {column!r}{nearest(column, columns)}"
                    f" (it has: {', '.join(columns)})"
                )


def _withhold(
    con: duckdb.DuckDBPyConnection,
    entry: _Entry,
    unread: dict[tuple[str, str], list[Unread]],
    by_name: dict[tuple[str, str], SourceTable],
) -> None:
    """File each unreadable row under its entity where that is sure, else among the unattributed.

    The entity is sure when its column is the file's first: a stray delimiter shifts only what comes after it.
    A row lost before a SELECT saw it could be about anybody.
    """
    relation, number = entry.rows.relation, entry.number
    for row in unread.get((entry.source, entry.rows.table), []):
        entity = (row.first_cell or "").strip(WHITE_SPACE)
        if row.first_column == entry.rows.entity and entity:
            con.execute(
                "INSERT INTO withheld VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                [relation, number, entry.rows.table, entity, row.file, row.line, row.text, row.fault],
            ).fetchall()
        else:
            _lose(con, relation, number, entry.rows.table, row)
    for read_table in _read_by_select(entry.table):
        for row in unread.get((entry.source, read_table), []):
            _lose(con, relation, number, read_table, row)


def _lose(con: duckdb.DuckDBPyConnection, relation: str, entry: int | None, table: str, row: Unread) -> None:
    con.execute(
        "INSERT INTO unattributed VALUES (?, ?, ?, NULL, ?, ?, ?)",
        [relation, entry, table, row.file, row.line, row.fault],
    ).fetchall()


def _lose_listed(
    con: duckdb.DuckDBPyConnection,
    pack: Pack,
    maps: dict[str, Map],
    unread: dict[tuple[str, str], list[Unread]],
    by_name: dict[tuple[str, str], SourceTable],
) -> None:
    """File each unreadable row of a coverage list or an entity table among the unattributed: whoever it names may
    be missing from the universe, so of that relation (of every relation) nobody can say "these are all"."""
    for source, mapping in maps.items():
        listing = [(relation, said.table) for relation, said in mapping.statements()]
        listing += [(relation, entities.table) for entities in mapping.entities for relation in pack.relations]
        filed = {(rows.relation, t) for rows in mapping.rows for t in _reading(by_name[source, rows.table])}
        for relation, table in dict.fromkeys(listing):
            for read_table in _reading(by_name[source, table]):
                if (relation, read_table) not in filed:
                    for row in unread.get((source, read_table), []):
                        _lose(con, relation, None, read_table, row)


def _reading(table: SourceTable) -> list[str]:
    """The file tables behind a table: itself, or those its SELECT reads."""
    return _read_by_select(table) if table.select else [table.table]


def _lost(con: duckdb.DuckDBPyConnection) -> list[Lost]:
    """The first rows that are withheld or unattributed, for the report."""
    rows = con.execute(
        f"""SELECT relation, "table", file, line, NULL::BIGINT, entity_id, fault FROM withheld
            UNION ALL SELECT relation, "table", file, line, "row" + 1, NULL, fault FROM unattributed
            ORDER BY ALL LIMIT {_LISTED}"""
    ).fetchall()
    return [
        Lost(relation=r, table=t, file=file, line=line, row=row, entity_id=entity_id, fault=fault)
        for r, t, file, line, row, entity_id, fault in rows
    ]


def _read_by_select(table: SourceTable) -> list[str]:
    from closedset.load.tables import read_by

    return read_by(table.table, table.select) if table.select else []


def _entity_table(
    con: duckdb.DuckDBPyConnection, maps: dict[str, Map], by_name: dict[tuple[str, str], SourceTable]
) -> tuple[int, str]:
    origins: list[dict[str, str | None]] = []
    for source, mapping in maps.items():
        naming: list[Entities | Rows] = [*mapping.entities, *mapping.rows]
        for one in naming:
            origins.append(
                {
                    "cells": by_name[source, one.table].cells,
                    "entity": kept_as(one.entity),
                    "name": kept_as(one.name) if one.name else None,
                }
            )
        for _, said in mapping.statements():
            origins.append({"cells": by_name[source, said.table].cells, "entity": kept_as(said.column), "name": None})
    con.execute(render("load/entity_name.sql.j2", origins=origins), {"white_space": WHITE_SPACE}).fetchall()
    con.execute(render("load/entity.sql.j2")).fetchall()
    con.execute("DROP TABLE entity_name").fetchall()
    ((universe, version),) = con.execute(render("load/map_version.sql.j2")).fetchall()
    return universe, f"{version:032x}"[:12]


def _relation(
    con: duckdb.DuckDBPyConnection,
    pack: Pack,
    maps: dict[str, Map],
    name: str,
    relation: Relation,
    entries: list[_Entry],
    surfaces: _Surfaces,
) -> tuple[StoredRelation, list[RowsReport]]:
    askable = relation.askable()
    for entry in entries:
        for slot_name, cell in entry.rows.cells().items():
            entry.mapped[slot_name] = _read_column(con, pack, maps[entry.source].null, askable[slot_name], cell, entry)
    columns = {slot_name: _columns(entries, slot_name, slot) for slot_name, slot in askable.items()}
    table = f"rows_{name}"
    declared = [
        {"name": s, "type": slot.type, "scale": columns[s].scale, "width": decimals.DIGITS}
        for s, slot in askable.items()
    ]
    con.execute(render("load/relation.sql.j2", table=table, slots=declared, dated=relation.dated)).fetchall()
    reports = [_place(con, name, table, relation, entry, columns, surfaces) for entry in entries]
    return (
        StoredRelation(
            table=table,
            rows=sum(r.loaded for r in reports),
            withheld=sum(r.withheld for r in reports),
            unattributed=sum(r.unattributed for r in reports),
            slots=columns,
        ),
        reports,
    )


def _read_column(
    con: duckdb.DuckDBPyConnection, pack: Pack, null: tuple[str, ...], slot: Slot, cell: Cell, entry: _Entry
) -> _Mapped:
    if cell.column is None:
        held = {"": entry.table.rows}
    else:
        sql = render("load/distinct_cells.sql.j2", cells=entry.table.cells, column=kept_as(cell.column))
        held = dict(con.execute(sql).fetchall())
    vocabulary = pack.vocabulary(slot)
    return _Mapped(slot, cell, vocabulary, {raw: cells.read(raw, cell, slot, vocabulary, null) for raw in held}, held)


def _columns(entries: list[_Entry], slot_name: str, slot: Slot) -> SlotColumns:
    mapped = [e.mapped[slot_name] for e in entries if slot_name in e.mapped]
    return SlotColumns(written=bool(mapped), scale=_scale(mapped) if slot.type == "number" else 0)


def _scale(mapped: list[_Mapped]) -> int:
    """The scale at which a column of 38 digits holds the most cells exactly; the rest of them is unreadable."""
    sizes: dict[tuple[int, int], int] = defaultdict(int)
    for one in mapped:
        for raw, reading in one.readings.items():
            if reading.number is not None:
                sizes[decimals.digits(decimals.trimmed(reading.number))] += one.held[raw]
    fractions = {0, *(fraction for _, fraction in sizes)}

    def held(scale: int) -> int:
        most = decimals.DIGITS - scale
        return sum(n for (whole, fraction), n in sizes.items() if whole <= most and fraction <= scale)

    return max(fractions, key=lambda scale: (held(scale), scale))


def _place(
    con: duckdb.DuckDBPyConnection,
    name: str,
    table: str,
    relation: Relation,
    entry: _Entry,
    columns: dict[str, SlotColumns],
    surfaces: _Surfaces,
) -> RowsReport:
    slots: list[dict[str, Any]] = []
    for slot_name, slot in relation.askable().items():
        mapped = entry.mapped.get(slot_name)
        dictionary = f"dictionary_{slot_name}" if mapped else None
        if mapped and dictionary:
            arrow = _dictionary(mapped, columns[slot_name].scale, surfaces)
            con.register("arrow_dictionary", arrow)
            con.execute(f"CREATE TEMP TABLE {quoted(dictionary)} AS SELECT * FROM arrow_dictionary").fetchall()
            con.unregister("arrow_dictionary")
        slots.append(
            {
                "name": slot_name,
                "type": slot.type,
                "period": relation.dated and slot_name in PERIOD,
                "dictionary": dictionary,
                "column": kept_as(mapped.cell.column) if mapped and mapped.cell.column else None,
            }
        )
    cells_table, entity = entry.table.cells, kept_as(entry.rows.entity)
    sql = render(
        "load/rows.sql.j2",
        table=table, cells=cells_table, entity=entity, entry=entry.number, slots=slots, dated=relation.dated,
    )  # fmt: skip
    ((loaded,),) = con.execute(sql, {"white_space": WHITE_SPACE}).fetchall()
    sql = render("load/unattributed.sql.j2", cells=cells_table, entity=entity, entry=entry.number)
    con.execute(sql, {"white_space": WHITE_SPACE, "relation": name, "table": entry.rows.table}).fetchall()
    for slot_name in entry.mapped:
        con.execute(f"DROP TABLE {quoted(f'dictionary_{slot_name}')}").fetchall()
    ((withheld, unattributed),) = con.execute(
        "SELECT (SELECT count(*) FROM withheld WHERE entry = $e), (SELECT count(*) FROM unattributed WHERE entry = $e)",
        {"e": entry.number},
    ).fetchall()
    reversed_, empty = _periods(con, table, relation, entry)
    return RowsReport(
        relation=name,
        source=entry.source,
        table=entry.rows.table,
        read=loaded + withheld + unattributed,
        loaded=loaded,
        withheld=withheld,
        unattributed=unattributed,
        reversed_periods=reversed_,
        empty_periods=empty,
        slots={s: _slot_report(m, columns[s].scale) for s, m in entry.mapped.items()},
    )


def _periods(con: duckdb.DuckDBPyConnection, table: str, relation: Relation, entry: _Entry) -> tuple[int, int]:
    """How many rows of the entry have a period that ends before it starts, or within the month it starts."""
    if not relation.dated or not entry.rows.period:
        return 0, 0
    wrong = sum(
        n for s in PERIOD for raw, n in entry.mapped[s].held.items() if entry.mapped[s].readings[raw].unreadable
    )
    ((unreadable, empty),) = con.execute(
        f"""SELECT coalesce(sum(period_from__unreadable::INT + period_to__unreadable::INT), 0),
                   count(*) FILTER (WHERE date_trunc('month', period_from__start) = date_trunc('month', period_to__end)
                                      AND date_trunc('month', period_from__end) = date_trunc('month', period_to__start))
            FROM {quoted(table)} WHERE _map = ?""",
        [entry.number],
    ).fetchall()
    return max(0, int(unreadable) - wrong) // 2, empty


def _dictionary(mapped: _Mapped, scale: int, surfaces: _Surfaces) -> pa.Table:
    """The distinct texts of a column and what each means, as the columns that rows.sql.j2 joins."""
    raws = list(mapped.readings)
    readings = [mapped.readings[raw] for raw in raws]
    table: dict[str, pa.Array] = {"raw": pa.array(raws, pa.string())}
    unreadable = [r.unreadable for r in readings]
    match mapped.slot.type:
        case "term":
            # Distinct texts come in no order; met in their own, a surface of two spellings is always said alike.
            for raw in sorted(raw for raw, r in mapped.readings.items() if r.unplaced is not None):
                _code(mapped, mapped.readings[raw], surfaces)
            table["code"] = pa.array([_code(mapped, r, surfaces) for r in readings], pa.int32())
        case "text":
            table["folded"] = pa.array([r.folded for r in readings], pa.string())
        case "number":
            numbers = [_fitting(r, scale) for r in readings]
            table["number"] = pa.array(numbers, pa.decimal128(decimals.DIGITS, scale))
            unreadable = [r.text is not None and n is None for r, n in zip(readings, numbers, strict=True)]
        case "date":
            table["span_start"] = pa.array([r.span.start if r.span else None for r in readings], pa.date32())
            table["span_end"] = pa.array([r.span.end if r.span else None for r in readings], pa.date32())
            table["recorded"] = pa.array([r.text is not None for r in readings], pa.bool_())
    table["unreadable"] = pa.array(unreadable, pa.bool_())
    return pa.table(table)


def _code(mapped: _Mapped, reading: Reading, surfaces: _Surfaces) -> int | None:
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


def _slot_report(mapped: _Mapped, scale: int) -> SlotReport:
    report = SlotReport()
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
    return Examples(rows=sum(texts.values()), distinct=len(texts), texts=most[:_SHOWN])


def _write_surfaces(con: duckdb.DuckDBPyConnection, surfaces: _Surfaces) -> None:
    if surfaces.codes:
        rows = [(axis, code, folded, surface) for (axis, folded), (code, surface) in surfaces.codes.items()]
        con.register("arrow_surfaces", pa.table(list(map(list, zip(*rows, strict=True))), names=["a", "c", "f", "s"]))
        con.execute("INSERT INTO surface SELECT * FROM arrow_surfaces").fetchall()
        con.unregister("arrow_surfaces")


def _coverage(
    con: duckdb.DuckDBPyConnection, maps: dict[str, Map], by_name: dict[tuple[str, str], SourceTable]
) -> list[Statement]:
    statements: list[Statement] = []
    for source, mapping in maps.items():
        for relation, said in mapping.statements():
            sql = render(
                "load/coverage.sql.j2",
                cells=by_name[source, said.table].cells, column=kept_as(said.column), statement=len(statements),
            )  # fmt: skip
            ((entities,),) = con.execute(sql, {"white_space": WHITE_SPACE}).fetchall()
            word = "every" if said.every else "listed"
            statements.append(
                Statement(relation=relation, source=source, said=f"{word}: {said.target}", entities=entities)
            )
    return statements


def _bitmaps(
    con: duckdb.DuckDBPyConnection, stored: dict[str, StoredRelation], statements: list[Statement], universe: int
) -> None:
    for name, relation in stored.items():
        mine = [i for i, statement in enumerate(statements) if statement.relation == name]
        sql = render("load/bitmap.sql.j2", table=relation.table, statements=mine, last=width(universe) - 1)
        con.execute(sql, {"relation": name}).fetchall()
        ((held, looked_at, withheld),) = con.execute(
            "SELECT held, looked_at, withheld FROM bitmap WHERE relation = ?", [name]
        ).fetchall()
        sets = [EntitySet.of_bytes(blob, universe) for blob in (held, looked_at, withheld)]
        relation.covered = len(union(sets, universe))
