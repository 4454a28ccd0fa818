"""The universe: every id that an export mentions, one entity each but for those that are merged."""

from typing import Any

import duckdb

from closedset.catalog import SourceTable, kept_as
from closedset.ids import Bound
from closedset.ledger import State
from closedset.load import merge
from closedset.load.force import Force
from closedset.mapping import Entities, Map, Rows
from closedset.render import render


def number(
    con: duckdb.DuckDBPyConnection,
    maps: dict[str, Map],
    by_name: dict[tuple[str, str], SourceTable],
    state: State,
    force: Force,
) -> tuple[int, str, int]:
    """Number the entities in the order of their ids; give how many, a hash over them, and how many further ids are
    merged into them."""
    bound = Bound()
    named: dict[tuple[Any, ...], list[str]] = {}
    for source, mapping in maps.items():
        naming: list[Entities | Rows] = [*mapping.entities, *mapping.rows]
        for one in naming:
            name = kept_as(one.name) if one.name else None
            named[by_name[source, one.table].cells, kept_as(one.entity), name] = bound.markers(mapping.null)
        for _, said in mapping.statements():
            named[by_name[source, said.table].cells, kept_as(said.column), None] = bound.markers(mapping.null)
    # One column of ids is read once for all that name it, with a name where any gives one.
    with_name = {(cells, entity) for cells, entity, name in named if name}
    origins = [
        {"cells": cells, "entity": entity, "name": name, "markers": markers}
        for (cells, entity, name), markers in named.items()
        if name or (cells, entity) not in with_name
    ]
    con.execute(render("load/entity_name.sql.j2", origins=origins), bound.values).fetchall()
    united = merge.unite(con, state, force)
    con.execute(render("load/entity.sql.j2")).fetchall()
    con.execute("DROP TABLE entity_name").fetchall()
    merged = merge.former_ids(con) if united else 0
    ((universe, version),) = con.execute(render("load/map_version.sql.j2")).fetchall()
    return universe, f"{version:032x}"[:12], merged
