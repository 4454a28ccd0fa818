"""A live export held against the cells that a store keeps of it: what changed, moved, is gone and is new."""

import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow as pa

from closedset import progress, store
from closedset.catalog import Catalog, SourceTable, kept_as
from closedset.errors import LoadRefused
from closedset.ids import Bound
from closedset.load import export, read
from closedset.load.read import Unread
from closedset.load.same_place import Stretch, stretches
from closedset.mapping import Map
from closedset.render import quoted, render

_SHOWN = 5
_LIVE = "live"


@dataclass(frozen=True)
class Other:
    """One row that is not as it was: where it stood and stands, and the cells that differ (column, was, now)."""

    was_at: str | None
    now_at: str | None
    cells: tuple[tuple[str, str | None, str | None], ...] = ()


@dataclass(frozen=True)
class Compared:
    """One table of files, as kept and as it is now. A row is `same` (same cells, at the same row of the same file),
    `moved` (same cells, another place), `changed` (of the same entity, or at the same place where no entity is named),
    `missing` or `new`; `cells` counts the changed cells. Of each kind but the first the first rows stand in
    `examples`."""

    table: str
    same_bytes: bool
    kept: int
    live: int
    same: int
    moved: int
    changed: int
    missing: int
    new: int
    cells: int
    columns_gained: tuple[str, ...]
    columns_lost: tuple[str, ...]
    unread_gained: tuple[str, ...]
    unread_lost: tuple[str, ...]
    examples: dict[str, tuple[Other, ...]]

    @property
    def differs(self) -> bool:
        """Whether anything is not as it was kept."""
        shape = (self.columns_gained, self.columns_lost, self.unread_gained, self.unread_lost)
        return any((self.moved, self.changed, self.missing, self.new, *shape))


def against(path: str | Path, paths: Sequence[str | Path], source: str | None = None) -> list[Compared]:
    """Read an export anew, as a load would, and compare each of its tables with the cells the store keeps.

    `source` says whose export it is; a store of one source needs no word. The store is only read. Refuses
    (LoadRefused, StoreRefused) what a load would refuse, and a source that is not held or not named.
    """
    target = Path(path)
    with store.Store(target) as opened, tempfile.TemporaryDirectory(prefix="closedset-") as folder:
        catalog = opened.catalog
        mapping = catalog.maps[_named(catalog, source)]
        con = store.connect(Path(folder) / "live.duckdb", read_only=False)
        progress.watch(con)
        try:
            for database, file in catalog.kept.items():
                store.attach(con, store.cells_file(target, file), database)
            with read.settled(export.choose(mapping, paths)) as chosen:
                _, digests = export.fingerprint(catalog.pack_as_loaded, mapping, chosen)
                found = []
                for i, (name, parts) in enumerate(chosen.items()):
                    cells = (f"{_LIVE}_{i}",)
                    hashes = [digests[p].sha256 for p in parts]
                    live, faults = read.read(con, mapping.source, name, cells, parts, hashes)
                    former = catalog.table(mapping.source, name)
                    found.append(_compared(con, mapping, former, live, _unread(opened, former), faults))
                export.refuse_changed(digests)
            return found
        finally:
            con.close()


def _named(catalog: Catalog, source: str | None) -> str:
    if source is None and len(catalog.sources) == 1:
        return catalog.sources[0]
    if source not in catalog.sources:
        fault = f"the store holds no source {source!r}" if source else "the store holds several sources"
        raise LoadRefused(f"{fault}: say whose export it is with --source: {', '.join(catalog.sources)}")
    return source


def _unread(opened: store.Store, table: SourceTable) -> list[str]:
    """The lines of a table's files that could not be read when they were loaded."""
    sql = "SELECT text FROM unread WHERE source = ? AND table_name = ? ORDER BY ALL"
    cursor = opened.generation().cursor()
    return [text for (text,) in cursor.execute(sql, [table.source, table.table]).fetchall()]


