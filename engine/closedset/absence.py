"""Why an entity has no row of a relation: a load looked and found none, or nobody ever looked."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from closedset.execute import Run


@dataclass(frozen=True)
class Covering:
    """A coverage statement that lists an entity; `at` is when an operator declared it (None: a load did)."""

    declared_by: str
    source: str
    said: str
    at: str | None


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
