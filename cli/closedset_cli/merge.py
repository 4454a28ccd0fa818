"""`closedset merge`: say that two ids are one entity, and take that back."""

from typing import Annotated

import typer

from closedset_cli import amended, progress
from closedset_cli.amended import By, Listed, Output, Reason, Store
from closedset_cli.format import Report


def merge(
    store: Store,
    one: Annotated[str | None, typer.Argument(metavar="A", help="The id that is given up.", show_default=False)] = None,
    into: Annotated[
        str | None, typer.Argument(metavar="B", help="The id that stays: A is B.", show_default=False)
    ] = None,
    reason: Reason = None,
    undo: Annotated[str | None, typer.Option("--undo", metavar="A", help="Take back that A is another id.")] = None,
    by: By = None,
    listed: Listed = False,
    output: Output = Report.TABLE,
) -> None:
    """Say that the id A is the id B: one entity, counted once.

    The rows and coverage of A are B's; asking for A delivers B and says so; a row keeps the id its source writes.
    Merges chain (A is B, B is C); a cycle is refused.
    """
    from closedset.ledger import Merge
    from closedset.load import amend

    if listed:
        amended.listing(amend.entries(store, Merge), "merge", output)
        return
    who = amended.who(by)
    with progress.shown(f"merging in {store}"):
        if undo is not None:
            done = amend.undo(store, Merge, undo, by=who, reason=reason or "")
        else:
            a, b = amended.all_given("closedset merge STORE A B --reason TEXT", one, into)
            done = amend.unite(store, a, b, by=who, reason=amended.why(reason))
    amended.report(done, output)
