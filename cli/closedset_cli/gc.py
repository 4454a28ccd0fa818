"""`closedset gc`: old generations, cells that none reads, and what killed loads have left behind."""

from typing import TYPE_CHECKING, Annotated

import typer

from closedset_cli import streams, words
from closedset_cli.format import Report
from closedset_cli.sheet import Cell, Sheet

if TYPE_CHECKING:
    from closedset.load.generation import Dropped

_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")


def gc(
    store: Annotated[str, typer.Argument(metavar="STORE", help="The store's directory.")],
    keep: Annotated[
        int | None,
        typer.Option(
            "--keep", metavar="N", min=0, help="Keep N former generations, this once (default: as the store is set)."
        ),
    ] = None,
    output: Annotated[Report, typer.Option("--format", help="How the report is written.")] = Report.TABLE,
) -> None:
    """Drop what a store no longer needs, and say what that was.

    Old generations, source cells that no generation reads, and leftovers of killed loads. Whoever has one open reads
    on; the current generation always stays.
    """
    from closedset.load import generation

    dropped = generation.collect(store, keep)
    with streams.done(f"{words.many(len(dropped), 'file')} dropped"):
        if output is Report.JSON:
            from closedset_cli.csv_lines import as_json

            files = [{"what": one.what, "file": one.file, "bytes": one.bytes} for one in dropped]
            streams.reply(as_json({"dropped": files, "bytes": _total(dropped)}, indent=2) + "\n")
        else:
            _sheet(dropped).send()


def _sheet(dropped: "list[Dropped]") -> Sheet:
    sheet = Sheet()
    rows: list[list[Cell]] = [[one.what, one.file, _size(one.bytes)] for one in dropped]
    sheet.columns(rows, indent=0, right=(2,))
    sheet.line(f"dropped {words.many(len(dropped), 'file')}, {_size(_total(dropped))}")
    return sheet


def _total(dropped: "list[Dropped]") -> int:
    return sum(one.bytes for one in dropped)


def _size(count: int) -> str:
    """A number of bytes in the unit that a person reads.

    >>> _size(12), _size(2048)
    ('12 bytes', '2.0 KiB')
    """
    size, unit = float(count), 0
    while size >= 1024 and unit < len(_UNITS) - 1:
        size, unit = size / 1024, unit + 1
    return f"{size:.1f} {_UNITS[unit]}" if unit else f"{count} bytes"
