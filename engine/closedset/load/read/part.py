"""A part of a table: one file, one folder that is a table, or one table inside a database."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path

from closedset.table_files import TableFiles


@dataclass(frozen=True)
class Part:
    """Where rows of a table are, and how a map says they are read.

    `inside` is the table of a database or the sheet of a workbook; `wanted` are columns the map names, for those
    that lie inside nested ones; `entity` is the column whose text says whom a row is about. `uri` of a server may
    hold a password: nothing prints it.
    """

    kind: str
    path: Path
    inside: str | None = None
    options: TableFiles = field(default_factory=TableFiles)
    wanted: tuple[str, ...] = ()
    entity: str | None = None
    server: str = ""
    uri: str = field(default="", repr=False)

    @property
    def name(self) -> str:
        """The short name, as receipts and faults say it."""
        return self._with_inside(self.server.rsplit("/", 1)[-1] or self.path.name)

    @property
    def place(self) -> str:
        """The whole name, as reports and refusals say it; never a password."""
        return self._with_inside(self.server or str(self.path))

    def _with_inside(self, name: str) -> str:
        word = "sheet" if self.kind == "excel" else "table"
        return f"{name} {word} {self.inside}" if self.inside is not None else name


#: The fault of a record that may have run together with the one before it.
FURTHER = "a further record may stand here, on the line of another: whom it is about is not sure"


@dataclass(frozen=True)
class Unread:
    """A row of a file that could not be read as a row of its columns; the text that says whom it is about, where
    that is sure, and its column."""

    file: str
    line: int
    text: str
    fault: str
    first_cell: str | None
    first_column: str


def first_lines(error: Exception) -> str:
    """What a library says of a fault, short."""
    return "; ".join(line.strip() for line in str(error).splitlines()[:3] if line.strip())


def nearest(name: str, names: Sequence[str]) -> str:
    """`did you mean` for a message, or nothing."""
    close = [n for n in names if n.lower().strip() == name.lower().strip()] or get_close_matches(name, names, n=1)
    return f"; did you mean {close[0]!r}?" if close else ""
