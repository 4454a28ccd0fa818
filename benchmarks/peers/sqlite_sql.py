"""SQLite with indexes, analysed: the four-way partition in the same SQL."""

import re
import sqlite3
from pathlib import Path

import duckdb
from benchmarks.peers import four_way
from benchmarks.peers.answer import Answer, of_verdicts
from benchmarks.questions import Question
from benchmarks.typed import TABLES

INDEXES = {
    "role": ("person_id", "seniority, geography", "function"),
    "screening": ("person_id", "kind, outcome"),
    "engagement": ("person_id", "topic"),
    "certificate": ("person_id", "scheme, grade"),
    "language": ("person_id", "language, fluency"),
}
_BATCH = 200_000


def build(folder: Path) -> None:
    """Copy the typed tables into an SQLite file; dates are ISO text there."""
    file = folder / "typed.sqlite"
    if file.exists():
        return
    building = file.with_suffix(".building")
    building.unlink(missing_ok=True)
    source = duckdb.connect(str(folder / "typed.duckdb"), read_only=True)
    con = sqlite3.connect(building)
    con.execute("PRAGMA journal_mode = OFF")
    con.execute("PRAGMA synchronous = OFF")
    for table in TABLES:
        columns = [c[0] for c in source.execute(f"DESCRIBE {table}").fetchall()]
        key = " PRIMARY KEY" if len(columns) == 1 else ""
        con.execute(
            f"CREATE TABLE {table} ({', '.join(c + (' INTEGER' + key if c == 'person_id' else '') for c in columns)})"
        )
        casts = ", ".join(_cast(c) for c in columns)
        result = source.execute(f"SELECT {casts} FROM {table}")
        slots = ", ".join("?" * len(columns))
        while rows := result.fetchmany(_BATCH):
            con.executemany(f"INSERT INTO {table} VALUES ({slots})", rows)
        for index in INDEXES.get(table, ()):
            con.execute(f"CREATE INDEX {table}_{re.sub('[^a-z]+', '_', index)} ON {table} ({index})")
    con.execute("ANALYZE")
    con.commit()
    con.close()
    building.rename(file)


def _cast(column: str) -> str:
    if column.endswith(("_start", "_end")):
        return f"{column}::VARCHAR"
    return {"rate": "rate::DOUBLE", "person_id": "person_id", "hours": "hours"}.get(column, f"{column}::VARCHAR")


class SqliteFourWay:
    def __init__(self, folder: Path) -> None:
        build(folder)
        self._con = sqlite3.connect(f"file:{folder / 'typed.sqlite'}?mode=ro", uri=True)
        self._con.execute("PRAGMA cache_size = -2000000")
        self._con.execute("PRAGMA temp_store = MEMORY")
        self._con.execute("PRAGMA mmap_size = 8000000000")

    def _run(self, sql: str) -> list[tuple[int, int]]:
        return self._con.execute(re.sub(r"DATE ('[0-9-]+')", r"\1", sql)).fetchall()

    def ask(self, question: Question) -> None:
        self._run(four_way.counts(question))

    def answer(self, question: Question) -> Answer:
        rows = self._run(four_way.verdicts(question))
        return of_verdicts([r[0] for r in rows], [r[1] for r in rows])
