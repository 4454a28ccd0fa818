"""Placed spellings: the pack as searched is the pack as loaded and the synonyms that operators placed on its terms."""

from closedset.fold import fold
from closedset.ledger import Event, Placement, State
from closedset.load.force import Force
from closedset.pack import Axis, Pack


def placed(pack: Pack, state: State, force: Force) -> tuple[Pack, list[Event[Placement]]]:
    """The pack with every placement that fits it, and those; the pack itself has the last word."""
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
        force.fit(event)
    if not fitting:
        return pack, []
    return Pack.model_validate({**{name: getattr(pack, name) for name in Pack.model_fields}, "axes": axes}), fitting


def _with(axis: Axis, said: Placement) -> Axis:
    spellings = (*axis.synonyms.get(said.term, ()), said.surface)
    return axis.model_copy(update={"synonyms": {**axis.synonyms, said.term: spellings}})
