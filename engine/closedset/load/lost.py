"""The rows of an export that nobody can use: unreadable ones of a known entity, and those that name none."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import duckdb

from closedset import ids
from closedset.catalog import Lost, RowsReport, SourceTable
from closedset.load.column import Mapped
from closedset.load.read.part import Unread
from closedset.mapping import Map, Rows
from closedset.pack import Pack
from closedset.render import quoted
from closedset.row_id import Entry

_LISTED = 50


@dataclass
class MapEntry:
    """One `rows` entry of a map with its table and, once read, its slots."""

    said: Entry
    table: SourceTable
    mapped: dict[str, Mapped] = field(default_factory=dict)

    @property
    def number(self) -> int:
        return self.said.number

    @property
    def source(self) -> str:
        return self.said.source

    @property
    def rows(self) -> Rows:
        return self.said.rows


def withhold(
    con: duckdb.DuckDBPyConnection,
    entry: MapEntry,
    null: Sequence[str],
    unread: dict[tuple[str, str], list[Unread]],
    by_name: dict[tuple[str, str], SourceTable],
) -> None:
    """File each unreadable row under its entity where that is sure, else among the unattributed.

    The entity is sure when its column is the file's first: a stray delimiter shifts only what comes after it. `null`
    are the texts by which the map records nothing. A row lost before a SELECT saw it could be about anybody.
    """
    relation, number = entry.rows.relation, entry.number
    for row in unread.get((entry.source, entry.rows.table), []):
        entity = ids.read(row.first_cell, null)
        if row.first_column == entry.rows.entity and entity:
            con.execute(
                "INSERT INTO withheld VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                [relation, number, entry.rows.table, entity, row.file, row.line, row.text, row.fault],
            ).fetchall()
        else:
            _lose(con, relation, number, (entry.source, entry.rows.table), row)
    for read_table in _read_by_select(entry.table):
        for row in unread.get((entry.source, read_table), []):
            _lose(con, relation, number, (entry.source, read_table), row)


def _lose(
    con: duckdb.DuckDBPyConnection, relation: str, entry: int | None, table: tuple[str, str], row: Unread
) -> None:
    con.execute(
        "INSERT INTO unattributed VALUES (?, ?, ?, ?, NULL, ?, ?, ?, ?)",
        [relation, entry, *table, row.file, row.line, row.text, row.fault],
    ).fetchall()


def lose_listed(
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
                        _lose(con, relation, None, (source, read_table), row)


def _reading(table: SourceTable) -> list[str]:
    """The file tables behind a table: itself, or those its SELECT reads."""
    return _read_by_select(table) if table.select else [table.table]


def of_lists(con: duckdb.DuckDBPyConnection) -> list[RowsReport]:
    """The figures of the tables that no rows are loaded from: of those, what is lost is all that is counted."""
    rows = con.execute(
        """SELECT relation, source, "table", count(*)::INT FROM unattributed WHERE entry IS NULL
           GROUP BY ALL ORDER BY ALL"""
    ).fetchall()
    return [
        RowsReport(relation=relation, source=source, table=table, read=n, loaded=0, withheld=0, unattributed=n)
        for relation, source, table, n in rows
    ]


def listed(
    con: duckdb.DuckDBPyConnection, entries: Sequence[MapEntry], by_name: dict[tuple[str, str], SourceTable]
) -> list[Lost]:
    """The first rows that are withheld or unattributed, for the report."""
    rows = con.execute(
        f"""SELECT relation, "table", file, line, NULL::BIGINT, entity_id, fault, entry FROM withheld
            UNION ALL SELECT relation, "table", file, line, "row", NULL, fault, entry FROM unattributed
            ORDER BY ALL LIMIT {_LISTED}"""
    ).fetchall()
    found = []
    for relation, table, file, line, row, entity_id, fault, entry in rows:
        where = {"file": file, "line": line, "row": None}
        if row is not None:
            file, row = _at(con, entries[entry], row, by_name)
            where = {"file": file, "line": None, "row": row}
        found.append(Lost(relation=relation, table=table, **where, entity_id=entity_id, fault=fault))
    return found


def _at(
    con: duckdb.DuckDBPyConnection, entry: MapEntry, place: int, by_name: dict[tuple[str, str], SourceTable]
) -> tuple[str | None, int]:
    """Where a row of an entry's table stands: where the cell does that should name its entity."""
    origin = entry.table.origins.get(entry.rows.entity)
    if origin is None:
        return entry.table.at(place)
    sql = f"SELECT {quoted(origin.ordinal)} FROM {quoted(entry.table.cells)} WHERE rowid = ?"
    ((within,),) = con.execute(sql, [place]).fetchall()
    return entry.table.at(place) if within is None else by_name[entry.source, origin.table].at(within)


def _read_by_select(table: SourceTable) -> list[str]:
    from closedset.load.tables import read_by

    return read_by(table.table, table.select) if table.select else []
