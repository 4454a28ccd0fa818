# ruff: noqa: E501 (SQL and lists read better whole)
"""The seeded export: an expert network at any size, as a warehouse would write it, beside its pack and map.

Every value is a hash of its row's number and the seed, so the same seed, size and DuckDB version give the
same bytes. A person's roles resemble each other (correlated slots), people and terms are skewed, and a share
of the cells is what real exports hold: empty, a bare year, a group, a spelling on no term, text in a number.
"""

import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

HERE = Path(__file__).parent
SEED = 20_250_117
#: How the rows are spread over the relations.
SHARES = {"roles": 0.45, "screenings": 0.20, "engagements": 0.20, "certificates": 0.10, "languages": 0.05}
LATE, RAGGED = 400, 25

#: A column's surfaces: (what the cell says, the term it means or None, weight). None of the terms is asked of
#: the pack: what a surface means is known here, where it is made, and the peers are told it from here.
Surfaces = list[tuple[str | None, str | None, float]]


def _terms(
    weights: dict[str, float],
    spellings: dict[str, str] | None = None,
    empty: float = 0.02,
    besides: Sequence[tuple[str, str | None, float]] = (),
) -> Surfaces:
    """Terms with their weights, each sometimes in another case, with stray blanks, or as a synonym; `besides`
    holds groups, and surfaces that are on no term."""
    found: Surfaces = [(None, None, empty), *besides]
    for term, weight in weights.items():
        other = (spellings or {}).get(term)
        found += [(term, term, weight * (0.86 if other else 0.94)), (term.upper(), term, weight * 0.04)]
        found += [(f" {term}", term, weight * 0.02)]
        found += [(other, term, weight * 0.08)] if other else []
    return found


def _zipf(names: Iterable[str], by: float = 1.0) -> dict[str, float]:
    weights = {name: 1 / (i + 1) ** by for i, name in enumerate(names)}
    total = sum(weights.values())
    return {name: weight / total for name, weight in weights.items()}


AXES: dict[str, Surfaces] = {
    "seniority": _terms(
        {"IC": 0.45, "Manager": 0.25, "Director": 0.15, "VP": 0.08, "SVP": 0.04, "C-level": 0.02},
        {"VP": "Vice President", "IC": "Individual contributor", "C-level": "C-suite"},
        besides=[("Partner", None, 0.004), ("Band 7", None, 0.002)],
    ),
    "function": _terms(
        _zipf(
            ["Engineering", "Sales", "Operations", "Finance", "Marketing", "Product", "Quality", "Procurement",
             "Research", "Legal", "Human Resources", "Security", "Compliance", "Supply Chain"], 0.8,
        ),
        {"Human Resources": "HR", "Engineering": "Eng."},
        empty=0.03,
        besides=[("Technical", "Technical", 0.01), ("Commercial", "Commercial", 0.008), ("Chief of Staff", None, 0.003)],
    ),
    "geography": _terms(
        _zipf(
            ["United States", "India", "Germany", "United Kingdom", "China", "France", "Brazil", "Japan", "Canada",
             "Switzerland", "Netherlands", "Poland", "Spain", "Italy", "Australia", "Austria", "Sweden", "Singapore",
             "Mexico", "South Korea", "South Africa", "Norway", "Denmark", "Finland", "Nigeria", "Kenya", "Egypt"], 0.9,
        ),
        {"Germany": "Deutschland", "United States": "USA", "United Kingdom": "UK"},
        empty=0.02,
        besides=[("Europe", "Europe", 0.01), ("DACH", "DACH", 0.012), ("Nordics", "Nordics", 0.004), ("Remote", None, 0.006)],
    ),
    "industry": _terms(
        _zipf(["Software", "Banking", "Automotive", "Pharma", "Energy", "Retail", "Insurance", "Telecom", "Chemicals",
               "Logistics", "Food", "Aerospace", "Steel", "Textiles"], 0.7),
        empty=0.25,
        besides=[("Financial services", "Financial services", 0.02), ("Other", None, 0.01)],
    ),
    "kind": _terms(
        {"compliance": 0.5, "sanctions": 0.22, "reference": 0.15, "conflict of interest": 0.1, "export control": 0.03},
        {"conflict of interest": "COI"}, empty=0.005,
    ),
    "outcome": _terms({"passed": 0.82, "failed": 0.1, "pending": 0.08}, {"passed": "ok"}, besides=[("see file", None, 0.002)]),
    "topic": _terms(
        _zipf(["Pricing", "Market entry", "Due diligence", "Regulation", "Hiring", "Cloud migration", "Clinical trials",
               "Batteries", "Payments", "Warehousing", "Fraud", "Tariffs"], 0.6),
        besides=[("Strategy", "Strategy", 0.01), ("misc", None, 0.01)],
    ),
    "scheme": _terms(
        _zipf(["PMP", "AWS", "CFA", "CPA", "Six Sigma", "CISSP", "ISO 9001 Auditor", "ACCA", "SHRM", "FRM"], 0.7), empty=0.01,
        besides=[("Finance charter", "Finance charter", 0.01)],
    ),
    "grade": _terms({"Foundation": 0.5, "Practitioner": 0.28, "Professional": 0.16, "Expert": 0.06}, empty=0.04),
    "language": _terms(
        _zipf(["English", "Spanish", "German", "French", "Mandarin", "Hindi", "Portuguese", "Japanese", "Italian", "Polish"]),
        empty=0.005,
        besides=[("Romance", "Romance", 0.002), ("Klingon", None, 0.001)],
    ),
    "fluency": _terms({"Basic": 0.3, "Working": 0.35, "Fluent": 0.25, "Native": 0.1}, empty=0.03),
}  # fmt: skip
_BUCKETS = 4096
_COMPANIES = 5000


