"""pandas, at 1 M rows only: the four-way partition of five questions, each truth as two masks by hand."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
from benchmarks.peers.answer import MATCHED, NONE, NOT_RECORDED, UNDETERMINED, Answer, of_verdicts
from benchmarks.questions import LOOKED_AT, Question
from benchmarks.typed import TABLES

Masks = tuple[Any, Any]
_DACH = ["DACH", "Germany", "Austria", "Switzerland"]
_EUROPE = [
    *_DACH, "Europe", "Nordics", "Sweden", "Norway", "Denmark", "Finland", "United Kingdom", "France", "Italy", "Spain",
    "Poland", "Netherlands",
]  # fmt: skip


def _in(column: Any, terms: list[str], unknown: tuple[str, ...] = ()) -> Masks:
    true = column.isin(terms)
    return true, column.notna() & ~true & ~column.isin(list(unknown))


def _both(*tests: Masks) -> Masks:
    true, false = tests[0]
    for t, f in tests[1:]:
        true, false = true & t, false | f
    return true, false


def _by(frame: Any, day: str) -> Masks:
    at = pd.Timestamp(day)
    return frame.on_end <= at, frame.on_start > at


def _held(frame: Any, day: str) -> Masks:
    at = pd.Timestamp(day)
    began = (frame.from_end <= at, frame.from_start > at)
    goes_on = ((frame.to_start > at) | (frame.to_start.isna() & frame.from_start.notna()), frame.to_end <= at)
    return _both(began, goes_on)


def _vp_sales_dach(role: Any) -> Masks:
    return _both(
        _in(role.seniority, ["VP", "SVP", "C-level"]),
        _in(role.function, ["Sales"], ("Commercial",)),
        _in(role.geography, _DACH, ("Europe",)),
    )


def _passed(screening: Any) -> Masks:
    return _both(_in(screening.kind, ["compliance"]), _in(screening.outcome, ["passed"]))


_TRUTHS: dict[str, dict[str, Callable[[Any], Masks]]] = {
    "vp_sales_dach_screened": {"role": _vp_sales_dach, "screening": _passed},
    "vp_sales_dach_screened_2018": {
        "role": lambda f: _both(_vp_sales_dach(f), _held(f, "2018-01-31")),
        "screening": lambda f: _both(_passed(f), _by(f, "2018-01-31")),
    },
    "directors_in_europe": {
        "role": lambda f: _both(_in(f.seniority, ["Director", "VP", "SVP", "C-level"]), _in(f.geography, _EUROPE)),
    },
    "compliance_passed_by_2020": {"screening": lambda f: _both(_passed(f), _by(f, "2020-01-31"))},
    "eight_over_four": {
        "role": lambda f: _both(
            _in(f.seniority, ["Director", "VP", "SVP", "C-level"]),
            _in(f.function, ["Technical", "Engineering", "Quality", "Research", "Security"]),
            _in(f.geography, _EUROPE),
        ),
        "screening": _passed,
        "engagement": lambda f: _both(
            _in(f.topic, ["Strategy", "Pricing", "Market entry", "Due diligence"]), (f.rate <= 500, f.rate > 500)
        ),
        "certificate": lambda f: _in(f.grade, ["Practitioner", "Professional", "Expert"]),
    },
}


class PandasFourWay:
    def __init__(self, folder: Path) -> None:
        con = duckdb.connect(str(folder / "typed.duckdb"), read_only=True)
        self._frames = {name: con.sql(f"SELECT * FROM {name}").df() for name in TABLES}
        if "engagement" in self._frames:
            self._frames["engagement"]["rate"] = self._frames["engagement"]["rate"].astype(float)
        con.close()

    def _verdicts(self, question: Question) -> Any:
        person = pd.Index(self._frames["person"].person_id)
        each = []
        for table, truth in _TRUTHS[question.name].items():
            frame = self._frames[table]
            true, false = truth(frame)
            code = pd.Series(np.where(true, 2, np.where(false, 0, 1)), index=frame.person_id)
            value = code.groupby(level=0).max().reindex(person)
            looked = LOOKED_AT[table]
            if looked == "person":
                never: Any = 0
            elif looked is None:
                never = -1
            else:
                never = np.where(person.isin(self._frames[looked].person_id), 0, -1)
            each.append(np.where(value.isna(), never, value))
        stacked = np.vstack(each)
        never_looked = np.where((stacked == -1).any(axis=0), NOT_RECORDED, UNDETERMINED)
        decided = np.where((stacked == 0).any(axis=0), NONE, never_looked)
        return person, np.where((stacked == 2).all(axis=0), MATCHED, decided)

    def ask(self, question: Question) -> None:
        np.unique(self._verdicts(question)[1], return_counts=True)

    def answer(self, question: Question) -> Answer:
        return of_verdicts(*self._verdicts(question))
