"""What a model said, held against the brief: the deterministic half of a compile. Pure: no model, no store.

A constraint runs only if whole words of one sentence of the brief state it; everything else is reported.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from closedset import constraint as binding
from closedset import reasons
from closedset.brief import month
from closedset.brief.sentences import sentences
from closedset.brief.tool import REQUIRED, offered
from closedset.brief.words import Words
from closedset.dates import month_end
from closedset.errors import RequestRefused
from closedset.pack import Pack, Slot
from closedset.request import Constraint, Request

if TYPE_CHECKING:
    from closedset.brief.spend import Usage

#: What a model may say at most; beyond it nothing runs and what is left out is counted.
CONSTRAINTS_AT_MOST = 100
_TEXT_AT_MOST = 1000
_SHOWN = 200
_NUMERAL = re.compile(r"-?(?:0|[1-9][0-9]{0,99})(?:\.[0-9]{1,100})?")
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class Compiled:
    """A brief as compiled: what runs, what does not and why. `model`, `usage` and `on` (the day, ISO) are None when
    no model was called."""

    brief: str
    constraints: list[Constraint]
    dropped: list[dict[str, Any]]
    uncompiled: list[dict[str, Any]]
    as_of: str | None = None
    model: str | None = None
    usage: "Usage | None" = None
    on: str | None = None

    def over(self, asked: Request) -> Request:
        """A brief's request with the constraints it became; an `as_of` of the request's own wins over the brief's."""
        changes = {"constraints": self.constraints, "as_of": asked.as_of or self.as_of}
        return asked.model_copy(update=changes)

    @property
    def usage_said(self) -> dict[str, Any] | None:
        """The usage as a reply says it, priced by the day it was used."""
        if self.usage is None or self.model is None or self.on is None:
            return None
        return self.usage.as_said(self.model, date.fromisoformat(self.on))

    @property
    def whole(self) -> bool:
        """Whether everything the brief asks became a constraint that runs."""
        return not self.dropped and not self.uncompiled


class _Dropped(Exception):
    """A constraint that may not run, by its reason code."""


def read_compile_output(brief: str, pack: Pack, said: object) -> Compiled:
    """Check a model's tool call against the brief it was to compile.

    Takes the call's input: a dict, its JSON text, or None where no call was made.
    Gives the constraints whose quote is whole words of one sentence, with the span where it stands.
    Gaps: `dropped` (constraint, reason) and `uncompiled` (span, text) for everything else: sentences no constraint
    came from, and words the model itself says it left. Never raises for anything a model says.

    >>> from closedset.pack import load
    >>> made = read_compile_output("VP in DACH. Fluent.", load("roster"), {"constraints": [
    ...     {"relation": "held_role", "slot": "seniority", "op": "eq", "value": "VP", "quote": "VP",
    ...      "brief_span": [3, 5], "required": True}]})
    >>> [(c.value, c.brief_span, c.span_relocated_from) for c in made.constraints], made.uncompiled
    ([('VP', (0, 2), (3, 5))], [{'span': [12, 19], 'text': 'Fluent.'}])
    """
    page = _Page(brief)
    kept: list[Constraint] = []
    dropped: list[dict[str, Any]] = []
    read: dict[str, Any] = _read(said, dict, {} if said is None else {"constraints": said})
    listed = _read(read.get("constraints", []), list, read.get("constraints"))
    if not isinstance(listed, list):
        dropped.append(_drop({"constraints": listed}, reasons.CONSTRAINT_MALFORMED))
        listed = []
    for raw in listed[:CONSTRAINTS_AT_MOST]:
        try:
            kept.append(_constraint(page, pack, raw))
        except _Dropped as why:
            dropped.append(_drop(raw, str(why)))
    dropped += [_drop(raw, reasons.CONSTRAINTS_TOO_MANY) for raw in listed[CONSTRAINTS_AT_MOST:][:_SHOWN]]
    if len(listed) > CONSTRAINTS_AT_MOST + _SHOWN:
        rest = {"constraints": len(listed) - CONSTRAINTS_AT_MOST - _SHOWN}
        dropped.append(_drop(rest, reasons.CONSTRAINTS_TOO_MANY))
    as_of, pinned = _as_of(page, read, dropped)
    told = [c.brief_span for c in kept if c.brief_span] + pinned
    silent = [(s.start, s.end) for s in page.sentences if not any(s.holds(*span) for span in told)]
    left = _left(page, read, silent, dropped)
    return Compiled(
        brief=brief,
        constraints=kept,
        dropped=dropped,
        uncompiled=[{"span": [first, last], "text": brief[first:last]} for first, last in sorted({*silent, *left})],
        as_of=as_of,
    )


