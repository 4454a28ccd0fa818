"""`closedset batch`: many requests from a file, answered over one generation of a store."""

from collections import deque
from collections.abc import Iterator
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from closedset_cli import progress, request, streams
from closedset_cli.diagnostics import ExitCode, UsageRefused
from closedset_cli.sheet import Cell, Sheet

if TYPE_CHECKING:
    from closedset.errors import RequestRefused
    from closedset.reply_compact import CompactReply
    from closedset.reply_full import FullReply
    from closedset.store import Store

    Answered = FullReply | CompactReply | RequestRefused | UsageRefused

_HEADER = ("line", "matched", "none", "not recorded", "undetermined", "universe", "licence")
_COUNTED = ("matched", "none", "not_recorded", "undetermined", "universe")


class BatchFormat(StrEnum):
    """`table` and `csv` hold one line of counts a request; `jsonl` the whole replies."""

    TABLE = "table"
    JSONL = "jsonl"
    CSV = "csv"


def batch(
    store: Annotated[str, typer.Argument(metavar="STORE", help="The store's directory.")],
    requests: Annotated[
        str, typer.Argument(metavar="FILE", help="JSON lines: one request a line, as --request takes one; - is stdin.")
    ],
    output: Annotated[
        BatchFormat, typer.Option("--format", help="Counts a request (table, csv), or whole replies (jsonl).")
    ] = BatchFormat.TABLE,
) -> None:
    """Answer many requests, in order, over one generation.

    What requests have in common is read once. A request that is refused is said in its place, and the others are
    answered; the exit code is then 2.
    """
    import closedset

    refused = 0
    with closedset.open(store) as opened:
        answered = _answers(opened, requests)
        if output is BatchFormat.JSONL:
            refused = _lines(answered)
        elif output is BatchFormat.CSV:
            refused = _csv(answered)
        else:
            refused = _sheet(answered)
    streams.finish()
    if refused:
        streams.talk(f"closedset: refused: {refused} of the requests; the others are answered")
        raise typer.Exit(ExitCode.REFUSED)


def _answers(opened: "Store", file: str) -> "Iterator[tuple[int, Answered]]":
    """Each request's line and its answer; a line that is no request is answered by its refusal."""
    numbers: deque[int] = deque()
    unfit: list[tuple[int, UsageRefused]] = []

    def fit() -> Iterator[dict[str, Any]]:
        from closedset.progress import step

        for number, one in request.lines(file):
            if isinstance(one, UsageRefused):
                unfit.append((number, one))
            else:
                step(f"line {number}")
                numbers.append(number)
                yield one

    with progress.shown("asking"):
        for answer in opened.batch(fit()):
            number = numbers.popleft()
            while unfit and unfit[0][0] < number:
                yield unfit.pop(0)
            yield number, answer
    yield from unfit


def _lines(answered: "Iterator[tuple[int, Answered]]") -> int:
    from closedset.errors import RequestRefused
    from closedset_cli.csv_lines import json_line

    refused = 0
    for number, one in answered:
        if isinstance(one, UsageRefused | RequestRefused):
            detail = one.detail if isinstance(one, RequestRefused) else {"type": "unreadable", "title": str(one)}
            json_line({"line": number, "refused": detail})
            refused += 1
        else:
            json_line({"line": number, "reply": one.model_dump()})
    return refused


def _csv(answered: "Iterator[tuple[int, Answered]]") -> int:
    from closedset_cli.csv_lines import Csv

    table = Csv([*(name.replace(" ", "_") for name in _HEADER), "refused"])
    refused = 0
    for number, one in answered:
        counts = _counts(one)
        refused += counts is None
        table.write([[number, *counts, None] if counts else [number, *([None] * (len(_HEADER) - 1)), str(one)]])
    return refused


def _sheet(answered: "Iterator[tuple[int, Answered]]") -> int:
    rows: list[list[Cell]] = [list(_HEADER)]
    faults: list[str] = []
    for number, one in answered:
        counts = _counts(one)
        if counts is None:
            faults.append(f"{number}  {one}")
        rows.append([str(number), *map(str, counts or ["–", "–", "–", "–", "–", "refused"])])
    sheet = Sheet()
    sheet.columns(rows, indent=0, right=range(len(_HEADER) - 1))
    if faults:
        sheet.heading("refused")
        for fault in faults:
            sheet.line(fault, indent=2)
    sheet.send()
    return len(faults)


def _counts(one: "Answered") -> list[Any] | None:
    """The counts of a reply, and what its licence says; None where the request was refused."""
    from closedset.reply_full import FullReply

    if isinstance(one, FullReply):
        said = "granted" if one.licence.granted else ", ".join(reason.counted for reason in one.licence.reasons)
        return [*(getattr(one.counts, name) for name in _COUNTED), said]
    if isinstance(one, Exception):
        return None
    others = one.others
    counts = [one.matched.total, others.ruled_out, others.not_read, others.cannot_tell]
    return [*counts, sum(counts), "granted" if one.complete else ", ".join(one.incomplete_because or ())]
