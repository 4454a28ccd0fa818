"""Loading an export into a store: files → kept cells → entities, rows, coverage → the next generation."""

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from closedset import ledger, store, yaml_file
from closedset import mapping as mapping_file
from closedset import pack as pack_file
from closedset.catalog import Catalog, Change, Drift, SourceTable
from closedset.errors import LoadRefused, StoreRefused
from closedset.ledger import State
from closedset.load import build, drift, export, generation, lock, read, since, tables
from closedset.load.generation import Draft
from closedset.load.read import Chosen, Digest, Part, Unread
from closedset.mapping import Map
from closedset.pack import Pack

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
    keep: int | None = None,
) -> Loaded:
    """Load an export (folders, files or globs) into the store at `path`, as its next generation.

    Takes a pack by bundled name or path; `mapping` defaults to the `map.yaml` beside it; `sample` loads a
    bundled pack's own export; `keep` is how many former generations stay (as before; at
    first one). Gives the report. Refuses (LoadRefused, PackRefused, StoreRefused) and then the
    store holds what it held: an unreadable file, a column the map names and the export lacks, a store of
    another pack, a source that would lose more than a fifth of its rows or covered entities.
    """
    folder = None if isinstance(pack, Pack) else pack_file.pack_file(pack).parent
    the_pack = pack if isinstance(pack, Pack) else pack_file.load(pack)
    if mapping is None:
        if folder is None or not (folder / "map.yaml").is_file():
            raise LoadRefused(f"pack {the_pack.pack} has no map.yaml beside it; name one with --map FILE")
        mapping = folder / "map.yaml"
    the_map, lines = mapping_file.with_lines(Path(mapping), the_pack)
    if sample:
        if paths or folder is None or not (folder / "data").is_dir():
            raise LoadRefused("--sample loads a bundled pack's own export: give no path with it, and a bundled pack")
        paths = [folder / "data"]
    if not paths and not any(said.connection for said in the_map.files.values()):
        raise LoadRefused("nothing to load: give a folder, files or globs (or --sample for a bundled pack)")
    try:
        with read.settled(export.choose(the_map, paths)) as chosen:
            return _into(Path(path), the_pack, the_map, chosen, accept_shrink, keep)
    except LoadRefused as refused:
        if not refused.faults:
            raise
        raise LoadRefused(yaml_file.said(refused.faults, str(mapping), lines), refused.faults) from None


def _into(target: Path, the_pack: Pack, the_map: Map, chosen: Chosen, accept_shrink: bool, keep: int | None) -> Loaded:
    """Load the parts of each table into the store at `target`, unless it holds these very bytes."""
    fingerprint, digests = export.fingerprint(the_pack, the_map, chosen)
    if target.exists() and not target.is_dir():
        raise StoreRefused(f"{target}: is a file; a store is a directory")
    with lock.loading(target):
        before = _before(target, the_pack, the_map.source)
        state = ledger.read(target)
        if before:
            ledger.refuse_lost(target, state.last, before.ledger)
        if before and before.fingerprints.get(the_map.source) == fingerprint:
            if keep not in (None, before.keep):
                before = before.model_copy(update={"keep": keep})
                before = derive_again(target, before, state, "keep", f"{keep} former generations")
            elif before.ledger != state.last:
                before = derive_again(target, before, state, "ledger")
            return Loaded(before, the_map.source, unchanged=True)
        if keep is None:
            keep = before.keep if before else 1
        with generation.begun(target, before) as draft:
            catalog = _next(draft, the_pack, the_map, chosen, digests, fingerprint, accept_shrink, state)
            export.refuse_changed(digests)
            draft.publish(catalog.model_copy(update={"keep": keep}))
    return Loaded(catalog, the_map.source, unchanged=False)


def memory(
    con: duckdb.DuckDBPyConnection, pack: Pack, mapping: Map, data: "dict[str, pa.Table]", state: State
) -> Catalog:
    """Build a generation into `con` from Arrow tables, all cells as text, and what a ledger has in force."""
    kept: list[SourceTable] = []
    for name in export.file_tables(mapping):
        if name not in data:
            raise LoadRefused(f"table {name}: not among the tables given: {', '.join(data)}")
        kept.append(read.keep(con, mapping.source, name, (f"cells_{len(kept)}",), data[name]))
    kept += _defined(con, mapping, kept, [])
    return build.build(con, pack, {mapping.source: mapping}, kept, {}, {}, generation=1, state=state)


def derive_again(target: Path, before: Catalog, state: State, what: str, detail: str = "") -> Catalog:
    """Build a store's next generation from the cells it keeps, without any export: after the ledger has changed.

    Takes what the store holds (`before`) and what its ledger says (`state`), as read by whoever holds the load lock;
    `what` and `detail` say in the history why.
    """
    with generation.begun(target, before) as draft:
        unread = _unread_before(draft, set(before.sources))
        draft.carry(set(before.sources))
        _write_unread(draft.con, unread)
        given = (before.pack_as_loaded, before.maps, before.tables, unread, before.fingerprints)
        catalog = build.build(draft.con, *given, draft.number, state)
        change = Change(
            generation=draft.number, at=catalog.loaded_at, what=what, detail=detail, universe=catalog.universe
        )
        # No source was loaded, so what the sources say is as old as it was.
        kept = {"loaded_at": before.loaded_at, "kept": draft.kept, "keep": before.keep}
        catalog = catalog.model_copy(update={**kept, "history": [*before.history, change]})
        draft.publish(catalog)
    return catalog


