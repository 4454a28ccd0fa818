"""The portable rendering: the same verdicts by GROUP BY and anti-joins, in SQL that other engines run too.

It is the second opinion on the bitmap scans (the tests hold both to each other), and is slower by far.
"""

import pyarrow as pa

from closedset.execute import Run
from closedset.judged_rows import inline
from closedset.plan import Plan


def partition(run: Run, plan: Plan) -> pa.Table:
    """Every entity's verdict (`ordinal`, `verdict`), in ordinal order. Takes a plan with a required group."""
    groups = []
    values: dict[str, object] = {}
    for group in plan.required:
        scan = plan.scan_of(group.relation)
        rows, bound = inline(scan, [group])
        name = f"relation_{group.index}"
        values |= {**bound, name: group.relation}
        # An IN list without a member is no SQL; no statement is numbered -1.
        statements = [i for i, s in enumerate(run.catalog.statements) if s.relation == group.relation] or [-1]
        groups.append(
            {
                "group": group,
                "rows": rows,
                "relation_name": f"${name}",
                "statements": statements,
            }
        )
    return run.statement("portable/partition.sql.j2", values, groups=groups, merged=run.catalog.merged > 0)
