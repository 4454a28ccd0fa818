"""JSON and JSON lines: numbers as they are written, nested objects reached by path, the elements of lists as rows."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

from closedset.errors import LoadRefused
from closedset.load.read import text
from closedset.load.read.cells import BATCH, Cells
from closedset.load.read.part import FURTHER, Part, Unread
from closedset.load.read.places import Places
from closedset.table_files import steps

_FIRST = re.compile(r'\s*\{\s*"((?:[^"\\]|\\.)*)"\s*:\s*("(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*)\s*[,}]')
_SPACE = re.compile(r"[ \t\r\n]*")


class Number(str):
    """A number as it is written: 1.10 keeps its zero, and no digit of an id is lost."""


@dataclass(frozen=True)
class _Twice:
    """An object that states a key twice, with what it states once."""

    key: str
    once: dict[str, Any]


def _object(pairs: list[tuple[str, Any]]) -> "dict[str, Any] | _Twice":
    made = dict(pairs)
    if len(made) == len(pairs):
        return made
    keys = [key for key, _ in pairs]
    twice = {key for key in keys if keys.count(key) > 1}
    return _Twice(next(k for k in keys if k in twice), {k: v for k, v in pairs if k not in twice})


def _no_number(word: str) -> Any:
    raise ValueError(f"{word} is no JSON")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_float=Number, parse_int=Number, parse_constant=_no_number, strict=False
)


def fill(cells: Cells, part: Part) -> tuple[int, list[Unread]]:
    """Append the rows of a JSON or JSON lines file. Refuses a broken JSON array, by line, and a file that says
    nowhere where its rows are; a broken line of JSON lines is an unreadable row."""
    head, _ = text.first_bytes(part.path)
    name, mark = text.encoding(part, head)
    chunks = text.decoded(part, name, mark)
    unread: list[Unread] = []
    path = steps(part.options.path) if part.options.path else []
    below = path[1:]
    if part.kind == "jsonl":
        documents = _lines(part, chunks, unread, cells.places)
    else:
        stream = _Stream(part, chunks)
        inside = _depth(path) if stream.peek() == "{" else 0
        documents, below = _elements(part, stream, path, inside), below[inside:]
    rows = (row for line, document in documents for row in _rows(part, line, document, below, unread, cells.places))
    cells.widen(list(part.options.columns), part.place)
    total = 0
    named: dict[str, None] = dict.fromkeys(part.options.columns)
    while batch := list(islice(rows, BATCH)):
        names = list(dict.fromkeys(chain.from_iterable(batch)))
        named |= dict.fromkeys(names)
        cells.widen(names, part.place)
        total += cells.rows(names, ([row.get(name) for name in names] for row in batch)) if names else 0
    cells.latest = list(named)
    return total, unread


def _depth(path: Sequence[tuple[str, bool]]) -> int:
    """How many steps lead from one object, the whole of a JSON file, to the list whose elements are its documents."""
    if not path or path[0][1]:
        return 0
    return next((i for i, (_, each) in enumerate(path[1:], 1) if each), len(path) - 1)


# --- documents ------------------------------------------------------------------------------------------


def _lines(part: Part, chunks: Iterator[str], unread: list[Unread], places: Places) -> Iterator[tuple[int, Any]]:
    """Each line's document; a line that is none goes to `unread`."""
    for number, line in enumerate(_split(chunks), 1):
        if not line.strip():
            continue
        try:
            document, end = _DECODER.raw_decode(line, _SPACE.match(line).end())  # type: ignore[union-attr]
        except (ValueError, RecursionError) as error:
            column, known = _stated_first(line)
            places.skip()
            unread.append(Unread(part.name, number, line, f"no JSON: {error}", known, column))
            if known is not None and (again := _again(line, column)):
                unread.append(Unread(part.name, number, line[again:], FURTHER, None, ""))
            continue
        if more := line[end:].strip():
            column, known = _stated_first(line)
            said = f"no JSON: more text after the object: {more[:40]!r}"
            places.skip()
            unread.append(Unread(part.name, number, line, said, known, column))
            # What separates the elements of a list is no record.
            if more.strip(",] \t\r"):
                unread.append(Unread(part.name, number, more, FURTHER, None, ""))
            continue
        yield number, document


def _stated_first(line: str) -> tuple[str, str | None]:
    """The key that a line states first, and its text, None where that is not sure."""
    first = _FIRST.match(line)
    try:
        return (_DECODER.decode(f'"{first[1]}"'), _text(_DECODER.decode(first[2]))) if first else ("", None)
    except ValueError:
        return "", None


