"""Measure closedset against its peers on the same data in the same run, and compare every answer id by id.

`--quick` is under ten minutes on two cores; `--full` measures at the sizes that the targets name. Ends with
one line a measure: name, ratio, target, met or short (absent: not measured here).
"""

import argparse
import json
import os
import platform
import signal
import statistics
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import in_process
from benchmarks.generate import SIZES
from benchmarks.measure import PEERS, Worker, forget
from benchmarks.peers import postgres_sql
from benchmarks.prepare import prepare, store_bytes
from benchmarks.questions import BY_NAME, FIVE, QUESTIONS

RESULTS = Path(__file__).parent / "results"
SLOW = ("postgres_four_way", "sqlite_four_way", "pandas_four_way")
#: Their matched-only SQL reads no row (nobody can match; everybody matches), so it is no measure of anything.
TRIVIAL = ("certified_in_a_month", "only_preferences")
GIB = 1 << 30


@dataclass(frozen=True)
class Shape:
    """What a run measures: the size of the comparisons, the two sizes of growth, and how often."""

    name: str
    size: str
    growth: tuple[str, str]
    runs: int
    slow_runs: int


QUICK = Shape("quick", "10M", ("1M", "10M"), runs=3, slow_runs=1)
FULL = Shape("full", "60M", ("10M", "100M"), runs=5, slow_runs=3)


@dataclass
class Figures:
    """One peer's hot runs of one question at one size, and the cold one (fresh process, files out of the page
    cache by posix_fadvise; opening included)."""

    size: str
    peer: str
    question: str
    wall_s: list[float] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)
    matches: int = 0
    equal: bool | None = None
    cold_s: float | None = None
    rss_after_open: int | None = None
    peak_rss: int | None = None

    @property
    def median(self) -> float:
        return statistics.median(self.wall_s)

    @property
    def cpu(self) -> float:
        return statistics.median(self.cpu_s)


class Bench:
    """All figures of one run."""

    def __init__(self, work: Path, questions: Sequence[str]) -> None:
        self.work, self.questions = work, questions
        self.figures: dict[tuple[str, str, str], Figures] = {}
        self.bytes: dict[str, dict[str, int]] = {}
        self.load_s: dict[str, float] = {}
        self._folders: dict[str, Path] = {}

    def folder(self, size: str) -> Path:
        """A size's folder, prepared once a run: an edit in the middle of it changes nothing."""
        if size not in self._folders:
            self._folders[size] = prepare(SIZES[size], self.work, say)
        return self._folders[size]

    def compare(self, size: str, peers: Sequence[str], runs: int, slow_runs: int) -> None:
        """Ask every peer every question in turn (A B C A B C), after the comparison of what they answer, which warms
        them (and one unmeasured run where that is short)."""
        folder = self.folder(size)
        with ExitStack() as stack:
            env = {}
            if "postgres_four_way" in peers:
                say(f"{size}: load PostgreSQL")
                env = {"BENCH_POSTGRES": stack.enter_context(postgres_sql.serve(folder))}
            workers: list[Worker] = []
            for peer in peers:
                say(f"{size}: open {peer}")
                workers.append(Worker(peer, folder, env))
                stack.callback(workers[-1].close)
            for question in self.questions:
                asked = [w for w in workers if w.peer not in SLOW or question in FIVE]
                self._one(size, question, asked, runs, slow_runs)
        self.bytes[size] = store_bytes(folder)
        self.load_s[size] = json.loads((folder / "made.json").read_text()).get("load_s", 0.0)

    def _one(self, size: str, question: str, workers: Sequence[Worker], runs: int, slow_runs: int) -> None:
        # What is not timed runs two at a time: the slow peers take half a minute each.
        with ThreadPoolExecutor(2) as pool:
            answers = dict(zip((w.peer for w in workers), pool.map(lambda w: w.answer(question), workers), strict=True))
        for worker in workers:
            said = answers[worker.peer]
            figures = Figures(size, worker.peer, question, matches=said["matches"])
            first = next(iter(answers.values()))
            figures.equal = said["matched"] == first["matched"] and (
                None in (said["four_way"], first["four_way"]) or said["four_way"] == first["four_way"]
            )
            self.figures[size, worker.peer, question] = figures
            if not worker.peer.endswith("four_way"):
                worker.ask(question)
        for i in range(max(runs, slow_runs)):
            for worker in workers:
                if i >= (slow_runs if worker.peer.endswith("four_way") else runs):
                    continue
                figures, said = self.figures[size, worker.peer, question], worker.ask(question)
                figures.wall_s.append(round(said["wall_s"], 6))
                figures.cpu_s.append(round(said["cpu_s"], 6))
        mine = [self.figures[size, w.peer, question] for w in workers]
        marks = (
            "" if all(f.equal for f in mine) else "  ANSWERS DIFFER: " + ", ".join(f.peer for f in mine if not f.equal)
        )
        say(
            f"{size} {question:30}{mine[0].matches:>10}  " + "  ".join(f"{f.peer} {f.median:.3f}" for f in mine) + marks
        )

    def fresh(self, size: str, peers: Sequence[str], questions: Sequence[str]) -> None:
        """A fresh process a question, with its files out of the page cache: cold time and peak memory."""
        folder = self.folder(size)
        for peer in peers:
            for question in questions:
                forget(folder / "store")
                forget(folder / "typed.duckdb")
                worker = Worker(peer, folder)
                said = worker.ask(question)
                worker.close()
                figures = self.figures.setdefault((size, peer, question), Figures(size, peer, question))
                figures.cold_s = round(worker.opened["open_s"] + said["wall_s"], 6)
                figures.rss_after_open, figures.peak_rss = worker.opened["rss"], said["peak_rss"]
            say(f"{size}: {peer} cold and in a fresh process, {len(questions)} questions")

    def ratios(self, size: str, over: str, under: str, skip: Sequence[str] = (), cpu: bool = False) -> dict[str, float]:
        """`over` / `under`, question by question, where both were measured."""
        found = {}
        for question in self.questions:
            a, b = self.figures.get((size, over, question)), self.figures.get((size, under, question))
            if question not in skip and a and b and a.wall_s and b.wall_s:
                found[question] = (a.cpu / max(b.cpu, 1e-6)) if cpu else a.median / b.median
        return found

    def growth(self, small: str, large: str) -> dict[str, float]:
        """The larger size's time over the smaller's, by question; nothing where they are one size."""
        found: dict[str, float] = {}
        if small == large:
            return found
        for question in self.questions:
            a, b = self.figures.get((large, "closedset", question)), self.figures.get((small, "closedset", question))
            if a and b and a.wall_s and b.wall_s:
                found[question] = a.median / b.median
        return found


