"""Stores of a handful of rows, said in a few lines.

`store({"role": [{"id": "e1", "level": "VP"}]})` fills the small domain below; a slot that no row of a
relation names is a slot that no load wrote. `looked` says who a load looked at, beside those with a row.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from closedset.mapping import Map
from closedset.pack import Pack
from closedset.store import Store, in_memory

Row = Mapping[str, str | None]

DOMAIN: dict[str, Any] = {
    "pack": "tiny",
    "subject": "person",
    "axes": {
        "level": {
            "order": ["IC", "Director", "VP", "SVP"],
            "synonyms": {"VP": ["Vice President"]},
            "tree": {"Leaders": ["VP", "SVP"]},
        },
        "function": {"terms": ["Sales", "Operations"]},
        "place": {
            "tree": {"World": ["DACH", "US"], "DACH": ["Germany", "Austria"]},
            "synonyms": {"Germany": ["Deutschland"]},
            "labels": {"US": "United States"},
        },
        "body": {"tree": {"Board": ["Audit", "Risk"]}, "interior": "exact"},
        "outcome": {"terms": ["passed", "failed"]},
        "topic": None,
    },
    "relations": {
        "role": {
            "dated": True,
            "slots": {
                "level": {"term": "level"},
                "function": {"term": "function"},
                "place": {"term": "place"},
                "body": {"term": "body"},
                "topic": {"term": "topic"},
                "firm": "text",
                "fee": {"number": "USD"},
                "seen_on": "date",
            },
        },
        "check": {"slots": {"outcome": {"term": "outcome"}, "on": "date"}},
        "deal": {"slots": {"firm": "text", "signed_on": "date", "paid_on": "date"}},
    },
}
PACK = Pack.model_validate(DOMAIN)
PERIOD = ("period_from", "period_to")


def store(
    rows: Mapping[str, Sequence[Row]],
    *,
    looked: Mapping[str, Iterable[str]] | None = None,
    everybody: Iterable[str] = (),
    cells: Mapping[str, Mapping[str, Any]] | None = None,
    names: bool = False,
    pack: Pack = PACK,
) -> Store:
    """Takes rows by relation, whom a load looked at by relation, further ids of the universe, and how the
    cells of a slot ("role.fee") are read. With `names`, the rows carry a column `name`."""
    tables: dict[str, pa.Table] = {}
    entries, coverage = [], []
    for relation, held in rows.items():
        columns = list(dict.fromkeys(["id", *(name for row in held for name in row)]))
        tables[relation] = _table(held, columns)
        readings = {name: {"column": name, **_cell(cells, relation, name)} for name in columns}
        slots = {n: readings[n] for n in columns if n in pack.relations[relation].slots}
        entry: dict[str, Any] = {"relation": relation, "from": relation, "entity": "id", "slots": slots}
        if set(PERIOD) <= set(columns):
            entry["period"] = [readings[name] for name in PERIOD]
        if names:
            entry["name"] = "name"
        entries.append(entry)
    for relation, ids in (looked or {}).items():
        tables[f"{relation}_looked"] = _table([{"id": i} for i in ids], ["id"])
        coverage.append({"relation": relation, "listed": f"{relation}_looked.id"})
    tables["people"] = _table([{"id": i} for i in everybody], ["id"])
    mapping = Map.model_validate(
        {
            "source": "export",
            "rows": entries,
            "coverage": coverage,
            "entities": [{"from": "people", "entity": "id"}],
        }
    )
    return in_memory(pack, mapping, tables)


def _cell(cells: Mapping[str, Mapping[str, Any]] | None, relation: str, name: str) -> Mapping[str, Any]:
    return (cells or {}).get(f"{relation}.{name}", {})


def _table(rows: Sequence[Row], columns: Sequence[str]) -> pa.Table:
    return pa.table({c: pa.array([row.get(c) for row in rows], pa.string()) for c in columns})


def where(relation_slot: str, op: str, value: Any, **more: Any) -> dict[str, Any]:
    """One constraint: `where("role.level", "gte", "VP")`."""
    relation, _, slot = relation_slot.partition(".")
    return {"relation": relation, "slot": slot, "op": op, "value": value, **more}


def ask(store: Store, *constraints: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """The reply to these constraints, as JSON."""
    reply = store.search({"constraints": list(constraints), **more})
    said: dict[str, Any] = reply.model_dump(mode="json")
    return said


def sets(reply: Mapping[str, Any]) -> dict[str, list[str]]:
    """The four sets of a full reply that hold anybody."""
    return {verdict: ids for verdict, ids in reply["entities"].items() if ids}


def reasons(reply: Mapping[str, Any]) -> dict[str, int | None]:
    """Why the licence of a full reply is withheld: code to count, in order."""
    return {reason["code"]: reason["count"] for reason in reply["licence"]["reasons"]}


def reason(reply: Mapping[str, Any], code: str) -> dict[str, Any]:
    """One reason of a full reply, by its full code."""
    return next(r for r in reply["licence"]["reasons"] if r["code"] == code)


def export(folder: Path, tables: Mapping[str, str]) -> Path:
    """Write files by name and give their folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in tables.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder
