"""Libraries that only some kinds of export need, imported when such an export is read."""

from importlib import import_module
from pathlib import Path
from typing import Any

from closedset.errors import LoadRefused
from closedset.kinds import NAMES


def needed(module: str, extra: str, place: str | Path) -> Any:
    """The library. Refuses, naming what to install, where it is missing."""
    try:
        return import_module(module)
    except ImportError:
        raise LoadRefused(
            f"{place}: reading {NAMES.get(extra, extra)} needs a library that is not installed; "
            f"pip install 'closedset[{extra}]'"
        ) from None
