"""`closedset receipt`: one cell of an export, with the row it stands in."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from closedset_cli import streams
from closedset_cli.diagnostics import ExitCode
from closedset_cli.format import Report
from closedset_cli.sheet import Cell, Sheet

if TYPE_CHECKING:
    from closedset.source_row import SourceRow


def receipt(
    store: Annotated[str, typer.Argument(metavar="STORE", help="The store's directory.")],
    row: Annotated[
        str, typer.Argument(metavar="ROW", help="A row by its row_id: RELATION/SOURCE/TABLE/NUMBER, or longer.")
    ],
    slot: Annotated[str, typer.Argument(metavar="SLOT", help="A slot of its relation.")],
    output: Annotated[Report, typer.Option("--format", help="How the receipt is written.")] = Report.TABLE,
) -> None:
    """Print the cell that a slot's value comes from, with the row around it.

    The cell is read again from the store's copy of the export, and compared with what answers rest on. Exits with 3
    where the two differ.
    """
    import closedset
    from closedset import source_row

    with closedset.open(store) as opened:
        found = source_row.of(opened.generation(), row, slot)
    if output is Report.JSON:
        from closedset_cli.csv_lines import as_json

        streams.reply(as_json(_record(found), indent=2) + "\n")
    else:
        _sheet(found).send()
    if not found.receipt.byte_verified:
        raise typer.Exit(ExitCode.DIFFERS)


def _record(found: "SourceRow") -> dict[str, Any]:
    one, (kind, value) = found.receipt, found.means
    return {
        "row_id": found.row_id,
        "entity_id": found.entity_id,
        "name": found.name,
        "slot": found.slot,
        "states": one.text,
        "read_as": {"kind": kind, "value": value},
        "byte_verified": one.byte_verified,
        "source": one.source,
        "table": one.table,
        "file": one.file,
        "row": one.row,
        "column": one.column,
        "cell": one.cell,
        "cells": dict(found.around),
    }


def _sheet(found: "SourceRow") -> Sheet:
    one, (kind, value) = found.receipt, found.means
    sheet = Sheet()
    named = f"  {found.name}" if found.name is not None else ""
    sheet.line((f"{found.row_id} {found.slot}", "bold"), ": ", found.entity_id, named)
    cell = "no cell: the map says so of every row" if one.column is None and one.text else repr(one.cell or "")
    verified: Cell = ("yes", "green") if one.byte_verified else ("no: the store has something else", "red")
    facts: list[list[Cell]] = [
        ["states", one.text if one.text is not None else "nothing"],
        ["read as", f"{kind}: {value}" if value is not None else kind],
        ["cell", cell if one.column or one.text else "no column of the export is mapped to it"],
        ["column", one.column or "–"],
        ["where", f"{one.file} row {one.row}" if one.file else f"table {one.table} row {one.row}"],
        ["byte verified", verified],
    ]
    sheet.columns(facts)
    sheet.heading(f"row {one.row} of {one.file or one.table}")
    sheet.columns([[(c, "bold" if c == one.column else ""), "" if v is None else v] for c, v in found.around])
    return sheet
