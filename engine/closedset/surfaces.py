"""What a store holds of each axis: rows by term, and the surfaces on no term with the terms nearest to them."""

from collections.abc import Sequence
from dataclasses import dataclass

from closedset.catalog import Catalog
from closedset.errors import RequestRefused
from closedset.execute import Run
from closedset.fold import fold
from closedset.store import Generation
from closedset.vocabulary import Vocabulary

_NEAREST = 3
#: Below this likeness (0 to 100) a term is no suggestion but noise.
_LIKE = 60.0


@dataclass(frozen=True)
class Near:
    """A term that a surface may mean: the spelling of it that is nearest, and how alike (0 to 100)."""

    term: str
    spelling: str
    score: int


@dataclass(frozen=True)
class Held:
    """What the store holds of one term, or of one surface on no term (`term` is None).

    `rows` counts the cells of the named slots, `entities` each entity once. `nearest` is for surfaces only,
    most alike first: a suggestion to a person, never used to answer.
    """

    surface: str
    term: str | None
    rows: int
    entities: int
    slots: tuple[str, ...]
    nearest: tuple[Near, ...] = ()


@dataclass(frozen=True)
class AxisHeld:
    """One axis: its terms in declared order, then the surfaces on no term, those in most rows first."""

    axis: str
    vocabulary: Vocabulary | None
    terms: tuple[Held, ...]
    unplaced: tuple[Held, ...]


def of(generation: Generation, axis: str | None = None, *, unplaced: bool = False) -> list[AxisHeld]:
    """The axes of a store's pack in declared order, or the one named. With `unplaced` only surfaces on no term are
    counted, which is quick; an axis without vocabulary has no terms, and every surface is on none.

    Refuses (RequestRefused) an axis that the pack does not declare.
    """
    catalog = generation.catalog
    known = list(catalog.pack.axes)
    if axis is not None and axis not in known:
        raise RequestRefused(
            "axis_unknown", f"pack {catalog.pack.pack} declares no axis {axis!r}; it has: {', '.join(known) or 'none'}"
        )
    run = Run(generation)
    return [_axis(run, name, unplaced) for name in ([axis] if axis is not None else known)]


def _axis(run: Run, axis: str, unplaced: bool) -> AxisHeld:
    vocabulary = run.catalog.pack.vocabularies.get(axis)
    slots = _slots(run.catalog, axis)
    rows = []
    if slots:
        given = [{"table": table, "name": slot} for table, _, slot in slots]
        rows = run.statement("search/surfaces.sql.j2", {"axis": axis}, slots=given, unplaced=unplaced).to_pylist()
    names = [f"{relation}.{slot}" for _, relation, slot in slots]
    by_code = {
        row["code"]: (row["surface"], row["held"], row["entities"], tuple(names[i] for i in row["slots"]))
        for row in rows
    }
    terms = vocabulary.codes if vocabulary and not unplaced else {}
    return AxisHeld(
        axis,
        vocabulary,
        tuple(Held(term, term, *by_code.get(code, (None, 0, 0, ()))[1:]) for term, code in terms.items()),
        tuple(
            Held(surface, None, held, entities, where, nearest(surface, vocabulary))
            for code, (surface, held, entities, where) in by_code.items()
            if code < 0
        ),
    )


def _slots(catalog: Catalog, axis: str) -> list[tuple[str, str, str]]:
    """The slots that are written in an axis and that a load filled: (table, relation, slot)."""
    return [
        (stored.table, name, slot_name)
        for name, relation in catalog.pack.relations.items()
        if (stored := catalog.relations[name]).table is not None
        for slot_name, slot in relation.slots.items()
        if slot.axis == axis and stored.slots[slot_name].written
    ]


def nearest(surface: str, vocabulary: Vocabulary | None, limit: int = _NEAREST) -> tuple[Near, ...]:
    """The terms whose name, synonym or label is most like a surface, most alike first."""
    if vocabulary is None:
        return ()
    from rapidfuzz import fuzz, process

    found: Sequence[tuple[str, float, int]] = process.extract(
        fold(surface), list(vocabulary.surfaces), scorer=fuzz.WRatio, score_cutoff=_LIKE, limit=None
    )
    best: dict[str, Near] = {}
    for spelling, score, _ in sorted(found, key=lambda f: (-f[1], f[2])):
        term = vocabulary.surfaces[spelling]
        best.setdefault(term, Near(term, spelling, round(score)))
    return tuple(list(best.values())[:limit])
