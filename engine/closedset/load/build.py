"""From kept cells to a generation: entities, coded rows, coverage and the catalog, in one database.

A pure function of (pack, maps, cells, ledger): a re-load of one source re-derives every source from its kept cells,
and so does whatever the ledger gains or undoes.
"""

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

import duckdb
import pyarrow as pa

from closedset import progress, row_id, yaml_file
from closedset.catalog import (
    Catalog,
    Placed,
    RowsReport,
    SlotColumns,
    SourceTable,
    StoredRelation,
    kept_as,
)
from closedset.errors import LoadRefused
from closedset.ids import Bound
from closedset.ledger import State
from closedset.load import (
    column,
    correction,
    coverage,
    looked,
    lost,
    near,
    placement,
    row_kinds,
    term_index,
)
from closedset.load import universe as universe_of
from closedset.load.column import Surfaces
from closedset.load.force import Force
from closedset.load.lost import MapEntry
from closedset.load.read.part import Unread, nearest
from closedset.mapping import Map
from closedset.pack import PERIOD, Pack, Relation, Slot
from closedset.render import quoted, render
from closedset.yaml_file import Place

_NOTHING_SAID = State()
#: So many dictionaries are joined by one statement: the time of a chain of joins grows with its square and more.
_JOINED = 40
_TABLES = """
CREATE TABLE withheld (relation VARCHAR, entry SMALLINT, "table" VARCHAR, entity_id VARCHAR, file VARCHAR,
                       line BIGINT, text VARCHAR, fault VARCHAR);
CREATE TABLE unattributed (relation VARCHAR, entry SMALLINT, source VARCHAR, "table" VARCHAR, "row" BIGINT,
                           file VARCHAR, line BIGINT, text VARCHAR, fault VARCHAR);
CREATE TABLE coverage (statement SMALLINT, entity INTEGER);
CREATE TABLE merged (entity_id VARCHAR, ordinal INTEGER);
CREATE TABLE bitmap (relation VARCHAR, held BLOB, looked_at BLOB, withheld BLOB);
CREATE TABLE surface (axis VARCHAR, code INTEGER, folded VARCHAR, surface VARCHAR);
"""


@dataclass(frozen=True)
class _Laid:
    """How the rows of a map entry are laid: the number of its first kind, what a step of each slot's code adds to it,
    and how many numbers its kinds take."""

    first: int
    weights: dict[str, int]
    numbers: int


def build(
    con: duckdb.DuckDBPyConnection,
    pack: Pack,
    maps: dict[str, Map],
    tables: Sequence[SourceTable],
    unread: dict[tuple[str, str], list[Unread]],
    fingerprints: dict[str, str],
    generation: int,
    state: State = _NOTHING_SAID,
) -> Catalog:
    """Derive everything into `con` and return the catalog, which the caller writes.

    Takes the pack as loaded, the kept cells as tables of `con`, `unread` by (source, table) and what the ledger has
    in force. Refuses (LoadRefused) a map that names a column the export lacks; what the ledger says is never
    refused here: what fits nothing any more is noted.
    """
    force = Force()
    declared = pack
    pack, placements = placement.placed(declared, state, force)
    con.execute(_TABLES).fetchall()
    by_name = {(t.source, t.table): t for t in tables}
    entries = _entries(maps, by_name)
    _refuse_unknown_columns(maps, by_name)
    for entry in entries:
        lost.withhold(con, entry, maps[entry.source].null, unread, by_name)
    progress.step("numbering the entities")
    universe, map_version, merged = universe_of.number(con, maps, by_name, state, force)
    stored = {name: StoredRelation() for name in pack.relations}
    reports: list[RowsReport] = []
    surfaces = Surfaces()
    for name, relation in pack.relations.items():
        mine = [e for e in entries if e.rows.relation == name]
        if mine:
            progress.step(f"relation {name}")
            stored[name], said = _relation(con, pack, maps, name, relation, mine, surfaces, merged > 0)
            reports.extend(said)
    placement.tell(placements, entries, force)
    progress.step("coverage")
    _write_surfaces(con, surfaces)
    row_tables = {name: relation.table for name, relation in stored.items() if relation.table}
    for name, count in correction.retire(con, maps, row_tables, entries, state, force).items():
        stored[name].retired = count
    for name, kept in stored.items():
        # A retired row is unknown whatever its terms: an index of terms would call it true.
        if kept.table and not kept.retired:
            term_index.build(con, pack, name, pack.relations[name], kept.slots, kept.rows, universe)
    statements = coverage.declare(con, maps, by_name, entries, row_tables, merged > 0)
    statements += looked.declare(con, pack, state, len(statements), merged > 0, force)
    lost.lose_listed(con, pack, maps, unread, by_name)
    reports += lost.of_lists(con)
    for name, count in con.execute("SELECT relation, count(*) FROM unattributed GROUP BY relation").fetchall():
        if name in stored:
            stored[name].unattributed = count
    coverage.keep(con, stored, statements, universe, merged > 0)
    force.write(con)
    return Catalog(
        generation=generation,
        loaded_at=datetime.now(UTC).isoformat(timespec="seconds"),
        pack=pack,
        declared=declared if placements else None,
        placements=[Placed(**asdict(e.fact), event=e.id, at=e.at, by=e.by, reason=e.reason) for e in placements],
        merged=merged,
        ledger=state.last,
        unfit=force.notes(),
        maps=maps,
        sources=list(maps),
        fingerprints=fingerprints,
        tables=list(tables),
        statements=statements,
        relations=stored,
        reports=reports,
        universe=universe,
        map_version=map_version,
        lost=lost.listed(con, entries, by_name),
        near_duplicates=near.duplicates(con),
    )


