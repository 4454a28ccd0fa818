"""What a generation says of itself: one JSON record inside its database file, read once when a store opens."""

from bisect import bisect_right
from collections.abc import Iterable
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from closedset.decimals import DIGITS
from closedset.errors import StoreDamaged
from closedset.mapping import Map
from closedset.pack import Pack

#: The layout of a generation's tables, and what a load reads from the same bytes; a store of another one is loaded
#: anew, never half-read.
FORMAT = 9


class Record(BaseModel):
    """A part of the catalog: an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", defer_build=True)


def kept_as(column: str) -> str:
    """The name of an export's column in its table of kept cells: its own, unless DuckDB keeps that name for itself."""
    return f"{column} (column)" if column.lower() == "rowid" else column


class SourceFile(Record):
    """One file as read: `sha256` over its bytes, `rows` without the header, `unreadable` rows among them; `lacks`
    are columns that other files of the table have and this one has not. Where a row's place among all records of the
    file is not its number among the readable ones, `shifts` says from which row on (from 0) by how much."""

    path: str
    sha256: str
    bytes: int
    rows: int
    unreadable: int = 0
    lacks: list[str] = Field(default_factory=list)
    shifts: list[tuple[int, int]] = Field(default_factory=list)

    def row(self, number: int) -> int:
        """The place from 1, among all records of the file, of its readable row of that number, from 0."""
        at = bisect_right(self.shifts, number, key=lambda shift: shift[0])
        return number + 1 + (self.shifts[at - 1][1] if at else 0)


class Origin(Record):
    """Where a column of a defined table comes from: plainly passed from `column` of `table`; the column
    `ordinal` of the defined table holds the row's place there."""

    table: str
    column: str
    ordinal: str


class SourceTable(Record):
    """A table of kept cells. `cells` is its name, within the database that its source's cells are kept in;
    `origins` is empty for a table of files."""

    source: str
    table: str
    cells: tuple[str, ...]
    columns: list[str]
    rows: int
    files: list[SourceFile] = Field(default_factory=list)
    select: str | None = None
    origins: dict[str, Origin] = Field(default_factory=dict)
    notes: list[str] = Field(default_factory=list)

    def at(self, place: int) -> tuple[str | None, int]:
        """The file a row lies in (None: no file's) and its place there from 1, among all records of the file; `place`
        is that among the table's rows, from 0."""
        for file in self.files:
            held = file.rows - file.unreadable
            if place < held:
                return file.path.rsplit("/", 1)[-1], file.row(place)
            place -= held
        return None, place + 1

    def named(self, place: int) -> str:
        """Where a row stands, as messages write it."""
        file, row = self.at(place)
        return f"{file or self.table} row {row}"

    def refuse_lost(self, wanted: Iterable[int], held: Iterable[int]) -> None:
        """Refuse (StoreDamaged) places that the kept cells hold no more though answers rest on them."""
        gone = min({*wanted} - {*held}, default=None)
        if gone is not None:
            raise StoreDamaged(
                f"table {self.table} of source {self.source}: the store's kept cells hold no {self.named(gone)} any "
                "more, which answers rest on; see what else is not as it was: closedset verify STORE"
            )


class Examples(Record):
    """Texts of one kind: how many rows hold one, and the most frequent texts with their rows."""

    rows: int = 0
    distinct: int = 0
    texts: list[tuple[str, int]] = Field(default_factory=list)


class SlotReport(Record):
    """The rows of one slot by what their cell says; `unplaced` are among the recorded. `reversed` ones state an end of
    a period that ends before it starts: as unreadable as the `unreadable`, though their text can be read."""

    recorded: int = 0
    empty: int = 0
    reversed: int = 0
    unreadable: Examples = Field(default_factory=Examples)
    unplaced: Examples = Field(default_factory=Examples)


class RowsReport(Record):
    """One map entry's figures: read = loaded + withheld + unattributed. One without slots is of the unreadable rows of
    a table that only says who was looked at, or who there is."""

    relation: str
    source: str
    table: str
    read: int
    loaded: int
    withheld: int
    unattributed: int
    reversed_periods: int = 0
    empty_periods: int = 0
    slots: dict[str, SlotReport] = Field(default_factory=dict)


class TermRows(Record):
    """A term in its relation's term index: its entry there, and how many rows hold it, `undated` of them without a
    period."""

    entry: int
    rows: int
    undated: int


