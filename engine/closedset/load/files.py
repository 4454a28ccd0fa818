"""Finding the files of an export and reading them into tables of cells: every column as text, as written."""

import csv
import hashlib
import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from fnmatch import fnmatchcase
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from closedset.catalog import SourceFile, SourceTable
from closedset.errors import LoadRefused
from closedset.render import quoted

if TYPE_CHECKING:
    import pyarrow as pa

    from closedset.mapping import Map

SUFFIXES = {".parquet": "parquet", ".pq": "parquet", ".csv": "csv", ".tsv": "csv", ".txt": "csv"}
_PACKED = (".gz", ".zst")
_DELIMITERS = ",;\t|"


@dataclass(frozen=True)
class Unread:
    """A row of a file that could not be read as a row of its columns."""

    file: str
    line: int
    text: str
    fault: str
    first_cell: str | None


@dataclass
class Inputs:
    """The tables of one source as read, and the rows that could not be."""

    tables: list[SourceTable] = field(default_factory=list)
    unread: dict[str, list[Unread]] = field(default_factory=dict)


def stem(path: Path) -> str:
    """A file's name without its kind and packing: `roles.csv.gz` is `roles`."""
    name = path.name
    for suffix in (*_PACKED, *SUFFIXES):
        name = name.removesuffix(suffix)
    return name


def kind(path: Path) -> str | None:
    suffixes = [s for s in path.suffixes if s not in _PACKED]
    return SUFFIXES.get(suffixes[-1].lower()) if suffixes else None


def found(paths: Sequence[str | Path]) -> list[Path]:
    """Every readable file under the given folders, files and globs, sorted. Refuses a path that is nothing."""
    files: set[Path] = set()
    for given in paths:
        path = Path(given)
        if path.is_dir():
            files.update(f for f in path.iterdir() if f.is_file() and kind(f))
        elif path.is_file():
            if not kind(path):
                raise LoadRefused(f"{path}: not a kind of file closedset reads ({', '.join(SUFFIXES)})")
            files.add(path)
        else:
            matches = [Path(m) for m in glob(str(given), recursive=True) if Path(m).is_file() and kind(Path(m))]
            if not matches:
                raise LoadRefused(f"{given}: no such file or folder, and no file matches it")
            files.update(matches)
    return sorted(files)


def choose(table: str, mapping: "Map", files: Sequence[Path]) -> tuple[list[Path], list[str]]:
    """The files of one table, and notes on files left aside. Refuses a table that no file fills."""
    patterns = mapping.files.get(table) or (table,)
    chosen = [f for f in files if any(fnmatchcase(f.name, p) for p in patterns)]
    if not chosen:
        stems = [stem(Path(p)) for p in patterns]
        chosen = [f for f in files if any(fnmatchcase(stem(f), s) for s in stems)]
    if not chosen:
        have = ", ".join(f.name for f in files) or "no files"
        raise LoadRefused(
            f"table {table}: no file {' or '.join(patterns)} (as .csv or .parquet) among what was given: {have}"
        )
    by_stem: dict[tuple[Path, str], list[Path]] = {}
    for file in chosen:
        by_stem.setdefault((file.parent, stem(file)), []).append(file)
    kept: list[Path] = []
    notes: list[str] = []
    for same in by_stem.values():
        # The same stem as Parquet and as CSV is one export written twice: reading both would double it.
        best = next((f for f in same if kind(f) == "parquet"), same[0])
        kept.append(best)
        notes.extend(f"{table}: read {best.name}; {f.name} beside it was left aside" for f in same if f != best)
    return sorted(kept), notes


def read(con: duckdb.DuckDBPyConnection, source: str, table: str, cells: str, files: Sequence[Path]) -> tuple[SourceTable, list[Unread]]:
    """Read a table's files, in order, into the table `cells`: one VARCHAR column each, empty as NULL."""
    columns: list[str] | None = None
    records: list[SourceFile] = []
    unread: list[Unread] = []
    total = 0
    for file in files:
        digest = hashlib.sha256()
        with file.open("rb") as stream:
            while block := stream.read(1 << 20):
                digest.update(block)
        if kind(file) == "parquet":
            here, sql, parameters, faults = *_parquet(con, file), []
        else:
            here, sql, parameters, faults = _csv(con, file)
        if columns is None:
            columns = here
            con.execute(f"CREATE TABLE {quoted(cells)} ({', '.join(f'{quoted(c)} VARCHAR' for c in columns)})").fetchall()
        elif set(here) != set(columns):
            more, less = sorted(set(here) - set(columns)), sorted(set(columns) - set(here))
            raise LoadRefused(f"{file}: its columns are not those of {files[0].name}: gained {more}, lost {less}")
        chosen = ", ".join(quoted(c) for c in columns)
        try:
            (count,) = con.execute(f"INSERT INTO {quoted(cells)} SELECT {chosen} FROM ({sql})", parameters).fetchall()[0]
        except duckdb.Error as error:
            raise LoadRefused(f"{file}: {_first_lines(error)}") from None
        if kind(file) == "csv":
            faults = _rejected(con, file)
        unread.extend(faults)
        records.append(
            SourceFile(
                path=str(file), sha256=digest.hexdigest(), bytes=file.stat().st_size,
                rows=count + len(faults), unreadable=len(faults),
            )
        )  # fmt: skip
        total += count
    assert columns is not None
    return SourceTable(source=source, table=table, cells=cells, columns=columns, rows=total, files=records), unread


