"""The period of a table's rows: two columns of dates of which one starts what the other ends."""

from collections.abc import Sequence
from dataclasses import dataclass

import duckdb

from closedset import dates
from closedset.catalog import SourceTable, kept_as
from closedset.fold import WHITE_SPACE
from closedset.load.proposal.identifier import words
from closedset.load.proposal.slots import PAIRS, Proposed
from closedset.render import render


@dataclass(frozen=True)
class Period:
    """Two columns that may be a period; `reversed_rows` end before they start."""

    start: Proposed
    end: Proposed
    reversed_rows: int


def periods(con: duckdb.DuckDBPyConnection, table: SourceTable, slots: Sequence[Proposed]) -> list[Period]:
    """Every pair of a table's columns that may be a period. One pair that no row reverses is certain."""
    found = []
    for start in slots:
        for end in slots:
            # An end that is empty in every row is still open in every row.
            dated = start.kind == "date" and (end.kind == "date" or not end.column.filled)
            if dated and _paired(words(start.column.name), words(end.column.name)):
                found.append(Period(start, end, _reversed(con, table, start, end)))
    return found


def _paired(start: list[str], end: list[str]) -> bool:
    return any(
        word in start and other in end and _without(start, word) == _without(end, other) for word, other in PAIRS
    )


def _without(said: list[str], word: str) -> list[str]:
    at = said.index(word)
    return [*said[:at], *said[at + 1 :]]


def _reversed(con: duckdb.DuckDBPyConnection, table: SourceTable, start: Proposed, end: Proposed) -> int:
    import pyarrow as pa

    for name, one in (("proposed_start", start), ("proposed_end", end)):
        sql = render("load/proposal_texts.sql.j2", cells=table.cells, column=kept_as(one.column.name))
        said = [text for text, _ in con.execute(sql, {"white_space": WHITE_SPACE}).fetchall()]
        spans = [dates.read(text, (one.dates,) if one.dates else ()) for text in said]
        days = [span and (span.start if one is start else span.end) for span in spans]
        con.register(name, pa.table({"said": pa.array(said, pa.string()), "day": pa.array(days, pa.date32())}))
    sql = render(
        "load/proposal_reversed.sql.j2",
        cells=table.cells, start=kept_as(start.column.name), end=kept_as(end.column.name),
    )  # fmt: skip
    ((count,),) = con.execute(sql, {"white_space": WHITE_SPACE}).fetchall()
    for name in ("proposed_start", "proposed_end"):
        con.unregister(name)
    return int(count)
