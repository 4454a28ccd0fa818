"""A sheet of text: the same lines for a pipe and for a terminal, where they are also coloured and wrapped.

Every text goes through `printable`, and nothing in it is ever read as markup.
"""

from collections.abc import Sequence

from closedset_cli import streams
from closedset_cli.printable import printable, width

#: A text and its style ("" is none), as rich names styles.
Span = tuple[str, str]
Cell = str | Span


class Sheet:
    """Lines in order. `hang` of a line is where it goes on when a terminal is too narrow for it."""

    def __init__(self) -> None:
        self._lines: list[tuple[list[Span], int]] = []

    def line(self, *cells: Cell, indent: int = 0, hang: int = 2) -> None:
        spans = [_span(cell) for cell in cells]
        self._lines.append(([(" " * indent, ""), *spans] if indent else spans, indent + hang))

    def heading(self, text: str, *more: Cell) -> None:
        """A line that opens a section, after an empty one."""
        if self._lines:
            self.line()
        self.line((text, "bold"), *more)

    def columns(self, rows: Sequence[Sequence[Cell]], indent: int = 2, right: Sequence[int] = ()) -> None:
        """Rows in aligned columns, two blanks apart; `right` names the columns set flush right."""
        if not rows:
            return
        spans = [[_span(cell) for cell in row] for row in rows]
        widths = [max(width(row[i][0]) for row in spans) for i in range(len(spans[0]))]
        for row in spans:
            line: list[Span] = []
            for i, (text, style) in enumerate(row):
                blanks = " " * (widths[i] - width(text))
                last = i == len(row) - 1
                padded = blanks + text if i in right else text if last else text + blanks
                line += [(padded, style)] if last else [(padded, style), ("  ", "")]
            while line and not line[-1][0].strip():
                line.pop()
            self.line(*line, indent=indent, hang=sum(widths[:-1]) + 2 * (len(widths) - 1))

    def text(self) -> str:
        return "".join("".join(text for text, _ in spans).rstrip() + "\n" for spans, _ in self._lines)

    def send(self) -> None:
        """Write the sheet to stdout."""
        if streams.colour():
            self._coloured()
        else:
            streams.reply(self.text())

    def _coloured(self) -> None:
        from rich.console import Console
        from rich.text import Text

        console = Console(highlight=False, markup=False, emoji=False)
        for spans, hang in self._lines:
            line = Text.assemble(*spans)
            line.rstrip()
            room = max(20, console.width)
            if line.cell_len <= room or hang > room // 2:
                streams.reply(_rendered(console, line))
                continue
            first, *rest = line.wrap(console, room)
            streams.reply(_rendered(console, first))
            remainder = Text(" ").join(rest)
            for piece in remainder.wrap(console, room - hang):
                streams.reply(_rendered(console, Text.assemble(" " * hang, piece)))


def _rendered(console: "object", line: "object") -> str:
    from rich.console import Console

    assert isinstance(console, Console)
    with console.capture() as captured:
        console.print(line, soft_wrap=True)
    return captured.get()


def _span(cell: Cell) -> Span:
    text, style = (cell, "") if isinstance(cell, str) else cell
    return printable(text), style
