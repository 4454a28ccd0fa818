"""The rows of one relation as groups judge them: what every statement about such rows reads.

Where the load kept the kinds of a relation's rows, their terms are judged kind by kind, and only rows of the kinds that
stay are read. Of a relation without, few rows are judged once and kept for the length of the request: the statements
that follow then read them alone. Many are judged anew by each statement, which costs less than to keep them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from closedset.entity_set import EntitySet
from closedset.execute import Run
from closedset.expansion import Expansion, TermTest
from closedset.plan import BOTH, Group, Scan, candidates, sentence, sql_tests
from closedset.unknown import Unknown

#: Rows are kept where no more than these are expected, or one in so many of the relation's; never more than the last.
_FEW = 20_000
_SHARE = 100
_MOST = 5_000_000
#: Of a reason that is no constraint's.
_NO_TEST: dict[str, Any] = {"by_kind": False, "slot": None}


@dataclass(frozen=True)
class Rows:
    """What the rows of a relation say of one group, or of one constraint alone: the entities that hold a true row,
    those that hold an unknown one, and row counts.

    `index` is the constraint that the term index answered, if it did; `reasons` are those for which rows are unknown,
    each with its entities, where they were read with the rows.
    """

    true: EntitySet
    unknown: EntitySet
    rows: int = 0
    inactive: int = 0
    undated: int = 0
    unanswerable: int = 0
    index: Expansion | None = None
    reasons: tuple[tuple[Unknown, EntitySet], ...] | None = None


def judged_rows(run: Run, scan: Scan, groups: Sequence[Group]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The rows that no test of every group rules out, as templates take them, and the values they bind.

    `groups` are of the scan's relation; a row's columns are its place, what the tests read, and what it was judged.
    """
    rows, values = inline(scan, groups, candidates(groups), _columns(scan))
    if {g.index for g in groups} <= run.kept.get(scan.relation, frozenset()):
        return rows | {"kept": kept(scan)}, values
    slots = run.catalog.relations[scan.relation].kinds
    for test in rows["tests"]:
        test["by_kind"] = test["slot"] in slots
    mine = {g.index: [test for test in rows["tests"] if test["index"] in g.tests] for g in groups}
    rows |= {
        "kinds": f"kinds_{scan.relation}",
        "of_kinds": {index: [test for test in tests if test["by_kind"]] for index, tests in mine.items()},
        "of_rows": {index: [test for test in tests if not test["by_kind"]] for index, tests in mine.items()},
    }
    return rows, values


def as_asked(rows: dict[str, Any], reasons: Sequence[Unknown]) -> list[dict[str, Any]]:
    """Reasons why some rows are unknown, as templates take them: each by its place, which reasons of the same rows
    share, and whether its kind decides it."""
    tests = {test["index"]: test for test in rows["tests"]}
    places: dict[tuple[Any, ...], int] = {}
    asked = []
    for reason in reasons:
        test = tests.get(reason.index, _NO_TEST)
        # An empty cell is empty to every constraint on it.
        same = reason.said in ("nothing", "unreadable")
        place = places.setdefault((test["slot"] if same else reason.index, reason.said, reason.condition), len(places))
        asked.append({
            "place": place, "condition": reason.condition, "said": reason.said,
            "by_kind": test["by_kind"], "test": test,
        })  # fmt: skip
    return asked


def inline(
    scan: Scan, groups: Sequence[Group], skip: Sequence[int] = (), columns: Sequence[str] = ()
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The rows of a relation judged where they are read, those left out that a test of `skip` rules out; without
    `columns`, with all that the relation has."""
    tests, values = sql_tests(scan)
    for test in tests:
        test["by_kind"] = False
    rows: dict[str, Any] = {
        "kept": None, "table": scan.table, "tests": tests, "groups": groups, "time": scan.time, "candidates": skip,
        "retired": scan.retired, "columns": columns, "kinds": None, "of_kinds": {}, "of_rows": {},
    }  # fmt: skip
    return rows, values


def keep(run: Run, scan: Scan, groups: Sequence[Group]) -> None:
    """Keep the rows that some groups leave, where they are few and no kinds tell which they are."""
    if run.catalog.relations[scan.relation].kinds:
        return
    held = run.catalog.relations[scan.relation].rows
    expected = held * _share(run, scan, candidates(groups))
    if expected > min(max(_FEW, held // _SHARE), _MOST):
        return
    rows, values = inline(scan, groups, candidates(groups), _columns(scan))
    run.keep(
        kept(scan), "search/keep.sql.j2", values, sentence=sentence(scan, groups, BOTH), kept=kept(scan), rows=rows
    )
    run.kept[scan.relation] = frozenset(g.index for g in groups)


def kept(scan: Scan) -> str:
    """The name of the table of a relation's kept rows."""
    return f"kept_{scan.relation}"


def _columns(scan: Scan) -> list[str]:
    """The columns that the tests of a scan read, the place of the row first."""
    columns = ["_entity"]
    columns += ["_dated"] if scan.dated else []
    columns += ["_retired"] if scan.retired else []
    columns += scan.time.columns if scan.time else ()
    for name, kind in {e.bound.name: e.bound.slot.type for e in scan.expansions}.items():
        columns += [f"{name}__start", f"{name}__end"] if kind == "date" else [name]
        columns.append(f"{name}__unreadable")
    return columns


def _share(run: Run, scan: Scan, tests: Sequence[int]) -> float:
    """The share of a relation's rows that are not false to some tests, as if these had nothing to do with each other;
    a test whose terms are not counted rules nothing out."""
    share = 1.0
    for expansion in scan.expansions:
        if expansion.bound.index in tests:
            share *= _share_of_one(run, scan, expansion)
    return share


def _share_of_one(run: Run, scan: Scan, expansion: Expansion) -> float:
    relation, test = run.catalog.relations[scan.relation], expansion.test
    slot = relation.slots.get(expansion.bound.name)
    if slot is None or not slot.terms or not isinstance(test, TermTest) or test.unknown or not relation.rows:
        return 1.0
    if expansion.negated:
        false = sum(slot.terms[c].rows for c in test.true if c in slot.terms)
        return 1.0 - false / relation.rows
    stay = {*test.true, *test.coarse}
    return sum(held.rows for code, held in slot.terms.items() if code <= 0 or code in stay) / relation.rows
