"""Polars: the four-way partition over frames held in memory, as one lazy query."""

from pathlib import Path

import duckdb
import polars as pl
from benchmarks.peers.answer import MATCHED, NONE, NOT_RECORDED, UNDETERMINED, Answer, of_verdicts
from benchmarks.questions import LOOKED_AT, Question
from benchmarks.typed import TABLES


class PolarsFourWay:
    def __init__(self, folder: Path) -> None:
        con = duckdb.connect(str(folder / "typed.duckdb"), read_only=True)
        self._frames = {}
        for name in TABLES:
            frame = pl.DataFrame(con.sql(f"FROM {name}").to_arrow_table())
            self._frames[name] = frame.with_columns(pl.col("person_id").set_sorted()).rechunk()
        con.close()

    def _verdicts(self, question: Question) -> pl.LazyFrame:
        everybody = self._frames["person"].lazy()
        if not question.truths:
            return everybody.with_columns(pl.lit(MATCHED, pl.Int8).alias("verdict"))
        for i, (table, truth) in enumerate(question.truths.items()):
            t = pl.sql_expr(truth).alias("t")
            code = pl.when(pl.col("t")).then(2).when(pl.col("t").is_null()).then(1).otherwise(0).cast(pl.Int8)
            group = self._frames[table].lazy().select("person_id", t).select("person_id", code.alias(f"v{i}"))
            everybody = everybody.join(
                group.group_by("person_id").agg(pl.col(f"v{i}").max()), on="person_id", how="left"
            )
            looked = LOOKED_AT[table]
            if looked == "person":
                never: pl.Expr = pl.lit(0, pl.Int8)
            elif looked is None:
                never = pl.lit(-1, pl.Int8)
            else:
                listed = self._frames[looked].lazy().with_columns(pl.lit(0, pl.Int8).alias(f"l{i}"))
                everybody = everybody.join(listed, on="person_id", how="left")
                never = pl.col(f"l{i}").fill_null(-1)
            everybody = everybody.with_columns(pl.col(f"v{i}").fill_null(never))
        each = [pl.col(f"v{i}") for i in range(len(question.truths))]
        verdict = (
            pl.when(pl.all_horizontal(v == 2 for v in each)).then(MATCHED)
            .when(pl.any_horizontal(v == 0 for v in each)).then(NONE)
            .when(pl.any_horizontal(v == -1 for v in each)).then(NOT_RECORDED)
            .otherwise(UNDETERMINED)
        )  # fmt: skip
        return everybody.select("person_id", verdict.cast(pl.Int8).alias("verdict"))

    def ask(self, question: Question) -> None:
        self._verdicts(question).group_by("verdict").len().collect()

    def answer(self, question: Question) -> Answer:
        frame = self._verdicts(question).collect()
        return of_verdicts(frame["person_id"].to_numpy(), frame["verdict"].to_numpy())
