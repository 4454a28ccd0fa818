"""What a generation holds, as one hash: the same for the same tables under the same pack and map, from whatever kind of
files they were read, in whatever generation and at whatever time."""

import hashlib
import json
from typing import Any

from closedset.catalog import kept_as
from closedset.execute import Run
from closedset.store import Generation


def content(generation: Generation) -> str:
    """A SHA-256 over every kept cell at its place, the rows of every relation, the entities, and who was looked at; of
    rows that could not be loaded, their number.

    It leaves out what only says where these came from: files, their bytes, and the load's number and time.
    """
    run, catalog = Run(generation), generation.catalog
    said: list[Any] = [catalog.map_version]
    for table in sorted(catalog.tables, key=lambda t: (t.source, t.table)):
        kept = [kept_as(column) for column in table.columns]
        said.append([table.source, table.table, table.columns, *_summed(run, table.cells, kept, placed=True)])
    for name, stored in sorted(catalog.relations.items()):
        said.append([name, stored.withheld, stored.unattributed])
        if stored.table is not None:
            said[-1] += [*_summed(run, (stored.table,), _columns(run, stored.table))]
    said.append([[s.relation, s.declared_by, s.said] for s in catalog.statements])
    said += [_summed(run, (name,), _columns(run, name)) for name in ("entity", "coverage")]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()


def _columns(run: Run, table: str) -> list[str]:
    return list(run.statement("verify/columns.sql.j2", table=table).column_names)


def _summed(run: Run, table: tuple[str, ...], columns: list[str], placed: bool = False) -> tuple[int, str | None]:
    (row,) = run.statement("verify/content.sql.j2", table=table, columns=columns, placed=placed).to_pylist()
    return row["held"], row["content"]