def keep(con: duckdb.DuckDBPyConnection, source: str, table: str, cells: str, data: "pa.Table") -> SourceTable:
    """Keep an Arrow table's cells as text; the in-memory twin of `read`."""
    con.register("arrow_cells", data)
    columns = list(data.column_names)
    casts = ", ".join(f"nullif({quoted(c)}::VARCHAR, '') AS {quoted(c)}" for c in columns)
    con.execute(f"CREATE TABLE {quoted(cells)} AS SELECT {casts} FROM arrow_cells").fetchall()
    con.unregister("arrow_cells")
    return SourceTable(source=source, table=table, cells=cells, columns=columns, rows=data.num_rows)


def _parquet(con: duckdb.DuckDBPyConnection, file: Path) -> tuple[list[str], str, list[str]]:
    try:
        described = con.execute("DESCRIBE SELECT * FROM read_parquet(?)", [str(file)]).fetchall()
    except duckdb.Error as error:
        raise LoadRefused(f"{file}: {_first_lines(error)}") from None
    casts = []
    for name, type_, *_ in described:
        if any(mark in type_ for mark in ("STRUCT", "[]", "MAP(", "UNION(", "BLOB")):
            raise LoadRefused(f"{file}: column {name} is nested or binary ({type_}); flatten it or drop it")
        casts.append(f"nullif({quoted(name)}::VARCHAR, '') AS {quoted(name)}")
    _unique([d[0] for d in described], file)
    return [d[0] for d in described], f"SELECT {', '.join(casts)} FROM read_parquet(?)", [str(file)]


def _csv(con: duckdb.DuckDBPyConnection, file: Path) -> tuple[list[str], str, dict[str, object], list[Unread]]:
    con.execute("DROP TABLE IF EXISTS reject_errors").fetchall()
    con.execute("DROP TABLE IF EXISTS reject_scans").fetchall()
    names, delimiter = _header(file)
    struct = "{" + ", ".join(f"'{n.replace(chr(39), chr(39) * 2)}': 'VARCHAR'" for n in names) + "}"
    sql = (
        f"SELECT * FROM read_csv($file, columns = {struct}, delim = $delimiter, quote = '\"', escape = '\"', "
        "header = true, auto_detect = false, store_rejects = true, nullstr = '')"
    )
    return names, sql, {"file": str(file), "delimiter": delimiter}, []


def _header(file: Path) -> tuple[list[str], str]:
    """The header's names and the delimiter. Refuses an empty file, a file that is not UTF-8, names that clash."""
    head = _first_bytes(file)
    if not head:
        raise LoadRefused(f"{file}: the file is empty (0 bytes): not even a header; nobody was looked at by it")
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise LoadRefused(f"{file}: the file is UTF-16; save it as UTF-8")
    try:
        text = head.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if error.start < len(head) - 4:
            line = head.count(b"\n", 0, error.start) + 1
            raise LoadRefused(
                f"{file}:{line}: byte {head[error.start]:#04x} is not UTF-8 (Latin-1 or cp1252?); save the file as UTF-8"
            ) from None
        text = head[: error.start].decode("utf-8-sig")
    first = text.splitlines()[0] if text.strip() else ""
    counts = {d: first.count(d) for d in _DELIMITERS}
    delimiter = max(counts, key=lambda d: counts[d]) if any(counts.values()) else ","
    names = next(csv.reader(io.StringIO(text), delimiter=delimiter), [])
    if not names:
        raise LoadRefused(f"{file}:1: no header")
    names = [name or f"column_{i}" for i, name in enumerate(names, 1)]
    _unique(names, file)
    return names, delimiter


def _first_bytes(file: Path) -> bytes:
    size = 1 << 16
    if file.suffix == ".gz":
        import gzip

        with gzip.open(file) as packed:
            return packed.read(size)
    if file.suffix == ".zst":
        import pyarrow as pa

        with pa.CompressedInputStream(pa.OSFile(str(file)), "zstd") as stream:
            return bytes(stream.read(size))
    with file.open("rb") as stream:
        return stream.read(size)


def _unique(names: Sequence[str], file: Path) -> None:
    seen: dict[str, tuple[int, str]] = {}
    for i, name in enumerate(names, 1):
        first = seen.setdefault(name.lower(), (i, name))
        if first[0] != i:
            raise LoadRefused(
                f"{file}:1: columns {first[0]} ({first[1]!r}) and {i} ({name!r}) have the same name; rename one"
            )


def _rejected(con: duckdb.DuckDBPyConnection, file: Path) -> list[Unread]:
    rows = con.execute(
        "SELECT line, any_value(error_type::VARCHAR), any_value(csv_line), any_value(error_message) "
        "FROM reject_errors GROUP BY line ORDER BY line"
    ).fetchall()
    unread = []
    for line, fault, text, message in rows:
        if fault not in ("MISSING COLUMNS", "TOO MANY COLUMNS"):
            raise LoadRefused(f"{file}:{line}: {message.splitlines()[0]} ({fault.lower()}); fix the line or the file's encoding")
        cells = next(csv.reader(io.StringIO(text)), [])
        unread.append(Unread(file.name, line, text, message, cells[0] if cells else None))
    return unread


def _first_lines(error: Exception) -> str:
    return "; ".join(line.strip() for line in str(error).splitlines()[:3] if line.strip())


def nearest(name: str, names: Sequence[str]) -> str:
    """`did you mean` for a message, or nothing."""
    close = get_close_matches(name, names, n=1, cutoff=0.6)
    return f"; did you mean {close[0]!r}?" if close else ""
