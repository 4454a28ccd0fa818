"""The ledger: what people add to a store between loads, as events that are appended and never changed.

A correction retires a row, a merge says that one id is another, an operator's coverage says that somebody looked,
a placement puts a spelling on a term; an undo takes one of them back. Each says who, when and why. What is in
force (`State`) is part of what a generation is derived from, so an undo gives back exactly what was before.
"""

import contextlib
import hashlib
import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from closedset.errors import StoreRefused

if TYPE_CHECKING:
    import pyarrow as pa

FILE = "ledger.sqlite"
VERSION = 1
_BLOCK = 50_000
_TABLES = f"""
CREATE TABLE event (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at TEXT NOT NULL,
    by TEXT NOT NULL,
    reason TEXT NOT NULL,
    kind TEXT NOT NULL,
    fact TEXT NOT NULL
);
CREATE TABLE listed (event INTEGER NOT NULL REFERENCES event, entity_id TEXT NOT NULL);
CREATE INDEX listed_by_event ON listed (event);
CREATE TRIGGER event_stays BEFORE UPDATE ON event BEGIN SELECT raise(ABORT, 'the ledger is only appended to'); END;
CREATE TRIGGER event_is_kept BEFORE DELETE ON event BEGIN SELECT raise(ABORT, 'the ledger is only appended to'); END;
PRAGMA user_version = {VERSION};
"""


@dataclass(frozen=True)
class Correction:
    """A row is retired. It is known by what its source states, not by its place: every row of `table` about
    `entity_id` whose `columns` hold cells of this `digest` is meant, however a later load orders them. `reads` is what
    the map entry that made it reads (none: every entry's row is meant)."""

    source: str
    relation: str
    table: str
    entity_id: str
    columns: tuple[str, ...]
    digest: str
    reads: tuple[str, ...] = ()


@dataclass(frozen=True)
class Merge:
    """`entity_id` is `into`: one entity, counted once, under the second id."""

    entity_id: str
    into: str


@dataclass(frozen=True)
class Looked:
    """Somebody looked at some entities for a relation. Their ids stand beside the event (`digest` over them);
    `every` says that they were all of the universe at that time."""

    relation: str
    entities: int
    digest: str
    every: bool = False


@dataclass(frozen=True)
class Placement:
    """A spelling is one more synonym of a term."""

    axis: str
    surface: str
    term: str


@dataclass(frozen=True)
class Undo:
    """An earlier event no longer holds."""

    event: int


Fact = Correction | Merge | Looked | Placement
KINDS: dict[str, type[Fact]] = {"correction": Correction, "merge": Merge, "coverage": Looked, "placement": Placement}
_NAMES: dict[type, str] = {**{kind: name for name, kind in KINDS.items()}, Undo: "undo"}
F = TypeVar("F", bound=Correction | Merge | Looked | Placement | Undo, covariant=True)


@dataclass(frozen=True)
class Event(Generic[F]):
    """One entry of the ledger: `id` counts up from 1, `at` is UTC."""

    id: int
    at: str
    by: str
    reason: str
    fact: F

    @property
    def kind(self) -> str:
        return _NAMES[type(self.fact)]


G = TypeVar("G", Correction, Merge, Looked, Placement)


@dataclass(frozen=True)
class State:
    """What is in force, oldest first. `last` is the last event that was read, an undo included; `undone` are the
    events that no longer hold; `listed` gives the ids of each coverage event in force."""

    events: tuple[Event[Fact], ...] = ()
    undone: tuple[Event[Fact], ...] = ()
    last: int = 0
    listed: "Mapping[int, pa.ChunkedArray]" = field(default_factory=dict, compare=False)

    def of(self, kind: type[G]) -> list[Event[G]]:
        """The events of one kind that are in force."""
        return [Event(e.id, e.at, e.by, e.reason, e.fact) for e in self.events if isinstance(e.fact, kind)]

    def holding(self, fact: Fact) -> Event[Fact] | None:
        """The event in force that says just this."""
        return next((e for e in self.events if e.fact == fact), None)


def chain(into: Mapping[str, str], entity_id: str) -> list[str]:
    """An id and those it is merged into, one after the other; ends before an id that stands in it already."""
    found = [entity_id]
    while found[-1] in into and into[found[-1]] not in found:
        found.append(into[found[-1]])
    return found


def digest(columns: Sequence[str], cells: Mapping[str, str | None]) -> str:
    """A hash over the named columns' cells as written, whatever the order of the columns. An empty cell, no cell and no
    such column are the same: which of them it is hangs on the kind of file."""
    said = json.dumps([[name, cells.get(name) or ""] for name in sorted(columns)], ensure_ascii=False)
    return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()


def digest_of_ids(ids: Iterable[str]) -> str:
    """A hash over ids, given in order and each once."""
    whole = hashlib.sha256()
    for one in ids:
        whole.update(f"{len(one)}:{one}".encode("utf-8", "surrogatepass"))
    return whole.hexdigest()


def read(path: Path) -> State:
    """What the ledger of the store at `path` says; nothing, where the store has none."""
    with _reading(path) as con:
        if con is None:
            return State()
        return _state(con)


