"""One relation read: which entities hold rows that are true, or unknown, for each group and each constraint alone;
and, only where a later stage needs it, why rows are unknown and how near to a threshold the true ones are.

A constraint on terms is answered from the relation's term index where the load kept one; all else by vectorised scans:
of the rows that are true, and of those that are unknown.
"""

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import pyarrow as pa

from closedset.catalog import TermRows
from closedset.entity_set import EntitySet, union, width
from closedset.execute import Run
from closedset.expansion import Expansion, TermTest
from closedset.judged_rows import Rows, as_asked, judged_rows, keep
from closedset.plan import BOTH, TRUE, UNKNOWN, Group, Scan, runs, sentence, sql_tests
from closedset.render import quoted
from closedset.unknown import UNPLACED, Unknown, corrected, undated, unknown


@dataclass(frozen=True)
class Read:
    """A relation as read: by group index, and by the index of each constraint alone."""

    groups: dict[int, Rows]
    alone: dict[int, Rows]


def read(run: Run, scan: Scan) -> Callable[[], Read]:
    """Begin to read a relation for all its groups and for each of its constraints alone; call what is given back for
    what was read."""
    nobody = EntitySet.empty(run.universe)
    if scan.table is None:
        nothing = Rows(nobody, nobody)
        none = Read({g.index: nothing for g in scan.groups}, {e.bound.index: nothing for e in scan.expansions})
        return lambda: none
    by_index = {e.bound.index: e for e in scan.expansions}
    indexed = [e for e in scan.expansions if _has_index(run, scan, e)]
    # A group that asks just one constraint, whatever the month, is that constraint alone.
    single = {g.index: g.tests[0] for g in scan.groups if len(g.tests) == 1 and not g.time}
    apart = {g for g, i in single.items() if by_index[i] in indexed or _says_why(scan, by_index[i])}
    scanned = [g for g in scan.groups if g.index not in apart]
    told = {single[g.index] for g in scanned if g.index in single}
    left = [e for e in scan.expansions if e not in indexed and e.bound.index not in told]
    of_index = run.soon(lambda own: _from_index(own, scan, indexed))
    of_groups = _scan(run, scan, scanned) if scanned else dict
    of_rest = run.soon(lambda own: _alone(own, scan, left)) if left else dict

    def found() -> Read:
        groups = of_groups()
        alone = of_index() | of_rest() | {single[g]: said for g, said in groups.items() if g in single}
        return Read(groups | {g: alone[single[g]] for g in apart}, alone)

    return found


def why(run: Run, scan: Scan, group: Group, said: Rows) -> list[tuple[Unknown, EntitySet]]:
    """Every reason for which a row is unknown to a group, with the entities that hold such a row."""
    if scan.table is None:
        return []
    return _reasons(run, scan, group) if said.reasons is None else list(said.reasons)


def _reasons(run: Run, scan: Scan, group: Group) -> list[tuple[Unknown, EntitySet]]:
    """The same, read from the relation's rows."""
    reasons = _possible(run, scan, group)
    return _said_why(run, scan, group, "search/reasons.sql.j2", UNKNOWN, reasons)[1] if reasons else []


def _said_why(
    run: Run, scan: Scan, group: Group, template: str, sought: str, reasons: Sequence[Unknown]
) -> tuple[dict[str, Any], list[tuple[Unknown, EntitySet]]]:
    """What a statement finds of a group's rows: its one row, and the entities of each reason."""
    rows, values = judged_rows(run, scan, [group])
    asked = as_asked(rows, reasons)
    (row,) = run.rows(
        template, values, sentence=sentence(scan, [group], sought),
        rows=rows, group=group, last=width(run.universe) - 1,
        # Reasons of the same rows are in one place.
        reasons=list({one["place"]: one for one in asked}.values()),
    )  # fmt: skip
    sets = (EntitySet.of_bytes(row[f"r{one['place']}"], run.universe) for one in asked)
    return row, list(zip(reasons, sets, strict=True))


