"""The possible-worlds oracle: what holds in every completion of a tiny store, and what holds in some.

DESIGN section 3 in code, sharing nothing with the engine and nothing with `reference.py` but the reading of
single cells (`cells.py`). There is no third truth value here: each unknown cell is replaced by each of a few
values that realise every truth a constraint can take, and a row then simply is or is not what was asked.

What is unknown, and its completions (each cell on its own):

| cell | completions |
|---|---|
| empty or unreadable term; a surface on no term | every leaf (where `interior: exact`: term), or no term |
| a stored interior term | the leaves below it; itself where `interior: exact` |
| empty or unreadable text | every asked text, and a text nobody asked |
| empty or unreadable number | every asked number and its neighbours |
| a date | the asked boundaries and their neighbours inside the written span; any day when there is none |
| `period_to` left open, under `as_of` | open, or a day after the month |
| a withheld row; a row nobody looked for | any values, any time, (the second) or no such row |
| a row that somebody retired and its source still states | as stated, or no such row |
| an asked surface on no term | means only itself, one term, or everything: per constraint |

An entity's membership hangs on its own rows only, and cells complete independently, so completions are
enumerated per entity and row. A surface or an asked word standing in two places may mean two things here:
more worlds, so `certain` holds in fewer cases than it might; the engine makes the same assumption.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import product
from typing import Any

from tests.cells import Blank, days, fold, number, stated, value
from tests.said import NOTHING, Said, mentioned, placed

from closedset.mapping import Map
from closedset.pack import Axis, Pack, Relation

FROM, TO = "period_from", "period_to"
OPEN = "open"
NOBODY_ASKED = "\0"
ANY_TIME = "*in time*"
"""A made-up slot of rows that no date places in time: it completes to True or False."""

RETIRED = "*retired*"
"""A made-up slot of rows that somebody says are wrong."""

Month = tuple[int, int] | None
"""The first and the last day of the month asked."""

World = Mapping[str, Any]
"""A fully determined row: slot -> (surface, term) | folded text | Decimal | day | OPEN."""


@dataclass(frozen=True)
class Membership:
    """What the completions say of one entity."""

    in_every: bool
    in_some: bool


@dataclass(frozen=True)
class Ask:
    """A constraint that can run, with the pack's say on its slot. `texts` are the asked values."""

    slot: str
    op: str
    texts: tuple[str, ...]
    kind: str
    axis: Axis | None


def bound(request: Mapping[str, Any], pack: Pack) -> dict[str, list[Ask]]:
    """The required constraints that can run, by relation: preferences never remove anyone."""
    groups: dict[str, list[Ask]] = defaultdict(list)
    for asked in request["constraints"]:
        if asked.get("required", True) and (ask := runs(asked, pack)):
            groups[asked["relation"]].append(ask)
    return groups


def runs(asked: Mapping[str, Any], pack: Pack) -> Ask | None:
    """A constraint that names a known slot, and of a term slot one with a vocabulary."""
    relation = pack.relations.get(asked["relation"])
    slot = relation.slot(asked["slot"]) if relation else None
    axis = pack.axes[slot.axis] if slot and slot.axis else None
    if slot is None or (axis and not terms(axis)):
        return None
    texts = asked["value"] if asked["op"] == "in" else [asked["value"]]
    return Ask(asked["slot"], asked["op"], tuple(str(text).strip() for text in texts), slot.type, axis)


def slots_named_once(request: Mapping[str, Any], pack: Pack) -> bool:
    """Only then do worlds and answer agree both ways. `as_of` names the slots that date a row."""
    for relation, asks in bound(request, pack).items():
        named = [ask.slot for ask in asks]
        if request.get("as_of"):
            dates = pack.relations[relation].date_slots
            named += [
                *([FROM, TO] if pack.relations[relation].dated else []),
                *(dates if len(dates) == 1 else ()),
            ]
        if len(named) != len(set(named)):
            return False
    return True


def everything_asked(request: Mapping[str, Any], pack: Pack) -> bool:
    """Every required constraint runs, and where there is none, some preference does."""
    needed = [asked for asked in request["constraints"] if asked.get("required", True)]
    run = [asked for asked in needed or request["constraints"] if runs(asked, pack)]
    return len(run) == len(needed) if needed else bool(run)


