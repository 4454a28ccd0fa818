"""Declared merges: ids of one entity, counted once under the last id of their chain."""

import duckdb
import pyarrow as pa

from closedset.errors import LedgerRefused
from closedset.fold import WHITE_SPACE
from closedset.ledger import Merge, State, chain
from closedset.load import entity
from closedset.load.force import Force
from closedset.render import render
from closedset.store import Generation


def meant(held: Generation, state: State, entity_id: str, into: str) -> Merge:
    """The merge of two ids that the store knows. Refuses (LedgerRefused) an unknown one with the id nearest to it, an
    id that is merged already, and a cycle, naming it."""
    one, other = entity_id.strip(WHITE_SPACE), into.strip(WHITE_SPACE)
    if one == other:
        raise LedgerRefused(f"{one!r} is itself; a merge names two ids")
    said = {e.fact.entity_id: e for e in state.of(Merge)}
    former = said.get(one)
    if former is not None and former.fact.into == other:
        return former.fact
    entity.refuse_unknown(held, {one: "the first id", other: "the second id"})
    if former is not None:
        raise LedgerRefused(
            f"{one!r} is {former.fact.into!r} already (merge {former.id}); undo that first, "
            f"or say that {former.fact.into!r} is {other!r}"
        )
    links = {i: e.fact.into for i, e in said.items()}
    way = chain(links, other)
    if one in way:
        cycle = " is ".join(map(repr, [one, *way[: way.index(one) + 1]]))
        numbers = ", ".join(f"merge {said[i].id}" for i in way[: way.index(one)])
        raise LedgerRefused(f"that would be a cycle: {cycle} ({numbers}); undo one of them, or leave this out")
    return Merge(one, other)


def unite(con: duckdb.DuckDBPyConnection, state: State, force: Force) -> bool:
    """Rewrite `entity_name` (one row an id that a source mentions) to one row an entity; whether there is any merge.

    A merge of an id that no source mentions is unfit, and as if it had not been said.
    """
    events = state.of(Merge)
    named = [*dict.fromkeys(one for e in events for one in (e.fact.entity_id, e.fact.into))]
    if not named:
        return False
    con.register("arrow_named", pa.table({"entity_id": pa.array(named, pa.string())}))
    found = con.execute("SELECT entity_id FROM arrow_named SEMI JOIN entity_name USING (entity_id)").fetchall()
    con.unregister("arrow_named")
    mentioned = {one for (one,) in found}
    into: dict[str, str] = {}
    for event in events:
        gone = [one for one in (event.fact.entity_id, event.fact.into) if one not in mentioned]
        if gone:
            force.unfit(event, f"no source mentions {' or '.join(map(repr, gone))} any more", held=None)
        else:
            force.fit(event)
            into[event.fact.entity_id] = event.fact.into
    if not into:
        return False
    ends = [chain(into, one)[-1] for one in into]
    con.register("arrow_merge", pa.table({"entity_id": pa.array(into, pa.string()), "into_id": ends}))
    con.execute("CREATE TEMP TABLE merging AS SELECT * FROM arrow_merge").fetchall()
    con.unregister("arrow_merge")
    con.execute(render("load/merge.sql.j2")).fetchall()
    return True


def former_ids(con: duckdb.DuckDBPyConnection) -> int:
    """Keep each merged id beside its entity's ordinal; how many there are."""
    con.execute(
        "INSERT INTO merged SELECT merging.entity_id, entity.ordinal FROM merging "
        "JOIN entity ON entity.entity_id = merging.into_id ORDER BY merging.entity_id"
    ).fetchall()
    con.execute("DROP TABLE merging").fetchall()
    ((count,),) = con.execute("SELECT count(*) FROM merged").fetchall()
    return int(count)
