"""Writing the next generation beside the current one, and making it the current one in one step."""

import contextlib
import errno
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import duckdb

from closedset import progress, store
from closedset.catalog import Catalog
from closedset.errors import LoadRefused, StoreRefused
from closedset.load import lock
from closedset.render import quoted

#: So much memory a load may hold before it spills beside the generation it writes.
_MEMORY = "2GiB"
_FULL = os.strerror(errno.ENOSPC)


@dataclass
class Draft:
    """A generation being written: `con` onto its file, `kept` the attached databases of source cells by their file."""

    con: duckdb.DuckDBPyConnection
    path: Path
    number: int
    before: Catalog | None
    kept: dict[str, str] = field(default_factory=dict)

    def carry(self, sources: set[str]) -> None:
        """Attach the cells that the former generation reads of some sources: they are kept once, and shared."""
        assert self.before is not None
        wanted = {t.cells[0] for t in self.before.tables if t.source in sources}
        for database, file in self.before.kept.items():
            if database in wanted:
                store.attach(self.con, store.cells_file(self.path, file), database)
                self.kept[database] = file

    def keep(self, source: str) -> str:
        """Begin a file for the cells of one source, and give the name of its database."""
        database, name = store.cells_database(source), f"{self.number}_{source}"
        twin = next((d for d in self.kept if d.lower() == database.lower()), None)
        if twin is not None:
            raise LoadRefused(f"source {source}: the store holds one whose name differs only by case; use one name")
        file = store.cells_file(self.path, name)
        clear(file)
        store.attach(self.con, file, database, read_only=False)
        self.kept[database] = name
        # Cells are read a row here and there: packed, each costs the unpacking of all its neighbours.
        self.con.execute("SET force_compression = 'uncompressed'").fetchall()
        return database

    def kept_all(self, database: str) -> None:
        """Make the cells of one source durable; nothing is added to them any more."""
        self.con.execute(f"CHECKPOINT {quoted(database)}").fetchall()
        self.con.execute("SET force_compression = 'auto'").fetchall()

    def publish(self, catalog: Catalog) -> None:
        """Write the catalog, make everything durable, move `CURRENT`, and drop what nobody needs any more."""
        progress.step("writing it down")
        self.con.execute("CREATE TABLE catalog (record VARCHAR)").fetchall()
        self.con.execute("INSERT INTO catalog VALUES (?)", [catalog.model_dump_json(by_alias=True)]).fetchall()
        self.con.execute("CHECKPOINT").fetchall()
        self.con.close()
        written = f"{self.number}_"
        fresh = [store.cells_file(self.path, n) for n in self.kept.values() if n.startswith(written)]
        progress.settle()
        store.publish(self.path, self.number, fresh)
        forget(self.path, catalog.keep)


@contextlib.contextmanager
def begun(path: Path, before: Catalog | None) -> Iterator[Draft]:
    """The next generation of a store, to be written and published; on any fault nothing of it stays."""
    number = (before.generation if before else 0) + 1
    file = store.generation_file(path, number)
    clear(file)

    def undo() -> None:
        if store.current(path) != number:
            clear(file)
            for left in (path / store.CELLS).glob(f"{number}_*"):
                clear(left)

    try:
        with contextlib.closing(store.connect(file, read_only=False)) as con:
            progress.watch(con, undo)
            con.execute(f"SET memory_limit = '{_MEMORY}'").fetchall()
            yield Draft(con, path, number, before)
    except BaseException as error:
        undo()
        if isinstance(error, Exception) and _FULL in str(error):
            raise StoreRefused(
                f"{path}: its disk is full ({str(error).splitlines()[0]}); the store holds what it held: make room, "
                "and do it again"
            ) from None
        raise


def clear(file: Path) -> None:
    """Remove a database's file and what DuckDB writes beside it."""
    for leftover in file.parent.glob(f"{file.name}*"):
        if leftover.is_dir():
            shutil.rmtree(leftover, ignore_errors=True)
        else:
            leftover.unlink(missing_ok=True)


@dataclass(frozen=True)
class Dropped:
    """A file that was removed with what lay beside it: `what` is a generation, cells, or a leftover of a killed load;
    `file` is relative to the store, `bytes` what it took on disk."""

    what: Literal["generation", "cells", "leftover"]
    file: str
    bytes: int


def collect(path: str | Path, keep: int | None = None) -> list[Dropped]:
    """Drop what killed loads have left, all but `keep` former generations (None: as many as the store keeps), and the
    cells that none reads any more. Readers that have one open are unharmed.

    Refuses (StoreRefused) a path that holds no store, one whose `CURRENT` is lost, and while a load runs.
    """
    target = Path(path)
    if not (target / store.GENERATIONS).is_dir():
        store.Store(target).close()
    with lock.loading(target):
        number = store.current(target)
        if number is None:
            store.refuse_lost_pointer(target)
        gone = _leftovers(target, number or 0)
        if number is not None:
            if keep is None:
                with store.Store(target) as held:
                    keep = held.catalog.keep
            gone += forget(target, keep)
    return gone


def _leftovers(path: Path, current: int) -> list[Dropped]:
    """Drop what is numbered above `CURRENT`: no pointer names it, and under the load lock nobody is writing it."""
    named = {
        folder / f"{file.name.split('.duckdb')[0]}.duckdb"
        for folder in (path / store.GENERATIONS, path / store.CELLS)
        for file in folder.iterdir()
    }
    above = [f for f in sorted(named) if _number(f) > current]
    pointer = path / f"{store.CURRENT}.next"
    return [_drop(path, "leftover", f) for f in (*above, *([pointer] if pointer.exists() else []))]


def _number(file: Path) -> int:
    """The generation that a file was written for."""
    digits = file.stem.split("_", 1)[0]
    return int(digits) if digits.isdigit() else 0


def _drop(path: Path, what: Literal["generation", "cells", "leftover"], file: Path) -> Dropped:
    size = sum(f.stat().st_size for f in file.parent.glob(f"{file.name}*") if f.is_file())
    clear(file)
    return Dropped(what, str(file.relative_to(path)), size)


def forget(path: Path, keep: int) -> list[Dropped]:
    """Drop all but `keep` former generations, and the cells that none reads any more; give what was dropped.

    A reader that has one open keeps its files until it closes.
    """
    current = store.current(path)
    assert current is not None
    former = [n for n in store.numbers(path) if n < current]
    dropped = former[: max(0, len(former) - keep)]
    gone = [_drop(path, "generation", store.generation_file(path, n)) for n in dropped]
    read: set[str] = set()
    for number in (*former[len(dropped) :], current):
        with store.Store(path, number=number) as held:
            read.update(held.catalog.kept.values())
    cells = sorted((path / store.CELLS).glob("*.duckdb"))
    unread = [f for f in cells if f.stem not in read and _number(f) <= current]
    return [*gone, *(_drop(path, "cells", f) for f in unread)]
