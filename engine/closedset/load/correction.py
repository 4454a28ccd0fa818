"""Corrections: the rows of a relation that an operator retired and whose source still states them."""

from collections import Counter
from collections.abc import Mapping, Sequence

import duckdb
import pyarrow as pa

from closedset.catalog import kept_as
from closedset.fold import WHITE_SPACE
from closedset.ledger import Correction, Event, State, digest
from closedset.load.force import Force
from closedset.load.lost import MapEntry
from closedset.render import quoted, render


def retire(
    con: duckdb.DuckDBPyConnection, tables: Mapping[str, str], entries: Sequence[MapEntry], state: State, force: Force
) -> Counter[str]:
    """Mark the retired rows of each relation in a column of their own, and count them by relation; a relation
    without any has no such column. Takes the relations' tables by name."""
    held: Counter[int] = Counter()
    retired: Counter[str] = Counter()
    events = state.of(Correction)
    for relation, table in tables.items():
        places = [
            (entry.number, place, about)
            for entry in entries
            if entry.rows.relation == relation
            for place, about in _places(con, entry, events).items()
        ]
        held.update(event for _, _, about in places for event in about)
        if places:
            _mark(con, table, places)
            retired[relation] = len(places)
    for event in events:
        if held[event.id]:
            force.fit(event, held[event.id])
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


def _mark(con: duckdb.DuckDBPyConnection, table: str, places: Sequence[tuple[int, int, object]]) -> None:
    con.execute(f"ALTER TABLE {quoted(table)} ADD COLUMN _retired BOOLEAN DEFAULT FALSE").fetchall()
    maps, rows, _ = zip(*places, strict=True)
    con.register("retired", pa.table({"map": pa.array(maps, pa.int16()), "place": pa.array(rows, pa.int64())}))
    con.execute(
        f"UPDATE {quoted(table)} SET _retired = TRUE FROM retired WHERE _map = retired.map AND _row = retired.place"
    ).fetchall()
    con.unregister("retired")