# --- vocabulary, as meaning: a term is or is not under another ----------------------------------------


def terms(axis: Axis) -> list[str]:
    grown = [term for parent, kids in axis.tree.items() for term in (parent, *kids)]
    return list(dict.fromkeys([*axis.order, *axis.terms, *grown]))


def under(axis: Axis, term: str, above: str) -> bool:
    """Is `term` the same as `above`, or one of the terms below it?"""
    return term == above or any(under(axis, term, kid) for kid in axis.tree.get(above, ()))


def named(axis: Axis, text: str) -> str | None:
    """The term a spelling names."""
    for term in terms(axis):
        if fold(text) in map(fold, (term, axis.labels.get(term, term), *axis.synonyms.get(term, ()))):
            return term
    return None


def rung(axis: Axis, term: str) -> int | None:
    return next((i for i, step in enumerate(axis.order) if under(axis, term, step)), None)


def stands_for(axis: Axis, term: str) -> list[str]:
    """What a recorded term may be: some leaf below it, or exactly itself."""
    kids = axis.tree.get(term, ())
    if axis.interior == "exact" or not kids:
        return [term]
    return [leaf for kid in kids for leaf in stands_for(axis, kid)]


# --- one row's completions ----------------------------------------------------------------------------


def term_values(axis: Axis, surface: str | Blank) -> list[Any]:
    if isinstance(surface, str) and (term := named(axis, surface)):
        return [(surface, leaf) for leaf in stands_for(axis, term)]
    shown = surface if isinstance(surface, str) else None
    every = [t for t in terms(axis) if axis.interior == "exact" or not axis.tree.get(t)]
    return [(shown, term) for term in [*every, None]]


def day_values(written: Any, points: Iterable[int]) -> list[int]:
    """Days that tell the asked boundaries apart, inside the written span (or anywhere)."""
    near = {day + step for day in points for step in (-1, 0, 1)}
    if isinstance(written, tuple):
        return sorted({*written, *(day for day in near if written[0] <= day <= written[1])})
    return sorted(near | {0})


def completions(
    row: Mapping[str, Any] | None, relation: Relation, asks: Sequence[Ask], month: Month
) -> list[dict[str, Any]]:
    """Every row that `row` may really be, in the slots that matter. None: nothing is known of the row."""
    points: dict[str, set[int]] = defaultdict(lambda: set(month or ()))
    numbers: dict[str, set[Decimal]] = defaultdict(set)
    for ask in asks:
        for text in ask.texts:
            if ask.kind == "date":
                points[ask.slot] |= set(days(text) or ())
            if ask.kind == "number":
                numbers[ask.slot].add(number(text) or Decimal(0))
    choices: dict[str, list[Any]] = {}
    for ask in asks:
        written = Blank.EMPTY if row is None else row[ask.slot]
        if ask.axis is not None:
            choices[ask.slot] = term_values(ask.axis, written)
        elif ask.kind == "date":
            choices[ask.slot] = day_values(written, points[ask.slot])
        elif ask.kind == "number":
            near = {n + step for n in numbers[ask.slot] for step in map(Decimal, ("0", "-1e-9", "1e-9"))}
            choices[ask.slot] = sorted(near) if isinstance(written, Blank) else [written]
        else:
            texts = {fold(t) for other in asks if other.slot == ask.slot for t in other.texts}
            choices[ask.slot] = [*sorted(texts), NOBODY_ASKED] if isinstance(written, Blank) else [fold(written)]
    if month is not None:
        place_in_time(choices, row, relation, points, month)
    return [dict(zip(choices, values, strict=True)) for values in product(*choices.values())]


def place_in_time(
    choices: dict[str, list[Any]],
    row: Mapping[str, Any] | None,
    relation: Relation,
    points: Mapping[str, set[int]],
    month: tuple[int, int],
) -> None:
    """Add the cells that date the row: its period, else its relation's one date slot, else nothing does."""
    if row is not None and states_a_period(row):
        choices[FROM] = day_values(row[FROM], points[FROM])
        choices[TO] = day_values(row[TO], points[TO])
        if row[TO] is Blank.EMPTY:
            choices[TO] = [OPEN, *(day for day in choices[TO] if day > month[1])]
    elif row is not None and len(relation.date_slots) == 1:
        (slot,) = relation.date_slots
        choices[slot] = day_values(row[slot], points[slot])
    else:
        choices[ANY_TIME] = [True, False]


