"""Corrections: the rows of a relation that an operator retired and whose source still states them."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

import duckdb
import pyarrow as pa

from closedset.catalog import kept_as
from closedset.errors import LedgerRefused
from closedset.fold import WHITE_SPACE
from closedset.ledger import Correction, Event, State, digest
from closedset.load.force import Force
from closedset.load.lost import MapEntry
from closedset.load.read.part import nearest
from closedset.render import quoted, render
from closedset.store import Generation

_SHOWN = 3


def meant(held: Generation, row_id: str, entity_id: str | None) -> Correction:
    """The correction of the row that a reply calls `row_id`: relation, source, table, place from 1. `entity_id` says
    whose, where one source row is a row of several entities. Refuses (LedgerRefused) what is no such row."""
    catalog = held.catalog
    parts = row_id.split("/")
    if len(parts) != 4 or not (parts[3].isascii() and parts[3].isdigit()):
        raise LedgerRefused(
            f"{row_id!r} is no row: write RELATION/SOURCE/TABLE/NUMBER, as `row_id` in a full reply (--format json)"
        )
    relation, source, name, number = parts
    place = int(number) - 1
    listed = [(s, rows) for s, mapping in catalog.maps.items() for rows in mapping.rows]
    mine = {i: rows for i, (s, rows) in enumerate(listed) if (rows.relation, s, rows.table) == (relation, source, name)}
    if not mine:
        known = dict.fromkeys(f"{rows.relation}/{s}/{rows.table}" for s, rows in listed)
        home = f"{relation}/{source}/{name}"
        raise LedgerRefused(
            f"{row_id!r}: no rows of {home}{nearest(home, list(known))} (there are: {', '.join(known)})"
        )
    table = catalog.table(source, name)
    cursor = held.cursor()
    sql = f"SELECT DISTINCT _map FROM {quoted(catalog.relations[relation].table or '')} WHERE _row = ? AND _map IN "
    entries = cursor.execute(f"{sql} ({', '.join(map(str, mine))})", [place]).fetchall()
    if not entries:
        raise LedgerRefused(f"{row_id!r}: {relation} holds no such row; table {name} has {table.rows} rows")
    found = cursor.execute(render("search/cells.sql.j2", cells=table.cells), {"places": [place]})
    kept = found.fetchall()
    table.refuse_lost([place], [row[0] for row in kept])
    cells = dict(zip([d[0] for d in found.description or ()], kept[0], strict=True))
    owners = sorted({(cells[kept_as(mine[entry].entity)] or "").strip(WHITE_SPACE) for (entry,) in entries})
    wanted = [o for o in owners if entity_id is None or o == entity_id.strip(WHITE_SPACE)]
    if len(wanted) != 1:
        fault = "is a row of several entities" if entity_id is None else f"is no row of {entity_id!r}"
        raise LedgerRefused(f"{row_id!r} {fault}; name one with --entity: {', '.join(map(repr, owners))}")
    columns = tuple(sorted(table.columns))
    return Correction(
        source=source, relation=relation, table=name, entity_id=wanted[0],
        columns=columns, digest=digest(columns, {c: cells[kept_as(c)] for c in columns}),
    )  # fmt: skip


def retire(
    con: duckdb.DuckDBPyConnection, tables: Mapping[str, str], entries: Sequence[MapEntry], state: State, force: Force
) -> Counter[str]:
    """Mark the retired rows of each relation in a column of their own, and count them by relation; a relation
    without any has no such column. Takes the relations' tables by name."""
    held: dict[int, list[str]] = defaultdict(list)
    retired: Counter[str] = Counter()
    events = state.of(Correction)
    for relation, table in tables.items():
        places = [
            (entry, place, about)
            for entry in entries
            if entry.rows.relation == relation
            for place, about in _places(con, entry, events).items()
        ]
        for entry, place, about in places:
            for event_id in about:
                held[event_id].append(f"{relation}/{entry.source}/{entry.rows.table}/{place + 1}")
        if places:
            _mark(con, table, [(entry.number, place) for entry, place, _ in places])
            retired[relation] = len(places)
    for event in events:
        if held[event.id]:
            rows = ", ".join(held[event.id][:_SHOWN]) + (", …" if len(held[event.id]) > _SHOWN else "")
            force.fit(event, len(held[event.id]), rows)
        else:
            force.unfit(event, "the source no longer states the row")
    return retired


def _places(
    con: duckdb.DuckDBPyConnection, entry: MapEntry, events: Sequence[Event[Correction]]
) -> dict[int, list[int]]:
    """The places of an entry's rows that some corrections are about, each with the corrections' ids."""
    home = (entry.source, entry.rows.relation, entry.rows.table)
    named_here = set(entry.table.columns)
    events = [
        e
        for e in events
        if (e.fact.source, e.fact.relation, e.fact.table) == home and named_here.issuperset(e.fact.columns)
    ]
    if not events:
        return {}
    wanted: dict[str, dict[tuple[str, ...], dict[str, list[int]]]] = {}
    for event in events:
        by_columns = wanted.setdefault(event.fact.entity_id, {})
        by_columns.setdefault(event.fact.columns, {}).setdefault(event.fact.digest, []).append(event.id)
    columns = sorted({column for event in events for column in event.fact.columns})
    con.register("corrected", pa.table({"entity_id": pa.array(wanted, pa.string())}))
    sql = render(
        "load/corrected.sql.j2",
        cells=entry.table.cells, entity=kept_as(entry.rows.entity), columns=[kept_as(c) for c in columns],
    )  # fmt: skip
    rows = con.execute(sql, {"white_space": WHITE_SPACE}).fetchall()
    con.unregister("corrected")
    found: dict[int, list[int]] = {}
    for place, entity_id, *texts in rows:
        cells = dict(zip(columns, texts, strict=True))
        about = [e for named, known in wanted[entity_id].items() for e in known.get(digest(named, cells), ())]
        if about:
            found[place] = about
    return found


def _mark(con: duckdb.DuckDBPyConnection, table: str, places: Sequence[tuple[int, int]]) -> None:
    con.execute(f"ALTER TABLE {quoted(table)} ADD COLUMN _retired BOOLEAN DEFAULT FALSE").fetchall()
    maps, rows = zip(*places, strict=True)
    con.register("retired", pa.table({"map": pa.array(maps, pa.int16()), "place": pa.array(rows, pa.int64())}))
    con.execute(
        f"UPDATE {quoted(table)} SET _retired = TRUE FROM retired WHERE _map = retired.map AND _row = retired.place"
    ).fetchall()
    con.unregister("retired")
