"""`closedset correct`: retire a row that its source states wrongly, and take that back."""

from typing import Annotated

import typer

from closedset_cli import amended, progress
from closedset_cli.amended import By, Listed, Output, Reason, Store
from closedset_cli.format import Report


def correct(
    store: Store,
    row: Annotated[
        str | None,
        typer.Argument(metavar="ROW", help="The row, by the `row_id` a full reply gives it.", show_default=False),
    ] = None,
    reason: Reason = None,
    entity: Annotated[
        str | None,
        typer.Option("--entity", metavar="ID", help="Whose row it must be; of another, it is refused."),
    ] = None,
    undo: Annotated[
        str | None, typer.Option("--undo", metavar="ID|ROW", help="Take back a correction, by its number or its row.")
    ] = None,
    by: By = None,
    listed: Listed = False,
    output: Output = Report.TABLE,
) -> None:
    """Retire a row that is wrong though its source states it.

    It is no longer delivered and proves nothing: whoever it would match is undetermined, until the source is mended
    or the correction undone. It holds of every row of that table with the same cells, however a later load orders
    them.
    """
    from closedset.ledger import Correction
    from closedset.load import amend

    if listed:
        amended.listing(amend.entries(store, Correction), "correction", output)
        return
    who = amended.who(by)
    with progress.shown(f"correcting {store}"):
        if undo is not None:
            done = amend.undo(store, Correction, undo, by=who, reason=reason or "")
        else:
            (row_id,) = amended.all_given("closedset correct STORE ROW --reason TEXT", row)
            done = amend.correct(store, row_id, by=who, reason=amended.why(reason), entity_id=entity)
    amended.report(done, output)
