"""The request, from the options of a command or from a file of JSON."""

import json
import sys
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

import typer

from closedset_cli import condition
from closedset_cli.diagnostics import UsageRefused

Where = Annotated[
    list[str] | None,
    typer.Option(
        "-w", "--where", metavar="CONDITION", show_default=False,
        help="A condition that must hold: 'relation.slot OP value', OP one of = != >= <= in. Give -w once for each; "
        "conditions on one relation must hold on one row.",
    ),
]  # fmt: skip
Prefer = Annotated[
    list[str] | None,
    typer.Option(
        "--prefer", metavar="CONDITION", show_default=False,
        help="A condition that ranks whoever satisfies it first, and removes nobody.",
    ),
]  # fmt: skip
AsOf = Annotated[
    str | None, typer.Option("--as-of", metavar="YYYY-MM", help="Ask at a month: only rows that hold in it count.")
]
Limit = Annotated[
    int | None, typer.Option("--limit", metavar="N", help="Matches on the page (1 to 500; 50, or 25 when compact).")
]
Offset = Annotated[int | None, typer.Option("--offset", metavar="N", help="Matches before the page.")]
ListLimit = Annotated[
    int | None, typer.Option("--list-limit", metavar="N", help="Ids in each list of those who do not match (0 to 200).")
]
EntityId = Annotated[
    list[str] | None,
    typer.Option("--entity-id", metavar="ID", show_default=False, help="Deliver only this match; may be repeated."),
]
RequestFile = Annotated[
    str | None,
    typer.Option("--request", metavar="FILE", help="The request as JSON, from a file or stdin (-), instead of -w."),
]
Brief = Annotated[
    str | None,
    typer.Option("--brief", metavar="TEXT", help="The request in plain language; a model turns it into conditions."),
]


def build(
    where: Sequence[str] | None = None,
    prefer: Sequence[str] | None = None,
    request_file: str | None = None,
    brief: str | None = None,
    **more: Any,
) -> dict[str, Any]:
    """The request as the library takes it: -w conditions first, then --prefer ones, each in the order typed.

    `more` are the keys of the request that the options state (None: not stated). A key may be in the file or
    an option, not in both. Refuses (UsageRefused) what does not go together.
    """
    stated = {key: value for key, value in more.items() if value is not None}
    if request_file is not None:
        for option, given in (("-w", where), ("--prefer", prefer), ("--brief", brief)):
            if given:
                raise UsageRefused(f"{option} beside --request: put it into {request_file}, or leave --request out")
        request = _from_file(request_file)
        for key in stated:
            if key in request:
                raise UsageRefused(f"{flag(key)} beside `{key}` in {request_file}: state it in one place")
        return {**request, **stated}
    if brief is not None:
        for option, given in (("-w", where), ("--prefer", prefer)):
            if given:
                raise UsageRefused(f"{option} beside --brief: a request is either conditions or a brief")
        return {"brief": brief, **stated}
    constraints = [condition.read(text, required=True) for text in where or ()]
    constraints += [condition.read(text, required=False) for text in prefer or ()]
    if not constraints:
        raise UsageRefused(f"nothing is asked: give at least one -w ({condition.SHAPE}), or --request FILE")
    return {"constraints": constraints, **stated}


def flag(key: str) -> str:
    """The command line's name for a key of the request."""
    return "--entity-id" if key == "entity_ids" else f"--{key.replace('_', '-')}"


def _from_file(name: str) -> dict[str, Any]:
    place = "stdin" if name == "-" else name
    try:
        raw = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except IsADirectoryError:
        raise UsageRefused(f"{name}: is a folder; --request takes a file of JSON, or - for stdin") from None
    return read(raw, place)


def lines(name: str) -> Iterator[tuple[int, dict[str, Any] | UsageRefused]]:
    """The requests of a file of JSON lines (or of stdin, -), each with its line; a line that is none is its refusal.

    Empty lines are no requests. Refuses (UsageRefused) what is no file of text lines.
    """
    place = "stdin" if name == "-" else name
    try:
        with sys.stdin.buffer if name == "-" else Path(name).open("rb") as file:
            for number, raw in enumerate(file, 1):
                if not raw.strip():
                    continue
                try:
                    yield number, read(raw, place, number)
                except UsageRefused as refused:
                    yield number, refused
    except IsADirectoryError:
        raise UsageRefused(
            f"{name}: is a folder; give a file of JSON lines, a request a line, or - for stdin"
        ) from None


def read(raw: bytes, name: str, line: int | None = None) -> dict[str, Any]:
    """A request from the bytes of one JSON object, which a line of a file holds or the whole of it. Refuses
    (UsageRefused) anything else, naming where."""
    place = name if line is None else f"{name}:{line}"
    try:
        text = raw.decode("utf-8-sig")
        request = json.loads(text, object_pairs_hook=_object, parse_float=_exact)
    except UnicodeDecodeError as error:
        raise UsageRefused(f"{place}: byte {error.start} is not UTF-8; write the request as UTF-8 JSON") from None
    except json.JSONDecodeError as error:
        at = f"{name}:{(line or 1) + error.lineno - 1}:{error.colno}"
        raise UsageRefused(f"{at}: not JSON: {error.msg}") from None
    except RecursionError:
        raise UsageRefused(f"{place}: its JSON is nested too deeply to be a request") from None
    except _Twice as error:
        raise UsageRefused(f"{place}: the key `{error}` stands twice in one object; leave one out") from None
    if not isinstance(request, dict):
        raise UsageRefused(f'{place}: a request is a JSON object, such as {{"constraints": [...]}}')
    return request


class _Twice(Exception):
    pass


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    read: dict[str, Any] = {}
    for key, value in pairs:
        if key in read:
            raise _Twice(key)
        read[key] = value
    return read


def _exact(text: str) -> float | Decimal:
    """A number as written: a float where it holds the very digits, else a decimal."""
    near = float(text)
    return near if Decimal(repr(near)) == Decimal(text) else Decimal(text)
