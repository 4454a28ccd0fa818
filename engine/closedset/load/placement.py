"""Placed spellings: the pack as searched is the pack as loaded and the synonyms that operators placed on its terms."""

from collections.abc import Sequence

from closedset.errors import LedgerRefused
from closedset.fold import WHITE_SPACE, fold
from closedset.ledger import Event, Placement, State
from closedset.load.force import Force
from closedset.load.lost import MapEntry
from closedset.load.read.part import nearest
from closedset.pack import Axis, Pack
from closedset.store import Generation


def meant(held: Generation, state: State, surface: str, term: str, axis: str | None) -> Placement:
    """The placement of a spelling on a term, which may be named by any of its own spellings. Refuses (LedgerRefused) a
    term that no axis has, one that several have where `axis` names none, and a spelling that names a term already."""
    vocabularies = held.catalog.pack.vocabularies
    if axis is not None and axis not in vocabularies:
        known = list(vocabularies)
        raise LedgerRefused(f"no axis {axis!r} has terms{nearest(axis, known)} (those with terms: {', '.join(known)})")
    if not fold(surface):
        raise LedgerRefused("an empty spelling names nothing")
    found = {name: v.place(term) for name, v in vocabularies.items() if axis in (None, name) and v.place(term)}
    if not found:
        known = [t for name, v in vocabularies.items() if axis in (None, name) for t in v.terms]
        where = f"axis {axis}" if axis else "any axis"
        raise LedgerRefused(f"no term {term!r} on {where}{nearest(term, known)}; `closedset schema` lists the terms")
    if len(found) > 1:
        raise LedgerRefused(f"{term!r} is a term of several axes ({', '.join(found)}); say which with --axis")
    ((name, on),) = found.items()
    assert on is not None
    said = Placement(name, surface.strip(WHITE_SPACE), on)
    for event in state.of(Placement):
        if event.fact.axis == name and fold(event.fact.surface) == fold(surface):
            if event.fact.term == on:
                return event.fact
            raise LedgerRefused(
                f"{surface!r} is placed on {event.fact.term} of axis {name} already (placement {event.id}); "
                "undo that first"
            )
    taken = vocabularies[name].place(surface)
    if taken is not None:
        raise LedgerRefused(f"{surface!r} names {taken} on axis {name} already, by the pack itself")
    return said


def placed(pack: Pack, state: State, force: Force) -> tuple[Pack, list[Event[Placement]]]:
    """The pack with every placement that fits it, and those; the pack itself has the last word. Those that do not are
    told to be unfit."""
    axes = dict(pack.axes)
    fitting: list[Event[Placement]] = []
    held: dict[tuple[str, str], int] = {}
    for event in state.of(Placement):
        said = event.fact
        vocabulary = pack.vocabularies.get(said.axis)
        if vocabulary is None or said.term not in vocabulary.terms:
            force.unfit(event, f"the pack has no term {said.term} on an axis {said.axis} any more")
            continue
        taken = vocabulary.place(said.surface)
        if taken is not None:
            force.unfit(event, f"the pack itself now places {said.surface!r} on {taken}")
            continue
        before = held.setdefault((said.axis, fold(said.surface)), event.id)
        if before != event.id:
            force.unfit(event, f"placement {before} places {said.surface!r} already")
            continue
        axes[said.axis] = _with(axes[said.axis], said)
        fitting.append(event)
    if not fitting:
        return pack, []
    return Pack.model_validate({**{name: getattr(pack, name) for name in Pack.model_fields}, "axes": axes}), fitting


def tell(fitting: Sequence[Event[Placement]], entries: Sequence[MapEntry], force: Force) -> None:
    """Say of each placement in force how many rows hold its spelling, once they are read: there may be none yet."""
    for event in fitting:
        axis, surface, term = event.fact.axis, fold(event.fact.surface), event.fact.term
        mapped = [one for entry in entries for one in entry.mapped.values() if one.slot.axis == axis]
        rows = [
            one.held[raw]
            for one in mapped
            for raw, reading in one.readings.items()
            if reading.term == term and fold(reading.text or "") == surface
        ]
        force.fit(event, sum(rows))


def _with(axis: Axis, said: Placement) -> Axis:
    spellings = (*axis.synonyms.get(said.term, ()), said.surface)
    return axis.model_copy(update={"synonyms": {**axis.synonyms, said.term: spellings}})
