"""The partition: every entity in exactly one of matched, none, not recorded, undetermined.

Rows are three-valued up to here; the verdict is where the three values end. Taking one set from another is
the anti-join over entity ordinals.
"""

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

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
    """Four disjoint sets whose union is the universe: `none` is whoever is in no other, found when it is asked for."""

    matched: EntitySet
    not_recorded: EntitySet
    undetermined: EntitySet

    @cached_property
    def none(self) -> EntitySet:
        return EntitySet.whole(self.matched.universe) - self.not_recorded - self.matched - self.undetermined

    def of(self, verdict: Verdict) -> EntitySet:
        found: EntitySet = getattr(self, verdict.value)
        return found

    def size(self, verdict: Verdict) -> int:
        """How many are in one of the sets."""
        if verdict is not Verdict.NONE:
            return len(self.of(verdict))
        return self.matched.universe - len(self.matched) - len(self.not_recorded) - len(self.undetermined)


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
    begun = [(one, scan.read(run, one)) for one in plan.scans]
    for one, found in begun:
        looked[one.relation] = run.looked(one.relation)
        read = found()
        groups |= {index: _judged(said, looked[one.relation]) for index, said in read.groups.items()}
        # A constraint that is a whole group is not judged twice.
        same = {id(judged.said): judged for judged in groups.values()}
        for index, said in read.alone.items():
            constraints[index] = same.get(id(said)) or _judged(said, looked[one.relation])
    required = [groups[g.index].partition for g in plan.required]
    return Verdicts(groups, constraints, looked, _overall(required, run.universe, vacuous))


def _judged(said: Rows, looked: Looked) -> Judged:
    """A true row: matched; else an unknown one (a withheld row is unknown): undetermined; else covered: none."""
    return Judged(Partition(said.true, looked.never, (said.unknown | looked.withheld) - said.true), said)


def _overall(required: list[Partition], universe: int, vacuous: bool) -> Partition:
    """All matched: matched; else any none: none; else any not recorded: not recorded; else undetermined."""
    everybody, nobody = EntitySet.whole(universe), EntitySet.empty(universe)
    if vacuous:
        return Partition(nobody, nobody, everybody)
    matched = intersection((p.matched for p in required), universe)
    none = union((p.none for p in required), universe)
    not_recorded = union((p.not_recorded for p in required), universe) - none
    return Partition(matched, not_recorded, everybody - none - matched - not_recorded)


def excused(group: Group, verdicts: Verdicts) -> tuple[EntitySet, EntitySet]:
    """A required group's entities that stay open overall: never looked at, and undetermined."""
    open_ = verdicts.overall.not_recorded | verdicts.overall.undetermined
    mine = verdicts.groups[group.index].partition
    return mine.not_recorded & open_, mine.undetermined & open_
