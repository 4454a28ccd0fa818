"""`closedset rejects --cells`: every cell of the exports that its slot's type cannot read."""

from typing import TYPE_CHECKING

from closedset_cli import listing, words
from closedset_cli.format import Format
from closedset_cli.sheet import Cell, Sheet

if TYPE_CHECKING:
    from closedset.unreadable import UnreadableCells

_COLUMNS = ("relation", "source", "table", "file", "row", "entity_id", "row_id", "slot", "column", "text", "fault")
_CURE = "declare the date format, the decimal mark or the null markers in the map, or mend the cells; then load again"


def send(found: "UnreadableCells", output: Format) -> int:
    """Write the list, and give how many cells stand in it."""
    if output is Format.TABLE:
        return _table(found)
    return listing.send(found.cells, _COLUMNS, output, "cells", {"unreadable": found.total})


def _table(found: "UnreadableCells") -> int:
    shown = 0
    for batch in listing.batches(found.cells):
        sheet = Sheet()
        rows: list[list[Cell]] = [] if shown else [["slot", "source", "place", "column", "entity", "text", "fault"]]
        for one in batch:
            slot, column = f"{one.relation}.{one.slot}", one.column or "–"
            rows.append([slot, one.source, (one.place, "yellow"), column, one.entity_id, repr(one.text), one.fault])
        sheet.columns(rows, indent=0)
        sheet.send()
        shown += len(batch)
    end = Sheet()
    if shown:
        end.line()
        end.line(("cure", "bold"), f": {_CURE}")
        end.line()
    end.line(f"showing {words.of(shown, found.total)} unreadable cells of loaded rows")
    end.send()
    return shown
