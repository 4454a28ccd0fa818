"""A map: which column of an export fills which slot, and what the export says about who was looked at.

Read from `map.yaml`; one map is one source, whose re-load replaces what the former load of it brought.
"""

import re
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator

from closedset import dates, kinds, yaml_file
from closedset.errors import PackRefused
from closedset.pack import PERIOD, Declared, Name, Pack
from closedset.table_files import TableFiles, Texts, idle, one_or_many


def _unreadable(formats: Texts) -> list[str]:
    """What is wrong with date formats that could never read a date, or would have to guess it."""
    return [f"date format {form!r}: {wrong}" for form in formats if (wrong := dates.fault(form))]


class Cell(Declared):
    """How one slot's cells are read. Written as a column's name, or as a mapping with:

    `column` or `constant`; `null`: texts that record nothing; `pattern`: a regular expression the whole
    trimmed cell must match, else it is unreadable (or, with `mismatch: unrecorded`, records nothing);
    `absent`: what an empty cell means; `dates`: strptime formats tried in order after ISO; `base_year`:
    the first year of the century that two-digit years fall into; `excel_serial`: day numbers since 1900 are
    dates; `decimal` and `grouping`: the number's marks.
    """

    column: str | None = None
    constant: str | None = None
    null: Annotated[Texts, BeforeValidator(one_or_many)] = ()
    pattern: str | None = None
    mismatch: Literal["unreadable", "unrecorded"] = "unreadable"
    absent: str | None = None
    dates: Annotated[Texts, BeforeValidator(one_or_many)] = ()
    base_year: int | None = None
    excel_serial: bool = False
    decimal: Literal[".", ","] = "."
    grouping: Literal["", ".", ",", "'", " "] = ""

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return {"column": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _one_origin(self) -> "Cell":
        if (self.column is None) == (self.constant is None):
            raise ValueError("write exactly one of `column` and `constant`")
        if self.grouping and self.grouping == self.decimal:
            raise ValueError("`decimal` and `grouping` are the same mark")
        if self.pattern is not None:
            try:
                re.compile(self.pattern)
            except re.error as error:
                raise ValueError(f"`pattern` is no regular expression: {error}") from None
        if self.base_year is not None and not 1 <= self.base_year <= 9900:
            raise ValueError("`base_year` is the first year of a century, 1 to 9900")
        return self

    @field_validator("dates")
    @classmethod
    def _formats(cls, formats: Texts) -> Texts:
        if wrong := _unreadable(formats):
            raise ValueError("; ".join(wrong))
        return formats


class LookedAt(Declared):
    """A coverage statement: every id in `every` (a table of entities) or `listed` (a log of who was checked).

    Both name `TABLE.COLUMN`. They read the same; the word says why, and stands on the coverage records.
    """

    every: str | None = None
    listed: str | None = None

    @model_validator(mode="after")
    def _one(self) -> "LookedAt":
        if (self.every is None) == (self.listed is None):
            raise ValueError("write exactly one of `every: TABLE.COLUMN` and `listed: TABLE.COLUMN`")
        if "." not in self.target.strip("."):
            raise ValueError(f"{self.target!r} is not TABLE.COLUMN")
        return self

    @property
    def target(self) -> str:
        return self.every or self.listed or ""

    @property
    def table(self) -> str:
        return self.target.split(".", 1)[0]

    @property
    def column(self) -> str:
        return self.target.split(".", 1)[1]


def _statement(value: Any) -> Any:
    """Validated here, so that a fault is said once and not for each member of the union."""
    if isinstance(value, dict):
        return LookedAt.model_validate(value)
    if value in ("rows", "none") or isinstance(value, LookedAt):
        return value
    raise ValueError("write `rows`, {every: TABLE.COLUMN} or {listed: TABLE.COLUMN}")


class Rows(Declared):
    """One table's rows as rows of one relation. `looked_at` omitted, `rows` or `none` declares no coverage:
    only an entity with a row was looked at."""

    relation: Name
    table: Name = Field(alias="from")
    entity: str
    name: str | None = None
    slots: dict[Name, Cell] = Field(default_factory=dict)
    period: tuple[Cell, Cell] | None = None
    dates: dict[Name, Annotated[Texts, BeforeValidator(one_or_many)]] = Field(default_factory=dict)
    looked_at: Annotated[LookedAt | Literal["rows", "none"], BeforeValidator(_statement)] = "rows"

    @model_validator(mode="after")
    def _dates_are_slots(self) -> "Rows":
        faults: list[tuple[yaml_file.Place, str]] = []
        for name, formats in self.dates.items():
            if name not in self.slots and not (self.period and name in PERIOD):
                faults.append((("dates", name), "no such slot in this entry"))
            faults += [(("dates", name), wrong) for wrong in _unreadable(formats)]
        if faults:
            raise yaml_file.Faults(faults)
        return self

    def cells(self) -> dict[str, Cell]:
        """Every mapped slot's reading, the period columns included, with the `dates` formats joined in."""
        period = dict(zip(PERIOD, self.period, strict=True)) if self.period else {}
        both = {**self.slots, **period}
        return {
            name: cell.model_copy(update={"dates": (*cell.dates, *self.dates.get(name, ()))})
            for name, cell in both.items()
        }


class Entities(Declared):
    """A table whose every id belongs to the universe, with an optional display name."""

    table: Name = Field(alias="from")
    entity: str
    name: str | None = None


class Coverage(LookedAt):
    """A coverage statement for a relation that stands apart from any rows."""

    relation: Name


class Map(Declared):
    """One source: its files, tables defined by a SELECT, entity tables, rows and coverage.

    `files` maps a table's name to its files; a table not listed is the file, or the table of a given database, of
    that name.
    `tables` maps a table's name to one SELECT over the other tables.
    """

    source: Name
    files: dict[Name, TableFiles] = Field(default_factory=dict)
    tables: dict[Name, str] = Field(default_factory=dict)
    null: Annotated[Texts, BeforeValidator(one_or_many)] = ()
    entities: tuple[Entities, ...] = ()
    rows: tuple[Rows, ...] = ()
    coverage: tuple[Coverage, ...] = ()

    @field_validator("tables")
    @classmethod
    def _select_only(cls, tables: dict[str, str]) -> dict[str, str]:
        faults: list[tuple[yaml_file.Place, str]] = [
            ((name,), "a table is defined by one SELECT")
            for name, text in tables.items()
            if not text.lstrip().lower().startswith(("select", "with", "from"))
        ]
        if faults:
            raise yaml_file.Faults(faults)
        return tables

    def columns(self) -> list[tuple[yaml_file.Place, str, str]]:
        """Every column the map names of its tables: (place in the map, table, column)."""
        named: list[tuple[yaml_file.Place, str, str | None]] = []
        for i, rows in enumerate(self.rows):
            at: yaml_file.Place = ("rows", i)
            named += [((*at, "entity"), rows.table, rows.entity), ((*at, "name"), rows.table, rows.name)]
            named += [((*at, "slots", slot), rows.table, cell.column) for slot, cell in rows.slots.items()]
            named += [((*at, "period", j), rows.table, cell.column) for j, cell in enumerate(rows.period or ())]
            if isinstance(rows.looked_at, LookedAt):
                named.append(((*at, "looked_at"), rows.looked_at.table, rows.looked_at.column))
        for i, one in enumerate(self.entities):
            at = ("entities", i)
            named += [((*at, "entity"), one.table, one.entity), ((*at, "name"), one.table, one.name)]
        named += [(("coverage", i), said.table, said.column) for i, said in enumerate(self.coverage)]
        return [(place, table, column) for place, table, column in named if column is not None]

    def place_of(self, table: str) -> yaml_file.Place:
        """Where the map first names a table: its files, or what reads it."""
        if table in self.files:
            return ("files", table)
        from_ = [(("rows", i, "from"), rows.table) for i, rows in enumerate(self.rows)]
        from_ += [(("entities", i, "from"), one.table) for i, one in enumerate(self.entities)]
        looked: list[tuple[yaml_file.Place, str]] = [(place, of) for place, of, _ in self.columns()]
        selects: list[tuple[yaml_file.Place, bool]] = [(("tables", n), table in sql) for n, sql in self.tables.items()]
        named = [(place, of == table) for place, of in [*from_, *looked]]
        return next((place for place, names in [*named, *selects] if names), ())

    def statements(self) -> list[tuple[str, LookedAt]]:
        """Every coverage statement with its relation, in declared order."""
        by_rows = [(r.relation, r.looked_at) for r in self.rows if isinstance(r.looked_at, LookedAt)]
        return [*by_rows, *((c.relation, c) for c in self.coverage)]


def check(mapping: Map, pack: Pack) -> list[tuple[yaml_file.Place, str]]:
    """Where the map and the pack disagree: (place in the map, message). Empty when they agree."""
    faults: list[tuple[yaml_file.Place, str]] = []
    for table, files in mapping.files.items():
        # A name without a known ending may turn out to be any kind; the load looks again.
        named = [kinds.kind_of(name) for name in files.file]
        found = [kind for kind in named if kind]
        if found and len(found) == len(named):
            faults += [(("files", table, option), fault) for option, fault in idle(files, found)]
    for i, rows in enumerate(mapping.rows):
        relation = pack.relations.get(rows.relation)
        if relation is None:
            known = ", ".join(pack.relations)
            message = f"pack {pack.pack} declares no relation {rows.relation!r}; it has: {known}"
            faults.append((("rows", i, "relation"), message))
            continue
        if rows.period and not relation.dated:
            faults.append((("rows", i, "period"), f"{rows.relation} is not `dated` in the pack"))
        for name in rows.slots:
            if name in PERIOD:
                faults.append((("rows", i, "slots", name), "write the period under `period: [from, to]`"))
            elif name not in relation.slots:
                known = ", ".join(relation.slots)
                message = f"{rows.relation} has no slot {name!r}; it has: {known}"
                faults.append((("rows", i, "slots", name), message))
        for name, cell in rows.cells().items():
            slot = relation.slot(name)
            faults += _idle(("rows", i, "slots", name), cell, slot.type) if slot else []
    for i, statement in enumerate(mapping.coverage):
        if statement.relation not in pack.relations:
            message = f"pack {pack.pack} declares no relation {statement.relation!r}"
            faults.append((("coverage", i, "relation"), message))
    return faults


def _idle(place: yaml_file.Place, cell: Cell, kind: str) -> list[tuple[yaml_file.Place, str]]:
    """What a cell declares that its slot's type never uses: most often the option stands at the wrong slot."""
    of = {"dates": "date", "base_year": "date", "excel_serial": "date", "decimal": "number", "grouping": "number"}
    return [
        ((*place, option), f"`{option}` is for {needed} slots, and this one is a {kind}")
        for option, needed in of.items()
        if needed != kind and getattr(cell, option) != Cell.model_fields[option].default
    ]


def load(path: Path, pack: Pack) -> Map:
    """Read and validate a map against its pack. Refuses (PackRefused) with file and line of every fault."""
    return with_lines(path, pack)[0]


def with_lines(path: Path, pack: Pack) -> tuple[Map, dict[yaml_file.Place, int]]:
    """The same, with the line of every place of the file: a load finds more faults beside the export."""
    raw, lines = yaml_file.read(path)
    mapping = yaml_file.validate_value(Map, raw, str(path), lines)
    faults = check(mapping, pack)
    if faults:
        raise PackRefused(yaml_file.said(faults, str(path), lines))
    return mapping, lines
