"""The order of the matches: preferences satisfied, distance per threshold, entity id. No model ranks anything."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from closedset import scan
from closedset.dates import month_end
from closedset.entity_set import EntitySet, union, width
from closedset.execute import Run
from closedset.expansion import DateTest, Expansion, NumberTest
from closedset.judged_rows import judged_rows
from closedset.partition import Verdicts
from closedset.plan import Plan
from closedset.render import quoted

#: Beyond so many matches, whoever cannot be among the first is left out before the rest is measured.
_MANY = 10_000
#: Sets by distance are a statement each: of more thresholds than these, all distances are measured by one.
_FEW = 4
#: How many of the nearest rows are looked at for each match that is wanted: one entity may hold several.
_ROWS_A_MATCH, _MORE_ROWS_A_MATCH = 4, 64
#: A float tells all numbers of so many digits apart.
_EXACT_DIGITS = 15
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
    levels = _levels(matched, [verdicts.groups[g.index].partition.matched for g in plan.optional])
    few = len(plan.thresholds) <= _FEW
    rungs = [_rungs(run, plan, verdicts, e) if few else None for e in plan.thresholds]
    if all(one is not None for one in rungs):
        return _by_sets(levels, [one for one in rungs if one is not None], top, named)
    if not named and len(rungs) == 1:
        closest = _closest(run, plan, verdicts, levels, top)
        if closest is not None:
            return closest
    everybody, near = len(matched), None
    if not named and everybody > _MANY:
        levels, near = _front(run, plan, verdicts, levels, rungs, top)
        matched = union(levels, run.universe)
    run.give("matched_set", matched)
    # The rows of one required group are those of the matched set: only then is there nobody's to leave out.
    narrowed = len(plan.required) != 1 or len(matched) < everybody
    for n, level in enumerate(levels):
        run.give(f"level_{n}", level)
    if named:
        run.give("wanted_set", named)
    distances, values = _distances(run, plan, narrowed, near)
    stated = {k["key"] for one in distances for k in one["measures"]}
    table = run.statement(
        "search/ranking.sql.j2", values,
        levels=list(range(len(levels))), distances=distances,
        keys=[(n, n in stated) for n in range(len(plan.thresholds))], top=top, named=bool(named),
    )  # fmt: skip
    return [
        Ranked(r["ordinal"], r["place"], r["preferences"], tuple(r[f"d{n}"] for n in range(len(plan.thresholds))))
        for r in table.to_pylist()
    ]


def _closest(run: Run, plan: Plan, verdicts: Verdicts, levels: list[EntitySet], top: int) -> list[Ranked] | None:
    """Where one threshold on numbers or days tells apart who satisfies as many preferences, the first `top` matches in
    the order of its rows; None where these are not enough to say it."""
    (expansion,) = plan.thresholds
    group = plan.group_of(expansion.bound.index)
    scan_, holding = plan.scan_of(group.relation), verdicts.groups[group.index].partition.matched
    (preferences, level), *further = [(n, level) for n, level in enumerate(levels) if level][::-1]
    if scan_.table is None or (further and len(level) < top) or level - holding:
        return None
    rows, values = judged_rows(run, scan_, [group])
    if expansion.bound.numbers:
        values[f"c{expansion.bound.index}_asked"] = expansion.bound.numbers[0]
    column, in_order = _column(run, expansion)
    expression = _expression(expansion)
    run.give("matched_set", level)
    for most in (_ROWS_A_MATCH * top, _MORE_ROWS_A_MATCH * top):
        table = run.statement(
            "search/closest.sql.j2", values,
            rows=rows, group=group, column=column, order=in_order or expression, expression=expression,
            narrowed=len(level) < len(holding), most=most,
        )  # fmt: skip
        found: dict[int, float] = {}
        for distance, ordinal in sorted(
            zip(*(table.column(c).to_pylist() for c in ("distance", "_entity")), strict=True)
        ):
            found.setdefault(ordinal, distance)
        if len(found) >= top or table.num_rows < most:
            return [Ranked(o, n, preferences, (d,)) for n, (o, d) in enumerate(list(found.items())[:top], 1)]
    return None


def _column(run: Run, expansion: Expansion) -> tuple[str, str | None]:
    """The column by which rows are near to a threshold on numbers or days, and how it orders them: None where only the
    distance does: a float does not tell all long numbers apart, and days are told apart by their months alone."""
    bound = expansion.bound
    above = bound.op == "gte"
    if bound.slot.type != "number":
        return f"{bound.name}__{'start' if above else 'end'}", None
    columns = run.catalog.relations[bound.relation].slots[bound.name]
    exact = columns.digits <= _EXACT_DIGITS
    return bound.name, f"{quoted(bound.name)}{'' if above else ' DESC'}" if exact else None


def _levels(matched: EntitySet, preferred: list[EntitySet]) -> list[EntitySet]:
    """The matched entities by how many preferences they satisfy, from none to all."""
    levels = [matched]
    for satisfied in preferred:
        nobody = EntitySet.empty(matched.universe)
        levels = [
            (stay - satisfied) | (rise & satisfied)
            for stay, rise in zip([*levels, nobody], [nobody, *levels], strict=True)
        ]
    return levels


@dataclass(frozen=True)
class _Near:
    """The rows no farther from a threshold than its nearest ones, as a condition and the value it binds."""

    key: int
    condition: str
    bound: dict[str, Any]


def _front(
    run: Run, plan: Plan, verdicts: Verdicts, levels: list[EntitySet], rungs: "Sequence[_Rungs | None]", top: int
) -> tuple[list[EntitySet], _Near | None]:
    """The levels without whoever cannot be among the first `top`: what stays is measured row by row; and which rows
    these are, where they are the nearest to a threshold."""
    kept = [EntitySet.empty(run.universe)] * len(levels)
    for preferences in reversed(range(len(levels))):
        if len(union(kept, run.universe)) < top:
            kept[preferences] = levels[preferences]
    (first, *more) = [n for n, level in enumerate(kept) if level]
    for key, sets in enumerate(rungs):
        # Who ties on the former keys is told apart by the next one; of several levels or distances each has its own.
        if more or len(kept[first]) <= top:
            break
        if sets is None:
            kept[first], near = _near(run, plan, verdicts, kept[first], key, top)
            return kept, near
        here, distances = EntitySet.empty(run.universe), 0
        for _, at in sets:
            here, distances = here | (at & kept[first]), distances + bool(at & kept[first])
            if len(here) >= top:
                break
        if len(here) < top:
            break
        kept[first] = here
        if distances > 1:
            break
    return kept, None


def _near(
    run: Run, plan: Plan, verdicts: Verdicts, members: EntitySet, key: int, top: int
) -> tuple[EntitySet, _Near | None]:
    """Those of some entities that are as near to a threshold as its nearest rows; all, where these are too few."""
    expansion = plan.thresholds[key]
    bound, group = expansion.bound, plan.group_of(expansion.bound.index)
    scan_ = plan.scan_of(group.relation)
    if scan_.table is None:
        return members, None
    column, in_order = _column(run, expansion)
    if in_order is None and bound.slot.type == "number":
        return members, None
    rows, values = judged_rows(run, scan_, [group])
    above = bound.op == "gte"
    # Of the rows that satisfy the group about as large a share is the members' as of its entities.
    share = len(members) / max(len(verdicts.groups[group.index].partition.matched), 1)
    for most in (_ROWS_A_MATCH * top, _MORE_ROWS_A_MATCH * top):
        if most * share < top:
            continue
        last = run.statement(
            "search/nearest.sql.j2", values, rows=rows, group=group, column=column, descending=not above, most=most
        ).to_pylist()
        if not last:
            break
        name = f"near_{key}"
        condition = f"{quoted(column)} {'<=' if above else '>='} ${name}"
        near = _Near(key, condition, {name: _as_far(last[0]["value"], above)})
        (row,) = run.rows(
            "search/holders.sql.j2", values | near.bound,
            rows=rows, group=group, last=width(run.universe) - 1, more=[near.condition], of_slot=None,
        )  # fmt: skip
        found = EntitySet.of_bytes(row["entities"], run.universe) & members
        if len(found) >= top:
            return found, near
    return members, None


def _as_far(value: Any, above: bool) -> Any:
    """The last value as far from a threshold as another: days are told apart by their months alone."""
    if not isinstance(value, date):
        return value
    return month_end(f"{value:%Y-%m}") if above else value.replace(day=1)


class _Rungs:
    """The sets of one threshold by distance, nearest first; each is read once, when it is first needed."""

    def __init__(self, found: Iterator[tuple[int, EntitySet]]) -> None:
        self._found = found
        self._known: list[tuple[int, EntitySet]] = []

    def __iter__(self) -> Iterator[tuple[int, EntitySet]]:
        place = 0
        while True:
            if place == len(self._known):
                further = next(self._found, None)
                if further is None:
                    return
                self._known.append(further)
            yield self._known[place]
            place += 1


def _rungs(run: Run, plan: Plan, verdicts: Verdicts, expansion: Expansion) -> _Rungs | None:
    group = plan.group_of(expansion.bound.index)
    said = verdicts.groups[group.index].said
    found = scan.rungs(run, plan.scan_of(group.relation), group, said, expansion)
    return None if found is None else _Rungs(found)


def _by_sets(levels: list[EntitySet], rungs: Sequence[_Rungs], top: int, named: EntitySet | None) -> list[Ranked]:
    """Where every distance is known as sets, the order is theirs, and ordinals within: no statement is needed."""
    ranked: list[Ranked] = []
    before = 0
    for preferences in reversed(range(len(levels))):
        for tied, distances in _nearest(levels[preferences], rungs, ()):
            first = tied.ordinals(limit=max(0, top - before))
            ranked += [Ranked(o, before + n, preferences, distances) for n, o in enumerate(first, 1)]
            further = (named & tied).ordinals() if named else []
            ranked += [
                Ranked(o, before + tied.rank(o) + 1, preferences, distances)
                for o in further[bisect_right(further, first[-1]) if first else 0 :]
            ]
            before += len(tied)
            if before >= top and not named:
                return ranked
    return ranked


def _nearest(
    members: EntitySet, rungs: Sequence[_Rungs], distances: tuple[float | None, ...]
) -> Iterator[tuple[EntitySet, tuple[float | None, ...]]]:
    """Members in the order of their distances, those that tie together; without a distance they come last."""
    if not rungs:
        yield members, distances
        return
    for distance, at in rungs[0]:
        here, members = members & at, members - at
        if here:
            yield from _nearest(here, rungs[1:], (*distances, float(distance)))
        if not members:
            return
    if members:
        yield from _nearest(members, rungs[1:], (*distances, None))


def _distances(run: Run, plan: Plan, narrowed: bool, near: _Near | None) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Per group with a threshold: its rows, and each key's distance expression over one that satisfies it."""
    said: dict[int, dict[str, Any]] = {}
    bound: dict[str, Any] = {}
    for key, expansion in enumerate(plan.thresholds):
        group = plan.group_of(expansion.bound.index)
        scan = plan.scan_of(group.relation)
        if scan.table is None:
            continue
        rows, values = judged_rows(run, scan, [group])
        bound |= values
        entry = said.setdefault(group.index, {"group": group, "rows": rows, "measures": [], "more": []})
        entry["measures"].append({"key": key, "expression": _expression(expansion)})
        if expansion.bound.numbers:
            bound[f"c{expansion.bound.index}_asked"] = expansion.bound.numbers[0]
    for entry in said.values():
        # A row that is far by one threshold may be near by another.
        if near and [m["key"] for m in entry["measures"]] == [near.key]:
            entry["more"] = [near.condition]
            bound |= near.bound
        elif narrowed:
            entry["more"] = ["_entity IN (SELECT ordinal FROM matched_set)"]
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
