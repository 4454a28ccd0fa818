"""The ids that a store knows: those its sources mention, and those that merges name."""

from collections.abc import Mapping

import pyarrow as pa

from closedset.errors import LedgerRefused
from closedset.ledger import State
from closedset.render import render
from closedset.store import Generation

_SHOWN = 3


def refuse_unknown(held: Generation, state: State, ids: Mapping[str, str]) -> None:
    """Refuse (LedgerRefused) ids that the store does not know, each with where it was said and the id nearest to it."""
    cursor = held.cursor()
    merges = state.merges
    wanted = [one for one in ids if one not in merges and one not in merges.values()]
    cursor.register("wanted", pa.table({"entity_id": pa.array(wanted, pa.string())}))
    known = {
        one for (one,) in cursor.execute("SELECT entity_id FROM wanted SEMI JOIN entity USING (entity_id)").fetchall()
    }
    unknown = [one for one in wanted if one not in known]
    if not unknown:
        return
    said = []
    for one in unknown[:_SHOWN]:
        found = cursor.execute(render("load/nearest_id.sql.j2"), {"id": one}).fetchall()
        said.append(f"{ids[one]}: no source mentions {one!r}" + (f" (did you mean {found[0][0]!r}?)" if found else ""))
    more = f" and {len(unknown) - _SHOWN} more" if len(unknown) > _SHOWN else ""
    raise LedgerRefused(f"{'; '.join(said)}{more}; write an id as the export has it")