class SlotColumns(Record):
    """How a slot is stored: `scale` and `digits` of a number; whether any load wrote it; `terms`, where the relation's
    term index holds it, by code (0 the empty cell, -1 any surface on no term, -2 text that cannot be read,
    -3 a span of days)."""

    written: bool = False
    scale: int = 0
    digits: int = DIGITS
    terms: dict[int, TermRows] | None = None


class StoredRelation(Record):
    """A relation's totals over all sources. `table` is None when no row of it was ever loaded; `retired` rows are
    among `rows`. `kinds` are the term slots by whose codes the relation's rows are told apart as kinds, where the load
    kept a table of these."""

    table: str | None = None
    rows: int = 0
    covered: int = 0
    withheld: int = 0
    unattributed: int = 0
    retired: int = 0
    slots: dict[str, SlotColumns] = Field(default_factory=dict)
    kinds: list[str] = Field(default_factory=list)


class Statement(Record):
    """One coverage statement; `entities` is how many ids it lists. Of an operator's, `source` is who declared it,
    `said` why, `at` when, and `event` its number in the ledger."""

    relation: str
    source: str
    said: str
    entities: int
    declared_by: Literal["source", "operator"] = "source"
    at: str | None = None
    event: int | None = None


class Placed(Record):
    """A spelling that an operator placed on a term; `event` is its number in the ledger."""

    axis: str
    surface: str
    term: str
    event: int
    at: str
    by: str
    reason: str


class Lost(Record):
    """A row that no reader could read, or that names no entity: its `file` and `line`, or its `row` in `file`, or in
    `table` where that is no file's; `entity_id` where that much is sure."""

    relation: str
    table: str
    file: str | None
    line: int | None
    row: int | None
    entity_id: str | None
    fault: str


class NearDuplicates(Record):
    """Ids that differ by little, kept as different entities: how many groups of them, how many ids in all, and the
    `first` groups with their first ids."""

    groups: int = 0
    ids: int = 0
    first: list[list[str]] = Field(default_factory=list)


class Drift(Record):
    """How a table of the export differs in shape from the load before; `was` and `now` name the column, or the number
    or the order of columns or files."""

    table: str
    what: Literal[
        "column gained",
        "column lost",
        "column renamed",
        "columns in another order",
        "another number of files",
        "files in another order",
    ]
    was: str | None = None
    now: str | None = None


class Change(Record):
    """One step of a store's history: what made a generation. `what` is `load` or an operator's act; the figures are
    those of the source that was loaded."""

    generation: int
    at: str
    what: str
    source: str | None = None
    detail: str = ""
    fingerprint: str | None = None
    read: int = 0
    loaded: int = 0
    withheld: int = 0
    unattributed: int = 0
    universe: int = 0


class Catalog(Record):
    """Everything a reader needs to know of a generation before it runs a statement.

    `kept` names the file of each database that holds source cells (none for a store in memory); `keep` is how many
    former generations stay beside the current one. `pack` is the pack as searched: as loaded (`declared`, where it
    differs) with the `placements`. `ledger` is the last event of the ledger that is applied, `unfit` says which of
    those in force fit nothing here, `merged` is how many ids are merged into others.
    """

    format: int = FORMAT
    generation: int
    loaded_at: str
    pack: Pack
    maps: dict[str, Map]
    sources: list[str]
    fingerprints: dict[str, str]
    tables: list[SourceTable]
    kept: dict[str, str] = Field(default_factory=dict)
    statements: list[Statement]
    relations: dict[str, StoredRelation]
    reports: list[RowsReport]
    universe: int
    map_version: str
    lost: list[Lost] = Field(default_factory=list)
    near_duplicates: NearDuplicates = Field(default_factory=NearDuplicates)
    drift: list[Drift] = Field(default_factory=list)
    history: list[Change] = Field(default_factory=list)
    keep: int = 1
    declared: Pack | None = None
    placements: list[Placed] = Field(default_factory=list)
    merged: int = 0
    ledger: int = 0
    unfit: list[str] = Field(default_factory=list)

    @property
    def pack_as_loaded(self) -> Pack:
        return self.declared or self.pack

    @property
    def load_month(self) -> str:
        """The month of the load, by which a period is called ended."""
        return self.loaded_at[:7]

    def table(self, source: str, table: str) -> SourceTable:
        return next(t for t in self.tables if t.source == source and t.table == table)
