"""The draft of a map: which column fills which slot, and who was looked at as a question to its reader."""

from collections.abc import Mapping, Sequence

from closedset.load.proposal.offered import Aside, Offered
from closedset.load.proposal.profile import Column
from closedset.load.proposal.relations import Relation, Slot
from closedset.load.proposal.subject import Subject
from closedset.load.proposal.yaml_text import comment, listed, mapped, noted, one_line, scalar
from closedset.render import quoted

_HEAD = (
    "Drafted by closedset init. A map says which column of one source's export fills which slot of the pack, and what "
    "the export's silence means. Nothing here claims more than the cells say; lines that start with # are suggestions "
    "and questions."
)
_MARKERS = (
    "These texts may record nothing. Until that is said they are texts like any other, and on no term of an axis. For "
    "every column: keep those that record nothing, and take away the #; for one column alone write "
    "{column: NAME, null: TEXT} at its slot."
)
_LISTS = (
    "Tables of nothing but ids: whoever they list belongs to the universe. If one is a log of who was checked, name it "
    "under `looked_at` below."
)
_LOOKED_AT = (
    '`looked_at` is the part that no export says by itself: who was looked at. Somebody without a row is a "no" only '
    "if somebody looked. Of three, write the one that is true:",
    "`rows`: only whoever has a row was looked at. It claims nothing, and is what this draft says. Nobody is ever a "
    '"no" for having no row.',
    "`{every: TABLE.COLUMN}`: that table lists everybody, and whoever has no row here has none.",
    "`{listed: TABLE.COLUMN}`: that table is a log of who was checked, whether or not anything was found.",
)


def map_text(
    name: str,
    subject: Subject,
    tables: Sequence[Offered],
    columns: Mapping[str, Sequence[Column]],
    relations: Sequence[Relation],
    aside: Sequence[Aside],
) -> str:
    """A map.yaml that loads as it is beside the drafted pack; it claims no coverage."""
    lines = [
        *comment(_HEAD),
        noted(f"source: {scalar(name)}", "loading this source again replaces what it brought before"),
        "",
        "files:",
    ]
    for table in tables:
        bad = f", {table.unreadable} of them unreadable" if table.unreadable else ""
        lines.append(noted(f"  {table.name}: {_files(table)}", f"{table.cells.rows + table.unreadable} rows{bad}"))
    for one in aside:
        lines += comment(f"left aside: {one_line(one.file, 200)}: {one_line(one.why, 300)}", 2)
    lines += _markers(markers(subject, tables, columns, relations))
    lines += _entities(subject, tables, relations)
    if relations:
        lines += ["", *(line for text in _LOOKED_AT for line in comment(text)), "rows:"]
        for i, relation in enumerate(relations):
            lines += [*([""] if i else []), *_rows(relation, subject, tables, relations)]
    lines += _unmapped(subject, tables, columns)
    return "\n".join(lines) + "\n"


def _files(table: Offered) -> str:
    said = table.files
    inside = {word: scalar(name) for word, name in (("sheet", said.sheet), ("table", said.table)) if name}
    if not inside:
        return listed(said.file)
    return mapped(**({"file": listed(said.file)} if said.file else {}), **inside)


def markers(
    subject: Subject,
    tables: Sequence[Offered],
    columns: Mapping[str, Sequence[Column]],
    relations: Sequence[Relation],
) -> dict[str, list[str]]:
    """The texts that may record nothing, each with where it stands in how many cells: of slots, and of ids."""
    seen: dict[str, list[str]] = {}
    for relation in relations:
        for slot in relation.slots:
            for text, held in slot.of.column.markers:
                seen.setdefault(text, []).append(f"{relation.name}.{slot.name} {held}")
    for table in tables:
        for column in columns[table.name]:
            if column.name == subject.chosen.columns.get(table.name):
                for text, held in column.markers:
                    seen.setdefault(text, []).append(f"{table.name}.{column.name} {held}, as an id")
    return seen


def _markers(seen: Mapping[str, Sequence[str]]) -> list[str]:
    if not seen:
        return []
    lines = ["", *comment(_MARKERS)]
    lines.append(f"# null: [{', '.join(scalar(text) for text in seen)}]")
    for text, places in seen.items():
        lines += comment(f"{text!r} stands in {', '.join(places)}")
    return lines


