"""A store: a directory of immutable generations and a `CURRENT` pointer.

Readers open the current generation read-only and are never blocked; a killed load leaves what was there.
"""

import contextlib
import json
import os
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from closedset.catalog import FORMAT, Catalog
from closedset.entity_set import EntitySet
from closedset.errors import StoreDamaged, StoreRefused

if TYPE_CHECKING:
    import pyarrow as pa

    from closedset.brief import Model
    from closedset.diff import Diff
    from closedset.errors import RequestRefused
    from closedset.ledger import State
    from closedset.mapping import Map
    from closedset.pack import Pack
    from closedset.plan import Step
    from closedset.reply_compact import CompactReply
    from closedset.reply_full import FullReply

CURRENT = "CURRENT"
GENERATIONS = "generations"
CELLS = "cells"
#: DuckDB takes the one for the separator of folders, and what follows the other for options.
_UNNAMEABLE = ("\\", "?")
#: Bytes of a block of source cells: an eighth of DuckDB's own.
_CELLS_BLOCK = 32_768
_numbers = count()
_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}


class Generation:
    """One generation, open for reading: its catalog, and cursors onto its database.

    `database` names the attached database that holds it, where one connection holds several.
    """

    def __init__(self, con: duckdb.DuckDBPyConnection, catalog: Catalog, database: str | None = None) -> None:
        self._con = con
        self._database = database
        self._looked: dict[str, Looked] | None = None
        self.catalog = catalog

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """A cursor of its own for one request: an unfinished result would block a shared one."""
        cursor = self._con.cursor()
        if self._database is not None:
            cursor.execute(f"USE {self._database}").fetchall()
        return cursor

    def looked(self, relation: str) -> "Looked":
        """A relation's kept entity sets; read once, since a generation never changes."""
        if self._looked is None:
            rows = self.cursor().execute("SELECT relation, held, looked_at, withheld FROM bitmap").fetchall()
            universe = self.catalog.universe
            self._looked = {
                name: Looked.of(*(EntitySet.of_bytes(blob, universe) for blob in blobs)) for name, *blobs in rows
            }
        return self._looked[relation]

    def close(self) -> None:
        if self._database is not None:
            self._con.execute("USE memory").fetchall()
            self._con.execute(f"DETACH {self._database}").fetchall()
        self._con.close()


@dataclass(frozen=True)
class Looked:
    """One relation's entity sets: `held` a readable row, `withheld` an unreadable one, `covered` either of them
    or a coverage statement, `never` neither."""

    held: EntitySet
    withheld: EntitySet
    covered: EntitySet
    never: EntitySet

    @classmethod
    def of(cls, held: EntitySet, looked_at: EntitySet, withheld: EntitySet) -> "Looked":
        # Counted, since every constraint is combined with these.
        withheld, covered = withheld.counted(), (held | looked_at | withheld).counted()
        return cls(held, withheld, covered, (EntitySet.whole(held.universe) - covered).counted())

    @cached_property
    def recorded(self) -> EntitySet:
        """Who has a row, readable or withheld."""
        return (self.held | self.withheld).counted()

    @cached_property
    def unheld(self) -> EntitySet:
        """Who was looked at and has none."""
        return (self.covered - self.recorded).counted()


