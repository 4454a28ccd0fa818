"""One relation read: which entities hold rows that are true, or unknown, for each group and each constraint alone;
and, only where a later stage needs it, why rows are unknown and how near to a threshold the true ones are.

A constraint on terms is answered from the relation's term index where the load kept one; all else by vectorised scans:
of the rows that are true, and of those that are unknown.
"""

from collections import defaultdict
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from closedset.catalog import TermRows
from closedset.entity_set import EntitySet, union, width
from closedset.execute import Run
from closedset.expansion import Expansion, TermTest
from closedset.judged_rows import Rows, as_asked, judged_rows, keep
from closedset.plan import BOTH, TRUE, UNKNOWN, Group, Scan, runs, sentence, sql_tests
from closedset.render import quoted
from closedset.unknown import EMPTY, UNPLACED, UNREADABLE, Unknown, corrected, undated, unknown


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
    alone = _from_index(run, scan, [e for e in by_index.values() if _has_index(run, scan, e)])
    # A group that asks just one constraint, whatever the month, is that constraint alone.
    single = {g.index: g.tests[0] for g in scan.groups if len(g.tests) == 1 and not g.time}
    apart = {g for g, i in single.items() if i in alone or _says_why(scan, by_index[i])}
    scanned = [g for g in scan.groups if g.index not in apart]
    groups = _scan(run, scan, scanned) if scanned else {}
    alone |= {single[g]: said for g, said in groups.items() if g in single}
    left = [e for e in by_index.values() if e.bound.index not in alone]
    alone |= _alone(run, scan, left) if left else {}
    return Read(groups | {g: alone[single[g]] for g in apart}, alone)


def why(run: Run, scan: Scan, group: Group, said: Rows) -> list[tuple[Unknown, EntitySet]]:
    """Every reason for which a row is unknown to a group, with the entities that hold such a row."""
    if scan.table is None:
        return []
    if said.index is not None:
        reasons = unknown(said.index)
        return list(zip(reasons, _members(run, scan, [(said.index, r.codes or ()) for r in reasons]), strict=True))
    return _reasons(run, scan, group) if said.reasons is None else list(said.reasons)


def _reasons(run: Run, scan: Scan, group: Group) -> list[tuple[Unknown, EntitySet]]:
    """The same, read from the relation's rows."""
    reasons = [
        r for e in scan.expansions if e.bound.index in group.tests for r in unknown(e) if _occurs(run, scan, e, r)
    ]
    reasons += [corrected(scan.relation)] if scan.retired else []
    reasons += [undated(scan.relation)] if group.time else []
    if not reasons:
        return []
    rows, values = judged_rows(run, scan, [group])
    asked = as_asked(rows, reasons)
    (row,) = run.statement(
        "search/reasons.sql.j2", values, sentence=sentence(scan, [group], UNKNOWN),
        rows=rows, group=group, last=width(run.universe) - 1, reasons=asked,
    ).to_pylist()  # fmt: skip
    return [
        (reason, EntitySet.of_bytes(row[f"r{one['place']}"], run.universe))
        for reason, one in zip(reasons, asked, strict=True)
    ]


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
            (row,) = run.statement(
                "search/holders.sql.j2", values,
                rows=rows, group=group, last=width(run.universe) - 1, more=[], of_slot=at,
            ).to_pylist()  # fmt: skip
            yield distance, EntitySet.of_bytes(row["entities"], run.universe)


def _has_index(run: Run, scan: Scan, expansion: Expansion) -> bool:
    test = expansion.test
    return _terms(run, scan, expansion) is not None and isinstance(test, TermTest) and not test.unknown


