"""`closedset schema`: what may be asked of a store, and what is loaded and covered."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from closedset_cli import streams, words
from closedset_cli.format import Report
from closedset_cli.sheet import Cell, Sheet

if TYPE_CHECKING:
    from closedset.catalog import Catalog, Placed, RowsReport
    from closedset.pack import Relation
    from closedset.vocabulary import Vocabulary

#: The operators each type of slot answers; an ordered axis answers all of them.
_OPERATORS = {"term": "= != in", "text": "= != in", "number": "= != in >= <=", "date": "= != in >= <="}
_NO_VOCABULARY = "no vocabulary: reported as a gap"


def schema(
    store: Annotated[str, typer.Argument(metavar="STORE", help="The store's directory.")],
    output: Annotated[Report, typer.Option("--format", help="How the schema is written.")] = Report.TABLE,
) -> None:
    """Show what may be asked of a store: start here.

    Relations, slots and vocabularies, and what the store holds and covers of them.
    """
    import closedset

    with closedset.open(store) as opened:
        catalog = opened.catalog
    if output is Report.JSON:
        from closedset_cli.csv_lines import as_json

        streams.reply(as_json(_record(catalog), indent=2) + "\n")
    else:
        _sheet(catalog).send()


def _record(catalog: "Catalog") -> dict[str, Any]:
    pack = catalog.pack
    return {
        "pack": pack.pack,
        "title": pack.title,
        "subject": pack.subject,
        "generation": catalog.generation,
        "loaded_at": catalog.loaded_at,
        "sources": catalog.sources,
        "universe": catalog.universe,
        "map_version": catalog.map_version,
        "relations": {name: _relation(catalog, name, relation) for name, relation in pack.relations.items()},
        "axes": {name: _axis(pack.vocabularies.get(name), _placed(catalog, name)) for name in pack.axes},
    }


def _relation(catalog: "Catalog", name: str, relation: "Relation") -> dict[str, Any]:
    stored = catalog.relations[name]
    return {
        "dated": relation.dated,
        "rows": stored.rows,
        "covered": stored.covered,
        "withheld": stored.withheld,
        "unattributed": stored.unattributed,
        "retired": stored.retired,
        "coverage": [
            s.model_dump(exclude={"relation"}, exclude_none=True) for s in catalog.statements if s.relation == name
        ],
        "slots": {slot: _slot(catalog, name, slot) for slot in relation.askable()},
    }


def _slot(catalog: "Catalog", relation: str, name: str) -> dict[str, Any]:
    slot = catalog.pack.relations[relation].askable()[name]
    reports = [r.slots[name] for r in _reports(catalog, relation) if name in r.slots]
    said: dict[str, Any] = {"type": slot.type, "operators": _operators(catalog, relation, name).split()}
    if slot.axis:
        said["axis"] = slot.axis
    if slot.unit:
        said["unit"] = slot.unit
    return {
        **said,
        "columns": _columns(catalog, relation, name),
        "recorded": sum(r.recorded for r in reports),
        "empty": sum(r.empty for r in reports),
        "unreadable": sum(r.unreadable.rows + r.reversed for r in reports),
        "unplaced": sum(r.unplaced.rows for r in reports),
    }


def _placed(catalog: "Catalog", axis: str) -> "list[Placed]":
    """The spellings that operators placed on an axis's terms."""
    return [p for p in catalog.placements if p.axis == axis]


def _axis(vocabulary: "Vocabulary | None", placed: "list[Placed]") -> dict[str, Any] | None:
    """An axis's terms in declared order, and what operators placed on them; null for one without vocabulary."""
    if vocabulary is None:
        return None
    return {
        "ordered": vocabulary.ordered,
        "interior": "exact" if vocabulary.exact else "member",
        "terms": [
            {
                "term": term,
                "label": vocabulary.label(term),
                "rung": vocabulary.rungs.get(term),
                "below": list(vocabulary.below[term]),
            }
            for term in vocabulary.terms
        ],
        "placed": [p.model_dump(exclude={"axis"}) for p in placed],
    }


def _reports(catalog: "Catalog", relation: str) -> "list[RowsReport]":
    return [r for r in catalog.reports if r.relation == relation]


def _operators(catalog: "Catalog", relation: str, name: str) -> str:
    slot = catalog.pack.relations[relation].askable()[name]
    if slot.type != "term":
        return _OPERATORS[slot.type]
    vocabulary = catalog.pack.vocabulary(slot)
    if vocabulary is None:
        return ""
    return "= != in >= <=" if vocabulary.ordered else _OPERATORS["term"]