class Store:
    """An open store. Every call answers from one whole generation: the current one when the call begins."""

    def __init__(self, path: Path | None, generation: Generation | None = None, number: int | None = None) -> None:
        """`number` opens one generation that the store still holds, whatever the current one is."""
        if path is not None and number is not None:
            generation = _open_generation(path, number)
        self.path = path if number is None else None
        self._generation = generation
        self._number = generation.catalog.generation if generation else None
        self.generation()

    def generation(self) -> Generation:
        """The current generation, opened anew when a load has moved `CURRENT`."""
        if self.path is not None:
            while (number := current(self.path)) != self._number or self._generation is None:
                if number is None:
                    refuse_lost_pointer(self.path)
                    raise StoreRefused(
                        f"{self.path}: no store here; load one with: "
                        f"closedset load {shlex.quote(str(self.path))} --pack NAME PATH"
                    )
                # The former one is not closed: another thread may still read from it; it goes with its last cursor.
                try:
                    self._generation, self._number = _open_generation(self.path, number), number
                except StoreRefused:
                    # A load that ended between the two lines above has dropped the generation it replaced.
                    if current(self.path) == number:
                        raise
        assert self._generation is not None
        return self._generation

    @property
    def catalog(self) -> Catalog:
        return self.generation().catalog

    def search(self, request: object, model: "Model | None" = None) -> "FullReply | CompactReply":
        """Answer a request (a dict or a `Request`). Refuses (RequestRefused) what never made sense;
        gaps are in the reply. `model` compiles a brief; without one the environment's does."""
        from closedset import search

        return search.search(self.generation(), request, model)

    def batch(
        self, requests: "Iterable[object]", model: "Model | None" = None
    ) -> "Iterator[FullReply | CompactReply | RequestRefused]":
        """Answer many requests over one generation, in order, each as `search` would, sharing what they have in common
        (256 MiB of it at most). A request that is refused gives its refusal, and the next one is answered.
        """
        from closedset import batch

        return batch.batch(self.generation(), requests, model)

    def partition(self, request: object, model: "Model | None" = None) -> "pa.Table":
        """The whole partition of a request's universe: one row an entity (`entity_id`, `verdict`), in id order."""
        from closedset import search

        return search.the_partition(self.generation(), request, model)

    def explain(self, request: object, model: "Model | None" = None) -> "list[Step]":
        """Run the request and give its steps: a sentence, a grain and the SQL of each, as run."""
        from closedset import search

        return search.explain(self.generation(), request, model)

    def diff(self, request: object, former: int | None = None, latter: int | None = None) -> "Diff":
        """Compare two generations by a request: who entered and who left each set, and why.

        By default the last former one with the current one. Refuses (StoreRefused) a generation that is not held,
        (RequestRefused) what never made sense.
        """
        from closedset import diff

        with self.held(former, latter) as (was, now):
            return diff.compare(was, now, request)

    @contextlib.contextmanager
    def held(self, former: int | None = None, latter: int | None = None) -> "Iterator[tuple[Generation, Generation]]":
        """Two generations, open side by side: by default the last former one and the current one.

        Refuses (StoreRefused) what is not held, with what is.
        """
        if self.path is None:
            raise StoreRefused("one generation alone is open here: open the store by its path to compare two")
        now = current(self.path)
        assert now is not None
        known = [n for n in numbers(self.path) if n <= now]
        latter = now if latter is None else latter
        if former is None:
            former = max((n for n in known if n < latter), default=0)
        for number in (former, latter):
            if number not in known:
                raise StoreRefused(
                    f"{self.path}: generation {number or 'before ' + str(latter)} is not held; there are: "
                    f"{', '.join(map(str, known))}; load --keep N keeps N former ones from then on"
                )
        with contextlib.ExitStack() as stack:
            both = [stack.enter_context(Store(self.path, number=number)) for number in (former, latter)]
            yield both[0].generation(), both[1].generation()

    def close(self) -> None:
        if self._generation is not None:
            self._generation.close()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_store(path: str | Path) -> Store:
    """Open a store's directory for reading. Refuses (StoreRefused) a path that holds none."""
    return Store(Path(path))


def in_memory(pack: "Pack", mapping: "Map", tables: "dict[str, pa.Table]", state: "State | None" = None) -> Store:
    """A store over Arrow tables (by the map's table names; all cells as text), kept in memory only; `state` is what
    a ledger has in force."""
    from closedset.ledger import State
    from closedset.load import memory

    number = next(_numbers)
    database = f"closedset_{number}"
    con = _in_memory().cursor()
    con.execute(f"ATTACH ':memory:' AS {database}").fetchall()
    con.execute(f"USE {database}").fetchall()
    return Store(None, Generation(con, memory(con, pack, mapping, tables, state or State()), database))


@lru_cache
def _in_memory() -> duckdb.DuckDBPyConnection:
    """The one instance all in-memory stores of a process share: starting one costs more than a small store."""
    con = connect(None, read_only=False)
    # Small stores: handing a statement to more threads takes longer than the statement.
    con.execute("SET threads = 1").fetchall()
    return con


def generation_file(path: Path, number: int) -> Path:
    """Where a store keeps a generation."""
    return path / GENERATIONS / f"{number}.duckdb"


def cells_file(path: Path, name: str) -> Path:
    """Where a store keeps the cells of one load of one source."""
    return path / CELLS / f"{name}.duckdb"


def cells_database(source: str) -> str:
    """The name under which a source's kept cells are attached."""
    return f"cells_{source}"


def attach(con: duckdb.DuckDBPyConnection, file: Path, database: str, read_only: bool = True) -> None:
    """Attach a database file to a connection. Connections of one process onto one generation share what is attached.

    One that is to be written is of source cells: it has small blocks, since each cell that is read costs a whole one.
    """
    name = str(file).replace("'", "''")
    if read_only:
        con.execute(f"ATTACH IF NOT EXISTS '{name}' AS \"{database}\" (READ_ONLY)").fetchall()
    else:
        con.execute(f"ATTACH '{name}' AS \"{database}\" (BLOCK_SIZE {_CELLS_BLOCK})").fetchall()


def numbers(path: Path) -> list[int]:
    """The generations whose files a store holds, oldest first: the current one, former ones that are kept, and what
    a load that was killed has left above the current one."""
    return sorted(int(f.stem) for f in (path / GENERATIONS).glob("*.duckdb") if f.stem.isdigit())