def _compared(
    con: duckdb.DuckDBPyConnection,
    mapping: Map,
    former: SourceTable,
    live: SourceTable,
    unread: Sequence[str],
    faults: Sequence[Unread],
) -> Compared:
    progress.step(f"table {former.table}: row by row")
    common = [c for c in former.columns if c in live.columns]
    if not common:
        raise LoadRefused(
            f"table {former.table}: none of its columns {', '.join(former.columns)} is in the live export"
        )
    _pair(con, former, live, [kept_as(c) for c in common], _entity(mapping, former.table, common), mapping.null)
    counts = con.execute(
        "SELECT (SELECT count(*) FROM moved), count(*) FILTER (WHERE was IS NOT NULL AND now IS NOT NULL), "
        "count(*) FILTER (WHERE now IS NULL), count(*) FILTER (WHERE was IS NULL) FROM paired"
    ).fetchall()
    moved, changed, missing, new = counts[0]
    read_before, read_now = Counter(unread), Counter(fault.text for fault in faults)
    examples = {
        "changed": tuple(_changed(con, former, live, common)),
        "moved": tuple(Other(former.named(was), live.named(now)) for was, now in _first(con, "moved", "TRUE")),
        "missing": tuple(Other(former.named(was), None) for was, _ in _first(con, "paired", "now IS NULL")),
        "new": tuple(Other(None, live.named(now)) for _, now in _first(con, "paired", "was IS NULL")),
    }
    cells = _changed_cells(con, former, live, common) if changed else 0
    for name in ("kept_rest", "live_rest", "moved", "paired"):
        con.execute(f"DROP TABLE {name}").fetchall()
    return Compared(
        table=former.table,
        same_bytes=[f.sha256 for f in former.files] == [f.sha256 for f in live.files],
        kept=former.rows,
        live=live.rows,
        same=former.rows - moved - changed - missing,
        moved=moved,
        changed=changed,
        missing=missing,
        new=new,
        cells=cells,
        columns_gained=tuple(c for c in live.columns if c not in former.columns),
        columns_lost=tuple(c for c in former.columns if c not in live.columns),
        unread_gained=tuple((read_now - read_before).elements()),
        unread_lost=tuple((read_before - read_now).elements()),
        examples={kind: found for kind, found in examples.items() if found},
    )


def _entity(mapping: Map, table: str, common: Sequence[str]) -> str | None:
    """The column by which a row says whom it is about."""
    named = [r.entity for r in mapping.rows if r.table == table]
    named += [e.entity for e in mapping.entities if e.table == table]
    named += [said.column for _, said in mapping.statements() if said.table == table]
    return next((kept_as(c) for c in named if c in common), None)


def _pair(
    con: duckdb.DuckDBPyConnection,
    former: SourceTable,
    live: SourceTable,
    common: list[str],
    entity: str | None,
    null: Sequence[str],
) -> None:
    """Sort the rows of both readings: the same cells at the same place aside, then `moved`, then `paired`."""
    places = stretches(former, live)
    placed = places != [Stretch(0, 0, min(former.rows, live.rows))]
    for into, kept in (("kept_rest", True), ("live_rest", False)):
        mine, other = (former.cells, live.cells) if kept else (live.cells, former.cells)
        if placed:
            con.register("stretch", _stretch(places, kept))
        bound = Bound()
        sql = render(
            "verify/rest.sql.j2",
            into=into, mine=mine, other=other, columns=common, entity=entity, markers=bound.markers(null),
            placed=placed, kept=kept,
        )  # fmt: skip
        con.execute(sql, bound.values if entity else None).fetchall()
    con.execute(render("verify/moved.sql.j2", kept=former.cells, live=live.cells, columns=common)).fetchall()
    con.execute(render("verify/paired.sql.j2")).fetchall()


def _stretch(places: Sequence[Stretch], kept: bool) -> pa.Table:
    """The places of one reading with what leads from each to the other's."""
    both = [(s.was, s.now, s.held) if kept else (s.now, s.was, s.held) for s in places]
    rows = [(mine, mine + held - 1, other - mine) for mine, other, held in both]
    columns = list(zip(*rows, strict=True)) or [(), (), ()]
    return pa.table({n: pa.array(c, pa.int64()) for n, c in zip(("first", "last", "by"), columns, strict=True)})


def _first(con: duckdb.DuckDBPyConnection, table: str, which: str) -> list[tuple[int, int]]:
    return con.execute(f"SELECT was, now FROM {table} WHERE {which} ORDER BY was, now LIMIT {_SHOWN}").fetchall()


def _changed(
    con: duckdb.DuckDBPyConnection, former: SourceTable, live: SourceTable, common: Sequence[str]
) -> list[Other]:
    found = []
    for was, now in _first(con, "paired", "was IS NOT NULL AND now IS NOT NULL"):
        before, after = (_row(con, t, common, place) for t, place in ((former, was), (live, now)))
        cells = tuple((c, b, a) for c, b, a in zip(common, before, after, strict=True) if b != a)
        found.append(Other(former.named(was), live.named(now), cells))
    return found


def _row(
    con: duckdb.DuckDBPyConnection, table: SourceTable, columns: Sequence[str], place: int
) -> tuple[str | None, ...]:
    chosen = ", ".join(quoted(kept_as(c)) for c in columns)
    (row,) = con.execute(f"SELECT {chosen} FROM {quoted(table.cells)} WHERE rowid = ?", [place]).fetchall()
    return tuple(row)


def _changed_cells(
    con: duckdb.DuckDBPyConnection, former: SourceTable, live: SourceTable, common: Sequence[str]
) -> int:
    differ = " + ".join(f"(k.{c} IS DISTINCT FROM l.{c})::INT" for c in (quoted(kept_as(c)) for c in common))
    ((count,),) = con.execute(
        f"SELECT sum({differ}) FROM paired JOIN {quoted(former.cells)} AS k ON k.rowid = was "
        f"JOIN {quoted(live.cells)} AS l ON l.rowid = now"
    ).fetchall()
    return int(count)
