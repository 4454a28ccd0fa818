"""Why an entity is in another set in another generation: the rows, coverage and vocabulary that differ and decide.

A verdict in a group rests on three things: the truth of the rows, the rows that no reader could read, and whether
anybody looked. Where two verdicts differ, one of the three differs, so a cause is always found.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from closedset.plan import Group
from closedset.side import Fact, Grounds, Side

What = Literal[
    "row gained", "row lost", "row changed", "row read otherwise", "row judged otherwise", "row retired",
    "row restored", "withheld row gained", "withheld row lost", "coverage gained", "coverage lost",
    "id merged", "merge undone", "entity gained", "entity lost", "condition runs otherwise",
]  # fmt: skip
#: So many pairs of rows are compared for how alike they are; beyond, a row has changed only where it stands.
_COMPARED = 10_000


@dataclass(frozen=True)
class Stated:
    """One asked slot of a row that differs: its cell before and after, and what each is taken for (None: no row)."""

    slot: str
    was: str | None = None
    now: str | None = None
    was_means: str | None = None
    now_means: str | None = None


@dataclass(frozen=True)
class Cause:
    """One difference between two generations that moves an entity. `was_at` and `now_at` say where the row stands."""

    what: What
    relation: str | None = None
    was_at: str | None = None
    now_at: str | None = None
    slots: tuple[Stated, ...] = ()
    detail: str = ""

    @property
    def said(self) -> str:
        """The cause in one line."""
        subject = f"{self.relation}: {self.what}" if self.relation else self.what
        where = " → ".join(dict.fromkeys(at for at in (self.was_at, self.now_at) if at))
        parts = [subject, ", ".join(_SAID[self.what](s) for s in self.slots), self.detail]
        return ": ".join(part for part in parts if part) + (f" ({where})" if where else "")


def _cell(cell: str | None, means: str | None) -> str:
    odd = f" ({means})" if means in ("on no term", "unreadable") else ""
    return f"{cell!r}{odd}" if cell else "empty"


def _was(one: Stated) -> str:
    return f"{one.slot} {_cell(one.was, one.was_means)}"


def _now(one: Stated) -> str:
    return f"{one.slot} {_cell(one.now, one.now_means)}"


def _both(one: Stated) -> str:
    return f"{_was(one)} → {_cell(one.now, one.now_means)}"


def _read(one: Stated) -> str:
    return f"{one.slot} {one.now or ''!r} was {one.was_means}, is {one.now_means}"


_SAID = dict.fromkeys(get_args(What), _now) | {
    "row lost": _was,
    "row changed": _both,
    "row read otherwise": _read,
}


def groups(former: Side, latter: Side) -> list[tuple[Group, Group]]:
    """The required groups that both sides ask, by relation."""
    was, now = former.groups(), latter.groups()
    return [(was[relation], now[relation]) for relation in was if relation in now]


def everywhere(former: Side, latter: Side) -> tuple[Cause, ...]:
    """What changed for the question itself, and so for everybody: conditions that run in one generation only."""
    was = {u.index: u.reason for u in former.answer.unbound}
    now = {u.index: u.reason for u in latter.answer.unbound}
    found = []
    for index in sorted(was.keys() ^ now.keys()):
        side, reason = (former, was[index]) if index in was else (latter, now[index])
        said = f"condition {index} does not run in generation {side.catalog.generation} ({reason})"
        found.append(Cause("condition runs otherwise", detail=said))
    return tuple(found)


def known_otherwise(
    former: Side, latter: Side, was_at: Mapping[str, int], now_at: Mapping[str, int]
) -> Iterator[tuple[str, Cause]]:
    """Merges that begin or end, and entities that only one generation knows; `was_at` and `now_at` give ordinals."""
    was_into, was_gone = former.merged(list(was_at.values()), list(now_at.keys() - was_at.keys()))
    now_into, now_gone = latter.merged(list(now_at.values()), list(was_at.keys() - now_at.keys()))
    for entity_id in was_at.keys() & now_at.keys():
        was, now = was_into.get(was_at[entity_id], set()), now_into.get(now_at[entity_id], set())
        yield from ((entity_id, Cause("id merged", detail=f"{one} into {entity_id}")) for one in sorted(now - was))
        yield from ((entity_id, Cause("merge undone", detail=f"{one} into {entity_id}")) for one in sorted(was - now))
    lone: tuple[tuple[What, What, Side, set[str], dict[str, str]], ...] = (
        ("entity gained", "merge undone", latter, {*now_at} - {*was_at}, was_gone),
        ("entity lost", "id merged", former, {*was_at} - {*now_at}, now_gone),
    )
    for what, merge, side, ids, into in lone:
        named = side.naming(sorted(ids))
        for entity_id in sorted(ids):
            if entity_id in into:
                yield entity_id, Cause(merge, detail=f"{entity_id} into {into[entity_id]}")
            said = ", ".join(named.get(entity_id, ())) or "a row that could not be read"
            yield entity_id, Cause(what, detail=f"named by {said} in generation {side.catalog.generation}")


def in_group(former: Side, latter: Side, both: tuple[Group, Group], was: Grounds, now: Grounds) -> list[Cause]:
    """Why an entity's verdict in a group (of either side) is another: every difference that decides it, rows first."""
    if was.verdict == now.verdict:
        return []
    relation, covering = both[0].relation, was.covered != now.covered
    found = list(_rows(former, latter, both, was.rows, now.rows, covering))
    found += _texts("withheld row gained", relation, now.withheld, was.withheld)
    found += _texts("withheld row lost", relation, was.withheld, now.withheld)
    if covering:
        was_said, now_said = ([f"{c.declared_by} {c.source}, {c.said}" for c in g.covering] for g in (was, now))
        found += _texts("coverage gained", relation, now_said, was_said)
        found += _texts("coverage lost", relation, was_said, now_said)
    return found


