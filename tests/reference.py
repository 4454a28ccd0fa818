"""The answer, written a second time: plain Python over lists of rows, to be read as the specification.

It shares with the engine only the declarations `closedset.pack.Pack` and `closedset.mapping.Map`. Folding and
cell reading (`tests/cells.py`, which `tests/worlds.py` uses too), vocabulary and coverage
(`tests/reference_store.py`), truths, verdicts, licence and ranking are its own. No SQL, no DuckDB, no Arrow.

    answer(pack, mapping, tables, request) -> Answer

`tables` holds every table the map names, as rows of texts (None or "" = nothing recorded), those that a
SELECT defines as already computed. What a loader could not read is told by two arguments: `withheld`
(relation -> the entity of each unreadable row) and `unattributed` (relation -> rows tied to nobody); what people
added between loads by a third, `said`.
The order below is the order of the answer: constraints, truths, time, verdicts, licence, ranking.

One file, though long: it is the specification, and is read from top to bottom.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Any

from tests.cells import Blank, Span, days, fold, number
from tests.reference_store import PERIOD, Row, Store, Tables, Terms, Value, read_store
from tests.said import NOTHING, Said, placed

__all__ = ["VERDICTS", "Answer", "Delivered", "Refused", "Store", "answer", "answer_over", "read_store"]

from closedset.mapping import Map
from closedset.pack import Pack, Relation

MATCHED, NONE, NOT_RECORDED, UNDETERMINED = VERDICTS = ("matched", "none", "not_recorded", "undetermined")


class Refused(Exception):
    """The request never made sense. `title` is the contract's where the contract prints one."""

    def __init__(self, title: str) -> None:
        super().__init__(title)
        self.title = title


INVALID = "a constraint asks its slot something its type cannot answer"


# --- constraints: read, refused, or left unbound ------------------------------------------------------


@dataclass(frozen=True)
class Constraint:
    """A bound constraint. `meaning` holds the asked values as its type reads them; for a term slot that is
    the expansion, and `unknown` holds the folded asked surfaces that are on no term."""

    index: int
    relation: str
    slot: str
    op: str
    required: bool
    kind: str
    meaning: tuple[Any, ...]
    axis: Terms | None = None
    unknown: frozenset[str] = frozenset()


ALLOWED = {"relation", "slot", "op", "value", "required", "brief_span", "quote", "span_relocated_from"}
OPS = {"eq": "=", "ne": "≠", "in": "in", "gte": "≥", "lte": "≤"}


def refuse_malformed(constraints: Any) -> None:
    """Shape alone, before any constraint is understood."""
    if constraints == []:
        raise Refused("`constraints` is empty")
    for i, asked in enumerate(constraints):
        values = asked.get("value") if asked.get("op") == "in" else [asked.get("value")]
        good = (
            set(asked) <= ALLOWED
            and all(isinstance(asked.get(key), str) and asked[key] for key in ("relation", "slot"))
            and asked.get("op") in OPS
            and isinstance(values, list)
            and bool(values)
            and all(isinstance(v, (str, int, float)) and not isinstance(v, bool) for v in values)
            and all(str(v).strip() for v in values)
            and isinstance(asked.get("required", True), bool)
        )
        if not good:
            raise Refused(f"constraints[{i}] is malformed")


def bind(index: int, asked: Mapping[str, Any], pack: Pack) -> Constraint | str:
    """A bound constraint, or the reason why it cannot run. Refuses what its slot's type cannot answer."""
    relation, slot, op = asked["relation"], asked["slot"], asked["op"]
    if relation not in pack.relations:
        return f"relation_unknown:{relation}"
    declared = pack.relations[relation].slot(slot)
    if declared is None:
        return f"slot_unknown:{slot}"
    texts = [str(v).strip() for v in asked["value"]] if op == "in" else [str(asked["value"]).strip()]
    given = (index, relation, slot, op, asked.get("required", True), declared.type)
    threshold = op in ("gte", "lte")
    if declared.type == "text":
        if threshold:
            raise Refused(INVALID)
        return Constraint(*given, tuple(fold(text) for text in texts))
    if declared.type != "term":
        read = [number(text) if declared.type == "number" else days(text) for text in texts]
        if None in read:
            raise Refused(INVALID)
        return Constraint(*given, tuple(read))
    axis = Terms(declared.axis or "", pack.axes[declared.axis or ""])
    if threshold and not axis.order:
        raise Refused(INVALID)
    if not axis.declared:
        return f"vocabulary_unbound:{slot}"
    terms = [axis.names[fold(text)] for text in texts if fold(text) in axis.names]
    if threshold and any(term not in axis.rungs for term in terms):
        raise Refused(INVALID)
    meaning = [other for term in terms for other in expand(axis, op, term)]
    unknown = frozenset(fold(text) for text in texts) - axis.names.keys()
    return Constraint(*given, tuple(dict.fromkeys(meaning)), axis, unknown)


