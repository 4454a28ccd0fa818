"""The tables that an export offers: each file, database table or sheet, or several files that are one table."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import duckdb

from closedset import kinds
from closedset.catalog import SourceTable
from closedset.errors import LoadRefused
from closedset.load import read
from closedset.load.proposal.identifier import identifier
from closedset.load.read import Part
from closedset.mapping import Map
from closedset.render import quoted
from closedset.table_files import TableFiles

_SOURCE = "proposal"


@dataclass(frozen=True)
class Offered:
    """One table. `name` is a valid name for it, `called` the export's own; `files` is what the map says of its
    files; `cells` are its kept cells; `unreadable` rows are not among them."""

    name: str
    called: str
    files: TableFiles
    cells: SourceTable
    unreadable: int

    @property
    def place(self) -> str:
        """Where it is, as a report says it."""
        inside = self.files.sheet or self.files.table
        return ", ".join([*self.files.file, *([inside] if inside else [])])


@dataclass(frozen=True)
class Aside:
    """A file that cannot be read, and why, or one that is read in another form."""

    file: str
    why: str


@dataclass(frozen=True)
class _Read:
    """Parts that were read as one table, called so."""

    called: str
    parts: list[Part]
    table: SourceTable
    unreadable: int


def offered(con: duckdb.DuckDBPyConnection, paths: Sequence[str | Path]) -> tuple[list[Offered], list[Aside]]:
    """Read every table under the given folders, files, globs and servers into `con`, in the order of their names.

    What cannot be read is left aside with the reason. Refuses where nothing can be read.
    """
    found = read.found(paths)
    aside = [Aside(str(path), f"{path}: {why}") for path, why in read.closed(paths)]
    chosen = _chosen(found, aside)
    tables: list[_Read] = []
    with read.settled({f"{i}": parts for i, (_, parts) in enumerate(chosen)}) as settled:
        for (called, parts), here in zip(chosen, settled.values(), strict=True):
            try:
                tables.append(_read(con, called, parts, here, len(tables)))
            except LoadRefused as refused:
                aside += [Aside(part.place, str(refused)) for part in parts]
        tables = _joined(con, tables)
    if not tables:
        why = "; ".join(a.why for a in aside) or "no file of a kind closedset reads"
        raise LoadRefused(f"nothing to draft from: {why}")
    return _named(tables, found), aside


def _chosen(found: Sequence[Part], aside: list[Aside]) -> list[tuple[str, list[Part]]]:
    """The parts of each table with what the export calls it, in the order of these names."""
    chosen: list[tuple[str, list[Part]]] = []
    by_stem: dict[str, list[Part]] = {}
    for part in found:
        try:
            inside = read.tables(part)
        except LoadRefused as refused:
            aside.append(Aside(part.place, str(refused)))
            continue
        if inside == [part]:
            by_stem.setdefault(kinds.stem(part.path.name), []).append(part)
        else:
            chosen += [(_called(one, len(inside)), [one]) for one in inside]
    for called, members in by_stem.items():
        names = tuple(part.path.name for part in members)
        try:
            once = read.choose("t", Map(source=_SOURCE, files={"t": TableFiles(file=names)}), members, ())
        except LoadRefused:
            why = f"{' and '.join(names)} have one name, and may hold other rows; give only one of them"
            aside += [Aside(part.place, why) for part in members]
            continue
        paths = {part.path for part in once}
        chosen.append((called, [part for part in members if part.path in paths]))
    return sorted(chosen, key=lambda one: (one[0], [part.place for part in one[1]]))


def _called(part: Part, beside: int) -> str:
    """A lone sheet or table goes by its file's name: "Sheet1" says nothing."""
    assert part.inside is not None
    return kinds.stem(part.path.name) if beside == 1 and not part.server else part.inside


def _read(con: duckdb.DuckDBPyConnection, called: str, parts: list[Part], here: Sequence[Part], number: int) -> _Read:
    cells = f"offered_{number}"
    con.execute(f"DROP TABLE IF EXISTS {quoted(cells)}").fetchall()
    table, unread = read.read(con, _SOURCE, cells, (cells,), here, [""] * len(here))
    return _Read(called, parts, table, len(unread))


def _joined(con: duckdb.DuckDBPyConnection, tables: list[_Read]) -> list[_Read]:
    """Files of the same columns whose names differ in their digits alone are parts of one table."""
    groups: dict[tuple[str, tuple[str, ...]], list[_Read]] = {}
    for i, one in enumerate(tables):
        alone = f"{i}" if one.parts[0].inside is not None else ""
        key = (re.sub(r"[0-9]+", "#", one.called) + alone, tuple(sorted(one.table.columns)))
        groups.setdefault(key, []).append(one)
    joined = []
    for members in groups.values():
        if len(members) == 1:
            joined += members
            continue
        parts = [part for one in members for part in one.parts]
        for one in members:
            con.execute(f"DROP TABLE {quoted(one.table.cells)}").fetchall()
        number = int(members[0].table.table.removeprefix("offered_"))
        joined.append(_read(con, re.sub(r"[0-9]+", " ", members[0].called), parts, parts, number))
    return joined


def _named(tables: Sequence[_Read], found: Sequence[Part]) -> list[Offered]:
    named: list[Offered] = []
    taken: set[str] = set()
    for i, one in enumerate(tables, 1):
        name = identifier(one.called, f"table_{i}", taken)
        taken.add(name)
        named.append(Offered(name, one.called.strip() or name, _said(one.parts, found), one.table, one.unreadable))
    return named


def _said(parts: Sequence[Part], found: Sequence[Part]) -> TableFiles:
    """Parts as the map names them: files by a glob only where it takes these and no other."""
    first = parts[0]
    names = tuple(dict.fromkeys(part.path.name for part in parts))
    if first.inside is not None:
        sheet, table = (first.inside, None) if first.kind == "excel" else (None, first.inside)
        return TableFiles(file=() if first.server else names, sheet=sheet, table=table)
    globs = {re.sub(r"[0-9]+", "*", name) for name in names}
    if len(names) > 1 and len(globs) == 1 and not set("[]?") & set(names[0]):
        (glob,) = globs
        if {part.path for part in found if fnmatchcase(part.path.name, glob)} == {part.path for part in parts}:
            return TableFiles(file=(glob,))
    return TableFiles(file=names)
