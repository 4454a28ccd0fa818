"""Finding the files of an export and reading them into tables of cells: every column as text, as written.

Longer than most files here on purpose: the header, the fast reading and its slow twin must agree on what one line
of a file is, and on which line a fault stands.
"""

import csv
import gzip
import io
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from glob import glob
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

import duckdb

from closedset.catalog import SourceFile, SourceTable, kept_as
from closedset.errors import LoadRefused
from closedset.render import quoted

if TYPE_CHECKING:
    import pyarrow as pa

    from closedset.mapping import Map

SUFFIXES = {".parquet": "parquet", ".pq": "parquet", ".csv": "csv", ".tsv": "csv", ".txt": "csv"}
Cells = tuple[str, ...]
_PACKED = (".gz", ".zst")
_DELIMITERS = ",;\t|"
_LONGEST_LINE = 16_000_000
_BATCH = 50_000
_QUOTE_LEFT_OPEN = "close the quote, and double a quote that stands inside a quoted cell"
#: DuckDB's words for rows whose line ends differ from row to row.
_MIXED_LINE_ENDS = "state machine reached an invalid state"
#: Parquet types whose text says all they hold. What is nested or binary has no one text.
_PLAIN = re.compile(
    r"VARCHAR|BOOLEAN|U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|DECIMAL\(\d+,\d+\)|DATE|TIME|TIMESTAMP(_S|_MS|_NS)?"
    r"|TIME(STAMP)? WITH TIME ZONE|UUID|JSON|INTERVAL|BIGNUM|\"NULL\"|ENUM\(.*\)",
    re.DOTALL,
)


@dataclass(frozen=True)
class Unread:
    """A row of a file that could not be read as a row of its columns; its first cell, and that cell's column."""

    file: str
    line: int
    text: str
    fault: str
    first_cell: str | None
    first_column: str


def stem(path: Path) -> str:
    """A file's name without its kind and packing: `roles.csv.gz` is `roles`."""
    name = path.name
    for suffix in (*_PACKED, *SUFFIXES):
        if name.lower().endswith(suffix):
            name = name[: -len(suffix)]
    return name


def _unpacked(name: str) -> str:
    return next((name[: -len(s)] for s in _PACKED if name.lower().endswith(s)), name)


def kind(path: Path) -> str | None:
    """`csv` or `parquet` by a file's name, packing aside; None for what is neither."""
    suffixes = [s.lower() for s in path.suffixes if s.lower() not in _PACKED]
    return SUFFIXES.get(suffixes[-1]) if suffixes else None


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
    names = {f.name for f in files}
    # A name that stands there as it is written is no pattern, whatever brackets it holds; a pattern takes a file
    # packed or not, so that no part of an export is missed for its packing.
    chosen = [
        f
        for f in files
        if any(f.name == p if p in names else fnmatchcase(_unpacked(f.name), _unpacked(p)) for p in patterns)
    ]
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


def read(
    con: duckdb.DuckDBPyConnection, source: str, table: str, cells: Cells, files: Sequence[Path], digests: Sequence[str]
) -> tuple[SourceTable, list[Unread]]:
    """Read a table's files, in order, into the table `cells`: one VARCHAR column each, empty as NULL.

    Takes each file's digest, which the record keeps. Refuses what is no such file, naming file and line.
    """
    columns: list[str] = []
    records: list[SourceFile] = []
    unread: list[Unread] = []
    total = 0
    for file, digest in zip(files, digests, strict=True):
        head = None if kind(file) == "parquet" else _header(file)
        here = head.names if head else _parquet_columns(con, file)
        if not records:
            columns = here
            declared = ", ".join(f"{quoted(kept_as(c))} VARCHAR" for c in columns)
            con.execute(f"CREATE TABLE {quoted(cells)} ({declared})").fetchall()
        elif set(here) != set(columns):
            more, less = sorted(set(here) - set(columns)), sorted(set(columns) - set(here))
            raise LoadRefused(
                f"{file}: its columns are not those of {files[0].name}: gained {more}, lost {less}; "
                "give both files the same columns, or load them as two sources"
            )
        count, faults = _csv(con, file, head, cells, columns) if head else (_parquet(con, file, cells, columns), [])
        unread.extend(faults)
        records.append(
            SourceFile(
                path=str(file), sha256=digest, bytes=file.stat().st_size,
                rows=count + len(faults), unreadable=len(faults),
            )
        )  # fmt: skip
        total += count
    return SourceTable(source=source, table=table, cells=cells, columns=columns, rows=total, files=records), unread


