"""The relations and axes of a draft: one table is one relation, and slots of one vocabulary share an axis."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import duckdb

from closedset.catalog import kept_as
from closedset.fold import fold
from closedset.load.proposal.identifier import identifier, words
from closedset.load.proposal.offered import Offered
from closedset.load.proposal.period import Period, periods
from closedset.load.proposal.profile import Column
from closedset.load.proposal.slots import Proposed, order, proposed
from closedset.load.proposal.subject import Subject
from closedset.render import render

#: Names of a column that holds what an entity is called, where each has one row.
_NAMES = ({"name"}, {"full", "name"}, {"fullname"}, {"display", "name"}, {"official", "name"}, {"legal", "name"},
          {"company", "name"}, {"nom"}, {"nombre"})  # fmt: skip


@dataclass(frozen=True)
class Slot:
    """A slot of the draft by its name; `axis` is that of a term slot."""

    name: str
    of: Proposed
    axis: str | None = None


@dataclass(frozen=True)
class Relation:
    """One table as a relation. `entity` is the column that says whom a row is about; `called` holds the entities'
    names; `doubtful` are pairs of columns that may be a period and are not drafted as one."""

    name: str
    table: Offered
    entity: str
    called: str | None
    slots: tuple[Slot, ...]
    period: Period | None
    doubtful: tuple[Period, ...]


@dataclass(frozen=True)
class Axis:
    """A drafted vocabulary: its terms with their cells, most frequent first, where they stand, and an order that
    only its owner can confirm."""

    terms: tuple[tuple[str, int], ...]
    origins: tuple[str, ...]
    order: tuple[str, ...]


def relations(
    con: duckdb.DuckDBPyConnection,
    tables: Sequence[Offered],
    columns: Mapping[str, Sequence[Column]],
    subject: Subject,
) -> tuple[list[Relation], dict[str, Axis]]:
    """Every table that holds the subject's column and another, in order, and the axes of their slots."""
    of = subject.chosen.columns
    made: list[Relation] = []
    axes: dict[str, Axis] = {}
    for table in tables:
        others = [c for c in columns[table.name] if c.name != of.get(table.name)]
        if table.name not in of or not others:
            continue
        slots = [proposed(c, f"{table.name}.{c.name}") for c in others]
        found = periods(con, table.cells, slots)
        period = found[0] if len(found) == 1 and not found[0].reversed_rows else None
        kept = [s for s in slots if period is None or s not in (period.start, period.end)]
        made.append(
            Relation(
                table.name,
                table,
                of[table.name],
                _called(con, table, others, subject),
                _slots(table.name, kept, axes),
                period,
                tuple(found) if period is None else (),
            )
        )
    return made, axes


def _called(con: duckdb.DuckDBPyConnection, table: Offered, columns: Sequence[Column], subject: Subject) -> str | None:
    """The one column that is surely the entities' name: called so, and never two for one entity."""
    kinds = (*_NAMES, {*words(subject.kind), "name"})
    found = [c for c in columns if set(words(c.name)) in kinds and c.filled and not c.number]
    if len(found) != 1:
        return None
    entity, name = (kept_as(c) for c in (subject.chosen.columns[table.name], found[0].name))
    ((several,),) = con.execute(
        render("load/proposal_names.sql.j2", cells=table.cells.cells, entity=entity, called=name)
    ).fetchall()
    return None if several else found[0].name


def _slots(relation: str, columns: Sequence[Proposed], axes: dict[str, Axis]) -> tuple[Slot, ...]:
    slots: list[Slot] = []
    taken: set[str] = set()
    for one in columns:
        name = identifier(one.column.name, f"column_{one.column.place}", taken)
        taken.add(name)
        axis = _axis(relation, name, one, axes) if one.kind == "term" else None
        slots.append(Slot(name, one, axis))
    return tuple(slots)


def _axis(relation: str, slot: str, one: Proposed, axes: dict[str, Axis]) -> str:
    """The axis of a slot: one of that slot's name that holds the same spellings or more, or fewer; else a new one."""
    mine = {fold(term) for term, _ in one.terms}
    place = f"{relation}.{slot}"
    for name in (slot, f"{relation}_{slot}"):
        name = identifier(name, slot)
        if name not in axes:
            axes[name] = Axis(one.terms, (place,), one.order)
            return name
        held = {fold(term) for term, _ in axes[name].terms}
        if mine <= held or held <= mine:
            axes[name] = _with(axes[name], one, place)
            return name
    name = identifier(f"{relation}_{slot}", slot, axes)
    axes[name] = Axis(one.terms, (place,), one.order)
    return name


def _with(axis: Axis, one: Proposed, place: str) -> Axis:
    merged = {fold(term): (term, held) for term, held in axis.terms}
    for term, held in one.terms:
        first, before = merged.get(fold(term), (term, 0))
        merged[fold(term)] = (first, before + held)
    terms = tuple(sorted(merged.values(), key=lambda pair: (-pair[1], pair[0])))
    return replace(axis, terms=terms, origins=(*axis.origins, place), order=order([t for t, _ in terms]))
