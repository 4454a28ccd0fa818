"""`closedset vocab`: an axis's terms with what the store holds of them, and the surfaces on no term.

A group of commands of which the first may be left out: `closedset vocab STORE` is `closedset vocab list STORE`.
"""

from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from closedset_cli import amended, progress, streams, words
from closedset_cli.amended import By, Listed, Output, Reason, Store
from closedset_cli.format import Listing, Report
from closedset_cli.sheet import Cell, Sheet

if TYPE_CHECKING:
    from closedset.surfaces import AxisHeld, Held

_LIST = "list"
_COLUMNS = ("axis", "surface", "term", "rows", "entities", "slots", "nearest", "score")
_NO_VOCABULARY = "no vocabulary in the pack, so nothing can vouch for its values"


class ListUnlessNamed(TyperGroup):
    """A group whose first word, when it names none of the group's commands, belongs to `list`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args or (args[0] not in self.commands and args[0] != "--help"):
            args = [_LIST, *args]
        return super().parse_args(ctx, args)


vocab = typer.Typer(
    cls=ListUnlessNamed, rich_markup_mode=None, help="See a store's vocabulary, and which surfaces are on no term."
)


@vocab.command(_LIST)
def listing(
    store: Annotated[str, typer.Argument(metavar="STORE", help="The store's directory.")],
    unplaced: Annotated[
        bool, typer.Option("--unplaced", help="Only surfaces on no term, with the terms nearest to each.")
    ] = False,
    axis: Annotated[str | None, typer.Option("--axis", metavar="AXIS", help="Only this axis.")] = None,
    output: Annotated[Listing, typer.Option("--format", help="How the list is written.")] = Listing.TABLE,
) -> None:
    """List the terms of each axis with the rows and entities that hold them.

    The word list may be left out: closedset vocab STORE --unplaced. A surface on no term leaves whoever holds it
    open; those in most rows come first.
    """
    import closedset
    from closedset import surfaces

    with closedset.open(store) as opened:
        held = surfaces.of(opened.generation(), axis, unplaced=unplaced)
    # A vocabulary that is not there places nothing; its surfaces are no work list unless they are asked for.
    listed = held if axis or not unplaced else [one for one in held if one.vocabulary]
    if output is Listing.TABLE:
        _sheet(listed, unplaced).send()
        return
    records = [_record(one.axis, h) for one in listed for h in (*one.terms, *one.unplaced)]
    from closedset_cli import csv_lines

    if output is Listing.JSON:
        streams.reply(csv_lines.as_json(records, indent=2) + "\n")
    else:
        csv_lines.Csv(_COLUMNS).write([_row(record) for record in records])


@vocab.command("place")
def place(
    store: Store,
    surface: Annotated[
        str | None, typer.Argument(metavar="SURFACE", help="The spelling, as the rows hold it.", show_default=False)
    ] = None,
    term: Annotated[str | None, typer.Argument(metavar="TERM", help="The term it means.", show_default=False)] = None,
    axis: Annotated[
        str | None,
        typer.Option("--axis", metavar="AXIS", help="Which axis, where several have the term, or the spelling."),
    ] = None,
    reason: Reason = None,
    undo: Annotated[
        str | None, typer.Option("--undo", metavar="SURFACE", help="Take back where a spelling was placed.")
    ] = None,
    by: By = None,
    listed: Listed = False,
    output: Output = Report.TABLE,
) -> None:
    """Make a spelling a synonym of a term, without a new load.

    The rows that hold it are placed again from the cells that the store keeps. Later loads keep the placement; a pack
    that comes to name the spelling itself has the last word.
    """
    from closedset.ledger import Placement
    from closedset.load import amend

    if listed:
        amended.listing(amend.entries(store, Placement), "placement", output)
        return
    who = amended.who(by)
    with progress.shown(f"placing in {store}"):
        if undo is not None:
            done = amend.undo(store, Placement, undo, by=who, reason=reason or "", axis=axis)
        else:
            said, on = amended.all_given("closedset vocab place STORE SURFACE TERM", surface, term)
            done = amend.place(store, said, on, axis, by=who, reason=reason or "")
    amended.report(done, output)


def _record(axis: str, held: "Held") -> dict[str, Any]:
    return {
        "axis": axis,
        "surface": held.surface,
        "term": held.term,
        "rows": held.rows,
        "entities": held.entities,
        "slots": list(held.slots),
        "nearest": [{"term": n.term, "spelling": n.spelling, "score": n.score} for n in held.nearest],
    }


def _row(record: dict[str, Any]) -> list[Any]:
    """A record as a line of CSV: of the nearest terms the first."""
    near = record["nearest"][0] if record["nearest"] else {"term": None, "score": None}
    return [*(record[k] for k in _COLUMNS[:5]), " ".join(record["slots"]), near["term"], near["score"]]


def _sheet(listed: "list[AxisHeld]", unplaced: bool) -> Sheet:
    sheet = Sheet()
    shown = [one for one in listed if one.unplaced] if unplaced else listed
    for one in shown:
        said = f"{words.many(len(one.unplaced), 'surface')} on no term" if one.unplaced else "every surface is placed"
        sheet.heading(f"axis {one.axis}", f": {said if one.vocabulary else _NO_VOCABULARY}")
        if one.terms:
            rows: list[list[Cell]] = [["term", "rows", "entities"]]
            rows += [[held.surface, str(held.rows), str(held.entities)] for held in one.terms]
            sheet.columns(rows, right=(1, 2))
        if one.unplaced:
            rows = [["on no term", "rows", "entities", "in", "nearest terms (likeness)"]]
            rows += [
                [(repr(h.surface), "yellow"), str(h.rows), str(h.entities), ", ".join(h.slots), _near(h)]
                for h in one.unplaced
            ]
            sheet.columns(rows, right=(1, 2))
    if not shown:
        sheet.line("every surface is placed" if unplaced else "the pack declares no axis")
    return sheet


def _near(held: "Held") -> str:
    return ", ".join(f"{n.term} ({n.score})" for n in held.nearest) or "–"
