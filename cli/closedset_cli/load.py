"""`closedset load`: an export into a store, and the report whose figures add up."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from closedset_cli import progress, streams, words
from closedset_cli.diagnostics import UsageRefused
from closedset_cli.format import Report
from closedset_cli.sheet import Cell, Sheet

if TYPE_CHECKING:
    from closedset.catalog import Catalog, Examples
    from closedset.load import Loaded

_NEAR_SHOWN = 10
_IDS_SHOWN = 6
_LOST_SHOWN = 10
_NAMED = "unreadable (closedset rejects --cells names the rows)"
#: What is said of one period, and of several.
_REVERSED = (f"ends before it starts: {_NAMED}", f"end before they start: {_NAMED}")
_EMPTY = ("ends in the month it starts: never active", "end in the month they start: never active")


def load(
    store: Annotated[str, typer.Argument(metavar="STORE", help="The store's directory; made if it is not there.")],
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PATH",
            help="Folders, files or globs of tables, databases, and postgresql:// addresses.",
            show_default=False,
        ),
    ] = None,
    pack: Annotated[
        str | None,
        typer.Option(
            "--pack", metavar="NAME|FILE", help="Which pack: a bundled one's name, a pack.yaml, or its folder."
        ),
    ] = None,
    map_file: Annotated[
        str | None,
        typer.Option("--map", metavar="FILE", help="The map of this export (default: map.yaml beside the pack)."),
    ] = None,
    sample: Annotated[
        bool, typer.Option("--sample", help="Load the export that comes with a bundled pack; give no PATH.")
    ] = False,
    accept_shrink: Annotated[
        bool,
        typer.Option(
            "--accept-shrink", help="Load it though over a fifth of its former rows, or of the ids looked at, are gone."
        ),
    ] = False,
    keep: Annotated[
        int | None,
        typer.Option(
            "--keep",
            metavar="N",
            min=0,
            help="Keep N former generations, from now on (at first 1): they can be compared (closedset diff).",
        ),
    ] = None,
    output: Annotated[Report, typer.Option("--format", help="How the report is written.")] = Report.TABLE,
) -> None:
    """Load an export into a store.

    It becomes the store's next generation; the report says what became of every row.
    """
    if pack is None:
        from closedset.pack import bundled

        raise UsageRefused(f"--pack is missing: name a pack.yaml, or one that is bundled: {', '.join(bundled())}")
    from closedset.load import load as load_export

    with progress.shown(f"loading {store}"):
        loaded = load_export(
            store, pack, paths or [], mapping=map_file, sample=sample, accept_shrink=accept_shrink, keep=keep,
        )  # fmt: skip
    left = [] if sample else aside(loaded, paths or [])
    with streams.done(f"the load took place: generation {loaded.catalog.generation} is the current one"):
        if output is Report.JSON:
            from closedset_cli.csv_lines import as_json

            streams.reply(as_json(record(loaded, left), indent=2) + "\n")
        else:
            report(loaded, left, _said(loaded)).send()


def aside(loaded: "Loaded", paths: list[str]) -> list[str]:
    """Files that were given and that no table of the map reads."""
    from closedset.load.read import found

    notes = _notes(loaded)
    read = [f.path for t in loaded.catalog.tables if t.source == loaded.source for f in t.files]
    # A table or sheet stands after the name of what holds it.
    used = [f"{name if '://' in name else Path(name).resolve()} " for name in read]
    return [
        part.place
        for part in found(paths)
        if not any(name.startswith(f"{part.server or part.path.resolve()} ") for name in used)
        and not any(part.name in note for note in notes)
    ]


def _notes(loaded: "Loaded") -> list[str]:
    return [note for t in loaded.catalog.tables if t.source == loaded.source for note in t.notes]


def record(loaded: "Loaded", aside: list[str]) -> dict[str, Any]:
    """The load report as a record."""
    catalog, source = loaded.catalog, loaded.source
    return {
        "source": source,
        "pack": catalog.pack.pack,
        "unchanged": loaded.unchanged,
        "generation": catalog.generation,
        "loaded_at": catalog.loaded_at,
        "universe": catalog.universe,
        "files": [
            {"table": t.table, **f.model_dump(exclude={"shifts"})}
            for t in catalog.tables
            if t.source == source
            for f in t.files
        ],
        "left_aside": [*_notes(loaded), *aside],
        "drift": [] if loaded.unchanged else [d.model_dump() for d in catalog.drift],
        "entries": [r.model_dump(exclude={"source"}) for r in catalog.reports if r.source == source],
        "coverage": [
            s.model_dump(include={"relation", "said", "entities"})
            for s in catalog.statements
            if s.source == source and s.event is None
        ],
        "relations": {n: r.model_dump(include={"rows", "covered"}) for n, r in catalog.relations.items()},
        "ledger": {"event": catalog.ledger, "unfit": catalog.unfit},
        "lost": [row.model_dump() for row in catalog.lost],
        "near_duplicates": catalog.near_duplicates.model_dump(),
        "other_sources": [s for s in catalog.sources if s != source],
    }


def _said(loaded: "Loaded") -> str:
    if loaded.unchanged:
        return "unchanged: these bytes were loaded before"
    return f"loaded as generation {loaded.catalog.generation}"


def report(loaded: "Loaded", aside: list[str], said: str) -> Sheet:
    """The load report as a table; `said` is what became of the load as a whole."""
    catalog, source = loaded.catalog, loaded.source
    sheet = Sheet()
    sheet.heading(f"source {source}", f" of pack {catalog.pack.pack}: {said}")
    sheet.line(f"universe {words.entities(catalog.universe)}", indent=2)
    others = [s for s in catalog.sources if s != source]
    if others:
        sheet.line(f"the store also holds: {', '.join(others)}", indent=2)
    sheet.heading("rows", " (read = loaded + withheld + unattributed)")
    rows: list[list[Cell]] = [["relation", "table", "read", "loaded", "withheld", "unattributed"]]
    mine = [r for r in catalog.reports if r.source == source]
    for entry in mine:
        figures: list[Cell] = [str(f) for f in (entry.read, entry.loaded, entry.withheld, entry.unattributed)]
        rows.append([entry.relation, entry.table, *figures])
    sheet.columns(rows, right=(2, 3, 4, 5))
    _lost(sheet, catalog)
    _slots(sheet, loaded)
    for entry in mine:
        for count, one, many in (
            (entry.reversed_periods, *_REVERSED),
            (entry.empty_periods, *_EMPTY),
        ):
            if count:
                ends = f"{words.many(count, 'period')} {one if count == 1 else many}"
                sheet.line((f"{entry.relation} from {entry.table}: {ends}", "yellow"), indent=2)
    _coverage(sheet, loaded)
    _files(sheet, loaded, aside)
    _drift(sheet, loaded)
    _near(sheet, catalog)
    if catalog.unfit:
        sheet.heading("what people added", " and no source bears out any more; it holds again when one does")
        for note in catalog.unfit:
            sheet.line((note, "yellow"), indent=2)
    return sheet


def _lost(sheet: Sheet, catalog: "Catalog") -> None:
    """The rows that are withheld or unattributed, each by its place: these are what a cure mends."""
    for row in catalog.lost[:_LOST_SHOWN]:
        place = f"{row.file}:{row.line}" if row.line is not None else f"{row.file or row.table} row {row.row}"
        whose = f" (entity {row.entity_id!r}: withheld)" if row.entity_id is not None else " (unattributed)"
        sheet.line((f"{row.relation}: {place}", "yellow"), f": {row.fault}{whose}", indent=2)
    if len(catalog.lost) > _LOST_SHOWN:
        sheet.line("and more (closedset rejects lists them all)", indent=2)


def _slots(sheet: Sheet, loaded: "Loaded") -> None:
    sheet.heading("slots", " (rows by what their cell says)")
    rows: list[list[Cell]] = [["slot", "recorded", "of these unplaced", "empty", "unreadable"]]
    texts: list[tuple[str, str, Examples]] = []
    for entry in (r for r in loaded.catalog.reports if r.source == loaded.source):
        for name, slot in entry.slots.items():
            place = f"{entry.relation}.{name}"
            figures = (slot.recorded, slot.unplaced.rows, slot.empty, slot.unreadable.rows + slot.reversed)
            rows.append([place, *(str(f) for f in figures)])
            texts += [(place, "unreadable", slot.unreadable), (place, "on no term", slot.unplaced)]
    sheet.columns(rows, right=(1, 2, 3, 4))
    for place, what, examples in texts:
        if examples.rows:
            shown = ", ".join(f"{text!r} in {count}" for text, count in examples.texts)
            more = examples.distinct - len(examples.texts)
            each = " (closedset rejects --cells lists each)" if what == "unreadable" else ""
            rest = f" and {more} more{each}" if more > 0 else ""
            all_of_it = f" ({words.many(examples.rows, 'row')}, {words.many(examples.distinct, 'text')})"
            sheet.line((f"{place} {what}", "yellow"), f": {shown}{rest}{all_of_it}", indent=2)


def _coverage(sheet: Sheet, loaded: "Loaded") -> None:
    catalog = loaded.catalog
    sheet.heading("looked at")
    rows: list[list[Cell]] = []
    for name, relation in catalog.relations.items():
        said = [words.coverage(s) for s in catalog.statements if s.relation == name]
        how = "; ".join(said) if said else "only entities with a row" if relation.table else "no load fills it"
        rows.append([name, words.of(relation.covered, catalog.universe), how])
    sheet.columns(rows, right=(1,))


def _files(sheet: Sheet, loaded: "Loaded", aside: list[str]) -> None:
    sheet.heading("files")
    rows: list[list[Cell]] = []
    for table in loaded.catalog.tables:
        if table.source == loaded.source:
            for file in table.files:
                bad = f", {file.unreadable} unreadable" if file.unreadable else ""
                held = f"{words.many(file.rows, 'row')}{bad}"
                rows.append([table.table, file.path, held, f"sha256 {file.sha256[:12]}"])
    sheet.columns(rows)
    for note in _notes(loaded):
        sheet.line((note, "yellow"), indent=2)
    for file_name in aside:
        sheet.line((f"left aside: {file_name} (no table of the map reads it)", "yellow"), indent=2)


def _drift(sheet: Sheet, loaded: "Loaded") -> None:
    """How the export's shape differs from the load before; of an unchanged one nothing is new."""
    if loaded.unchanged or not loaded.catalog.drift:
        return
    sheet.heading("since the load before", " (rows that came or went: closedset diff)")
    rows: list[list[Cell]] = []
    for one in loaded.catalog.drift:
        names = " → ".join(name for name in (one.was, one.now) if name is not None)
        rows.append([one.table, (one.what, "yellow"), names])
    sheet.columns(rows)


def _near(sheet: Sheet, catalog: "Catalog") -> None:
    near = catalog.near_duplicates
    if not near.groups:
        return
    counted = f"{words.many(near.ids, 'id')} in {words.many(near.groups, 'group')}, kept as different entities"
    sheet.heading("ids that differ only a little", f": {counted}")
    for ids in near.first[:_NEAR_SHOWN]:
        more = ", …" if len(ids) > _IDS_SHOWN else ""
        sheet.line(", ".join(map(repr, ids[:_IDS_SHOWN])) + more, indent=2)
    if near.groups > _NEAR_SHOWN:
        sheet.line(f"and {words.many(near.groups - _NEAR_SHOWN, 'group')} more", indent=2)
