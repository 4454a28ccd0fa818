"""One side of a comparison of two generations: the answer there, and what it rests on for some entities."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from closedset import row_id, search
from closedset.absence import Covering, covering
from closedset.catalog import kept_as
from closedset.execute import Run
from closedset.ids import Bound
from closedset.judged_rows import inline
from closedset.licence import Gap, licence
from closedset.matches import stored_row
from closedset.pack import PERIOD, Slot
from closedset.partition import Verdict
from closedset.plan import Group
from closedset.receipt import SlotReceipt, Sources, StatedRow
from closedset.store import Generation

VERDICTS = tuple(Verdict)


@dataclass(frozen=True)
class Fact:
    """One row of a relation about an entity as a group of the question judges it: `truth` is true, false or None.

    `cells` and `means` are by asked slot: the cell as written, and what the store takes it for; `whole` are the cells
    of all slots.
    """

    source: str
    table: str
    entry: int
    place: int
    at: str
    cells: dict[str, str | None]
    means: dict[str, str]
    whole: dict[str, str | None]
    retired: bool
    truth: bool | None


@dataclass(frozen=True)
class Grounds:
    """What decides an entity's verdict in one group: its rows, its rows that no reader could read, its coverage."""

    verdict: Verdict | None
    rows: tuple[Fact, ...]
    withheld: tuple[str, ...]
    covering: tuple[Covering, ...]

    @property
    def covered(self) -> bool:
        return bool(self.rows or self.withheld or self.covering)


NOBODY = Grounds(None, (), (), ())


