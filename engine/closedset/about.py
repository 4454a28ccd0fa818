"""Who a listed entity is: at most three lines of what the store holds for it, whatever was asked."""

import re
from collections import defaultdict
from collections.abc import Sequence
from datetime import date

import pyarrow as pa

from closedset.cells import Reading
from closedset.dates import month_end
from closedset.execute import Run
from closedset.matches import stored_row
from closedset.pack import PERIOD, Pack
from closedset.receipt import Sources, StatedRow

LINES = 3
WIDTH = 120
_TYPES = ("term", "text", "number", "date")
#: Rows that go on, standing facts, rows that ended.
_CURRENT, _STANDING, _ENDED = range(3)


def about(run: Run, ordinals: Sequence[int]) -> dict[int, list[str]]:
    """The lines of each entity: what goes on first, then standing facts, then what ended; of each relation the
    most recent row of each class, most recent first. "Ended" is judged at the load's month."""
    if not ordinals:
        return {}
    run.give_table("about_set", pa.table({"ordinal": pa.array(sorted(set(ordinals)), pa.int32())}))
    last_day = month_end(run.catalog.load_month)
    found: list[tuple[int, date, StatedRow]] = []
    for name, relation in run.catalog.pack.relations.items():
        table = run.catalog.relations[name].table
        if table is None:
            continue
        rows = run.statement(
            "search/about.sql.j2", {"load_month_end": last_day},
            table=table, dated=relation.dated, date_slot=relation.date_slot,
            retired=run.catalog.relations[name].retired > 0,
        ).to_pylist()  # fmt: skip
        stated = Sources(run).state([stored_row(name, row) for row in rows])
        for row, one in zip(rows, stated, strict=True):
            group = _ENDED if row["_ended"] else _CURRENT if relation.dated else _STANDING
            found.append((group, row["_since"] or date.min, one))
    by_entity: dict[int, list[tuple[int, date, StatedRow]]] = defaultdict(list)
    for placed in found:
        by_entity[placed[2].row.ordinal].append(placed)
    lines: dict[int, list[str]] = {}
    for ordinal, rows in by_entity.items():
        rows.sort(key=lambda r: (r[0], -r[1].toordinal()))
        said = [line for _, _, stated in rows if (line := _line(run.catalog.pack, stated))]
        lines[ordinal] = said[:LINES]
    return lines


def _line(pack: Pack, stated: StatedRow) -> str:
    """One row in its own values, each said once, with its years."""
    relation = pack.relations[stated.row.relation]
    values: list[str] = []
    for kind in _TYPES:
        for name in sorted(relation.slots):
            slot = relation.slots[name]
            reading = stated.slots[name].reading
            if slot.type != kind or reading.text is None:
                continue
            text = " ".join(reading.text.split())
            if kind == "term":
                vocabulary = pack.vocabulary(slot)
                values.append(vocabulary.label(reading.term) if vocabulary and reading.term else text)
            else:
                values.append(text if kind == "text" else f"{name.replace('_', ' ')} {text}")
    said = [v for i, v in enumerate(values) if not _inside(v, i, values)]
    years = _years(stated)
    line = ", ".join(said)
    if len(line) + len(years) > WIDTH:
        line = line[: WIDTH - len(years) - 1].rstrip(" ,") + "…"
    return line + years if line else ""


def _inside(value: str, at: int, values: list[str]) -> bool:
    """Whether a value stands as whole words inside a longer one, or was said before."""
    words = re.compile(rf"(?<!\w){re.escape(value)}(?!\w)", re.IGNORECASE)
    return value in values[:at] or any(len(v) > len(value) and words.search(v) for v in values)


def _years(stated: StatedRow) -> str:
    if PERIOD[0] not in stated.slots:
        return ""
    start, end = (stated.slots[p].reading for p in PERIOD)
    if start.text is None and end.text is None:
        return ""
    return f" ({_year(start)}–{_year(end) if end.text is not None else 'now'})"


def _year(reading: Reading) -> str:
    if reading.text is None:
        return ""
    return f"{reading.span.start.year:04}" if reading.span else reading.text.strip()
