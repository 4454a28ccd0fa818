"""Roaring bitmaps, the lower bound: the set algebra alone, over bitmaps that somebody already made.

Who holds a true row, an unknown row and who was looked at is found beforehand, untimed; timed is what no
engine can save: combining the sets into four and counting them.
"""

from pathlib import Path

import duckdb
import numpy as np
from benchmarks.peers.answer import MATCHED, NONE, NOT_RECORDED, UNDETERMINED, Answer, of_verdicts
from benchmarks.questions import LOOKED_AT, Question
from pyroaring import BitMap

_Sets = tuple[BitMap, BitMap, BitMap]


class Roaring:
    def __init__(self, folder: Path) -> None:
        self._con = duckdb.connect(str(folder / "typed.duckdb"), read_only=True)
        self._everybody = self._people("SELECT person_id FROM person")
        self._ready: dict[str, list[_Sets]] = {}

    def _people(self, sql: str) -> BitMap:
        ids = self._con.sql(sql).to_arrow_table().column("person_id").to_numpy()
        return BitMap(((ids - 10_000_000) // 4).astype(np.uint32))

    def _sets(self, question: Question) -> list[_Sets]:
        if question.name not in self._ready:
            found = []
            for table, truth in question.truths.items():
                looked = LOOKED_AT[table]
                covered = self._people(f"SELECT DISTINCT person_id FROM {table}")
                if looked:
                    covered |= self._people(f"SELECT person_id FROM {looked}")
                true = self._people(f"SELECT DISTINCT person_id FROM {table} WHERE ({truth})")
                unknown = self._people(f"SELECT DISTINCT person_id FROM {table} WHERE ({truth}) IS NULL")
                found.append((true, unknown, covered))
            self._ready = {question.name: found}
        return self._ready[question.name]

    def prepare(self, question: Question) -> None:
        self._sets(question)

    def _decide(self, question: Question) -> tuple[BitMap, BitMap, BitMap, BitMap]:
        everybody = self._everybody
        matched, none, never = everybody, BitMap(), BitMap()
        for true, unknown, covered in self._sets(question):
            matched = matched & true
            none |= covered - true - unknown
            never |= everybody - covered
        never -= none
        undetermined = everybody - matched - none - never
        return matched, none, never, undetermined

    def ask(self, question: Question) -> None:
        for found in self._decide(question):
            len(found)

    def answer(self, question: Question) -> Answer:
        verdicts = np.full(len(self._everybody), -1, dtype=np.int8)
        for code, found in zip((MATCHED, NONE, NOT_RECORDED, UNDETERMINED), self._decide(question), strict=True):
            verdicts[np.array(found.to_array(), dtype=np.int64)] = code
        return of_verdicts(10_000_000 + 4 * np.arange(len(verdicts), dtype=np.int64), verdicts)