def expand(axis: Terms, op: str, term: str) -> list[str]:
    """The terms that answer to an asked term: it and its descendants, or every term at or past its rung."""
    if op == "gte":
        return [t for t in axis.declared if axis.rungs.get(t, -1) >= axis.rungs[term]]
    if op == "lte":
        return [t for t in axis.declared if axis.rungs.get(t, len(axis.order)) <= axis.rungs[term]]
    return [term, *axis.below[term]]


def expansion_lines(asked: Mapping[str, Any], bound: Constraint) -> list[str]:
    """What was asked, as it was understood: one line a value."""
    texts = [str(v) for v in asked["value"]] if bound.op == "in" else [str(asked["value"])]
    if bound.axis is None:
        shown = f"[{', '.join(texts)}]" if bound.op == "in" else texts[0]
        return [f"{bound.slot}: {OPS[bound.op]} {shown}"]
    lines = []
    for text in texts:
        term = bound.axis.names.get(fold(text))
        if term is None:
            lines.append(f"{bound.slot}: {text} is on no term of axis {bound.axis.name}")
            continue
        found = expand(bound.axis, bound.op, term)
        synonym = fold(text) != fold(term)
        said, shown = text if synonym else term, f"{{{', '.join(found)}}}"
        if bound.op in ("gte", "lte"):
            lines.append(f"{bound.slot}: {OPS[bound.op]} {said} → {shown} via order")
        elif len(found) > 1:
            lines.append(f"{bound.slot}: {said} → {shown} via {'synonym and ' if synonym else ''}hierarchy")
        elif synonym:
            lines.append(f"{bound.slot}: {said} → {shown} via synonym")
        else:
            lines.append(f"{bound.slot}: {said} is a term of axis {bound.axis.name}")
    return lines


# --- the truth of one constraint on one row: true, false or unknown (None) and why --------------------

Judged = tuple[bool | None, frozenset[str]]
TRUE: Judged = (True, frozenset())
FALSE: Judged = (False, frozenset())


def unknown(*codes: str) -> Judged:
    return None, frozenset(codes)


def known(truth: bool | None, code: str) -> Judged:
    """A truth, with the reason to give should it be unknown."""
    return unknown(code) if truth is None else (truth, frozenset())


def both(parts: Iterable[Judged]) -> Judged:
    """SQL's AND; when it is unknown, every unknown part is a reason."""
    listed = list(parts)
    if any(truth is False for truth, _ in listed):
        return FALSE
    if all(truth for truth, _ in listed):
        return TRUE
    return unknown(*(code for truth, codes in listed if truth is None for code in codes))


def judge(row: Row, asked: Constraint) -> Judged:
    if row.withheld:
        return unknown(f"withheld_rows_unanswerable:{row.relation}")
    truth, codes = judge_stated(row, asked)
    if row.retired and truth is not False:
        # Its source states it and somebody says it is wrong: it can be ruled out, but never shown to hold.
        return unknown(f"corrected_rows_unanswerable:{row.relation}", *codes)
    return truth, codes


def judge_stated(row: Row, asked: Constraint) -> Judged:
    """As the source states the row."""
    stored = row.values[asked.slot]
    if stored is Blank.UNREADABLE:
        return unknown(f"slot_unreadable_rows_unanswerable:{row.relation}")
    if stored is Blank.EMPTY:
        kind = "open_period" if asked.slot in PERIOD else "slot_unrecorded"
        return unknown(f"{kind}_rows_unanswerable:{row.relation}")
    truth, codes = by_kind(stored, asked)
    return (not truth if asked.op == "ne" and truth is not None else truth), codes


