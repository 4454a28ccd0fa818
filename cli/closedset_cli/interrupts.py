"""Ctrl-C: a clean way out, also from inside a statement that does not listen."""

import os
import signal
import threading
import time
from types import FrameType

from closedset_cli import progress
from closedset_cli.diagnostics import ExitCode

#: How long the command may take to put things away after Ctrl-C.
GRACE_S = 2.0
_AGAIN_S = 0.05


class Interrupts:
    """`seen`: Ctrl-C was pressed, so what is raised after it (a library's own error, too) is its echo.

    Python raises KeyboardInterrupt only between its own instructions, and one SQL statement may be a minute
    long: it is interrupted from beside. A command that has not ended in time is left where it is, its half-done work
    undone: a store survives that by design, since what is loaded counts only once `CURRENT` names it.
    """

    def __init__(self) -> None:
        self.seen = False
        if threading.current_thread() is not threading.main_thread():
            return
        signal.signal(signal.SIGINT, self._raise)
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        threading.Thread(target=self._leave, args=(reader,), daemon=True).start()

    def _raise(self, number: int, frame: FrameType | None) -> None:
        # A second Ctrl-C would only cut short how the first one ends.
        if not self.seen:
            self.seen = True
            raise KeyboardInterrupt

    def _leave(self, reader: int) -> None:
        if os.read(reader, 1):
            ends = time.monotonic() + GRACE_S
            while time.monotonic() < ends:
                progress.interrupt()
                time.sleep(_AGAIN_S)
            progress.abandon()
            os._exit(ExitCode.INTERRUPTED)
