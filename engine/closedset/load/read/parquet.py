"""Parquet, read by DuckDB straight into text."""

from collections.abc import Sequence

import duckdb

from closedset.errors import LoadRefused
from closedset.load.read import arrow, nested
from closedset.load.read.cells import Cells, unique
from closedset.load.read.csv_file import literally
from closedset.load.read.part import Part, Unread, first_lines

#: The most digits of a decimal that DuckDB keeps; it reads one of more as the nearest double.
_WIDEST = 38
_FROM = "read_parquet(?, hive_partitioning = false)"


def fill(cells: Cells, part: Part) -> tuple[int, list[Unread]]:
    """Append a Parquet file's rows. Refuses what is no Parquet, and two columns of one name."""
    if not part.path.stat().st_size:
        raise LoadRefused(f"{part.place}: the file is empty (0 bytes): not even a schema; nobody was looked at by it")
    place = literally(part.path)
    try:
        schema = cells.con.execute("SELECT name, num_children, precision FROM parquet_schema(?)", [place]).fetchall()
        unique(_top_level([(name, children) for name, children, _ in schema]), part.place)
        wide = any(digits and digits > _WIDEST for *_, digits in schema)
        relation = cells.con.sql(f"SELECT * FROM {_FROM}", params=[place])
        columns = list(zip(relation.columns, relation.types, strict=True))
        zoned = any("WITH TIME ZONE" in str(type_) for _, type_ in columns)
        if (wide or zoned) and (batches := arrow.of_parquet(part.path, wide)):
            return arrow.append(cells, part, batches), []
        selected = nested.select(columns, _FROM, part.wanted, part.options.path)
        cells.widen(selected.names, part.place)
        return cells.insert(selected.names, selected.sql, [place]), []
    except (duckdb.Error, ValueError) as error:
        if isinstance(error, LoadRefused):
            raise
        raise LoadRefused(f"{part.place}: {first_lines(error)}") from None


def _top_level(schema: Sequence[tuple[str, int | None]]) -> list[str]:
    """The columns of a Parquet schema that is listed depth first, its root before all."""
    names: list[str] = []
    below = 0
    for name, children in schema[1:]:
        if not below:
            names.append(name)
        else:
            below -= 1
        below += children or 0
    return names