def by_kind(stored: Value, asked: Constraint) -> Judged:
    """As judged before `ne` turns it round."""
    if asked.axis is not None:
        return judge_term(str(stored), asked, asked.axis)
    if isinstance(stored, tuple):
        return known(judge_days(stored, asked.op, asked.meaning), f"undated_rows_unanswerable:{asked.relation}")
    if isinstance(stored, Decimal) and asked.op in ("gte", "lte"):
        limit = asked.meaning[0]
        return (stored >= limit if asked.op == "gte" else stored <= limit), frozenset()
    return (fold(stored) if isinstance(stored, str) else stored) in asked.meaning, frozenset()


def judge_term(surface: str, asked: Constraint, axis: Terms) -> Judged:
    """True in the expansion (every leaf it may stand for), false outside it, else unknown."""
    if fold(surface) in asked.unknown:
        return TRUE
    term, expansion = axis.names.get(fold(surface)), set(asked.meaning)
    leaves = axis.leaves(term) if term is not None else set()
    if term in expansion or (leaves and leaves <= expansion):
        return TRUE
    if asked.unknown:
        return unknown(f"vocabulary_unknown_surface:{asked.slot}")
    if term is None:
        return unknown(f"vocabulary_unplaced:{asked.slot}")
    return unknown(f"vocabulary_coarse:{asked.slot}") if leaves & expansion else FALSE


def judge_days(stored: Span, op: str, asked: Sequence[Span]) -> bool | None:
    """Does every day the date may mean answer (True), no such day (False), or some (None)?"""
    first, last = stored
    if op == "gte":
        return True if first >= asked[0][0] else False if last < asked[0][0] else None
    if op == "lte":
        return True if last <= asked[0][1] else False if first > asked[0][1] else None
    wanted = {day for start, end in asked for day in range(max(start, first), min(end, last) + 1)}
    return True if len(wanted) == last - first + 1 else None if wanted else False


# --- the time test: does a row count in the month asked? ----------------------------------------------


def month_of(as_of: str) -> Span:
    found = days(as_of) if re.fullmatch(r"[0-9]{4}-[0-9]{2}", as_of) else None
    if found is None:
        raise Refused("`as_of` is not a month")
    return found


def begun_by(written: Value, month: Span) -> bool | None:
    """Is the date, cut to its month, in the month asked or before it? A span across its end is unknown."""
    if not isinstance(written, tuple):
        return None
    return True if written[1] <= month[1] else False if written[0] > month[1] else None


def judge_time(row: Row, relation: Relation, month: Span | None) -> Judged:
    if month is None:
        return TRUE
    if row.withheld:
        return unknown(f"withheld_rows_unanswerable:{row.relation}")
    if row.dated:
        begun, ended = (begun_by(row.values[name], month) for name in PERIOD)
        if row.values[PERIOD[1]] is Blank.EMPTY:
            ended = False
        truths = [begun, None if ended is None else not ended]
    else:
        truths = [begun_by(row.values[name], month) for name in relation.date_slots]
        truths = truths if len(truths) == 1 else [None]
    return both(known(truth, f"undated_rows_unanswerable:{row.relation}") for truth in truths)


def time_rule(relation: Relation, as_of: str | None) -> dict[str, str | None] | None:
    if as_of is None:
        return None
    slots = relation.date_slots
    rule = f"dated rows: period_from ≤ {as_of} and (period_to open or period_to > {as_of}); undated rows"
    if len(slots) == 1:
        rule += (
            f": current, and the whole of {slots[0]} ≤ {as_of} (a {slots[0]} whose span straddles {as_of}, "
            "such as a bare year, is unanswerable)"
        )
        return {"rule": rule, "date_slot": slots[0]}
    many = "no date slot" if not slots else f"{len(slots)} date slots ({', '.join(slots)})"
    rule += f" cannot be placed at {as_of}: the relation declares {many} — unanswerable"
    return {"rule": rule, "date_slot": None}


# --- groups and verdicts ------------------------------------------------------------------------------


