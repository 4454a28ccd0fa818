"""Corrections: the rows of a relation that an operator retired and whose source still states them."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import duckdb
import pyarrow as pa

from closedset import ids
from closedset.catalog import kept_as
from closedset.errors import LedgerRefused
from closedset.ids import Bound
from closedset.ledger import Correction, Event, Fact, State, digest
from closedset.load.force import Force
from closedset.load.lost import MapEntry
from closedset.load.read.part import nearest
from closedset.mapping import Map
from closedset.render import quoted, render
from closedset.row_id import SHAPE, Entry, entries, parse
from closedset.store import Generation

_SHOWN = 3


@dataclass(frozen=True)
class _Row:
    """A row that the store holds: the entry that makes it, whose it is, and its source row's cells by column."""

    entry: Entry
    entity_id: str
    cells: Mapping[str, str | None]


def meant(held: Generation, state: State, row: str, entity_id: str | None) -> Correction | Event[Fact]:
    """The correction of the row that a reply calls `row`, or the event in force that retires it already.

    Refuses (LedgerRefused) what is no such row, and one that is not of `entity_id`, where that is given.
    """
    found = _found(held, row, entity_id)
    known = next(iter(_about(held, found, state.events)), None)
    if known is not None:
        return known
    rows, columns = found.entry.rows, tuple(sorted(found.cells))
    return Correction(
        source=found.entry.source, relation=rows.relation, table=rows.table, entity_id=found.entity_id,
        columns=columns, digest=digest(columns, found.cells), reads=found.entry.reads(),
    )  # fmt: skip


def about(held: Generation, row: str, events: Sequence[Event[Fact]]) -> list[Event[Fact]]:
    """The corrections among some events that are about the row that a reply calls `row`. Refuses as `meant` does."""
    return _about(held, _found(held, row, None), events)


def _about(held: Generation, row: _Row, events: Sequence[Event[Fact]]) -> list[Event[Fact]]:
    listed = entries(held.catalog.maps)
    return [
        e
        for e in events
        if isinstance(e.fact, Correction)
        and e.fact.entity_id == row.entity_id
        and row.entry.number in _made_by(e.fact, listed)
        and digest(e.fact.columns, row.cells) == e.fact.digest
    ]


def _made_by(said: Correction, listed: Sequence[Entry]) -> set[int]:
    """The map entries whose rows a correction is about: those that read what the row's did; else those that read more;
    else all of that table and relation, since which of them took its place cannot be known."""
    home = f"{said.relation}/{said.source}/{said.table}"
    reads = {e.number: e.reads() for e in listed if e.home == home}
    same = {number for number, one in reads.items() if one == said.reads}
    more = {number for number, one in reads.items() if set(one) >= set(said.reads)}
    return same or more or set(reads)


def _found(held: Generation, row: str, entity_id: str | None) -> _Row:
    catalog = held.catalog
    asked = parse(row)
    if asked is None:
        raise LedgerRefused(f"{row!r} is no row: write {SHAPE} (--format json)")
    listed = entries(catalog.maps)
    mine = {e.nth: e for e in listed if e.home == asked.home}
    if not mine:
        known = list(dict.fromkeys(e.home for e in listed))
        raise LedgerRefused(
            f"{row!r}: no rows of {asked.home}{nearest(asked.home, known)} (there are: {', '.join(known)})"
        )
    table, cursor = catalog.table(asked.source, asked.table), held.cursor()
    sql = f"SELECT DISTINCT _map FROM {quoted(catalog.relations[asked.relation].table or '')} WHERE _row = ?"
    made = {number for (number,) in cursor.execute(sql, [asked.place]).fetchall()}
    beside = [e for e in mine.values() if e.number in made]
    entry = next((e for e in beside if e.nth == asked.nth), None)
    if entry is None:
        others = ", ".join(e.row_id(asked.place) for e in beside)
        there = f"of that source row there are: {others}" if others else f"table {table.table} has {table.rows} rows"
        raise LedgerRefused(f"{row!r}: {asked.relation} holds no such row; {there}")
    found = cursor.execute(render("search/cells.sql.j2", cells=table.cells), {"places": [asked.place]})
    kept = found.fetchall()
    table.refuse_lost([asked.place], [row[0] for row in kept])
    cells = dict(zip([d[0] for d in found.description or ()], kept[0], strict=True))

    def owner(of: Entry) -> str:
        return ids.read(cells[kept_as(of.rows.entity)], ())

    if entity_id is not None and owner(entry) != ids.read(entity_id, ()):
        said = ", ".join(f"{e.row_id(asked.place)} is a row of {owner(e)!r}" for e in beside)
        raise LedgerRefused(f"{row!r} is no row of {entity_id!r}: {said}")
    return _Row(entry, owner(entry), {column: cells[kept_as(column)] for column in table.columns})


def retire(
    con: duckdb.DuckDBPyConnection,
    maps: Mapping[str, Map],
    tables: Mapping[str, str],
    loaded: Sequence[MapEntry],
    state: State,
    force: Force,
) -> Counter[str]:
    """Mark the retired rows of each relation in a column of their own, and count them by relation; a relation
    without any has no such column. Takes the relations' tables by name."""
    held: dict[int, list[str]] = defaultdict(list)
    retired: Counter[str] = Counter()
    events = state.of(Correction)
    listed = [entry.said for entry in loaded]
    made_by = {event.id: _made_by(event.fact, listed) for event in events}
    for relation, table in tables.items():
        places = [
            (entry, place, about)
            for entry in loaded
            if entry.rows.relation == relation
            for place, about in _places(
                con, entry, maps[entry.source].null, [e for e in events if entry.number in made_by[e.id]]
            ).items()
        ]
        for entry, place, about in places:
            for event_id in about:
                held[event_id].append(entry.said.row_id(place))
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
    con: duckdb.DuckDBPyConnection, entry: MapEntry, null: Sequence[str], events: Sequence[Event[Correction]]
) -> dict[int, list[int]]:
    """The places of an entry's rows that some corrections are about, each with the corrections' ids."""
    if not events:
        return {}
    wanted: dict[str, dict[tuple[str, ...], dict[str, list[int]]]] = {}
    for event in events:
        by_columns = wanted.setdefault(event.fact.entity_id, {})
        by_columns.setdefault(event.fact.columns, {}).setdefault(event.fact.digest, []).append(event.id)
    named = {column for event in events for column in event.fact.columns}
    columns = [column for column in entry.table.columns if column in named]
    con.register("corrected", pa.table({"entity_id": pa.array(wanted, pa.string())}))
    bound = Bound()
    sql = render(
        "load/corrected.sql.j2",
        cells=entry.table.cells, entity=kept_as(entry.rows.entity), markers=bound.markers(null),
        columns=[kept_as(c) for c in columns],
    )  # fmt: skip
    rows = con.execute(sql, bound.values).fetchall()
    con.unregister("corrected")
    found: dict[int, list[int]] = {}
    for place, entity_id, *texts in rows:
        cells = dict(zip(columns, texts, strict=True))
        about = [e for given, known in wanted[entity_id].items() for e in known.get(digest(given, cells), ())]
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