def _before(target: Path, pack: Pack, source: str) -> Catalog | None:
    """What the store holds now. Refuses a pack that is not the store's, or that its other sources do not fit."""
    if store.current(target) is None:
        store.refuse_lost_pointer(target, source)
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


def _next(
    draft: Draft,
    pack: Pack,
    mapping: Map,
    chosen: Chosen,
    digests: dict[Part, Digest],
    fingerprint: str,
    accept_shrink: bool,
    state: State,
) -> Catalog:
    """Fill the next generation: the other sources from the cells that are kept, this one from its files."""
    before, source = draft.before, mapping.source
    others = set(before.sources) - {source} if before else set()
    unread = _unread_before(draft, others) if others else {}
    kept: list[SourceTable] = []
    if before and others:
        draft.carry(others)
        kept = [t for t in before.tables if t.source in others]
    mine, faults, moved = _read(draft, mapping, chosen, digests)
    unread |= faults
    _write_unread(draft.con, unread)
    maps = {**(before.maps if before else {}), source: mapping}
    fingerprints = {**(before.fingerprints if before else {}), source: fingerprint}
    catalog = build.build(draft.con, pack, maps, [*kept, *mine], unread, fingerprints, draft.number, state)
    if before and not accept_shrink:
        _refuse_shrink(before, catalog, source)
    history = [*(before.history if before else []), _change(catalog, source)]
    return catalog.model_copy(update={"kept": draft.kept, "history": history, "drift": moved})


def _read(
    draft: Draft, mapping: Map, chosen: Chosen, digests: dict[Part, Digest]
) -> tuple[list[SourceTable], dict[tuple[str, str], list[Unread]], list[Drift]]:
    """Keep the cells of one source: its files' as they are read, then those of the tables it defines by a SELECT."""
    source = mapping.source
    database = draft.keep(source)
    tables_: list[SourceTable] = []
    unread: dict[tuple[str, str], list[Unread]] = {}
    for name, parts in chosen.items():
        cells = (database, f"cells_{len(tables_)}")
        table, faults = read.read(draft.con, source, name, cells, parts, [digests[p].sha256 for p in parts])
        tables_.append(table)
        unread[source, name] = faults
    drift.refuse(mapping, tables_)
    moved = since.drift(draft, tables_)
    # All files are read. What a SELECT of a map may name is checked, and from here on no file can be reached at all.
    draft.con.execute("SET enable_external_access = false").fetchall()
    tables_ += _defined(draft.con, mapping, tables_, [database])
    draft.kept_all(database)
    return tables_, unread, moved


def _change(catalog: Catalog, source: str) -> Change:
    mine = [r for r in catalog.reports if r.source == source]
    return Change(
        generation=catalog.generation,
        at=catalog.loaded_at,
        what="load",
        source=source,
        fingerprint=catalog.fingerprints[source],
        **{figure: sum(getattr(r, figure) for r in mine) for figure in ("read", "loaded", "withheld", "unattributed")},
        universe=catalog.universe,
    )


def _unread_before(draft: Draft, sources: set[str]) -> dict[tuple[str, str], list[Unread]]:
    """The unreadable rows that the former generation keeps of some sources."""
    assert draft.before is not None
    unread: dict[tuple[str, str], list[Unread]] = {}
    store.attach(draft.con, store.generation_file(draft.path, draft.before.generation), "former")
    for source, name, *rest in draft.con.execute("SELECT * FROM former.unread ORDER BY ALL").fetchall():
        if source in sources:
            unread.setdefault((source, name), []).append(Unread(*rest))
    draft.con.execute("DETACH former").fetchall()
    return unread


def _write_unread(con: duckdb.DuckDBPyConnection, unread: dict[tuple[str, str], list[Unread]]) -> None:
    con.execute(_UNREAD).fetchall()
    for (source, name), faults in unread.items():
        for fault in faults:
            con.execute(
                "INSERT INTO unread VALUES (?, ?, ?, ?, ?, ?, ?, ?)", [source, name, *astuple(fault)]
            ).fetchall()


def _defined(
    con: duckdb.DuckDBPyConnection, mapping: Map, file_tables: list[SourceTable], database: list[str]
) -> list[SourceTable]:
    by_name = {t.table: t for t in file_tables}
    return [
        tables.define(con, mapping.source, name, (*database, f"cells_{len(file_tables) + i}"), select, by_name)
        for i, (name, select) in enumerate(mapping.tables.items())
    ]


def _refuse_shrink(before: Catalog, after: Catalog, source: str) -> None:
    """Refuse a re-load that loses more than a fifth of a source's rows or covered entities: most often it is
    half an export."""

    def figures(catalog: Catalog) -> dict[str, int]:
        return {
            "rows": sum(r.loaded for r in catalog.reports if r.source == source),
            "covered entities": sum(s.entities for s in catalog.statements if s.source == source and s.event is None),
        }

    after_figures = figures(after)
    for what, was in figures(before).items():
        now = after_figures[what]
        if now < was * _SHRINK:
            raise LoadRefused(
                f"source {source}: {what} would fall from {was} to {now}, more than a fifth; "
                "if the export really shrank, load again with --accept-shrink"
            )