@dataclass
class Group:
    """The constraints one row of a relation has to satisfy. A preference on a relation that also has a
    required group is satisfied by a row that satisfies both, so it `tests` the constraints of both."""

    index: int
    relation: str
    required: bool
    own: list[Constraint]
    tests: list[Constraint]
    rows: dict[str, list[tuple[Row, Judged]]] = field(default_factory=dict)
    verdicts: dict[str, str] = field(default_factory=dict)

    def true_rows(self, entity: str) -> list[Row]:
        return [row for row, (truth, _) in self.rows.get(entity, []) if truth]

    def unknown_rows(self, entity: str) -> list[tuple[Row, Judged]]:
        return [(row, judged) for row, judged in self.rows.get(entity, []) if judged[0] is None]


def form_groups(bound: Sequence[Constraint]) -> list[Group]:
    keyed: dict[tuple[str, bool], list[Constraint]] = defaultdict(list)
    for one in bound:
        keyed[one.relation, one.required].append(one)
    return [
        Group(i, relation, required, own, own if required else [*keyed.get((relation, True), []), *own])
        for i, ((relation, required), own) in enumerate(list(keyed.items()))
    ]


def verdict(truths: Iterable[bool | None], covered: bool) -> str:
    """One entity in one group: a true row, else an unknown row, else looked at, else never looked at."""
    found = set(truths)
    return MATCHED if True in found else UNDETERMINED if None in found else NONE if covered else NOT_RECORDED


def overall(verdicts: Sequence[str]) -> str:
    """All matched; else some none; else some not recorded; else undetermined."""
    for one in (NONE, NOT_RECORDED, UNDETERMINED):
        if one in verdicts:
            return one
    return MATCHED


def partition(
    store: Store, relation: str, truth: Callable[[Row], Judged]
) -> tuple[dict[str, list[tuple[Row, Judged]]], dict[str, str]]:
    """Every entity's judged rows of a relation, and its verdict."""
    rows: dict[str, list[tuple[Row, Judged]]] = defaultdict(list)
    for row in store.rows[relation]:
        rows[row.entity].append((row, truth(row)))
    return rows, {
        entity: verdict((judged[0] for _, judged in rows.get(entity, [])), entity in store.covered[relation])
        for entity in store.universe
    }


def tally(verdicts: Mapping[str, str]) -> dict[str, int]:
    counted = Counter(verdicts.values())
    return {name: counted[name] for name in VERDICTS}


def ids(verdicts: Mapping[str, str], name: str) -> list[str]:
    return sorted(entity for entity, one in verdicts.items() if one == name)


def describe_group(group: Group, store: Store, relation: Relation, as_of: str | None) -> dict[str, Any]:
    month = month_of(as_of) if as_of else None
    true = [row for row in store.rows[group.relation] if both(judge(row, c) for c in group.tests)[0]]
    times = Counter(judge_time(row, relation, month)[0] for row in true)
    holding = {row.entity for row in store.rows[group.relation]}
    covered = store.covered[group.relation]
    slots = {c.slot for c in group.tests} - set(PERIOD)
    blank = {
        slot
        for entity in ids(group.verdicts, UNDETERMINED)
        for row, _ in group.unknown_rows(entity)
        for slot in slots
        if row.values.get(slot) is Blank.EMPTY
    }
    return {
        "index": group.index,
        "relation": group.relation,
        "required": group.required,
        "constraints": [c.index for c in group.own],
        "covered": len(covered),
        **tally(group.verdicts),
        "active_rows": times[True],
        "inactive_rows": times[False],
        "undated_rows": sum(not row.dated for row in true),
        "unanswerable_rows": times[None],
        "unrecorded_slots": sorted(blank),
        "absent": {"none": sorted(covered - holding), "not_recorded": sorted(store.universe - covered)},
        "split": {
            "none": len(covered - holding),
            "not_recorded": len(store.universe - covered),
            "recorded": len(holding),
        },
        "ids": {name: ids(group.verdicts, name) for name in VERDICTS[1:]},
        "time_test": time_rule(relation, as_of),
    }


# --- the licence: every reason why an entity is open, or part of the request unasked ------------------

REASONS = (
    "constraint_unbound",
    "vocabulary_unknown_surface",
    "vocabulary_unplaced",
    "vocabulary_coarse",
    "entities_not_recorded",
    "relation_not_recorded",
    "undated_rows_unanswerable",
    "open_period_rows_unanswerable",
    "corrected_rows_unanswerable",
    "withheld_rows_unanswerable",
    "unattributed_rows_withheld",
    "slot_unrecorded_rows_unanswerable",
    "slot_unreadable_rows_unanswerable",
)