def keep(con: duckdb.DuckDBPyConnection, source: str, table: str, cells: Cells, data: "pa.Table") -> SourceTable:
    """Keep an Arrow table's cells as text; the in-memory twin of `read`."""
    con.register("arrow_cells", data)
    columns = list(data.column_names)
    casts = ", ".join(f"nullif({quoted(c)}::VARCHAR, '') AS {quoted(kept_as(c))}" for c in columns)
    con.execute(f"CREATE TABLE {quoted(cells)} AS SELECT {casts} FROM arrow_cells").fetchall()
    con.unregister("arrow_cells")
    return SourceTable(source=source, table=table, cells=cells, columns=columns, rows=data.num_rows)


def _literally(file: Path) -> str:
    """The path as DuckDB's readers take it: in a plain path, `*`, `?` and `[` would match other files."""
    return re.sub(r"([*?\[])", r"[\1]", str(file))


def _parquet_columns(con: duckdb.DuckDBPyConnection, file: Path) -> list[str]:
    """A Parquet file's columns. Refuses two of one name, and what is nested or binary."""
    if not file.stat().st_size:
        raise LoadRefused(f"{file}: the file is empty (0 bytes): not even a schema; nobody was looked at by it")
    sql = "SELECT name, num_children FROM parquet_schema(?)"
    try:
        schema = con.execute(sql, [_literally(file)]).fetchall()
        described = con.execute(f"DESCRIBE {_READ_PARQUET}", [_literally(file)]).fetchall()
    except duckdb.Error as error:
        raise LoadRefused(f"{file}: {_first_lines(error)}") from None
    _unique(_top_level(schema), file)
    for name, type_, *_ in described:
        if not _PLAIN.fullmatch(type_):
            raise LoadRefused(
                f"{file}: column {name!r} is nested or binary ({type_}); flatten it to columns of one value, or drop it"
            )
    return [d[0] for d in described]


_READ_PARQUET = "SELECT * FROM read_parquet(?, hive_partitioning = false)"


def _top_level(schema: Sequence[tuple[str, int | None]]) -> list[str]:
    """The columns of a Parquet schema that is listed depth first, its root before all."""
    names: list[str] = []
    below = 0
    for name, children in schema[1:]:
        if not below:
            names.append(name)
        else:
            below -= 1
        below += children or 0
    return names


def _parquet(con: duckdb.DuckDBPyConnection, file: Path, cells: Cells, columns: Sequence[str]) -> int:
    chosen = ", ".join(f"nullif({quoted(c)}::VARCHAR, '')" for c in columns)
    sql = f"INSERT INTO {quoted(cells)} SELECT {chosen} FROM ({_READ_PARQUET})"
    try:
        ((count,),) = con.execute(sql, [_literally(file)]).fetchall()
    except duckdb.Error as error:
        raise LoadRefused(f"{file}: {_first_lines(error)}") from None
    return int(count)


@dataclass(frozen=True)
class _Head:
    """What a CSV file's first record says: its columns' names and its delimiter."""

    names: list[str]
    delimiter: str


def _csv(
    con: duckdb.DuckDBPyConnection, file: Path, head: _Head, cells: Cells, columns: Sequence[str]
) -> tuple[int, list[Unread]]:
    """Append a CSV file's rows to `cells`, every cell as written; give their number and the rows left out."""
    for table in ("reject_errors", "reject_scans"):
        con.execute(f"DROP TABLE IF EXISTS {table}").fetchall()
    struct = "{" + ", ".join(f"'{n.replace(chr(39), chr(39) * 2)}': 'VARCHAR'" for n in head.names) + "}"
    chosen = ", ".join(quoted(c) for c in columns)
    sql = (
        f"INSERT INTO {quoted(cells)} SELECT {chosen} FROM read_csv($file, columns = {struct}, delim = $delimiter, "
        "quote = '\"', escape = '\"', header = true, auto_detect = false, store_rejects = true, nullstr = '', "
        f"hive_partitioning = false, max_line_size = {_LONGEST_LINE})"
    )
    con.begin()
    try:
        ((count,),) = con.execute(sql, {"file": _literally(file), "delimiter": head.delimiter}).fetchall()
        faults = _rejected(con, file, head)
    except duckdb.Error as error:
        con.rollback()
        if _MIXED_LINE_ENDS in str(error):
            return _slowly(con, file, head, cells, columns)
        raise LoadRefused(f"{file}: {_first_lines(error)}") from None
    except LoadRefused as refusal:
        # Line ends that differ from row to row can look like a quote left open; the other reading knows better.
        con.rollback()
        if _QUOTE_LEFT_OPEN not in str(refusal):
            raise
        return _slowly(con, file, head, cells, columns, refusal)
    con.commit()
    return int(count), faults


