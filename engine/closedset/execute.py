"""Running statements on one cursor of one generation, and keeping what ran for `explain`.

The only stage of a search that touches DuckDB: text in, Arrow out, each result drained before the next.
"""

import re
from typing import Any

import duckdb
import pyarrow as pa

from closedset import progress
from closedset.catalog import Catalog
from closedset.entity_set import EntitySet
from closedset.errors import Broken
from closedset.plan import Step
from closedset.render import header, render
from closedset.store import Generation, Looked

_BOUND = re.compile(r"\$([a-z][a-z0-9_]*)")


class Run:
    """One request's statements over one generation, in order. `steps` records each as it ran."""

    def __init__(self, generation: Generation) -> None:
        self.catalog: Catalog = generation.catalog
        self.steps: list[Step] = []
        self._generation = generation
        self._cursor = generation.cursor()
        progress.watch(self._cursor)
        self._sets: dict[str, int] = {}
        #: Per relation, the groups whose judged rows a statement has kept.
        self.kept: dict[str, frozenset[int]] = {}

    @property
    def universe(self) -> int:
        return self.catalog.universe

    def statement(
        self, template: str, values: dict[str, Any] | None = None, *, sentence: str = "", **parameters: Any
    ) -> pa.Table:
        """Render a template, run it with bound values, and give all of its rows."""
        sql = render(template, **parameters)
        contract = header(template)
        named = set(_BOUND.findall(sql))
        values = {name: value for name, value in (values or {}).items() if name in named}
        step = Step(
            name=template.removesuffix(".sql.j2"),
            sentence=sentence or contract["does"],
            grain=contract["grain"],
            # The sentence repeats what was asked; on one line, no line end in it can leave the comment.
            sql=sql if not sentence else f"-- {' '.join(sentence.split())}\n{sql}",
            parameters=values,
            sets={name: size for name, size in self._sets.items() if f"{name}" in sql},
        )
        try:
            found = self._cursor.sql(sql, params=values or None)
            # A statement that only writes gives no rows.
            table = pa.table({}) if found is None else found.to_arrow_table()
        except duckdb.InterruptException:
            raise KeyboardInterrupt from None
        except duckdb.Error as error:
            raise Broken(f"{template}: {error}") from error
        step.rows = table.num_rows
        self.steps.append(step)
        return table

    def give(self, name: str, members: EntitySet, **columns: pa.Array) -> None:
        """Lend a set to the statements that follow, as a table of its ordinals (and columns beside them)."""
        self.give_table(name, pa.table({"ordinal": members.column(), **columns}))

    def give_table(self, name: str, table: pa.Table) -> None:
        self._cursor.register(name, table)
        self._sets[name] = table.num_rows

    def looked(self, relation: str) -> Looked:
        """Who holds a row of the relation, whose row was withheld, and who is covered."""
        return self._generation.looked(relation)

    def surface_code(self, axis: str, folded: str) -> int | None:
        """The code of a surface that is on no term, if the store holds it."""
        rows = self.statement("search/surface.sql.j2", {"axis": axis, "folded": folded}).to_pylist()
        return int(rows[0]["code"]) if rows else None
