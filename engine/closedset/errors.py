"""The exceptions of the product: a refused request, a refused load, a missing model, a broken promise.

A gap is never raised: it is a value in the reply (DESIGN section 7).
"""

from collections.abc import Sequence
from typing import Any


class ClosedsetError(Exception):
    """Anything closedset raises on purpose; its text names the place, the value and the fix."""


class RequestRefused(ClosedsetError):
    """The request never made sense, so nothing ran.

    `status` is 422; `detail` is `{type, title, …}`, what HTTP sends under `detail`.
    """

    status = 422

    def __init__(self, type: str, title: str, **more: Any) -> None:
        self.detail: dict[str, Any] = {"type": type, "title": title, **more}
        said = [title]
        if "reason" in more:
            said.append(str(more["reason"]))
        if more.get("fix"):
            said.append(str(more["fix"]))
        super().__init__(" — ".join(said))


class CompileUnavailable(ClosedsetError):
    """A brief needs a model and there is none: send constraints instead. `status` is 503, `body` the reply."""

    status = 503

    def __init__(self, reason: str = "compile requires a model; pass constraints") -> None:
        self.body = {"type": "compile_unavailable", "reason": reason}
        super().__init__(reason)


class PackRefused(ClosedsetError):
    """A pack or a map that cannot be meant; the text starts with file:line."""


class LoadRefused(ClosedsetError):
    """An export that cannot be loaded as asked; the store keeps what it held.

    `faults` are those that the map shows beside this export: each its place in the map and what is wrong there.
    """

    def __init__(self, text: str, faults: Sequence[tuple[tuple[str | int, ...], str]] = ()) -> None:
        super().__init__(text)
        self.faults = faults


class LedgerRefused(ClosedsetError):
    """What a person would add to a store makes no sense there; nothing was added."""


class StoreRefused(ClosedsetError):
    """A path that holds no store, or one that another process is loading."""


class StoreDamaged(StoreRefused):
    """A store that lost something it was written with, or had it spoiled."""


class Broken(ClosedsetError):
    """Our own assertion failed: never dressed up as an answer (exit code 70)."""
