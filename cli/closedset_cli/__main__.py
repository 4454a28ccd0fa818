"""Where the command begins, also as `python -m closedset_cli`: nothing is imported before Ctrl-C ends it quietly."""

import os
import signal
import sys


def start() -> int:
    """Run the process's own command line. In a locale that has no UTF-8, names of files would be no text that anything
    could be written with: there the interpreter begins again, in its UTF-8 mode."""
    if sys.getfilesystemencoding() != "utf-8":
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])
    signal.signal(signal.SIGINT, lambda *_: os._exit(130))
    from closedset_cli.main import main

    return main()


if __name__ == "__main__":
    start()
