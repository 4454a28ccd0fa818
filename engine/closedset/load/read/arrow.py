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
    from decimal import Decimal

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


def of_parquet(file: Path, wide: bool) -> "pa.RecordBatchReader | None":
    """A Parquet file's batches where DuckDB would not read it as written: a column is `wide` (its decimals have more
    than 38 digits), or in a time zone that is not UTC; else None."""
    import pyarrow.parquet as pq

    opened = pq.ParquetFile(file)
    schema = opened.schema_arrow
    if not wide and not any(_zone(field.type) for field in schema):
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

    kinds = pa.types
    if _zone(type_) or kinds.is_float16(type_) or kinds.is_decimal256(type_):
        return pa.string()
    if kinds.is_dictionary(type_):
        below = _below(type_.value_type)
        return below if below != type_.value_type else type_
    return _below(type_)


def _below(type_: "pa.DataType") -> "pa.DataType":
    """The same for what lies inside: a decimal of more than 38 digits is text."""
    import pyarrow as pa

    kinds = pa.types
    if kinds.is_decimal256(type_):
        return pa.string()
    if kinds.is_struct(type_):
        return pa.struct([field.with_type(_below(field.type)) for field in type_])
    if kinds.is_map(type_):
        return pa.map_(_below(type_.key_type), _below(type_.item_type))
    if kinds.is_fixed_size_list(type_):
        return pa.list_(type_.value_field.with_type(_below(type_.value_type)), type_.list_size)
    if kinds.is_large_list(type_):
        return pa.large_list(type_.value_field.with_type(_below(type_.value_type)))
    if kinds.is_list(type_):
        return pa.list_(type_.value_field.with_type(_below(type_.value_type)))
    return type_


def _made_known(reader: "pa.RecordBatchReader") -> "Iterator[pa.RecordBatch]":
    import pyarrow as pa

    target = pa.schema([(field.name, _known(field.type)) for field in reader.schema])
    for batch in reader:
        columns = [
            column if column.type == field.type else _as_text(column, field.type)
            for column, field in zip(batch.columns, target, strict=True)
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=target)


def _as_text(column: "pa.Array", known: "pa.DataType") -> "pa.Array":
    """A column's texts: a moment in its own zone, with its offset; a number as its shortest exact digits. Of a nested
    column, the same with those of its wide decimals."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kinds = pa.types
    if kinds.is_dictionary(column.type):
        return _as_text(column.dictionary_decode(), known)
    if kinds.is_timestamp(column.type):
        text = pc.strftime(column, format="%Y-%m-%d %H:%M:%S%z")
        shorter = pc.replace_substring_regex(text, r"\.0+([+-])", r"\1")
        return pc.replace_substring_regex(shorter, r"([+-]\d\d)(\d\d)$", r"\1:\2")
    if kinds.is_decimal256(column.type):
        return pa.array([None if number is None else _digits(number) for number in column.to_pylist()], known)
    if kinds.is_nested(column.type):
        return _with_texts(column, known)
    return column.cast(known)


def _digits(number: "Decimal") -> str:
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _with_texts(column: "pa.Array", known: "pa.DataType") -> "pa.Array":
    """A nested column with its values as `known`, where that differs."""
    import pyarrow as pa

    if column.type == known:
        return column
    # A slice keeps the values of the whole beside it.
    whole = pa.concat_arrays([column])
    empty = whole.is_null()

    def of(values: "pa.Array", type_: "pa.DataType") -> "pa.Array":
        return values if values.type == type_ else _as_text(values, type_)

    if pa.types.is_struct(known):
        fields = [of(values, field.type) for values, field in zip(whole.flatten(), known, strict=True)]
        return pa.StructArray.from_arrays(fields, fields=list(known), mask=empty)
    if pa.types.is_map(known):
        keys, items = of(whole.keys, known.key_type), of(whole.items, known.item_type)
        return pa.MapArray.from_arrays(whole.offsets, keys, items, type=known, mask=empty)
    values = of(whole.values, known.value_type)
    if pa.types.is_fixed_size_list(known):
        return pa.FixedSizeListArray.from_arrays(values, type=known, mask=empty)
    made = pa.LargeListArray if pa.types.is_large_list(known) else pa.ListArray
    return made.from_arrays(whole.offsets, values, type=known, mask=empty)
