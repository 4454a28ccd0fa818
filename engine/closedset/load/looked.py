"""Operators' coverage: statements that somebody looked at some entities, beside those that the sources make."""

from collections.abc import Mapping, Sequence

import duckdb
import pyarrow as pa

from closedset.catalog import Statement
from closedset.errors import LedgerRefused
from closedset.fold import WHITE_SPACE
from closedset.ledger import Looked, State, digest_of_ids
from closedset.load import entity
from closedset.load.force import Force
from closedset.load.read.part import nearest
from closedset.pack import Pack
from closedset.render import render
from closedset.store import Generation


def meant(held: Generation, relation: str, ids: Mapping[str, str] | None) -> tuple[Looked, Sequence[str]]:
    """An operator's coverage and the ids it lists: those of `ids` (and where each was said), or all that the store
    knows. Refuses (LedgerRefused) an unknown relation and unknown ids: coverage says that somebody looked at an entity,
    and does not make one."""
    known = list(held.catalog.pack.relations)
    if relation not in known:
        raise LedgerRefused(f"no relation {relation!r}{nearest(relation, known)} (there are: {', '.join(known)})")
    every = ids is None
    if ids is None:
        rows = held.cursor().execute("SELECT entity_id FROM entity UNION ALL SELECT entity_id FROM merged").fetchall()
        listed = sorted(one for (one,) in rows)
    else:
        said = {one.strip(WHITE_SPACE): place for one, place in ids.items()}
        if blank := said.get(""):
            raise LedgerRefused(f"{blank}: an empty id names nobody")
        entity.refuse_unknown(held, said)
        listed = sorted(said)
    if not listed:
        raise LedgerRefused("no ids: nobody was looked at")
    return Looked(relation, len(listed), digest_of_ids(listed), every), listed


def declare(
    con: duckdb.DuckDBPyConnection, pack: Pack, state: State, first: int, merged: bool, force: Force
) -> list[Statement]:
    """List the entities of each statement in force, the first numbered `first`; ids that no source mentions any more
    are left out, and so is a statement of nobody else. `merged`: some ids are merged into others."""
    statements: list[Statement] = []
    for event in state.of(Looked):
        said = event.fact
        if said.relation not in pack.relations:
            force.unfit(event, f"the pack has no relation {said.relation} any more")
            continue
        con.register("listed", pa.table({"entity_id": state.listed[event.id]}))
        number = first + len(statements)
        sql = render(
            "load/coverage.sql.j2",
            cells="listed", column="entity_id", markers=[], statement=number, merged=merged, placed=None,
        )  # fmt: skip
        ((entities,),) = con.execute(sql, {"white_space": WHITE_SPACE}).fetchall()
        ((gone,),) = con.execute(render("load/unknown_id.sql.j2", merged=merged)).fetchall()
        con.unregister("listed")
        if gone:
            force.unfit(event, f"no source mentions {gone} of its {said.entities} entities any more", held=entities)
        else:
            force.fit(event, entities)
        if not entities:
            continue
        statements.append(
            Statement(
                relation=said.relation, source=event.by, said=event.reason, entities=entities,
                declared_by="operator", at=event.at, event=event.id,
            )
        )  # fmt: skip
    return statements
