"""One relation read once: which entities hold rows that are true, or unknown and why, for each group and each
constraint alone.

A constraint on terms is answered from the relation's term index where the load kept one; all else by one vectorised
scan of the rows that no test rules out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from closedset.entity_set import EntitySet, width
from closedset.execute import Run
from closedset.expansion import Expansion, TermTest
from closedset.plan import Group, Scan, candidates, sentence, sql_tests
from closedset.render import quoted
from closedset.unknown import Unknown, unknown

#: So many rungs of a threshold are told apart as sets; further ones are measured row by row.
_RUNGS = 16


@dataclass(frozen=True)
class Rows:
    """What the rows of a relation say of one group, or of one constraint alone: the entities that hold a true row,
    those that hold an unknown one, and row counts.

    `why` gives the entities that hold a row unknown for a reason; `rungs`, for each threshold on an ordered axis by its
    index, the entities that hold a true row at each distance, nearest first.
    """

    true: EntitySet
    unknown: EntitySet
    rows: int = 0
    inactive: int = 0
    undated: int = 0
    unanswerable: int = 0
    why: tuple[tuple[Unknown, EntitySet], ...] = ()
    rungs: dict[int, tuple[tuple[int, EntitySet], ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Read:
    """A relation as read: by group index, and by the index of each constraint alone."""

    groups: dict[int, Rows]
    alone: dict[int, Rows]


def read(run: Run, scan: Scan) -> Read:
    """Read a relation for all its groups and for each of its constraints alone."""
    nobody = EntitySet.empty(run.universe)
    if scan.table is None:
        nothing = Rows(nobody, nobody)
        return Read({g.index: nothing for g in scan.groups}, {e.bound.index: nothing for e in scan.expansions})
    by_index = {e.bound.index: e for e in scan.expansions}
    indexed = {i for i, e in by_index.items() if _indexed(run, scan, e)}
    single = {g.index for g in scan.groups if len(g.tests) == 1 and not g.time and g.tests[0] in indexed}
    scanned = [g for g in scan.groups if g.index not in single]
    same = {g.tests[0]: g.index for g in scanned if len(g.tests) == 1 and not scan.time}
    from_index = _from_index(run, scan, [by_index[i] for i in sorted(indexed)])
    groups = {g.index: from_index[g.tests[0]] for g in scan.groups if g.index in single}
    groups |= _scan(run, scan, scanned) if scanned else {}
    alone = {i: groups[g] for i, g in same.items()} | from_index
    left = [i for i in by_index if i not in alone]
    alone |= _alone(run, scan, left) if left else {}
    return Read(groups, alone)


def _indexed(run: Run, scan: Scan, expansion: Expansion) -> bool:
    slot = run.catalog.relations[scan.relation].slots.get(expansion.bound.name)
    test = expansion.test
    return slot is not None and slot.terms is not None and isinstance(test, TermTest) and not test.unknown


def _from_index(run: Run, scan: Scan, expansions: Sequence[Expansion]) -> dict[int, Rows]:
    """Constraints on terms, each alone and whatever the month, out of the relation's term index."""
    if not expansions:
        return {}
    wanted: dict[str, tuple[str, Sequence[int]]] = {}
    for e in expansions:
        i, slot = e.bound.index, e.bound.name
        for reason in unknown(e):
            wanted[f"c{i}_{reason.code}"] = (slot, reason.codes or ())
        wanted |= {f"c{i}_rung_{distance}": (slot, codes) for distance, codes in (_rungs(e) or {}).items()}
        wanted[f"c{i}_true"] = (slot, _true(run, scan, e))
    kept = run.catalog.relations[scan.relation].slots
    parts = []
    for name, (slot, codes) in wanted.items():
        held = [code for code in codes if code in (kept[slot].terms or {})]
        if held:
            parts.append({"name": name, "columns": [f"{slot}.{code}" for code in held]})
    found: dict[str, Any] = {}
    if parts:
        found = run.statement("search/term_index.sql.j2", table=f"terms_{scan.relation}", parts=parts).to_pylist()[0]

    def members(name: str) -> EntitySet:
        return EntitySet.of_bytes(found.get(name), run.universe)

    rows: dict[int, Rows] = {}
    for e in expansions:
        i, terms, rungs = e.bound.index, kept[e.bound.name].terms or {}, _rungs(e)
        why = tuple((reason, members(f"c{i}_{reason.code}")) for reason in unknown(e))
        counts = [terms[code] for code in _true(run, scan, e) if code in terms]
        open_ = EntitySet.empty(run.universe)
        for _, entities in why:
            open_ = open_ | entities
        rows[i] = Rows(
            true=members(f"c{i}_true"),
            unknown=open_,
            rows=sum(c.rows for c in counts),
            undated=sum(c.undated for c in counts),
            why=why,
            rungs={} if rungs is None else {i: tuple((d, members(f"c{i}_rung_{d}")) for d in rungs)},
        )
    return rows


