"""Copies of single slots, laid by value: who holds a number, a day or a text is read from the part of a copy that holds
it, and who has an empty cell from another, whatever order the rows themselves are in."""

import duckdb

from closedset.catalog import StoredRelation
from closedset.pack import Relation
from closedset.render import quoted, render

#: A relation of fewer rows is scanned as fast as a part of a copy is read.
_FEW = 100_000
#: Longer texts are no names of anything that is asked for, and take more room twice than they save time.
_LONG = 40


def build(con: duckdb.DuckDBPyConnection, name: str, relation: Relation, stored: StoredRelation) -> None:
    """Write the copies of one relation, each the table `sorted_<relation>.<slot>`, and note in `stored` which."""
    if not stored.table or stored.rows < _FEW:
        return
    for slot_name, slot in relation.slots.items():
        if slot.type == "term" or not stored.slots[slot_name].written:
            continue
        if slot.type == "text" and _length(con, stored.table, slot_name) > _LONG:
            continue
        con.execute(
            render(
                "load/sorted_slot.sql.j2",
                copy=f"sorted_{name}.{slot_name}", table=stored.table, slot=slot_name, date=slot.type == "date",
                dated=relation.dated,
            )
        ).fetchall()  # fmt: skip
        stored.slots[slot_name].sorted = True


def _length(con: duckdb.DuckDBPyConnection, table: str, slot: str) -> float:
    ((length,),) = con.execute(f"SELECT coalesce(avg(length({quoted(slot)})), 0) FROM {quoted(table)}").fetchall()
    return float(length)