def called_again(calls: Sequence[object]) -> list[dict[str, Any]]:
    """Further calls of the tool as dropped: which of two compiles was meant, nobody can say."""
    return [_drop(call, reasons.TOOL_CALLED_AGAIN) for call in calls[:_SHOWN]]


class _Page:
    """The brief, its words and its sentences, read once for all quotes."""

    def __init__(self, brief: str) -> None:
        self.words = Words(brief)
        self.sentences = sentences(brief)

    def is_all_of_a_sentence(self, place: tuple[int, int]) -> bool:
        """Whether the sentence that holds this place says nothing beside it."""
        (one,) = [s for s in self.sentences if s.holds(*place)]
        beside = self.words.brief[one.start : place[0]] + self.words.brief[place[1] : one.end]
        return not any(c.isalnum() for c in beside)

    def places(self, quote: object) -> list[tuple[int, int]]:
        """Where a quote stands as whole words of one sentence. Refuses (_Dropped) one that stands nowhere so."""
        if not isinstance(quote, str) or not quote.strip():
            raise _Dropped(reasons.QUOTE_EMPTY)
        found = self.words.find(quote)
        if not found:
            raise _Dropped(reasons.QUOTE_NOT_IN_BRIEF)
        whole = [place for place in found if self.words.whole(*place)]
        if not whole:
            raise _Dropped(reasons.QUOTE_NOT_WHOLE_WORDS)
        inside = [place for place in whole if any(s.holds(*place) for s in self.sentences)]
        if not inside:
            raise _Dropped(reasons.QUOTE_CROSSES_SENTENCES)
        return inside

    def place(self, quote: object, span: tuple[int, int] | None) -> tuple[int, int]:
        """The one place a quote is from: where its span says, else the only one. Refuses (_Dropped) as `places`,
        and a quote of which nobody can say where."""
        inside = self.places(quote)
        if span in inside:
            return span
        if len(inside) > 1:
            raise _Dropped(reasons.SPAN_AMBIGUOUS)
        return inside[0]


def _constraint(page: _Page, pack: Pack, raw: object) -> Constraint:
    """One constraint as it will run. Refuses (_Dropped) with the reason it may not."""
    raw = _read(raw, dict, raw)
    if not isinstance(raw, Mapping):
        raise _Dropped(reasons.CONSTRAINT_MALFORMED)
    span = _span(raw.get("brief_span"))
    place = page.place(raw.get("quote"), span)
    slot = _slot(pack, raw)
    unknown = sorted(str(key) for key in raw.keys() - set(REQUIRED))
    if unknown:
        raise _Dropped(f"{reasons.KEY_UNKNOWN}:{unknown[0][:60]}")
    asked = {
        "relation": raw["relation"],
        "slot": raw["slot"],
        "op": raw["op"],
        "value": _value(slot, raw),
        "required": _boolean(raw.get("required", True)),
        "brief_span": place,
        "quote": page.words.brief[slice(*place)],
        "span_relocated_from": span if span is not None and span != place else None,
    }
    try:
        made = Constraint.model_validate(asked)
        binding.bind(pack, [made])
    except (ValidationError, RequestRefused, ValueError):
        raise _Dropped(f"{reasons.VALUE_UNANSWERABLE}:{raw['slot']}") from None
    return made


def _slot(pack: Pack, raw: Mapping[str, Any]) -> Slot:
    """The slot a constraint names, if the tool offered it with that op."""
    names = {key: raw.get(key) for key in ("relation", "slot", "op")}
    if not all(isinstance(name, str) for name in names.values()):
        raise _Dropped(reasons.CONSTRAINT_MALFORMED)
    relation = pack.relations.get(raw["relation"])
    if relation is None:
        raise _Dropped(f"{reasons.RELATION_UNKNOWN}:{_name(raw['relation'])}")
    slot = relation.slot(raw["slot"])
    if slot is None:
        raise _Dropped(f"{reasons.SLOT_UNKNOWN}:{_name(raw['slot'])}")
    if raw["op"] not in offered(slot, pack.vocabulary(slot)):
        raise _Dropped(f"{reasons.OP_UNKNOWN}:{_name(raw['op'])}")
    return slot


def _value(slot: Slot, raw: Mapping[str, Any]) -> Any:
    """A value in its slot's type. Text is read as a number or an array when that prints back as the same text."""
    value = raw.get("value")
    if raw["op"] == "in":
        value = _read(value, list, None)
    many = value if isinstance(value, list) else [value]
    read = [_numeral(one) if slot.type == "number" and isinstance(one, str) else one for one in many]
    if not all(_sayable(one) for one in read):
        raise _Dropped(f"{reasons.VALUE_UNANSWERABLE}:{raw['slot']}")
    return read if isinstance(value, list) else read[0]


