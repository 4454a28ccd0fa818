"""The command in this process: what it writes and its exit code, without the second that a process of its own costs."""

import contextlib
import io
import signal
from pathlib import Path

from closedset_cli import main


def run(*arguments: str | Path) -> tuple[int, str, str]:
    """Run one command line and give its exit code, stdout and stderr."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="\n") for _ in range(2))
    former = signal.getsignal(signal.SIGINT)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main.main([str(argument) for argument in arguments])
    finally:
        signal.signal(signal.SIGINT, former)
        signal.set_wakeup_fd(-1)
    return code, _written(out), _written(err)


def _written(stream: io.TextIOWrapper) -> str:
    stream.flush()
    binary = stream.buffer
    assert isinstance(binary, io.BytesIO)
    return binary.getvalue().decode()
