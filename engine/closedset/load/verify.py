"""A store held to its own cells: everything derived again from them, and compared with what answers rest on."""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from closedset import ledger, progress, row_id, store
from closedset.catalog import Catalog, SourceTable, kept_as
from closedset.errors import StoreDamaged
from closedset.load import build
from closedset.load.read import Unread
from closedset.render import quoted, render
from closedset.row_id import Entry

_SHOWN = 5
#: What the catalog says of the generation itself, and not of what is in it.
_OF_ITSELF = {"generation", "loaded_at", "kept", "keep", "history", "drift", "fingerprints", "tables", "sources"}
_HELD = "held"


@dataclass(frozen=True)
class Difference:
    """Something that a store's kept cells do not bear out: where, how many rows or cells, and the first of them."""

    where: str
    count: int
    examples: tuple[str, ...] = ()


@dataclass(frozen=True)
class Verified:
    """What was read again (`cells` of the exports, `rows` of relations), and everything that differs; `content` is the
    hash of what the whole store holds, where all of it was read."""

    cells: int
    rows: int
    differences: tuple[Difference, ...]
    content: str | None = None


def verify(path: str | Path, source: str | None = None) -> Verified:
    """Derive the current generation anew from its kept cells and its ledger, beside it, and compare row by row.

    With `source`, only that source's cells and rows are compared. Refuses (StoreRefused) a path that holds no
    store, (StoreDamaged) one whose files cannot be read.
    """
    target = Path(path)
    with store.Store(target) as opened, tempfile.TemporaryDirectory(prefix="closedset-") as folder:
        catalog = opened.catalog
        con = store.connect(Path(folder) / "derived.duckdb", read_only=False)
        progress.watch(con)
        try:
            store.attach(con, store.generation_file(target, catalog.generation), _HELD)
            for database, file in catalog.kept.items():
                store.attach(con, store.cells_file(target, file), database)
            tables = [t for t in catalog.tables if source in (None, t.source)]
            found = [d for t in tables for d in _cells(con, catalog, t)]
            found += _sums(catalog, source)
            found += _derived(con, target, catalog, source)
        except duckdb.InterruptException:
            raise
        except duckdb.Error as error:
            raise StoreDamaged(f"{target}: cannot be read: {str(error).splitlines()[0]}") from error
        finally:
            con.close()
        rows = sum(r.loaded for r in catalog.reports if source in (None, r.source))
        return Verified(sum(t.rows * len(t.columns) for t in tables), rows, tuple(found))


def _cells(con: duckdb.DuckDBPyConnection, catalog: Catalog, table: SourceTable) -> Iterator[Difference]:
    """The kept cells of one table by themselves: as many rows as were read, passed columns the same as in the file."""
    name = f"table {table.table} ({table.source})"
    progress.step(f"{name}: its cells")
    ((held,),) = con.execute(f"SELECT count(*) FROM {quoted(table.cells)}").fetchall()
    of_files = sum(f.rows - f.unreadable for f in table.files) if table.files else table.rows
    if not held == table.rows == of_files:
        yield Difference(f"{name}: rows", abs(held - table.rows), (f"{held} are kept, {table.rows} were read",))
    ordinals: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for column, origin in table.origins.items():
        ordinals.setdefault((origin.ordinal, origin.table), []).append((column, origin.column))
    for (ordinal, of_file), pairs in ordinals.items():
        kept = [(kept_as(column), kept_as(passed)) for column, passed in pairs]
        file = catalog.table(table.source, of_file).cells
        sql = render("verify/traced.sql.j2", defined=table.cells, file=file, ordinal=ordinal, pairs=kept)
        ((_, *differ),) = con.execute(sql).fetchall()
        for (column, passed), count in zip(pairs, differ, strict=True):
            if count:
                yield Difference(f"{name}: column {column} is not {of_file}.{passed}", count)