def _entries(maps: dict[str, Map], by_name: dict[tuple[str, str], SourceTable]) -> list[MapEntry]:
    return [MapEntry(one, by_name[one.source, one.rows.table]) for one in row_id.entries(maps)]


def _refuse_unknown_columns(maps: dict[str, Map], by_name: dict[tuple[str, str], SourceTable]) -> None:
    for source, mapping in maps.items():
        faults: list[tuple[Place, str]] = []
        for place, table, wanted in mapping.columns():
            columns = by_name[source, table].columns
            if wanted not in columns:
                has = f"(it has: {', '.join(columns)})"
                faults.append((place, f"table {table} has no column {wanted!r}{nearest(wanted, columns)} {has}"))
        if faults:
            raise LoadRefused(yaml_file.said(faults, f"map of {source}", None), faults)


def _relation(
    con: duckdb.DuckDBPyConnection,
    pack: Pack,
    maps: dict[str, Map],
    name: str,
    relation: Relation,
    entries: list[MapEntry],
    surfaces: Surfaces,
    merged: bool,
) -> tuple[StoredRelation, list[RowsReport]]:
    askable = relation.askable()
    for entry in entries:
        read = entry.rows.cells()
        varied = column.varied(con, read, entry.table)
        for slot_name, cell in read.items():
            entry.mapped[slot_name] = column.read(
                con, pack, maps[entry.source].null, askable[slot_name], cell, entry.table, varied.get(slot_name, 0)
            )
    columns = {slot_name: _columns(entries, slot_name, slot) for slot_name, slot in askable.items()}
    for entry in entries:
        for slot_name, mapped in entry.mapped.items():
            if not column.fits(mapped, columns[slot_name].scale):
                # Some plain number needs more digits than the column has: only a dictionary can say which.
                entry.mapped[slot_name] = column.read(
                    con, pack, maps[entry.source].null, mapped.slot, mapped.cell, entry.table
                )
    table = f"rows_{name}"
    declared = [
        {"name": s, "type": slot.type, "scale": columns[s].scale, "width": columns[s].digits}
        for s, slot in askable.items()
    ]
    timed = relation.dated or relation.date_slot is not None
    con.execute(
        render("load/relation.sql.j2", table=table, slots=declared, dated=relation.dated, timed=timed)
    ).fetchall()
    by_kind = row_kinds.slots(entries)
    reports: list[RowsReport] = []
    first_kind = 0
    for entry in entries:
        laid = _Laid(first_kind, *row_kinds.weights(entry, by_kind))
        reports.append(
            _place(con, maps[entry.source].null, name, table, relation, entry, columns, surfaces, merged, laid)
        )
        first_kind += laid.numbers
    stored = StoredRelation(
        table=table,
        rows=sum(r.loaded for r in reports),
        withheld=sum(r.withheld for r in reports),
        unattributed=sum(r.unattributed for r in reports),
        slots=columns,
    )
    row_kinds.keep(con, name, stored, by_kind, relation.dated)
    return stored, reports


def _columns(entries: list[MapEntry], slot_name: str, slot: Slot) -> SlotColumns:
    mapped = [e.mapped[slot_name] for e in entries if slot_name in e.mapped]
    if slot.type != "number":
        return SlotColumns(written=bool(mapped))
    scale = column.scale(mapped)
    return SlotColumns(written=bool(mapped), scale=scale, digits=column.width(mapped, scale))


