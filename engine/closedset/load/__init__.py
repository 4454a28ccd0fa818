"""Loading an export into a store: files → kept cells → entities, rows, coverage → the next generation."""

import hashlib
import shutil
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from closedset import mapping as mapping_file
from closedset import pack as pack_file
from closedset import store
from closedset.catalog import FORMAT, Catalog, SourceTable
from closedset.errors import LoadRefused, StoreRefused
from closedset.load import build, files, tables
from closedset.load.files import Unread
from closedset.mapping import Map
from closedset.pack import Pack
from closedset.render import quoted

if TYPE_CHECKING:
    import pyarrow as pa

_SHRINK = 0.8
_UNREAD = """
CREATE TABLE unread (source VARCHAR, table_name VARCHAR, file VARCHAR, line BIGINT, text VARCHAR, fault VARCHAR,
                     first_cell VARCHAR, first_column VARCHAR)
"""


@dataclass(frozen=True)
class Loaded:
    """What a load did: the catalog of the current generation, and whether these very bytes were loaded before."""

    catalog: Catalog
    source: str
    unchanged: bool


def load(
    path: str | Path,
    pack: str | Path | Pack,
    paths: Sequence[str | Path] = (),
    *,
    mapping: str | Path | None = None,
    sample: bool = False,
    accept_shrink: bool = False,
) -> Loaded:
    """Load an export (folders, files or globs) into the store at `path`, as its next generation.

    Takes a pack by bundled name or path; `mapping` defaults to the `map.yaml` beside it; `sample` loads a
    bundled pack's own export. Gives the report. Refuses (LoadRefused, PackRefused, StoreRefused) and then the
    store holds what it held: an unreadable file, a column the map names and the export lacks, a store of
    another pack, a source that would lose more than a fifth of its rows or covered entities.
    """
    folder = None if isinstance(pack, Pack) else pack_file.pack_file(pack).parent
    the_pack = pack if isinstance(pack, Pack) else pack_file.load(pack)
    if mapping is None:
        if folder is None or not (folder / "map.yaml").is_file():
            raise LoadRefused(f"pack {the_pack.pack} has no map.yaml beside it; name one with --map FILE")
        mapping = folder / "map.yaml"
    the_map = mapping_file.load(Path(mapping), the_pack)
    if sample:
        if paths or folder is None or not (folder / "data").is_dir():
            raise LoadRefused("--sample loads a bundled pack's own export: give no path with it, and a bundled pack")
        paths = [folder / "data"]
    if not paths:
        raise LoadRefused("nothing to load: give a folder, files or globs (or --sample for a bundled pack)")
    chosen = _choose(the_map, files.found(paths))
    fingerprint, digests = _fingerprint(the_pack, the_map, chosen)
    target = Path(path)
    if target.exists() and not target.is_dir():
        raise StoreRefused(f"{target}: is a file; a store is a directory")
    with store.loading(target):
        before = _before(target, the_pack, the_map.source)
        if before and before.fingerprints.get(the_map.source) == fingerprint:
            return Loaded(before, the_map.source, unchanged=True)
        catalog = _next(target, before, the_pack, the_map, chosen, digests, fingerprint, accept_shrink)
    return Loaded(catalog, the_map.source, unchanged=False)


def memory(con: duckdb.DuckDBPyConnection, pack: Pack, mapping: Map, data: "dict[str, pa.Table]") -> Catalog:
    """Build a generation into `con` from Arrow tables, all cells as text."""
    kept: list[SourceTable] = []
    for name in _file_tables(mapping):
        if name not in data:
            raise LoadRefused(f"table {name}: not among the tables given: {', '.join(data)}")
        kept.append(files.keep(con, mapping.source, name, f"cells_{len(kept)}", data[name]))
    kept += _defined(con, mapping, kept, len(kept))
    return build.build(con, pack, {mapping.source: mapping}, kept, {}, {}, generation=1)


