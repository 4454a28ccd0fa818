"""Let many processes read a store while another loads into it, and see whether any fails or answers from a mix.

    python -m tests.readers --seconds 60 --readers 10

Two exports of one source take turns, loaded as fast as they go. Every reader asks again and again, over a store that it
holds open for some time and then opens anew, and each answer, in full, must be what the store answers with one of the
two exports. Exit 1 on any fault.
"""

import argparse
import contextlib
import shutil
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests import acts

import closedset

_REOPENED = 5


@dataclass
class Tally:
    """`answers` counts what the readers were told, by export; `loads` how many loads ran beside them."""

    answers: Counter[str] = field(default_factory=Counter)
    loads: int = 0
    faults: list[str] = field(default_factory=list)


def read(begins: Any, folder: Path, until: float, expected: dict[str, list[str]]) -> None:
    """One reader: ask until the time is over, and say what was told. Takes each export's answer to each call."""
    told: Counter[str] = Counter()
    faults: list[str] = []
    begins.send("begun")
    try:
        while time.time() < until:
            with closedset.open(folder / "s") as store:
                for _ in range(_REOPENED):
                    for call, said in enumerate(acts.answers(store)):
                        told[next((name for name, all_ in expected.items() if all_[call] == said), "a mix")] += 1
    except Exception as error:
        faults.append(f"{type(error).__name__}: {error}")
    begins.send((told, faults))


def beside(seconds: float, readers: int, folder: Path) -> Tally:
    """Load into a store for so long, with so many readers beside."""
    acts.lay(folder)
    expected: dict[str, list[str]] = {}
    for name in ("b", "a"):
        shutil.rmtree(folder / "s", ignore_errors=True)
        acts.finish(acts.load_of(folder, name))
        expected[name] = acts.answers_of(folder).split()
    assert all(one != other for one, other in zip(*expected.values(), strict=True))
    tally = Tally()
    until = time.time() + seconds
    reading = [acts.process(read, folder, until, expected) for _ in range(readers)]
    for _, told in reading:
        told.recv()
    while time.time() < until:
        for name in ("b", "a"):
            acts.finish(acts.load_of(folder, name))
            tally.loads += 1
    for one, told in reading:
        with contextlib.suppress(EOFError):
            answers, faults = told.recv()
            tally.answers += answers
            tally.faults += faults
        one.join(acts.LONGEST_S)
        if one.exitcode != 0:
            tally.faults.append(f"a reader ended with {one.exitcode}")
    if tally.answers["a mix"]:
        tally.faults.append(f"{tally.answers['a mix']} answers are of neither export")
    return tally


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.readers", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--readers", type=int, default=10)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tally = beside(args.seconds, args.readers, Path(folder))
    told = ", ".join(f"{name} {count}" for name, count in sorted(tally.answers.items()))
    print(f"{args.readers} readers beside {tally.loads} loads for {args.seconds:.0f} s; answers by export: {told}")
    print(f"  faults: {len(tally.faults)}")
    for fault in tally.faults:
        print("   -", fault)
    return 1 if tally.faults else 0


if __name__ == "__main__":
    sys.exit(main())
