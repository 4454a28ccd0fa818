"""`closedset rejects`: every row of the exports that is in no answer, and what would mend it."""

from typing import TYPE_CHECKING, Annotated

import typer

from closedset_cli import listing, streams, words
from closedset_cli.format import Format
from closedset_cli.sheet import Cell, Sheet

if TYPE_CHECKING:
    from closedset.rejects import Rejects

_COLUMNS = ("relation", "source", "table", "state", "file", "line", "row", "entity_id", "text", "fault", "cure")
_WIDEST = 60


def rejects(
    store: Annotated[str, typer.Argument(metavar="STORE", help="The store's directory.")],
    cells: Annotated[
        bool, typer.Option("--cells", help="List the unreadable cells of the rows that are loaded, instead of rows.")
    ] = False,
    source: Annotated[str | None, typer.Option("--source", metavar="NAME", help="Only this source.")] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="N", min=1, help="At most so many (default: all).")
    ] = None,
    output: Annotated[Format, typer.Option("--format", help="How the list is written.")] = Format.TABLE,
) -> None:
    """List the rows of the exports that no answer can use.

    A withheld row could not be read, and its entity is known; an unattributed one names no entity. Each stands once
    for each relation it would be a row of, with its place, its text, its fault and what would cure it.

    With --cells, the cells of loaded rows that their slot's type cannot read, and the ends of reversed periods.
    """
    import closedset
    from closedset import rejects as engine

    with closedset.open(store) as opened:
        if cells:
            from closedset import unreadable
            from closedset_cli import rejected_cells

            unread = unreadable.of(opened.generation(), source, limit)
            shown, total = rejected_cells.send(unread, output), unread.total
        else:
            found = engine.of(opened.generation(), source, limit)
            shown, total = _send(found, output), found.total
    streams.finish()
    if output is not Format.TABLE:
        streams.talk(f"closedset: showing {words.of(shown, total)}")


def _send(found: "Rejects", output: Format) -> int:
    if output is Format.TABLE:
        return _table(found)
    totals = {"withheld": found.withheld, "unattributed": found.unattributed}
    return listing.send(found.rows, _COLUMNS, output, "rows", totals)


def _table(found: "Rejects") -> int:
    shown = 0
    cures: dict[str, int] = {}
    for batch in listing.batches(found.rows):
        sheet = Sheet()
        rows: list[list[Cell]] = [["relation", "source", "place", "entity", "fault", "text"]] if not shown else []
        for one in batch:
            whose: Cell = ("(unattributed)", "yellow") if one.entity_id is None else one.entity_id
            rows.append([one.relation, one.source, (one.place, "yellow"), whose, one.fault, _short(one.text or "–")])
            cures[one.cure] = cures.get(one.cure, 0) + 1
        sheet.columns(rows, indent=0)
        sheet.send()
        shown += len(batch)
    end = Sheet()
    if cures:
        end.line()
        end.line(("cure", "bold"))
        end.columns([[words.many(count, "row"), cure] for cure, count in cures.items()], right=(0,))
        end.line("then load the export again", indent=2)
        end.line()
    end.line(
        f"showing {words.of(shown, found.total)}: {found.withheld} withheld (the entity is known), "
        f"{found.unattributed} unattributed (it is not)"
    )
    end.send()
    return shown


def _short(text: str) -> str:
    return text if len(text) <= _WIDEST else text[: _WIDEST - 1] + "…"
