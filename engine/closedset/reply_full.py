"""The full reply: the whole warrant. Keys, order, and what is absent or null are a contract.

Declaring and building the blocks must cost nothing beside the search: `model_dump` gives the JSON,
`model_json_schema` its schema.
"""

from typing import Any, ClassVar, Literal, dataclass_transform, get_type_hints


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Block:
    """A part of a reply, made from its keys by name. A key in `absent` is left out while it is None; every other
    None is a null.

    A dataclass in all but its making: one shared initialiser, since generating forty would cost every search.
    """

    absent: ClassVar[frozenset[str]] = frozenset()
    _keys: ClassVar[dict[str, None]]

    def __init_subclass__(cls) -> None:
        cls._keys = {name: None for name in cls.__annotations__ if name != "absent"}

    def __init__(self, **values: Any) -> None:
        keys = self._keys
        if values.keys() != keys.keys():
            for name in keys.keys() - values.keys():
                values[name] = getattr(type(self), name)
            if unknown := values.keys() - keys.keys():
                raise TypeError(f"{type(self).__name__} has no {', '.join(sorted(unknown))}")
        self.__dict__.update(values)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a reply does not change: {name}")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in vars(self).items())})"

    def model_dump(self, mode: Literal["python", "json"] = "json") -> dict[str, Any]:
        """The block as JSON values: dicts, lists, strings, numbers, booleans and None."""
        held = vars(self)
        said = {name: _plain(held[name]) for name in self._keys}
        return {k: v for k, v in said.items() if v is not None or k not in self.absent}

    def model_dump_json(self, indent: int | None = None) -> str:
        """The block as JSON text."""
        import json

        return json.dumps(self.model_dump(), indent=indent, ensure_ascii=False)

    @classmethod
    def model_json_schema(cls) -> dict[str, Any]:
        """The JSON schema of the block; a key that may be absent is not required."""
        from pydantic import TypeAdapter

        return TypeAdapter(cls).json_schema()

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """How Pydantic sees a block, for its JSON schema: a closed object of its keys."""
        from pydantic_core import core_schema

        keys = {
            name: core_schema.typed_dict_field(handler.generate_schema(hint), required=not hasattr(cls, name))
            for name, hint in get_type_hints(cls).items()
            if name in cls._keys
        }
        return core_schema.typed_dict_schema(keys, extra_behavior="forbid", ref=f"{cls.__module__}.{cls.__qualname__}")


def _plain(value: Any) -> Any:
    if isinstance(value, Block):
        return value.model_dump()
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    return value


class ConstraintCount(Block):
    """A constraint alone, over the same rows and without `as_of`; nulls when it is unbound."""

    index: int
    constraint: dict[str, Any]
    status: str
    matched: int | None
    rows: int | None
    none: int | None
    not_recorded: int | None
    undetermined: int | None


class Counts(Block):
    """Entities in each set; `bound` = matched + none; the four sets sum to `universe`."""

    universe: int
    matched: int
    none: int
    not_recorded: int
    undetermined: int
    bound: int
    per_constraint: list[ConstraintCount]


class EntityLists(Block):
    """Ids: matched in rank order, the others by id; each list is bounded, the counts are not."""

    matched: list[str]
    none: list[str]
    not_recorded: list[str]
    undetermined: list[str]


class Listing(Block):
    """One group's entities of one set, by id; `total` is how many there are."""

    group: int
    relation: str
    entity_ids: list[str]
    total: int


class CoverageRecord(Block):
    """A coverage statement that lists an entity: by a `source` in its own words, or by an operator (`source` is who,
    `said` is why, `loaded_at` is when)."""

    declared_by: str
    source: str
    said: str
    loaded_at: str


class EntityAbsence(Block):
    """An entity without a row of a relation. `denominator` 0: looked at, nothing found; null: never looked at."""

    entity_id: str
    kind: str
    denominator: int | None
    coverage: list[CoverageRecord]


class Split(Block):
    """Entities by whether they hold a row of the relation, and if not, whether anybody looked."""

    none: int
    not_recorded: int
    recorded: int


class AbsenceBlock(Block):
    """Who holds no row of a group's relation; the lists are bounded, the split is not."""

    split: Split
    none: list[EntityAbsence]
    not_recorded: list[EntityAbsence]


class TimeTestBlock(Block):
    """How a group's rows were tested at the month asked; `date_slot` places rows that state no period."""

    month: str
    date_slot: str | None
    rule: str


