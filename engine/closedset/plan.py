"""The plan: which constraints make which group, and what each scan of a relation judges.

A group is one row's conditions on one relation, required or preferred. A scan reads one relation for
all its groups and for each constraint alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from closedset.as_of import TimeTest, time_test
from closedset.catalog import Catalog
from closedset.expansion import DateTest, Expansion, NumberTest, TermTest, TextTest


@dataclass(frozen=True)
class Group:
    """`constraints` are indices into the request; `tests` all a row must pass (a preference on a relation with
    a required group must pass both), as indices too."""

    index: int
    relation: str
    required: bool
    constraints: tuple[int, ...]
    tests: tuple[int, ...]
    time: TimeTest | None


@dataclass(frozen=True)
class Scan:
    """One relation read once. `table` is None when no load ever wrote a row of it: nothing to read; `retired` says
    that a correction retired some row of it."""

    relation: str
    table: str | None
    dated: bool
    groups: tuple[Group, ...]
    expansions: tuple[Expansion, ...]
    time: TimeTest | None
    retired: bool


@dataclass(frozen=True)
class Plan:
    """What a request runs: its groups, one scan a relation, and what each bound constraint was taken to mean."""

    groups: tuple[Group, ...]
    scans: tuple[Scan, ...]
    expansions: dict[int, Expansion]

    @property
    def required(self) -> tuple[Group, ...]:
        return tuple(g for g in self.groups if g.required)

    @property
    def optional(self) -> tuple[Group, ...]:
        return tuple(g for g in self.groups if not g.required)

    @property
    def thresholds(self) -> tuple[Expansion, ...]:
        """The bound gte and lte constraints, in request order: one ranking key each."""
        return tuple(e for _, e in sorted(self.expansions.items()) if e.bound.threshold)

    def group_of(self, index: int) -> Group:
        """The group a constraint belongs to."""
        return next(g for g in self.groups if index in g.constraints)

    def scan_of(self, relation: str) -> Scan:
        return next(s for s in self.scans if s.relation == relation)


@dataclass
class Step:
    """One statement as it ran: what it does, what one of its rows is, its SQL, values and rows."""

    name: str
    sentence: str
    grain: str
    sql: str
    parameters: dict[str, Any] = field(default_factory=dict)
    sets: dict[str, int] = field(default_factory=dict)
    rows: int = 0


def plan(catalog: Catalog, expansions: Sequence[Expansion], as_of: str | None) -> Plan:
    """Group the expansions by (relation, required), in the order of their first constraint."""
    keyed: dict[tuple[str, bool], list[int]] = {}
    for expansion in expansions:
        constraint = expansion.bound.constraint
        keyed.setdefault((constraint.relation, constraint.required), []).append(expansion.bound.index)
    times = {relation: time_test(catalog.pack.relations[relation], as_of) for relation, _ in keyed}
    groups = tuple(
        Group(
            index=i,
            relation=relation,
            required=required,
            constraints=tuple(indices),
            tests=tuple(sorted({*indices, *keyed.get((relation, True), ())})),
            time=times[relation],
        )
        for i, ((relation, required), indices) in enumerate(keyed.items())
    )
    scans = tuple(
        Scan(
            relation=relation,
            table=catalog.relations[relation].table,
            dated=catalog.pack.relations[relation].dated,
            groups=tuple(g for g in groups if g.relation == relation),
            expansions=tuple(e for e in expansions if e.bound.relation == relation),
            time=time,
            retired=catalog.relations[relation].retired > 0,
        )
        for relation, time in times.items()
    )
    return Plan(groups, scans, {e.bound.index: e for e in expansions})


def candidates(groups: Sequence[Group]) -> tuple[int, ...]:
    """The tests that every one of some groups on one relation asks: a preference beside a required group asks all
    that the group asks, so these are the smallest group's."""
    return min((g.tests for g in groups), key=len)


#: What statements find of groups, as their sentences say it.
BOTH = "who holds a row that is true, and who one that cannot be judged"
TRUE = "who holds a row that is true"
UNKNOWN = "who holds a row that cannot be judged, and why"


def sentence(scan: Scan, groups: Sequence[Group], sought: str) -> str:
    """What a statement finds of some groups of a scan, in one sentence for `explain` and above its SQL."""
    said = []
    for group in groups:
        asked = " and ".join(f"{e.bound.name} {e.bound.asked}" for e in scan.expansions if e.bound.index in group.tests)
        word = "required" if group.required else "preferred"
        said.append(f"group {group.index} ({word}): {asked}{f' at {scan.time.month}' if scan.time else ''}")
    return f"read {scan.relation} and find {sought}; " + "; ".join(said)


def sql_tests(scan: Scan) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """A scan's tests as the templates take them, and the values they bind.

    Codes are the store's own integers and stand in the text; every asked value is bound.
    """
    tests: list[dict[str, Any]] = []
    values: dict[str, Any] = {}

    def bind(name: str, value: Any) -> str:
        values[name] = value
        return f"${name}"

    for expansion in scan.expansions:
        i, test = expansion.bound.index, expansion.test
        said: dict[str, Any] = {
            "index": i, "slot": expansion.bound.name, "period": expansion.bound.period, "negated": expansion.negated,
        }  # fmt: skip
        match test:
            case TermTest():
                said |= {
                    "kind": "term",
                    "true": runs(test.true),
                    "coarse": runs(test.coarse),
                    "unknown": bool(test.unknown),
                }
            case TextTest():
                names = [bind(f"c{i}_{n}", text) for n, text in enumerate(test.folded)]
                said |= {"kind": "text", "values": names}
            case NumberTest():
                names = [bind(f"c{i}_{n}", number) for n, number in enumerate(test.values)]
                said |= {"kind": "number", "op": test.op, "values": names, "always": test.always}
            case DateTest():
                pairs = [
                    (bind(f"c{i}_{n}_start", s.start), bind(f"c{i}_{n}_end", s.end)) for n, s in enumerate(test.spans)
                ]
                said |= {"kind": "date", "op": test.op, "spans": pairs}
        tests.append(said)
    if scan.time:
        values["last_day"] = scan.time.last_day
    return tests, values


def runs(codes: Sequence[int]) -> list[tuple[int, int]]:
    """Codes as runs of consecutive ones, first and last, ascending."""
    runs: list[tuple[int, int]] = []
    for code in sorted(set(codes)):
        if runs and code == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], code)
        else:
            runs.append((code, code))
    return runs
