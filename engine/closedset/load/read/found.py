"""Finding an export: the files, table folders and databases that were given, and which of them hold a table."""

import os
from collections.abc import Callable, Container, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING

from closedset import kinds
from closedset.errors import LoadRefused
from closedset.kinds import stem, unpacked
from closedset.load.read import duckdb_file, excel, lake, postgres, sqlite
from closedset.load.read.part import Part, nearest
from closedset.table_files import TableFiles, idle

if TYPE_CHECKING:
    from closedset.mapping import Map

#: How files are packed that closedset does not unpack.
_PACKED = (".bz2", ".xz", ".lzma", ".lz4", ".br", ".z", ".zip", ".7z", ".rar", ".tar", ".tgz", ".tar.gz")
_SHOWN = 3
_MAGIC = ((0, b"SQLite format 3\0", "sqlite"), (8, b"DUCK", "duckdb"))


def found(paths: Sequence[str | Path]) -> list[Part]:
    """Everything readable under the given folders, files and globs, sorted; once, however often and in whatever
    spelling it is given. Refuses a path that is nothing."""
    parts: dict[tuple[str, Path], Part] = {}
    for given in paths:
        scheme, colon, _ = str(given).partition("://")
        path = Path(given)
        if colon:
            if scheme not in postgres.SCHEMES:
                raise LoadRefused(f"{scheme}://…: no kind of server closedset reads; it reads postgresql://…")
            taken = [_server(str(given))]
        elif (inside := _inside(path)) is not None:
            kind = _lake(path)
            taken = [Part(kind, path)] if kind else [part for one in inside if (part := _part(one))]
        elif path.is_file():
            part = _part(path)
            if part is None:
                raise LoadRefused(f"{path}: {_no_kind(path)}")
            taken = [part]
        else:
            taken = [part for one in glob(str(given), recursive=True) if (part := _part(Path(one)))]
            if not taken:
                raise LoadRefused(f"{given}: no such file or folder, and no file matches it")
        for part in taken:
            key = (part.server, part.path if part.server else _one_place(part.path))
            parts[key] = min(part, parts.get(key, part), key=lambda one: (len(str(one.path)), str(one.path)))
    return sorted(parts.values(), key=lambda part: (part.server, part.path))


def _one_place(path: Path) -> Path:
    """Where a path leads; a file that is a link keeps its own name, by which a table may be found."""
    return path.parent.resolve() / path.name if path.name not in ("", "..") else path.resolve()


def _inside(path: Path) -> list[Path] | None:
    """What lies in a folder; None where the path is none. Refuses a folder that cannot be listed."""
    try:
        return list(path.iterdir()) if path.is_dir() else None
    except OSError as error:
        raise LoadRefused(f"{path}: cannot be read: {error.strerror}") from None


def _lake(path: Path) -> str | None:
    try:
        return lake.kind(path)
    except OSError:
        return None


def _server(uri: str) -> Part:
    server = postgres.server(uri)
    return Part("postgres", Path(server.rsplit("/", 1)[-1]), server=server, uri=uri)


def _part(path: Path) -> Part | None:
    """What lies at a path, or None where it is no export, or cannot be looked into: not every folder and file beside
    an export is needed."""
    try:
        if path.is_dir():
            kind = lake.kind(path)
        else:
            kind = kinds.kind_of(path.name) if path.is_file() else None
            if kind == "database":
                with path.open("rb") as stream:
                    start = stream.read(32)
                kind = next((kind for at, magic, kind in _MAGIC if start[at:].startswith(magic)), None)
    except OSError:
        return None
    return Part(kind, path) if kind else None


def passed_over(paths: Sequence[str | Path]) -> list[Path]:
    """What lies in the given folders, or matches the given globs, and is no export; hidden files aside."""
    beside: list[Path] = []
    for given in map(str, paths):
        if "://" not in given:
            path = Path(given)
            if path.is_dir():
                inside = [] if _lake(path) else list(path.iterdir())
            else:
                inside = [] if path.is_file() else [Path(one) for one in glob(given, recursive=True)]
            beside += [one for one in inside if not one.name.startswith(".") and _part(one) is None]
    return sorted(beside)


def closed(paths: Sequence[str | Path]) -> list[tuple[Path, str]]:
    """What of that may be an export and cannot be looked into, each with the reason."""
    return [(path, said) for path in passed_over(paths) if not path.is_symlink() and (said := _shut(path))]


def _shut(path: Path) -> str:
    try:
        if path.is_dir():
            list(path.iterdir())
        else:
            path.open("rb").close()
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    return ""