class GroupBlock(Block):
    """A group as it ran: entities of each set, rows by the time test, and the relation's absence."""

    index: int
    relation: str
    required: bool
    constraints: list[int]
    covered: int
    matched: int
    none: int
    not_recorded: int
    undetermined: int
    active_rows: int
    inactive_rows: int
    undated_rows: int
    unanswerable_rows: int
    unrecorded_slots: list[str]
    time_test: TimeTestBlock | None
    absence: AbsenceBlock


class ReceiptBlock(Block):
    """Where a slot's value came from. `cell` is the source cell as written, read again at delivery; `row` counts
    the readable rows of `file` from 1. `db_column` is null for a constant of the map."""

    db_table: str
    db_column: str | None
    byte_verified: bool
    source: str
    file: str | None
    row: int
    cell: str | None
    unreadable: bool | None = None
    absent: ClassVar[frozenset[str]] = frozenset({"unreadable"})


class PeriodBlock(Block):
    """A dated row's period as its source states it, each with its receipt; null: the cell is empty."""

    period_from: str | None
    period_to: str | None
    receipts: dict[str, ReceiptBlock]


class RowBlock(Block):
    """A delivered row: its slots as its source states them, the groups it satisfies, a receipt per slot.
    `source_entity_id` is the id the source writes, where it is merged into the match's."""

    relation: str
    row_id: str
    slots: dict[str, str | None]
    period: "PeriodBlock | None" = None
    satisfies_groups: list[int]
    provenance_kind: str
    receipt: None
    slot_receipts: dict[str, ReceiptBlock]
    source_entity_id: str | None = None
    absent: ClassVar[frozenset[str]] = frozenset({"period", "source_entity_id"})


class RankKey(Block):
    """What a match is ranked by; a distance is null where no row gives one, and nulls come last."""

    optional_groups_satisfied: int
    threshold_distance: list[float | None]


class MatchBlock(Block):
    """A match with the rows that put it into the set."""

    entity_id: str
    name: str | None
    rank: int
    rank_key: RankKey
    rows: list[RowBlock]


class UnboundGap(Block):
    """A constraint that did not run, by its index, and why."""

    index: int
    reason: str


class Gaps(Block):
    """What was asked and did not run."""

    unbound: list[UnboundGap]
    dropped: list[dict[str, Any]]
    uncompiled: list[dict[str, Any]]


class Provenance(Block):
    """Delivered rows by kind: declared by a structured load, or extracted from a document."""

    declared: int
    extracted: int


class Coverage(Block):
    """The licence in one word, and the reason codes when it is withheld."""

    completeness_licensed: bool
    withheld_because: str | None = None
    narrowed_by: list[str] | None = None
    absent: ClassVar[frozenset[str]] = frozenset({"withheld_because", "narrowed_by"})


class LicenceReason(Block):
    """A reason the licence is withheld: how many it leaves open (null where nothing is counted), and its cure."""

    code: str
    count: int | None
    sentence: str
    cure: str

    @property
    def counted(self) -> str:
        """The code with its count, as a short reply says it."""
        return self.code if self.count is None else f"{self.code}: {self.count}"


class LicenceBlock(Block):
    """The licence with its reasons, in the order a licence lists them."""

    granted: bool
    reasons: list[LicenceReason]


class CompiledBlock(Block):
    """What a brief became. `constraints` has the shape of the request's own; `model` and `usage` are null where no
    model was called; `usage.cost_usd` is null where the price is not known."""

    brief: str
    constraints: list[dict[str, Any]]
    dropped: list[dict[str, Any]]
    uncompiled: list[dict[str, Any]]
    as_of: str | None
    model: str | None
    usage: dict[str, Any] | None


class MergedId(Block):
    """An id that the request names and that is merged into another: the entity it is."""

    asked: str
    entity_id: str


class FullReply(Block):
    """The whole warrant of one search."""

    request_id: str
    detail: str
    bound: bool
    unbound_because: str | None = None
    ranking: str
    as_of: str | None
    as_of_source: str | None
    compiled: CompiledBlock | None = None
    list_limit: int | None = None
    expansion: list[str]
    counts: Counts
    groups: list[GroupBlock]
    entities: EntityLists
    matches: list[MatchBlock]
    truncated: bool
    none: list[Listing]
    not_recorded: list[Listing]
    undetermined: list[Listing]
    gaps: Gaps
    provenance: Provenance
    coverage: Coverage
    licence: LicenceBlock
    map_version: str
    merged: list[MergedId] | None = None
    absent: ClassVar[frozenset[str]] = frozenset({"unbound_because", "compiled", "list_limit", "merged"})
