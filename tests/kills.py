"""Kill the process that changes a store, at random moments, and see what is left.

    python -m tests.kills --times 200

Each round runs one act (a load of one of two exports in turn, and between loads what people say of the store) in a
process of its own and ends it with SIGKILL at a moment drawn evenly over the time the act takes when left alone, its
publishing included. Whatever the moment, the store must open and answer, in full, as it did before or as it does
after; the act done again (every second time with `gc` between) must finish; and after `gc` no file may be left that no
generation reads. Exit 1 on any fault.
"""

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path

from tests import acts

import closedset.store
from closedset.load import generation

#: Kills are drawn over so much more than an act takes, so that its very end is met too.
_BEYOND = 1.1
ROW, SURFACE = "check/hr/checks/1", "Pass?"
SCRIPT: tuple[tuple[str, ...], ...] = (
    ("load", "b"),
    ("vocab", "place", SURFACE, "passed", "--reason", "seen"),
    ("load", "a"),
    ("correct", ROW, "--reason", "wrong"),
    ("load", "b"),
    ("load", "a"),
    ("correct", "--undo", ROW),
    ("vocab", "place", "--undo", SURFACE),
)
#: What a handful of kills goes through: it ends as it began, too.
LOADS: tuple[tuple[str, ...], ...] = (("load", "b"), ("load", "a"))


@dataclass
class Tally:
    """What the kills met: `held` counts (act, as what the store answered); `took` is how long each act took when it was
    last left alone. `kills` are the rounds whose act had not ended before."""

    rounds: int = 0
    kills: int = 0
    held: Counter[tuple[str, str]] = field(default_factory=Counter)
    left: int = 0
    took: dict[str, float] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Act:
    """One command line, and what the store answers before and after."""

    name: str
    line: list[str]
    before: str
    after: str


def kill(times: int, seed: int, folder: Path) -> Tally:
    """Kill so many acts in an empty folder, and tell what was met."""
    rng = random.Random(seed)
    tally = Tally()
    acts.lay(folder)
    script = _alone(folder, SCRIPT if times >= len(SCRIPT) else LOADS, tally)
    _first(folder, rng, script[0].before, tally)
    for act in cycle(script):
        _round(folder, act, rng, tally)
        if tally.faults or tally.kills == times:
            return tally
    raise AssertionError("a cycle has no end")


def _alone(folder: Path, lines: Sequence[tuple[str, ...]], tally: Tally) -> list[Act]:
    """Every act once, killed by nobody; the store ends as it began."""
    acts.finish(acts.load_of(folder, "a"))
    before = first = acts.answers_of(folder)
    script = []
    for words in lines:
        line = acts.load_of(folder, words[1]) if words[0] == "load" else _with_store(folder, words)
        tally.took[" ".join(words[:3])] = _finished(line)
        after = acts.answers_of(folder)
        assert after != before, f"{' '.join(words)} changes no answer: killing it would prove nothing"
        script.append(Act(" ".join(words[:3]), line, before, after))
        before = after
    assert before == first
    shutil.rmtree(folder / "s")
    return script


def _with_store(folder: Path, words: tuple[str, ...]) -> list[str]:
    head = 2 if words[0] == "vocab" else 1
    return [*words[:head], str(folder / "s"), *words[head:], "--by", "anna"]


def _first(folder: Path, rng: random.Random, whole: str, tally: Tally) -> None:
    """The first load of all, killed too: there is no store yet, or a whole one."""
    line = acts.load_of(folder, "a")
    _killed(line, rng.uniform(0, tally.took["load b"]))
    if (folder / "s" / "CURRENT").exists() and acts.answers_of(folder) != whole:
        tally.faults.append("the first load, killed: the store answers neither nothing nor the whole")
    acts.finish(line)


def _round(folder: Path, act: Act, rng: random.Random, tally: Tally) -> None:
    moment = rng.uniform(0, tally.took[act.name] * _BEYOND)
    alive = _killed(act.line, moment)
    tally.rounds += 1
    tally.kills += alive
    where = f"round {tally.rounds}, {act.name} killed after {moment * 1000:.0f} ms"
    try:
        held = {act.before: "as before", act.after: "as after"}.get(acts.answers_of(folder))
        if held is None:
            tally.faults.append(f"{where}: the store answers neither as before nor as after")
            return
        tally.held[act.name, held if alive else "not killed: it had ended"] += 1
        if tally.rounds % 2:
            tally.left += len([one for one in generation.collect(folder / "s") if one.what == "leftover"])
            _nothing_left(folder, where, tally)
        took = _finished(act.line)
        if held == "as before":
            tally.took[act.name] = took
        if acts.answers_of(folder) != act.after:
            tally.faults.append(f"{where}: done again, it does not answer as after")
        generation.collect(folder / "s")
        _nothing_left(folder, where, tally)
    except Exception as error:
        tally.faults.append(f"{where}: {type(error).__name__}: {error}")


def _finished(line: list[str]) -> float:
    """Run a command line to its end, and say how many seconds that took."""
    began = time.monotonic()
    acts.finish(line)
    return time.monotonic() - began


def _nothing_left(folder: Path, where: str, tally: Tally) -> None:
    """After gc every file is one that some held generation reads."""
    read: set[str] = {"CURRENT", "load.lock", "ledger.sqlite", "ledger.sqlite-wal", "ledger.sqlite-shm"}
    for number in closedset.store.numbers(folder / "s"):
        with closedset.store.Store(folder / "s", number=number) as held:
            read |= {f"generations/{number}.duckdb", *(f"cells/{n}.duckdb" for n in held.catalog.kept.values())}
    files = {str(f.relative_to(folder / "s")) for f in (folder / "s").rglob("*") if f.is_file()}
    if files - read - {"load.holder"}:
        tally.faults.append(f"{where}: left after gc: {sorted(files - read)}")


def _killed(line: list[str], moment: float) -> bool:
    """Run a command line and kill it after so many seconds; whether it was still running."""
    one, begins = acts.process(acts.command, line)
    begins.recv()
    time.sleep(moment)
    alive = one.exitcode is None
    if alive:
        os.kill(one.pid, signal.SIGKILL)
    one.join(acts.LONGEST_S)
    return bool(alive)


def report(tally: Tally, seconds: float) -> None:
    print(f"{tally.kills} kills in {tally.rounds} rounds and {seconds:.0f} s; an act left alone took last", end=" ")
    print(", ".join(f"{name} {took * 1000:.0f} ms" for name, took in tally.took.items()))
    for (name, which), count in sorted(tally.held.items()):
        print(f"  {name}: {which} {count}")
    print(f"  leftovers of killed acts that gc dropped: {tally.left} files")
    print(f"  faults: {len(tally.faults)}")
    for fault in tally.faults:
        print("   -", fault)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.kills", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--times", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        tally = kill(args.times, args.seed, Path(folder))
    report(tally, time.monotonic() - began)
    return 1 if tally.faults else 0


if __name__ == "__main__":
    sys.exit(main())
