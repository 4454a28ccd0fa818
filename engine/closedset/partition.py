"""The partition: every entity in exactly one of matched, none, not recorded, undetermined.

Rows are three-valued up to here; the verdict is where the three values end. Taking one set from another is
the anti-join over entity ordinals.
"""

from dataclasses import dataclass
from enum import StrEnum

from closedset import scan
from closedset.entity_set import EntitySet, intersection, union
from closedset.execute import Run
from closedset.judged_rows import Rows
from closedset.plan import Group, Plan
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
    """A group, or a constraint alone, as it ran: its partition, and what its rows said."""

    partition: Partition
    said: Rows


@dataclass(frozen=True)
class Verdicts:
    """Everything the scans found, by group index, constraint index and relation."""

    groups: dict[int, Judged]
    constraints: dict[int, Judged]
    looked: dict[str, Looked]
    overall: Partition


def judge(run: Run, plan: Plan, vacuous: bool) -> Verdicts:
    """Read each relation once and decide. `vacuous`: no required constraint that was asked could run, so
    nothing may be claimed of anybody."""
    groups: dict[int, Judged] = {}
    constraints: dict[int, Judged] = {}
    looked: dict[str, Looked] = {}
    for one in plan.scans:
        looked[one.relation] = run.looked(one.relation)
        read = scan.read(run, one)
        for index, said in read.groups.items():
            groups[index] = Judged(_verdict(said, looked[one.relation]), said)
        for index, said in read.alone.items():
            constraints[index] = Judged(_verdict(said, looked[one.relation]), said)
    required = [groups[g.index].partition for g in plan.required]
    return Verdicts(groups, constraints, looked, _overall(required, run.universe, vacuous))


def _verdict(said: Rows, looked: Looked) -> Partition:
    """A true row: matched; else an unknown one (a withheld row is unknown): undetermined; else covered: none."""
    undetermined = (said.unknown | looked.withheld) - said.true
    none = looked.covered - said.true - undetermined
    return Partition(said.true, none, looked.never, undetermined)


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
