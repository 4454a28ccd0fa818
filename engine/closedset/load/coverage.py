"""Coverage: who was looked at for a relation, by the statements of the maps and by the rows themselves."""

import duckdb

from closedset.catalog import SourceTable, Statement, StoredRelation, kept_as
from closedset.entity_set import EntitySet, union, width
from closedset.ids import Bound
from closedset.load.lost import MapEntry
from closedset.mapping import Map
from closedset.render import render


def declare(
    con: duckdb.DuckDBPyConnection,
    maps: dict[str, Map],
    by_name: dict[tuple[str, str], SourceTable],
    entries: list[MapEntry],
    row_tables: dict[str, str],
    merged: bool,
) -> list[Statement]:
    """List the entities of each statement that the maps make; `row_tables` are the relations' rows by name."""
    # Rows that were placed by a column hold the entities that the column lists: ids need no second look.
    placed = {
        (e.table.cells, kept_as(e.rows.entity)): {"table": row_tables[e.rows.relation], "entry": e.number}
        for e in entries
    }
    statements: list[Statement] = []
    for source, mapping in maps.items():
        for relation, said in mapping.statements():
            cells, column = by_name[source, said.table].cells, kept_as(said.column)
            entry, bound = placed.get((cells, column)), Bound()
            sql = render(
                "load/coverage.sql.j2",
                cells=cells, column=column, markers=bound.markers(mapping.null), statement=len(statements),
                merged=merged, placed=entry,
            )  # fmt: skip
            ((entities,),) = con.execute(sql, None if entry else bound.values).fetchall()
            word = "every" if said.every else "listed"
            statements.append(
                Statement(relation=relation, source=source, said=f"{word}: {said.target}", entities=entities)
            )
    return statements


def keep(
    con: duckdb.DuckDBPyConnection,
    stored: dict[str, StoredRelation],
    statements: list[Statement],
    universe: int,
    merged: bool,
) -> None:
    """Keep each relation's entity sets as bitmaps, and count who was looked at."""
    for name, relation in stored.items():
        mine = [i for i, statement in enumerate(statements) if statement.relation == name]
        sql = render(
            "load/bitmap.sql.j2", table=relation.table, statements=mine, last=width(universe) - 1,
            merged=merged,
        )  # fmt: skip
        con.execute(sql, {"relation": name}).fetchall()
    for name, *blobs in con.execute("SELECT relation, held, looked_at, withheld FROM bitmap").fetchall():
        stored[name].covered = len(union((EntitySet.of_bytes(blob, universe) for blob in blobs), universe))
