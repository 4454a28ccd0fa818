"""What people add to a store between loads: checked against what it holds, written to the ledger, then applied.

Each act holds the load lock, adds one event and derives the next generation. Killed in between, the store holds the
generation it held; the next load, or the same act once more, applies what the ledger says, and adds no event twice.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from closedset import ledger, store
from closedset.catalog import Catalog
from closedset.errors import ClosedsetError, LedgerRefused, StoreRefused
from closedset.fold import fold
from closedset.ledger import Correction, Event, Fact, Looked, Merge, Placement, State, Undo
from closedset.load import correction, derive_again, lock, looked, merge, placement
from closedset.store import Generation


@dataclass(frozen=True)
class Entry:
    """One event of the ledger as a generation has it.

    `held` counts the rows that a correction retires (`places` are the first of them, as replies call them), those
    that hold a placed spelling, or the entities that a coverage covers; `note` says why the event fits nothing;
    `undone_by` is the event that took it back; `pending` ones are applied by the next generation.
    """

    event: Event[Fact]
    held: int | None
    places: str | None
    note: str | None
    undone_by: int | None
    pending: bool


@dataclass(frozen=True)
class Amended:
    """What an act did: the event it is about, and the catalog of the generation that has it. `added` is false where
    the ledger said so before."""

    entry: Entry
    catalog: Catalog
    added: bool


def correct(path: str | Path, row_id: str, *, by: str, reason: str, entity_id: str | None = None) -> Amended:
    """Retire the row that a reply calls `row_id`; with `entity_id`, only if it is a row of that entity."""
    return _amend(path, lambda held, state: correction.meant(held, state, row_id, entity_id), by, reason)


def unite(path: str | Path, entity_id: str, into: str, *, by: str, reason: str) -> Amended:
    """Declare that one id is another: both are one entity, under the second id."""
    return _amend(path, lambda held, state: merge.meant(held, state, entity_id, into), by, reason)


def look(path: str | Path, relation: str, ids: Mapping[str, str] | None, *, by: str, reason: str) -> Amended:
    """Declare that somebody looked at some entities for a relation: those of `ids` (an id, and where it was said),
    or every one that the store now holds."""
    listed: list[str] = []

    def meant(held: Generation, _: State) -> Looked:
        said, found = looked.meant(held, relation, ids)
        listed.extend(found)
        return said

    return _amend(path, meant, by, reason, listed)


def place(path: str | Path, surface: str, term: str, axis: str | None = None, *, by: str, reason: str) -> Amended:
    """Make a spelling a synonym of a term; `axis` where the term stands on several."""
    return _amend(path, lambda held, state: placement.meant(held, state, surface, term, axis), by, reason)


def undo(
    path: str | Path, kind: type[Fact], which: str, *, by: str, reason: str = "", axis: str | None = None
) -> Amended:
    """Take back what is in force: a correction by its number or row, a merge by its first id, an operator's coverage
    by its number, a placed spelling by itself, and by its axis where it is placed on several.

    Refuses (LedgerRefused) what names nothing in force, or more than one thing, with what is.
    """
    name = next(name for name, one in ledger.KINDS.items() if one is kind)

    def meant(held: Generation, state: State) -> Undo | Event[Fact]:
        def told(events: tuple[Event[Fact], ...]) -> list[Event[Fact]]:
            mine = [e for e in events if isinstance(e.fact, kind)]
            if kind is Correction and "/" in which:
                return correction.about(held, which, mine)
            return [e for e in mine if _told(e, which, axis)]

        found = told(state.events)
        if len(found) > 1:
            several = "; ".join(f"{name} {e.id}: {_name(e)}" for e in found)
            raise LedgerRefused(f"{which!r} is in force more than once; say which, {_APART[kind]} ({several})")
        if found:
            return Undo(found[0].id)
        gone = told(state.undone)
        if gone:
            return gone[-1]
        in_force = ", ".join(_name(e) for e in state.events if isinstance(e.fact, kind))
        on = f" on axis {axis}" if axis else ""
        raise LedgerRefused(f"no {name} {which!r}{on} is in force; in force: {in_force or 'none'}")

    return _amend(path, meant, by, reason)


#: By what two events of a kind are told apart that go by one name.
_APART: dict[type[Fact], str] = {
    Correction: "by its number",
    Merge: "by its first id",
    Looked: "by its number",
    Placement: "with --axis",
}


def _told(event: Event[Fact], which: str, axis: str | None) -> bool:
    """Whether an event is the one a person means."""
    match event.fact:
        case Merge(entity_id=one):
            return one == which
        case Placement(surface=one, axis=on):
            return fold(one) == fold(which) and axis in (None, on)
        case _:
            return str(event.id) == which


def _name(event: Event[Fact]) -> str:
    match event.fact:
        case Merge(entity_id=one):
            return repr(one)
        case Placement(surface=one, axis=on, term=term):
            return f"{one!r} is {term} on axis {on}"
        case _:
            return str(event.id)


def entries(path: str | Path, kind: type[Fact]) -> list[Entry]:
    """Every event of a kind in the store's ledger, oldest first, those that were undone included. Refuses
    (StoreRefused) a ledger that lacks what the store has applied."""
    target = Path(path)
    with store.Store(target) as held:
        return [e for e in _entries(held.generation(), target) if isinstance(e.event.fact, kind)]


def _entries(held: Generation, path: Path) -> list[Entry]:
    events = ledger.history(path)
    ledger.refuse_lost(path, events[-1].id if events else 0, held.catalog.ledger)
    undone = {e.fact.event: e.id for e in events if isinstance(e.fact, Undo)}
    rows = held.cursor().execute("SELECT event, held, places, note FROM in_force").fetchall()
    told: dict[int, tuple[int | None, str | None, str | None]] = {event: tuple(rest) for event, *rest in rows}
    applied = held.catalog.ledger
    return [
        Entry(e, *told.get(e.id, (None, None, None)), undone.get(e.id), max(e.id, undone.get(e.id, 0)) > applied)
        for e in events
        if not isinstance(e.fact, Undo)
    ]


def _amend(
    path: str | Path,
    meant: Callable[[Generation, State], Fact | Undo | Event[Fact]],
    by: str,
    reason: str,
    ids: Iterable[str] = (),
) -> Amended:
    """Add what `meant` says (or nothing, where it is an event or in force) and apply whatever is not applied yet."""
    target = Path(path)
    if store.current(target) is None:
        # Refuses, and before the lock: that would make a directory of a path that is none.
        store.Store(target)
    with lock.loading(target):
        state = ledger.read(target)
        with store.Store(target) as held:
            before = held.catalog
            ledger.refuse_lost(target, state.last, before.ledger)
            said = meant(held.generation(), state)
        known = said if isinstance(said, Event) else None if isinstance(said, Undo) else state.holding(said)
        event: Event[Any]
        if known is not None:
            event = known
        else:
            assert not isinstance(said, Event)
            event = ledger.append(target, said, by=by, reason=reason, ids=ids)
            state = ledger.read(target)
        catalog = before if before.ledger == state.last else _applied(target, before, state, event)
        about = event.fact.event if isinstance(event.fact, Undo) else event.id
        with store.Store(target) as held:
            entry = next(e for e in _entries(held.generation(), target) if e.event.id == about)
    return Amended(entry, catalog, known is None)


def _applied(target: Path, before: Catalog, state: State, event: Event[Any]) -> Catalog:
    kind, number, undone = event.kind, event.id, ""
    if isinstance(event.fact, Undo):
        number, undone = event.fact.event, " undone"
        kind = next(e.kind for e in state.undone if e.id == number)
    try:
        return derive_again(target, before, state, f"{kind} {number}{undone}")
    except (ClosedsetError, OSError, duckdb.Error) as error:
        raise StoreRefused(
            f"{target}: {kind} {number}{undone} is in the ledger but not applied yet: {str(error).splitlines()[0]}; "
            "run the same command again, or load: either applies it"
        ) from error