@dataclass(frozen=True)
class Size:
    """So many rows of relations; the people, their coverage lists and the late CSV come on top."""

    name: str
    rows: int

    @property
    def people(self) -> int:
        return self.rows // 6 if self.name == "60M" else self.rows // 5


SIZES = {name: Size(name, int(name[:-1]) * 1_000_000) for name in ("1M", "10M", "60M", "100M")}


def export(size: Size, folder: Path, seed: int = SEED) -> None:
    """Write the export of one size into `folder`: Parquet files, one CSV, `pack.yaml` and `map.yaml`."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in ("pack.yaml", "map.yaml"):
        shutil.copy(HERE / "export" / name, folder / name)
    con = duckdb.connect()
    con.execute("SET preserve_insertion_order = true")
    row = [_Row(seed + 7 * n, size.people) for n in range(6)]
    tables = {
        "people": (size.people, _people()),
        "roles": (round(size.rows * SHARES["roles"]), _roles(row[0])),
        "screenings": (round(size.rows * SHARES["screenings"]), _screenings(row[1])),
        "engagements": (round(size.rows * SHARES["engagements"]), _engagements(row[2])),
        "certificates": (round(size.rows * SHARES["certificates"]), _certificates(row[3])),
        "languages": (round(size.rows * SHARES["languages"]), _languages(row[4])),
        "screening_checked": (size.people, _listed(row[5], 41, 0.85)),
        "engagement_log": (size.people, _listed(row[5], 42, 0.6)),
    }
    for name, (rows, select) in tables.items():
        source = f"(SELECT range::BIGINT AS i FROM range({rows}))"
        con.execute(
            f"COPY ({select.format(source=source)}) TO '{folder / name}.parquet' (FORMAT parquet, ROW_GROUP_SIZE 122880)"
        )
    _late(size, folder / "late_certificates.csv")
    con.close()


class _Row:
    """SQL text for one row's draws: `h(k)` are the row's 64 bits for purpose k, `hp(k)` its person's."""

    def __init__(self, seed: int, people: int) -> None:
        self.seed, self.people = seed, people

    def h(self, k: int, of: str = "i") -> str:
        return f"hash({of} * 64 + {k + self.seed * 1_000_003}::BIGINT)"

    def below(self, k: int, share: float, of: str = "i") -> str:
        """True for a share of the rows."""
        return f"({self.h(k, of)} >> 40) < {round(share * (1 << 24))}"

    def upto(self, k: int, n: int) -> str:
        """A whole number from 0 to n - 1."""
        return f"(({self.h(k)} >> 11) % {n})::INTEGER"

    def person(self, k: int = 1) -> str:
        """A person's number: few have many rows, many have few, some none; in no order of the ids."""
        skewed = f"floor({self.people} * pow(({self.h(k)} >> 11)::DOUBLE / (1::UBIGINT << 53)::DOUBLE, 1.3))::BIGINT"
        return f"(({skewed} * 48271) % {self.people})"

    def pick(self, axis: str, k: int, alike: float = 0.0) -> str:
        """One of the axis's surfaces by weight; in a share `alike` of the rows the one its person always has."""
        draw = (
            f"{self.h(k)}"
            if not alike
            else f"(CASE WHEN {self.below(k + 30, alike)} THEN {self.h(k, 'p')} ELSE {self.h(k)} END)"
        )
        return f"{_bucket_list(axis)}[1 + ({draw} >> 52)::INTEGER]"


def _bucket_list(axis: str) -> str:
    """The surfaces of an axis in 4,096 buckets by weight, as a list in SQL text."""
    surfaces = AXES[axis]
    total = sum(weight for *_, weight in surfaces)
    filled: list[str | None] = []
    so_far = 0.0
    for surface, _, weight in surfaces:
        so_far += weight
        upto = round(_BUCKETS * so_far / total)
        filled += [surface] * max(1, upto - len(filled))
    filled = filled[:_BUCKETS]
    return "[" + ", ".join("NULL" if s is None else f"'{s}'" for s in filled) + "]"


def identifier(person: str) -> str:
    """The person's id as the warehouse has it: eight digits, one number in four taken."""
    return f"(10000000 + 4 * {person})::INTEGER"


def _written(day: str, coarse: str, year: float, month: float) -> str:
    """A day as text: a share as a bare year, a share as a month."""
    at = f"({coarse} >> 40)"
    return (
        f"CASE WHEN {at} < {round(year * (1 << 24))} THEN left(({day})::VARCHAR, 4) "
        f"WHEN {at} < {round((year + month) * (1 << 24))} THEN left(({day})::VARCHAR, 7) ELSE ({day})::VARCHAR END"
    )


