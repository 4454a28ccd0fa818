"""The two streams, each with one owner: stdout carries the reply, stderr carries talk."""

import os
import sys
from contextlib import suppress
from typing import NoReturn

from closedset_cli.diagnostics import PipeClosed
from closedset_cli.printable import printable


def prepare() -> None:
    """The same bytes everywhere: UTF-8 and bare newlines, whatever the locale or the platform says."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is None:
            continue
        if stream.isatty():
            reconfigure(errors="backslashreplace")
        else:
            reconfigure(encoding="utf-8", errors="backslashreplace", newline="\n")


def reply(text: str) -> None:
    """Write a part of the reply. Raises PipeClosed when its reader is gone."""
    try:
        sys.stdout.write(text)
    except BrokenPipeError:
        raise PipeClosed from None


def finish() -> None:
    """Write out what is buffered, so that a closed pipe shows here and not when Python exits."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise PipeClosed from None


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
    for line in text.split("\n"):
        print(printable(line), file=sys.stderr)


def colour() -> bool:
    """Whether the reply may be coloured: only on a terminal that takes it, and when nobody objects."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
