"""The two streams, each with one owner: stdout carries the reply, stderr carries talk."""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NoReturn

from closedset_cli.diagnostics import PipeClosed, ReplyLost
from closedset_cli.printable import printable


def prepare() -> None:
    """The same bytes everywhere: UTF-8 and bare newlines, whatever the locale or the platform says.

    A stream that was closed (`>&-`) leads nowhere, as a pipe does whose reader is gone.
    """
    _occupy()
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is None:
            continue
        if stream.isatty():
            reconfigure(errors="backslashreplace")
        else:
            reconfigure(encoding="utf-8", errors="backslashreplace", newline="\n")


def _occupy() -> None:
    """Take the numbers of closed streams: the next file that is opened would get one, and be written into."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(number)
    for number, name, way in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, io.TextIOWrapper(io.FileIO(number, way, closefd=False), encoding="utf-8"))


@contextmanager
def _writing() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise PipeClosed from None
    except OSError as error:
        raise ReplyLost(f"the reply could not be written: {error.strerror or error}") from None


def reply(text: str) -> None:
    """Write a part of the reply. Raises PipeClosed when its reader is gone, ReplyLost when it cannot be written."""
    with _writing():
        sys.stdout.write(text)


def finish() -> None:
    """Write out what is buffered, so that a closed pipe shows here and not when Python exits."""
    with _writing():
        sys.stdout.flush()


@contextmanager
def done(what: str) -> Iterator[None]:
    """Write the reply of a command that has changed something: should it be lost, that is still said."""
    try:
        yield
        finish()
    except ReplyLost as lost:
        raise ReplyLost(f"{lost}; {what}") from None


def abandon() -> None:
    """Let Python's own last flush go nowhere: its reader is gone."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())


def leave(code: int) -> NoReturn:
    """End the process, everything written out. Taking the interpreter and its libraries apart first would cost a
    fifth of a search, and the commands have closed what they opened."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def talk(text: str) -> None:
    """Say something on stderr. Values in it cannot move the cursor."""
    with suppress(OSError):
        for line in text.split("\n"):
            print(printable(line), file=sys.stderr)


def terminal() -> bool:
    """Whether a person reads the reply."""
    return sys.stdout.isatty()


def colour() -> bool:
    """Whether the reply may be coloured: only on a terminal that takes it, and when nobody objects."""
    return terminal() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