def _no_kind(path: Path) -> str:
    if path.is_symlink() and not path.exists():
        return f"a link to {path.readlink()}, which is not there"
    if shut := _shut(path):
        return shut
    if path.is_dir():
        return "a folder; what is inside is read when the folder itself is given"
    if ending := _packed(path.name):
        return f"packed as {ending}, which closedset does not unpack; unpack it, or pack it as .gz or .zst"
    if not path.suffix:
        return f"its name does not say what kind of file it is; call it {path.name}.csv if it is CSV"
    if kinds.kind_of(path.name) == "database":
        return "neither a SQLite nor a DuckDB file"
    if kinds.kind_of(unpacked(path.name)):
        return "only text (CSV, JSON) is read packed; unpack it"
    return f"not a kind of file closedset reads ({', '.join(kinds.SUFFIXES)})"


def choose(table: str, mapping: "Map", found: Sequence[Part], passed: Sequence[Path]) -> list[Part]:
    """The parts of one table; `passed` is what was given beside them and is no export. Refuses a table that nothing
    fills, two files of one stem, a part that is packed as no reader unpacks, and an option of the map that none of
    the files uses."""
    said = mapping.files.get(table, TableFiles())
    chosen = _once(_chosen(table, said, mapping.source, found))
    if not chosen:
        patterns = said.file or (table,)
        by_folder = any(_folders(pattern) for pattern in patterns)
        have = ", ".join(part.place if by_folder else part.name for part in found) or "no files"
        raise LoadRefused(
            f"table {table}: no file {' or '.join(patterns)} among what was given: {have}{_not_taken(patterns, passed)}"
        )
    if not any(part.server or part.inside for part in chosen):
        packed = [p for p in passed if _packed(p.name) and _is_called(said.file or (table,), p)]
        if packed:
            raise LoadRefused(f"table {table}: {packed[0]} would be one of its files: {_no_kind(packed[0])}")
    _refuse_twins(table, chosen)
    for option, message in idle(said, [part.kind for part in chosen]):
        raise _refused(mapping.source, table, option, f"{message} ({chosen[0].name})")
    wanted, entity = _named(table, mapping)
    return [replace(p, options=said, wanted=wanted, entity=entity) for p in sorted(chosen, key=lambda p: p.path)]


def _not_taken(patterns: Sequence[str], passed: Sequence[Path]) -> str:
    """What was given beside and why it is no export, for a message: what is called like the table, else the first."""
    shown = [p for p in passed if _is_called(patterns, p)] or passed
    listed = "; ".join(f"{path.name} ({_no_kind(path)})" for path in shown[:_SHOWN])
    more = f" and {len(shown) - _SHOWN} more" if len(shown) > _SHOWN else ""
    return f"; not taken: {listed}{more}" if shown else ""


def _is_called(patterns: Sequence[str], path: Path) -> bool:
    """Whether a file that is no export has the name of one, up to its ending."""
    name = path.name.removesuffix(_packed(path.name))
    called = (p for p in patterns if _lies_in(path, _folders(p)))
    return any(fnmatchcase(name, Path(p).name) or fnmatchcase(stem(name), stem(Path(p).name)) for p in called)


def _packed(name: str) -> str:
    """The ending that says how a file is packed, where closedset does not unpack it; else nothing."""
    return next((name[-len(end) :] for end in reversed(_PACKED) if name.lower().endswith(end)), "")


def _refused(source: str, table: str, option: str, fault: str) -> LoadRefused:
    return LoadRefused(f"map of {source}: files.{table}.{option}: {fault}", [(("files", table, option), fault)])


def tables(part: Part) -> list[Part]:
    """What holds rows in a part: each table of a database, each sheet of a workbook, or the part itself."""
    inside = _INSIDE.get(part.kind)
    return [replace(part, inside=name) for name in inside(part)] if inside else [part]


