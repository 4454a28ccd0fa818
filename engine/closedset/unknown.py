"""Why a row can be unknown to a constraint: the reason's code, what it is about, and the rows as SQL.

For one constraint the reasons exclude each other: an unknown row has exactly one of them.
"""

from dataclasses import dataclass
from typing import Literal

from closedset.expansion import Expansion, TermTest
from closedset.render import quoted

#: What a cell that leaves a constraint unknown says: nothing, what cannot be read, or a span of days too wide to tell.
#: And what makes a whole row unknown: it cannot be placed at the month, or a correction retired it.
Said = Literal["nothing", "unreadable", "straddles", "undated", "retired"]


@dataclass(frozen=True)
class Unknown:
    """A reason why rows are unknown to constraint `index` (None: to the time test, or because of a correction).

    What picks the rows out is, of those that are unknown to a term, `condition`; of others what a cell or row `said`.
    `codes` are the term index's entries that hold these rows, of a term just these (None: no index says it).
    """

    code: str
    subject: str
    index: int | None
    condition: str | None = None
    codes: tuple[int, ...] | None = None
    said: Said | None = None


#: Entries of a term index that are no term: empty cells, surfaces on no term, text that cannot be read, spans of days.
EMPTY, UNPLACED, UNREADABLE, SPAN = 0, -1, -2, -3


def corrected(relation: str) -> Unknown:
    """A row that a correction retired and its source still states."""
    return Unknown("corrected_rows_unanswerable", relation, None, said="retired")


def undated(relation: str) -> Unknown:
    """A row that cannot be placed before or after the month asked."""
    return Unknown("undated_rows_unanswerable", relation, None, said="undated")


def unknown(expansion: Expansion) -> list[Unknown]:
    """Every reason for which a row can be unknown to one constraint."""
    bound, test, index = expansion.bound, expansion.test, expansion.bound.index
    slot, relation = bound.name, bound.relation
    column, bad = quoted(slot), quoted(f"{slot}__unreadable")
    unrecorded = ("slot_unrecorded_rows_unanswerable", relation)
    unreadable = ("slot_unreadable_rows_unanswerable", relation, index)
    match bound.slot.type:
        case "term":
            assert isinstance(test, TermTest)
            unread = Unknown(*unreadable, bad, (UNREADABLE,))
            empty = Unknown(*unrecorded, index, f"{column} IS NULL AND NOT {bad}", codes=(EMPTY,))
            if test.unknown:
                return [unread, empty, Unknown("vocabulary_unknown_surface", slot, index, f"{column} IS NOT NULL")]
            return [
                unread,
                empty,
                Unknown("vocabulary_unplaced", slot, index, f"{column} < 0", codes=(UNPLACED,)),
                Unknown("vocabulary_coarse", slot, index, f"{column} > 0", codes=test.coarse),
            ]
        case "text" | "number":
            unread = Unknown(*unreadable, codes=(UNREADABLE,), said="unreadable")
            return [unread, Unknown(*unrecorded, index, codes=(EMPTY,), said="nothing")]
        case "date":
            code = ("open_period_rows_unanswerable", relation) if bound.period else unrecorded
            return [
                Unknown(*unreadable, codes=(UNREADABLE,), said="unreadable"),
                Unknown(*code, index, codes=(EMPTY,), said="nothing"),
                Unknown("undated_rows_unanswerable", relation, index, codes=(SPAN,), said="straddles"),
            ]
