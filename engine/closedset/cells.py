"""Reading one cell for one slot: the only place that says what a text of the export means.

A load reads each distinct text of a column once, with this; a delivered receipt reads its cell again, with this.
"""

import re
from dataclasses import dataclass
from decimal import Decimal

from closedset import dates, decimals
from closedset.dates import Span
from closedset.fold import WHITE_SPACE, fold
from closedset.mapping import Cell
from closedset.pack import Slot
from closedset.vocabulary import Vocabulary


@dataclass(frozen=True)
class Reading:
    """What a cell says. Exactly one of: nothing recorded (all empty), `unreadable`, or a value.

    `text` is what was read (the cell as written, a constant, or what an absent value means); `term` is a
    term or, with `unplaced`, the folded surface that is on no term.
    """

    text: str | None = None
    unreadable: bool = False
    term: str | None = None
    unplaced: str | None = None
    folded: str | None = None
    number: Decimal | None = None
    span: Span | None = None


NOTHING = Reading()


def read(raw: str | None, cell: Cell, slot: Slot, vocabulary: Vocabulary | None, null: tuple[str, ...] = ()) -> Reading:
    """Read a cell as written (None or blank: empty). `null` holds the markers of the whole map."""
    given = cell.constant
    if given is None:
        trimmed = (raw or "").strip(WHITE_SPACE)
        if not trimmed or trimmed in cell.null or trimmed in null:
            given = cell.absent
        else:
            if cell.pattern is not None and not re.fullmatch(cell.pattern, trimmed):
                return NOTHING if cell.mismatch == "unrecorded" else Reading(text=raw, unreadable=True)
            return _typed(raw or "", trimmed, cell, slot, vocabulary)
    given = given.strip(WHITE_SPACE) if given else given
    return _typed(given, given, cell, slot, vocabulary) if given else NOTHING


def _typed(text: str, trimmed: str, cell: Cell, slot: Slot, vocabulary: Vocabulary | None) -> Reading:
    match slot.type:
        case "term":
            term = vocabulary.place(trimmed) if vocabulary else None
            return Reading(text=text, term=term, unplaced=None if term else fold(trimmed))
        case "text":
            return Reading(text=text, folded=fold(trimmed))
        case "number":
            number = decimals.read(trimmed, cell.decimal, cell.grouping)
            return Reading(text=text, number=number, unreadable=number is None)
        case "date":
            span = dates.read(trimmed, cell.dates, cell.base_year, cell.excel_serial)
            return Reading(text=text, span=span, unreadable=span is None)
