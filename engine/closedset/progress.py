"""What a process is doing, for whoever waits for it: the engine says, a surface listens, and nothing is said to nobody.

It is also how a surface ends work on Ctrl-C: the statement that runs is interrupted, and what would be left is undone.
"""

import contextlib
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any, Protocol
from weakref import WeakSet, ref


class Connection(Protocol):
    """What is asked of a database connection here."""

    def execute(self, query: str) -> Any: ...

    def query_progress(self) -> float: ...

    def interrupt(self) -> None: ...


class Work:
    """One piece of work under way. `said` is its present step; `share` how much of the running statement is done."""

    def __init__(self) -> None:
        self.said = ""
        # One that is done with closes: it is not kept open to be interrupted.
        self._cons: WeakSet[Connection] = WeakSet()
        self._last: Callable[[], Connection | None] = lambda: None
        self._cons_change = threading.Lock()
        self._undo: Callable[[], None] | None = None
        self._ends = threading.Lock()

    @property
    def share(self) -> float | None:
        """Per cent of the statement that runs, where the database knows."""
        con = self._last()
        if con is None:
            return None
        # The connection may be closed at any moment by the thread that works.
        with contextlib.suppress(Exception):
            done = con.query_progress()
            return done if done >= 0 else None
        return None

    def interrupt(self) -> None:
        """End the statements that run, from another thread."""
        with self._cons_change:
            cons = list(self._cons)
        for con in cons:
            with contextlib.suppress(Exception):
                con.interrupt()

    def abandon(self) -> None:
        """Undo what is half done, for a process that ends now: from here on the work cannot be settled any more."""
        self._ends.acquire()
        if self._undo is not None:
            self._undo()

    def watch(self, con: Connection, undo: Callable[[], None] | None = None) -> None:
        con.execute("SET enable_progress_bar = true; SET enable_progress_bar_print = false").fetchall()
        with self._cons_change:
            self._cons.add(con)
        self._last, self._undo = ref(con), undo or self._undo

    def settle(self) -> None:
        with self._ends:
            self._undo = None


_WORK: ContextVar[Work | None] = ContextVar("work", default=None)


@contextlib.contextmanager
def heard(work: Work) -> Iterator[Work]:
    """Let a piece of work hear what the engine does."""
    token = _WORK.set(work)
    try:
        yield work
    finally:
        _WORK.reset(token)


def step(said: str) -> None:
    """Say what is done now."""
    work = _WORK.get()
    if work is not None:
        work.said = said


def watch(con: Connection, undo: Callable[[], None] | None = None) -> None:
    """Name the connection that works, and what undoes its work if the process must end in the middle of it."""
    work = _WORK.get()
    if work is not None:
        work.watch(con, undo)


def settle() -> None:
    """Say that from here on nothing is undone: the work is being made to count."""
    work = _WORK.get()
    if work is not None:
        work.settle()
