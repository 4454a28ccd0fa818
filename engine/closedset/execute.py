"""Running statements on cursors of one generation, and keeping what ran for `explain`.

The only stage of a search that touches DuckDB: text in, Arrow out, each result of a cursor drained before its next.
"""

import contextlib
import hashlib
import os
import re
import threading
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from dataclasses import dataclass, field
from typing import Any, TypeVar

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
#: The ordinals of more members are dearer to hash than the words of their bitmap.
_MANY = 100_000
#: Over a store of fewer rows a statement takes no longer than handing it to another thread.
_WORTH_A_THREAD = 100_000
#: Statements at the same time, each of which DuckDB spreads over all cores itself.
_AT_ONCE = 4
#: Seconds between one interrupt of what must end and the next.
_A_MOMENT = 0.02
_BOUND = re.compile(r"\$([a-z][a-z0-9_]*)")
_T = TypeVar("_T")


@dataclass(eq=False)
class _Lent:
    """What statements may read beside the store: a set or a table lent to them, or a table that `write` makes of the
    store's rows. `size` is its members, where they are known; `key` tells it from others of its name.
    """

    size: int | None
    key: Hashable
    table: Callable[[], pa.Table] | None = None
    write: Step | None = None


@dataclass
class _Cursor:
    """A cursor, once a statement has needed it, and what was lent to it: one statement at a time."""

    con: duckdb.DuckDBPyConnection | None = None
    holds: dict[str, _Lent] = field(default_factory=dict)
    turn: threading.RLock = field(default_factory=threading.RLock)


class Run:
    """One request's statements over one generation, in order. `steps` records each as it ran; with a `memo`, a
    statement that another request's run has answered does not run again (and is no step)."""

    def __init__(self, generation: Generation, memo: Memo | None = None) -> None:
        self.catalog: Catalog = generation.catalog
        #: Per relation, the groups whose judged rows are kept beside the store.
        self.kept: dict[str, frozenset[int]] = {}
        self._generation = generation
        self._memo = memo
        self._ran: list[Step | Run] = []
        self._cursor = self._first = _Cursor()
        self._lent: dict[str, _Lent] = {}
        self._pool: ThreadPoolExecutor | None = None
        self._begun: list[Future[Any]] = []

    @property
    def universe(self) -> int:
        return self.catalog.universe

    @property
    def steps(self) -> list[Step]:
        """Every statement that ran, in order: of those that ran at the same time, in the order in which they began."""
        return [step for one in self._ran for step in (one.steps if isinstance(one, Run) else [one])]

    @contextlib.contextmanager
    def at_once(self) -> "Iterator[None]":
        """Inside, what `soon` is given runs at the same time as what follows, where the store is large enough for that
        to be worth it and no other request shares the cores. Where it fails, whatever is under way is ended."""
        if self._memo is not None or sum(r.rows for r in self.catalog.relations.values()) < _WORTH_A_THREAD:
            yield
            return
        pool = self._pool = ThreadPoolExecutor(min(os.cpu_count() or 1, _AT_ONCE))
        try:
            yield
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            # A task may be between two statements: the next one is ended, too.
            while wait([one for one in self._begun if not one.cancelled()], _A_MOMENT).not_done:
                self._interrupt()
            raise
        finally:
            pool.shutdown()
            self._pool, self._begun = None, []

    def soon(self, task: "Callable[[Run], _T]") -> Callable[[], _T]:
        """Begin a task whose statements depend on nothing that was begun and not yet asked for; call what is given back
        for what it found. The task takes a run of its own: what it lends is lent to none but its own statements."""
        if self._pool is None:
            found = task(self)
            return lambda: found
        own = Run(self._generation)
        own.kept, own._lent, own._first = dict(self.kept), dict(self._lent), self._first
        self._ran.append(own)
        begun = self._pool.submit(copy_context().run, task, own)
        self._begun.append(begun)
        return begun.result

    def _interrupt(self) -> None:
        # A task reads kept rows on the first cursor.
        for cursor in (self._first, *(one._cursor for one in self._ran if isinstance(one, Run))):
            if cursor.con is not None:
                cursor.con.interrupt()

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

    def rows(
        self, template: str, values: dict[str, Any] | None = None, *, sentence: str = "", **parameters: Any
    ) -> list[dict[str, Any]]:
        """The same as a few rows of Python values; a bitmap is given as the buffer that it stands in, not copied."""
        table = self.statement(template, values, sentence=sentence, **parameters)
        columns = {
            name: [one.as_buffer() if one.is_valid else None for one in column]
            if pa.types.is_binary(column.type)
            else column.to_pylist()
            for name, column in zip(table.column_names, table.columns, strict=True)
        }
        return [{name: column[place] for name, column in columns.items()} for place in range(table.num_rows)]

    def keep(self, name: str, template: str, values: dict[str, Any], *, sentence: str = "", **parameters: Any) -> None:
        """Lend the statements that follow a table that a statement writes, when the first of them needs it."""
        step = self._step(template, values, sentence, parameters)
        self._lent[name] = _Lent(None, (step.sql, _key(step.parameters)), write=step)

    def give(self, name: str, members: EntitySet) -> None:
        """Lend a set to the statements that follow, as a table of its ordinals."""
        key = self._told_apart(members.to_bytes)
        self._lent[name] = _Lent(len(members), key, table=lambda: pa.table({"ordinal": members.column()}))

    def give_few_rows(self, name: str, members: EntitySet) -> bool:
        """Lend a set to statements that look few rows up in it: as ordinals, or, of very many members, which are dear
        to hash, as words of its bitmap (`word`, its place, and `bits`). Whether it is lent as words."""
        if len(members) <= _MANY:
            self.give(name, members)
            return False
        self._lent[name] = _Lent(len(members), self._told_apart(members.to_bytes), table=members.words)
        return True

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
        # A table that a statement wrote stands on one cursor alone.
        cursor = self._first if any(one.write for _, one in lent) else self._cursor
        with cursor.turn:
            for name, one in lent:
                if cursor.holds.get(name) is not one:
                    self._lend(cursor, name, one)
            step.sets = {name: one.size for name, one in lent if one.size is not None}
            return self._on(cursor, step)

    def _lend(self, cursor: _Cursor, name: str, one: _Lent) -> None:
        if one.write is not None:
            self._on(cursor, one.write)
        elif one.table is not None:
            self._connected(cursor).register(name, one.table())
        cursor.holds[name] = one

    def _connected(self, cursor: _Cursor) -> duckdb.DuckDBPyConnection:
        if cursor.con is None:
            cursor.con = self._generation.cursor()
            progress.watch(cursor.con)
        return cursor.con

    def _on(self, cursor: _Cursor, step: Step) -> pa.Table:
        try:
            found = self._connected(cursor).sql(step.sql, params=step.parameters or None)
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
        self._ran.append(step)
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
