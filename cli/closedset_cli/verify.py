"""`closedset verify`: the store against its own kept cells, or against the live export."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from closedset_cli import progress, streams, words
from closedset_cli.diagnostics import ExitCode, UsageRefused
from closedset_cli.format import Report
from closedset_cli.sheet import Cell, Sheet

if TYPE_CHECKING:
    from closedset.verify import Compared, Verified

_SHOWN = 5
_KINDS = ("same", "moved", "changed", "missing", "new")


def verify(
    store: Annotated[str, typer.Argument(metavar="STORE", help="The store's directory.")],
    against: Annotated[
        list[str] | None,
        typer.Option(
            "--against",
            metavar="PATH",
            show_default=False,
            help="Read the live export here and compare (folders, files or globs; may be repeated).",
        ),
    ] = None,
    source: Annotated[str | None, typer.Option("--source", metavar="NAME", help="Only this source.")] = None,
    sample: Annotated[
        int | None, typer.Option("--sample", metavar="N", min=1, help="Read only N rows of each table again.")
    ] = None,
    output: Annotated[Report, typer.Option("--format", help="How the report is written.")] = Report.TABLE,
) -> None:
    """Check that a store is what its exports said. Exits with 3 where something differs.

    Without --against, every kept cell is read again and compared with the rows that answers rest on, and the catalog's
    figures are counted again. With it, the export is read anew, and each table's rows are said to be the same, moved,
    changed, missing or new.
    """  # fmt: skip
    from closedset import verify as engine
    from closedset.errors import StoreDamaged

    if against and sample is not None:
        raise UsageRefused("--sample beside --against: a live export is always read whole; leave one out")
    found: list[Compared] | Verified
    try:
        with progress.shown(f"verifying {store}"):
            if against:
                found = engine.against(store, against, source)
            elif sample is not None:
                found = engine.sampled(store, sample, source)
            else:
                found = engine.kept(store, source)
    except StoreDamaged as damaged:
        _damaged(str(damaged), output)
        raise typer.Exit(ExitCode.DIFFERS) from None
    differs = any(one.differs for one in found) if isinstance(found, list) else bool(found.differences)
    if output is Report.JSON:
        from closedset_cli.csv_lines import as_json

        streams.reply(as_json({"differs": differs, **_record(found)}, indent=2) + "\n")
    else:
        _sheet(found).send()
    if differs:
        raise typer.Exit(ExitCode.DIFFERS)


def _damaged(said: str, output: Report) -> None:
    """Say what keeps the store from being read at all."""
    if output is Report.JSON:
        from closedset_cli.csv_lines import as_json

        streams.reply(as_json({"differs": True, "damaged": said}, indent=2) + "\n")
    else:
        sheet = Sheet()
        sheet.line(("not as it was", "red"), f": {said}")
        sheet.send()


def _record(found: "list[Compared] | Verified") -> dict[str, Any]:
    from dataclasses import asdict

    if isinstance(found, list):
        return {"tables": [{**asdict(one), "differs": one.differs} for one in found]}
    return asdict(found)


def _sheet(found: "list[Compared] | Verified") -> Sheet:
    sheet = Sheet()
    if isinstance(found, list):
        _compared(sheet, found)
    else:
        _verified(sheet, found)
    return sheet


def _verified(sheet: Sheet, found: "Verified") -> None:
    read = f"{words.many(found.cells, 'cell')} of the exports, {words.many(found.rows, 'row')} of relations read again"
    if not found.differences:
        sheet.line(("as it was", "green"), f": {read}")
        if found.content is not None:
            sheet.line(
                f"content {found.content[:16]}: a store with the same tables under the same pack and map has the same"
            )
        return
    sheet.line(("not as it was", "red"), f": {read}")
    for one in found.differences:
        sheet.line((one.where, "yellow"), f": {one.count}", indent=2)
        for example in one.examples:
            sheet.line(example, indent=4)


def _compared(sheet: Sheet, found: "list[Compared]") -> None:
    rows: list[list[Cell]] = [["table", "kept", "live", *_KINDS, "changed cells", "bytes"]]
    for one in found:
        figures = [str(getattr(one, kind)) for kind in ("kept", "live", *_KINDS, "cells")]
        rows.append([one.table, *figures, "the same" if one.same_bytes else "others"])
    sheet.columns(rows, indent=0, right=tuple(range(1, len(rows[0]) - 1)))
    for one in found:
        for what, names in (
            ("column gained", one.columns_gained), ("column lost", one.columns_lost),
            ("row that cannot be read gained", one.unread_gained), ("row that cannot be read lost", one.unread_lost),
        ):  # fmt: skip
            for name in names[:_SHOWN]:
                sheet.line((f"{one.table}: {what}", "yellow"), f": {name}", indent=2)
            if len(names) > _SHOWN:
                sheet.line(f"and {len(names) - _SHOWN} more", indent=4)
        for kind, others in one.examples.items():
            sheet.line((f"{one.table}: {kind}", "yellow"), f" (the first of {getattr(one, kind)})", indent=2)
            for other in others:
                where = " → ".join(dict.fromkeys(at for at in (other.was_at, other.now_at) if at))
                said = "; ".join(f"{column} {was or ''!r} → {now or ''!r}" for column, was, now in other.cells)
                sheet.line(f"{where}: {said}" if said else where, indent=4)
    if not any(one.differs for one in found):
        sheet.line()
        sheet.line(("as it was", "green"), ": every row of the live export is the row that is kept")
