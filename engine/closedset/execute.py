"""Running statements on one cursor of one generation, and keeping what ran for `explain`.

The only stage of a search that touches DuckDB: text in, Arrow out, each result drained before the next.
"""

import hashlib
import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import pyarrow as pa

from closedset import progress
from closedset.catalog import Catalog
from closedset.entity_set import EntitySet
from closedset.errors import Broken, StoreDamaged
from closedset.memo import Memo
from closedset.plan import Step
from closedset.render import header, render
from closedset.store import Generation, Looked

#: How DuckDB says that a file holds something else than was written.
_SPOILT = ("Corrupt", "checksum", "Could not read", "serializ")
#: The ordinals of more members are dear to hash.
_MANY = 100_000
_BOUND = re.compile(r"\$([a-z][a-z0-9_]*)")


@dataclass
class _Lent:
    """What statements may read beside the store: a set or a table lent to them, a set lent as `bits`, or a table that
    `write` makes of the store's rows. `size` is its rows, where they are known; `key` tells it from others of its name.
    """

    size: int | None
    key: Hashable
    table: Callable[[], pa.Table] | None = None
    bits: bytes | None = None
    write: Step | None = None


class Run:
    """One request's statements over one generation, in order. `steps` records each as it ran; with a `memo`, a
    statement that another request's run has answered does not run again (and is no step)."""

    def __init__(self, generation: Generation, memo: Memo | None = None) -> None:
        self.catalog: Catalog = generation.catalog
        self.steps: list[Step] = []
        #: Per relation, the groups whose judged rows are kept beside the store.
        self.kept: dict[str, frozenset[int]] = {}
        self._generation = generation
        self._memo = memo
        self._con: duckdb.DuckDBPyConnection | None = None
        self._lent: dict[str, _Lent] = {}

    @property
    def universe(self) -> int:
        return self.catalog.universe

    def statement(
        self, template: str, values: dict[str, Any] | None = None, *, sentence: str = "", **parameters: Any
    ) -> pa.Table:
        """Render a template, run it with bound values, and give all of its rows."""
        step = self._step(template, values, sentence, parameters)
        lent = [(name, one) for name, one in self._lent.items() if name in step.sql]
        if self._memo is None:
            return self._run(step, lent)
        key = (step.sql, _key(step.parameters), tuple((name, one.key) for name, one in lent))
        return self._memo.answer(key, lambda: self._run(step, lent))

    def keep(self, name: str, template: str, values: dict[str, Any], *, sentence: str = "", **parameters: Any) -> None:
        """Lend the statements that follow a table that a statement writes, when the first of them needs it."""
        step = self._step(template, values, sentence, parameters)
        self._lent[name] = _Lent(None, (step.sql, _key(step.parameters)), write=step)

    def give(self, name: str, members: EntitySet) -> None:
        """Lend a set to the statements that follow, as a table of its ordinals."""
        key = self._told_apart(members.to_bytes)
        self._lent[name] = _Lent(len(members), key, table=lambda: pa.table({"ordinal": members.column()}))

    def give_few_rows(self, name: str, members: EntitySet) -> str:
        """Lend a set to statements that look few rows up in it, and give the condition that does: of very many members
        the bitmap itself, since to hash them takes longer than to copy it for every 2,048 rows."""
        if len(members) <= _MANY:
            self.give(name, members)
            return f"_entity IN (SELECT ordinal FROM {name})"
        bits = members.to_bytes()
        self._lent[name] = _Lent(len(members), self._told_apart(lambda: bits), bits=bits)
        return f"get_bit(${name}::BLOB::BIT, _entity) = 1"

    def give_table(self, name: str, table: pa.Table) -> None:
        """Lend a small table to the statements that follow."""
        key = self._told_apart(lambda: repr(table.to_pydict()).encode())
        self._lent[name] = _Lent(table.num_rows, key, table=lambda: table)

    def _told_apart(self, content: Callable[[], bytes]) -> Hashable:
        """What tells a lent set or table from others of its name; nothing asks without a memo."""
        return hashlib.blake2b(content()).digest() if self._memo is not None else None

    def _step(self, template: str, values: dict[str, Any] | None, sentence: str, parameters: dict[str, Any]) -> Step:
        sql = render(template, **parameters)
        contract = header(template)
        named = set(_BOUND.findall(sql))
        return Step(
            name=template.removesuffix(".sql.j2"),
            sentence=sentence or contract["does"],
            grain=contract["grain"],
            # The sentence repeats what was asked; on one line, no line end in it can leave the comment.
            sql=sql if not sentence else f"-- {' '.join(sentence.split())}\n{sql}",
            parameters={name: value for name, value in (values or {}).items() if name in named},
        )

    def _run(self, step: Step, lent: "Sequence[tuple[str, _Lent]]") -> pa.Table:
        if self._con is None:
            self._con = self._generation.cursor()
            progress.watch(self._con)
        for name, one in lent:
            if one.write is not None:
                self._run(one.write, ())
            elif one.table is not None:
                self._con.register(name, one.table())
            one.write = one.table = None
        values = step.parameters | {name: one.bits for name, one in lent if one.bits is not None}
        step.sets = {name: one.size for name, one in lent if one.size is not None}
        try:
            found = self._con.sql(step.sql, params=values or None)
            # A statement that only writes gives no rows.
            table = pa.table({}) if found is None else found.to_arrow_table()
        except duckdb.InterruptException:
            raise KeyboardInterrupt from None
        except duckdb.Error as error:
            if any(sign in str(error) for sign in _SPOILT):
                said = str(error).splitlines()[0]
                raise StoreDamaged(f"a file of the store is spoilt: {said}; see: closedset verify STORE") from error
            raise Broken(f"{step.name}.sql.j2: {error}") from error
        step.rows = table.num_rows
        self.steps.append(step)
        return table

    def looked(self, relation: str) -> Looked:
        """Who holds a row of the relation, whose row was withheld, and who is covered."""
        return self._generation.looked(relation)

    def surface_code(self, axis: str, folded: str) -> int | None:
        """The code of a surface that is on no term, if the store holds it."""
        rows = self.statement("search/surface.sql.j2", {"axis": axis, "folded": folded}).to_pylist()
        return int(rows[0]["code"]) if rows else None


def _key(values: dict[str, Any]) -> Hashable:
    return repr(sorted(values.items()))