def lost(path: Path, last: int, applied: int) -> str | None:
    """What to say of a ledger that ends at event `last` though the store has applied more: what people said would be
    gone unseen. None where it has them all."""
    if last >= applied:
        return None
    file = path / FILE
    fault = f"ends at event {last}" if file.is_file() else "is missing"
    return (
        f"{file}: {fault}, and the store has applied {applied} of its events; put back the ledger that belongs to this "
        "store, or load the exports into a new store"
    )


def refuse_lost(path: Path, last: int, applied: int) -> None:
    """Refuse (StoreRefused) a ledger that lacks events which the store has applied."""
    said = lost(path, last, applied)
    if said is not None:
        raise StoreRefused(said)


def history(path: Path) -> list[Event[Any]]:
    """Every event of the ledger in order, the undone ones and the undos included."""
    with _reading(path) as con:
        return [] if con is None else _events(con)


def append(
    path: Path, fact: Fact | Undo, *, by: str, reason: str, ids: Iterable[str] = (), at: str | None = None
) -> Event[Any]:
    """Add one event, durably, making the ledger on first use. The caller holds the store's load lock; `ids` are
    the entities of a coverage event."""
    file = path / FILE
    at = at or datetime.now(UTC).isoformat(timespec="seconds")
    with _refusing(file), contextlib.closing(sqlite3.connect(file, isolation_level=None)) as con:
        con.execute("PRAGMA journal_mode = WAL")
        con.execute("PRAGMA synchronous = FULL")
        con.execute("BEGIN IMMEDIATE")
        if not con.execute("PRAGMA user_version").fetchone()[0]:
            for statement in _statements(_TABLES):
                con.execute(statement)
        _refuse_other_version(con, file)
        said = (at, by, reason, _NAMES[type(fact)], json.dumps(asdict(fact), ensure_ascii=False))
        added = con.execute("INSERT INTO event (at, by, reason, kind, fact) VALUES (?, ?, ?, ?, ?)", said).lastrowid
        assert added is not None
        con.executemany("INSERT INTO listed VALUES (?, ?)", ((added, one) for one in ids))
        con.execute("COMMIT")
    return Event(added, at, by, reason, fact)


def _statements(script: str) -> Iterator[str]:
    """The statements of a script one by one: `executescript` would commit before it begins."""
    text = ""
    for line in script.strip().splitlines():
        text += f"{line}\n"
        if sqlite3.complete_statement(text):
            yield text
            text = ""


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection | None]:
    file = path / FILE
    if not file.is_file():
        yield None
        return
    with _refusing(file), contextlib.closing(_opened(file)) as con:
        con.execute("PRAGMA query_only = TRUE")
        # A load that was killed while it made the ledger leaves a file without a table: nothing was said yet.
        if not con.execute("PRAGMA user_version").fetchone()[0]:
            yield None
            return
        _refuse_other_version(con, file)
        yield con


def _opened(file: Path) -> sqlite3.Connection:
    """A connection for reading. Beside a ledger lies its log (WAL), which the last one to close it takes away; a
    connection that may not write leaves it, so only where nobody may write is the file opened so.
    """
    way = "mode=rw"
    if not os.access(file.parent, os.W_OK):
        log = Path(f"{file}-wal")
        way = "mode=ro" if log.is_file() and log.stat().st_size else "mode=ro&immutable=1"
    return sqlite3.connect(f"{file.absolute().as_uri()}?{way}", uri=True, isolation_level=None)


@contextlib.contextmanager
def _refusing(file: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise StoreRefused(f"{file}: the ledger cannot be used: {error}") from None


def _refuse_other_version(con: sqlite3.Connection, file: Path) -> None:
    (version,) = con.execute("PRAGMA user_version").fetchone()
    if version != VERSION:
        raise StoreRefused(f"{file}: written by another version of closedset (ledger {version}, not {VERSION})")


def _events(con: sqlite3.Connection) -> list[Event[Any]]:
    rows = con.execute("SELECT id, at, by, reason, kind, fact FROM event ORDER BY id").fetchall()
    return [Event(id_, at, by, reason, _fact(kind, json.loads(fact))) for id_, at, by, reason, kind, fact in rows]


def _fact(kind: str, said: dict[str, Any]) -> Fact | Undo:
    if kind == "undo":
        return Undo(**said)
    if kind == "correction":
        said |= {key: tuple(said.get(key, ())) for key in ("columns", "reads")}
    return KINDS[kind](**said)


def _state(con: sqlite3.Connection) -> State:
    events = _events(con)
    undone = {e.fact.event for e in events if isinstance(e.fact, Undo)}
    said = [e for e in events if not isinstance(e.fact, Undo)]
    in_force = tuple(e for e in said if e.id not in undone)
    return State(
        events=in_force,
        undone=tuple(e for e in said if e.id in undone),
        last=events[-1].id if events else 0,
        listed={e.id: _listed(con, e.id) for e in in_force if isinstance(e.fact, Looked)},
    )


def _listed(con: sqlite3.Connection, event: int) -> "pa.ChunkedArray":
    """Block by block: an operator may have said it of every one of ten million ids."""
    import pyarrow as pa

    found = con.execute("SELECT entity_id FROM listed WHERE event = ? ORDER BY rowid", [event])
    blocks = iter(lambda: found.fetchmany(_BLOCK), [])
    return pa.chunked_array([pa.array([one for (one,) in block], pa.string()) for block in blocks], pa.string())
