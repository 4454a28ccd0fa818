"""PostgreSQL with indexes, analysed: the four-way partition in the same SQL, over a server of its own.

`serve` starts it on a private port over a private data directory; `stop` ends it. Nothing of it outlives a run
but the data directory, which the next run reuses.
"""

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import psycopg
from benchmarks.peers import four_way
from benchmarks.peers.answer import Answer, of_verdicts
from benchmarks.peers.sqlite_sql import INDEXES
from benchmarks.questions import Question
from benchmarks.typed import TABLES

_SETTINGS = {
    "shared_buffers": "2GB",
    "work_mem": "512MB",
    "maintenance_work_mem": "1GB",
    "effective_cache_size": "8GB",
    "max_parallel_workers_per_gather": "2",
    "random_page_cost": "1.1",
    "jit": "off",
    "fsync": "off",
    "full_page_writes": "off",
    "max_wal_size": "8GB",
    "listen_addresses": "",
}
_TYPES = {"INTEGER": "integer", "DATE": "date", "DECIMAL(9,2)": "numeric(9,2)"}


def _programs() -> Path:
    """The folder of PostgreSQL 15's server programs (Debian: `apt-get install postgresql`)."""
    for folder in ("/usr/lib/postgresql/15/bin", *os.environ.get("PATH", "").split(":")):
        if (Path(folder) / "initdb").exists() and (Path(folder) / "pg_ctl").exists():
            return Path(folder).resolve()
    raise SystemExit("PostgreSQL is not installed: apt-get install postgresql, or leave it out with --peers")


def _run(*words: str) -> None:
    """Run one of its programs; the server refuses to run as root, so root runs it as `postgres`."""
    user = {"user": "postgres", "group": "postgres", "extra_groups": []} if os.geteuid() == 0 else {}
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, cwd="/", **user)  # type: ignore[call-overload]


@contextmanager
def serve(folder: Path) -> Iterator[str]:
    """A running server over `folder/postgres`, loaded; gives what `psycopg.connect` takes."""
    data = folder / "postgres"
    ready = data / "LOADED"
    if not ready.exists():
        shutil.rmtree(data, ignore_errors=True)
        data.mkdir()
        if os.geteuid() == 0:
            shutil.chown(data, "postgres", "postgres")
        data.chmod(0o700)
        _run(
            str(_programs() / "initdb"),
            "-D",
            str(data),
            "-U",
            "bench",
            "--no-sync",
            "--locale=C",
            "-E",
            "UTF8",
            "-A",
            "trust",
        )
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = " ".join(f"-c {name}={value or repr(value)}" for name, value in _SETTINGS.items())
    control = str(_programs() / "pg_ctl")
    _run(
        control,
        "-D",
        str(data),
        "-w",
        "-t",
        "60",
        "-l",
        str(data / "log"),
        "-o",
        f"-p {port} -k {data} {options}",
        "start",
    )
    try:
        where = f"host={data} port={port} user=bench dbname=postgres"
        if not ready.exists():
            _load(folder, where)
            ready.touch()
        yield where
    finally:
        _run(control, "-D", str(data), "-m", "fast", "-w", "stop")


def _load(folder: Path, where: str) -> None:
    source = duckdb.connect(str(folder / "typed.duckdb"), read_only=True)
    with psycopg.connect(where, autocommit=True) as con:
        for table in TABLES:
            described = source.execute(f"DESCRIBE {table}").fetchall()
            columns = ", ".join(f"{c[0]} {_TYPES.get(c[1], 'text')}" for c in described)
            con.execute(f"CREATE TABLE {table} ({columns})")
            file = folder / f"{table}.copy.csv"
            source.execute(f"COPY {table} TO '{file}' (FORMAT csv, HEADER false)")
            with con.cursor().copy(f"COPY {table} FROM STDIN (FORMAT csv)") as copy, file.open("rb") as stream:
                while block := stream.read(1 << 20):
                    copy.write(block)
            file.unlink()
            for index in INDEXES.get(table, ()):
                con.execute(f"CREATE INDEX ON {table} ({index})")
            if table not in INDEXES:
                con.execute(f"ALTER TABLE {table} ADD PRIMARY KEY (person_id)")
        con.execute("VACUUM ANALYZE")
    source.close()


class PostgresFourWay:
    """Takes in `BENCH_POSTGRES` where the served database is."""

    def __init__(self, folder: Path) -> None:
        self._con = psycopg.connect(os.environ["BENCH_POSTGRES"], autocommit=True)

    def ask(self, question: Question) -> None:
        self._con.execute(four_way.counts(question)).fetchall()

    def answer(self, question: Question) -> Answer:
        rows = self._con.execute(four_way.verdicts(question)).fetchall()
        return of_verdicts([r[0] for r in rows], [r[1] for r in rows])
