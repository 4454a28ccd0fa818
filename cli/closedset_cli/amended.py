"""What an act on the ledger did, and lists of what the ledger says: the same for corrections, merges, operators'
coverage and placed spellings."""

import getpass
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from closedset_cli import streams, words
from closedset_cli.diagnostics import UsageRefused
from closedset_cli.format import Report
from closedset_cli.sheet import Cell, Sheet

if TYPE_CHECKING:
    from closedset.load.amend import Amended, Entry

Store = Annotated[str, typer.Argument(metavar="STORE", help="The store's directory.")]
Reason = Annotated[
    str | None,
    typer.Option("--reason", metavar="TEXT", help="Why; kept with who and when, and shown wherever it counts."),
]
By = Annotated[
    str | None, typer.Option("--by", metavar="NAME", help="Who says so (default: your user name).", show_default=False)
]
Listed = Annotated[bool, typer.Option("--list", help="List what the ledger says of this, the undone included.")]
Output = Annotated[Report, typer.Option("--format", help="How the report is written.")]


def who(by: str | None) -> str:
    """Who says so: the name given, else the user's own."""
    if by is not None and not by.strip():
        raise UsageRefused("--by is empty: say who says so")
    if by is not None:
        return by.strip()
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        raise UsageRefused("your user name is not known here: say who says so with --by NAME") from None


def why(reason: str | None) -> str:
    """The reason, which every act but an undo must have."""
    if reason is None or not reason.strip():
        raise UsageRefused("--reason is missing: say why; it is kept with who and when")
    return reason.strip()


def all_given(usage: str, *arguments: str | None) -> list[str]:
    """The arguments of an act, all of which it needs."""
    if any(one is None for one in arguments):
        raise UsageRefused(f"an argument is missing: {usage}")
    return [one for one in arguments if one is not None]


def report(amended: "Amended", output: Report) -> None:
    """Say what became of one act."""
    one = amended.entry.event
    with streams.done(f"{one.kind} {one.id} took place: generation {amended.catalog.generation} has it"):
        _report(amended, output)


def _report(amended: "Amended", output: Report) -> None:
    if output is Report.JSON:
        from closedset_cli.csv_lines import as_json

        said = {"added": amended.added, "generation": amended.catalog.generation, **record(amended.entry)}
        streams.reply(as_json(said, indent=2) + "\n")
        return
    entry = amended.entry
    sheet = Sheet()
    undone = " undone" if entry.undone_by else ""
    before = "" if amended.added else " (the ledger said so before: nothing was added)"
    sheet.heading(f"{entry.event.kind} {entry.event.id}{undone}", f": {what(entry)}{before}")
    if not entry.undone_by:
        sheet.line((_held(entry), "yellow" if entry.note else ""), indent=2)
    sheet.line(f"generation {amended.catalog.generation}", indent=2)
    sheet.send()


def listing(entries: "Sequence[Entry]", kind: str, output: Report) -> None:
    """List every event of a kind."""
    if output is Report.JSON:
        from closedset_cli.csv_lines import as_json

        streams.reply(as_json([record(e) for e in entries], indent=2) + "\n")
        return
    sheet = Sheet()
    if not entries:
        sheet.line(f"the ledger has no {kind}")
    rows: list[list[Cell]] = [["id", kind, "in this generation", "said at", "by", "reason"]]
    for e in entries:
        state: Cell = f"undone by {e.undone_by}" if e.undone_by else _held(e)
        if e.pending:
            state = ("not applied yet: load, or run it again", "yellow")
        elif e.note:
            state = (_held(e), "yellow")
        rows.append([str(e.event.id), what(e), state, e.event.at, e.event.by, e.event.reason])
    sheet.columns(rows if entries else [], indent=0, right=(0,))
    sheet.send()


def record(entry: "Entry") -> dict[str, Any]:
    """An event as JSON says it."""
    event = entry.event
    return {
        "id": event.id, "kind": event.kind, **asdict(event.fact), "at": event.at, "by": event.by,
        "reason": event.reason, "held": entry.held, "places": entry.places, "note": entry.note,
        "undone_by": entry.undone_by, "pending": entry.pending,
    }  # fmt: skip


def what(entry: "Entry") -> str:
    """What an event says."""
    from closedset.ledger import Correction, Looked, Merge

    match entry.event.fact:
        case Correction() as said:
            return f"a row of {said.entity_id!r} in {said.relation}/{said.source}/{said.table} is retired"
        case Merge() as said:
            return f"{said.entity_id!r} is {said.into!r}"
        case Looked() as said:
            which = "all it knew then" if said.every else words.many(said.entities, "id")
            return f"looked at for {said.relation}: {which}"
        case said:
            return f"{said.surface!r} is {said.term} on axis {said.axis}"


def _held(entry: "Entry") -> str:
    """What the event holds of in the current generation, and what does not fit."""
    if entry.event.kind == "correction" and entry.held:
        held = f"{words.many(entry.held, 'row')}: {entry.places}"
    elif entry.event.kind == "coverage" and entry.held is not None:
        held = words.entities(entry.held)
    elif entry.event.kind == "placement" and not entry.note and entry.held is not None:
        held = words.many(entry.held, "row") + ("" if entry.held else ": no row holds this spelling now")
    else:
        held = "" if entry.note else "in force"
    return "; ".join(part for part in (held, entry.note) if part)
