"""A list as it comes, however long: its records as CSV, as JSON lines, or as one JSON object that holds them."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, TypeVar

from closedset_cli import streams
from closedset_cli.csv_lines import Csv, as_json, json_line
from closedset_cli.format import Format

T = TypeVar("T")
_BATCH = 1000


def send(listed: Iterator[Any], columns: Sequence[str], output: Format, name: str, totals: Mapping[str, int]) -> int:
    """Write the `columns` of every record that is `listed`, and give how many there were. The JSON object holds the
    `totals`, then the records under `name`. (A table is for people: whoever lists lays it out.)"""
    records = ({column: getattr(one, column) for column in columns} for one in listed)
    shown = 0
    if output is Format.CSV:
        table = Csv(columns)
        for batch in batches(records):
            table.write([list(record.values()) for record in batch])
            shown += len(batch)
    elif output is Format.JSONL:
        for record in records:
            json_line(record)
            shown += 1
    else:
        streams.reply("{" + "".join(f'"{total}": {count}, ' for total, count in totals.items()) + f'"{name}": [')
        for shown, record in enumerate(records, 1):
            streams.reply(("\n" if shown == 1 else ",\n") + as_json(record))
        streams.reply(f"{chr(10) if shown else ''}]}}\n")
    return shown


def batches(listed: Iterator[T]) -> Iterator[list[T]]:
    """So many at a time as are laid out together."""
    while batch := list(islice(listed, _BATCH)):
        yield batch