def _people() -> str:
    return f"SELECT {identifier('i')} AS person_id, 'Person ' || i AS name FROM {{source}}"


def _listed(row: _Row, k: int, share: float) -> str:
    return f"SELECT {identifier('i')} AS person_id FROM {{source}} WHERE {row.below(k, share)}"


def _roles(row: _Row) -> str:
    return f"""
        SELECT {identifier("p")} AS person_id,
               {row.pick("seniority", 2, 0.4)} AS level,
               {row.pick("function", 3, 0.7)} AS function,
               {row.pick("geography", 4, 0.75)} AS country,
               {row.pick("industry", 5, 0.6)} AS industry,
               'Company ' || floor({_COMPANIES} * pow(({row.h(6)} >> 11)::DOUBLE / (1::UBIGINT << 53)::DOUBLE, 2))::INTEGER AS employer,
               CASE WHEN {row.below(7, 0.015)} THEN NULL WHEN {row.below(8, 0.001)} THEN 'before the merger'
                    ELSE {_written("day", row.h(9), 0.06, 0.08)} END AS started_on,
               CASE WHEN {row.below(7, 0.01)} THEN NULL
                    WHEN {row.below(10, 0.35)} THEN NULL
                    WHEN {row.below(11, 0.002)} THEN (day - 400)::VARCHAR
                    ELSE {_written("day + 30 + " + row.upto(12, 2800), row.h(13), 0.06, 0.08)} END AS ended_on
        FROM (SELECT i, {row.person()} AS p, DATE '1996-01-01' + {row.upto(14, 10_400)} AS day FROM {{source}})"""


def _screenings(row: _Row) -> str:
    return f"""
        SELECT {identifier("p")} AS person_id,
               {row.pick("kind", 2)} AS kind,
               {row.pick("outcome", 3, 0.3)} AS outcome,
               CASE WHEN {row.below(7, 0.01)} THEN NULL WHEN {row.below(8, 0.002)} THEN '03/04/2020'
                    ELSE {_written("day", row.h(9), 0.04, 0.02)} END AS screened_on
        FROM (SELECT i, {row.person()} AS p, DATE '2012-01-01' + {row.upto(14, 4_700)} AS day FROM {{source}})"""


def _engagements(row: _Row) -> str:
    step = f"(100 + {row.upto(5, 600)} + (({row.h(6, 'p')} >> 11) % 900)::INTEGER)"
    return f"""
        SELECT CASE WHEN {row.below(15, 0.00002)} THEN NULL ELSE {identifier("p")} END AS person_id,
               {row.pick("topic", 2, 0.5)} AS topic,
               CASE WHEN {row.below(7, 0.08)} THEN NULL WHEN {row.below(8, 0.003)} THEN '€900'
                    ELSE ({step} / 2.0)::DECIMAL(9, 2)::VARCHAR END AS rate,
               (1 + {row.upto(10, 40)})::VARCHAR AS hours,
               CASE WHEN {row.below(11, 0.01)} THEN NULL ELSE {_written("day", row.h(9), 0.05, 0.05)} END AS engaged_on
        FROM (SELECT i, {row.person()} AS p, DATE '2008-01-01' + {row.upto(14, 6_100)} AS day FROM {{source}})"""


def _certificates(row: _Row) -> str:
    return f"""
        SELECT {identifier("p")} AS person_id,
               {row.pick("scheme", 2, 0.2)} AS scheme,
               {row.pick("grade", 3)} AS grade,
               {_written("day", row.h(9), 0.2, 0.0)} AS issued,
               CASE WHEN {row.below(10, 0.3)} THEN NULL ELSE (day + 1095)::VARCHAR END AS expires
        FROM (SELECT i, {row.person()} AS p, DATE '2000-01-01' + {row.upto(14, 9_000)} AS day FROM {{source}})"""


def _languages(row: _Row) -> str:
    return f"""
        SELECT {identifier("p")} AS person_id, {row.pick("language", 2, 0.2)} AS language, {row.pick("fluency", 3)} AS fluency
        FROM (SELECT i, {row.person()} AS p FROM {{source}})"""


def late_rows(size: Size) -> list[tuple[int, str, str, str, str, bool]]:
    """The late certificates: person id, scheme, grade, issued, expires, and whether the line is ragged."""
    step = max(1, size.people // LATE)
    return [
        (10_000_000 + 4 * ((i * step) % size.people), "FRM", "Expert", "2023-05-17", "2026-05-17", i < RAGGED)
        for i in range(LATE)
    ]


def _late(size: Size, file: Path) -> None:
    lines = ["person_id,scheme,grade,issued,expires"]
    for person, scheme, grade, issued, expires, ragged in late_rows(size):
        lines.append(
            f"{person},{scheme}, the new one,{grade},{issued},{expires}"
            if ragged
            else f"{person},{scheme},{grade},{issued},{expires}"
        )
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