def _derived(
    con: duckdb.DuckDBPyConnection, target: Path, catalog: Catalog, source: str | None
) -> Iterator[Difference]:
    state = ledger.read(target)
    lacking = ledger.lost(target, state.last, catalog.ledger)
    if lacking is not None:
        yield Difference("ledger: events that were applied and are gone", catalog.ledger - state.last, (lacking,))
        return
    if state.last != catalog.ledger:
        said = f"event {state.last} is the last; the generation knows {catalog.ledger}; a load applies them"
        yield Difference("ledger: events that are not applied", state.last - catalog.ledger, (said,))
        return
    unread: dict[tuple[str, str], list[Unread]] = {}
    for of_source, name, *rest in con.execute(f"SELECT * FROM {_HELD}.unread ORDER BY ALL").fetchall():
        unread.setdefault((of_source, name), []).append(Unread(*rest))
    given = (catalog.pack_as_loaded, catalog.maps, catalog.tables, unread, catalog.fingerprints)
    again = build.build(con, *given, catalog.generation, state)
    if source is None:
        yield from _figures(catalog, again)
        yield from _tables(con)
    entries = row_id.entries(catalog.maps)
    for relation, stored in catalog.relations.items():
        if stored.table is not None:
            mine = [e.number for e in entries if e.rows.relation == relation and source in (None, e.source)]
            if mine:
                yield from _rows(con, relation, stored.table, mine, entries)


def _figures(catalog: Catalog, again: Catalog) -> Iterator[Difference]:
    """What the catalog says, against what is counted now."""
    was, now = (c.model_dump(mode="json", exclude=_OF_ITSELF) for c in (catalog, again))
    for key in was:
        if was[key] != now[key]:
            yield Difference(f"catalog: {key}", 1, (f"says {_short(was[key])}, counted {_short(now[key])}",))


def _sums(catalog: Catalog, source: str | None) -> Iterator[Difference]:
    """Whether the figures of each load report add up: rows read, and in each slot the rows loaded."""
    for one in catalog.reports if source is None else [r for r in catalog.reports if r.source == source]:
        named = f"catalog: {one.relation} from {one.table} ({one.source})"
        sums = [(f"{named}: rows read", one.read, one.loaded + one.withheld + one.unattributed)]
        sums += [
            (f"{named}: {slot}", one.loaded, said.recorded + said.empty + said.reversed + said.unreadable.rows)
            for slot, said in one.slots.items()
        ]
        for where, whole, parts in sums:
            if whole != parts:
                yield Difference(where, abs(whole - parts), (f"{whole} are counted, and their parts are {parts}",))


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:79] + "…"


def _tables(con: duckdb.DuckDBPyConnection) -> Iterator[Difference]:
    """Every table beside the relations' rows, as a bag of rows."""
    listed = con.execute(
        "SELECT table_name, database_name, list(column_name ORDER BY column_index) FROM duckdb_columns() "
        "WHERE database_name IN (current_database(), ?) GROUP BY ALL ORDER BY ALL",
        [_HELD],
    ).fetchall()
    columns: dict[str, dict[str, list[str]]] = {}
    for table, database, names in listed:
        columns.setdefault(table, {})["stored" if database == _HELD else "derived"] = names
    for table, both in columns.items():
        if table in ("catalog", "unread") or table.startswith("rows_"):
            continue
        if both.get("stored") != both.get("derived"):
            yield Difference(f"table {table}: its columns", 1)
            continue
        stored, derived = (_HELD, "main", table), ("main", table)
        gone = _missing(con, stored, derived, both["stored"], [])
        count = max(gone, _missing(con, derived, stored, both["stored"], []))
        if count:
            yield Difference(f"table {table}: rows", count)


def _rows(
    con: duckdb.DuckDBPyConnection, relation: str, table: str, mine: list[int], entries: list[Entry]
) -> Iterator[Difference]:
    progress.step(f"relation {relation}: row by row")
    stored, derived = (_HELD, "main", table), ("main", table)
    columns = [row[0] for row in con.execute(f"DESCRIBE {quoted(stored)}").fetchall()]
    if columns != [row[0] for row in con.execute(f"DESCRIBE {quoted(derived)}").fetchall()]:
        yield Difference(f"{relation}: the columns of its rows", 1)
        return
    count = max(_missing(con, stored, derived, columns, mine), _missing(con, derived, stored, columns, mine))
    if not count:
        return
    sql = render("verify/places.sql.j2", stored=stored, derived=derived, columns=columns, entries=mine)
    examples = []
    for entry, place, *differ in con.execute(sql, {"limit": _SHOWN}).fetchall():
        named = [c for c, other in zip(columns, differ, strict=True) if other]
        examples.append(f"{entries[entry].row_id(place)}: {', '.join(named)}")
    yield Difference(f"{relation}: rows that its cells do not bear out", count, tuple(examples))


def _missing(
    con: duckdb.DuckDBPyConnection, one: tuple[str, ...], other: tuple[str, ...], columns: list[str], entries: list[int]
) -> int:
    sql = render("verify/missing.sql.j2", one=one, other=other, columns=columns, entries=entries)
    return int(con.execute(sql).fetchall()[0][0])
