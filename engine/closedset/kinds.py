"""The kinds of export closedset reads, by their files' names, and what a map may say about each."""

#: What a file's name ends in, packing aside. `database` is SQLite or DuckDB: its first bytes say which.
SUFFIXES = {
    ".parquet": "parquet", ".pq": "parquet",
    ".arrow": "arrow", ".feather": "arrow", ".ipc": "arrow", ".arrows": "arrow",
    ".csv": "csv", ".tsv": "csv", ".txt": "csv", ".tab": "csv", ".psv": "csv",
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "json",
    ".xlsx": "excel", ".xlsm": "excel", ".xlsb": "excel", ".xls": "excel", ".ods": "excel",
    ".sqlite": "database", ".sqlite3": "database", ".duckdb": "database", ".ddb": "database", ".db": "database",
}  # fmt: skip
PACKED = (".gz", ".zst")
#: Kinds that are text, and may be packed.
TEXT = ("csv", "json", "jsonl")
NAMES = {
    "parquet": "Parquet", "arrow": "Arrow", "csv": "CSV", "jsonl": "JSON lines", "json": "JSON", "excel": "a workbook",
    "database": "a database file", "sqlite": "SQLite", "duckdb": "a DuckDB file", "postgres": "PostgreSQL",
    "delta": "a Delta table", "iceberg": "an Iceberg table",
}  # fmt: skip
_DATABASES = ("database", "sqlite", "duckdb", "postgres")
_COLUMNAR = ("parquet", "arrow", "delta", "iceberg")
#: Which kinds use an option of `files.TABLE` in a map.
OPTIONS = {
    "delimiter": ("csv",),
    "quote": ("csv",),
    "escape": ("csv",),
    "encoding": TEXT,
    "header": ("csv", "excel"),
    "columns": (*TEXT, "excel"),
    "skip": ("csv", "excel"),
    "sheet": ("excel",),
    "table": _DATABASES,
    "path": ("json", "jsonl", *_COLUMNAR),
    "connection": ("postgres",),
}


def unpacked(name: str) -> str:
    """A file's name without the packing's: `roles.csv.gz` is `roles.csv`."""
    return next((name[: -len(s)] for s in PACKED if name.lower().endswith(s)), name)


def kind_of(name: str) -> str | None:
    """The kind of a file by its name; None for what is no export, and for a packed file of a kind that is not text."""
    plain = unpacked(name).lower()
    kind = next((kind for suffix, kind in SUFFIXES.items() if plain.endswith(suffix) and plain != suffix), None)
    return kind if plain == name.lower() or kind in TEXT or kind == "parquet" else None


def stem(name: str) -> str:
    """A file's name without its kind and packing: `roles.csv.gz` is `roles`."""
    plain = unpacked(name)
    return next((plain[: -len(suffix)] for suffix in SUFFIXES if plain.lower().endswith(suffix)), plain)