def _chosen(table: str, said: TableFiles, source: str, found: Sequence[Part]) -> list[Part]:
    """What fills a table: by the file's name, or by the name of a table or sheet inside."""
    if said.connection is not None:
        uri = os.environ.get(said.connection)
        if not uri or not uri.startswith(tuple(f"{s}://" for s in postgres.SCHEMES)):
            fault = "is not set" if not uri else "holds no PostgreSQL URI"
            message = f"the environment variable {said.connection} {fault}; it must hold postgresql://…"
            raise _refused(source, table, "connection", message)
        return [_entered(table, said, _server(uri))]
    inside = said.table is not None or said.sheet is not None
    if not inside or said.file:
        chosen = [part for part in _by_name(said.file or (table,), found) if not part.server]
        if chosen or said.file:
            return [_entered(table, said, part) if part.kind in _INSIDE else part for part in chosen]
    wanted = said.table or said.sheet or table
    kinds_ = ("excel",) if said.sheet else tuple(k for k in _INSIDE if k != "excel" or said.table is None)
    holding = [p for p in found if p.kind in kinds_ and wanted in _INSIDE[p.kind](p)]
    if len(holding) > 1:
        places = ", ".join(p.place for p in holding)
        raise LoadRefused(f"table {table}: {wanted!r} is in several of what was given: {places}; name one with `file`")
    return [replace(part, inside=wanted) for part in holding]


#: What lists the tables or sheets inside a part.
_INSIDE: dict[str, Callable[[Part], list[str]]] = {
    "duckdb": lambda part: duckdb_file.tables(part.path),
    "excel": lambda part: excel.sheets(part.path),
    "postgres": postgres.tables,
    "sqlite": lambda part: sqlite.tables(part.path),
}


def _entered(table: str, said: TableFiles, part: Part) -> Part:
    """The table or sheet inside: the one the map names, else the one of the table's name, else the only one."""
    word = "sheet" if part.kind == "excel" else "table"
    named = said.sheet if part.kind == "excel" else said.table
    held = _INSIDE[part.kind](part)
    only = held[0] if len(held) == 1 and part.kind != "postgres" else None
    inside = named or (table if table in held else only)
    # A server's table may be named with its schema though that is on the search path.
    if inside is None or (inside not in held and part.kind != "postgres"):
        wanted = f"no {word} {named or table!r}{nearest(named or table, held)}"
        raise LoadRefused(f"table {table}: {part.place} has {wanted} (it has: {', '.join(held) or f'no {word}'})")
    return replace(part, inside=inside)


def _by_name(patterns: Sequence[str], found: Sequence[Part]) -> list[Part]:
    names = {part.path.name for part in found}
    chosen = [part for part in found if any(_takes(pattern, part.path, names) for pattern in patterns)]
    if not chosen:
        stems = [stem(p) for p in patterns if not _folders(p)]
        chosen = [part for part in found if any(fnmatchcase(stem(part.path.name), s) for s in stems)]
    return chosen


def _takes(pattern: str, path: Path, names: Container[str]) -> bool:
    """Whether a pattern of the map takes a file. A name that stands among `names` as it is written is no pattern,
    whatever brackets it holds; a pattern takes a file packed or not, so that no part of an export is missed for its
    packing."""
    name = Path(pattern).name
    called = path.name == name if name in names else fnmatchcase(unpacked(path.name), unpacked(name))
    return called and _lies_in(path, _folders(pattern))


def _folders(pattern: str) -> tuple[str, ...]:
    """The folders that a pattern of the map names before the file: `2024` of `2024/roles.csv`."""
    return Path(pattern).parts[:-1]


def _lies_in(path: Path, folders: Sequence[str]) -> bool:
    """Whether a file lies in these folders, the last of them right around it, as it was given or as links lead."""
    around = [Path(os.path.abspath(path)).parent.parts, path.resolve().parent.parts] if folders else []
    return not folders or any(
        len(one) >= len(folders) and all(map(fnmatchcase, one[-len(folders) :], folders)) for one in around
    )


def _once(chosen: Sequence[Part]) -> list[Part]:
    """The same without a further link to a file that is there already."""
    kept: dict[tuple[str, Path, str | None], Part] = {}
    for part in sorted(chosen, key=lambda one: not one.server and one.path.is_symlink()):
        kept.setdefault((part.server, part.path if part.server else part.path.resolve(), part.inside), part)
    return list(kept.values())


def _refuse_twins(table: str, chosen: Sequence[Part]) -> None:
    """Refuse one stem in two kinds or packings: nobody says that they hold the same rows."""
    by_stem: dict[tuple[Path, str], list[Part]] = {}
    for part in chosen:
        twins = by_stem.setdefault((part.path.parent, stem(part.path.name)), [])
        twins.append(part)
        if len(twins) > 1 and not part.server:
            one, other = (twin.path.name for twin in twins[:2])
            raise LoadRefused(
                f"table {table}: {one} and {other} are both called {stem(one)!r}, and may hold other rows; say in the "
                f"map which one to read, as in `files: {{{table}: {one}}}`, or give only that"
            )


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