def _true(run: Run, scan: Scan, expansion: Expansion) -> tuple[int, ...]:
    """The codes for which a constraint is true; `ne` is true for every other term that the rows hold."""
    test = expansion.test
    assert isinstance(test, TermTest)
    if not expansion.negated:
        return test.true
    held = run.catalog.relations[scan.relation].slots[expansion.bound.name].terms or {}
    return tuple(c for c in held if c > 0 and c not in test.true and c not in test.coarse)


def _rungs(expansion: Expansion) -> dict[int, tuple[int, ...]] | None:
    """The codes at each distance of a threshold on terms, nearest first; None where it is none, or has too many."""
    if not expansion.bound.threshold or not isinstance(expansion.test, TermTest):
        return None
    by_distance: dict[int, list[int]] = {}
    for code, distance in sorted(expansion.rungs, key=lambda pair: pair[1]):
        by_distance.setdefault(distance, []).append(code)
    return {d: tuple(codes) for d, codes in by_distance.items()} if len(by_distance) <= _RUNGS else None


def _scan(run: Run, scan: Scan, groups: Sequence[Group]) -> dict[int, Rows]:
    """Judge the rows that no test of every group rules out, once, for all groups."""
    tests, values = sql_tests(scan)
    sets: list[dict[str, Any]] = []
    whys: dict[int, list[tuple[Unknown, str]]] = {g.index: [] for g in groups}
    rungs: dict[int, dict[int, list[tuple[int, str]]]] = {g.index: {} for g in groups}
    for group in groups:
        mine = [e for e in scan.expansions if e.bound.index in group.tests]
        for reason in _reasons(scan, group, mine):
            name = f"g{group.index}_why_{len(whys[group.index])}"
            whys[group.index].append((reason, name))
            sets.append({"name": name, "rows": f"_g{group.index} IS NULL AND {reason.condition}"})
        for e in (e for e in mine if e.bound.index in group.constraints):
            at_distance = _rungs(e)
            if at_distance is None:
                continue
            rungs[group.index][e.bound.index] = []
            for distance, at_codes in at_distance.items():
                name = f"g{group.index}_rung_{e.bound.index}_{distance}"
                rungs[group.index][e.bound.index].append((distance, name))
                at = f"{quoted(e.bound.name)} IN ({', '.join(map(str, at_codes))})"
                sets.append({"name": name, "rows": f"_g{group.index} AND {at}"})
    table = run.statement(
        "search/scan.sql.j2", values, sentence=sentence(scan),
        table=scan.table, tests=tests, groups=groups, sets=sets, candidates=candidates(groups), time=scan.time,
        retired=scan.retired, dated=scan.dated, last=width(run.universe) - 1,
    )  # fmt: skip
    row: dict[str, Any] = table.to_pylist()[0]

    def members(name: str) -> EntitySet:
        return EntitySet.of_bytes(row[name], run.universe)

    return {
        g.index: Rows(
            true=members(f"g{g.index}_true"),
            unknown=members(f"g{g.index}_unknown"),
            rows=row[f"g{g.index}_active"],
            inactive=row[f"g{g.index}_inactive"],
            undated=row[f"g{g.index}_undated"],
            unanswerable=row[f"g{g.index}_unanswerable"],
            why=tuple((reason, members(name)) for reason, name in whys[g.index]),
            rungs={i: tuple((d, members(name)) for d, name in named) for i, named in rungs[g.index].items()},
        )
        for g in groups
    }


def _reasons(scan: Scan, group: Group, expansions: Sequence[Expansion]) -> list[Unknown]:
    """Every reason for which a row can be unknown to a group."""
    found = [reason for e in expansions for reason in unknown(e)]
    if scan.retired:
        found.append(Unknown("corrected_rows_unanswerable", scan.relation, None, "_retired"))
    if group.time:
        found.append(Unknown("undated_rows_unanswerable", scan.relation, None, "_time IS NULL"))
    return found


def _alone(run: Run, scan: Scan, indices: Sequence[int]) -> dict[int, Rows]:
    """Each constraint alone, whatever the month."""
    tests, values = sql_tests(scan)
    row: Mapping[str, Any] = run.statement(
        "search/alone.sql.j2", values,
        table=scan.table, tests=[t for t in tests if t["index"] in indices], retired=scan.retired,
        last=width(run.universe) - 1,
    ).to_pylist()[0]  # fmt: skip
    return {
        i: Rows(
            EntitySet.of_bytes(row[f"c{i}_true"], run.universe),
            EntitySet.of_bytes(row[f"c{i}_unknown"], run.universe),
            rows=row[f"c{i}_rows"],
        )
        for i in indices
    }
