"""Who holds no row of an asked relation: *none* rests on 0 rows that somebody looked for, *not recorded* on nothing."""

from typing import TYPE_CHECKING, Any

from closedset_cli import words
from closedset_cli.csv_lines import Csv, as_json, json_line
from closedset_cli.format import Format
from closedset_cli.sheet import Cell, Sheet
from closedset_cli.streams import reply as write

if TYPE_CHECKING:
    from closedset.reply_full import FullReply

_COLUMNS = ("group", "relation", "entity_id", "kind", "denominator", "looked_at_by")


def send(reply: "FullReply", output: Format) -> None:
    """One record an entity and group, as many as the reply's lists hold (`--list-limit`)."""
    records: list[dict[str, Any]] = [
        {
            "group": group.index,
            "relation": group.relation,
            "entity_id": entry.entity_id,
            "kind": entry.kind,
            "denominator": entry.denominator,
            "looked_at_by": [f"{c.declared_by} {c.source}, {c.said}" for c in entry.coverage],
        }
        for group in reply.groups
        for entry in (*group.absence.none, *group.absence.not_recorded)
    ]
    match output:
        case Format.JSON:
            write(as_json(records, indent=2) + "\n")
        case Format.JSONL:
            for record in records:
                json_line(record)
        case Format.CSV:
            table = Csv(_COLUMNS)
            table.write([[*list(r.values())[:-1], "; ".join(r["looked_at_by"])] for r in records])
        case Format.TABLE:
            _table(reply, records).send()


def _table(reply: "FullReply", records: list[dict[str, Any]]) -> Sheet:
    sheet = Sheet()
    rows: list[list[Cell]] = [["relation", "entity_id", "kind", "rows", "looked at by"]]
    for record in records:
        denominator = words.denominator(record["denominator"])
        looked = "; ".join(record["looked_at_by"]) or "–"
        rows.append([record["relation"], record["entity_id"], words.name(record["kind"]), denominator, looked])
    sheet.columns(rows, indent=0, right=(3,))
    total = sum(g.absence.split.none + g.absence.split.not_recorded for g in reply.groups)
    sheet.line()
    sheet.line(f"showing {words.of(len(records), total)}")
    return sheet
