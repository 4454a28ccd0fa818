"""`closedset init`: a first pack and map drafted from an export, with the questions only its owner can answer."""

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from closedset_cli import progress, words
from closedset_cli.sheet import Cell, Sheet

if TYPE_CHECKING:
    from closedset.load.proposal import Proposal

#: The types of slots, in the order they are counted.
_KINDS = ("term", "date", "number", "text")


def init(
    paths: Annotated[list[str], typer.Argument(metavar="PATH", help="The export: folders, files or globs.")],
    out: Annotated[
        str | None,
        typer.Option(
            "--out", metavar="DIR", help="Where pack.yaml and map.yaml go (default: the first PATH's folder)."
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            "--name", metavar="NAME", help="What the pack and the source are called (default: as the folder)."
        ),
    ] = None,
    entity: Annotated[
        str | None,
        typer.Option("--entity", metavar="COLUMN", help="The column that says whom a row is about."),
    ] = None,
) -> None:
    """Draft a pack and a map from an export.

    Reads every table and writes pack.yaml and map.yaml, which load as they are. What is certain of every cell
    becomes a slot, a date, a number, a vocabulary or a period; the rest stands beside it as a comment. Nothing is
    claimed of who was looked at. A file that exists is never replaced.
    """
    from closedset.load import proposal

    folder = Path(out) if out is not None else _folder(paths[0])
    proposal.refuse_existing(folder)
    with progress.shown(f"reading {', '.join(paths)}"):
        proposed = proposal.propose(paths, name if name is not None else _folder(paths[0]).resolve().name, entity)
    written = proposal.write(proposed, folder)
    _sheet(proposed, written, paths).send()


def _folder(path: str) -> Path:
    """The folder of an export that is a folder, a file or a glob."""
    given = Path(path)
    while not given.is_dir() and given != given.parent:
        given = given.parent
    return given


def _sheet(proposed: "Proposal", written: tuple[Path, Path], paths: list[str]) -> Sheet:
    sheet = Sheet()
    sheet.heading("drafted", f" {written[0]} and {written[1]}")
    sheet.heading("tables")
    relations = {r.table.name: r for r in proposed.relations}
    rows: list[list[Cell]] = []
    for table in proposed.tables:
        relation = relations.get(table.name)
        becomes = "not mapped"
        if relation:
            kinds = [s.of.kind for s in relation.slots]
            said = [f"{kinds.count(k)} {k}" for k in _KINDS if k in kinds]
            period = relation.period
            said += [f"a period from {period.start.column.name} to {period.end.column.name}"] if period else []
            said += [f"names from {relation.called}"] if relation.called else []
            becomes = f"relation {relation.name}: {', '.join(said) or 'no slots'}"
        elif table.name in proposed.subject.chosen.columns:
            becomes = "ids of the universe"
        rows.append([table.name, table.place, words.many(table.cells.rows, "row"), becomes])
    sheet.columns(rows)
    for one in proposed.aside:
        sheet.line((f"left aside: {one.file}", "yellow"), f": {one.why}", indent=2)
    chosen = proposed.subject.chosen
    sheet.heading("an answer counts", f" each {chosen.name}")
    unique = f", one row each in {', '.join(chosen.unique_in)}" if chosen.unique_in else ""
    held = f"in {words.of(len(chosen.columns), len(proposed.tables))} tables{unique}"
    shared = f", at least {chosen.shared} of them in common" if chosen.shared is not None else ""
    sheet.line(f"{held}; {chosen.ids} ids{shared}", indent=2)
    sheet.heading("questions left")
    for i, question in enumerate(proposed.questions, 1):
        sheet.line(f"{i}  {question}", indent=2, hang=3)
    sheet.heading("next")
    command = ["closedset", "check", *map(str, written), *paths]
    sheet.line((" ".join(map(quote, command)), "bold"), indent=2)
    return sheet