def reasons(
    groups: Sequence[Group], verdicts: Mapping[str, str], store: Store, unasked: Sequence[int]
) -> list[tuple[str, int | None]]:
    """(code, how many entities it leaves open), in the contract's order; empty means licensed."""
    open_by: dict[str, set[str]] = defaultdict(set)
    required = [group for group in groups if group.required]
    for entity, one in verdicts.items():
        for group in required if one in (NOT_RECORDED, UNDETERMINED) else ():
            if group.verdicts[entity] == NOT_RECORDED:
                nobody = f"relation_not_recorded:{group.relation}"
                open_by["entities_not_recorded" if store.covered[group.relation] else nobody].add(entity)
            elif group.verdicts[entity] == UNDETERMINED:
                for code in {code for _, (_, codes) in group.unknown_rows(entity) for code in codes}:
                    open_by[code].add(entity)
    if not verdicts:
        # Nobody is open in an empty store; but a relation nobody was ever looked at for was not asked of anybody.
        for group in required:
            open_by[f"relation_not_recorded:{group.relation}"] = set()
    found: dict[str, int | None] = {code: len(entities) for code, entities in open_by.items()}
    for name in {group.relation for group in required if store.unattributed[group.relation]}:
        found[f"unattributed_rows_withheld:{name}"] = store.unattributed[name]
    found |= {f"constraint_unbound:{i}": None for i in unasked}

    def place(code: str) -> tuple[int, int, str]:
        kind, _, name = code.partition(":")
        return REASONS.index(kind), int(name) if kind == "constraint_unbound" else 0, name

    return [(code, found[code]) for code in sorted(found, key=place)]


# --- ranking, and the rows that show a match ----------------------------------------------------------


def distance(row: Row, asked: Constraint) -> float | None:
    """How far past the threshold a row stands: rungs, units or whole months; None when it has no rung."""
    stored = row.values[asked.slot]
    if asked.axis is not None:
        surface = fold(str(stored))
        if surface in asked.unknown:
            return 0.0
        rung = asked.axis.rungs.get(asked.axis.names[surface])
        ends = [asked.axis.rungs[term] for term in asked.meaning]
        return None if rung is None else float(abs(rung - (min(ends) if asked.op == "gte" else max(ends))))
    (limit,) = asked.meaning
    if isinstance(stored, tuple):
        end = 0 if asked.op == "gte" else 1
        return float(abs(months(stored[end]) - months(limit[end])))
    assert isinstance(stored, Decimal)
    return float(abs(stored - limit))


def months(day: int) -> int:
    return date.fromordinal(day).year * 12 + date.fromordinal(day).month


Ranked = tuple[str, int, list[float | None]]


def rank(matched: Iterable[str], groups: Sequence[Group], bound: Sequence[Constraint]) -> list[Ranked]:
    """Optional groups satisfied (most first), each threshold's distance (nearest first, None last), id."""
    home = {c.index: group for group in groups for c in group.own}
    keyed = []
    for entity in matched:
        liked = sum(group.verdicts[entity] == MATCHED for group in groups if not group.required)
        near: list[float | None] = []
        for asked in bound:
            if asked.op in ("gte", "lte"):
                found = [distance(row, asked) for row in home[asked.index].true_rows(entity)]
                near.append(min((d for d in found if d is not None), default=None))
        keyed.append((entity, liked, near))
    return sorted(keyed, key=lambda k: (-k[1], [(d is None, d or 0.0) for d in k[2]], k[0]))


@dataclass(frozen=True)
class Delivered:
    """A row that satisfies a group, as delivered with a match."""

    relation: str
    table: str
    ordinal: int
    slots: Mapping[str, str | None]
    satisfies_groups: list[int]
    entity_id: str


def deliver(entity: str, groups: Sequence[Group]) -> list[Delivered]:
    """Each row once, by the first group it satisfies, then in source order."""
    satisfied: dict[int, tuple[Row, list[int]]] = {}
    for group in groups:
        for row in group.true_rows(entity):
            satisfied.setdefault(id(row), (row, []))[1].append(group.index)
    order = {id(row): i for group in groups for i, (row, _) in enumerate(group.rows.get(entity, []))}
    ranked = sorted(satisfied.items(), key=lambda item: (item[1][1][0], order[item[0]]))
    return [
        Delivered(row.relation, row.table, row.ordinal, dict(sorted(row.surfaces.items())), which, row.stated)
        for _, (row, which) in ranked
    ]


