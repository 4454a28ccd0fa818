"""How the shape of an export differs from the load before: what a person who wrote the map would want to be told."""

from collections import Counter

import duckdb

from closedset import store
from closedset.catalog import Catalog, Drift, SourceFile, SourceTable, kept_as
from closedset.load.generation import Draft
from closedset.render import render

#: A column has another name only if at least so much of either table's rows says so.
_SAID_BY = 0.5


def drift(draft: Draft, tables: list[SourceTable]) -> list[Drift]:
    """What changed in the tables of one source's files since its former load: columns gained, lost, renamed and in
    another order, files more or fewer or in another order. Nothing, at the source's first load.

    A column counts as renamed only where it is certain: every row that is the same in all common columns holds the
    same cell under the new name, and no other column does.
    """
    before = draft.before
    found: list[Drift] = []
    for table in tables:
        former = _former(before, table) if before else None
        if before and former:
            found += _columns(draft, before, former, table) + _files(former, table)
    return found


def _former(before: Catalog, table: SourceTable) -> SourceTable | None:
    same = (t for t in before.tables if (t.source, t.table) == (table.source, table.table) and not t.select)
    return next(same, None)


def _columns(draft: Draft, before: Catalog, former: SourceTable, table: SourceTable) -> list[Drift]:
    lost = [c for c in former.columns if c not in table.columns]
    gained = [c for c in table.columns if c not in former.columns]
    renamed = _renamed(draft, before, former, table, lost, gained) if lost and gained else {}
    found = [Drift(table=table.table, what="column renamed", was=was, now=now) for was, now in renamed.items()]
    found += [Drift(table=table.table, what="column lost", was=c) for c in lost if c not in renamed]
    found += [Drift(table=table.table, what="column gained", now=c) for c in gained if c not in renamed.values()]
    order = [renamed.get(c, c) for c in former.columns if c in table.columns or c in renamed]
    now = [c for c in table.columns if c in order]
    if order != now:
        found.append(
            Drift(table=table.table, what="columns in another order", was=", ".join(order), now=", ".join(now))
        )
    return found


def _renamed(
    draft: Draft, before: Catalog, former: SourceTable, table: SourceTable, lost: list[str], gained: list[str]
) -> dict[str, str]:
    pairs = [(was, now) for was in lost for now in gained]
    common = [kept_as(c) for c in former.columns if c in table.columns]
    store.attach(draft.con, store.cells_file(draft.path, before.kept[former.cells[0]]), "former_cells")
    try:
        sql = render(
            "load/renamed.sql.j2",
            former=("former_cells", *former.cells[1:]), latter=table.cells, common=common,
            pairs=[(kept_as(was), kept_as(now)) for was, now in pairs],
        )  # fmt: skip
        ((rows, *counts),) = draft.con.execute(sql).fetchall()
    finally:
        _detach(draft.con)
    if not rows or rows < _SAID_BY * max(former.rows, table.rows):
        return {}
    told = zip(pairs, zip(counts[::2], counts[1::2], strict=True), strict=True)
    same = [pair for pair, (equal, distinct) in told if equal == rows and distinct > 1]
    was_often, now_often = Counter(was for was, _ in same), Counter(now for _, now in same)
    return {was: now for was, now in same if was_often[was] == now_often[now] == 1}


def _detach(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("DETACH former_cells").fetchall()


def _files(former: SourceTable, table: SourceTable) -> list[Drift]:
    was, now = [f.sha256 for f in former.files], [f.sha256 for f in table.files]
    if len(was) != len(now):
        return [Drift(table=table.table, what="another number of files", was=str(len(was)), now=str(len(now)))]
    if was != now and sorted(was) == sorted(now):
        names = {f.sha256: _name(f) for f in former.files}
        order = [
            f"{_name(f)} (was {names[f.sha256]})" if _name(f) != names[f.sha256] else _name(f) for f in table.files
        ]
        was_order = ", ".join(_name(f) for f in former.files)
        return [Drift(table=table.table, what="files in another order", was=was_order, now=", ".join(order))]
    return []


def _name(file: SourceFile) -> str:
    return file.path.rsplit("/", 1)[-1]
