"""What made each generation of a store, and which of them can still be asked."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from closedset import store
from closedset.catalog import Change

State = Literal["current", "held", "dropped"]


@dataclass(frozen=True)
class Past:
    """One generation: the load or the operator's act that made it, and whether its files are still there."""

    change: Change
    state: State


def of(path: str | Path) -> list[Past]:
    """A store's generations, oldest first. Refuses (StoreRefused) a path that holds no store."""
    with store.open_store(path) as opened:
        catalog = opened.catalog
    held = {*store.numbers(Path(path)), catalog.generation}

    def state(number: int) -> State:
        return "current" if number == catalog.generation else "held" if number in held else "dropped"

    return [Past(change, state(change.generation)) for change in catalog.history]
