# ruff: noqa: E501 (SQL reads better whole)
"""The peers' tables: what an expert makes of the same export before asking it anything in SQL.

Terms are cleaned to the vocabulary (what is on no term becomes NULL, the raw function is kept for one
question), dates become first and last day, numbers DECIMAL; ids stay integers, as the export has them. The tables
are kept twice: sorted by person (good for GROUP BY), and in the schema `by_filter` by what is asked most (zone maps). A row the CSV lost is a row of NULLs, so that the four-way peers can say "cannot tell".
"""

from pathlib import Path

import duckdb
from benchmarks.generate import AXES, Size, late_rows

TABLES = ("person", "role", "screening", "engagement", "certificate", "language", "screening_checked", "engagement_log")

#: Measured at 10 M rows: matched-only SQL over these takes half the CPU time (geometric mean) it takes by person;
#: text instead of ENUM changes nothing.
BY_FILTER = {
    "role": "seniority, geography, person_id",
    "screening": "kind, outcome, person_id",
    "engagement": "topic, person_id",
    "certificate": "scheme, grade, person_id",
    "language": "language, fluency, person_id",
}


def build(size: Size, export: Path, file: Path) -> None:
    """Write the typed tables of one export as a DuckDB database, checkpointed and analysed."""
    file.unlink(missing_ok=True)
    con = duckdb.connect(str(file))
    for axis, surfaces in AXES.items():
        terms = list(dict.fromkeys(term for _, term, _ in surfaces if term))
        con.execute(f"CREATE TYPE {axis}_term AS ENUM ({', '.join(repr(t) for t in terms)})")
        con.execute(f"CREATE TEMP TABLE {axis}_surface (surface VARCHAR, term {axis}_term)")
        con.executemany(f"INSERT INTO {axis}_surface VALUES (?, ?)", [[s, t] for s, t, _ in surfaces if s])
    parquet = {name: f"read_parquet('{export / name}.parquet')" for name in
               ("people", "roles", "screenings", "engagements", "certificates", "languages", "screening_checked", "engagement_log")}  # fmt: skip
    for name, source in (
        ("person", "people"),
        ("screening_checked", "screening_checked"),
        ("engagement_log", "engagement_log"),
    ):
        con.execute(f"CREATE TABLE {name} AS SELECT person_id FROM {parquet[source]} ORDER BY person_id")
    _role(con, parquet["roles"])
    con.execute(f"""
        CREATE TABLE screening AS
        SELECT person_id, kind.term AS kind, outcome.term AS outcome, {_span("screened_on", "on")}
        FROM {parquet["screenings"]} AS row {_placed("kind")} {_placed("outcome")} ORDER BY person_id""")
    con.execute(f"""
        CREATE TABLE engagement AS
        SELECT person_id, topic.term AS topic, try_cast(rate AS DECIMAL(9, 2)) AS rate, try_cast(hours AS INTEGER) AS hours,
               {_span("engaged_on", "on")}
        FROM {parquet["engagements"]} AS row {_placed("topic")} WHERE person_id IS NOT NULL ORDER BY person_id""")
    con.execute(
        "CREATE TEMP TABLE late (person_id INTEGER, scheme VARCHAR, grade VARCHAR, issued VARCHAR, expires VARCHAR)"
    )
    con.executemany(
        "INSERT INTO late VALUES (?, ?, ?, ?, ?)",
        [[p, None, None, None, None] if ragged else [p, *cells] for p, *cells, ragged in late_rows(size)],
    )
    con.execute(f"""
        CREATE TABLE certificate AS
        SELECT person_id, scheme.term AS scheme, grade.term AS grade, {_span("issued", "issued")}, {_span("expires", "expires")}
        FROM (FROM {parquet["certificates"]} UNION ALL FROM late) AS row {_placed("scheme")} {_placed("grade")} ORDER BY person_id""")
    con.execute(f"""
        CREATE TABLE language AS
        SELECT person_id, language.term AS language, fluency.term AS fluency
        FROM {parquet["languages"]} AS row {_placed("language")} {_placed("fluency")} ORDER BY person_id""")
    con.execute("CREATE SCHEMA by_filter")
    for name, order in BY_FILTER.items():
        con.execute(f"CREATE TABLE by_filter.{name} AS SELECT * FROM {name} ORDER BY {order}")
    con.execute("ANALYZE")
    con.execute("CHECKPOINT")
    con.close()


def _role(con: duckdb.DuckDBPyConnection, source: str) -> None:
    """Roles; a period that ends before it begins is as good as none, so both its ends become NULL."""
    con.execute(f"""
        CREATE TABLE role AS
        SELECT person_id, seniority, function, geography, industry, company, function_raw,
               CASE WHEN NOT bad THEN from_start END AS from_start, CASE WHEN NOT bad THEN from_end END AS from_end,
               CASE WHEN NOT bad THEN to_start END AS to_start, CASE WHEN NOT bad THEN to_end END AS to_end
        FROM (
            SELECT *, coalesce(from_start > to_end, FALSE) AS bad
            FROM (
                SELECT person_id, seniority.term AS seniority, function.term AS function, geography.term AS geography,
                       industry.term AS industry, employer AS company,
                       CASE WHEN function.term IS NULL THEN lower(trim(row.function)) END AS function_raw,
                       {_span("started_on", "from")}, {_span("ended_on", "to")}
                FROM {source} AS row
                {_placed("seniority", "level")} {_placed("function")} {_placed("geography", "country")} {_placed("industry")}
            )
        )
        ORDER BY person_id""")


def _placed(axis: str, column: str = "") -> str:
    return f"LEFT JOIN {axis}_surface AS {axis} ON {axis}.surface = row.{column or axis}"


def _span(column: str, name: str) -> str:
    """First and last day of an ISO day, month or year; NULL for anything else."""
    text = f"row.{column}"
    iso = f"regexp_full_match({text}, '[0-9]{{4}}(-[0-9]{{2}}){{0,2}}')"
    first = f"CASE WHEN {iso} THEN ({text} || substr('-01-01', length({text}) - 3))::DATE END"
    last = f"""CASE WHEN NOT {iso} THEN NULL WHEN length({text}) = 10 THEN {text}::DATE
                    WHEN length({text}) = 7 THEN last_day(({text} || '-01')::DATE) ELSE ({text} || '-12-31')::DATE END"""
    return f"{first} AS {name}_start, {last} AS {name}_end"
