"""What people add to a store between loads, plainly: shared by the two proofs, as `cells.py` is.

The engine is told the same as a `ledger.State`; who said it and when matters to no answer.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from closedset import ledger
from closedset.fold import WHITE_SPACE
from closedset.mapping import Map
from closedset.pack import Pack

Tables = Mapping[str, Sequence[Mapping[str, str | None]]]
AT, BY, WHY = "2026-11-30T12:00:00+00:00", "anna", "she asked"


@dataclass(frozen=True)
class Said:
    """`corrections` are (relation, table, place of a row from 0), `merges` (an id, the id it is), `coverage`
    (relation, ids), `placements` (axis, surface, term)."""

    corrections: tuple[tuple[str, str, int], ...] = ()
    merges: tuple[tuple[str, str], ...] = ()
    coverage: tuple[tuple[str, tuple[str, ...]], ...] = ()
    placements: tuple[tuple[str, str, str], ...] = ()

    def who(self, entity: str) -> str:
        """The entity an id belongs to: the end of its chain of merges."""
        into = dict(self.merges)
        while entity in into:
            entity = into[entity]
        return entity

    def among(self, mentioned: set[str]) -> "Said":
        """What has an effect: a merge has none unless the sources mention both its ids."""
        return replace(self, merges=tuple(one for one in self.merges if mentioned.issuperset(one)))


NOTHING = Said()


def mentioned(mapping: Map, tables: Tables, withheld: Mapping[str, Sequence[str]]) -> set[str]:
    """The ids that the sources mention: in a row, readable or not, in a list of entities, in a coverage statement."""
    named = [(e.table, e.entity) for e in mapping.entities] + [(e.table, e.entity) for e in mapping.rows]
    named += [(said.table, said.column) for _, said in mapping.statements()]
    ids = {(record.get(column) or "").strip() for table, column in named for record in tables[table]}
    return (ids - {*mapping.null}).union(*withheld.values()) - {""}


def placed(pack: Pack, said: Said) -> Pack:
    """The pack as if it had declared the placed spellings itself."""
    declared = pack.model_dump()
    for axis, surface, term in said.placements:
        synonyms = declared["axes"][axis]["synonyms"]
        synonyms[term] = [*synonyms.get(term, ()), surface]
    return Pack.model_validate(declared) if said.placements else pack


def state(said: Said, mapping: Map, tables: Tables) -> ledger.State:
    """The same for the engine, over the tables as they are now."""
    facts: list[ledger.Fact] = []
    for relation, table, place in said.corrections:
        entry = next(e for e in mapping.rows if (e.relation, e.table) == (relation, table))
        columns = dict.fromkeys(column for row in tables[table] for column in row)
        row = {column: tables[table][place].get(column) for column in columns}
        facts.append(
            ledger.Correction(
                source=mapping.source, relation=relation, table=table,
                entity_id=(row[entry.entity] or "").strip(WHITE_SPACE),
                columns=tuple(sorted(columns)), digest=ledger.digest(list(columns), row),
            )
        )  # fmt: skip
    facts += [ledger.Merge(one, into) for one, into in said.merges]
    looked = [(len(facts) + i + 1, pa.chunked_array([ids], pa.string())) for i, (_, ids) in enumerate(said.coverage)]
    facts += [ledger.Looked(relation, len(ids), ledger.digest_of_ids(ids)) for relation, ids in said.coverage]
    facts += [ledger.Placement(*one) for one in said.placements]
    events = tuple(ledger.Event(i, AT, BY, WHY, fact) for i, fact in enumerate(facts, 1))
    return ledger.State(events, (), len(events), dict(looked))
