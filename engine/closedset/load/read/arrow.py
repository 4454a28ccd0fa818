"""Arrow data: files and streams of it, and what other readers give as it."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from closedset.errors import LoadRefused
from closedset.load.read import nested
from closedset.load.read.cells import Cells, unique
from closedset.load.read.part import Part, Unread, first_lines

if TYPE_CHECKING:
    import pyarrow as pa

_NAME = "arrow_source"


def fill(cells: Cells, part: Part) -> tuple[int, list[Unread]]:
    """Append the rows of an Arrow file or stream. Refuses what is neither, and a file cut short."""
    import pyarrow as pa

    try:
        with pa.memory_map(str(part.path)) as mapped:
            return append(cells, part, _reader(mapped)), []
    except (pa.ArrowException, OSError) as error:
        raise LoadRefused(f"{part.place}: not readable as Arrow: {first_lines(error)}") from None


def _reader(mapped: "pa.MemoryMappedFile") -> "pa.RecordBatchReader":
    """A file's or a stream's batches, in order."""
    import pyarrow as pa

    if mapped.read(6) == b"ARROW1":
        file = pa.ipc.open_file(mapped)
        batches = (file.get_batch(i) for i in range(file.num_record_batches))
        return pa.RecordBatchReader.from_batches(file.schema, batches)
    mapped.seek(0)
    return pa.ipc.open_stream(mapped)


def zoned_parquet(file: Path) -> "pa.RecordBatchReader | None":
    """A Parquet file's batches where its Arrow schema names a time zone that is not UTC; else None."""
    import pyarrow.parquet as pq

    opened = pq.ParquetFile(file)
    schema = opened.schema_arrow
    if not any(_zone(field.type) for field in schema):
        return None
    import pyarrow as pa

    return pa.RecordBatchReader.from_batches(schema, opened.iter_batches())


def append(cells: Cells, part: Part, reader: "pa.RecordBatchReader") -> int:
    """Append batches, each cell as its text; how many rows that was. Refuses two columns of one name."""
    import pyarrow as pa

    unique(reader.schema.names, part.place)
    given = pa.RecordBatchReader.from_batches(
        pa.schema([(field.name, _known(field.type)) for field in reader.schema]), _made_known(reader)
    )
    con = cells.con
    try:
        con.register(_NAME, given)
        relation = con.table(_NAME)
        columns = list(zip(relation.columns, relation.types, strict=True))
        selected = nested.select(columns, _NAME, part.wanted, part.options.path)
        cells.widen(selected.names, part.place)
        return cells.insert(selected.names, selected.sql)
    except (duckdb.Error, pa.ArrowException, ValueError) as error:
        if isinstance(error, LoadRefused):
            raise
        raise LoadRefused(f"{part.place}: {first_lines(error)}") from None
    finally:
        con.unregister(_NAME)


def _zone(type_: "pa.DataType") -> str | None:
    """The time zone of a type, if it is one and not UTC."""
    zone: str | None = getattr(type_, "tz", None)
    return None if zone is None or zone.upper() in ("UTC", "Z", "+00:00", "ETC/UTC") else zone


def _known(type_: "pa.DataType") -> "pa.DataType":
    """The type as DuckDB is given it: text where it has none that says the same."""
    import pyarrow as pa

    if _zone(type_) or pa.types.is_float16(type_) or pa.types.is_decimal256(type_):
        return pa.string()
    return type_


def _made_known(reader: "pa.RecordBatchReader") -> "Iterator[pa.RecordBatch]":
    import pyarrow as pa

    target = pa.schema([(field.name, _known(field.type)) for field in reader.schema])
    for batch in reader:
        columns = [
            column if column.type == field.type else _as_text(column)
            for column, field in zip(batch.columns, target, strict=True)
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=target)


def _as_text(column: "pa.Array") -> "pa.Array":
    """A column's texts: a moment in its own zone, with its offset; a number as its shortest exact digits."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_timestamp(column.type):
        return column.cast(pa.string())
    text = pc.strftime(column, format="%Y-%m-%d %H:%M:%S%z")
    shorter = pc.replace_substring_regex(text, r"\.0+([+-])", r"\1")
    return pc.replace_substring_regex(shorter, r"([+-]\d\d)(\d\d)$", r"\1:\2")