def _texts(what: What, relation: str, more: Iterable[str], less: Iterable[str]) -> list[Cause]:
    return [Cause(what, relation, detail=text) for text in (Counter(more) - Counter(less)).elements()]


def _rows(
    former: Side,
    latter: Side,
    both: tuple[Group, Group],
    was: Sequence[Fact],
    now: Sequence[Fact],
    covering: bool,
) -> Iterator[Cause]:
    """A row that is false before and after, or false and then gone, decides nothing but that somebody looked."""
    relation = both[0].relation
    for one, other in _paired(was, now):
        if one is not None and other is not None:
            if one.truth is not other.truth:
                yield _changed(former, latter, both, one, other)
        elif one is not None and (one.truth is not False or covering):
            slots = tuple(Stated(s, was=one.cells[s], was_means=one.means[s]) for s in one.cells)
            yield Cause("row lost", relation, was_at=one.at, slots=slots)
        elif other is not None and (other.truth is not False or covering):
            slots = tuple(Stated(s, now=other.cells[s], now_means=other.means[s]) for s in other.cells)
            yield Cause("row gained", relation, now_at=other.at, slots=slots)


def _changed(former: Side, latter: Side, both: tuple[Group, Group], was: Fact, now: Fact) -> Cause:
    """What makes one row true before and not after, or the other way round."""
    slots = {
        s: Stated(s, was.cells.get(s), now.cells.get(s), was.means.get(s), now.means.get(s))
        for s in dict.fromkeys((*was.cells, *now.cells))
    }
    what: What
    detail = ""
    other_cells = [s for s in slots.values() if s.was != s.now]
    other_meaning = [s for s in slots.values() if s.was_means != s.now_means]
    if other_cells:
        what, said = "row changed", other_cells
    elif was.retired != now.retired:
        what, said = ("row retired" if now.retired else "row restored"), list(slots.values())
        detail = "by a correction" if now.retired else "its correction no longer holds"
    elif other_meaning:
        what, said = "row read otherwise", other_meaning
    else:
        what, said, detail = "row judged otherwise", list(slots.values()), _judged(former, latter, both)
    return Cause(what, both[0].relation, was.at, now.at, tuple(said), detail)


def _judged(former: Side, latter: Side, both: tuple[Group, Group]) -> str:
    """Why the same row, read the same, is judged otherwise: the question's terms, or its rule of time, have moved."""
    (was, now), said = both, []
    for index in sorted({*was.tests, *now.tests}):
        before, after = (s.answer.plan.expansions.get(index) for s in (former, latter))
        if before and after and before.lines != after.lines:
            said.append(f"{'; '.join(before.lines)} became {'; '.join(after.lines)}")
    if was.time and now.time and was.time.rule != now.time.rule:
        said.append(f"{was.time.rule} became {now.time.rule}")
    return "; ".join(said) or "the pack says otherwise what a wider term stands for"


def _paired(was: Sequence[Fact], now: Sequence[Fact]) -> Iterator[tuple[Fact | None, Fact | None]]:
    """The rows of one entity before and after, those that are the same left out: by their cells, then by how many
    cells are alike, first where they stand; what has no partner was lost or gained."""
    left, right = list(was), list(now)
    for alike in (_same, _same_cells):
        for one in list(left):
            other = next((o for o in right if alike(one, o)), None)
            if other is not None:
                left.remove(one)
                right.remove(other)
                if alike is _same_cells:
                    yield one, other
    if len(left) * len(right) <= _COMPARED:
        pairs = [(_likeness(o, n), i, j) for i, o in enumerate(left) for j, n in enumerate(right)]
        taken_left: set[int] = set()
        taken_right: set[int] = set()
        for likeness, i, j in sorted(pairs, key=lambda pair: (-pair[0], pair[1], pair[2])):
            if likeness and i not in taken_left and j not in taken_right:
                taken_left.add(i)
                taken_right.add(j)
                yield left[i], right[j]
        left = [one for i, one in enumerate(left) if i not in taken_left]
        right = [one for j, one in enumerate(right) if j not in taken_right]
    yield from ((one, None) for one in left)
    yield from ((None, one) for one in right)


def _same(one: Fact, other: Fact) -> bool:
    return _same_cells(one, other) and (one.means, one.retired, one.truth) == (other.means, other.retired, other.truth)


def _same_cells(one: Fact, other: Fact) -> bool:
    return (one.source, one.table, one.cells) == (other.source, other.table, other.cells)


def _likeness(one: Fact, other: Fact) -> int:
    """How many cells are the same, twice that, and one more at the same place; 0 for rows of other tables."""
    if (one.source, one.table) != (other.source, other.table):
        return 0
    same = sum(1 for s, cell in one.whole.items() if cell is not None and other.whole.get(s) == cell)
    return 2 * same + ((one.place, one.entry) == (other.place, other.entry))