def states_a_period(row: Mapping[str, Any]) -> bool:
    return any(row.get(name, Blank.EMPTY) is not Blank.EMPTY for name in (FROM, TO))


# --- is a fully determined row what was asked? --------------------------------------------------------


def in_time(world: World, relation: Relation, month: Month, dated: bool) -> bool:
    if month is None:
        return True
    if ANY_TIME in world:
        return bool(world[ANY_TIME])
    if dated:
        return bool(world[FROM] <= month[1] and (world[TO] == OPEN or world[TO] > month[1]))
    return bool(world[relation.date_slots[0]] <= month[1])


def answers(world: World, ask: Ask, meant: frozenset[str | None]) -> bool:
    """One constraint on one determined value. `meant`: what an asked word on no term is taken to cover."""
    if ask.op == "ne":
        return not any(equals(world[ask.slot], ask, text, meant) for text in ask.texts)
    if ask.op in ("eq", "in"):
        return any(equals(world[ask.slot], ask, text, meant) for text in ask.texts)
    return past(world[ask.slot], ask, ask.texts[0], meant)


def equals(found: Any, ask: Ask, text: str, meant: frozenset[str | None]) -> bool:
    if ask.axis is not None:
        asked, (surface, term) = named(ask.axis, text), found
        if asked is None:
            return term in meant or (surface is not None and fold(surface) == fold(text))
        return term is not None and under(ask.axis, term, asked)
    if ask.kind == "date":
        first, last = days(text) or (0, 0)
        return found != OPEN and bool(first <= found <= last)
    return bool(found == (number(text) if ask.kind == "number" else fold(text)))


def past(found: Any, ask: Ask, text: str, meant: frozenset[str | None]) -> bool:
    up = ask.op == "gte"
    if ask.axis is not None:
        asked, (surface, term) = named(ask.axis, text), found
        if asked is None:
            return term in meant or (surface is not None and fold(surface) == fold(text))
        here, there = rung(ask.axis, term) if term else None, rung(ask.axis, asked)
        return here is not None and there is not None and (here >= there if up else here <= there)
    if ask.kind == "date":
        first, last = days(text) or (0, 0)
        if found == OPEN:
            return up
        return bool(found >= first if up else found <= last)
    limit = number(text)
    return bool(found >= limit if up else found <= limit)


def meanings(ask: Ask) -> list[frozenset[str | None]]:
    """What the asked words on no term may cover, beside values spelled the same."""
    if ask.axis is None or all(named(ask.axis, text) for text in ask.texts):
        return [frozenset()]
    every: list[str | None] = [*terms(ask.axis), None]
    return [frozenset(), *(frozenset([term]) for term in every), frozenset(every)]


# --- membership ---------------------------------------------------------------------------------------


def memberships(
    pack: Pack,
    mapping: Map,
    tables: Mapping[str, Sequence[Mapping[str, str | None]]],
    request: Mapping[str, Any],
    withheld: Mapping[str, Sequence[str]] | None = None,
    said: Said = NOTHING,
) -> dict[str, Membership]:
    """For every entity: is it a member in every completion of the store, and in some?"""
    pack, said = placed(pack, said), said.among(mentioned(mapping, tables, withheld or {}))
    as_of = request.get("as_of")
    month = days(as_of) if as_of else None
    groups = bound(request, pack)
    held, covered = read(pack, mapping, tables, withheld or {}, said)
    listed = {_id(record, e.entity, mapping.null) for e in mapping.entities for record in tables[e.table]} - {""}
    universe = {said.who(one) for one in listed}.union(*covered.values())
    for name, ids in said.coverage:
        covered[name] |= {said.who(one) for one in ids} & universe
    # Of a request none of which could run, nothing is claimed: everybody's membership is open.
    nothing_ran = not groups and not everything_asked(request, pack)
    found = {}
    for entity in universe:
        every, some = not nothing_ran, True
        for name, asks in groups.items():
            rows = held[name].get(entity, [])
            guaranteed, possible = group_membership(rows, pack.relations[name], asks, month)
            if entity not in covered[name]:
                guaranteed, possible = False, group_membership([None], pack.relations[name], asks, month)[1]
            every, some = every and guaranteed, some and possible
        found[entity] = Membership(every, some)
    return found


