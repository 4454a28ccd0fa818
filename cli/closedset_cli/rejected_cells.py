"""`closedset rejects --cells`: every cell of the exports that its slot's type cannot read."""

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from closedset_cli import streams, words
from closedset_cli.format import Format
from closedset_cli.sheet import Cell, Sheet

if TYPE_CHECKING:
    from closedset.unreadable import UnreadableCell, UnreadableCells

_COLUMNS = ("relation", "source", "table", "file", "row", "entity_id", "row_id", "slot", "column", "text", "fault")
_BATCH = 1000
_CURE = "declare the date format, the decimal mark or the null markers in the map, or mend the cells; then load again"


def send(found: "UnreadableCells", output: Format) -> int:
    """Write the list, and give how many cells stand in it."""
    match output:
        case Format.TABLE:
            return _table(found)
        case Format.CSV:
            return _csv(found)
        case Format.JSONL | Format.JSON:
            return _json(found, output)


def _csv(found: "UnreadableCells") -> int:
    from closedset_cli.csv_lines import Csv

    table = Csv(_COLUMNS)
    shown = 0
    for batch in _batches(found):
        table.write([list(_record(one).values()) for one in batch])
        shown += len(batch)
    return shown


def _json(found: "UnreadableCells", output: Format) -> int:
    from closedset_cli.csv_lines import as_json, json_line

    shown = 0
    if output is Format.JSONL:
        for one in found.cells:
            json_line(_record(one))
            shown += 1
        return shown
    streams.reply(f'{{"unreadable": {found.total}, "cells": [')
    for shown, one in enumerate(found.cells, 1):
        streams.reply(("\n" if shown == 1 else ",\n") + as_json(_record(one)))
    streams.reply(f"{chr(10) if shown else ''}]}}\n")
    return shown


def _table(found: "UnreadableCells") -> int:
    shown = 0
    for batch in _batches(found):
        sheet = Sheet()
        rows: list[list[Cell]] = [] if shown else [["slot", "source", "place", "column", "entity", "text", "fault"]]
        for one in batch:
            slot, column = f"{one.relation}.{one.slot}", one.column or "–"
            rows.append([slot, one.source, (one.place, "yellow"), column, one.entity_id, repr(one.text), one.fault])
        sheet.columns(rows, indent=0)
        sheet.send()
        shown += len(batch)
    end = Sheet()
    if shown:
        end.line()
        end.line(("cure", "bold"), f": {_CURE}")
        end.line()
    end.line(f"showing {words.of(shown, found.total)} unreadable cells of loaded rows")
    end.send()
    return shown


def _batches(found: "UnreadableCells") -> Iterator[list["UnreadableCell"]]:
    while batch := list(islice(found.cells, _BATCH)):
        yield batch


def _record(one: "UnreadableCell") -> dict[str, Any]:
    return {name: getattr(one, name) for name in _COLUMNS}