def _place(
    con: duckdb.DuckDBPyConnection,
    null: tuple[str, ...],
    name: str,
    table: str,
    relation: Relation,
    entry: MapEntry,
    columns: dict[str, SlotColumns],
    surfaces: Surfaces,
    merged: bool,
    laid: _Laid,
) -> RowsReport:
    slots: list[dict[str, Any]] = []
    for slot_name, slot in relation.askable().items():
        mapped, kept = entry.mapped.get(slot_name), columns[slot_name]
        dictionary = f"dictionary_{slot_name}" if mapped else None
        if mapped and dictionary:
            con.register(dictionary, column.dictionary(mapped, kept.scale, kept.digits, surfaces))
        slots.append(
            {
                "name": slot_name,
                "type": slot.type,
                "period": relation.dated and slot_name in PERIOD,
                "dictionary": dictionary,
                "column": kept_as(mapped.cell.column) if mapped and mapped.cell.column else None,
                "plain": mapped.plain.said(kept.scale, kept.digits) if mapped and mapped.plain else None,
                "part": None,
            }
        )
    cells_table, entity = entry.table.cells, kept_as(entry.rows.entity)
    parts, bound = _parts(slots, laid.weights), Bound()
    markers = bound.markers(null)
    sql = render(
        "load/rows.sql.j2",
        table=table, cells=cells_table, entity=entity, markers=markers, entry=entry.number, slots=slots,
        dated=relation.dated, date_slot=relation.date_slot, merged=merged, parts=list(parts),
        kinds=[{"slot": s, "weight": weight} for s, weight in laid.weights.items()],
        first_kind=laid.first, sorted=bool(laid.weights),
    )  # fmt: skip
    # Each dictionary holds a text once, so the joins lose and repeat nothing in any order; the written one is right,
    # and looking for a better one among two hundred never ends.
    con.execute("SET disabled_optimizers = 'join_order'").fetchall()
    for part, some in parts.items():
        con.execute(render("load/part.sql.j2", part=part, cells=cells_table, slots=some)).fetchall()
    ((loaded,),) = con.execute(sql, bound.values).fetchall()
    con.execute("RESET disabled_optimizers").fetchall()
    for part in parts:
        con.execute(f"DROP TABLE {quoted(part)}").fetchall()
    if loaded < entry.table.rows:
        of = {"cells": cells_table, "entity": entity, "markers": markers, "entry": entry.number}
        named = {"relation": name, "source": entry.source, "table": entry.rows.table}
        con.execute(render("load/unattributed.sql.j2", **of), {**bound.values, **named}).fetchall()
        entry.mapped = {s: column.of_loaded(con, m, entry.table, entry.number) for s, m in entry.mapped.items()}
    for slot_name in entry.mapped:
        con.unregister(f"dictionary_{slot_name}")
    ((withheld, unattributed),) = con.execute(
        "SELECT (SELECT count(*) FROM withheld WHERE entry = $e), (SELECT count(*) FROM unattributed WHERE entry = $e)",
        {"e": entry.number},
    ).fetchall()
    reversed_, empty = _periods(con, table, relation, entry)
    said = {s: column.report(m, columns[s].scale) for s, m in entry.mapped.items()}
    for name_ in PERIOD if reversed_ else ():
        said[name_].recorded -= reversed_
        said[name_].reversed = reversed_
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
        slots=said,
    )


def _parts(slots: list[dict[str, Any]], laid: Collection[str]) -> dict[str, list[dict[str, Any]]]:
    """The slots that are placed beforehand, by the table that holds them, each noted in the slot: all but the first
    few, the period and those by which rows are laid."""
    beside = [s for s in slots if s["dictionary"] and not s["period"] and s["name"] not in laid][_JOINED:]
    parts = {f"part_{i // _JOINED}": beside[i : i + _JOINED] for i in range(0, len(beside), _JOINED)}
    for part, some in parts.items():
        for slot in some:
            slot["part"] = part
    return parts


def _periods(con: duckdb.DuckDBPyConnection, table: str, relation: Relation, entry: MapEntry) -> tuple[int, int]:
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


def _write_surfaces(con: duckdb.DuckDBPyConnection, surfaces: Surfaces) -> None:
    if surfaces.codes:
        rows = [(axis, code, folded, surface) for (axis, folded), (code, surface) in surfaces.codes.items()]
        con.register("arrow_surfaces", pa.table(list(map(list, zip(*rows, strict=True))), names=["a", "c", "f", "s"]))
        con.execute("INSERT INTO surface SELECT * FROM arrow_surfaces").fetchall()
        con.unregister("arrow_surfaces")