def _possible(run: Run, scan: Scan, group: Group) -> list[Unknown]:
    """Every reason for which some row may be unknown to a group."""
    found = [r for e in scan.expansions if e.bound.index in group.tests for r in unknown(e) if _occurs(run, scan, e, r)]
    found += [corrected(scan.relation)] if scan.retired else []
    return [*found, undated(scan.relation)] if group.time else found


def _occurs(run: Run, scan: Scan, expansion: Expansion, reason: Unknown) -> bool:
    """Whether some row may be unknown for a reason: a term index tells which codes no row holds."""
    terms = _terms(run, scan, expansion)
    return terms is None or reason.codes is None or any(code in terms for code in reason.codes)


def rungs(
    run: Run, scan: Scan, group: Group, said: Rows, expansion: Expansion
) -> Iterator[tuple[int, EntitySet]] | None:
    """For a threshold on terms, the entities that hold a true row at each distance, nearest first, each read when it is
    taken; None for a threshold on numbers or dates."""
    if not isinstance(expansion.test, TermTest):
        return None
    return _at_rungs(run, scan, group, said, expansion)


def _at_rungs(run: Run, scan: Scan, group: Group, said: Rows, expansion: Expansion) -> Iterator[tuple[int, EntitySet]]:
    by_distance: dict[int, list[int]] = {}
    for code, distance in sorted(expansion.rungs, key=lambda pair: pair[1]):
        by_distance.setdefault(distance, []).append(code)
    for distance, codes in by_distance.items():
        if said.index is not None:
            yield distance, _members(run, scan, [(expansion, codes)])[0]
        elif scan.table is not None:
            rows, values = judged_rows(run, scan, [group])
            slot = expansion.bound.name
            by_kind = any(test["by_kind"] and test["slot"] == slot for test in rows["tests"])
            at = {"condition": f"{quoted(slot)} IN ({', '.join(map(str, codes))})", "by_kind": by_kind}
            (row,) = run.rows(
                "search/holders.sql.j2", values,
                rows=rows, group=group, last=width(run.universe) - 1, more=[], of_slot=at,
            )  # fmt: skip
            yield distance, EntitySet.of_bytes(row["entities"], run.universe)


def _has_index(run: Run, scan: Scan, expansion: Expansion) -> bool:
    test = expansion.test
    return _terms(run, scan, expansion) is not None and isinstance(test, TermTest) and not test.unknown


def _from_index(run: Run, scan: Scan, expansions: Sequence[Expansion]) -> dict[int, Rows]:
    """Constraints on terms, each alone, whatever the month, out of the relation's term index; by their index."""
    true = [_true_codes(run, scan, e) for e in expansions]
    why = [(e, reason) for e in expansions for reason in unknown(e)]
    held = _members(run, scan, [*zip(expansions, true, strict=True), *((e, r.codes or ()) for e, r in why)])
    reasons: dict[int, list[tuple[Unknown, EntitySet]]] = {e.bound.index: [] for e in expansions}
    for (expansion, reason), entities in zip(why, held[len(expansions) :], strict=True):
        reasons[expansion.bound.index].append((reason, entities))
    rows: dict[int, Rows] = {}
    for expansion, codes, entities in zip(expansions, true, held, strict=False):
        counts = [at for code in codes if (at := (_terms(run, scan, expansion) or {}).get(code))]
        mine = reasons[expansion.bound.index]
        rows[expansion.bound.index] = Rows(
            entities,
            union((those for _, those in mine), run.universe),
            rows=sum(c.rows for c in counts),
            undated=sum(c.undated for c in counts),
            index=expansion,
            reasons=tuple(mine),
        )
    return rows


def _true_codes(run: Run, scan: Scan, expansion: Expansion) -> Sequence[int]:
    """The codes of a slot that satisfy a constraint on terms; of one that is negated, those the term index holds."""
    test = expansion.test
    assert isinstance(test, TermTest)
    if not expansion.negated:
        return test.true
    return tuple(c for c in _terms(run, scan, expansion) or () if c > 0 and c not in test.true and c not in test.coarse)


def _terms(run: Run, scan: Scan, expansion: Expansion) -> dict[int, TermRows] | None:
    slot = run.catalog.relations[scan.relation].slots.get(expansion.bound.name)
    return slot.terms if slot else None


