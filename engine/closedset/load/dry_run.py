"""Loading an export to nowhere: everything a load does, in a place that is gone afterwards, and what it would lose."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from closedset.catalog import Catalog
from closedset.load import Loaded, load


@dataclass(frozen=True)
class Losses:
    """What a load could not use, in rows (a row counts once for each slot that loses it): no reader could read it,
    it names no entity, a cell is text its type cannot read, a surface is on no term, a period is reversed."""

    withheld: int
    unattributed: int
    unreadable: int
    unplaced: int
    reversed_periods: int

    def __bool__(self) -> bool:
        return bool(self.withheld or self.unattributed or self.unreadable or self.unplaced or self.reversed_periods)


def dry_run(pack: str | Path, mapping: str | Path, paths: Sequence[str | Path]) -> Loaded:
    """Load into a temporary store. Refuses what `load` refuses of a new store; needs as much disk, for as long."""
    with TemporaryDirectory(prefix="closedset-check-", ignore_cleanup_errors=True) as folder:
        return load(Path(folder) / "store", pack, paths, mapping=mapping)


def losses(catalog: Catalog) -> Losses:
    """What the loads of a generation could not use, over all of its sources."""
    slots = [slot for report in catalog.reports for slot in report.slots.values()]
    return Losses(
        withheld=sum(r.withheld for r in catalog.relations.values()),
        unattributed=sum(r.unattributed for r in catalog.relations.values()),
        unreadable=sum(slot.unreadable.rows for slot in slots),
        unplaced=sum(slot.unplaced.rows for slot in slots),
        reversed_periods=sum(report.reversed_periods for report in catalog.reports),
    )
