"""An expert's hand-written DuckDB SQL over the typed tables."""

from pathlib import Path

import duckdb
from benchmarks.peers import four_way
from benchmarks.peers.answer import Answer, of_matched, of_verdicts
from benchmarks.questions import Question


class ByPerson:
    """The matched ids alone, fetched to Arrow, over tables sorted by person."""

    def __init__(self, folder: Path) -> None:
        self._con = duckdb.connect(str(folder / "typed.duckdb"), read_only=True)

    def ask(self, question: Question) -> None:
        self._con.sql(question.matched).to_arrow_table()

    def answer(self, question: Question) -> Answer:
        return of_matched(self._con.sql(question.matched).to_arrow_table().column("person_id").to_numpy())


class Matched(ByPerson):
    """The same over tables sorted by what is asked most: the expert the targets are set against."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._con.execute("SET search_path = 'by_filter,main'")


class FourWay(ByPerson):
    """The four-way partition by GROUP BY and outer joins; timed: its four counts only."""

    def ask(self, question: Question) -> None:
        self._con.sql(four_way.counts(question)).to_arrow_table()

    def answer(self, question: Question) -> Answer:
        table = self._con.sql(four_way.verdicts(question)).to_arrow_table()
        return of_verdicts(table.column("person_id").to_numpy(), table.column("verdict").to_numpy())
