"""Whom an export is about: the column that names the same entities in most of its tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import duckdb

from closedset.catalog import kept_as
from closedset.errors import LoadRefused
from closedset.fold import WHITE_SPACE
from closedset.load.proposal.identifier import snake, words
from closedset.load.proposal.offered import Offered
from closedset.load.proposal.profile import COMPACT, Column
from closedset.load.read import nearest
from closedset.render import render

#: Last words of a column's name that say it holds ids, and how surely.
ID_WORDS = {
    **dict.fromkeys(("id", "ids", "key", "uuid", "guid", "pk", "lei", "isin", "ssn"), 2),
    **dict.fromkeys(("code", "no", "nr", "num", "number", "ref", "reference", "email", "vat", "ean"), 1),
}  # fmt: skip
#: Such a column alone is the table's own id: its name says whose only together with the table's.
_BARE = ("id", "key", "uuid", "guid", "pk", "code", "no", "nr", "number", "ref")
_PLURALS = {"people": "person", "men": "man", "women": "woman", "children": "child"}


@dataclass(frozen=True)
class Candidate:
    """A column that may name the entities. `columns` gives it by table; `unique_in` are the tables with one row an
    id; `widest` is the one with the most distinct ids, `ids` how many; `shared` is how many of these stand in each
    other table too (the least of them); `strength` is how surely its name says that it holds ids (0 to 2)."""

    name: str
    columns: Mapping[str, str]
    unique_in: tuple[str, ...]
    widest: str
    ids: int
    shared: int | None
    strength: int

    @property
    def rank(self) -> tuple[bool, bool, int, bool, int]:
        """The better candidate has the greater rank. One id throughout (a tenant's, say) tells nobody apart."""
        return self.ids > 1, self.strength == 2, len(self.columns), bool(self.unique_in), self.strength


@dataclass(frozen=True)
class Subject:
    """The chosen column with the others that might have been it, best first; `certain` when none comes near."""

    chosen: Candidate
    others: tuple[Candidate, ...]
    certain: bool

    @property
    def kind(self) -> str:
        """What an answer counts: the id's name without the word that says it is one."""
        said = words(self.chosen.name)
        kept = said[:-1] if len(said) > 1 and said[-1] in ID_WORDS else said
        name = "_".join(kept)
        return name if name and name[0].isalpha() and name not in ID_WORDS else "entity"


def subject(
    con: duckdb.DuckDBPyConnection,
    tables: Sequence[Offered],
    columns: Mapping[str, Sequence[Column]],
    entity: str | None = None,
) -> Subject:
    """Choose among the columns of all tables, or the one called `entity`. Refuses (LoadRefused) a name that no
    column has."""
    if entity is not None:
        return Subject(_named(con, tables, columns, entity), (), True)
    found = _candidates(con, tables, columns)
    if not found:
        return Subject(_fallback(con, tables, columns), (), False)
    chosen, *others = found
    near = [one for one in others if one.rank[:3] == chosen.rank[:3]]
    return Subject(chosen, tuple(others), chosen.strength == 2 and not near)


def _candidates(
    con: duckdb.DuckDBPyConnection, tables: Sequence[Offered], columns: Mapping[str, Sequence[Column]]
) -> list[Candidate]:
    grouped: dict[str, dict[str, Column]] = {}
    bare: list[tuple[Offered, Column]] = []
    for table in tables:
        for column in columns[table.name]:
            said = words(column.name)
            if not said or said[-1] not in ID_WORDS or not _may_be_id(column):
                continue
            if said[0] in _BARE and len(said) == 1:
                bare.append((table, column))
            else:
                grouped.setdefault("_".join(said), {}).setdefault(table.name, column)
    for table, column in bare:
        word = words(column.name)[0]
        singular = _singulars(table.called)
        name = next((f"{s}_{word}" for s in singular if f"{s}_{word}" in grouped), f"{singular[-1]}_{word}")
        grouped.setdefault(name, {}).setdefault(table.name, column)
    found = [_candidate(con, name, tables, members) for name, members in grouped.items()]
    return sorted(found, key=lambda c: (*(-int(part) for part in c.rank), c.ids, c.name))


def _may_be_id(column: Column) -> bool:
    """Whatever its name says, dates are no ids; eight or four digits may be."""
    return not column.formats or column.formats == (COMPACT,) or column.years


def _singulars(table: str) -> list[str]:
    """What one row of a table may be called, the likeliest last."""
    name = snake(table) or "entity"
    *before, last = name.split("_")
    forms = [last]
    if last in _PLURALS:
        forms.append(_PLURALS[last])
    elif last.endswith("ies"):
        forms.append(f"{last[:-3]}y")
    elif last.endswith(("sses", "shes", "ches", "xes")):
        forms += [last[:-1], last[:-2]]
    elif last.endswith("s") and not last.endswith(("ss", "us")):
        forms.append(last[:-1])
    return ["_".join([*before, form]) for form in forms]


def _candidate(
    con: duckdb.DuckDBPyConnection, name: str, tables: Sequence[Offered], members: Mapping[str, Column]
) -> Candidate:
    unique = tuple(table for table, column in members.items() if column.unique)
    last = words(name)[-1:]
    widest = min(members, key=lambda t: (-members[t].distinct, t))
    return Candidate(
        name,
        {table: column.name for table, column in members.items()},
        unique,
        widest,
        members[widest].distinct,
        _shared(con, tables, members),
        ID_WORDS.get(last[0], 0) if last else 0,
    )


def _shared(con: duckdb.DuckDBPyConnection, tables: Sequence[Offered], members: Mapping[str, Column]) -> int | None:
    """The ids that each of the other tables has in common with the one that holds most; the least of them."""
    if len(members) < 2:
        return None
    cells = {table.name: table.cells.cells for table in tables}
    widest, *rest = sorted(members, key=lambda t: (-members[t].distinct, t))

    def texts(table: str) -> str:
        return render("load/proposal_texts.sql.j2", cells=cells[table], column=kept_as(members[table].name))

    counts = []
    for other in rest:
        sql = f"SELECT count(*) FROM (SELECT said FROM ({texts(widest)}) INTERSECT SELECT said FROM ({texts(other)}))"
        ((count,),) = con.execute(sql, {"white_space": WHITE_SPACE}).fetchall()
        counts.append(int(count))
    return min(counts)


def _named(
    con: duckdb.DuckDBPyConnection, tables: Sequence[Offered], columns: Mapping[str, Sequence[Column]], entity: str
) -> Candidate:
    """The candidate of that name, or the column of that name wherever it stands."""
    for one in _candidates(con, tables, columns):
        if entity == one.name:
            return one
    members = {t.name: c for t in tables for c in columns[t.name] if entity in (c.name, snake(c.name))}
    if not members:
        known = list(dict.fromkeys(c.name for t in tables for c in columns[t.name]))
        raise LoadRefused(f"--entity {entity}: no table has a column of that name{nearest(entity, known)}")
    return _candidate(con, snake(entity) or entity, tables, members)


def _fallback(
    con: duckdb.DuckDBPyConnection, tables: Sequence[Offered], columns: Mapping[str, Sequence[Column]]
) -> Candidate:
    """No column's name says id: one with a text of its own in every row of the largest table, else its first."""
    largest = max(tables, key=lambda t: (t.cells.rows, -tables.index(t)))
    mine = columns[largest.name]
    unique = [c for c in mine if c.unique and not c.formats and not c.number] or [c for c in mine if c.unique]
    column = (unique or list(mine))[0]
    members = {t.name: c for t in tables for c in columns[t.name] if c.name == column.name}
    return _candidate(con, snake(column.name) or "entity", tables, members)
