"""The ids that a store knows: those its sources mention."""

from collections.abc import Mapping

import pyarrow as pa

from closedset.errors import LedgerRefused
from closedset.render import render
from closedset.store import Generation

_SHOWN = 3


def refuse_unknown(held: Generation, ids: Mapping[str, str]) -> None:
    """Refuse (LedgerRefused) ids that the store does not know, each with where it was said and the id nearest to it."""
    cursor = held.cursor()
    cursor.register("wanted", pa.table({"entity_id": pa.array(ids, pa.string())}))
    known = "SELECT entity_id FROM entity UNION ALL SELECT entity_id FROM merged"
    found = cursor.execute(f"SELECT entity_id FROM wanted SEMI JOIN ({known}) USING (entity_id)").fetchall()
    held_here = {one for (one,) in found}
    unknown = [one for one in ids if one not in held_here]
    if not unknown:
        return
    said = []
    for one in unknown[:_SHOWN]:
        found = cursor.execute(render("load/nearest_id.sql.j2"), {"id": one}).fetchall()
        said.append(f"{ids[one]}: no source mentions {one!r}" + (f" (did you mean {found[0][0]!r}?)" if found else ""))
    more = f" and {len(unknown) - _SHOWN} more" if len(unknown) > _SHOWN else ""
    raise LedgerRefused(f"{'; '.join(said)}{more}; write an id as the export has it")
