"""The delivered matches: the page's entities, every row that satisfies a group, and each slot's receipt."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa

from closedset.execute import Run
from closedset.fold import WHITE_SPACE
from closedset.judged_rows import judged_rows
from closedset.pack import PERIOD
from closedset.plan import Plan
from closedset.ranking import Ranked
from closedset.receipt import Sources, StatedRow, StoredRow


@dataclass(frozen=True)
class MatchRow:
    """One delivered row and the groups it satisfies."""

    stated: StatedRow
    satisfies: tuple[int, ...]


@dataclass(frozen=True)
class Match:
    """One delivered entity; `rows` by the first group satisfied, then source row."""

    ranked: Ranked
    entity_id: str
    name: str | None
    rows: tuple[MatchRow, ...]


def names(run: Run, ordinals: Sequence[int]) -> dict[int, tuple[str, str | None]]:
    """The id and display name of some entities."""
    if not ordinals:
        return {}
    table = run.statement("search/entities.sql.j2", {"ordinals": sorted(set(ordinals))})
    places, ids, names_ = (column.to_pylist() for column in table.columns)
    return dict(zip(places, zip(ids, names_, strict=True), strict=True))


@dataclass(frozen=True)
class Named:
    """An id that a request names, and the entity it is: under another id, where the two are merged."""

    asked: str
    ordinal: int
    entity_id: str


def named(run: Run, ids: Sequence[str]) -> list[Named]:
    """The entities of the ids the store knows; ids are trimmed as they were at load."""
    wanted = sorted({one.strip(WHITE_SPACE) for one in ids})
    if not wanted:
        return []
    table = run.statement("search/ordinals.sql.j2", {"ids": wanted}, merged=run.catalog.merged > 0)
    return [Named(r["asked"], r["ordinal"], r["entity_id"]) for r in table.to_pylist()]


def deliver(run: Run, plan: Plan, page: Sequence[Ranked]) -> Callable[[dict[int, tuple[str, str | None]]], list[Match]]:
    """Begin to fetch the rows of a page's entities and to re-read their cells; call what is given back, with the names
    `names` gave, for the matches."""
    if not page:
        return lambda known: []
    run.give_table("page_set", pa.table({"ordinal": pa.array([r.ordinal for r in page], pa.int32())}))
    begun = [run.soon(partial(_rows, plan=plan, relation=scan.relation)) for scan in plan.scans]
    return lambda known: _delivered(run, page, [pair for rows in begun for pair in rows()], known)


def _delivered(
    run: Run,
    page: Sequence[Ranked],
    found: Sequence[tuple[StoredRow, tuple[int, ...]]],
    known: dict[int, tuple[str, str | None]],
) -> list[Match]:
    stated = Sources(run).state([row for row, _ in found])
    by_entity: dict[int, list[MatchRow]] = defaultdict(list)
    for one, (row, satisfies) in zip(stated, found, strict=True):
        by_entity[row.ordinal].append(MatchRow(one, satisfies))
    for rows in by_entity.values():
        rows.sort(key=lambda r: (r.satisfies[0], r.stated.row.entry, r.stated.row.place))
    return [Match(r, *known[r.ordinal], tuple(by_entity[r.ordinal])) for r in page]


def _rows(run: Run, plan: Plan, relation: str) -> list[tuple[StoredRow, tuple[int, ...]]]:
    scan = plan.scan_of(relation)
    if scan.table is None:
        return []
    groups = sorted(scan.groups, key=lambda group: len(group.tests))
    rows, values = judged_rows(run, scan, groups)
    table = run.statement("search/matches.sql.j2", values, table=scan.table, rows=rows, groups=groups)
    return [
        (stored_row(relation, row), tuple(g.index for g in scan.groups if row[f"_g{g.index}"]))
        for row in table.to_pylist()
    ]


def stored_row(relation: str, row: dict[str, Any]) -> StoredRow:
    """A row as a statement gave it: its place, and its typed columns without the statement's own."""
    columns = {name: value for name, value in row.items() if not name.startswith("_")}
    return StoredRow(relation, row["_entity"], row["_map"], row["_row"], columns)


def slots(stated: StatedRow) -> dict[str, str | None]:
    """What a row states, by slot name, without its period."""
    return {name: r.text for name, r in sorted(stated.slots.items()) if name not in PERIOD}
