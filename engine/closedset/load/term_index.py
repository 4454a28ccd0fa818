"""The term index of a relation: for each term of a slot the entities that hold a row with it, as a bitmap in pieces;
and the same of the cells of any slot that say nothing, cannot be read, or say a span of days."""

import duckdb
import pyarrow as pa

from closedset.catalog import SlotColumns, TermRows
from closedset.entity_set import width
from closedset.pack import Pack, Relation
from closedset.render import quoted, render

#: A relation of fewer rows is scanned as fast as an index is read.
_FEW = 100_000
#: So many bytes of bitmaps one slot may take; with more terms than fit, its rows are scanned instead.
_MOST = 256 << 20
#: A bitmap is kept in pieces of so many bytes: a longer value would stand outside DuckDB's blocks, and be read slowly.
_PIECE = 4000


def build(
    con: duckdb.DuckDBPyConnection,
    pack: Pack,
    name: str,
    relation: Relation,
    slots: dict[str, SlotColumns],
    rows: int,
    universe: int,
) -> None:
    """Write the index of one relation, table `terms_<relation>`, and note in `slots` which terms it holds."""
    last = width(universe) - 1
    most = _MOST // (width(universe) // 8)
    chosen = {
        s: slot.type
        for s, slot in relation.askable().items()
        if slots[s].written and (not (vocabulary := pack.vocabulary(slot)) or len(vocabulary.terms) <= most)
    }
    if rows < _FEW or not chosen:
        return
    listed = [{"name": s, "type": kind} for s, kind in chosen.items()]
    con.execute(
        render("load/term_rows.sql.j2", table=f"rows_{name}", slots=listed, dated=relation.dated, last=last)
    ).fetchall()
    for slot in chosen:
        slots[slot].terms = {}
    counts = con.execute('SELECT slot, code, "rows", undated FROM term_rows ORDER BY slot, code').fetchall()
    table = f"terms_{name}"
    # Its pieces are dense, and compressing them costs a search more than reading them.
    con.execute(
        f"CREATE TABLE {quoted(table)} (entry INTEGER, part INTEGER, entities BLOB USING COMPRESSION uncompressed)"
    ).fetchall()
    for entry, (slot, code, held, undated) in enumerate(counts):
        terms = slots[slot].terms
        assert terms is not None
        terms[code] = TermRows(entry=entry, rows=held, undated=undated)
        _write(con, table, entry, slot, code)
    con.execute("DROP TABLE term_rows").fetchall()


def _write(con: duckdb.DuckDBPyConnection, table: str, entry: int, slot: str, code: int) -> None:
    """Cut one bitmap outside DuckDB: a statement that cuts it holds it once for every piece."""
    sql = "SELECT entities::BLOB FROM term_rows WHERE slot = ? AND code = ?"
    ((bitmap,),) = con.execute(sql, [slot, code]).fetchall()
    pieces = [bitmap[at : at + _PIECE] for at in range(0, len(bitmap), _PIECE)]
    con.register("term_pieces", pa.table({"part": range(len(pieces)), "entities": pa.array(pieces, pa.binary())}))
    con.execute(render("load/term_index.sql.j2", table=table), {"entry": entry}).fetchall()
    con.unregister("term_pieces")
