"""One cell of an export by the id of its row and its slot, with the row it stands in: a receipt at full length."""

from dataclasses import dataclass
from typing import Any

from closedset import row_id
from closedset.cells import Reading
from closedset.errors import RequestRefused
from closedset.execute import Run
from closedset.matches import stored_row
from closedset.pack import Slot
from closedset.receipt import SlotReceipt, Sources
from closedset.store import Generation


@dataclass(frozen=True)
class SourceRow:
    """The receipt of one slot of one row, and the source row as kept: every column with its cell, None where empty.

    `means` is what the cell was read as: (`term`, `on no term`, `text`, `number`, `date`, `unreadable`, `nothing`)
    with the value where there is one.
    """

    row_id: str
    entity_id: str
    name: str | None
    slot: str
    receipt: SlotReceipt
    means: tuple[str, str | None]
    around: tuple[tuple[str, str | None], ...]


def of(generation: Generation, row: str, slot: str) -> SourceRow:
    """Re-read one cell of a row, by its row id. Refuses (RequestRefused) a row or a slot that the store does not hold,
    naming what it has."""
    run = Run(generation)
    asked = row_id.parse(row)
    if asked is None:
        raise RequestRefused("row_unknown", f"{row!r} is no row: write {row_id.SHAPE}")
    relation, pack = asked.relation, run.catalog.pack
    _known("relation_unknown", f"pack {pack.pack} declares no relation", relation, pack.relations)
    askable = pack.relations[relation].askable()
    _known("slot_unknown", f"{relation} has no slot", slot, askable)
    sources = Sources(run)
    _known("row_unknown", "no load fills", asked.home, dict.fromkeys(e.home for e in sources.entries))
    entries = {e.nth: e for e in sources.entries if e.home == asked.home}
    entry = entries.get(asked.nth)
    if entry is None:
        ids = ", ".join(e.row_id(asked.place) for e in entries.values())
        raise RequestRefused("row_unknown", f"{row}: the map makes no such row of a source row; it makes: {ids}")
    at = {"place": asked.place}
    stored = run.catalog.relations[relation].table
    found = run.statement("search/row.sql.j2", at, table=stored, entry=entry.number).to_pylist()
    if not found:
        rows = run.catalog.table(asked.source, asked.table).rows
        within = 0 <= asked.place < rows
        why = "it names no entity (see: closedset rejects)" if within else f"the table has rows 1 to {rows}"
        raise RequestRefused("row_unknown", f"{row}: no such row of {relation}: {why}")
    entity_id, name = found[0].pop("_entity_id"), found[0].pop("_name")
    (stated,) = sources.state([stored_row(relation, found[0])])
    receipt = stated.slots[slot]
    around, means = sources.around(receipt), _means(askable[slot], receipt.reading)
    return SourceRow(stated.row_id, entity_id, name, slot, receipt, means, around)


def _known(reason: str, fault: str, name: str, known: Any) -> None:
    if name not in known:
        raise RequestRefused(reason, f"{fault} {name!r}; there are: {', '.join(known) or 'none'}")


def _means(slot: Slot, reading: Reading) -> tuple[str, str | None]:
    if reading.unreadable:
        return f"unreadable as a {slot.type}", None
    if reading.text is None:
        return "nothing recorded", None
    if reading.unplaced is not None:
        return f"on no term of axis {slot.axis}", reading.unplaced
    if reading.term is not None:
        return f"term of axis {slot.axis}", reading.term
    if reading.number is not None:
        return f"number ({slot.unit})" if slot.unit else "number", f"{reading.number:f}"
    if reading.span is not None:
        start, end = reading.span.start.isoformat(), reading.span.end.isoformat()
        return "date", start if start == end else f"{start} to {end}"
    return "text", reading.folded
