"""`closedset coverage`: say that somebody looked at entities that no source says were looked at, and take that back."""

from pathlib import Path
from typing import Annotated

import typer

from closedset_cli import amended, progress
from closedset_cli.amended import By, Output, Reason, Store
from closedset_cli.diagnostics import UsageRefused
from closedset_cli.format import Report

coverage = typer.Typer(
    rich_markup_mode=None,
    no_args_is_help=True,
    help='Say who was looked at though no source says so: then no row means none, and not "not recorded".',
)


@coverage.command("declare")
def declare(
    store: Store,
    relation: Annotated[str, typer.Argument(metavar="RELATION", help="What they were looked at for.")],
    entity: Annotated[
        list[str] | None, typer.Option("--entity", metavar="ID", help="One who was looked at; may be given again.")
    ] = None,
    file: Annotated[str | None, typer.Option("--file", metavar="FILE", help="A file of ids, one a line.")] = None,
    every: Annotated[
        bool, typer.Option("--every", help="Every entity that the store holds now; ids of later loads are not meant.")
    ] = False,
    reason: Reason = None,
    by: By = None,
    output: Output = Report.TABLE,
) -> None:
    """Say that somebody looked at entities for a relation.

    Who holds no row of it is then none. The reply shows it as `declared_by: operator`, with who, why and when.
    """
    from closedset.load import amend

    if sum((bool(entity), file is not None, every)) != 1:
        raise UsageRefused("say who was looked at, in one way: --entity ID …, --file FILE, or --every")
    ids = None if every else _lines(file) if file is not None else dict.fromkeys(entity or [], "--entity")
    who, why = amended.who(by), amended.why(reason)
    with progress.shown(f"declaring coverage in {store}"):
        done = amend.look(store, relation, ids, by=who, reason=why)
    amended.report(done, output)


@coverage.command("withdraw")
def withdraw(
    store: Store,
    number: Annotated[str, typer.Argument(metavar="ID", help="The statement, by its number in the list.")],
    reason: Reason = None,
    by: By = None,
    output: Output = Report.TABLE,
) -> None:
    """Take back what was declared: whoever only it covered is not recorded again."""
    from closedset.ledger import Looked
    from closedset.load import amend

    who = amended.who(by)
    with progress.shown(f"withdrawing coverage in {store}"):
        done = amend.undo(store, Looked, number, by=who, reason=reason or "")
    amended.report(done, output)


@coverage.command("list")
def listing(store: Store, output: Output = Report.TABLE) -> None:
    """List what was declared, the withdrawn included."""
    from closedset.ledger import Looked
    from closedset.load import amend

    amended.listing(amend.entries(store, Looked), "coverage", output)


def _lines(file: str) -> dict[str, str]:
    """The ids of a file, each with its place; blank lines are none."""
    try:
        text = Path(file).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageRefused(
            f"{file}: is not UTF-8 ({error.reason} at byte {error.start}); write one id a line"
        ) from None
    ids: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            ids.setdefault(line, f"{file}:{number}")
    if not ids:
        raise UsageRefused(f"{file}: holds no ids; write one id a line")
    return ids
