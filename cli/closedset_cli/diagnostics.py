"""How a command ends: every exit code, and what stderr says for each kind of end.

stdout is the reply and nothing else; stderr is talk. A message names the place, the value and the fix.
"""

import errno
import os
import traceback
from enum import IntEnum

from closedset.errors import Broken, ClosedsetError, CompileUnavailable

DEBUG = "CLOSEDSET_DEBUG"
_FULL = os.strerror(errno.ENOSPC)


class ExitCode(IntEnum):
    """An answer with gaps is an answer: it exits 0 and says `licence: withheld`. What is asked whether all is well
    has an end of its own for "no"; never 1, which is how a Python ends that could not even start."""

    OK = 0
    REFUSED = 2
    DIFFERS = 3
    LOSSY = 4
    UNAVAILABLE = 69
    BROKEN = 70
    UNWRITTEN = 74
    INTERRUPTED = 130


class UsageRefused(Exception):
    """The command line itself makes no sense; its text names the option and the fix."""


class PipeClosed(Exception):
    """Whoever read stdout has had enough (`| head`): no failure, and nothing to say."""


class ReplyLost(Exception):
    """stdout takes no more, a full disk for one. What the command was to do is done; its text says so where that
    is more than to reply."""


def ended(error: BaseException, interrupted: bool) -> tuple[ExitCode, str]:
    """The exit code of an exception and what to say of it (nothing, for a pipe or a Ctrl-C).

    `interrupted`: Ctrl-C was pressed, so whatever was raised after it is its echo.
    """
    if isinstance(error, PipeClosed):
        return ExitCode.OK, ""
    if isinstance(error, ReplyLost):
        return ExitCode.UNWRITTEN, str(error)
    if interrupted or isinstance(error, KeyboardInterrupt):
        return ExitCode.INTERRUPTED, ""
    if isinstance(error, CompileUnavailable):
        return ExitCode.UNAVAILABLE, f"unavailable: {error}: -w 'relation.slot = value'"
    if isinstance(error, UsageRefused | ClosedsetError) and not isinstance(error, Broken):
        return ExitCode.REFUSED, f"refused: {error}"
    if isinstance(error, OSError):
        place = f"{error.filename}: " if error.filename else ""
        return ExitCode.REFUSED, f"refused: {place}{error.strerror or error}"
    if _FULL in str(error):
        return ExitCode.REFUSED, f"refused: a disk is full: {str(error).splitlines()[0]}; make room, and do it again"
    if os.environ.get(DEBUG):
        return ExitCode.BROKEN, "".join(traceback.format_exception(error)).rstrip()
    first = next((line for line in str(error).splitlines() if line.strip()), "no message")
    return ExitCode.BROKEN, (
        f"broken: {type(error).__name__}: {first} (a fault of closedset, not of what you asked; please report it "
        f"with your command; {DEBUG}=1 shows where)"
    )
