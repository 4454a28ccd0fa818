"""Operators' coverage: statements that somebody looked at some entities, beside those that the sources make."""

import duckdb
import pyarrow as pa

from closedset.catalog import Statement
from closedset.fold import WHITE_SPACE
from closedset.ledger import Looked, State
from closedset.load.force import Force
from closedset.pack import Pack
from closedset.render import render


def declare(
    con: duckdb.DuckDBPyConnection, pack: Pack, state: State, first: int, merged: bool, force: Force
) -> list[Statement]:
    """List the entities of each statement in force, the first numbered `first`; ids that no source mentions any more
    are left out. `merged`: some ids are merged into others."""
    statements: list[Statement] = []
    for event in state.of(Looked):
        said = event.fact
        if said.relation not in pack.relations:
            force.unfit(event, f"the pack has no relation {said.relation} any more")
            continue
        con.register("listed", pa.table({"entity_id": state.listed[event.id]}))
        number = first + len(statements)
        sql = render("load/coverage.sql.j2", cells="listed", column="entity_id", statement=number, merged=merged)
        ((entities,),) = con.execute(sql, {"white_space": WHITE_SPACE}).fetchall()
        ((gone,),) = con.execute(render("load/unknown_id.sql.j2", merged=merged)).fetchall()
        con.unregister("listed")
        statements.append(
            Statement(
                relation=said.relation, source=event.by, said=event.reason, entities=entities,
                declared_by="operator", at=event.at, event=event.id,
            )
        )  # fmt: skip
        if gone:
            force.unfit(event, f"no source mentions {gone} of its {said.entities} entities any more", held=entities)
        else:
            force.fit(event, entities)
    return statements