def _slowly(
    con: duckdb.DuckDBPyConnection,
    file: Path,
    head: _Head,
    cells: Cells,
    columns: Sequence[str],
    refusal: LoadRefused | None = None,
) -> tuple[int, list[Unread]]:
    """The twin of the fast reading, row by row, for a file whose line ends differ from row to row. `refusal` is
    what the fast one said of a quote, and stands if this one finds it broken too."""
    import pyarrow as pa

    width = len(head.names)
    unread: list[Unread] = []
    total = 0
    csv.field_size_limit(_LONGEST_LINE)
    with _opened(file) as raw, io.TextIOWrapper(raw, encoding="utf-8-sig", newline="") as text:
        reader = csv.reader(text, delimiter=head.delimiter, strict=True)

        def rows() -> Iterator[list[str]]:
            for row in islice(reader, 1, None):
                if len(row) == width or (len(row) == width + 1 and not row[-1]):
                    yield row[:width]
                elif row or width == 1:
                    if not row:
                        yield [""]
                        continue
                    if any("\n" in cell or "\r" in cell for cell in row):
                        raise LoadRefused(f"{file}:{reader.line_num}: {_SEVERAL_LINES}")
                    said = f"Expected Number of Columns: {width} Found: {len(row)}"
                    unread.append(
                        Unread(file.name, reader.line_num, head.delimiter.join(row), said, row[0], head.names[0])
                    )

        try:
            readable = rows()
            while batch := list(islice(readable, _BATCH)):
                arrays = [pa.array(column, pa.string()) for column in zip(*batch, strict=True)]
                con.register("arrow_cells", pa.table(arrays, names=[str(i) for i in range(width)]))
                chosen = ", ".join(f"nullif(\"{head.names.index(c)}\", '')" for c in columns)
                con.execute(f"INSERT INTO {quoted(cells)} SELECT {chosen} FROM arrow_cells").fetchall()
                con.unregister("arrow_cells")
                total += len(batch)
        except csv.Error as error:
            raise refusal or LoadRefused(f"{file}:{reader.line_num}: {error}; mend the quotes of that line") from None
        except UnicodeDecodeError as error:
            byte = error.object[error.start]
            raise LoadRefused(f"{file}:{reader.line_num + 1}: {_not_utf8(byte)}") from None
    return total, unread


def _header(file: Path) -> _Head:
    """Refuses an empty file, a file that is not UTF-8, a file without header, names that clash."""
    head, whole = _first_bytes(file)
    if not head:
        raise LoadRefused(f"{file}: the file is empty (0 bytes): not even a header; nobody was looked at by it")
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        name = "UTF-32" if head[2:4] == b"\0\0" else "UTF-16"
        raise LoadRefused(f"{file}:1: the file is {name}; save it as UTF-8")
    try:
        text = head.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if whole or error.start < len(head) - 4:
            line = head.count(b"\n", 0, error.start) + 1
            raise LoadRefused(f"{file}:{line}: {_not_utf8(head[error.start])}") from None
        text = head[: error.start].decode("utf-8-sig")
    first = _first_record(text)
    if "\0" in first:
        raise LoadRefused(f"{file}:1: the header holds NUL bytes (UTF-16 without its mark?); save the file as UTF-8")
    if not first.strip():
        raise LoadRefused(f"{file}:1: no header: the first line is blank; the header must stand there")
    outside = re.sub(r'"[^"]*"', "", first)
    counts = {d: outside.count(d) for d in _DELIMITERS}
    delimiter = max(counts, key=lambda d: counts[d])
    csv.field_size_limit(_LONGEST_LINE)
    try:
        names = next(csv.reader(io.StringIO(first, newline=""), delimiter=delimiter, strict=True))
    except csv.Error as error:
        raise LoadRefused(f"{file}:1: the header cannot be read ({error}); mend its quotes") from None
    names = [name or f"column_{i}" for i, name in enumerate(names, 1)]
    _unique(names, file)
    return _Head(names, delimiter)