# --- the answer ---------------------------------------------------------------------------------------


@dataclass
class Answer:
    verdicts: dict[str, str]
    bound: bool
    unbound_because: str | None
    unbound: list[tuple[int, str]]
    counts: dict[str, int]
    per_constraint: list[dict[str, Any]]
    groups: list[dict[str, Any]]
    reasons: list[tuple[str, int | None]]
    ranking: list[Ranked]
    rows: dict[str, list[Delivered]]
    expansion: list[str]
    vouched: dict[str, set[str]]

    @property
    def licensed(self) -> bool:
        """Every entity satisfying the request, as run, is in matched (a page may still hold fewer)."""
        return not self.reasons


def answer(
    pack: Pack,
    mapping: Map,
    tables: Tables,
    request: Mapping[str, Any],
    withheld: Mapping[str, Sequence[str]] | None = None,
    unattributed: Mapping[str, int] | None = None,
    said: Said = NOTHING,
) -> Answer:
    """The whole answer to one request of constraints. Refuses (Refused) what never made sense."""
    pack = placed(pack, said)
    return answer_over(read_store(pack, mapping, tables, withheld, unattributed, said), pack, request)


def answer_over(store: Store, pack: Pack, request: Mapping[str, Any]) -> Answer:
    """The same over a store that was read already."""
    constraints, as_of = request["constraints"], request.get("as_of")
    refuse_malformed(constraints)
    month = month_of(as_of) if as_of is not None else None
    tried = [bind(i, asked, pack) for i, asked in enumerate(constraints)]
    bound = [one for one in tried if isinstance(one, Constraint)]
    gaps = [(i, one) for i, one in enumerate(tried) if isinstance(one, str)]
    needed = [i for i, asked in enumerate(constraints) if asked.get("required", True)]

    groups = form_groups(bound)
    for group in groups:
        relation = pack.relations[group.relation]

        def truth(row: Row, tests: list[Constraint] = group.tests, relation: Relation = relation) -> Judged:
            return both([*(judge(row, c) for c in tests), judge_time(row, relation, month)])

        group.rows, group.verdicts = partition(store, group.relation, truth)
    required = [group for group in groups if group.required]
    if bound and (required or not needed):
        verdicts = {e: overall([group.verdicts[e] for group in required]) for e in store.universe}
    else:
        verdicts = dict.fromkeys(store.universe, UNDETERMINED)
    unasked = [i for i, _ in gaps if i in needed or not (needed or bound)]

    counts = tally(verdicts)
    ranking = rank([entity for entity, one in verdicts.items() if one == MATCHED], groups, bound)
    because = "no_constraint_bound" if pack.relations else "workspace_declares_no_relation"
    return Answer(
        verdicts=verdicts,
        bound=bool(bound),
        unbound_because=None if bound else because,
        unbound=gaps,
        counts={"universe": len(store.universe), **counts, "bound": counts[MATCHED] + counts[NONE]},
        per_constraint=[count_alone(i, one, store) for i, one in enumerate(tried)],
        groups=[describe_group(group, store, pack.relations[group.relation], as_of) for group in groups],
        reasons=reasons(groups, verdicts, store, unasked),
        ranking=ranking,
        rows={entity: deliver(entity, groups) for entity, _, _ in ranking},
        expansion=[line for c in bound for line in expansion_lines(constraints[c.index], c)],
        vouched=store.vouched,
    )


def count_alone(index: int, one: Constraint | str, store: Store) -> dict[str, Any]:
    """A constraint by itself, whatever the month: its rows, and the verdicts of a group of it alone."""
    if isinstance(one, str):
        return {"index": index, "status": "unbound", "rows": None, **dict.fromkeys(VERDICTS)}
    rows, verdicts = partition(store, one.relation, lambda row: judge(row, one))
    true = sum(judged[0] is True for listed in rows.values() for _, judged in listed)
    return {"index": index, "status": "bound", "rows": true, **tally(verdicts)}
