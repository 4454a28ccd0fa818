"""The compile tool: a pack's address space as one flat schema, the same bytes every time.

One variant per (relation, slot) with the ops its type supports and its axis's terms, so that the model can say
nothing the pack cannot mean. Whatever it says is checked again: the schema guides, it is not trusted.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any

from closedset.errors import CompileUnavailable
from closedset.pack import Pack, Slot
from closedset.vocabulary import Vocabulary

NAME = "compile_search_brief"
#: The most bytes of JSON a tool may have: some 30,000 tokens, so that the cached prefix stays cheap.
TOOL_BYTES_AT_MOST = 100_000
REQUIRED = ["relation", "slot", "op", "value", "brief_span", "quote", "required"]
_TERMS_AT_MOST = (1000, 300, 100, 30, 10, 0)

_ASKED = {
    "term": "Write the term, or the brief's own word when it is a synonym — "
    "synonyms and groups are resolved server-side",
    "text": "matched whole, whatever its case; write it as the brief does",
    "number": "write digits, with a decimal point; nothing is converted",
    "date": "write YYYY, YYYY-MM or YYYY-MM-DD, as precisely as the brief does and no more",
}
_DESCRIPTION = (
    "Compile the brief to constraints: each is one condition on one slot of one relation, taken from the words of the "
    "brief that state it. Conditions on one relation must all hold of ONE row of it. `quote` is those words, copied "
    "exactly from one sentence; `brief_span` their first and last offset in code points, end exclusive; `required` is "
    "false only for what the brief says is a preference. `op`: eq, ne (negation), in (any of a list), gte and lte "
    "(at least, at most; on an ordered axis by its order). What no slot here can express is none: copy its words "
    "to `uncompiled`, they are reported to the reader. Never guess."
)


def compile_tool(pack: Pack) -> dict[str, Any]:
    """The tool a model is made to call, as the Messages API takes it.

    Beyond TOOL_BYTES_AT_MOST it gives way in this order: every axis's terms stand once, then fewer of them (the
    rest is matched after the call by the vocabulary, never dropped), then slots of one type share a variant.
    Refuses (CompileUnavailable) a pack whose bare names are more than that.
    """
    smallest = 0
    for tool in _ever_smaller(pack):
        smallest = len(tool_bytes(tool))
        if smallest <= TOOL_BYTES_AT_MOST:
            return tool
    raise CompileUnavailable(
        f"the pack's relations and slots take {smallest} bytes to name and a model is shown at most "
        f"{TOOL_BYTES_AT_MOST}; pass constraints"
    )


def tool_bytes(tool: dict[str, Any]) -> bytes:
    """A tool's JSON: what a prompt cache and a record compare."""
    return json.dumps(tool, ensure_ascii=False, separators=(",", ":")).encode()


def offered(slot: Slot, vocabulary: Vocabulary | None) -> list[str]:
    """The ops a slot's type supports: gte and lte need an order."""
    ordered = slot.type in ("number", "date") or (vocabulary is not None and vocabulary.ordered)
    return ["eq", "ne", "in", "gte", "lte"] if ordered else ["eq", "ne", "in"]


def _ever_smaller(pack: Pack) -> Iterator[dict[str, Any]]:
    yield _tool([_variant(pack, r, {n: s}, _all_terms) for r, n, s in _askable(pack)])
    for most in _TERMS_AT_MOST:
        once = _Once(most)
        yield _tool([_variant(pack, r, {n: s}, once) for r, n, s in _askable(pack)])
    alike: dict[tuple[str, str, tuple[str, ...]], dict[str, Slot]] = {}
    for relation, name, slot in _askable(pack):
        key = relation, slot.type, tuple(offered(slot, pack.vocabulary(slot)))
        alike.setdefault(key, {})[name] = slot
    yield _tool([_variant(pack, relation, slots, _Once(0)) for (relation, *_), slots in alike.items()])


