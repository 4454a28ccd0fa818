"""Compare the engine with the reference, and with the possible worlds, over many drawn stores.

    python -m tests.agree --stores 20000 --worlds 2000 --requests 2 --processes 2
    python -m tests.agree --stores 2000 --worlds 0 --processes 2 --many

Prints what was reached (a comparison that meets no verdict proves nothing) and every disagreement with the
seed that draws it again. Exit 1 on any.
"""

import argparse
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest
from tests import reference
from tests.strategies import random_store, tiny_store
from tests.test_engine_agrees import contradiction, disagreement, load_drawn

from closedset import execute, judged_rows, ranking
from closedset.load import build, column, row_kinds, term_index

BLOCK = 100
SHOWN = 20


@dataclass
class Tally:
    stores: int = 0
    requests: int = 0
    verdicts: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    found: list[str] = field(default_factory=list)

    def add(self, other: "Tally") -> None:
        self.stores += other.stores
        self.requests += other.requests
        self.verdicts += other.verdicts
        self.reasons += other.reasons
        self.found += other.found


def against_reference(seed: int, most: int | None = None) -> Tally:
    """One general store: every field of every reply."""
    return compare(seed, random_store, disagreement, most)


def against_worlds(seed: int, most: int | None = None) -> Tally:
    """One tiny store: the engine's sets and licence against every completion."""
    return compare(seed, tiny_store, contradiction, most)


def as_of_very_many_rows(patch: pytest.MonkeyPatch, by_kind: bool = True) -> None:
    """Load and ask every store as if its rows were very many; without `by_kind`, as if their terms were, too."""
    patch.setattr(column, "_MANY", -1)
    patch.setattr(term_index, "_FEW", 0)
    patch.setattr(row_kinds, "_FEW", 0)
    patch.setattr(row_kinds, "_ROWS_A_KIND", 1 if by_kind else 1000)
    patch.setattr(build, "_JOINED", 1)
    patch.setattr(ranking, "_MANY", 0)
    patch.setattr(execute, "_MANY", 0)
    patch.setattr(execute, "_WORTH_A_THREAD", 0)
    # Of very many rows none are kept beside the store.
    patch.setattr(judged_rows, "_MOST", -1)


def compare(seed: int, draw: Callable[[int], Any], check: Callable[..., str | None], most: int | None) -> Tally:
    tally = Tally(stores=1)
    one = draw(seed)
    requests = one.requests
    # Which of a store's requests are asked turns with the seed, so that a few a store still ask all kinds.
    requests = [requests[(seed + i) % len(requests)] for i in range(min(most or len(requests), len(requests)))]
    where = f"{draw.__name__}({seed})"
    try:
        with load_drawn(one) as store:
            for i, request in enumerate(requests):
                tally.requests += 1
                told = check(store, one, request)
                if told is not None:
                    tally.found.append(f"{where}, request {i}: {told}")
                count(tally, partial(reference.answer, one.pack, one.mapping, one.tables, request, said=one.said))
    except Exception:
        tally.found.append(f"{where}: {traceback.format_exc(limit=-3)}")
    return tally


def count(tally: Tally, answer: Callable[[], reference.Answer]) -> None:
    try:
        found = answer()
    except reference.Refused:
        tally.reasons["(refused)"] += 1
        return
    tally.verdicts.update(found.verdicts.values())
    tally.reasons.update({code.partition(":")[0] for code, _ in found.reasons} or {"(licensed)"})


def block(check: Callable[[int], Tally], seeds: range) -> Tally:
    tally = Tally()
    for seed in seeds:
        tally.add(check(seed))
    return tally


def run(check: Callable[[int], Tally], seeds: range, processes: int) -> Tally:
    blocks = [seeds[i : i + BLOCK] for i in range(0, len(seeds), BLOCK)]
    tally = Tally()
    for one in spread(partial(block, check), blocks, processes):
        tally.add(one)
        print(f"\r{tally.stores} of {len(seeds)} stores", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return tally


def spread(work: Callable[[range], Tally], blocks: list[range], processes: int) -> Iterator[Tally]:
    if processes == 1:
        yield from map(work, blocks)
        return
    with ProcessPoolExecutor(processes) as pool:
        yield from pool.map(work, blocks)


def report(name: str, tally: Tally, seconds: float) -> None:
    print(f"{name}: {tally.stores} stores, {tally.requests} requests, {seconds:.0f} s")
    print("  verdicts:", ", ".join(f"{k} {v}" for k, v in sorted(tally.verdicts.items())))
    print("  licences:", ", ".join(f"{k} {v}" for k, v in sorted(tally.reasons.items())))
    print(f"  disagreements: {len(tally.found)}")
    for one in tally.found[:SHOWN]:
        print("   -", one)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.agree", description=__doc__.splitlines()[0])
    parser.add_argument("--stores", type=int, default=1000, help="general stores, against the reference")
    parser.add_argument("--worlds", type=int, default=200, help="tiny stores, against the possible worlds")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--requests", type=int, default=None, help="requests a store (default: all, about four)")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--many", action="store_true", help="load and ask each as if its rows were very many")
    args = parser.parse_args()
    if args.many:
        # Processes are forked, so that they start from what is set here.
        as_of_very_many_rows(pytest.MonkeyPatch())
    found = 0
    for name, check, many in (
        ("reference", against_reference, args.stores),
        ("worlds", against_worlds, args.worlds),
    ):
        began = time.monotonic()
        tally = run(partial(check, most=args.requests), range(args.seed, args.seed + many), args.processes)
        report(name, tally, time.monotonic() - began)
        found += len(tally.found)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
