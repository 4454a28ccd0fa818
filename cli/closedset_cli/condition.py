"""A condition as it is typed: `relation.slot OP value`.

The operators are `= == != ≠ >= ≥ <= ≤ in`. A value runs to the end of the text and needs no quotes; `in` takes
`a, b` or `[a, b]`. A value in quotes may hold anything, its own quote doubled. What could be meant in two ways
is refused, with a caret under the place and the fix.
"""

import re
from typing import Any, NoReturn

from closedset_cli.diagnostics import UsageRefused
from closedset_cli.printable import printable, width

OPERATORS = {
    "==": "eq", "=": "eq", "!=": "ne", "≠": "ne", ">=": "gte", "≥": "gte", "<=": "lte", "≤": "lte", "in": "in",
}  # fmt: skip
SHAPE = "write relation.slot OP value, for example 'held_role.seniority >= VP'"
_NAME = re.compile(r"[^\s.,=!≠<>≥≤~\[\]()'\"]+")
_SYMBOLS = re.compile(r"[=!≠<>≥≤~]+|[A-Za-z]+")
_INSTEAD = {
    ">": ">=", "<": "<=", "=>": ">=", "=<": "<=", "<>": "!=", "=!": "!=", "is": "=", "eq": "=", "ne": "!=",
    "gte": ">=", "lte": "<=", "not": "!=", "like": "=", "~": "=",
}  # fmt: skip
_SECOND = re.compile(r"(?:^|\s)((?:and|or|&&|\|\|)\s+\S+\.\S+\s*(?:[=!≠<>≥≤]+|in\b))", re.IGNORECASE)


def read(text: str, required: bool) -> dict[str, Any]:
    """A constraint of the request. Refuses (UsageRefused) with the text, a caret under the fault and the fix.

    >>> read("held_role.seniority >= VP", required=True)["op"]
    'gte'
    """
    relation, at = _name(text, _blanks(text, 0), "a relation")
    dot = _blanks(text, at)
    if text[dot : dot + 1] != ".":
        _refuse(text, dot, "a dot and a slot are missing after the relation", SHAPE)
    slot, at = _name(text, _blanks(text, dot + 1), "a slot")
    op, at = _operator(text, _blanks(text, at))
    at = _blanks(text, at)
    if at == len(text.rstrip()) or not text[at:].strip():
        _refuse(text, len(text.rstrip()), "the value is missing", "write it after the operator")
    value = _several(text, at) if op == "in" else _one(text, at)
    condition: dict[str, Any] = {"relation": relation, "slot": slot, "op": op, "value": value}
    return condition if required else {**condition, "required": False}


def _blanks(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _name(text: str, at: int, what: str) -> tuple[str, int]:
    match = _NAME.match(text, at)
    if match is None:
        _refuse(text, at, f"the name of {what} is missing", SHAPE)
    return match[0], match.end()


def _operator(text: str, at: int) -> tuple[str, int]:
    match = _SYMBOLS.match(text, at)
    if match is None:
        quote = "; quote the whole condition, or the shell reads > and < itself" if not text[at:].strip() else ""
        _refuse(text, at, "an operator is missing", f"one of: {' '.join(OPERATORS)}{quote}")
    word = match[0]
    op = OPERATORS.get(word.lower())
    after = text[match.end() : match.end() + 1]
    if op is None or (op == "in" and not (after.isspace() or after in ("", "[", "(", '"', "'"))):
        instead = _INSTEAD.get(word.lower())
        if re.match(r"not\s+in\b", text[at:], re.IGNORECASE):
            fix = "give one != condition for each value, all of which must hold"
        elif word in (">", "<"):
            fix = f"write {instead}; a bound is always part of the range"
        elif instead:
            fix = f"write {instead}"
        else:
            fix = f"use one of: {' '.join(OPERATORS)}"
        _refuse(text, at, f"{word} is no operator", fix)
    return op, match.end()


def _one(text: str, at: int) -> str:
    if text[at] in "'\"":
        value, end = _quoted(text, at)
        rest = _blanks(text, end)
        if rest < len(text):
            _refuse(text, rest, "text after the closing quote", "quote the whole value, or none of it")
        return value
    if text[at] == "[":
        _refuse(text, at, "a list after an operator that takes one value", "use in, or quote the value")
    _refuse_second(text, at)
    return text[at:].rstrip()


def _several(text: str, at: int) -> list[str]:
    end = len(text.rstrip())
    if text[at] == "(":
        _refuse(text, at, "a list in round brackets", "write [a, b]; quote a value that starts with (")
    if text[at] == "[":
        if text[end - 1] != "]":
            _refuse(text, end, "the list is not closed", "end it with ]")
        at, end = at + 1, end - 1
    values: list[str] = []
    while True:
        at = _blanks(text, at)
        if at < end and text[at] in "'\"":
            value, after = _quoted(text, at)
            stop = _blanks(text, after)
            if stop < end and text[stop] != ",":
                _refuse(text, stop, "text after the closing quote", "put a comma between two values")
        else:
            stop = text.find(",", at, end)
            stop = end if stop < 0 else stop
            value = text[at:stop].strip()
            if not value:
                _refuse(text, at, "an empty value in the list", "write a value, or take the comma out")
            _refuse_second(text, at, stop)
        values.append(value)
        if stop >= end:
            return values
        at = stop + 1


def _quoted(text: str, at: int) -> tuple[str, int]:
    quote, value, here = text[at], "", at + 1
    while here < len(text):
        if text[here] != quote:
            value, here = value + text[here], here + 1
        elif text[here + 1 : here + 2] == quote:
            value, here = value + quote, here + 2
        else:
            return value, here + 1
    other = '"' if quote == "'" else "'"
    return _refuse(text, at, "the quote is not closed", f"close it, or put the value in {other}")


def _refuse_second(text: str, at: int, end: int | None = None) -> None:
    """A second condition behind `and` would be taken for a part of the value, and the answer be about another set."""
    match = _SECOND.search(text[:end], at)
    if match:
        fix = "give each condition its own -w, all of which must hold; quote the value if it really holds these words"
        _refuse(text, match.start(1), "a second condition inside the value", fix)


def _refuse(text: str, at: int, fault: str, fix: str) -> NoReturn:
    shown, before = printable(text), printable(text[:at])
    raise UsageRefused(f"{fault}: {fix}\n  {shown}\n  {' ' * width(before)}^")
