"""`closedset loads`: what made each generation of a store, and which are still held."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from closedset_cli import streams
from closedset_cli.format import Report
from closedset_cli.sheet import Cell, Sheet

if TYPE_CHECKING:
    from closedset.history import Past

_FIGURES = ("read", "loaded", "withheld", "unattributed")
_STYLES = {"current": "green", "held": "", "dropped": "dim"}


def loads(
    store: Annotated[str, typer.Argument(metavar="STORE", help="The store's directory.")],
    output: Annotated[Report, typer.Option("--format", help="How the history is written.")] = Report.TABLE,
) -> None:
    """List what made each generation of a store.

    A load of a source, or an operator's act. Held generations can be compared (closedset diff); dropped ones are gone.
    """
    from closedset import history

    past = history.of(store)
    if output is Report.JSON:
        from closedset_cli.csv_lines import as_json

        streams.reply(as_json([_record(one) for one in past], indent=2) + "\n")
    else:
        _sheet(past).send()


def _record(one: "Past") -> dict[str, Any]:
    return {**one.change.model_dump(), "state": one.state}


def _sheet(past: "list[Past]") -> Sheet:
    sheet = Sheet()
    rows: list[list[Cell]] = [["generation", "when", "what", "source", *_FIGURES, "universe", ""]]
    for one in past:
        change = one.change
        figures = [str(getattr(change, f)) if change.source is not None else "–" for f in _FIGURES]
        what = f"{change.what}: {change.detail}" if change.detail else change.what
        state: Cell = (one.state, _STYLES[one.state])
        rows.append(
            [str(change.generation), change.at, what, change.source or "–", *figures, str(change.universe), state]
        )
    sheet.columns(rows, indent=0, right=(0, 4, 5, 6, 7, 8))
    return sheet