def _askable(pack: Pack) -> Iterator[tuple[str, str, Slot]]:
    for relation, declared in pack.relations.items():
        for name, slot in declared.askable().items():
            yield relation, name, slot


_Terms = Callable[[Vocabulary], str]


def _all_terms(vocabulary: Vocabulary) -> str:
    return _listed(vocabulary, len(vocabulary.terms))


class _Once:
    """An axis's terms where they first stand, at most so many of them; after that the axis's name does."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._said: set[str] = set()

    def __call__(self, vocabulary: Vocabulary) -> str:
        if vocabulary.name in self._said:
            return f"axis {vocabulary.name}, as above"
        self._said.add(vocabulary.name)
        return _listed(vocabulary, self._most)


def _listed(vocabulary: Vocabulary, most: int) -> str:
    order = sorted(vocabulary.rungs, key=vocabulary.rungs.__getitem__) if vocabulary.ordered else []
    terms = order + [t for t in vocabulary.terms if t not in vocabulary.rungs]
    shown = [f"{t} ({vocabulary.labels[t]})" if t in vocabulary.labels else t for t in terms[:most]]
    left = len(terms) - len(shown)
    more = [] if not left else [f"and {left} more terms: write the brief's own word for them"]
    if vocabulary.ordered:
        ladder = " < ".join(shown[: len(order)])
        groups = [f"groups: {', '.join(shown[len(order) :])}"] if shown[len(order) :] else []
        return "; ".join([f"axis {vocabulary.name}, ordered low to high: {ladder}", *groups, *more])
    return "; ".join([f"axis {vocabulary.name}, terms: {', '.join(shown)}", *more])


def _variant(pack: Pack, relation: str, slots: dict[str, Slot], terms: _Terms) -> dict[str, Any]:
    slot = next(iter(slots.values()))
    said = "; ".join(_described(pack, relation, name, one, terms) for name, one in slots.items())
    if len(slots) > 1:
        said = f"{relation}.* ({slot.type}): {_ASKED[slot.type]}"
    kind = "number" if slot.type == "number" else "string"
    return {
        "type": "object",
        "properties": {
            "relation": {"type": "string", "enum": [relation]},
            "slot": {"type": "string", "enum": list(slots), "description": said},
            "op": {"type": "string", "enum": offered(slot, pack.vocabulary(slot))},
            "value": {"type": [kind, "array"], "items": {"type": kind}},
            "brief_span": {"type": "array", "items": {"type": "integer"}},
            "quote": {"type": "string"},
            "required": {"type": "boolean"},
        },
        "required": REQUIRED,
        "additionalProperties": False,
    }


def _described(pack: Pack, relation: str, name: str, slot: Slot, terms: _Terms) -> str:
    vocabulary = pack.vocabulary(slot)
    unit = f", {slot.unit}" if slot.unit else ""
    place = f"{relation}.{name} ({slot.type}{unit}): "
    if vocabulary is not None:
        return f"{place}{terms(vocabulary)}. {_ASKED['term']}"
    if slot.type == "term":
        return (
            f"{place}axis {slot.axis} has NO vocabulary in this workspace; "
            "a constraint here is reported unbound and does not run"
        )
    return place + _ASKED[slot.type]


def _tool(variants: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "name": NAME,
        "description": _DESCRIPTION,
        "input_schema": {
            "type": "object",
            "properties": {
                "constraints": {"type": "array", "items": {"anyOf": variants}},
                "as_of": {
                    "type": "string",
                    "description": "YYYY-MM: only when the brief itself pins the month at which it asks; never today",
                },
                "as_of_quote": {"type": "string", "description": "the words of the brief that pin it, copied exactly"},
                "uncompiled": {
                    "type": "array",
                    "items": {"type": "string"},
                    "description": "words of the brief, copied exactly, that ask for what no constraint here says",
                },
            },
            "required": ["constraints"],
            "additionalProperties": False,
        },
    }