def _entities(subject: Subject, tables: Sequence[Offered], relations: Sequence[Relation]) -> list[str]:
    """Tables of nothing but ids: whoever they list belongs to the universe."""
    mapped_tables = {relation.table.name for relation in relations}
    alone = [t for t in tables if t.name in subject.chosen.columns and t.name not in mapped_tables]
    if not alone:
        return []
    lines = [mapped(**{"from": t.name, "entity": scalar(subject.chosen.columns[t.name])}) for t in alone]
    return ["", *comment(_LISTS), "entities:", *(f"  - {line}" for line in lines)]


def _rows(relation: Relation, subject: Subject, tables: Sequence[Offered], relations: Sequence[Relation]) -> list[str]:
    lines = [
        f"  - relation: {relation.name}",
        f"    from: {relation.table.name}",
        f"    entity: {scalar(relation.entity)}",
    ]
    if relation.called:
        lines.append(noted(f"    name: {scalar(relation.called)}", "what an entity is called in a reply"))
    if relation.slots:
        lines.append("    slots:")
    for slot in relation.slots:
        lines += _filled(slot)
    if relation.period:
        start, end = relation.period.start, relation.period.end
        lines.append(
            noted(
                f"    period: [{scalar(start.column.name)}, {scalar(end.column.name)}]",
                "up to but not in the month of the end; an empty end is still open",
            )
        )
        formats = {"period_from": start.dates, "period_to": end.dates}
        declared = {slot: scalar(form) for slot, form in formats.items() if form}
        if declared:
            lines.append(f"    dates: {mapped(**declared)}")
    targets = _targets(relation, subject, tables, relations)
    lines += comment(f"Who was looked at for {relation.name}?{' Perhaps:' if targets else ''}", 4)
    lines += [f"    # looked_at: {{{word}: {scalar(f'{t}.{subject.chosen.columns[t]}')}}}" for word, t in targets]
    return [*lines, "    looked_at: rows"]


def _targets(
    relation: Relation, subject: Subject, tables: Sequence[Offered], relations: Sequence[Relation]
) -> list[tuple[str, str]]:
    """The tables that may say who was looked at: those with one row an entity or with the most of them, and lists
    of ids."""
    own = {r.table.name for r in relations}
    logs = [("listed", t.name) for t in tables if t.name in subject.chosen.columns and t.name not in own]
    rosters = {*subject.chosen.unique_in, subject.chosen.widest} - {relation.table.name, *(t for _, t in logs)}
    return [*(("every", t.name) for t in tables if t.name in rosters), *logs]


def _filled(slot: Slot) -> list[str]:
    column = scalar(slot.of.column.name)
    value = mapped(column=column, dates=scalar(slot.of.dates)) if slot.of.dates else column
    lines = [f"      {slot.name}: {value}"]
    if slot.of.question:
        lines += comment(one_line(f"{slot.name}: {slot.of.notes[-1]}", 300), 6)
    return lines


def _unmapped(subject: Subject, tables: Sequence[Offered], columns: Mapping[str, Sequence[Column]]) -> list[str]:
    """Tables that do not say whom a row is about, with a SELECT that may."""
    held = subject.chosen.columns
    lines: list[str] = []
    for table in tables:
        if table.name in held:
            continue
        lines += ["", *comment(f"Not mapped: {table.name} holds no {one_line(subject.chosen.name)}.")]
        found = joins(table, tables, columns, subject)
        if found:
            other, key = found
            more = ", ".join(
                f"b.{quoted(c.name)} AS {quoted(f'{table.name} {c.name}')}"
                for c in columns[table.name]
                if c.name != key
            )
            select = (
                f"SELECT a.*{', ' if more else ''}{more} FROM {other} AS a LEFT JOIN {table.name} AS b"
                f" ON b.{quoted(key)} = a.{quoted(key)}"
            )
            if select.isprintable():
                lines += comment(f"It shares {one_line(key)} with {other}; a table that joins them, to be named under "
                                 f"`from` instead of {other}:")  # fmt: skip
                lines += ["# tables:", f"#   {other}_and_{table.name}: >-", f"#     {select}"]
    return lines


def joins(
    table: Offered, tables: Sequence[Offered], columns: Mapping[str, Sequence[Column]], subject: Subject
) -> tuple[str, str] | None:
    """A table that holds the subject and one unique column of this table too: (that table, the column)."""
    keys = [c.name for c in columns[table.name] if c.unique]
    return next(
        (
            (other.name, key)
            for other in tables
            if other.name in subject.chosen.columns
            for key in keys
            if any(c.name == key for c in columns[other.name])
        ),
        None,
    )
