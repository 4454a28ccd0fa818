"""Whether a store is what its exports said: its kept cells read again, all of them, a sample, or against live files."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from closedset.content import content
from closedset.errors import RequestRefused
from closedset.execute import Run
from closedset.load import against as live_export
from closedset.load import verify as whole_store
from closedset.load.against import Compared
from closedset.load.verify import Difference, Verified
from closedset.matches import stored_row
from closedset.receipt import Sources
from closedset.store import Generation, Store

__all__ = ["Compared", "Difference", "Verified", "against", "kept", "sampled"]


def kept(path: str | Path, source: str | None = None) -> Verified:
    """Read every kept cell of a store again, or of one source, and compare with what answers rest on."""
    with Store(Path(path)) as opened:
        _known(opened.generation(), source)
        found = whole_store.verify(path, source)
        return found if source is not None else replace(found, content=content(opened.generation()))


def sampled(path: str | Path, size: int, source: str | None = None) -> Verified:
    """The same of at most `size` rows of each table, by the receipts that a reply would give of them."""
    with Store(Path(path)) as opened:
        generation = opened.generation()
        _known(generation, source)
        run, sources = Run(generation), Sources(Run(generation))
        cells, rows = 0, 0
        found = []
        for entry in sources.entries:
            one = entry.rows
            table = run.catalog.relations[one.relation].table
            if source not in (None, entry.source) or table is None:
                continue
            drawn = run.statement("verify/sample.sql.j2", table=table, entry=entry.number, size=size).to_pylist()
            stated = sources.state([stored_row(one.relation, row) for row in drawn])
            wrong = [f"{s.row_id}: {slot}" for s in stated for slot, r in s.slots.items() if not r.byte_verified]
            cells += sum(len(s.slots) for s in stated)
            rows += len(stated)
            if wrong:
                where = f"{one.relation} from {one.table}: cells that read otherwise"
                found.append(Difference(where, len(wrong), tuple(wrong[:5])))
    return Verified(cells, rows, tuple(found))


def against(path: str | Path, paths: Sequence[str | Path], source: str | None = None) -> list[Compared]:
    """Compare a live export with the cells that the store keeps of it, table by table."""
    return live_export.against(path, paths, source)


def _known(generation: Generation, source: str | None) -> None:
    known = generation.catalog.sources
    if source is not None and source not in known:
        raise RequestRefused("source_unknown", f"the store holds no source {source!r}; it has: {', '.join(known)}")
