"""A pack: the relations, slots and axes of a domain, read from `pack.yaml`.

`load("roster")` takes a bundled pack's name, a `pack.yaml`, or a folder that holds one.
"""

from collections.abc import Iterable
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from closedset import vocabulary, yaml_file
from closedset.errors import PackRefused
from closedset.vocabulary import Vocabulary, VocabularyError
from closedset.yaml_file import Faults, Place

Name = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)*$", max_length=62)]
PERIOD = ("period_from", "period_to")


def data_folder(name: Literal["sql", "packs"]) -> Path:
    """Where the SQL templates or the bundled packs lie: inside the wheel, or beside engine/ in a checkout."""
    installed = Path(str(resources.files("closedset") / name))
    return installed if installed.is_dir() else Path(__file__).parents[2] / name


def _none_is_empty(value: Any) -> Any:
    return {} if value is None else value


class Declared(BaseModel):
    """Every model of a pack or map: frozen, and an unknown key is an error."""

    # Deferred: a search validates one catalog, and needs no validator of its parts.
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, defer_build=True)


class Axis(Declared):
    """A vocabulary as declared. `order` is low to high; `tree` maps a term to the terms below it.

    An axis that declares nothing has no vocabulary: a constraint on it is reported unbound.
    `interior: exact` says that a term with terms below it stands for itself, not for some member below.
    """

    order: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()
    tree: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    synonyms: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    labels: dict[str, str] = Field(default_factory=dict)
    interior: Literal["member", "exact"] = "member"


class Slot(Declared):
    """One column of a relation. Written `text`, `date`, `number`, `{term: AXIS}` or `{number: UNIT}`."""

    type: Literal["term", "text", "number", "date"]
    axis: str | None = None
    unit: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        if isinstance(value, str) and value in ("text", "date", "number"):
            return {"type": value}
        if isinstance(value, dict) and len(value) == 1:
            (kind, argument), *_ = value.items()
            if kind == "term":
                return {"type": "term", "axis": argument}
            if kind == "number":
                return {"type": "number", "unit": argument}
        if isinstance(value, Slot) or (isinstance(value, dict) and "type" in value):
            return value
        allowed = "text, date, number, {term: AXIS} or {number: UNIT}"
        raise ValueError(f"{value!r} is no slot type: write {allowed}")


class Relation(Declared):
    """A relation about the subject. A `dated` one has a period, askable as `period_from` and `period_to`."""

    dated: bool = False
    slots: Annotated[dict[Name, Slot], BeforeValidator(_none_is_empty)] = Field(default_factory=dict)

    @field_validator("slots")
    @classmethod
    def _no_period(cls, slots: dict[str, Slot]) -> dict[str, Slot]:
        for name in PERIOD:
            if name in slots:
                raise ValueError(f"{name} is the relation's own period; write `dated: true`, not a slot")
        return slots

    @property
    def date_slots(self) -> tuple[str, ...]:
        """The declared date slots, by which an undated row can be placed in time (no period among them)."""
        return tuple(name for name, slot in self.slots.items() if slot.type == "date")

    @property
    def date_slot(self) -> str | None:
        """The one date slot, which places a row without a period in time; None where there is none, or several."""
        slots = self.date_slots
        return slots[0] if len(slots) == 1 else None

    def slot(self, name: str) -> Slot | None:
        """A slot by name, the period columns of a dated relation included."""
        if self.dated and name in PERIOD:
            return Slot(type="date")
        return self.slots.get(name)

    def askable(self) -> dict[str, Slot]:
        """Every slot a constraint may name, in declared order, the period columns last."""
        period = {name: Slot(type="date") for name in PERIOD} if self.dated else {}
        return {**self.slots, **period}


class Pack(Declared):
    """A domain: one subject kind, its relations and axes."""

    pack: Name
    title: str = ""
    subject: Name = "entity"
    axes: dict[Name, Annotated[Axis, BeforeValidator(_none_is_empty)]] = Field(default_factory=dict)
    relations: dict[Name, Annotated[Relation, BeforeValidator(_none_is_empty)]] = Field(default_factory=dict)

    @field_validator("axes")
    @classmethod
    def _axes_close(cls, axes: dict[str, Axis]) -> dict[str, Axis]:
        faults: list[tuple[Place, str]] = []
        for name, axis in axes.items():
            try:
                _close(name, axis)
            except VocabularyError as error:
                faults.append(((name, *error.place), str(error)))
        if faults:
            raise Faults(faults)
        return axes

    @model_validator(mode="after")
    def _axes_exist(self) -> "Pack":
        faults = _differ_only_by_case(self.relations, ("relations",))
        for relation_name, relation in self.relations.items():
            slots: Place = ("relations", relation_name, "slots")
            faults += _differ_only_by_case(relation.slots, slots)
            for slot_name, slot in relation.slots.items():
                if slot.type == "term" and slot.axis not in self.axes:
                    faults.append(((*slots, slot_name), f"axis {slot.axis!r} is not declared under `axes`"))
        if faults:
            raise Faults(faults)
        return self

    @cached_property
    def vocabularies(self) -> dict[str, Vocabulary]:
        """The closed vocabularies by axis; an axis without terms has none."""
        closed = {name: _close(name, axis) for name, axis in self.axes.items()}
        return {name: vocab for name, vocab in closed.items() if vocab is not None}

    def vocabulary(self, slot: Slot) -> Vocabulary | None:
        return self.vocabularies.get(slot.axis) if slot.axis else None


def _differ_only_by_case(names: Iterable[str], at: Place) -> list[tuple[Place, str]]:
    """DuckDB folds identifiers, so two such relations would be one table, two such slots one column."""
    folded: dict[str, str] = {}
    return [
        ((*at, name), f"{folded[name.lower()]} and {name} differ only by case")
        for name in names
        if folded.setdefault(name.lower(), name) != name
    ]


def _close(name: str, axis: Axis) -> Vocabulary | None:
    return vocabulary.build(
        name,
        terms=axis.terms,
        order=axis.order,
        children=axis.tree,
        synonyms=axis.synonyms,
        labels=axis.labels,
        exact=axis.interior == "exact",
    )


def bundled() -> list[str]:
    """The names of the packs that come with closedset."""
    return sorted(p.parent.name for p in data_folder("packs").glob("*/pack.yaml"))


def pack_file(name_or_path: str | Path) -> Path:
    """The `pack.yaml` of a bundled name, a folder or a file. Refuses what is none of them."""
    path = Path(name_or_path)
    if path.is_file():
        return path
    if (path / "pack.yaml").is_file():
        return path / "pack.yaml"
    inside = data_folder("packs") / str(name_or_path) / "pack.yaml"
    if str(name_or_path) in bundled():
        return inside
    raise PackRefused(
        f"{name_or_path}: no such pack; give a pack.yaml, a folder that holds one, or one of: {', '.join(bundled())}"
    )


def load(name_or_path: str | Path) -> Pack:
    """Read and validate a pack. Refuses (PackRefused) with file and line of every fault."""
    return yaml_file.validate(Pack, pack_file(name_or_path))
