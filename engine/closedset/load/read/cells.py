"""The table of kept cells while its parts are read into it: every column text, empty as NULL."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import duckdb

from closedset.catalog import kept_as
from closedset.errors import LoadRefused
from closedset.load.read.places import Places
from closedset.render import quoted

if TYPE_CHECKING:
    import pyarrow as pa

BATCH = 50_000


class Cells:
    """One such table. It holds every column that any part has; a part without one leaves it empty. `latest` are the
    columns of the part read last, and `places` where its rows stand."""

    def __init__(self, con: duckdb.DuckDBPyConnection, name: Sequence[str]) -> None:
        self.con = con
        self.name = name
        self.columns: list[str] = []
        self.latest: list[str] = []
        self.places = Places()

    def widen(self, names: Sequence[str], place: str) -> None:
        """Make sure of these columns. Refuses two names that differ by case alone: they are one column to SQL."""
        unique(names, place)
        known = {c.lower(): c for c in self.columns}
        for name in names:
            if known.get(name.lower(), name) != name:
                raise LoadRefused(
                    f"{place}: column {name!r} is called {known[name.lower()]!r} in a part read before; "
                    "give both one spelling, or declare `columns` for both"
                )
        new = [name for name in names if name.lower() not in known]
        if not new:
            pass
        elif not self.columns:
            declared = ", ".join(f"{quoted(kept_as(c))} VARCHAR" for c in new)
            self.con.execute(f"CREATE TABLE {quoted(self.name)} ({declared})").fetchall()
        else:
            for name in new:
                sql = f"ALTER TABLE {quoted(self.name)} ADD COLUMN {quoted(kept_as(name))} VARCHAR"
                self.con.execute(sql).fetchall()
        self.columns += new
        self.latest = list(names)

    def insert(self, names: Sequence[str], select: str, parameters: Any = None) -> int:
        """Append what a SELECT gives, its columns in the order of `names`; how many rows that was."""
        into = ", ".join(quoted(kept_as(name)) for name in names)
        ((count,),) = self.con.execute(f"INSERT INTO {quoted(self.name)} ({into}) {select}", parameters).fetchall()
        return int(count)

    def rows(self, names: Sequence[str], rows: Iterable[Sequence[str | None]]) -> int:
        """Append rows of texts, in batches."""
        from itertools import islice

        import pyarrow as pa

        total = 0
        rows = iter(rows)
        while batch := list(islice(rows, BATCH)):
            columns = [pa.array(column, pa.string()) for column in zip(*batch, strict=True)]
            total += self.arrow(names, pa.table(columns, names=[str(i) for i in range(len(names))]))
        return total

    def arrow(self, names: Sequence[str], data: "pa.Table | pa.RecordBatchReader") -> int:
        """Append Arrow data of text columns, called 0, 1, … in the order of `names`."""
        self.con.register("arrow_cells", data)
        try:
            chosen = ", ".join(f"nullif(\"{i}\", '')" for i in range(len(names)))
            return self.insert(names, f"SELECT {chosen} FROM arrow_cells")
        finally:
            self.con.unregister("arrow_cells")


def unique(names: Sequence[str], place: str) -> None:
    """Refuses two columns of one name, whatever their case."""
    seen: dict[str, tuple[int, str]] = {}
    for i, name in enumerate(names, 1):
        first = seen.setdefault(name.lower(), (i, name))
        if first[0] != i:
            raise LoadRefused(
                f"{place}: columns {first[0]} ({first[1]!r}) and {i} ({name!r}) have the same name; rename one, "
                "or give every column its name with `columns` in the map"
            )