@dataclass(frozen=True)
class Measure:
    name: str
    ratio: float | None
    target: str
    verdict: str

    def line(self) -> str:
        ratio = "-" if self.ratio is None else f"{self.ratio:.3g}"
        return f"{self.name:74} {ratio:>9}   {self.target:>12}   {self.verdict}"


def at_most(name: str, ratio: float | None, limit: float) -> Measure:
    return Measure(name, ratio, f"≤ {limit:g}", "absent" if ratio is None else "met" if ratio <= limit else "short")


def at_least(name: str, ratio: float | None, limit: float) -> Measure:
    return Measure(name, ratio, f"≥ {limit:g}", "absent" if ratio is None else "met" if ratio >= limit else "short")


def mean(ratios: dict[str, float]) -> float | None:
    """Geometric mean, None without figures."""
    return statistics.geometric_mean(ratios.values()) if ratios else None


def measures(bench: Bench, shape: Shape, batch: bool) -> list[Measure]:
    """The table of targets, filled from the figures; `batch` measures a thousand questions more."""
    size, (small, large) = shape.size, shape.growth
    expert = bench.ratios(size, "closedset", "duckdb_matched", TRIVIAL)
    by_person = bench.ratios(size, "closedset", "duckdb_by_person", TRIVIAL)
    growth = bench.growth(small, large)
    fresh = [
        f
        for f in bench.figures.values()
        if f.size == large and f.peer == "closedset" and f.peak_rss and f.rss_after_open
    ]
    memory = max(((f.peak_rss or 0) - (f.rss_after_open or 0) for f in fresh), default=None)
    found = [
        at_most(f"warrant / expert matched-only DuckDB, {size}, geometric mean", mean(expert), 1.0),
        at_most(f"  the same, expert's tables sorted by person, {size}, geometric mean", mean(by_person), 1.0),
        at_most(
            f"warrant / expert matched-only DuckDB, {size}, worst question", max(expert.values(), default=None), 3.0
        ),
    ]
    for peer, limit in (("duckdb", 10), ("polars", 10), ("postgres", 100), ("sqlite", 100)):
        four = bench.ratios(size, f"{peer}_four_way", "closedset")
        found.append(at_least(f"{peer} four-way / warrant, {size}, geometric mean of {len(four)}", mean(four), limit))
    found += [
        at_most(f"growth {small} to {large} rows, geometric mean", mean(growth), 11.0),
        at_most(f"growth {small} to {large} rows, worst question", max(growth.values(), default=None), 11.0),
        at_most(
            f"peak RSS of a search over RSS after opening, {large}, GiB", None if memory is None else memory / GIB, 1.0
        ),
        at_most("roster search in process / its rendered SQL alone", in_process.roster_ratio(), 5.0),
        at_most(
            "1,000 mixed questions as a batch / one by one",
            in_process.batch_ratio(bench.work / small / "store") if batch else None,
            0.5,
        ),
    ]
    compared = [f.equal for f in bench.figures.values() if f.peer != "closedset" and f.equal is not None]
    unequal = float(compared.count(False)) if compared else None
    found.append(at_most(f"answers that differ from a peer's, id by id, of {len(compared)} compared", unequal, 0))
    return found


