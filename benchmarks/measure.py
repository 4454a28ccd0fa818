"""One peer in one process: told a question a line on stdin, it answers one JSON line of figures.

`run.py` keeps one such process a peer and asks them in turn, so that a noisy minute hits all of them.
"""

import importlib
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

PEERS = {
    "closedset": "engine:Engine",
    "duckdb_matched": "duckdb_sql:Matched",
    "duckdb_by_person": "duckdb_sql:ByPerson",
    "duckdb_four_way": "duckdb_sql:FourWay",
    "polars_four_way": "polars_lazy:PolarsFourWay",
    "sqlite_four_way": "sqlite_sql:SqliteFourWay",
    "postgres_four_way": "postgres_sql:PostgresFourWay",
    "pandas_four_way": "pandas_frames:PandasFourWay",
    "roaring_sets": "roaring:Roaring",
}


class Worker:
    """A running peer. `ask` gives its figures for one question, `answer` what it answers."""

    def __init__(self, peer: str, folder: Path, env: dict[str, str] | None = None) -> None:
        self.peer = peer
        self._process = subprocess.Popen(
            [sys.executable, __file__, peer, str(folder)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **(env or {})},
        )  # fmt: skip
        self.opened = self._read()

    def ask(self, question: str) -> dict[str, Any]:
        return self._say({"do": "ask", "question": question})

    def answer(self, question: str) -> dict[str, Any]:
        return self._say({"do": "answer", "question": question})

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=60)

    def _say(self, command: dict[str, str]) -> dict[str, Any]:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()
        return self._read()

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"{self.peer}: its process ended ({self._process.wait()}); its error is above")
        said: dict[str, Any] = json.loads(line)
        return said


def forget(path: Path) -> None:
    """Drop a file or folder from the page cache (posix_fadvise, DONTNEED: no root needed)."""
    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        if file.is_file():
            handle = os.open(file, os.O_RDONLY)
            try:
                os.fsync(handle)
                os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(handle)


def _memory(figure: str) -> int:
    """A figure of this process in bytes. Not what `getrusage` calls the peak: that starts at the peak of whoever
    started the process."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{figure}:"):
            return int(line.split()[1]) * 1024
    raise AssertionError(f"no {figure}")


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main(peer: str, folder: Path) -> None:
    from benchmarks.questions import BY_NAME

    module, name = PEERS[peer].split(":")
    kind = getattr(importlib.import_module(f"benchmarks.peers.{module}"), name)
    start = time.perf_counter()
    one = kind(folder)
    _reply({"open_s": time.perf_counter() - start, "rss": _memory("VmRSS")})
    for line in sys.stdin:
        command = json.loads(line)
        question = BY_NAME[command["question"]]
        if command["do"] == "answer":
            _reply(one.answer(question).record())
            continue
        if hasattr(one, "prepare"):
            one.prepare(question)
        cpu, start = _cpu(), time.perf_counter()
        one.ask(question)
        wall = time.perf_counter() - start
        _reply({"wall_s": wall, "cpu_s": _cpu() - cpu, "peak_rss": _memory("VmHWM")})


def _reply(said: dict[str, Any]) -> None:
    print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
