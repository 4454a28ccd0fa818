"""Tables defined by a SELECT over an export's files: run, kept, and traced back to the source cells.

A column that the SELECT passes plainly is traced to its file's cell, so its receipt reaches the source;
a computed one has a receipt that names the defined table.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import duckdb
import sqlglot
from sqlglot import exp

from closedset import progress
from closedset.catalog import Origin, SourceTable, kept_as
from closedset.errors import LoadRefused
from closedset.load.read.part import nearest
from closedset.render import quoted

_ORDINAL = "(row) "


def _refused(name: str, fault: str) -> LoadRefused:
    return LoadRefused(f"tables.{name}: {fault}", [(("tables", name), fault)])


def _parse(name: str, select: str) -> exp.Query:
    try:
        statements = [s for s in sqlglot.parse(select, dialect="duckdb") if s is not None]
    except sqlglot.errors.ParseError as error:
        fault = error.errors[0] if error.errors else {"line": 1, "description": str(error)}
        raise _refused(name, f"line {fault['line']}: {fault['description']}") from None
    except sqlglot.errors.SqlglotError as error:
        raise _refused(name, str(error).splitlines()[0]) from None
    if len(statements) != 1 or not isinstance(statements[0], exp.Query):
        raise _refused(name, "a table is defined by one SELECT, nothing else")
    return statements[0]


def read_by(name: str, select: str) -> list[str]:
    """The tables a SELECT reads, in order. Refuses table functions: a map reads the export's files only."""
    query = _parse(name, select)
    inside = {cte.alias for cte in query.find_all(exp.CTE)}
    names: dict[str, None] = {}
    for table in query.find_all(exp.Table):
        if not isinstance(table.this, exp.Identifier) or table.args.get("db"):
            raise _refused(
                name, f"{table.sql('duckdb')} is no table of this source: a map reads the export's files only"
            )
        if table.name not in inside:
            names.setdefault(table.name)
    for lateral in query.find_all(exp.Lateral):
        if not isinstance(lateral.this, exp.Subquery):
            raise _refused(name, f"{lateral.sql('duckdb')} is no table of this source")
    return list(names)


def define(
    con: duckdb.DuckDBPyConnection,
    source: str,
    name: str,
    cells: tuple[str, ...],
    select: str,
    files: Mapping[str, SourceTable],
) -> SourceTable:
    """Run the SELECT over the kept cells and keep its result as the table `cells`, all columns as text."""
    query = _parse(name, select)
    inside = {cte.alias for cte in query.find_all(exp.CTE)}
    for table in query.find_all(exp.Table):
        if table.name in inside:
            continue
        if table.name not in files:
            raise _refused(name, f"{table.name} is no file table of source {source}{nearest(table.name, list(files))}")
        if not table.alias:
            table.set("alias", exp.TableAlias(this=exp.to_identifier(table.name, quoted=True)))
    traced = _traced(query, files, inside)
    if any(c.lower() == "rowid" for t in files.values() for c in t.columns):
        for column in query.find_all(exp.Column):
            if column.name.lower() == "rowid" and not column.meta.get("ordinal"):
                column.set("this", exp.to_identifier(kept_as(column.name), quoted=True))
    for table in query.find_all(exp.Table):
        if table.name not in inside:
            *database, kept = files[table.name].cells
            table.set("this", exp.to_identifier(kept, quoted=True))
            table.set("db", exp.to_identifier(database[0], quoted=True) if database else None)
    text = query.sql("duckdb")
    ordinals = {origin.ordinal for origin in traced.values()}
    progress.step(f"table {name}: its SELECT")
    try:
        outputs = [d[0] for d in con.execute(f"DESCRIBE {text}").fetchall()]
        columns = {_as_named(c): c for c in outputs if c not in ordinals}
        _refuse_twins(name, [_as_named(c) for c in outputs])
        kept = ", ".join(f"nullif({quoted(c)}::VARCHAR, '') AS {quoted(kept_as(n))}" for n, c in columns.items())
        places = "".join(f", {quoted(c)}" for c in sorted(ordinals))
        # A join leaves its rows in no order; kept in that of their source rows, two loads are the same bytes.
        order = ", ".join(quoted(c) for c in (*sorted(ordinals), *(kept_as(n) for n in columns)))
        con.execute(f"CREATE TABLE {quoted(cells)} AS SELECT {kept}{places} FROM ({text}) ORDER BY {order}").fetchall()
        (rows,) = con.execute(f"SELECT count(*) FROM {quoted(cells)}").fetchall()[0]
    except duckdb.Error as error:
        raise _refused(name, str(error).splitlines()[0]) from None
    by_fold = {c.lower(): c for c in columns}
    return SourceTable(
        source=source, table=name, cells=cells, columns=list(columns), rows=rows, select=select,
        origins={by_fold[c]: origin for c, origin in traced.items() if c in by_fold},
    )  # fmt: skip


def _as_named(output: str) -> str:
    """A column of a SELECT's result by the name the export or the SELECT gave it."""
    return output.removesuffix(" (column)") if output.lower() == "rowid (column)" else output


