"""What takes long, shown: on stderr, on a terminal only, and only once it has taken a second."""

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from closedset_cli.printable import printable

if TYPE_CHECKING:
    from closedset.progress import Work

#: Nothing is shown of what is over sooner.
PATIENCE_S = 1.0
_REFRESH_S = 0.2
_under_way: "list[Work]" = []


@contextmanager
def shown(doing: str) -> Iterator[None]:
    """Show what the engine does meanwhile, and let Ctrl-C end it. Inside another it is a step of that."""
    from closedset.progress import Work, heard, step

    if _under_way:
        step(doing)
        yield
        return
    work = Work()
    over = threading.Event()
    watching = None
    if sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
        watching = threading.Thread(target=_show, args=(doing, work, over), daemon=True)
        watching.start()
    _under_way.append(work)
    try:
        with heard(work):
            yield
    finally:
        _under_way.remove(work)
        over.set()
        if watching is not None:
            watching.join()


def interrupt() -> None:
    """End the statement that runs, if one does."""
    for work in list(_under_way):
        work.interrupt()


def abandon() -> None:
    """Undo what is half done: the process ends now."""
    for work in list(_under_way):
        work.abandon()


def _show(doing: str, work: "Work", over: threading.Event) -> None:
    began = time.monotonic()
    if over.wait(PATIENCE_S):
        return
    from rich.console import Console
    from rich.text import Text

    with Console(stderr=True).status(Text(printable(doing))) as status:
        while True:
            status.update(Text(printable(_line(doing, work, time.monotonic() - began))))
            if over.wait(_REFRESH_S):
                return


def _line(doing: str, work: "Work", seconds: float) -> str:
    share = work.share
    parts = [doing, work.said, f"{share:.0f}%" if share is not None and share > 0 else "", f"{seconds:.0f} s"]
    return ", ".join(part for part in parts if part)
