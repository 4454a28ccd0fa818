"""When a row counts at a month: the rule as the reply prints it, and the slot that places undated rows.

A dated row's period is half-open; days are cut to months, and a span that straddles the month is unknown.
"""

from dataclasses import dataclass
from datetime import date

from closedset.dates import month_end
from closedset.pack import Relation


@dataclass(frozen=True)
class TimeTest:
    """`last_day` is the month's last day; `date_slot` the one slot that places undated rows, if there is one. `certain`
    and `possible` are the rows that surely count at the month, and those that may, as SQL over stored rows."""

    month: str
    last_day: date
    dated: bool
    date_slot: str | None
    rule: str

    @property
    def certain(self) -> str:
        return "$last_day BETWEEN _certain_from AND _certain_to" if self._placed else "FALSE"

    @property
    def possible(self) -> str:
        return "$last_day BETWEEN _possible_from AND _possible_to" if self._placed else "TRUE"

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns these conditions read."""
        return ("_certain_from", "_certain_to", "_possible_from", "_possible_to") if self._placed else ()

    @property
    def _placed(self) -> bool:
        return self.dated or self.date_slot is not None


def time_test(relation: Relation, month: str | None) -> TimeTest | None:
    """The test of one relation at a month `YYYY-MM`; None without a month (every row counts)."""
    if month is None:
        return None
    last_day = month_end(month)
    assert last_day is not None
    slots = relation.date_slots
    if len(slots) == 1:
        (slot,) = slots
        undated = (
            f"undated rows: current, and the whole of {slot} ≤ {month} "
            f"(a {slot} whose span straddles {month}, such as a bare year, is unanswerable)"
        )
    else:
        why = "the relation declares no date slot"
        if slots:
            why = f"the relation declares {len(slots)} date slots ({', '.join(slots)})"
        undated = f"undated rows cannot be placed at {month}: {why} — unanswerable"
    return TimeTest(
        month=month,
        last_day=last_day,
        dated=relation.dated,
        date_slot=relation.date_slot,
        rule=f"dated rows: period_from ≤ {month} and (period_to open or period_to > {month}); {undated}",
    )