def _first_record(text: str) -> str:
    """The text up to the first line end that stands outside quotes."""
    match = re.match(r'(?:[^"\r\n]|"[^"]*(?:"|\Z))*', text)
    return match[0] if match else ""


def _not_utf8(byte: int) -> str:
    return f"byte {byte:#04x} is not UTF-8 (Latin-1 or cp1252?); save the file as UTF-8"


def _opened(file: Path) -> BinaryIO:
    """The file's bytes, unpacked."""
    suffix = file.suffix.lower()
    if suffix == ".gz":
        return cast(BinaryIO, gzip.open(file))
    if suffix == ".zst":
        import pyarrow as pa

        return cast(BinaryIO, pa.CompressedInputStream(pa.OSFile(str(file)), "zstd"))
    return file.open("rb")


def _first_bytes(file: Path) -> tuple[bytes, bool]:
    """Enough of a file to hold its header, and whether that is all of it."""
    size = 1 << 20
    try:
        with _opened(file) as stream:
            head = stream.read(size)
            return head, len(head) < size
    except (OSError, EOFError, zlib.error) as error:
        raise LoadRefused(f"{file}: cannot be read ({error}); is it whole, and packed as its name says?") from None


def _unique(names: Sequence[str], file: Path) -> None:
    seen: dict[str, tuple[int, str]] = {}
    for i, name in enumerate(names, 1):
        first = seen.setdefault(name.lower(), (i, name))
        if first[0] != i:
            raise LoadRefused(
                f"{file}:1: columns {first[0]} ({first[1]!r}) and {i} ({name!r}) have the same name; rename one"
            )


#: Such a record may hold whole rows that a stray quote swallowed: whoever they are about would silently be missing.
_SEVERAL_LINES = (
    "a record that runs over several lines has the wrong number of columns: "
    "is a quote left open there, so that it swallowed the rows after it? Close it, or double it inside a cell"
)


def _rejected(con: duckdb.DuckDBPyConnection, file: Path, head: _Head) -> list[Unread]:
    """The rows that the reading left out. Refuses what may have swallowed the rows after it."""
    rejects = con.execute(
        # Of a record's faults the gravest counts: a quote left open also shows as a wrong number of columns.
        "SELECT min(line_byte_position), arg_max(error_type::VARCHAR, grave), any_value(csv_line), "
        "arg_max(error_message, grave) FROM "
        "(SELECT *, error_type NOT IN ('MISSING COLUMNS', 'TOO MANY COLUMNS') AS grave FROM reject_errors) "
        "GROUP BY line ORDER BY line"
    ).fetchall()
    lines = _lines(file, [place for place, *_ in rejects])
    unread = []
    for line, (_, fault, text, message) in zip(lines, rejects, strict=True):
        if fault not in ("MISSING COLUMNS", "TOO MANY COLUMNS"):
            said = message.splitlines()[0].rstrip(".")
            raise LoadRefused(f"{file}:{line}: {said}; {_CURE.get(fault, 'mend that line')}")
        text = text.strip("\r\n")
        if "\n" in text or "\r" in text:
            raise LoadRefused(f"{file}:{line}: {_SEVERAL_LINES}")
        cells = next(csv.reader(io.StringIO(text, newline=""), delimiter=head.delimiter), [])
        unread.append(Unread(file.name, line, text, message, cells[0] if cells else None, head.names[0]))
    return unread


_CURE = {
    "UNQUOTED VALUE": _QUOTE_LEFT_OPEN,
    "INVALID ENCODING": "save the file as UTF-8",
    "LINE SIZE OVER MAXIMUM": "is a quote left open there?",
}


def _lines(file: Path, places: Sequence[int]) -> list[int]:
    """The line, from 1, on which each byte stands; `places` ascend. DuckDB counts records, people count lines."""
    if not places:
        return []
    lines: list[int] = []
    line, at = 1, 0
    with _opened(file) as stream:
        for place in places:
            while at < place and (block := stream.read(min(place - at, 1 << 20))):
                line += block.count(b"\n")
                at += len(block)
            lines.append(line)
    return lines


def _first_lines(error: Exception) -> str:
    return "; ".join(line.strip() for line in str(error).splitlines()[:3] if line.strip())


def nearest(name: str, names: Sequence[str]) -> str:
    """`did you mean` for a message, or nothing."""
    close = [n for n in names if n.lower().strip() == name.lower().strip()] or get_close_matches(name, names, n=1)
    return f"; did you mean {close[0]!r}?" if close else ""
