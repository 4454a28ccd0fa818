"""The partition: every entity in exactly one of matched, none, not recorded, undetermined.

Rows are three-valued up to here; the verdict is where the three values end. Taking one set from another is
the anti-join over entity ordinals.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from closedset.entity_set import EntitySet, intersection, union, width
from closedset.execute import Run
from closedset.plan import Group, Plan, Scan, candidates, sentence, sql_tests
from closedset.store import Looked


class Verdict(StrEnum):
    """The four sets; an entity is in exactly one."""

    MATCHED = "matched"
    NONE = "none"
    NOT_RECORDED = "not_recorded"
    UNDETERMINED = "undetermined"


@dataclass(frozen=True)
class Partition:
    """Four disjoint sets whose union is the universe."""

    matched: EntitySet
    none: EntitySet
    not_recorded: EntitySet
    undetermined: EntitySet

    def of(self, verdict: Verdict) -> EntitySet:
        found: EntitySet = getattr(self, verdict.value)
        return found


@dataclass(frozen=True)
class Judged:
    """A group, or a constraint alone, as it ran: its partition and its row counts."""

    partition: Partition
    rows: int
    inactive: int = 0
    undated: int = 0
    unanswerable: int = 0


@dataclass(frozen=True)
class Verdicts:
    """Everything the scans found, by group index, constraint index and relation."""

    groups: dict[int, Judged]
    constraints: dict[int, Judged]
    looked: dict[str, Looked]
    overall: Partition


def judge(run: Run, plan: Plan, vacuous: bool) -> Verdicts:
    """Scan each relation once and decide. `vacuous`: no required constraint that was asked could run, so
    nothing may be claimed of anybody."""
    groups: dict[int, Judged] = {}
    constraints: dict[int, Judged] = {}
    looked: dict[str, Looked] = {}
    for scan in plan.scans:
        looked[scan.relation] = run.looked(scan.relation)
        row = _scan(run, scan)
        for group in scan.groups:
            name = f"g{group.index}"
            groups[group.index] = Judged(
                _verdict(row, name, looked[scan.relation], run.universe),
                rows=row.get(f"{name}_active", 0),
                inactive=row.get(f"{name}_inactive", 0),
                undated=row.get(f"{name}_undated", 0),
                unanswerable=row.get(f"{name}_unanswerable", 0),
            )
        for expansion in scan.expansions:
            index = expansion.bound.index
            same = _same(scan, index)
            if same is not None:
                constraints[index] = groups[same.index]
                continue
            partition = _verdict(row, f"c{index}", looked[scan.relation], run.universe)
            constraints[index] = Judged(partition, rows=row.get(f"c{index}_rows", 0))
    required = [groups[g.index].partition for g in plan.required]
    return Verdicts(groups, constraints, looked, _overall(required, run.universe, vacuous))


def _scan(run: Run, scan: Scan) -> dict[str, Any]:
    if scan.table is None:
        return {}
    tests, values = sql_tests(scan)
    alone = [e.bound.index for e in scan.expansions if _same(scan, e.bound.index) is None]
    table = run.statement(
        "search/scan.sql.j2", values, sentence=sentence(scan),
        table=scan.table, tests=tests, groups=scan.groups, alone=alone, candidates=candidates(scan.groups),
        time=scan.time, retired=scan.retired, dated=scan.dated, last=width(run.universe) - 1,
    )  # fmt: skip
    row: dict[str, Any] = table.to_pylist()[0]
    return row


def _same(scan: Scan, index: int) -> Group | None:
    """The group that asks just this constraint, whatever the month: what it counts are the constraint's counts."""
    return next((g for g in scan.groups if g.tests == (index,) and scan.time is None), None)


def _verdict(row: dict[str, Any], name: str, looked: Looked, universe: int) -> Partition:
    """A true row: matched; else an unknown one (a withheld row is unknown): undetermined; else covered: none."""
    matched = EntitySet.of_bytes(row.get(f"{name}_true"), universe)
    undetermined = (EntitySet.of_bytes(row.get(f"{name}_open"), universe) | looked.withheld) - matched
    none = looked.covered - matched - undetermined
    return Partition(matched, none, EntitySet.whole(universe) - looked.covered, undetermined)


def _overall(required: list[Partition], universe: int, vacuous: bool) -> Partition:
    """All matched: matched; else any none: none; else any not recorded: not recorded; else undetermined."""
    everybody, nobody = EntitySet.whole(universe), EntitySet.empty(universe)
    if vacuous:
        return Partition(nobody, nobody, nobody, everybody)
    matched = intersection((p.matched for p in required), universe)
    none = union((p.none for p in required), universe)
    not_recorded = union((p.not_recorded for p in required), universe) - none
    return Partition(matched, none, not_recorded, everybody - matched - none - not_recorded)


def excused(group: Group, verdicts: Verdicts) -> tuple[EntitySet, EntitySet]:
    """A required group's entities that stay open overall: never looked at, and undetermined."""
    open_ = verdicts.overall.not_recorded | verdicts.overall.undetermined
    mine = verdicts.groups[group.index].partition
    return mine.not_recorded & open_, mine.undetermined & open_