def group_membership(
    rows: Sequence[Mapping[str, Any] | None], relation: Relation, asks: Sequence[Ask], month: Month
) -> tuple[bool, bool]:
    """(some row answers in every world, some row answers in some world); rows complete independently."""
    every, some = True, False
    for meant in product(*map(meanings, asks)):
        truths = []
        for row in rows:
            dated = row is not None and states_a_period(row)
            possible = {
                in_time(world, relation, month, dated)
                and all(answers(world, ask, m) for ask, m in zip(asks, meant, strict=True))
                for world in completions(row, relation, asks, month)
            }
            if row is not None and row.get(RETIRED):
                possible.add(False)
            truths.append(possible)
        every = every and any(False not in possible for possible in truths)
        some = some or any(True in possible for possible in truths)
    return every, some


def read(
    pack: Pack,
    mapping: Map,
    tables: Mapping[str, Sequence[Mapping[str, str | None]]],
    withheld: Mapping[str, Sequence[str]],
    said: Said,
) -> tuple[dict[str, dict[str, list[Any]]], dict[str, set[str]]]:
    """Each relation's rows by entity (None for a withheld one), and who was looked at by a source."""
    retired = [(relation, table, tables[table][place]) for relation, table, place in said.corrections]
    held: dict[str, dict[str, list[Any]]] = {name: defaultdict(list) for name in pack.relations}
    for entry in mapping.rows:
        cells = entry.cells()
        for record in tables[entry.table]:
            row: dict[str, Any] = {
                name: value(slot.type, cells.get(name), stated(cells.get(name), record, mapping.null))
                for name, slot in pack.relations[entry.relation].askable().items()
            }
            if isinstance(row.get(FROM), tuple) and isinstance(row[TO], tuple) and row[FROM][0] > row[TO][1]:
                row[FROM] = row[TO] = Blank.UNREADABLE
            row[RETIRED] = any(
                (relation, table) == (entry.relation, entry.table)
                and all((wrong.get(column) or "") == (record.get(column) or "") for column in {*wrong, *record})
                for relation, table, wrong in retired
            )
            held[entry.relation][said.who(_id(record, entry.entity, mapping.null))].append(row)
    for name, entities in withheld.items():
        for entity in entities:
            held[name][said.who(entity)].append(None)
    covered = {name: set(rows) - {""} for name, rows in held.items()}
    for name, statement in mapping.statements():
        ids = {_id(record, statement.column, mapping.null) for record in tables[statement.table]} - {""}
        covered[name] |= {said.who(one) for one in ids}
    return held, covered


def _id(record: Mapping[str, str | None], column: str, markers: Sequence[str]) -> str:
    text = (record.get(column) or "").strip()
    return "" if text in markers else text


# --- does an answer say what the worlds say? ----------------------------------------------------------


def contradiction(
    found: Mapping[str, Membership], verdicts: Mapping[str, str], licensed: bool, *, exact: bool, whole: bool
) -> str | None:
    """The first sentence of an answer that some world contradicts, or None.

    `exact`: the request names each slot once, so the answer must also withhold no more than the worlds do.
    `whole`: nothing asked went unasked and no row is of an unknown entity.
    """
    if set(found) != set(verdicts):
        return f"the universe is {sorted(found)}, the answer speaks of {sorted(verdicts)}"
    for entity, (member, verdict) in sorted((e, (m, verdicts[e])) for e, m in found.items()):
        if verdict == "matched" and not member.in_every:
            return f"{entity} is matched, but in some world is no member"
        if verdict == "none" and member.in_some:
            return f"{entity} is none, but in some world is a member"
        if exact and verdict != "matched" and member.in_every:
            return f"{entity} is a member in every world, but {verdict}"
        if exact and verdict != "none" and not member.in_some:
            return f"{entity} is a member in no world, but {verdict}"
    if not found:
        return (
            None  # Of nobody no world says anything; that an empty store is not called complete is a rule of its own.
        )
    is_open = any(member.in_some and not member.in_every for member in found.values())
    if licensed and (is_open or not whole):
        return "the licence is granted, but a membership is open or something went unasked"
    if exact and not licensed and whole and not is_open:
        return "the licence is withheld, but no membership is open and all was asked"
    return None