def _from_index(run: Run, scan: Scan, expansions: Sequence[Expansion]) -> dict[int, Rows]:
    """Constraints on terms, each alone, whatever the month, out of the relation's term index; by their index."""
    found: list[tuple[Expansion, Sequence[int]]] = []
    for expansion in expansions:
        terms, test = _terms(run, scan, expansion) or {}, expansion.test
        assert isinstance(test, TermTest)
        true: Sequence[int] = test.true
        if expansion.negated:
            true = tuple(c for c in terms if c > 0 and c not in test.true and c not in test.coarse)
        found += [(expansion, true), (expansion, (EMPTY, UNPLACED, UNREADABLE, *test.coarse))]
    members = _members(run, scan, found)
    rows: dict[int, Rows] = {}
    for (expansion, true), held, unknown_ in zip(found[::2], members[::2], members[1::2], strict=True):
        counts = [at for code in true if (at := (_terms(run, scan, expansion) or {}).get(code))]
        rows[expansion.bound.index] = Rows(
            held, unknown_, rows=sum(c.rows for c in counts), undated=sum(c.undated for c in counts), index=expansion
        )
    return rows


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
    pieces: dict[int, list[bytes]] = defaultdict(list)
    for entry, _, piece in sorted(zip(*(column.to_pylist() for column in table.columns), strict=True)):
        pieces[entry].append(piece)
    sets = {entry: EntitySet.of_bytes(b"".join(held), run.universe) for entry, held in pieces.items()}
    return [union((sets[entry] for entry in one), run.universe) for one in entries]


def _scan(run: Run, scan: Scan, groups: Sequence[Group]) -> dict[int, Rows]:
    """Judge the rows that no test of every group rules out: kept ones once for all groups, of others those of a group
    that are true and those that are unknown each by a statement that reads no more."""
    keep(run, scan, groups)
    if scan.relation not in run.kept:
        return {group.index: _group(run, scan, group) for group in groups}
    rows, values = judged_rows(run, scan, groups)
    row: Mapping[str, Any] = run.statement(
        "search/scan.sql.j2", values, sentence=sentence(scan, groups, BOTH),
        rows=rows, groups=groups, time=scan.time, dated=scan.dated, last=width(run.universe) - 1,
    ).to_pylist()[0]  # fmt: skip
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


def _group(run: Run, scan: Scan, group: Group) -> Rows:
    rows, values = judged_rows(run, scan, [group])
    (row,) = run.statement(
        "search/satisfied.sql.j2", values, sentence=sentence(scan, [group], TRUE),
        rows=rows, group=group, time=scan.time, dated=scan.dated, last=width(run.universe) - 1,
        counted=scan.time is not None and not scan.retired and not rows["of_rows"][group.index],
    ).to_pylist()  # fmt: skip
    reasons = _reasons(run, scan, group)
    return Rows(
        true=EntitySet.of_bytes(row["entities"], run.universe),
        unknown=union((entities for _, entities in reasons), run.universe),
        rows=row["active"],
        inactive=row["inactive"],
        undated=row["undated"],
        unanswerable=row["unanswerable"],
        reasons=tuple(reasons),
    )


def _alone(run: Run, scan: Scan, expansions: Sequence[Expansion]) -> dict[int, Rows]:
    """Each constraint alone, whatever the month; whose cells are empty or unreadable stands in a term index."""
    tests, values = sql_tests(scan)
    by_index = {e.bound.index: e for e in expansions}
    sets: dict[int, dict[str, EntitySet]] = {i: {} for i in by_index}
    told = [
        (e, reason)
        for e in expansions
        if _says_why(scan, e) and _terms(run, scan, e) is not None
        for reason in unknown(e)
        if reason.said != "straddles"
    ]
    for (e, reason), held in zip(told, _members(run, scan, [(e, r.codes or ()) for e, r in told]), strict=True):
        sets[e.bound.index][reason.said or ""] = held
    asked = [
        {**test, "said": _left(run, scan, by_index[test["index"]], sets[test["index"]])}
        for test in tests
        if test["index"] in by_index
    ]
    table = run.statement(
        "search/alone.sql.j2", values,
        table=scan.table, tests=asked, dated=scan.dated, retired=scan.retired, last=width(run.universe) - 1,
    )  # fmt: skip
    true: dict[int, dict[str, Any]] = {}
    for row in table.to_pylist():
        sets[row["index"]][row["said"]] = EntitySet.of_bytes(row["entities"], run.universe)
        if row["said"] == "true":
            true[row["index"]] = row
    return {i: _one(run, scan, e, sets[i], true[i]) for i, e in by_index.items()}


def _left(run: Run, scan: Scan, expansion: Expansion, known: Container[str]) -> list[str]:
    """What cells can say that leaves a constraint unknown, beside what is known."""
    if isinstance(expansion.test, TermTest):
        return ["unknown"]
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
