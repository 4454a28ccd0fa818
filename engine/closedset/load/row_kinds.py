"""Kinds of rows: rows that hold the same terms are one kind. Laid kind by kind, and with a table of the kinds beside
them, a search judges the terms of a kind once and reads the rows of the kinds that stay."""

from collections.abc import Sequence
from math import prod

import duckdb

from closedset.catalog import StoredRelation
from closedset.load import column
from closedset.load.lost import MapEntry
from closedset.render import quoted, render

#: A relation of fewer rows is scanned as fast as its kinds are joined to it; these are also what DuckDB skips or reads
#: as one, so laying fewer in some order leaves nothing out.
_FEW = 122_880
#: With more kinds than these, or fewer rows a kind on average, the kinds are as dear to read as the rows.
_MOST = 1_000_000
_ROWS_A_KIND = 8
#: A slot of more codes tells rows apart too finely to make kinds of them.
_MOST_CODES = 4096
#: The number of a kind is a 64-bit integer.
_LAST = 1 << 62


def slots(entries: Sequence[MapEntry]) -> list[str]:
    """The term slots of a relation whose codes make the kinds, those of fewest codes first: none for few rows."""
    if sum(entry.table.rows for entry in entries) < _FEW:
        return []
    codes: dict[str, int] = {}
    for entry in entries:
        for name, mapped in entry.mapped.items():
            if mapped.vocabulary:
                codes[name] = max(codes.get(name, 1), column.meanings(mapped))
    chosen: list[str] = []
    for name in sorted((n for n, count in codes.items() if 1 < count <= _MOST_CODES), key=lambda n: codes[n]):
        if prod(codes[n] for n in (*chosen, name)) * len(entries) < _LAST:
            chosen.append(name)
    return chosen


def weights(entry: MapEntry, chosen: Sequence[str]) -> tuple[dict[str, int], int]:
    """What one step of each slot's code adds to the number of a kind, the first slot's the most; and how many numbers
    the rows of the entry take."""
    found: dict[str, int] = {}
    weight = 1
    for name in reversed(chosen):
        if name in entry.mapped:
            found[name] = weight
            weight *= column.meanings(entry.mapped[name])
    return found, weight


def keep(con: duckdb.DuckDBPyConnection, name: str, stored: StoredRelation, chosen: Sequence[str], dated: bool) -> None:
    """Write the kinds of one relation, table `kinds_<relation>`, and note in `stored` which slots they tell: none
    where there are too many kinds."""
    if not chosen or not stored.table:
        return
    ((about,),) = con.execute(f"SELECT approx_count_distinct(_kind) FROM {quoted(stored.table)}").fetchall()
    if about > min(_MOST, stored.rows // _ROWS_A_KIND):
        return
    con.execute(
        render("load/kinds.sql.j2", kinds=f"kinds_{name}", table=stored.table, slots=list(chosen), dated=dated)
    ).fetchall()
    stored.kinds = list(chosen)