def _before(target: Path, pack: Pack, source: str) -> Catalog | None:
    """What the store holds now. Refuses a pack that is not the store's, or that its other sources do not fit."""
    if store.current(target) is None:
        return None
    with store.Store(target) as held:
        before = held.catalog
    if before.pack.pack != pack.pack:
        raise LoadRefused(f"{target}: holds pack {before.pack.pack}, not {pack.pack}; load into another store")
    for other, mapping in before.maps.items():
        faults = mapping_file.check(mapping, pack) if other != source else []
        if faults:
            raise LoadRefused(
                f"{target}: source {other}, loaded before, does not fit this version of pack {pack.pack}: "
                f"{faults[0][1]}; keep what it fills in the pack, or load into another store"
            )
    return before


def _file_tables(mapping: Map) -> list[str]:
    """The tables that files must fill: all the map names, less those it defines by a SELECT."""
    named = [r.table for r in mapping.rows] + [e.table for e in mapping.entities]
    named += [said.table for _, said in mapping.statements()]
    for name, select in mapping.tables.items():
        named += tables.read_by(name, select)
    return [name for name in dict.fromkeys(named) if name not in mapping.tables]


def _choose(mapping: Map, found: Sequence[Path]) -> dict[str, tuple[list[Path], list[str]]]:
    return {name: files.choose(name, mapping, found) for name in _file_tables(mapping)}


@dataclass(frozen=True)
class _Digest:
    """A file's bytes when they were hashed, and how to see that they are no longer the same."""

    sha256: str
    stamp: tuple[int, int]


def _stamp(file: Path) -> tuple[int, int]:
    status = file.stat()
    return status.st_size, status.st_mtime_ns


def _fingerprint(
    pack: Pack, mapping: Map, chosen: dict[str, tuple[list[Path], list[str]]]
) -> tuple[str, dict[Path, _Digest]]:
    """A hash over everything a load's outcome depends on (the pack, the map, every file's bytes), and that of
    each file."""
    digest = hashlib.sha256(f"{FORMAT}\0{pack.model_dump_json()}\0{mapping.model_dump_json()}".encode())
    digests: dict[Path, _Digest] = {}
    for name, (paths, _) in chosen.items():
        for file in paths:
            if file not in digests:
                try:
                    stamp = _stamp(file)
                    with file.open("rb") as stream:
                        digests[file] = _Digest(hashlib.file_digest(stream, "sha256").hexdigest(), stamp)
                except OSError as error:
                    raise LoadRefused(f"{file}: cannot be read: {error.strerror}") from None
            digest.update(f"\0{name}\0{file.name}\0{digests[file].sha256}".encode())
    return digest.hexdigest(), digests


def _next(
    path: Path,
    before: Catalog | None,
    pack: Pack,
    mapping: Map,
    chosen: dict[str, tuple[list[Path], list[str]]],
    digests: dict[Path, _Digest],
    fingerprint: str,
    accept_shrink: bool,
) -> Catalog:
    """Write the next generation beside the current one, then move the pointer."""
    number = (before.generation if before else 0) + 1
    file = store.generation_file(path, number)
    _clear(file)
    con = store.connect(file, read_only=False)
    try:
        kept, unread = _kept(con, path, before, mapping, chosen, digests)
        maps = {**(before.maps if before else {}), mapping.source: mapping}
        fingerprints = {**(before.fingerprints if before else {}), mapping.source: fingerprint}
        catalog = build.build(con, pack, maps, kept, unread, fingerprints, number)
        if before and not accept_shrink:
            _refuse_shrink(before, catalog, mapping.source)
        for read, digest in digests.items():
            if _stamp(read) != digest.stamp:
                raise LoadRefused(f"{read}: changed while it was read; load again when the export is finished")
        _write_catalog(con, catalog)
        con.close()
    except BaseException:
        con.close()
        _clear(file)
        raise
    store.publish(path, number)
    _forget(path, number)
    return catalog