def _again(line: str, column: str) -> int:
    """Where a broken line may go on with a further record: at the next object, or where its first key stands again;
    0 if it does not."""
    key = re.escape(json.dumps(column, ensure_ascii=False))
    further = re.compile(rf"\{{|{key}\s*:").search(line, _FIRST.match(line).end())  # type: ignore[union-attr]
    return further.start() if further else 0


def _split(chunks: Iterator[str]) -> Iterator[str]:
    """Lines as \\n ends them: a JSON text may hold any other break."""
    held = ""
    for chunk in chunks:
        *whole, held = (held + chunk).split("\n")
        yield from whole
    if held:
        yield held


class _Stream:
    """The text of one JSON file, read as far as its next value needs."""

    def __init__(self, part: Part, chunks: Iterator[str]) -> None:
        self._part = part
        self._chunks = chunks
        self._held = ""
        self._at = 0
        self._line, self._counted = 1, 0
        self._ended = False

    @property
    def line(self) -> int:
        """The line on which the text stands that is read next; counted on from where it was asked before."""
        self._line += self._held.count("\n", self._counted, self._at)
        self._counted = self._at
        return self._line

    def refusal(self, said: str) -> LoadRefused:
        return LoadRefused(f"{self._part.place}:{self.line}: no JSON: {said}; is the file whole?")

    def _more(self) -> bool:
        """Read on, at least doubling what is held, so that a long value is not scanned again for every piece."""
        _ = self.line
        self._held, self._at, self._counted = self._held[self._at :], 0, 0
        wanted = 2 * len(self._held) + 1
        pieces = [self._held]
        while wanted > 0 and not self._ended:
            piece = next(self._chunks, None)
            self._ended = piece is None
            pieces.append(piece or "")
            wanted -= len(piece or "")
        grown = sum(map(len, pieces)) > len(self._held)
        self._held = "".join(pieces)
        return grown

    def peek(self) -> str:
        """The next character that is no blank; empty at the end."""
        while True:
            self._at = _SPACE.match(self._held, self._at).end()  # type: ignore[union-attr]
            if self._at < len(self._held) or not self._more():
                return self._held[self._at : self._at + 1]

    def take(self, wanted: str) -> str:
        """The next character, which must be one of these."""
        found = self.peek()
        if not found or found not in wanted:
            raise self.refusal(f"{' or '.join(wanted)} must stand here, not {found or 'the end of the file'}")
        self._at += 1
        return found

    def value(self) -> Any:
        """The next value, whole."""
        self.peek()
        while True:
            try:
                value, end = _DECODER.raw_decode(self._held, self._at)
            except RecursionError:
                raise self.refusal("nested too deeply") from None
            except (ValueError, StopIteration) as error:
                if self._more():
                    continue
                said = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
                raise self.refusal(said) from None
            # A number that touches the end of what is held may go on.
            if end == len(self._held) and self._more():
                continue
            self._at = end
            return value


def _elements(part: Part, stream: _Stream, path: Sequence[tuple[str, bool]], inside: int) -> Iterator[tuple[int, Any]]:
    """The documents of a JSON file: the elements of the list at its top, or of the first one its path leads to."""
    top = stream.peek()
    if top == "[":
        yield from _list(stream)
    elif top != "{":
        raise stream.refusal("a list or an object must stand here")
    elif not path or path[0][1]:
        raise LoadRefused(
            f"{part.place}: the file is one object, not a list of rows; say where its rows are: "
            f"`path: {_guess(stream.value())}` under `files` in the map"
        )
    else:
        yield from _inside(stream, [key for key, _ in path[1 : 1 + inside]], part.options.path or "")
    if stream.peek():
        raise stream.refusal("more text after its end")


def _list(stream: _Stream) -> Iterator[tuple[int, Any]]:
    stream.take("[")
    if stream.peek() == "]":
        stream.take("]")
        return
    while True:
        stream.peek()
        line = stream.line
        yield line, stream.value()
        if stream.take(",]") == "]":
            return


def _inside(stream: _Stream, keys: Sequence[str], path: str) -> Iterator[tuple[int, Any]]:
    """The documents at a path below an object, its other values passed over."""
    if not keys:
        found = stream.peek()
        line = stream.line
        if found == "[":
            yield from _list(stream)
        else:
            yield line, stream.value()
        return
    stream.take("{")
    met: set[str] = set()
    while stream.peek() != "}":
        key = stream.value()
        if not isinstance(key, str) or isinstance(key, Number):
            raise stream.refusal("a key must stand here")
        if key in met:
            raise stream.refusal(f"key {key!r} is written twice")
        met.add(key)
        stream.take(":")
        if key != keys[0]:
            stream.value()
        elif len(keys) > 1 and stream.peek() != "{":
            raise stream.refusal(f"{key!r} on the path {path} is no object")
        else:
            yield from _inside(stream, keys[1:], path)
        if stream.peek() != "}":
            stream.take(",")
    stream.take("}")
    if keys[0] not in met:
        raise LoadRefused(f"{stream._part.place}: no key {keys[0]!r} on the path {path}; there are: {', '.join(met)}")


