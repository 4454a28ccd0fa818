"""Rows counted by what every test says of them: one pass over many rows finds who holds a true row, who an unknown
one, and for which reasons it is unknown.

A row's state is one number with a digit a test: 0 where the test is true, then one value a reason for which it is
unknown. A row to which a test that all groups ask is false has no state.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from math import prod
from operator import mul

from closedset.catalog import TermRows
from closedset.entity_set import EntitySet, union, width
from closedset.execute import Run
from closedset.judged_rows import Rows, judged_rows
from closedset.plan import Group, Scan, candidates, sentence
from closedset.unknown import Unknown, corrected, undated, unknown

#: So many bytes of bitmaps each thread of a pass may fill; where rows can be in more states, reasons are asked apart.
_MOST = 256 << 20


@dataclass(frozen=True)
class _Digit:
    """What one test can say, as SQL conditions: true, unknown for each of its `reasons`, and false where a false row
    still counts for some group. `test` is None for what every group asks beside its constraints; `time` is the month's.
    """

    test: int | None
    true: str
    reasons: tuple[Unknown, ...]
    false: str | None = None
    time: bool = False

    @property
    def cases(self) -> tuple[str, ...]:
        return (self.true, *(r.condition for r in self.reasons), *((self.false,) if self.false else ()))

    def is_false(self, value: int) -> bool:
        return value > len(self.reasons)

    def reason(self, value: int) -> list[Unknown]:
        return list(self.reasons[value - 1 : value]) if value else []


@dataclass(frozen=True)
class _State:
    """The rows of one state: the value of each digit by its place, and what they hold."""

    values: tuple[int, ...]
    held: int
    undated: int
    entities: EntitySet


def few(run: Run, scan: Scan, groups: Sequence[Group]) -> bool:
    """Whether the rows of some groups can be in no more states than one pass may tell apart."""
    return prod(len(digit.cases) for digit in _digits(run, scan, groups)) * width(run.universe) // 8 <= _MOST


def read(run: Run, scan: Scan, groups: Sequence[Group]) -> dict[int, Rows]:
    """Read a relation's rows once for some of its groups; by group index."""
    digits = _digits(run, scan, groups)
    radices = [len(digit.cases) for digit in digits]
    weights = list(accumulate(radices[:-1], mul, initial=1))
    rows, values = judged_rows(run, scan, groups)
    table = run.statement(
        "search/states.sql.j2", values, sentence=sentence(scan),
        rows=rows, digits=[{"cases": d.cases, "weight": w} for d, w in zip(digits, weights, strict=True)],
        time=scan.time, dated=scan.dated, last=width(run.universe) - 1,
    )  # fmt: skip
    states = [
        _State(
            tuple(row["state"] // weight % radix for weight, radix in zip(weights, radices, strict=True)),
            row["held"], row["undated"], EntitySet.of_bytes(row["entities"], run.universe),
        )
        for row in table.to_pylist()
    ]  # fmt: skip
    return {group.index: _rows(run, group, digits, states) for group in groups}


def _digits(run: Run, scan: Scan, groups: Sequence[Group]) -> list[_Digit]:
    every = candidates(groups)
    asked = {i for group in groups for i in group.tests}
    digits: list[_Digit] = []
    for expansion in scan.expansions:
        index = expansion.bound.index
        if index in asked:
            slot = run.catalog.relations[scan.relation].slots.get(expansion.bound.name)
            reasons = tuple(r for r in unknown(expansion) if _occurs(r, slot.terms if slot else None))
            digits.append(_Digit(index, f"_c{index}", reasons, None if index in every else f"NOT _c{index}"))
    if scan.retired:
        digits.append(_Digit(None, "NOT _retired", (corrected(scan.relation),)))
    if scan.time:
        late = replace(undated(scan.relation), condition=scan.time.possible)
        digits.append(_Digit(None, scan.time.certain, (late,), "TRUE", time=True))
    return digits


def _occurs(reason: Unknown, terms: dict[int, TermRows] | None) -> bool:
    """Whether some row may be unknown for a reason: a term index tells which codes no row holds."""
    return reason.codes is None or any(terms is None or code in terms for code in reason.codes)


def _rows(run: Run, group: Group, digits: Sequence[_Digit], states: Sequence[_State]) -> Rows:
    """What the states say of one group."""
    true: list[EntitySet] = []
    unknown_: list[EntitySet] = []
    mine = [place for place, digit in enumerate(digits) if digit.test is None or digit.test in group.tests]
    by_reason: dict[Unknown, list[EntitySet]] = {r: [] for place in mine for r in digits[place].reasons}
    active = inactive = without_period = unanswerable = 0
    for state in states:
        asked = [(digits[place], state.values[place]) for place in mine if not digits[place].time]
        in_time = [(digits[place], state.values[place]) for place in mine if digits[place].time]
        if any(digit.is_false(value) for digit, value in asked):
            continue
        holds = not any(value for _, value in asked)
        outside = any(digit.is_false(value) for digit, value in in_time)
        reasons = [r for digit, value in (*asked, *in_time) for r in digit.reason(value)]
        if holds:
            without_period += state.undated
            inactive += state.held if outside else 0
            active += 0 if outside or reasons else state.held
            unanswerable += state.held if reasons else 0
        if not outside:
            (unknown_ if reasons else true).append(state.entities)
            for reason in reasons:
                by_reason[reason].append(state.entities)
    return Rows(
        true=union(true, run.universe),
        unknown=union(unknown_, run.universe),
        rows=active,
        inactive=inactive,
        undated=without_period,
        unanswerable=unanswerable,
        reasons=tuple((reason, union(sets, run.universe)) for reason, sets in by_reason.items()),
    )