def _members(run: Run, scan: Scan, asked: Sequence[tuple[Expansion, Sequence[int]]]) -> list[EntitySet]:
    """The entities that hold a row with one of some codes of a slot, for each asked, by the term index."""
    entries = [
        {held.entry for code, held in (_terms(run, scan, expansion) or {}).items() if code in codes}
        for expansion, codes in asked
    ]
    wanted = set().union(*entries)
    if not wanted:
        return [EntitySet.empty(run.universe)] * len(asked)
    table = run.statement("search/term_index.sql.j2", table=f"terms_{scan.relation}", entries=runs(list(wanted)))
    sets = _bitmaps(table, run.universe)
    return [union((sets[entry] for entry in sorted(one)), run.universe) for one in entries]


def _bitmaps(table: pa.Table, universe: int) -> dict[int, EntitySet]:
    """Each entry's set. Its pieces come in their order, their bytes one behind the other: nothing is copied."""
    places = list(zip(table.column("entry").to_pylist(), table.column("part").to_pylist(), strict=True))
    if places != sorted(places):
        return _bitmaps(table.sort_by([("entry", "ascending"), ("part", "ascending")]), universe)
    column = table.column("entities")
    pieces = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    _, offsets, values = pieces.buffers()
    ends = memoryview(offsets).cast("i")[pieces.offset :]
    sets: dict[int, EntitySet] = {}
    after = 0
    for entry, parts in groupby(entry for entry, _ in places):
        first, after = after, after + sum(1 for _ in parts)
        sets[entry] = EntitySet(values.slice(ends[first], ends[after] - ends[first]), universe)
    return sets


def _scan(run: Run, scan: Scan, groups: Sequence[Group]) -> Callable[[], dict[int, Rows]]:
    """Begin to judge the rows that no test of every group rules out: kept ones once for all groups, of others those of
    a group that are true and those that are unknown each by a statement that reads no more."""
    keep(run, scan, groups)
    if scan.relation in run.kept:
        return run.soon(lambda own: _kept(own, scan, groups))
    begun = {group.index: _group(run, scan, group) for group in groups}
    return lambda: {index: found() for index, found in begun.items()}


def _kept(run: Run, scan: Scan, groups: Sequence[Group]) -> dict[int, Rows]:
    rows, values = judged_rows(run, scan, groups)
    (row,) = run.rows(
        "search/scan.sql.j2", values, sentence=sentence(scan, groups, BOTH),
        rows=rows, groups=groups, time=scan.time, dated=scan.dated, last=width(run.universe) - 1,
    )  # fmt: skip
    return {
        g.index: Rows(
            true=EntitySet.of_bytes(row[f"g{g.index}_true"], run.universe),
            unknown=EntitySet.of_bytes(row[f"g{g.index}_unknown"], run.universe),
            rows=row[f"g{g.index}_active"],
            inactive=row[f"g{g.index}_inactive"],
            undated=row[f"g{g.index}_undated"],
            unanswerable=row[f"g{g.index}_unanswerable"],
        )
        for g in groups
    }


def _group(run: Run, scan: Scan, group: Group) -> Callable[[], Rows]:
    rows, _ = judged_rows(run, scan, [group])
    # Where kinds tell all but the days of a row, they tell how many rows there are.
    counted = not scan.retired and not rows["of_rows"][group.index]
    if group.time and counted:
        return run.soon(lambda own: _at_month(own, scan, group))
    satisfied = run.soon(lambda own: _satisfied(own, scan, group, counted))
    unknown_ = run.soon(lambda own: _reasons(own, scan, group))
    return lambda: _rows_of(run, satisfied(), unknown_())


def _rows_of(run: Run, row: Mapping[str, Any], reasons: Sequence[tuple[Unknown, EntitySet]]) -> Rows:
    return Rows(
        true=EntitySet.of_bytes(row["entities"], run.universe),
        unknown=union((entities for _, entities in reasons), run.universe),
        rows=row["active"],
        inactive=row["inactive"],
        undated=row["undated"],
        unanswerable=row["unanswerable"],
        reasons=tuple(reasons),
    )


