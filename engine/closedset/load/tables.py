"""Tables defined by a SELECT over an export's files: run, kept, and traced back to the source cells.

A column that the SELECT passes plainly is traced to its file's cell, so its receipt reaches the source;
a computed one has a receipt that names the defined table.
"""

from collections.abc import Mapping

import duckdb
import sqlglot
from sqlglot import exp

from closedset.catalog import Origin, SourceTable
from closedset.errors import LoadRefused
from closedset.load.files import nearest
from closedset.render import quoted

_ORDINAL = "row of "


def _parse(name: str, select: str) -> exp.Query:
    try:
        statements = sqlglot.parse(select, dialect="duckdb")
    except sqlglot.errors.ParseError as error:
        fault = error.errors[0]
        raise LoadRefused(f"tables.{name}: line {fault['line']}: {fault['description']}") from None
    if len(statements) != 1 or not isinstance(statements[0], exp.Query):
        raise LoadRefused(f"tables.{name}: a table is defined by one SELECT, nothing else")
    return statements[0]


def read_by(name: str, select: str) -> list[str]:
    """The tables a SELECT reads, in order. Refuses table functions: a map reads the export's files only."""
    query = _parse(name, select)
    inside = {cte.alias for cte in query.find_all(exp.CTE)}
    names: dict[str, None] = {}
    for table in query.find_all(exp.Table):
        if not isinstance(table.this, exp.Identifier) or table.args.get("db"):
            raise LoadRefused(f"tables.{name}: {table.sql('duckdb')} is no table of this source")
        if table.name not in inside:
            names.setdefault(table.name)
    return list(names)


def define(
    con: duckdb.DuckDBPyConnection, source: str, name: str, cells: str, select: str, files: Mapping[str, SourceTable]
) -> SourceTable:
    """Run the SELECT over the kept cells and keep its result as the table `cells`, all columns as text."""
    query = _parse(name, select)
    inside = {cte.alias for cte in query.find_all(exp.CTE)}
    for table in query.find_all(exp.Table):
        if table.name in inside:
            continue
        if table.name not in files:
            raise LoadRefused(
                f"tables.{name}: {table.name} is no file table of source {source}{nearest(table.name, list(files))}"
            )
        if not table.alias:
            table.set("alias", exp.TableAlias(this=exp.to_identifier(table.name, quoted=True)))
    traced = _traced(query, files, inside)
    for table in query.find_all(exp.Table):
        if table.name not in inside:
            table.set("this", exp.to_identifier(files[table.name].cells, quoted=True))
    text = query.sql("duckdb")
    try:
        described = con.execute(f"DESCRIBE {text}").fetchall()
        outputs = [d[0] for d in described]
        columns = [c for c in outputs if not c.startswith(_ORDINAL)]
        casts = ", ".join(
            quoted(c) if c.startswith(_ORDINAL) else f"nullif({quoted(c)}::VARCHAR, '') AS {quoted(c)}" for c in outputs
        )
        # A join leaves its rows in no order; kept in that of their source rows, two loads are the same bytes.
        order = ", ".join(quoted(c) for c in (*outputs[len(columns) :], *columns))
        sorted_ = "" if query.args.get("order") else f" ORDER BY {order}"
        con.execute(f"CREATE TABLE {quoted(cells)} AS SELECT {casts} FROM ({text}){sorted_}").fetchall()
        (rows,) = con.execute(f"SELECT count(*) FROM {quoted(cells)}").fetchall()[0]
    except duckdb.Error as error:
        raise LoadRefused(f"tables.{name}: {str(error).splitlines()[0]}") from None
    return SourceTable(
        source=source, table=name, cells=cells, columns=columns, rows=rows, select=select,
        origins={c: origin for c, origin in traced.items() if c in columns},
    )  # fmt: skip


def _traced(query: exp.Query, files: Mapping[str, SourceTable], inside: set[str]) -> dict[str, Origin]:
    """Add to a plain SELECT the row ordinal of each file it reads, and say which columns it passes plainly.

    Grouping, DISTINCT, set operations, and columns out of sub-queries are computed: nothing is traced.
    """
    if not isinstance(query, exp.Select) or any(query.args.get(part) for part in ("group", "distinct", "having")):
        return {}
    if any(
        aggregate for item in query.expressions for aggregate in item.find_all(exp.AggFunc) if not item.find(exp.Window)
    ):
        return {}
    from_ = query.args.get("from_") or query.args.get("from")
    read = [from_.this] if from_ else []
    read += [join.this for join in query.args.get("joins") or []]
    aliases = {
        t.alias: files[t.name] for t in read if isinstance(t, exp.Table) and t.name not in inside and t.name in files
    }
    if len(aliases) != len(read):
        return {}
    origins: dict[str, Origin] = {}
    for item in list(query.expressions):
        column = item.this if isinstance(item, exp.Alias) else item
        if isinstance(column, exp.Star) and len(aliases) == 1:
            ((alias, table),) = aliases.items()
            origins.update({c: Origin(table=table.table, column=c, ordinal=_ORDINAL + alias) for c in table.columns})
        if not isinstance(column, exp.Column) or isinstance(column.this, exp.Star):
            continue
        holders = [
            (alias, table, c)
            for alias, table in aliases.items()
            for c in table.columns
            if c.lower() == column.name.lower() and column.table in ("", alias)
        ]
        if len(holders) == 1:
            alias, table, name = holders[0]
            origins[item.alias_or_name] = Origin(table=table.table, column=name, ordinal=_ORDINAL + alias)
    for alias in sorted({o.ordinal.removeprefix(_ORDINAL) for o in origins.values()}):
        ordinal = exp.column("rowid", table=alias, quoted=True)
        query.select(exp.alias_(ordinal, _ORDINAL + alias, quoted=True), append=True, copy=False)
    return origins