def table(bench: Bench, size: str) -> str:
    """The questions side by side, slowest against the expert first; CPU ratios beside wall on a busy machine."""
    wall = bench.ratios(size, "closedset", "duckdb_matched")
    cpu = bench.ratios(size, "closedset", "duckdb_matched", cpu=True)
    peers = [p for p in PEERS if any(f.size == size and f.peer == p for f in bench.figures.values())]
    lines = [
        f"{size:30}{'matched':>10}"
        + "".join(f"{p.replace('_four_way', ' 4').replace('_', ' '):>16}" for p in peers)
        + f"{'/expert':>9}{'(CPU)':>8}"
    ]
    for question in sorted(wall, key=lambda q: -wall[q]):
        cells = []
        for peer in peers:
            figures = bench.figures.get((size, peer, question))
            cells.append(f"{figures.median:>16.3f}" if figures and figures.wall_s else f"{'':>16}")
        matches = bench.figures[size, "closedset", question].matches
        lines.append(f"{question:30}{matches:>10}{''.join(cells)}{wall[question]:>9.1f}{cpu[question]:>8.1f}")
    return "\n".join(lines)


def machine() -> dict[str, Any]:
    import duckdb
    import polars

    return {
        "cores": os.cpu_count(), "load_average": os.getloadavg(), "python": platform.python_version(),
        "duckdb": duckdb.__version__, "polars": polars.__version__, "system": platform.system(),
    }  # fmt: skip


def say(text: str) -> None:
    print(f"[{time.strftime('%H:%M:%S')}] {text}", file=sys.stderr, flush=True)


def parse(words: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--quick", action="store_true", help="10 M rows, growth from 1 M to 10 M (the default)")
    how.add_argument(
        "--full", action="store_true", help="60 M rows, growth from 10 M to 100 M: hours, and 30 GB of disk"
    )
    parser.add_argument("--questions", help="only these, comma-separated")
    parser.add_argument(
        "--sizes", help=f"only compare at these: {', '.join(SIZES)}; growth is between the first and the last"
    )
    parser.add_argument("--peers", help=f"only these: {', '.join(PEERS)} (closedset always)")
    parser.add_argument("--no-fresh", action="store_true", help="leave out cold times and peak memory")
    parser.add_argument("--no-batch", action="store_true", help="leave out the batch of a thousand questions")
    parser.add_argument(
        "--work", type=Path, default=Path(__file__).parent / "work", help="where the data is made and kept"
    )
    parser.add_argument("--out", type=Path, help="the result file (default: results/ with the date)")
    return parser.parse_args(words)


def main() -> None:
    args = parse()
    # A terminated run must still stop the server it started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    shape = FULL if args.full else QUICK
    sizes = args.sizes.split(",") if args.sizes else [shape.growth[0], shape.size, shape.growth[1]]
    sizes = [s for s in SIZES if s in sizes]
    if args.sizes:
        shape = Shape(shape.name, sizes[-1], (sizes[0], sizes[-1]), shape.runs, shape.slow_runs)
    asked = args.questions.split(",") if args.questions else [q.name for q in QUESTIONS]
    for unknown in [q for q in asked if q not in BY_NAME]:
        raise SystemExit(f"no question {unknown}; there are: {', '.join(BY_NAME)}")
    chosen = args.peers.split(",") if args.peers else list(PEERS)
    bench = Bench(args.work, asked)
    started = datetime.now(UTC)
    for size in sizes:
        # Elsewhere only closedset and the expert are asked: growth needs no more.
        peers = [p for p in PEERS if p in chosen or p == "closedset"]
        if size != shape.size:
            peers = [p for p in peers if p in ("closedset", "duckdb_matched")]
        if size != "1M":
            peers = [p for p in peers if p != "pandas_four_way"]
        bench.compare(size, peers, shape.runs, shape.slow_runs)
    if "pandas_four_way" in chosen and "1M" in sizes and shape.size != "1M":
        Bench.compare(bench, "1M", ["closedset", "pandas_four_way"], shape.runs, shape.slow_runs)
    if not args.no_fresh:
        everyone = asked if args.full else [q for q in asked if q in FIVE]
        bench.fresh(shape.growth[1], ["closedset"], asked)
        bench.fresh(shape.growth[1], ["duckdb_matched"], everyone)
    found = measures(bench, shape, not args.no_batch)
    record = {
        "started": started.isoformat(timespec="seconds"), "shape": shape.name, "machine": machine(),
        "measures": [asdict(m) for m in found], "store_bytes": bench.bytes, "load_s": bench.load_s,
        "figures": [asdict(f) for f in bench.figures.values()],
    }  # fmt: skip
    out = args.out or RESULTS / f"{started:%Y-%m-%d-%H%M}-{shape.name}.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(record, indent=1) + "\n")
    for size in sizes:
        print(table(bench, size), end="\n\n")
    print(f"results: {out}\n")
    for measure in found:
        print(measure.line())


if __name__ == "__main__":
    main()