def _numeral(text: str) -> object:
    """The number a text is, kept as the text where a float would not print it back; None where it is none."""
    if not _NUMERAL.fullmatch(text):
        return None
    number = json.loads(text)
    return number if json.dumps(number) == text else text


def _sayable(value: object) -> bool:
    if isinstance(value, str):
        return len(value) <= _TEXT_AT_MOST and not _SURROGATE.search(value) and "\0" not in value
    return isinstance(value, int | float) and not isinstance(value, bool)


def _boolean(value: object) -> bool:
    if isinstance(value, str):
        value = {"true": True, "false": False}.get(value)
    if not isinstance(value, bool):
        raise _Dropped(reasons.CONSTRAINT_MALFORMED)
    return value


def _span(value: object) -> tuple[int, int] | None:
    """The offsets a model gave, whatever they point at; None where it gave no two whole numbers."""
    value = _read(value, list, value)
    if isinstance(value, Sequence) and not isinstance(value, str) and len(value) == 2:
        first, last = value
        if type(first) is int and type(last) is int and max(abs(first), abs(last)) < 2**31:
            return first, last
    return None


def _read(value: object, kind: type, otherwise: object) -> Any:
    """An object or array that arrived as JSON text, when it prints back the same; else what it is."""
    if isinstance(value, kind):
        return value
    if isinstance(value, str):
        try:
            read = json.loads(value)
            printed = {
                json.dumps(read, ensure_ascii=a, separators=s) for a in (True, False) for s in (None, (",", ":"))
            }
        except (ValueError, RecursionError):
            return otherwise
        return read if isinstance(read, kind) and value.strip() in printed else otherwise
    return otherwise


def _as_of(
    page: _Page, read: Mapping[str, Any], dropped: list[dict[str, Any]]
) -> tuple[str | None, list[tuple[int, int]]]:
    """The month the brief pins, and the sentence that says nothing else. A month that the brief does not write
    came from nowhere."""
    said = read.get("as_of")
    if said is None or said == "":
        return None, []
    quote = read.get("as_of_quote")
    given = {"as_of": said} if quote is None else {"as_of": said, "quote": quote}
    if not isinstance(said, str) or month_end(said) is None:
        dropped.append(_drop(given, reasons.AS_OF_NO_MONTH))
        return None, []
    try:
        pinned = [] if quote is None else page.places(quote)
    except _Dropped as why:
        dropped.append(_drop(given, str(why)))
        return None, []
    words = page.words.brief[slice(*pinned[0])] if pinned else page.words.brief
    if not month.writes(words, said):
        dropped.append(_drop(given, reasons.AS_OF_NOT_IN_BRIEF))
        return None, []
    return said, [place for place in pinned if page.is_all_of_a_sentence(place)]


def _left(
    page: _Page, read: Mapping[str, Any], silent: Sequence[tuple[int, int]], dropped: list[dict[str, Any]]
) -> list[tuple[int, int]]:
    """What the model itself says it could not compile, inside sentences of which something else was.

    Words that stand nowhere in the brief are a gap all the same: something is said to be missing.
    """
    said = read.get("uncompiled")
    listed = _read(said, list, [] if said is None else [said])
    left: list[tuple[int, int]] = []
    for words in listed[:CONSTRAINTS_AT_MOST]:
        found = page.words.find(words) if isinstance(words, str) and words.strip() else []
        if not found:
            dropped.append(_drop({"uncompiled": words}, reasons.QUOTE_NOT_IN_BRIEF))
        left += [place for place in found if not any(a <= place[0] and place[1] <= b for a, b in silent)]
    return left


def _drop(raw: object, reason: str) -> dict[str, Any]:
    return {"constraint": _shown(raw), "reason": reason}


def _name(text: str) -> str:
    return str(_shown(text[:60]))


def _shown(value: object, depth: int = 3) -> Any:
    """What a model said, small enough and plain enough to stand in a reply."""
    match value:
        case bool() | None:
            return value
        case int():
            return value if abs(value) <= 2**53 else f"{value:.6e}" if abs(value) < 10**300 else "…"
        case float():
            return value if abs(value) < float("inf") else str(value)
        case str():
            text = _SURROGATE.sub("\ufffd", value[:_TEXT_AT_MOST])
            return text if len(value) <= _TEXT_AT_MOST else text + "…"
        case Mapping() if depth:
            return {_name(str(k)): _shown(v, depth - 1) for k, v in list(value.items())[:20]}
        case list() | tuple() if depth:
            return [_shown(v, depth - 1) for v in value[:20]]
    return "…"
