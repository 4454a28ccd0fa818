"""Delta and Iceberg tables on disk: folders whose log says which files are the table now."""

import hashlib
import json
from pathlib import Path
from typing import Any

from closedset.errors import LoadRefused
from closedset.load.read import arrow
from closedset.load.read.cells import Cells
from closedset.load.read.extra import needed
from closedset.load.read.part import Part, Unread, first_lines


def kind(path: Path) -> str | None:
    """`delta` or `iceberg` by what a folder holds; None for another folder."""
    if (path / "_delta_log").is_dir():
        return "delta"
    return "iceberg" if next((path / "metadata").glob("*.metadata.json"), None) else None


def digest(part: Part) -> str:
    """The hash of what says which rows a table has: its version and its files."""
    said = _delta_said(part) if part.kind == "delta" else [_metadata(part.path).read_text(encoding="utf-8")]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()


def fill_delta(cells: Cells, part: Part) -> tuple[int, list[Unread]]:
    """Append the rows of a Delta table's newest version. Refuses a table whose features cannot be read whole."""
    table = _delta(part)
    try:
        scanner = table.to_pyarrow_dataset().scanner()
        return arrow.append(cells, part, scanner.to_reader()), []
    except LoadRefused:
        raise
    except Exception as error:
        raise LoadRefused(f"{part.place}: not readable as a Delta table: {first_lines(error)}") from None


def _delta(part: Part) -> Any:
    deltalake = needed("deltalake", "delta", part.place)
    try:
        return deltalake.DeltaTable(str(part.path))
    except Exception as error:
        raise LoadRefused(f"{part.place}: not readable as a Delta table: {first_lines(error)}") from None


def _delta_said(part: Part) -> list[Any]:
    table = _delta(part)
    return [table.version(), sorted(table.file_uris()), table.schema().to_json()]


def fill_iceberg(cells: Cells, part: Part) -> tuple[int, list[Unread]]:
    """Append the rows of an Iceberg table's current snapshot, as its newest metadata file on disk says."""
    catalog = needed("pyiceberg.table", "iceberg", part.place)
    try:
        table = catalog.StaticTable.from_metadata(str(_metadata(part.path)))
        return arrow.append(cells, part, table.scan().to_arrow_batch_reader()), []
    except LoadRefused:
        raise
    except Exception as error:
        raise LoadRefused(
            f"{part.place}: not readable as an Iceberg table: {first_lines(error)}; its files must lie where its "
            "metadata says"
        ) from None


def _metadata(path: Path) -> Path:
    """The newest metadata file: the one the version hint names, else the one of the highest number."""
    hint = path / "metadata" / "version-hint.text"
    files = list((path / "metadata").glob("*.metadata.json"))
    if hint.is_file():
        version = hint.read_text(encoding="utf-8").strip()
        named = [f for f in files if f.name in (f"v{version}.metadata.json", f"{version}.metadata.json", version)]
        if named:
            return named[0]
    return max(files, key=lambda f: (_number(f.name), f.name))


def _number(name: str) -> int:
    digits = name.removeprefix("v").split("-")[0].split(".")[0]
    return int(digits) if digits.isdigit() else -1
