"""Finding an export: the files, table folders and databases that were given, and which of them hold a table."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING

from closedset import kinds
from closedset.errors import LoadRefused
from closedset.kinds import stem, unpacked
from closedset.load.read.part import Part
from closedset.table_files import TableFiles, idle

if TYPE_CHECKING:
    from closedset.mapping import Map

#: Of an export written twice, the kind that says most of its cells is read.
_RANK = ("parquet", "arrow", "csv", "jsonl", "json")
_MAGIC = ((0, b"SQLite format 3\0", "sqlite"), (8, b"DUCK", "duckdb"))


def found(paths: Sequence[str | Path]) -> list[Part]:
    """Everything readable under the given folders, files and globs, sorted. Refuses a path that is nothing."""
    parts: dict[Path, Part] = {}
    for given in paths:
        path = Path(given)
        if path.is_dir():
            taken = [part for one in path.iterdir() if (part := _part(one))]
        elif path.is_file():
            part = _part(path)
            if part is None:
                raise LoadRefused(f"{path}: {_no_kind(path)}")
            taken = [part]
        else:
            taken = [part for one in glob(str(given), recursive=True) if (part := _part(Path(one)))]
            if not taken:
                raise LoadRefused(f"{given}: no such file or folder, and no file matches it")
        parts.update((part.path, part) for part in taken)
    return [parts[path] for path in sorted(parts)]


def _part(path: Path) -> Part | None:
    """What lies at a path, or None where it is no export."""
    kind = kinds.kind_of(path.name) if path.is_file() else None
    return Part(kind, path) if kind and kind in _READ else None


_READ = ("csv", "parquet", "arrow")


def _no_kind(path: Path) -> str:
    if kinds.kind_of(unpacked(path.name)):
        return "only text (CSV, JSON) is read packed; unpack it"
    return f"not a kind of file closedset reads ({', '.join(kinds.SUFFIXES)})"


def choose(table: str, mapping: "Map", found: Sequence[Part]) -> tuple[list[Part], list[str]]:
    """The parts of one table, and notes on files left aside. Refuses a table that nothing fills, and an option of
    the map that none of its files uses."""
    said = mapping.files.get(table, TableFiles())
    chosen = _by_name(said.file or (table,), found)
    if not chosen:
        patterns = said.file or (table,)
        have = ", ".join(part.path.name for part in found) or "no files"
        raise LoadRefused(f"table {table}: no file {' or '.join(patterns)} among what was given: {have}")
    kept, notes = _once(table, chosen)
    for option, message in idle(said, [part.kind for part in kept]):
        raise LoadRefused(f"map of {mapping.source}: files.{table}.{option}: {message} ({kept[0].path.name})")
    wanted, entity = _named(table, mapping)
    return [Part(p.kind, p.path, p.inside, said, wanted, entity) for p in kept], notes


def _by_name(patterns: Sequence[str], found: Sequence[Part]) -> list[Part]:
    names = {part.path.name for part in found}
    # A name that stands there as it is written is no pattern, whatever brackets it holds; a pattern takes a file
    # packed or not, so that no part of an export is missed for its packing.
    chosen = [
        part
        for part in found
        if any(
            part.path.name == p if p in names else fnmatchcase(unpacked(part.path.name), unpacked(p)) for p in patterns
        )
    ]
    if not chosen:
        stems = [stem(Path(p).name) for p in patterns]
        chosen = [part for part in found if any(fnmatchcase(stem(part.path.name), s) for s in stems)]
    return chosen


def _once(table: str, chosen: Sequence[Part]) -> tuple[list[Part], list[str]]:
    """The parts less what stands there twice: one stem in two kinds is one export, and reading both would double
    it."""
    by_stem: dict[tuple[Path, str], list[Part]] = {}
    for part in chosen:
        by_stem.setdefault((part.path.parent, stem(part.path.name)), []).append(part)
    kept: list[Part] = []
    notes: list[str] = []
    for same in by_stem.values():
        best = min(same, key=lambda p: _RANK.index(p.kind) if p.kind in _RANK else len(_RANK))
        kept.append(best)
        beside = [p for p in same if p is not best]
        notes += [f"{table}: read {best.path.name}; {p.path.name} beside it was left aside" for p in beside]
    return sorted(kept, key=lambda part: part.path), notes


def _named(table: str, mapping: "Map") -> tuple[tuple[str, ...], str | None]:
    """The columns of a table that the map names and that may lie inside nested ones, and its entity column."""
    rows = [r for r in mapping.rows if r.table == table]
    entities = [e for e in mapping.entities if e.table == table]
    names: list[str | None] = [c.column for r in rows for c in r.cells().values()]
    names += [name for one in rows for name in (one.entity, one.name)]
    names += [name for one in entities for name in (one.entity, one.name)]
    names += [said.column for _, said in mapping.statements() if said.table == table]
    for select in mapping.tables.values():
        names += _columns(select)
    wanted = dict.fromkeys(name for name in names if name and "." in name)
    return tuple(wanted), next((name for name in (*(r.entity for r in rows), *(e.entity for e in entities))), None)


def _columns(select: str) -> list[str | None]:
    """The columns a SELECT names, of whatever table; a text that is none is refused where it is run."""
    import sqlglot
    from sqlglot import exp

    try:
        return [c.name for s in sqlglot.parse(select, dialect="duckdb") if s for c in s.find_all(exp.Column)]
    except sqlglot.errors.SqlglotError:
        return []
