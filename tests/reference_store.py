"""What the reference answers over: rows by relation, who was looked at, the universe, and each axis closed.

Read beside `reference.py`, which says what the two share with the engine (the declarations) and what not.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from tests.cells import Blank, Span, fold, stated, value
from tests.said import NOTHING, Said, mentioned

from closedset.mapping import Map
from closedset.pack import Axis, Pack

Tables = Mapping[str, Sequence[Mapping[str, str | None]]]
Value = str | Decimal | Span | Blank
PERIOD = ("period_from", "period_to")


# --- the store: rows by relation, who was looked at, and the universe ---------------------------------


@dataclass(frozen=True)
class Row:
    """One fact about one entity. `withheld`: the loader could not read it, so nothing of it is known. `retired`:
    somebody says that it is wrong though its source states it. `stated` is the entity's id as the source has it."""

    relation: str
    table: str
    ordinal: int
    entity: str
    values: Mapping[str, Value] = field(default_factory=dict)
    surfaces: Mapping[str, str | None] = field(default_factory=dict)
    withheld: bool = False
    retired: bool = False
    stated: str = ""

    @property
    def dated(self) -> bool:
        return any(self.values.get(name, Blank.EMPTY) is not Blank.EMPTY for name in PERIOD)


@dataclass
class Store:
    rows: dict[str, list[Row]]
    covered: dict[str, set[str]]
    universe: set[str]
    unattributed: Counter[str]
    vouched: dict[str, set[str]] = field(default_factory=dict)
    """Who an operator says was looked at, by relation."""


def read_store(
    pack: Pack,
    mapping: Map,
    tables: Tables,
    withheld: Mapping[str, Sequence[str]] | None = None,
    unattributed: Mapping[str, int] | None = None,
    said: Said = NOTHING,
) -> Store:
    """Every row of every map entry in order; a row without an entity id is unattributed. Takes the pack with the
    placed spellings in it."""
    said = said.among(mentioned(mapping, tables, withheld or {}))
    store = Store({name: [] for name in pack.relations}, defaultdict(set), set(), Counter(unattributed))
    for entry in mapping.rows:
        relation, cells = pack.relations[entry.relation], entry.cells()
        for ordinal, record in enumerate(tables[entry.table]):
            if not (entity := _id(record, entry.entity, mapping.null)):
                store.unattributed[entry.relation] += 1
                continue
            values, surfaces = {}, {}
            for name, slot in relation.askable().items():
                text = stated(cells.get(name), record, mapping.null)
                values[name] = value(slot.type, cells.get(name), text)
                surfaces[name] = _surface(text, record.get(cells[name].column or "") if name in cells else "")
            _undo_reversed_period(values)
            shown = {name: surfaces[name] for name in relation.slots}
            gone = any(
                (entry.relation, entry.table) == (relation_, table) and _same(record, tables[table][place])
                for relation_, table, place in said.corrections
            )
            row = Row(entry.relation, entry.table, ordinal, said.who(entity), values, shown, False, gone, entity)
            store.rows[entry.relation].append(row)
    for name, entities in (withheld or {}).items():
        store.rows[name] += [Row(name, "", i, said.who(entity), withheld=True) for i, entity in enumerate(entities)]
    for name, rows in store.rows.items():
        store.covered[name] = {row.entity for row in rows}
    for name, statement in mapping.statements():
        ids = {_id(record, statement.column, mapping.null) for record in tables[statement.table]} - {""}
        store.covered[name] |= {said.who(one) for one in ids}
    known = {_id(record, e.entity, mapping.null) for e in mapping.entities for record in tables[e.table]} - {""}
    store.universe = {said.who(one) for one in known}.union(*store.covered.values())
    for name in pack.relations:
        vouched = {said.who(one) for relation_, ids in said.coverage if relation_ == name for one in ids}
        store.vouched[name] = vouched & store.universe
        store.covered[name] |= store.vouched[name]
    return store


def _same(one: Mapping[str, str | None], other: Mapping[str, str | None]) -> bool:
    """The same cells as written, in every column: then a correction of one row is one of both."""
    return all((one.get(column) or "") == (other.get(column) or "") for column in {*one, *other})


def _id(record: Mapping[str, str | None], column: str, markers: Sequence[str]) -> str:
    """Whom a cell names; nobody, where it is blank or the map says that its text records nothing."""
    text = (record.get(column) or "").strip()
    return "" if text in markers else text


def _surface(text: str | Blank, written: str | None) -> str | None:
    """What a reply shows: the cell as its source writes it, or what the map says in its stead."""
    if text is Blank.EMPTY:
        return None
    return written if isinstance(text, Blank) or (written or "").strip() == text else text


def _undo_reversed_period(values: dict[str, Value]) -> None:
    """A period that ends before it begins states nothing that can be trusted: both ends are unreadable."""
    start, end = (values.get(name) for name in PERIOD)
    if isinstance(start, tuple) and isinstance(end, tuple) and start[0] > end[1]:
        values.update(dict.fromkeys(PERIOD, Blank.UNREADABLE))


# --- the vocabulary of one axis -----------------------------------------------------------------------


class Terms:
    """An axis closed: which spelling names which term, what lies below it, on which rung it stands."""

    def __init__(self, name: str, axis: Axis) -> None:
        self.name, self.exact, self.order = name, axis.interior == "exact", axis.order
        tree = [term for parent, kids in axis.tree.items() for term in (parent, *kids)]
        self.declared = list(dict.fromkeys([*axis.order, *axis.terms, *tree]))
        self.below = {term: self._descendants(term, axis.tree) for term in self.declared}
        self.names = {fold(term): term for term in self.declared}
        for term, spellings in axis.synonyms.items():
            self.names |= {fold(spelling): term for spelling in spellings}
        self.names |= {fold(label): term for term, label in axis.labels.items()}
        self.rungs = {t: i for i, rung in enumerate(axis.order) for t in (rung, *self.below[rung])}

    def _descendants(self, term: str, tree: Mapping[str, Sequence[str]]) -> list[str]:
        found: set[str] = set()
        todo = [*tree.get(term, ())]
        while todo:
            kid = todo.pop()
            todo += [] if kid in found else tree.get(kid, ())
            found.add(kid)
        return [other for other in self.declared if other in found]

    def leaves(self, term: str) -> set[str]:
        """What a stored term may stand for: some leaf below it, or itself where `interior: exact`."""
        if self.exact or not self.below[term]:
            return {term}
        return {kid for kid in self.below[term] if not self.below[kid]}
