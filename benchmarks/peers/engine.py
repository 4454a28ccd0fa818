"""closedset itself: the full reply (partition, counts per constraint, licence, first page with receipts)."""

import sys
from importlib.abc import MetaPathFinder
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.peers.answer import VERDICTS, Answer, of_verdicts
from benchmarks.questions import Question


class _NoPandas(MetaPathFinder):
    """pyarrow imports pandas for its own convenience wherever it is installed; closedset does not require it."""

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> None:
        if fullname == "pandas":
            raise ModuleNotFoundError(fullname)


sys.meta_path.insert(0, _NoPandas())


class Engine:
    def __init__(self, folder: Path) -> None:
        import closedset

        self._store = closedset.open(folder / "store")

    def ask(self, question: Question) -> None:
        self._store.search(question.request())

    def answer(self, question: Question) -> Answer:
        table = self._store.partition(question.request())
        said: Any = self._store.search(question.request())
        counts = said.counts if not isinstance(said, dict) else said["counts"]
        names = table.column("verdict").combine_chunks().dictionary_encode()
        codes = np.array([VERDICTS[v] for v in names.dictionary.to_pylist()] or [0], dtype=np.int8)
        found = of_verdicts(table.column("entity_id").cast("int64").to_numpy(), codes[names.indices.to_numpy()])
        matched = counts["matched"] if isinstance(counts, dict) else counts.matched
        if matched != found.matches:
            raise AssertionError(f"{question.name}: the reply counts {matched} matched, its partition {found.matches}")
        return found
