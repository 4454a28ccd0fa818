"""An export as it is given: which of its files fill which table of the map, and what their bytes were."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

from closedset import progress
from closedset.catalog import FORMAT
from closedset.errors import LoadRefused
from closedset.load import read, tables
from closedset.load.read import Chosen, Digest, Part
from closedset.mapping import Map
from closedset.pack import Pack


def file_tables(mapping: Map) -> list[str]:
    """The tables that files must fill: all the map names, less those it defines by a SELECT."""
    named = [r.table for r in mapping.rows] + [e.table for e in mapping.entities]
    named += [said.table for _, said in mapping.statements()]
    for name, select in mapping.tables.items():
        named += tables.read_by(name, select)
    return [name for name in dict.fromkeys(named) if name not in mapping.tables]


def choose(mapping: Map, paths: Sequence[str | Path]) -> Chosen:
    """The parts of each table among the files, folders, globs and servers given. Refuses a table that nothing fills."""
    found, passed = read.found(paths), read.passed_over(paths)
    chosen: dict[str, list[Part]] = {}
    for name in file_tables(mapping):
        try:
            chosen[name] = read.choose(name, mapping, found, passed)
        except LoadRefused as refused:
            faults = refused.faults or [(mapping.place_of(name), str(refused))]
            raise LoadRefused(str(refused), faults) from None
    return chosen


def fingerprint(pack: Pack, mapping: Map, chosen: Chosen) -> tuple[str, dict[Part, Digest]]:
    """A hash over everything a load's outcome depends on (the pack, the map, every part's bytes), and that of
    each part."""
    digest = hashlib.sha256(f"{FORMAT}\0{pack.model_dump_json()}\0{mapping.model_dump_json()}".encode())
    digests: dict[Part, Digest] = {}
    by_place: dict[str, Digest] = {}
    for name, parts in chosen.items():
        for part in parts:
            progress.step(f"hashing {part.name}")
            # Two tables may lie in one file.
            by_place[part.place] = digests[part] = by_place.get(part.place) or read.digest(part)
            digest.update(f"\0{name}\0{part.name}\0{digests[part].sha256}".encode())
    return digest.hexdigest(), digests


def refuse_changed(digests: dict[Part, Digest]) -> None:
    """Refuse an export that was written to while it was read."""
    for part, digest in digests.items():
        if read.stamp(part) != digest.stamp:
            raise LoadRefused(f"{part.place}: changed while it was read; load again when the export is finished")
