"""Why a delivered match is in the set: one line a condition, with the value stated and where it came from."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from closedset.reply_full import FullReply, MatchBlock, RowBlock


@dataclass(frozen=True)
class Why:
    """`value` as the source states it (None: nothing), from column `column` of row `row` of `file`.

    `file` is None for a table defined by a SELECT, `column` for a constant of the map; `stale`: the source no
    longer reads so; `whose` is the id the source writes, where it is merged into the match's.
    """

    condition: str
    value: str | None
    table: str
    file: str | None
    row: int | None
    column: str | None
    required: bool
    stale: bool
    whose: str | None = None

    @property
    def source(self) -> str:
        place = self.file or f"table {self.table}"
        row = f" row {self.row}" if self.row is not None else ""
        column = f" column {self.column}" if self.column else ""
        whose = f" (of {self.whose})" if self.whose is not None else ""
        return f"{place}{row}{column}{whose}"


def conditions(reply: "FullReply") -> list[str]:
    """The conditions that ran, in request order, as a reply says them."""
    from closedset.reply_compact import condition

    return [condition(c.constraint) for c in reply.counts.per_constraint if c.status == "bound"]


def why(reply: "FullReply", match: "MatchBlock") -> list[Why | None]:
    """One entry for each of `conditions`; None where no delivered row satisfies it (a preference not met)."""
    from closedset.reply_compact import condition

    groups = {i: g for g in reply.groups for i in g.constraints}
    lines: list[Why | None] = []
    for count in reply.counts.per_constraint:
        group = groups.get(count.index)
        if group is None:
            continue
        row = next((r for r in match.rows if group.index in r.satisfies_groups), None)
        lines.append(_line(row, count.constraint, condition(count.constraint), group.required) if row else None)
    return lines


def _line(row: "RowBlock", constraint: Mapping[str, object], said: str, required: bool) -> Why:
    from closedset.reply_compact import stated

    value, receipt = stated(row, str(constraint["slot"]))
    # An empty slot has no receipt of its own; the row's other receipts name its place.
    beside = receipt or next(iter(row.slot_receipts.values()), None)
    return Why(
        condition=said,
        value=value,
        table=beside.db_table if beside else row.relation,
        file=beside.file if beside else None,
        row=beside.row if beside else None,
        column=receipt.db_column if receipt else None,
        required=required,
        stale=receipt is not None and not receipt.byte_verified,
        whose=row.source_entity_id,
    )
