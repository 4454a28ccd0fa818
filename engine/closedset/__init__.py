"""closedset answers "all of them" questions over warehouse exports, and says whether the answer is all of them.

>>> import closedset
>>> store = closedset.open("mystore")                                     # doctest: +SKIP
>>> reply = store.search({"constraints": [...]})                          # doctest: +SKIP

Importing it is light: DuckDB, Arrow and Polars are imported by what needs them.
"""

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from closedset.errors import (
    ClosedsetError,
    CompileUnavailable,
    LedgerRefused,
    LoadRefused,
    PackRefused,
    RequestRefused,
    StoreRefused,
)

if TYPE_CHECKING:
    from closedset import load as load
    from closedset import pack as pack
    from closedset.store import Store

__version__ = "0.1.0"
__all__ = [
    "ClosedsetError",
    "CompileUnavailable",
    "LedgerRefused",
    "LoadRefused",
    "PackRefused",
    "RequestRefused",
    "StoreRefused",
    "load",
    "open",
    "pack",
]


def open(path: str | Path) -> "Store":
    """Open a store's directory for reading. Refuses (StoreRefused) a path that holds none."""
    from closedset.store import open_store

    return open_store(path)


def __getattr__(name: str) -> Any:
    if name in ("pack", "load"):
        return import_module(f"closedset.{name}")
    raise AttributeError(f"module 'closedset' has no attribute {name!r}")