class Side:
    """A question answered from one generation, ready to be asked why."""

    def __init__(self, generation: Generation, raw: object) -> None:
        self.catalog = generation.catalog
        self.run = Run(generation)
        self.answer = search.answer(self.run, raw)
        self.overall = self.answer.verdicts.overall

    @property
    def counts(self) -> dict[Verdict, int]:
        return {verdict: len(self.overall.of(verdict)) for verdict in VERDICTS}

    def gaps(self) -> tuple[Gap, ...]:
        """Why the licence is withheld; nothing, where it is granted."""
        found = self.answer
        return licence(self.run, found.plan, found.verdicts, found.unbound, found.vacuous, found.compiled).gaps

    def partition(self) -> pa.Table:
        """Every entity's verdict by its number among the four, with its ordinal."""
        import pyarrow.compute as pc

        universe = self.run.statement("diff/universe.sql.j2")
        verdicts = pa.nulls(self.run.universe, pa.int8())
        for number, verdict in enumerate(VERDICTS):
            verdicts = pc.if_else(self.overall.of(verdict).mask(), pa.scalar(number, pa.int8()), verdicts)
        return universe.append_column("verdict", verdicts)

    def groups(self) -> dict[str, Group]:
        """The required groups by relation."""
        return {g.relation: g for g in self.answer.plan.required}

    def grounds(self, group: Group, ordinals: Sequence[int]) -> dict[int, Grounds]:
        """What decides each of some entities in a group."""
        self._give(ordinals)
        rows: dict[int, list[Fact]] = defaultdict(list)
        for fact in self._facts(group):
            rows[fact[0]].append(fact[1])
        withheld: dict[int, list[str]] = defaultdict(list)
        lost = self.run.statement("diff/withheld.sql.j2", merged=self.catalog.merged > 0).to_pylist()
        for one in lost:
            if one["relation"] == group.relation:
                withheld[one["ordinal"]].append(f"{one['file']}:{one['line']}: {one['fault']}: {one['text']}")
        covered = covering(self.run, group.relation, ordinals)
        partition = self.answer.verdicts.groups[group.index].partition
        return {
            ordinal: Grounds(
                verdict=next(v for v in VERDICTS if ordinal in partition.of(v)),
                rows=tuple(rows[ordinal]),
                withheld=tuple(withheld[ordinal]),
                covering=tuple(covered.get(ordinal, ())),
            )
            for ordinal in ordinals
        }

    def _facts(self, group: Group) -> list[tuple[int, Fact]]:
        scan = self.answer.plan.scan_of(group.relation)
        if scan.table is None:
            return []
        rows, values = inline(scan, scan.groups)
        found = self.run.statement("diff/rows.sql.j2", values, rows=rows).to_pylist()
        stated = Sources(self.run).state([stored_row(group.relation, row) for row in found])
        slots = self._slots(group)
        return [
            (row["_entity"], self._fact(one, slots, bool(row.get("_retired")), row[f"_g{group.index}"]))
            for one, row in zip(stated, found, strict=True)
        ]

    def _slots(self, group: Group) -> dict[str, Slot]:
        """The slots by which a group judges a row, those that place it in time included."""
        askable = self.catalog.pack.relations[group.relation].askable()
        asked = {self.answer.plan.expansions[i].bound.name for i in group.tests}
        if group.time is not None:
            asked |= {*PERIOD, *([group.time.date_slot] if group.time.date_slot else [])}
        return {name: slot for name, slot in askable.items() if name in asked}

    def _fact(self, one: StatedRow, slots: dict[str, Slot], retired: bool, truth: bool | None) -> Fact:
        named = row_id.parse(one.row_id)
        assert named is not None
        receipts = {name: one.slots[name] for name in slots}
        first = next(iter(receipts.values()))
        return Fact(
            source=named.source,
            table=named.table,
            entry=named.nth,
            place=one.row.place,
            at=f"{first.file} row {first.row}" if first.file else f"{named.table} row {one.row.place + 1}",
            cells={name: _written(r) for name, r in receipts.items()},
            means={name: self._means(name, slot, one.row.columns) for name, slot in slots.items()},
            whole={name: _written(r) for name, r in one.slots.items()},
            retired=retired,
            truth=truth,
        )

    def _means(self, name: str, slot: Slot, columns: dict[str, Any]) -> str:
        """What the store takes a cell for, in words that are the same in every generation."""
        if columns[f"{name}__unreadable"]:
            return "unreadable"
        if slot.type == "date":
            start, end = columns[f"{name}__start"], columns[f"{name}__end"]
            return "nothing" if start is None else str(start) if start == end else f"{start} to {end}"
        held = columns[name]
        if held is None:
            return "nothing"
        if slot.type == "term":
            vocabulary = self.catalog.pack.vocabulary(slot)
            names = {code: term for term, code in vocabulary.codes.items()} if vocabulary else {}
            return f"the term {names[held]}" if held in names else "on no term"
        return f"{held.normalize():f}" if slot.type == "number" else str(held)

    def merged(self, ordinals: Sequence[int], ids: Sequence[str]) -> tuple[dict[int, set[str]], dict[str, str]]:
        """The ids merged into each of some entities, and the entity that each of some ids is merged into."""
        into: dict[int, set[str]] = defaultdict(set)
        gone: dict[str, str] = {}
        if self.catalog.merged:
            self._give(ordinals)
            for row in self.run.statement("diff/merged.sql.j2", {"ids": list(ids)}).to_pylist():
                into[row["ordinal"]].add(row["former"])
                gone[row["former"]] = row["entity_id"]
        return into, gone

    def naming(self, ids: Sequence[str]) -> dict[str, list[str]]:
        """The columns of the exports that name each of some entities."""
        columns: dict[tuple[str, str, str], None] = {}
        bound = Bound()
        for source, mapping in self.catalog.maps.items():
            named = [(e.table, e.entity) for e in mapping.entities] + [(r.table, r.entity) for r in mapping.rows]
            named += [(statement.table, statement.column) for _, statement in mapping.statements()]
            columns |= {(source, table, column): None for table, column in named}
        said: dict[str, list[str]] = defaultdict(list)
        if not columns or not ids:
            return said
        origins = [
            {
                "cells": self.catalog.table(source, table).cells,
                "entity": kept_as(column),
                "markers": bound.markers(self.catalog.maps[source].null),
            }
            for source, table, column in columns
        ]
        names = [f"{table}.{column} ({source})" for source, table, column in columns]
        values = {**bound.values, "ids": list(ids)}
        for row in self.run.statement("diff/naming.sql.j2", values, origins=origins).to_pylist():
            said[row["entity_id"]].append(names[row["origin"]])
        return said

    def _give(self, ordinals: Sequence[int]) -> None:
        self.run.give_table("page_set", pa.table({"ordinal": pa.array(ordinals, pa.int32())}))


def _written(receipt: SlotReceipt) -> str | None:
    """The cell, or the constant that a map states of every row."""
    return receipt.cell if receipt.column else receipt.text