def _columns(catalog: "Catalog", relation: str, name: str) -> list[str]:
    """The export's columns that fill a slot, as table.column."""
    columns: list[str] = []
    for mapping in catalog.maps.values():
        for rows in mapping.rows:
            cell = rows.cells().get(name)
            if rows.relation == relation and cell is not None:
                columns.append(f"{rows.table}.{cell.column}" if cell.column else f"constant {cell.constant}")
    return columns


def _sheet(catalog: "Catalog") -> Sheet:
    pack = catalog.pack
    sheet = Sheet()
    title = f": {pack.title}" if pack.title else ""
    sheet.heading(f"pack {pack.pack}", title)
    sheet.line(
        f"subject {pack.subject}; universe {catalog.universe}; sources {', '.join(catalog.sources)}; "
        f"generation {catalog.generation}, loaded {catalog.loaded_at}",
        indent=2,
    )
    for name, relation in pack.relations.items():
        _relation_sheet(sheet, catalog, name, relation)
    for name in pack.axes:
        _axis_sheet(sheet, name, pack.vocabularies.get(name), _placed(catalog, name))
    return sheet


def _relation_sheet(sheet: Sheet, catalog: "Catalog", name: str, relation: "Relation") -> None:
    stored = catalog.relations[name]
    dated = " (dated)" if relation.dated else ""
    covered = words.of(stored.covered, catalog.universe)
    sheet.heading(name, f"{dated}: {words.many(stored.rows, 'row')}; looked at {covered}")
    if not _reports(catalog, name):
        sheet.line("no load fills this relation: asking for it finds nobody looked at", indent=2)
    for statement in (s for s in catalog.statements if s.relation == name):
        if statement.event is None:
            listed = words.entities(statement.entities)
            sheet.line(f"coverage: {statement.said} ({statement.source}), {listed}", indent=2)
        else:
            sheet.line(f"coverage: {words.coverage(statement)}", indent=2)
    for count, what in (
        (stored.withheld, "unreadable"), (stored.unattributed, "naming no entity"), (stored.retired, "retired")
    ):  # fmt: skip
        if count:
            sheet.line((f"{words.many(count, 'row')} {what}", "yellow"), indent=2)
    rows: list[list[Cell]] = [["slot", "type", "operators", "recorded", "empty", "unreadable", "unplaced", "from"]]
    for slot in relation.askable():
        said = _slot(catalog, name, slot)
        kind = said["type"] + (f" {said['axis']}" if "axis" in said else f" {said['unit']}" if "unit" in said else "")
        operators = _operators(catalog, name, slot) or _NO_VOCABULARY
        figures: list[Cell] = [str(said[k]) for k in ("recorded", "empty", "unreadable", "unplaced")]
        rows.append([slot, kind, operators, *figures, ", ".join(said["columns"]) or "no column"])
    sheet.columns(rows, right=(3, 4, 5, 6))


def _axis_sheet(sheet: Sheet, name: str, vocabulary: "Vocabulary | None", placed: "list[Placed]") -> None:
    if vocabulary is None:
        sheet.heading(f"axis {name}", f": {_NO_VOCABULARY}")
        return
    order = ", ordered low to high" if vocabulary.ordered else ""
    exact = ", a term with terms below it stands for itself" if vocabulary.exact else ""
    sheet.heading(f"axis {name}", f"{order}{exact}")
    on_rungs = [t for t in vocabulary.terms if t in vocabulary.rungs] if vocabulary.ordered else []
    top = sorted((t for t in on_rungs if not _inside(vocabulary, t)), key=vocabulary.rungs.__getitem__)
    if top:
        sheet.line(" < ".join(_said(vocabulary, t) for t in top), indent=2)
    groups = [t for t in vocabulary.terms if vocabulary.below[t]]
    for term in groups:
        below = ", ".join(_said(vocabulary, t) for t in vocabulary.below[term])
        sheet.line(f"{_said(vocabulary, term)} > {below}", indent=2)
    grouped = {t for g in groups for t in (g, *vocabulary.below[g])}
    alone = [t for t in vocabulary.terms if t not in grouped and t not in top]
    if alone:
        sheet.line(", ".join(_said(vocabulary, t) for t in alone), indent=2)
    for one in placed:
        why = f": {one.reason}" if one.reason else ""
        sheet.line(f"placed by {one.by} on {one.at[:10]}: {one.surface!r} is {one.term}{why}", indent=2)


def _inside(vocabulary: "Vocabulary", term: str) -> bool:
    """Whether the term shares its rung with a term above it."""
    return any(
        term in vocabulary.below[other] and vocabulary.rungs.get(other) == vocabulary.rungs[term]
        for other in vocabulary.terms
    )


def _said(vocabulary: "Vocabulary", term: str) -> str:
    label = vocabulary.label(term)
    return term if label == term else f"{term} ({label})"
