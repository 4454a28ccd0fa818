"""Declared merges: ids of one entity, counted once under the last id of their chain."""

import duckdb
import pyarrow as pa

from closedset.ledger import Merge, State
from closedset.load.force import Force
from closedset.render import render


def unite(con: duckdb.DuckDBPyConnection, state: State, force: Force) -> bool:
    """Rewrite `entity_name` (one row an id that a source mentions) to one row an entity; whether there is any merge.

    An id that a merge names as the entity stands for it though only its former ids are mentioned.
    """
    events = state.of(Merge)
    if not events:
        return False
    merges = state.merges
    table = pa.table({"entity_id": pa.array(merges, pa.string()), "into_id": pa.array(merges.values(), pa.string())})
    con.register("arrow_merge", table)
    con.execute("CREATE TEMP TABLE merging AS SELECT * FROM arrow_merge").fetchall()
    con.unregister("arrow_merge")
    named = [*dict.fromkeys(one for e in events for one in (e.fact.entity_id, e.fact.into))]
    con.register("arrow_named", pa.table({"entity_id": pa.array(named, pa.string())}))
    found = con.execute("SELECT entity_id FROM arrow_named SEMI JOIN entity_name USING (entity_id)").fetchall()
    con.unregister("arrow_named")
    mentioned = {one for (one,) in found}
    for event in events:
        gone = [one for one in (event.fact.entity_id, event.fact.into) if one not in mentioned]
        if gone:
            force.unfit(event, f"no source mentions {' or '.join(map(repr, gone))} any more", held=None)
        else:
            force.fit(event)
    con.execute(render("load/merge.sql.j2")).fetchall()
    return True


def former_ids(con: duckdb.DuckDBPyConnection) -> int:
    """Keep each merged id beside its entity's ordinal, where the store holds the entity; how many there are."""
    con.execute(
        "INSERT INTO merged SELECT merging.entity_id, entity.ordinal FROM merging "
        "JOIN entity ON entity.entity_id = merging.into_id ORDER BY merging.entity_id"
    ).fetchall()
    con.execute("DROP TABLE merging").fetchall()
    ((count,),) = con.execute("SELECT count(*) FROM merged").fetchall()
    return int(count)
