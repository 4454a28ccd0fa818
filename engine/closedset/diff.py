"""Two generations compared by one question: who entered and who left each set, and why."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from closedset import causes, progress, request
from closedset.catalog import Change
from closedset.causes import Cause
from closedset.errors import Broken, RequestRefused
from closedset.licence import Gap
from closedset.partition import Verdict
from closedset.side import NOBODY, VERDICTS, Grounds, Side
from closedset.store import Generation

_BATCH = 500
_SHOWN = 50


@dataclass(frozen=True)
class Changed:
    """One entity whose verdict is another (None: that generation does not know it), and everything that moved it."""

    entity_id: str
    was: Verdict | None
    now: Verdict | None
    causes: tuple[Cause, ...]


@dataclass(frozen=True)
class Stand:
    """One generation of a comparison: what made it, its four sets, and why its licence is withheld (empty: granted)."""

    generation: int
    change: Change | None
    universe: int
    counts: dict[Verdict, int]
    gaps: tuple[Gap, ...]


@dataclass(frozen=True)
class Diff:
    """A comparison. `moves` counts entities by (was, now), those that stayed included, None where one generation does
    not know them; `entities` is an Arrow table of all that moved (`entity_id`, `was`, `now`), who entered or left
    the matched first; `changed` explains the first of them."""

    former: Stand
    latter: Stand
    moves: dict[tuple[Verdict | None, Verdict | None], int]
    entities: pa.Table
    changed: tuple[Changed, ...]

    @property
    def total(self) -> int:
        return int(self.entities.num_rows)


class Comparison:
    """A question asked of two open generations; `explained` says why, as many at a time as are taken."""

    def __init__(self, former: Generation, latter: Generation, raw: object) -> None:
        """Refuses (RequestRefused) what search refuses, and a brief: a model may read it in two ways."""
        asked = request.parse(raw)
        if asked.brief is not None:
            raise RequestRefused(
                "brief_not_compared",
                "a brief may be compiled in two ways, and the answers would differ for that",
                fix="save what it becomes (search --save-request FILE) and compare by that request",
            )
        progress.step(f"asking generation {former.catalog.generation}")
        self._former = Side(former, asked)
        progress.step(f"asking generation {latter.catalog.generation}")
        self._latter = Side(latter, asked)
        progress.step("comparing")
        self._latter.run.give_table("former", self._former.partition())
        self._latter.run.give_table("latter", self._latter.partition())
        self._changed = self._latter.run.statement("diff/changed.sql.j2")
        self.former, self.latter = _stand(self._former), _stand(self._latter)

    @property
    def total(self) -> int:
        return int(self._changed.num_rows)

    @property
    def moves(self) -> dict[tuple[Verdict | None, Verdict | None], int]:
        """How many entities went from where to where; of those that stayed, how many."""
        counted = self._changed.group_by(["was", "now"]).aggregate([([], "count_all")]).to_pylist()
        found = {(_verdict(row["was"]), _verdict(row["now"])): row["count_all"] for row in counted}
        for verdict in VERDICTS:
            left = sum(n for (was, _), n in found.items() if was is verdict)
            found[verdict, verdict] = self.former.counts[verdict] - left
        return found

    @property
    def entities(self) -> pa.Table:
        """Every entity that moved: `entity_id`, `was`, `now`."""
        import pyarrow.compute as pc

        names = pa.array([v.value for v in VERDICTS])
        was, now = (pc.take(names, self._changed.column(c).combine_chunks()) for c in ("was", "now"))
        return pa.table({"entity_id": self._changed.column("entity_id"), "was": was, "now": now})

    def explained(self, limit: int | None = None) -> Iterator[Changed]:
        """Those that moved, in the order of `entities`, each with its causes."""
        total = self.total if limit is None else min(limit, self.total)
        for start in range(0, total, _BATCH):
            yield from self._explained(self._changed.slice(start, min(_BATCH, total - start)).to_pylist())

    def _explained(self, moved: Sequence[dict[str, Any]]) -> list[Changed]:
        former, latter = self._former, self._latter
        was_at: dict[str, int] = {m["entity_id"]: m["was_ordinal"] for m in moved if m["was_ordinal"] is not None}
        now_at: dict[str, int] = {m["entity_id"]: m["now_ordinal"] for m in moved if m["now_ordinal"] is not None}
        found: dict[str, list[Cause]] = {m["entity_id"]: [] for m in moved}
        for entity_id, cause in causes.known_otherwise(former, latter, was_at, now_at):
            found[entity_id].append(cause)
        for both in causes.groups(former, latter):
            was = former.grounds(both[0], list(was_at.values()))
            now = latter.grounds(both[1], list(now_at.values()))
            for entity_id, told in found.items():
                before, after = _of(was, was_at.get(entity_id)), _of(now, now_at.get(entity_id))
                told += causes.in_group(former, latter, both, before, after)
        for entity_id, told in found.items():
            told += causes.everywhere(former, latter)
            if not told:
                raise Broken(f"no cause found why {entity_id!r} is in another set")
        return [
            Changed(m["entity_id"], _verdict(m["was"]), _verdict(m["now"]), tuple(found[m["entity_id"]])) for m in moved
        ]


def compare(former: Generation, latter: Generation, raw: object, limit: int | None = _SHOWN) -> Diff:
    """Compare two generations by a request (a dict or a `Request`): who is in another set, and why.

    At most `limit` are explained (None: all). Refuses (RequestRefused) what search refuses, and a brief.
    """
    found = Comparison(former, latter, raw)
    changed = tuple(found.explained(limit))
    return Diff(found.former, found.latter, found.moves, found.entities, changed)


def _stand(side: Side) -> Stand:
    catalog = side.catalog
    change = next((c for c in catalog.history if c.generation == catalog.generation), None)
    return Stand(catalog.generation, change, catalog.universe, side.counts, side.gaps())


def _of(grounds: dict[int, Grounds], ordinal: int | None) -> Grounds:
    return NOBODY if ordinal is None else grounds[ordinal]


def _verdict(number: int | None) -> Verdict | None:
    return None if number is None else VERDICTS[number]
