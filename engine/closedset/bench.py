"""How long the questions of one store take here: the whole reply, beside the plain SQL that gives the four sets alone.

Both are asked in turn, so that a busy moment hits both; what they answer is compared, entity by entity.
"""

import resource
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from closedset import portable, progress, search
from closedset.batch import batch
from closedset.execute import Run
from closedset.store import Generation

#: Of each relation so many slots are asked about, by their most frequent terms.
_SLOTS = 2


@dataclass(frozen=True)
class Timing:
    """One question: seconds of each run of the whole reply and of plain SQL (none where it has no required condition
    that runs), and whether both put every entity into the same set (None: not compared)."""

    request: dict[str, Any]
    matched: int
    universe: int
    whole_s: tuple[float, ...]
    cpu_s: tuple[float, ...]
    plain_s: tuple[float, ...]
    equal: bool | None

    @property
    def seconds(self) -> float:
        return statistics.median(self.whole_s)

    @property
    def ratio(self) -> float | None:
        """How many times as long plain SQL takes."""
        return statistics.median(self.plain_s) / self.seconds if self.plain_s else None


@dataclass(frozen=True)
class Bench:
    """All questions of one store. `batch` is what all of them take as a batch, over what they take one by one;
    `peak_bytes` how much more memory than before the first one the process held at most (0: no more)."""

    timings: tuple[Timing, ...]
    batch: float
    peak_bytes: int


def bench(generation: Generation, requests: Sequence[dict[str, Any]] | None = None, runs: int = 3) -> Bench:
    """Ask each request `runs` times, after one unmeasured run; by default questions drawn from what the store holds.
    Refuses (RequestRefused) what never made sense."""
    asked = list(requests) if requests is not None else drawn(generation)
    before = _peak_bytes()
    timings = []
    for number, request in enumerate(asked, 1):
        progress.step(f"question {number} of {len(asked)}")
        timings.append(_timed(generation, request, runs))
    progress.step("all of them as a batch")
    one_by_one = sum(timing.seconds for timing in timings)
    began = time.perf_counter()
    for _ in batch(generation, asked):
        pass
    together = time.perf_counter() - began
    return Bench(tuple(timings), together / one_by_one if asked else 1.0, _peak_bytes() - before)


def _timed(generation: Generation, request: dict[str, Any], runs: int) -> Timing:
    run = Run(generation)
    found = search.answer(run, request)
    plain = None if found.vacuous or not found.plan.required else portable.partition(Run(generation), found.plan)
    equal = None if plain is None else _equal(search.partition_of(run, found), plain)
    search.search(generation, request)
    whole, cpu, other = [], [], []
    for _ in range(runs):
        began, used = time.perf_counter(), time.process_time()
        search.search(generation, request)
        whole.append(time.perf_counter() - began)
        cpu.append(time.process_time() - used)
        if plain is not None:
            began = time.perf_counter()
            portable.partition(Run(generation), found.plan)
            other.append(time.perf_counter() - began)
    return Timing(
        request, len(found.verdicts.overall.matched), generation.catalog.universe, tuple(whole), tuple(cpu),
        tuple(other), equal,
    )  # fmt: skip


def _equal(mine: pa.Table, plain: pa.Table) -> bool:
    one, other = (table.column("verdict").combine_chunks().cast("string") for table in (mine, plain))
    return bool(one.equals(other))


def drawn(generation: Generation) -> list[dict[str, Any]]:
    """Questions about what the store holds most: each relation by one term, by two on one row, and at the month of the
    load; and every pair of relations."""
    relations = {r: found for r in generation.catalog.pack.relations if (found := list(_frequent(generation, r)))}
    questions: list[dict[str, Any]] = []
    for found in relations.values():
        questions += [{"constraints": found[:n]} for n in range(1, len(found) + 1)]
        questions.append({"constraints": found, "as_of": generation.catalog.load_month})
    names = list(relations)
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    return questions + [{"constraints": [*relations[a], *relations[b]]} for a, b in pairs]


def _frequent(generation: Generation, relation: str) -> Iterator[dict[str, Any]]:
    """The most frequent term of some slots of a relation, each as a constraint."""
    catalog = generation.catalog
    stored, declared = catalog.relations[relation], catalog.pack.relations[relation]
    if stored.table is None:
        return
    asked = 0
    for name, slot in declared.slots.items():
        vocabulary = catalog.pack.vocabulary(slot)
        if asked == _SLOTS or vocabulary is None or not stored.slots[name].written:
            continue
        table = Run(generation).statement("search/frequent.sql.j2", table=stored.table, slot=name)
        for row in table.to_pylist():
            asked += 1
            yield {"relation": relation, "slot": name, "op": "eq", "value": vocabulary.terms[row["code"] - 1]}


def _peak_bytes() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
