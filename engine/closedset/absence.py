"""Why an entity has no row of a relation: a load looked and found none, or nobody ever looked."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from closedset.entity_set import EntitySet
from closedset.execute import Run
from closedset.store import Looked


@dataclass(frozen=True)
class Covering:
    """A coverage statement that lists an entity; `at` is when an operator declared it (None: a load did)."""

    declared_by: str
    source: str
    said: str
    at: str | None


@dataclass(frozen=True)
class Absence:
    """One relation's absence over the universe: `none` (looked at, no row), `not_recorded`, `recorded` (a row,
    readable or withheld)."""

    none: EntitySet
    not_recorded: EntitySet
    recorded: EntitySet


def absence(looked: Looked, universe: int) -> Absence:
    """Who holds no row of a relation, split by whether anybody looked. A withheld row counts as recorded."""
    recorded = looked.held | looked.withheld
    return Absence(looked.covered - recorded, EntitySet.whole(universe) - looked.covered, recorded)


def covering(run: Run, relation: str, ordinals: Sequence[int]) -> dict[int, list[Covering]]:
    """The coverage statements of one relation that list each of some entities."""
    mine = {i: s for i, s in enumerate(run.catalog.statements) if s.relation == relation}
    found: dict[int, list[Covering]] = defaultdict(list)
    if not mine or not ordinals:
        return found
    for row in run.statement("search/coverage.sql.j2", {"ordinals": sorted(set(ordinals))}).to_pylist():
        statement = mine.get(row["statement"])
        if statement is not None:
            found[row["entity"]].append(Covering(statement.declared_by, statement.source, statement.said, statement.at))
    return found


def covering_absent(run: Run, relation: str, ordinals: Sequence[int]) -> dict[int, list[Covering]]:
    """The same of entities that were looked at and hold no row: where the relation has one statement, it lists them."""
    mine = [s for s in run.catalog.statements if s.relation == relation]
    if len(mine) != 1:
        return covering(run, relation, ordinals)
    said = Covering(mine[0].declared_by, mine[0].source, mine[0].said, mine[0].at)
    return defaultdict(list, {ordinal: [said] for ordinal in ordinals})