def current(path: Path) -> int | None:
    """The number `CURRENT` holds, or None where there is no store."""
    try:
        return int((path / CURRENT).read_text(encoding="ascii"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except ValueError:
        raise StoreDamaged(f"{path / CURRENT}: holds no generation number; {_way_back(path)}") from None


def refuse_lost_pointer(path: Path, source: str | None = None) -> None:
    """Refuse (StoreRefused) a store whose `CURRENT` is missing though a generation of it was finished.

    `source` is one that is to be loaded: its first load, killed before it was published, may be begun again.
    """
    held = numbers(path)
    records = {number: record for number in held if (record := _record(path, number)) is not None}
    if not records and held in ([], [1]):
        return
    if held == [1] and records[1].get("sources") == [source] and not any(path.glob("ledger*")):
        return
    raise StoreDamaged(f"{path / CURRENT}: is missing; {_way_back(path)}")


def _record(path: Path, number: int) -> dict[str, Any] | None:
    """The catalog of a generation as it is written, whatever else of the generation is damaged; None where it cannot
    be read."""
    try:
        with connect(generation_file(path, number), read_only=True) as con:
            ((record,),) = con.execute("SELECT record FROM catalog").fetchall()
    except (duckdb.Error, ValueError):
        return None
    said: dict[str, Any] = json.loads(record)
    return said


def _way_back(path: Path, damaged: int | None = None) -> str:
    """How to make the newest generation that is whole the current one: the command that does it."""
    for number in reversed(numbers(path)):
        if number != damaged:
            with contextlib.suppress(StoreRefused):
                _opened(path, number).close()
                return (
                    f"generation {number} is whole; to make it the current one: "
                    f"echo {number} > {shlex.quote(str(path / CURRENT))}"
                )
    return "no other generation of this store is whole: put back a copy of it, or load the exports into a new store"


def connect(file: Path | None, read_only: bool) -> duckdb.DuckDBPyConnection:
    """A DuckDB connection as closedset uses it: no extension is fetched, time zones never apply.

    Refuses (StoreRefused) a file below a folder of a name that DuckDB takes for another.
    """
    if file is not None:
        refuse_name(file.parent)
    con = duckdb.connect(str(file) if file else ":memory:", read_only=read_only, config=_CONFIG)
    con.execute("SET TimeZone = 'UTC'").fetchall()
    return con


def refuse_name(path: Path) -> None:
    """Refuse (StoreRefused) a folder in which DuckDB would look for its files elsewhere, or not at all."""
    held = next((sign for sign in _UNNAMEABLE if sign in path.absolute().as_posix()), None)
    if held is not None:
        raise StoreRefused(
            f"{path}: DuckDB can keep no file below a folder whose name holds a '{held}'; name another one"
        )


def _open_generation(path: Path, number: int) -> Generation:
    try:
        return _opened(path, number)
    except StoreDamaged as damaged:
        raise StoreDamaged(f"{damaged}; {_way_back(path, number)}") from None


def _opened(path: Path, number: int) -> Generation:
    file = generation_file(path, number)
    if not file.is_file():
        raise StoreDamaged(f"{file}: is missing")
    try:
        con = connect(file, read_only=True)
        ((record,),) = con.execute("SELECT record FROM catalog").fetchall()
        if json.loads(record).get("format") != FORMAT:
            con.close()
            raise StoreRefused(f"{file}: written by another version of closedset; load the exports into a new store")
        catalog = Catalog.model_validate_json(record)
        # Statements join rows with what tells which are wanted, in that order. By its own estimate DuckDB takes some of
        # them the other way round, and then reads every row.
        con.execute("SET disabled_optimizers = 'join_order'").fetchall()
        # Attached now and not when a receipt needs them: an open reader keeps its files, whatever is dropped later.
        for database, name in catalog.kept.items():
            file = cells_file(path, name)
            if not file.is_file():
                raise StoreDamaged(f"{file}: is missing: generation {number} keeps the cells of its export there")
            attach(con, file, database)
    except (duckdb.Error, ValueError) as error:
        raise StoreDamaged(f"{file}: cannot be opened: {(str(error).splitlines() or ['no message'])[0]}") from None
    return Generation(con, catalog)


def publish(path: Path, number: int, cells: Sequence[Path]) -> None:
    """Make a finished generation the current one, durably: its bytes and those of its new cells, then the pointer,
    then the directory."""
    for file in (*cells, generation_file(path, number)):
        _fsync(file)
    _fsync(path / CELLS)
    _fsync(path / GENERATIONS)
    pointer = path / f"{CURRENT}.next"
    pointer.write_text(f"{number}\n", encoding="ascii")
    _fsync(pointer)
    pointer.replace(path / CURRENT)
    _fsync(path)


def _fsync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