def _kept(
    con: duckdb.DuckDBPyConnection,
    path: Path,
    before: Catalog | None,
    mapping: Map,
    chosen: dict[str, tuple[list[Path], list[str]]],
    digests: dict[Path, _Digest],
) -> tuple[list[SourceTable], dict[tuple[str, str], list[Unread]]]:
    """All cells of the next generation: the other sources' copied, this one's read from its files."""
    kept: list[SourceTable] = []
    unread: dict[tuple[str, str], list[Unread]] = {}
    if before and set(before.sources) - {mapping.source}:
        former = str(store.generation_file(path, before.generation)).replace("'", "''")
        con.execute(f"ATTACH '{former}' AS former (READ_ONLY)").fetchall()
        for table in before.tables:
            if table.source != mapping.source:
                cells = f"cells_{len(kept)}"
                con.execute(f"CREATE TABLE {cells} AS SELECT * FROM former.{quoted(table.cells)}").fetchall()
                kept.append(table.model_copy(update={"cells": cells}))
        unread = _unread_before(con, before, mapping.source)
        con.execute("DETACH former").fetchall()
    mine: list[SourceTable] = []
    for name, (paths, notes) in chosen.items():
        cells = f"cells_{len(kept) + len(mine)}"
        table, faults = files.read(con, mapping.source, name, cells, paths, [digests[p].sha256 for p in paths])
        mine.append(table.model_copy(update={"notes": notes}))
        unread[mapping.source, name] = faults
    con.execute(_UNREAD).fetchall()
    for (source, name), faults in unread.items():
        for fault in faults:
            con.execute(
                "INSERT INTO unread VALUES (?, ?, ?, ?, ?, ?, ?, ?)", [source, name, *astuple(fault)]
            ).fetchall()
    # All files are read. What a SELECT of a map may name is checked, and from here on no file can be reached at all.
    con.execute("SET enable_external_access = false").fetchall()
    return [*kept, *mine, *_defined(con, mapping, mine, len(kept) + len(mine))], unread


def _unread_before(con: duckdb.DuckDBPyConnection, before: Catalog, but: str) -> dict[tuple[str, str], list[Unread]]:
    unread: dict[tuple[str, str], list[Unread]] = {}
    for source, name, *rest in con.execute("SELECT * FROM former.unread ORDER BY ALL").fetchall():
        if source != but:
            unread.setdefault((source, name), []).append(Unread(*rest))
    return unread


def _defined(
    con: duckdb.DuckDBPyConnection, mapping: Map, file_tables: list[SourceTable], first: int
) -> list[SourceTable]:
    by_name = {t.table: t for t in file_tables}
    return [
        tables.define(con, mapping.source, name, f"cells_{first + i}", select, by_name)
        for i, (name, select) in enumerate(mapping.tables.items())
    ]


def _refuse_shrink(before: Catalog, after: Catalog, source: str) -> None:
    """Refuse a re-load that loses more than a fifth of a source's rows or covered entities: most often it is
    half an export."""

    def figures(catalog: Catalog) -> dict[str, int]:
        return {
            "rows": sum(r.loaded for r in catalog.reports if r.source == source),
            "covered entities": sum(s.entities for s in catalog.statements if s.source == source),
        }

    after_figures = figures(after)
    for what, was in figures(before).items():
        now = after_figures[what]
        if now < was * _SHRINK:
            raise LoadRefused(
                f"source {source}: {what} would fall from {was} to {now}, more than a fifth; "
                "if the export really shrank, load again with --accept-shrink"
            )


def _write_catalog(con: duckdb.DuckDBPyConnection, catalog: Catalog) -> None:
    con.execute("CREATE TABLE catalog (record VARCHAR)").fetchall()
    con.execute("INSERT INTO catalog VALUES (?)", [catalog.model_dump_json(by_alias=True)]).fetchall()
    con.execute("CHECKPOINT").fetchall()


def _clear(file: Path) -> None:
    """Remove a generation's file and what DuckDB writes beside it."""
    for leftover in file.parent.glob(f"{file.name}*"):
        if leftover.is_dir():
            shutil.rmtree(leftover, ignore_errors=True)
        else:
            leftover.unlink(missing_ok=True)


def _forget(path: Path, number: int) -> None:
    """Drop generations that nobody reads by name any more; an open reader keeps its file until it closes."""
    for file in (path / store.GENERATIONS).glob("*.duckdb"):
        if file.stem.isdigit() and int(file.stem) < number:
            _clear(file)
