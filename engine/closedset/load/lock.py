"""The lock that one loader of a store holds: whoever else would write the next generation is refused at once."""

import contextlib
import os
import platform
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock, Timeout

from closedset import store
from closedset.errors import StoreRefused


@contextlib.contextmanager
def loading(path: Path) -> Iterator[None]:
    """Hold the store's load lock. Refuses at once, saying who holds it; a dead process has released it."""
    store.refuse_name(path)
    holder = path / "load.holder"
    fresh = not path.exists()
    try:
        path.mkdir(parents=True, exist_ok=True)
        (path / store.GENERATIONS).mkdir(exist_ok=True)
        (path / store.CELLS).mkdir(exist_ok=True)
        lock = FileLock(path / "load.lock")
        lock.acquire(timeout=0)
    except Timeout:
        try:
            who = holder.read_text(encoding="utf-8").strip()
        except OSError:
            who = "another process"
        raise StoreRefused(
            f"{path}: another load is running ({who} holds {path / 'load.lock'}); try again when it ends"
        ) from None
    except OSError as error:
        raise StoreRefused(f"{error.filename or path}: cannot hold a store: {error.strerror}") from None
    try:
        since = datetime.now(UTC).isoformat(timespec="seconds")
        # On a full disk nobody learns who holds the lock; what is to be written says that it is full.
        with contextlib.suppress(OSError):
            holder.write_text(f"process {os.getpid()} on {platform.node()}, since {since},", encoding="utf-8")
        yield
    finally:
        holder.unlink(missing_ok=True)
        if fresh and store.current(path) is None:
            # A first load that was refused leaves no directory that looks like a store.
            for left in (path / "load.lock", path / store.GENERATIONS, path / store.CELLS, path):
                with contextlib.suppress(OSError):
                    left.rmdir() if left.is_dir() else left.unlink()
        lock.release()
