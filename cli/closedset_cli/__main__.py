"""Where the command begins, also as `python -m closedset_cli`: nothing is imported before Ctrl-C ends it quietly."""

import os
import signal


def start() -> int:
    """Run the process's own command line."""
    signal.signal(signal.SIGINT, lambda *_: os._exit(130))
    from closedset_cli.main import main

    return main()


if __name__ == "__main__":
    start()
