# ruff: noqa: E501 (SQL reads better whole)
"""The fixed questions, each three times by hand: the request, the expert's matched-only SQL, and what each
required group's row truth is in three values (for the four-way peers).

SQL is over the tables of typed.py, in the words that DuckDB, PostgreSQL, SQLite and Polars share.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

#: relation, slot, op, value, and "prefer" where it is not required
Asked = tuple[Any, ...]

#: typed table -> the table that lists who was looked at for it (None: only who has a row)
LOOKED_AT: dict[str, str | None] = {
    "role": "person",
    "screening": "screening_checked",
    "engagement": "engagement_log",
    "certificate": None,
    "language": "person",
}
_TABLE = {"held_role": "role"}


@dataclass(frozen=True)
class Question:
    """`breadth` says how much of the universe it matches; `truths` gives a row truth for each typed table of a
    required group, in the order of the groups."""

    name: str
    breadth: str
    asked: Sequence[Asked]
    matched: str
    truths: dict[str, str]
    as_of: str | None = None

    def request(self) -> dict[str, Any]:
        constraints = [
            {"relation": r, "slot": s, "op": op, "value": value, **({"required": False} if rest else {})}
            for r, s, op, value, *rest in self.asked
        ]
        return {"constraints": constraints, **({"as_of": self.as_of} if self.as_of else {})}

    @property
    def tables(self) -> tuple[str, ...]:
        return tuple(self.truths)


DACH = "geography IN ('DACH', 'Germany', 'Austria', 'Switzerland')"
DACH_TRUTH = f"(CASE WHEN geography = 'Europe' THEN NULL ELSE {DACH} END)"
EUROPE = (
    "geography IN ('Europe', 'DACH', 'Germany', 'Austria', 'Switzerland', 'Nordics', 'Sweden', 'Norway', 'Denmark', "
    "'Finland', 'United Kingdom', 'France', 'Italy', 'Spain', 'Poland', 'Netherlands')"
)
VP = "seniority IN ('VP', 'SVP', 'C-level')"
SALES_TRUTH = "(CASE WHEN function = 'Commercial' THEN NULL ELSE function = 'Sales' END)"
TECHNICAL = "function IN ('Technical', 'Engineering', 'Quality', 'Research', 'Security')"


def _held(day: str) -> str:
    """A role held at the month that ends on `day`."""
    return (
        f"(CASE WHEN from_end <= DATE '{day}' THEN TRUE WHEN from_start > DATE '{day}' THEN FALSE END) AND "
        f"(CASE WHEN to_start > DATE '{day}' OR (to_start IS NULL AND from_start IS NOT NULL) THEN TRUE "
        f"WHEN to_end <= DATE '{day}' THEN FALSE END)"
    )


def _by(day: str, name: str = "on") -> str:
    """A date wholly on or before `day`."""
    return f"(CASE WHEN {name}_end <= DATE '{day}' THEN TRUE WHEN {name}_start > DATE '{day}' THEN FALSE END)"


def _since(day: str, name: str = "on") -> str:
    """A date wholly on or after `day`."""
    return f"(CASE WHEN {name}_start >= DATE '{day}' THEN TRUE WHEN {name}_end < DATE '{day}' THEN FALSE END)"


QUESTIONS: tuple[Question, ...] = (
    Question(
        "company_c_level", "selective",
        [("held_role", "company", "eq", "Company 4711"), ("held_role", "seniority", "eq", "C-level")],
        "SELECT DISTINCT person_id FROM role WHERE company = 'Company 4711' AND seniority = 'C-level'",
        {"role": "company = 'Company 4711' AND seniority = 'C-level'"},
    ),
    Question(
        "vp_sales_dach_screened", "selective",
        [("held_role", "seniority", "gte", "VP"), ("held_role", "function", "eq", "Sales"), ("held_role", "geography", "eq", "DACH"),
         ("screening", "kind", "eq", "compliance"), ("screening", "outcome", "eq", "passed")],
        f"""SELECT DISTINCT person_id FROM role WHERE {VP} AND function = 'Sales' AND {DACH}
            AND person_id IN (SELECT person_id FROM screening WHERE kind = 'compliance' AND outcome = 'passed')""",
        {"role": f"{VP} AND {SALES_TRUTH} AND {DACH_TRUTH}", "screening": "kind = 'compliance' AND outcome = 'passed'"},
    ),
    Question(
        "vp_sales_dach_screened_2018", "selective",
        [("held_role", "seniority", "gte", "VP"), ("held_role", "function", "eq", "Sales"), ("held_role", "geography", "eq", "DACH"),
         ("screening", "kind", "eq", "compliance"), ("screening", "outcome", "eq", "passed")],
        f"""SELECT DISTINCT person_id FROM role WHERE {VP} AND function = 'Sales' AND {DACH}
              AND from_end <= DATE '2018-01-31' AND (to_start IS NULL OR to_start > DATE '2018-01-31')
              AND person_id IN (SELECT person_id FROM screening WHERE kind = 'compliance' AND outcome = 'passed' AND on_end <= DATE '2018-01-31')""",
        {"role": f"{VP} AND {SALES_TRUTH} AND {DACH_TRUTH} AND {_held('2018-01-31')}",
         "screening": f"kind = 'compliance' AND outcome = 'passed' AND {_by('2018-01-31')}"},
        as_of="2018-01",
    ),
    Question(
        "finance_chief_paid", "selective",
        [("held_role", "seniority", "eq", "C-level"), ("held_role", "function", "eq", "Finance"), ("held_role", "geography", "eq", "Switzerland"),
         ("engagement", "hourly_rate_usd", "gte", 400), ("screening", "outcome", "eq", "passed")],
        """SELECT DISTINCT person_id FROM role WHERE seniority = 'C-level' AND function = 'Finance' AND geography = 'Switzerland'
             AND person_id IN (SELECT person_id FROM engagement WHERE rate >= 400)
             AND person_id IN (SELECT person_id FROM screening WHERE outcome = 'passed')""",
        {"role": "seniority = 'C-level' AND (CASE WHEN geography IN ('DACH', 'Europe') THEN NULL ELSE geography = 'Switzerland' END)"
                 " AND (CASE WHEN function = 'Control' THEN NULL ELSE function = 'Finance' END)",
         "engagement": "rate >= 400", "screening": "outcome = 'passed'"},
    ),
    Question(
        "eight_over_four", "selective",
        [("held_role", "seniority", "gte", "Director"), ("held_role", "function", "eq", "Technical"), ("held_role", "geography", "eq", "Europe"),
         ("screening", "kind", "eq", "compliance"), ("screening", "outcome", "eq", "passed"),
         ("engagement", "topic", "eq", "Strategy"), ("engagement", "hourly_rate_usd", "lte", 500),
         ("certificate", "grade", "gte", "Practitioner")],
        f"""SELECT DISTINCT person_id FROM role WHERE seniority IN ('Director', 'VP', 'SVP', 'C-level') AND {TECHNICAL} AND {EUROPE}
             AND person_id IN (SELECT person_id FROM screening WHERE kind = 'compliance' AND outcome = 'passed')
             AND person_id IN (SELECT person_id FROM engagement WHERE topic IN ('Strategy', 'Pricing', 'Market entry', 'Due diligence') AND rate <= 500)
             AND person_id IN (SELECT person_id FROM certificate WHERE grade IN ('Practitioner', 'Professional', 'Expert'))""",
        {"role": f"seniority IN ('Director', 'VP', 'SVP', 'C-level') AND {TECHNICAL} AND {EUROPE}",
         "screening": "kind = 'compliance' AND outcome = 'passed'",
         "engagement": "topic IN ('Strategy', 'Pricing', 'Market entry', 'Due diligence') AND rate <= 500",
         "certificate": "grade IN ('Practitioner', 'Professional', 'Expert')"},
    ),
    Question(
        "eight_over_four_2020", "selective",
        [("held_role", "seniority", "gte", "Director"), ("held_role", "function", "eq", "Technical"), ("held_role", "geography", "eq", "Europe"),
         ("screening", "kind", "eq", "compliance"), ("screening", "outcome", "eq", "passed"),
         ("engagement", "topic", "eq", "Strategy"), ("engagement", "hourly_rate_usd", "lte", 500), ("engagement", "hours", "gte", 10)],
        f"""SELECT DISTINCT person_id FROM role WHERE seniority IN ('Director', 'VP', 'SVP', 'C-level') AND {TECHNICAL} AND {EUROPE}
              AND from_end <= DATE '2020-06-30' AND (to_start IS NULL OR to_start > DATE '2020-06-30')
             AND person_id IN (SELECT person_id FROM screening WHERE kind = 'compliance' AND outcome = 'passed' AND on_end <= DATE '2020-06-30')
             AND person_id IN (SELECT person_id FROM engagement WHERE topic IN ('Strategy', 'Pricing', 'Market entry', 'Due diligence')
                               AND rate <= 500 AND hours >= 10 AND on_end <= DATE '2020-06-30')""",
        {"role": f"seniority IN ('Director', 'VP', 'SVP', 'C-level') AND {TECHNICAL} AND {EUROPE} AND {_held('2020-06-30')}",
         "screening": f"kind = 'compliance' AND outcome = 'passed' AND {_by('2020-06-30')}",
         "engagement": "topic IN ('Strategy', 'Pricing', 'Market entry', 'Due diligence') AND rate <= 500 AND hours >= 10"
                       f" AND {_by('2020-06-30')}"},
        as_of="2020-06",
    ),
    Question(
        "failed_sanctions", "selective",
        [("screening", "kind", "eq", "sanctions"), ("screening", "outcome", "eq", "failed")],
        "SELECT DISTINCT person_id FROM screening WHERE kind = 'sanctions' AND outcome = 'failed'",
        {"screening": "kind = 'sanctions' AND outcome = 'failed'"},
    ),
    Question(
        "finance_charter_expert", "selective",
        [("certificate", "scheme", "eq", "Finance charter"), ("certificate", "grade", "gte", "Expert")],
        "SELECT DISTINCT person_id FROM certificate WHERE scheme IN ('Finance charter', 'CFA', 'FRM', 'CPA', 'ACCA') AND grade = 'Expert'",
        {"certificate": "scheme IN ('Finance charter', 'CFA', 'FRM', 'CPA', 'ACCA') AND grade = 'Expert'"},
    ),
    Question(
        "valid_certificate", "selective",
        [("certificate", "scheme", "in", ["CISSP", "ISO 9001 Auditor"]), ("certificate", "issued", "gte", "2020-01-01"),
         ("certificate", "expires", "gte", "2024-01-01")],
        """SELECT DISTINCT person_id FROM certificate WHERE scheme IN ('CISSP', 'ISO 9001 Auditor')
             AND issued_start >= DATE '2020-01-01' AND expires_start >= DATE '2024-01-01'""",
        {"certificate": f"scheme IN ('CISSP', 'ISO 9001 Auditor') AND {_since('2020-01-01', 'issued')} AND {_since('2024-01-01', 'expires')}"},
    ),
    Question(
        "fluent_german", "selective",
        [("language", "language", "eq", "German"), ("language", "fluency", "gte", "Fluent")],
        "SELECT DISTINCT person_id FROM language WHERE language = 'German' AND fluency IN ('Fluent', 'Native')",
        {"language": "language = 'German' AND fluency IN ('Fluent', 'Native')"},
    ),
    Question(
        "chief_of_staff", "selective",
        [("held_role", "function", "eq", "Chief of Staff"), ("held_role", "seniority", "gte", "Director")],
        "SELECT DISTINCT person_id FROM role WHERE function_raw = 'chief of staff' AND seniority IN ('Director', 'VP', 'SVP', 'C-level')",
        {"role": "(CASE WHEN function_raw = 'chief of staff' THEN TRUE END) AND seniority IN ('Director', 'VP', 'SVP', 'C-level')"},
    ),
    Question(
        "vps_who_began_after_2015", "medium",
        [("held_role", "seniority", "gte", "VP"), ("held_role", "period_from", "gte", "2015")],
        f"SELECT DISTINCT person_id FROM role WHERE {VP} AND from_start >= DATE '2015-01-01'",
        {"role": f"{VP} AND {_since('2015-01-01', 'from')}"},
    ),
    Question(
        "ended_before_2005", "medium",
        [("held_role", "period_to", "lte", "2004-12-31"), ("held_role", "geography", "eq", "Americas")],
        "SELECT DISTINCT person_id FROM role WHERE to_end <= DATE '2004-12-31' AND geography IN ('Americas', 'United States', 'Canada', 'Brazil', 'Mexico')",
        {"role": f"{_by('2004-12-31', 'to')} AND geography IN ('Americas', 'United States', 'Canada', 'Brazil', 'Mexico')"},
    ),
    Question(
        "bankers", "medium",
        [("held_role", "industry", "eq", "Banking")],
        "SELECT DISTINCT person_id FROM role WHERE industry = 'Banking'",
        {"role": "(CASE WHEN industry = 'Financial services' THEN NULL ELSE industry = 'Banking' END)"},
    ),
    Question(
        "three_countries_by_name", "medium",
        [("held_role", "geography", "in", ["Germany", "Austria", "Switzerland"]), ("held_role", "seniority", "in", ["VP", "Director"])],
        f"SELECT DISTINCT person_id FROM role WHERE {DACH} AND seniority IN ('VP', 'Director')",
        {"role": f"{DACH_TRUTH} AND seniority IN ('VP', 'Director')"},
    ),
    Question(
        "rate_band", "medium",
        [("engagement", "hourly_rate_usd", "gte", 200), ("engagement", "hourly_rate_usd", "lte", 300)],
        "SELECT DISTINCT person_id FROM engagement WHERE rate BETWEEN 200 AND 300",
        {"engagement": "rate >= 200 AND rate <= 300"},
    ),
    Question(
        "strategy_in_2019", "medium",
        [("engagement", "topic", "eq", "Strategy"), ("engagement", "engaged_on", "eq", "2019")],
        """SELECT DISTINCT person_id FROM engagement WHERE topic IN ('Strategy', 'Pricing', 'Market entry', 'Due diligence')
             AND on_start >= DATE '2019-01-01' AND on_end <= DATE '2019-12-31'""",
        {"engagement": "topic IN ('Strategy', 'Pricing', 'Market entry', 'Due diligence') AND (CASE WHEN on_start >= DATE '2019-01-01' AND"
                       " on_end <= DATE '2019-12-31' THEN TRUE WHEN on_end < DATE '2019-01-01' OR on_start > DATE '2019-12-31' THEN FALSE END)"},
    ),
    Question(
        "not_passed", "medium",
        [("screening", "outcome", "ne", "passed"), ("screening", "kind", "eq", "compliance")],
        "SELECT DISTINCT person_id FROM screening WHERE outcome <> 'passed' AND kind = 'compliance'",
        {"screening": "outcome <> 'passed' AND kind = 'compliance'"},
    ),
    Question(
        "directors_in_europe", "medium",
        [("held_role", "seniority", "gte", "Director"), ("held_role", "geography", "eq", "Europe")],
        f"SELECT DISTINCT person_id FROM role WHERE seniority IN ('Director', 'VP', 'SVP', 'C-level') AND {EUROPE}",
        {"role": f"seniority IN ('Director', 'VP', 'SVP', 'C-level') AND {EUROPE}"},
    ),
    Question(
        "certified_in_a_month", "medium",
        [("certificate", "grade", "gte", "Professional"), ("held_role", "function", "eq", "Technical")],
        # Two date slots: no certificate can be placed at a month, so nobody matches.
        f"""SELECT DISTINCT person_id FROM certificate WHERE FALSE AND grade IN ('Professional', 'Expert')
              AND person_id IN (SELECT person_id FROM role WHERE {TECHNICAL})""",
        {"certificate": "grade IN ('Professional', 'Expert') AND CAST(NULL AS BOOLEAN)", "role": f"{TECHNICAL} AND {_held('2016-03-31')}"},
        as_of="2016-03",
    ),
    Question(
        "managers_in_2010", "broad",
        [("held_role", "seniority", "gte", "Manager")],
        """SELECT DISTINCT person_id FROM role WHERE seniority IN ('Manager', 'Director', 'VP', 'SVP', 'C-level')
             AND from_end <= DATE '2010-06-30' AND (to_start IS NULL OR to_start > DATE '2010-06-30')""",
        {"role": f"seniority IN ('Manager', 'Director', 'VP', 'SVP', 'C-level') AND {_held('2010-06-30')}"},
        as_of="2010-06",
    ),
    Question(
        "compliance_passed_by_2020", "broad",
        [("screening", "kind", "eq", "compliance"), ("screening", "outcome", "eq", "passed")],
        "SELECT DISTINCT person_id FROM screening WHERE kind = 'compliance' AND outcome = 'passed' AND on_end <= DATE '2020-01-31'",
        {"screening": f"kind = 'compliance' AND outcome = 'passed' AND {_by('2020-01-31')}"},
        as_of="2020-01",
    ),
    Question(
        "employed_and_screened_2019", "broad",
        [("held_role", "seniority", "lte", "Director"), ("screening", "outcome", "eq", "passed")],
        """SELECT DISTINCT person_id FROM role WHERE seniority IN ('IC', 'Manager', 'Director')
             AND from_end <= DATE '2019-12-31' AND (to_start IS NULL OR to_start > DATE '2019-12-31')
             AND person_id IN (SELECT person_id FROM screening WHERE outcome = 'passed' AND on_end <= DATE '2019-12-31')""",
        {"role": f"seniority IN ('IC', 'Manager', 'Director') AND {_held('2019-12-31')}",
         "screening": f"outcome = 'passed' AND {_by('2019-12-31')}"},
        as_of="2019-12",
    ),
    Question(
        "individual_contributors", "broad",
        [("held_role", "seniority", "eq", "IC")],
        "SELECT DISTINCT person_id FROM role WHERE seniority = 'IC'",
        {"role": "seniority = 'IC'"},
    ),
    Question(
        "anything_but_legal", "broad",
        [("held_role", "seniority", "lte", "Director"), ("held_role", "function", "ne", "Legal")],
        "SELECT DISTINCT person_id FROM role WHERE seniority IN ('IC', 'Manager', 'Director') AND function NOT IN ('Legal', 'Control')",
        {"role": "seniority IN ('IC', 'Manager', 'Director') AND (CASE WHEN function = 'Control' THEN NULL ELSE function <> 'Legal' END)"},
    ),
    Question(
        "passed_anything", "broad",
        [("screening", "outcome", "eq", "passed")],
        "SELECT DISTINCT person_id FROM screening WHERE outcome = 'passed'",
        {"screening": "outcome = 'passed'"},
    ),
    Question(
        "broad_over_four", "broad",
        [("held_role", "seniority", "lte", "VP"), ("screening", "outcome", "in", ["passed", "pending"]), ("engagement", "hours", "gte", 2),
         ("language", "fluency", "gte", "Working")],
        """SELECT DISTINCT person_id FROM role WHERE seniority IN ('IC', 'Manager', 'Director', 'VP')
             AND person_id IN (SELECT person_id FROM screening WHERE outcome IN ('passed', 'pending'))
             AND person_id IN (SELECT person_id FROM engagement WHERE hours >= 2)
             AND person_id IN (SELECT person_id FROM language WHERE fluency IN ('Working', 'Fluent', 'Native'))""",
        {"role": "seniority IN ('IC', 'Manager', 'Director', 'VP')", "screening": "outcome IN ('passed', 'pending')",
         "engagement": "hours >= 2", "language": "fluency IN ('Working', 'Fluent', 'Native')"},
    ),
    Question(
        "preferred_sales", "selective",
        [("held_role", "seniority", "gte", "VP"), ("held_role", "geography", "eq", "DACH"), ("held_role", "function", "eq", "Sales", "prefer"),
         ("screening", "kind", "eq", "compliance", "prefer"), ("screening", "outcome", "eq", "passed", "prefer")],
        f"SELECT DISTINCT person_id FROM role WHERE {VP} AND {DACH}",
        {"role": f"{VP} AND {DACH_TRUTH}"},
    ),
    Question(
        "preferred_paid_broad", "broad",
        [("held_role", "seniority", "lte", "Manager"), ("engagement", "hourly_rate_usd", "gte", 300, "prefer"),
         ("language", "language", "eq", "Romance", "prefer")],
        "SELECT DISTINCT person_id FROM role WHERE seniority IN ('IC', 'Manager')",
        {"role": "seniority IN ('IC', 'Manager')"},
    ),
    Question(
        "only_preferences", "broad",
        [("engagement", "topic", "eq", "Pricing", "prefer"), ("screening", "outcome", "eq", "passed", "prefer")],
        "SELECT person_id FROM person",
        {},
    ),
)  # fmt: skip
BY_NAME = {q.name: q for q in QUESTIONS}

#: What PostgreSQL, SQLite and pandas are asked.
FIVE = (
    "vp_sales_dach_screened",
    "vp_sales_dach_screened_2018",
    "directors_in_europe",
    "compliance_passed_by_2020",
    "eight_over_four",
)

#: Asked once by the generator's assertion and not timed: they raise the codes that no timed question does.
UNTIMED: tuple[dict[str, Any], ...] = (
    {"constraints": [{"relation": "publication", "slot": "topic", "op": "eq", "value": "Pricing"}]},
    {"constraints": [{"relation": "language", "slot": "note", "op": "eq", "value": "mother tongue"},
                     {"relation": "language", "slot": "language", "op": "eq", "value": "French"}]},
)  # fmt: skip