def _refuse_twins(name: str, outputs: Sequence[str]) -> None:
    seen: dict[str, str] = {}
    for output in outputs:
        if seen.setdefault(output.lower(), output) != output or outputs.count(output) > 1:
            raise _refused(
                name,
                f"two columns of the SELECT are called {output!r}; give one another name (`AS`), "
                "or list the columns instead of `*`",
            )


def _traced(query: exp.Query, files: Mapping[str, SourceTable], inside: set[str]) -> dict[str, Origin]:
    """Add to a plain SELECT the row ordinal of each file it reads, and say which columns it passes plainly, by
    their names in small letters.

    Grouping, DISTINCT, set operations, and columns out of sub-queries are computed: nothing is traced.
    """
    if not isinstance(query, exp.Select) or any(query.args.get(part) for part in ("group", "distinct", "having")):
        return {}
    if any(
        aggregate for item in query.expressions for aggregate in item.find_all(exp.AggFunc) if not item.find(exp.Window)
    ):
        return {}
    from_ = query.args.get("from_") or query.args.get("from")
    joins = query.args.get("joins") or []
    read = [*([from_.this] if from_ else []), *(join.this for join in joins)]
    aliases = {
        t.alias: files[t.name] for t in read if isinstance(t, exp.Table) and t.name not in inside and t.name in files
    }
    if len(aliases) != len(read) or any(t.args.get("pivots") or t.args.get("sample") for t in read):
        return {}
    reached = _Reached(aliases, *_joined(aliases, joins))
    origins: dict[str, Origin | None] = {}
    for item in query.expressions:
        column = item.this if isinstance(item, exp.Alias) else item
        star = column.this if isinstance(column, exp.Column) and isinstance(column.this, exp.Star) else column
        if isinstance(star, exp.Star):
            left_out = _left_out(star)
            of = column.table if isinstance(column, exp.Column) else ""
            for name in reached.names(of):
                if name not in left_out:
                    origins[name] = reached.origin(name, of)
        elif isinstance(column, exp.Column):
            origins[item.alias_or_name.lower()] = reached.origin(column.name.lower(), column.table)
        else:
            origins[item.alias_or_name.lower()] = None
    traced = {name: origin for name, origin in origins.items() if origin}
    for alias in sorted({o.ordinal.removeprefix(_ORDINAL) for o in traced.values()}):
        ordinal = exp.column("rowid", table=alias, quoted=True)
        ordinal.meta["ordinal"] = True
        query.select(exp.alias_(ordinal, _ORDINAL + alias, quoted=True), append=True, copy=False)
    return traced


@dataclass(frozen=True)
class _Reached:
    """The tables a SELECT reads, by alias, in order. `leading` says which alias a joined column (USING) is of;
    `hidden` names the aliases whose rows only decide (a semi-join's right side)."""

    aliases: Mapping[str, SourceTable]
    leading: Mapping[str, str | None]
    hidden: frozenset[str]

    def names(self, of: str) -> list[str]:
        """The columns of one alias, or of all, in small letters."""
        tables = [t for a, t in self.aliases.items() if (a == of or not of) and a not in self.hidden]
        return [c.lower() for t in tables for c in t.columns]

    def origin(self, name: str, of: str) -> Origin | None:
        """Where a column comes from, if it comes from one cell."""
        if not of and name in self.leading:
            of = self.leading[name] or "\0"
        holders = [
            (alias, table, c)
            for alias, table in self.aliases.items()
            if alias not in self.hidden and (alias.lower() == of.lower() or not of)
            for c in table.columns
            if c.lower() == name
        ]
        if len(holders) != 1:
            return None
        alias, table, column = holders[0]
        return Origin(table=table.table, column=column, ordinal=_ORDINAL + alias)


def _joined(
    aliases: Mapping[str, SourceTable], joins: Sequence[exp.Join]
) -> tuple[dict[str, str | None], frozenset[str]]:
    """The columns that joins make one (USING, NATURAL), with the alias that states them: the first that has
    them, unless an outer join may take the other's; and the aliases that a semi- or anti-join hides."""
    leading: dict[str, str | None] = {}
    hidden: set[str] = set()
    for join in joins:
        mine = {c.lower() for c in aliases[join.this.alias].columns}
        if (join.kind or "").upper() in ("SEMI", "ANTI") or (join.side or "").upper() in ("SEMI", "ANTI"):
            hidden.add(join.this.alias)
        common = {c.name.lower() for c in join.args.get("using") or []}
        if (join.args.get("method") or "").upper() == "NATURAL":
            common = mine
        for name in common:
            first = next((a for a, t in aliases.items() if name in {c.lower() for c in t.columns}), None)
            sure = (join.side or "").upper() not in ("RIGHT", "FULL") and leading.get(name, first) == first
            leading[name] = first if sure else None
    return leading, frozenset(hidden)


def _left_out(star: exp.Star) -> set[str]:
    """The columns that `* EXCLUDE`, `REPLACE` and `RENAME` leave out or compute."""
    names: set[str] = set()
    for part in ("except_", "except", "replace", "rename"):
        for one in star.args.get(part) or []:
            names |= {i.name.lower() for i in one.find_all(exp.Identifier)} | {one.alias_or_name.lower()}
    return names
