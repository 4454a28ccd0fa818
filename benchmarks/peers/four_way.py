"""The four-way partition as one person would write it in SQL: a GROUP BY per relation, outer joins to
everybody and to who was looked at. DuckDB, PostgreSQL and SQLite run the same text."""

from benchmarks.peers.answer import MATCHED, NONE, NOT_RECORDED, UNDETERMINED
from benchmarks.questions import LOOKED_AT, Question


def verdicts(question: Question) -> str:
    """One row a person: person_id, verdict (a code of answer.py)."""
    if not question.truths:
        return f"SELECT person_id, {MATCHED} AS verdict FROM person"
    ctes, joins, values = [], [], []
    for i, (table, truth) in enumerate(question.truths.items()):
        ctes.append(
            f"g{i} AS (SELECT person_id, max(CASE WHEN t THEN 2 WHEN t IS NULL THEN 1 ELSE 0 END) AS v\n"
            f"       FROM (SELECT person_id, ({truth}) AS t FROM {table}) AS judged GROUP BY person_id)"
        )
        joins.append(f"LEFT JOIN g{i} ON g{i}.person_id = person.person_id")
        looked = LOOKED_AT[table]
        if looked == "person":
            values.append(f"coalesce(g{i}.v, 0)")
        elif looked is None:
            values.append(f"coalesce(g{i}.v, -1)")
        else:
            joins.append(f"LEFT JOIN {looked} AS l{i} ON l{i}.person_id = person.person_id")
            values.append(f"coalesce(g{i}.v, CASE WHEN l{i}.person_id IS NOT NULL THEN 0 ELSE -1 END)")
    each = [f"v{i}" for i in range(len(values))]
    columns = ", ".join(f"{value} AS v{i}" for i, value in enumerate(values))
    matched = " AND ".join(f"{v} = 2" for v in each)
    none = " OR ".join(f"{v} = 0" for v in each)
    never = " OR ".join(f"{v} = -1" for v in each)
    return (
        f"WITH {', '.join(ctes)}\n"
        f"SELECT person_id, CASE WHEN {matched} THEN {MATCHED} WHEN {none} THEN {NONE} WHEN {never} THEN {NOT_RECORDED}"
        f" ELSE {UNDETERMINED} END AS verdict\n"
        f"FROM (SELECT person.person_id, {columns}\n      FROM person {' '.join(joins)}) AS everybody"
    )


def counts(question: Question) -> str:
    """What is timed: the four counts, the least a four-way answer can deliver."""
    return f"SELECT verdict, count(*) FROM ({verdicts(question)}) AS decided GROUP BY verdict"
