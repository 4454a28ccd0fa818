"""CSV and JSON lines, one record at a time: empty where there is nothing, and a zero only where a zero was counted."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

from closedset_cli import streams
from closedset_cli.printable import json_safe, printable


class Csv:
    """A writer of CSV to stdout, whose header goes out first. A None is an empty cell. Cells are written as they are,
    but for a terminal: what would move its cursor is spelled out."""

    def __init__(self, header: Sequence[str]) -> None:
        self.write([header])

    def write(self, rows: Sequence[Sequence[Any]]) -> None:
        buffer = io.StringIO()
        csv.writer(buffer, lineterminator="\n").writerows(rows)
        text = buffer.getvalue()
        streams.reply(printable(text, keep="\n\t") if streams.terminal() else text)


def json_line(record: Mapping[str, Any]) -> None:
    """One JSON object on a line of its own."""
    streams.reply(as_json(record) + "\n")


def as_json(value: Any, indent: int | None = None) -> str:
    """JSON text that is safe on a terminal. Dates and decimals are written as text."""
    return json_safe(json.dumps(value, ensure_ascii=False, indent=indent, default=str))
