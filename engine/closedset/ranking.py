"""The order of the matches: preferences satisfied, distance per threshold, entity id. No model ranks anything."""

from dataclasses import dataclass
from typing import Any

from closedset.entity_set import EntitySet
from closedset.execute import Run
from closedset.expansion import DateTest, Expansion, NumberTest
from closedset.partition import Verdicts
from closedset.plan import Plan, sql_tests

NAME = "deterministic: optional-groups, threshold-distance, entity_id"


@dataclass(frozen=True)
class Ranked:
    """A matched entity: its place from 1, how many preferences it satisfies, its distances (None: none stated)."""

    ordinal: int
    rank: int
    preferences: int
    distances: tuple[float | None, ...]


def rank(run: Run, plan: Plan, verdicts: Verdicts, top: int, named: EntitySet | None = None) -> list[Ranked]:
    """The first `top` matches in rank order, and any of the `named` entities further down."""
    matched = verdicts.overall.matched
    if not matched:
        return []
    if not plan.optional and not plan.thresholds:
        first = matched.ordinals(limit=top)
        wanted = {*first, *((named & matched).ordinals() if named else ())}
        return [Ranked(o, matched.rank(o) + 1, 0, ()) for o in sorted(wanted)]
    _lend(run, plan, verdicts, matched)
    if named:
        run.give("wanted_set", named)
    distances, values = _distances(plan)
    stated = {k["key"] for one in distances for k in one["measures"]}
    table = run.statement(
        "search/ranking.sql.j2", values,
        preferred=[g.index for g in plan.optional], distances=distances,
        keys=[(n, n in stated) for n in range(len(plan.thresholds))], top=top, named=bool(named),
    )  # fmt: skip
    return [
        Ranked(r["ordinal"], r["place"], r["preferences"], tuple(r[f"d{n}"] for n in range(len(plan.thresholds))))
        for r in table.to_pylist()
    ]


def _lend(run: Run, plan: Plan, verdicts: Verdicts, matched: EntitySet) -> None:
    """Lend the matched set and each preference's, so that the statement adds up how many an entity satisfies."""
    run.give("matched_set", matched)
    for group in plan.optional:
        run.give(f"preferred_{group.index}", verdicts.groups[group.index].partition.matched & matched)


def _distances(plan: Plan) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Per group with a threshold: its scan, and each key's distance expression over one satisfying row."""
    said: dict[int, dict[str, Any]] = {}
    bound: dict[str, Any] = {}
    for key, expansion in enumerate(plan.thresholds):
        group = plan.group_of(expansion.bound.index)
        scan = plan.scan_of(group.relation)
        if scan.table is None:
            continue
        tests, values = sql_tests(scan)
        bound |= values
        entry = said.setdefault(
            group.index,
            {
                "group": group.index,
                "table": scan.table,
                "tests": tests,
                "groups": [group],
                "time": scan.time,
                "measures": [],
            },
        )
        entry["measures"].append({"key": key, "expression": _expression(expansion)})
        if expansion.bound.numbers:
            bound[f"c{expansion.bound.index}_asked"] = expansion.bound.numbers[0]
    return list(said.values()), bound


def _expression(expansion: Expansion) -> str:
    i, slot, test = expansion.bound.index, expansion.bound.name, expansion.test
    match test:
        case NumberTest():
            # Exact where 38 digits suffice; a distance is a float in any case.
            return f'coalesce(TRY(abs("{slot}" - $c{i}_asked)::DOUBLE), abs("{slot}"::DOUBLE - $c{i}_asked::DOUBLE))'
        case DateTest(op="gte"):
            return f"abs(date_diff('month', $c{i}_0_start::DATE, \"{slot}__start\"))"
        case DateTest():
            return f"abs(date_diff('month', \"{slot}__end\", $c{i}_0_end::DATE))"
        case _:
            cases = " ".join(f"WHEN {code} THEN {distance}" for code, distance in expansion.rungs)
            return f'CASE "{slot}" {cases} END' if cases else "NULL"