def _satisfied(run: Run, scan: Scan, group: Group, counted: bool) -> dict[str, Any]:
    """Who holds a row that satisfies a group, and how many rows do, which kinds may have `counted`."""
    rows, values = judged_rows(run, scan, [group])
    (row,) = run.rows(
        "search/satisfied.sql.j2", values, sentence=sentence(scan, [group], TRUE),
        rows=rows, group=group, time=scan.time, dated=scan.dated, last=width(run.universe) - 1, counted=counted,
    )  # fmt: skip
    return row


def _at_month(run: Run, scan: Scan, group: Group) -> Rows:
    """A group whose tests are all put to kinds, at a month: what is left to ask of each row is its days."""
    row, reasons = _said_why(run, scan, group, "search/at_month.sql.j2", BOTH, _possible(run, scan, group))
    row["inactive"] = row["held"] - row["active"] - row["unanswerable"]
    return _rows_of(run, row, reasons)


def _alone(run: Run, scan: Scan, expansions: Sequence[Expansion]) -> dict[int, Rows]:
    """Each constraint alone, whatever the month; whose cells are empty or unreadable stands in a term index."""
    tests, values = sql_tests(scan)
    by_index = {e.bound.index: e for e in expansions}
    sets: dict[int, dict[str, EntitySet]] = {i: {} for i in by_index}
    told = [(e, said, codes) for e in expansions for said, codes in _told(run, scan, e).items()]
    for (e, said, _), held in zip(told, _members(run, scan, [(e, codes) for e, _, codes in told]), strict=True):
        sets[e.bound.index][said] = held
    asked = [
        {**test, "said": _left(run, scan, by_index[test["index"]], sets[test["index"]])}
        for test in tests
        if test["index"] in by_index
    ]
    found = run.rows(
        "search/alone.sql.j2", values,
        table=scan.table, tests=asked, dated=scan.dated, retired=scan.retired, last=width(run.universe) - 1,
    )  # fmt: skip
    true: dict[int, dict[str, Any]] = {}
    for row in found:
        sets[row["index"]][row["said"]] = EntitySet.of_bytes(row["entities"], run.universe)
        if row["said"] == "true":
            true[row["index"]] = row
    return {i: _one(run, scan, e, sets[i], true[i]) for i, e in by_index.items()}


def _told(run: Run, scan: Scan, expansion: Expansion) -> dict[str, Sequence[int]]:
    """What cells can say that leaves a constraint unknown and that a term index tells, with the entries that do: of a
    spelling on no term, every cell but those of other such spellings."""
    terms = _terms(run, scan, expansion)
    if terms is None or scan.retired:
        return {}
    if isinstance(expansion.test, TermTest):
        return {"placed": [code for code in terms if code != UNPLACED and code not in expansion.test.true]}
    return {r.said: r.codes or () for r in unknown(expansion) if r.said is not None and r.said != "straddles"}


def _left(run: Run, scan: Scan, expansion: Expansion, known: Container[str]) -> list[str]:
    """What cells can say that leaves a constraint unknown, beside what is known."""
    if isinstance(expansion.test, TermTest):
        return ["unplaced" if "placed" in known else "unknown"]
    left = [r for r in unknown(expansion) if r.said not in known and _occurs(run, scan, expansion, r)]
    return [r.said for r in left if r.said is not None]


def _says_why(scan: Scan, expansion: Expansion) -> bool:
    """Whether the rows that are read for a constraint alone also tell why they are unknown."""
    return not scan.retired and not isinstance(expansion.test, TermTest)


def _one(run: Run, scan: Scan, expansion: Expansion, sets: dict[str, EntitySet], true: dict[str, Any]) -> Rows:
    """One constraint alone, by what its cells say."""
    reasons = None
    if _says_why(scan, expansion):
        nobody = EntitySet.empty(run.universe)
        reasons = tuple((reason, sets.get(reason.said or "", nobody)) for reason in unknown(expansion))
    return Rows(
        true=sets["true"],
        unknown=union((held for said, held in sets.items() if said != "true"), run.universe),
        rows=true["held"],
        undated=true["undated"],
        reasons=reasons,
    )