def _guess(document: Any) -> str:
    lists = [key for key, value in document.items() if isinstance(value, list)] if isinstance(document, dict) else []
    return f"$.{lists[0]}[*]" if lists else "$"


# --- rows -----------------------------------------------------------------------------------------------


def _rows(
    part: Part, line: int, document: Any, below: Sequence[tuple[str, bool]], unread: list[Unread], places: Places
) -> Iterator[dict[str, str | None]]:
    """The rows of one document: itself, or the elements its path leads to, each with the document's own fields.
    One that cannot be read whole gives none, and stands in `unread`."""
    entity = None
    try:
        if isinstance(document, _Twice) and part.entity in document.once:
            entity = _text(document.once[part.entity])
        elif isinstance(document, dict) and part.entity in document:
            entity = _text(document[part.entity])
        if not isinstance(document, dict):
            _refuse_twice(document)
            listed = part.kind == "jsonl" and isinstance(document, list)
            aside = "; a file that is one JSON list is called .json" if listed else ""
            raise ValueError(f"an object must stand here, not {_written(document)[:40]}{aside}")
        made = list(_exploded(document, "", below))
        rows = [_flat(part, fields) for fields in made]
    except (ValueError, RecursionError) as error:
        whole = repr(document) if isinstance(document, _Twice) else ""
        places.skip()
        unread.append(Unread(part.name, line, whole[:1000], str(error), entity, part.entity or ""))
        return
    for row in rows:
        if row:
            places.row()
            yield row
        else:
            places.skip()
            unread.append(Unread(part.name, line, "{}", "an object without any key", None, ""))


def _exploded(value: Any, prefix: str, below: Sequence[tuple[str, bool]]) -> Iterator[dict[str, Any]]:
    """The fields of each row below a value, by their paths from the document."""
    _refuse_twice(value)
    if not isinstance(value, dict):
        if below:
            raise ValueError(f"{prefix or 'the row'} is {_written(value)[:40]}, not an object with {below[0][0]!r}")
        yield {prefix: value}
        return
    dot = f"{prefix}." if prefix else ""
    if not below:
        yield {f"{dot}{key}": inner for key, inner in value.items()}
        return
    (key, each), *rest = below
    outer = {f"{dot}{k}": v for k, v in value.items() if k != key}
    found = value.get(key)
    if found is None:
        return
    if each and not isinstance(found, list):
        _refuse_twice(found)
        raise ValueError(f"{dot}{key} is {_written(found)[:40]}, not a list")
    for one in found if each else [found]:
        for fields in _exploded(one, f"{dot}{key}", rest):
            yield outer | fields


def _flat(part: Part, fields: dict[str, Any]) -> dict[str, str | None]:
    row = {name: _text(value) for name, value in fields.items()}
    for name in part.wanted:
        if name not in row:
            found = _reached(fields, name)
            if found is not _NOWHERE:
                row[name] = _text(found)
    return row


_NOWHERE = object()


def _reached(fields: dict[str, Any], name: str) -> Any:
    """A field inside a nested one, by its path."""
    parts = name.split(".")
    for split in range(len(parts) - 1, 0, -1):
        value = fields.get(".".join(parts[:split]), _NOWHERE)
        for key in parts[split:]:
            value = value.get(key, _NOWHERE) if isinstance(value, dict) else _NOWHERE
        if value is not _NOWHERE:
            return value
    return _NOWHERE


def _refuse_twice(value: Any) -> None:
    if isinstance(value, _Twice):
        raise ValueError(f"key {value.key!r} is written twice")


def _text(value: Any) -> str | None:
    """A value as a cell: texts and numbers as written, what is nested as JSON."""
    if value is None:
        return None
    written = value if isinstance(value, str) else _written(value)
    try:
        written.encode()
    except UnicodeEncodeError:
        raise ValueError("half a character (an unpaired surrogate)") from None
    return str(written)


def _written(value: Any) -> str:
    """A value as JSON text, its numbers as they were written."""
    _refuse_twice(value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(k, ensure_ascii=False)}:{_written(v)}" for k, v in value.items()) + "}"
    return "[" + ",".join(map(_written, value)) + "]"
