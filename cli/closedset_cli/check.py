"""`closedset check`: a load's report and verdict without a load, for whoever changes a pack, a map or an export."""

from typing import Annotated, Any

import typer

from closedset_cli import progress, streams, words
from closedset_cli.diagnostics import ExitCode
from closedset_cli.format import Report


def check(
    pack: Annotated[
        str, typer.Argument(metavar="PACK", help="A bundled pack's name, a pack.yaml, or the folder that holds it.")
    ],
    map_file: Annotated[str, typer.Argument(metavar="MAP", help="The map of the export.")],
    paths: Annotated[list[str], typer.Argument(metavar="PATH", help="Folders, files or globs of the export.")],
    output: Annotated[Report, typer.Option("--format", help="How the report is written.")] = Report.TABLE,
) -> int:
    """See what a load would do, and load nothing.

    Prints the load's report and ends with 0 if every row and cell would count, with 4 if something would be lost
    (rows withheld or unattributed, cells unreadable or on no term), with 2 if the load would be refused.
    """
    from closedset.load.dry_run import dry_run, losses

    with progress.shown(f"checking {', '.join(paths)}"):
        loaded = dry_run(pack, map_file, paths)
    lost = losses(loaded.catalog)
    figures = {
        ("row", "withheld"): lost.withheld,
        ("row", "unattributed"): lost.unattributed,
        ("cell", "unreadable"): lost.unreadable,
        ("cell", "on no term"): lost.unplaced,
        ("period", "reversed"): lost.reversed_periods,
    }
    from closedset_cli import load

    aside = load.aside(loaded, paths)
    if output is Report.JSON:
        from closedset_cli.csv_lines import as_json

        record: dict[str, Any] = load.record(loaded, aside)
        kept = {k: v for k, v in record.items() if k not in ("unchanged", "generation", "loaded_at", "other_sources")}
        losing = {f"{noun}s {what}".replace(" ", "_"): n for (noun, what), n in figures.items()}
        streams.reply(as_json({"loses": losing, **kept}, indent=2) + "\n")
    else:
        said = ", ".join(f"{words.many(n, noun)} {what}" for (noun, what), n in figures.items() if n)
        load.report(loaded, aside, f"would load, with {said}" if lost else "would load, and lose nothing").send()
    return ExitCode.LOSSY if lost else ExitCode.OK
