"""An export as it is given: which of its files fill which table of the map, and what their bytes were."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from closedset.catalog import FORMAT
from closedset.errors import LoadRefused
from closedset.load import files, tables
from closedset.mapping import Map
from closedset.pack import Pack

Chosen = dict[str, tuple[list[Path], list[str]]]


@dataclass(frozen=True)
class Digest:
    """A file's bytes when they were hashed, and how to see that they are no longer the same."""

    sha256: str
    stamp: tuple[int, int]


def file_tables(mapping: Map) -> list[str]:
    """The tables that files must fill: all the map names, less those it defines by a SELECT."""
    named = [r.table for r in mapping.rows] + [e.table for e in mapping.entities]
    named += [said.table for _, said in mapping.statements()]
    for name, select in mapping.tables.items():
        named += tables.read_by(name, select)
    return [name for name in dict.fromkeys(named) if name not in mapping.tables]


def choose(mapping: Map, found: Sequence[Path]) -> Chosen:
    """The files of each table, and notes on those left aside."""
    return {name: files.choose(name, mapping, found) for name in file_tables(mapping)}


def fingerprint(pack: Pack, mapping: Map, chosen: Chosen) -> tuple[str, dict[Path, Digest]]:
    """A hash over everything a load's outcome depends on (the pack, the map, every file's bytes), and that of
    each file."""
    digest = hashlib.sha256(f"{FORMAT}\0{pack.model_dump_json()}\0{mapping.model_dump_json()}".encode())
    digests: dict[Path, Digest] = {}
    for name, (paths, _) in chosen.items():
        for file in paths:
            if file not in digests:
                try:
                    stamp = _stamp(file)
                    with file.open("rb") as stream:
                        digests[file] = Digest(hashlib.file_digest(stream, "sha256").hexdigest(), stamp)
                except OSError as error:
                    raise LoadRefused(f"{file}: cannot be read: {error.strerror}") from None
            digest.update(f"\0{name}\0{file.name}\0{digests[file].sha256}".encode())
    return digest.hexdigest(), digests


def refuse_changed(digests: dict[Path, Digest]) -> None:
    """Refuse an export that was written to while it was read."""
    for file, digest in digests.items():
        if _stamp(file) != digest.stamp:
            raise LoadRefused(f"{file}: changed while it was read; load again when the export is finished")


def _stamp(file: Path) -> tuple[int, int]:
    status = file.stat()
    return status.st_size, status.st_mtime_ns
