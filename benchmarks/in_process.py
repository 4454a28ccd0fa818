"""Measures of the engine against itself in one process: the worked roster against its own SQL, and a batch."""

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.mixed import mixed

_ROUNDS = 30
ROSTER: dict[str, Any] = {
    "constraints": [
        {"relation": "held_role", "slot": "seniority", "op": "gte", "value": "VP"},
        {"relation": "held_role", "slot": "function", "op": "eq", "value": "Sales"},
        {"relation": "held_role", "slot": "geography", "op": "eq", "value": "DACH"},
        {"relation": "screening", "slot": "kind", "op": "eq", "value": "compliance"},
        {"relation": "screening", "slot": "outcome", "op": "eq", "value": "passed"},
    ]
}


def roster_ratio() -> float:
    """The worked example as a search, over running the statements that `explain` gives for it (parsed, bound
    and fetched to Arrow as the search does), turn about; the sets a search lends its statements are lent too."""
    import closedset
    import closedset.load

    with tempfile.TemporaryDirectory() as folder:
        closedset.load.load(Path(folder) / "store", "roster", sample=True)
        with closedset.open(Path(folder) / "store") as store:
            events = _events(store)
            cursor = store.generation().cursor()

            def search() -> float:
                start = time.perf_counter()
                store.search(ROSTER)
                return time.perf_counter() - start

            def statements() -> float:
                spent = 0.0
                for event in events:
                    if event[0] == "lend":
                        cursor.register(event[1], event[2])
                        continue
                    start = time.perf_counter()
                    found = cursor.sql(event[1], params=event[2] or None)
                    rows = found.to_arrow_table().num_rows if found is not None else 0
                    spent += time.perf_counter() - start
                    assert rows == event[3], f"{rows} rows, and {event[3]} in the search: {event[1]}"
                return spent

            return _paired(search, statements)


def _events(store: Any) -> list[tuple[Any, ...]]:
    """What one search lends and runs, in order."""
    from closedset.execute import Run

    events: list[tuple[Any, ...]] = []
    run, lend = Run._on, Run._lend

    def lending(self: Any, cursor: Any, name: str, one: Any) -> None:
        if one.table is not None:
            events.append(("lend", name, one.table()))
        lend(self, cursor, name, one)

    def running(self: Any, cursor: Any, step: Any) -> Any:
        table = run(self, cursor, step)
        events.append(("run", step.sql, step.parameters, table.num_rows))
        return table

    try:
        Run._on, Run._lend = running, lending  # type: ignore[method-assign]
        store.search(ROSTER)
    finally:
        Run._on, Run._lend = run, lend  # type: ignore[method-assign]
    return events


def _paired(one: Callable[[], float], other: Callable[[], float]) -> float:
    """The ratio of the medians, measured turn about after some unmeasured rounds."""
    for _ in range(5):
        one(), other()
    pairs = [(one(), other()) for _ in range(_ROUNDS)]
    return statistics.median(a for a, _ in pairs) / statistics.median(b for _, b in pairs)


def batch_ratio(store: Path, count: int = 1_000) -> float | None:
    """So many mixed questions, no two alike, as a batch over the same one by one in one process."""
    import closedset

    if not store.exists():
        return None
    requests = mixed(count)
    with closedset.open(store) as opened:
        for request in requests[:5]:
            opened.search(request)
        start = time.perf_counter()
        for request in requests:
            opened.search(request)
        one_by_one = time.perf_counter() - start
        start = time.perf_counter()
        for _ in opened.batch(requests):
            pass
        together = time.perf_counter() - start
    return together / one_by_one
