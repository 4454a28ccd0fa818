"""Constraints bound to the pack: what each one asks of which slot, or why it cannot run.

An unknown relation or slot and an axis without vocabulary are gaps; a question that a slot's type cannot
answer is refused.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import NoReturn

from closedset import dates, decimals, reasons
from closedset.dates import Span
from closedset.errors import RequestRefused
from closedset.pack import PERIOD, Pack, Slot
from closedset.request import Constraint, Scalar
from closedset.vocabulary import Vocabulary

WORDS = {"eq": "=", "ne": "≠", "in": "in", "gte": "≥", "lte": "≤"}


@dataclass(frozen=True)
class Bound:
    """A constraint that can run. Exactly one of `texts`, `numbers` and `spans` holds the asked values."""

    index: int
    constraint: Constraint
    slot: Slot
    vocabulary: Vocabulary | None
    texts: tuple[str, ...] = ()
    numbers: tuple[Decimal, ...] = ()
    spans: tuple[Span, ...] = ()

    @property
    def relation(self) -> str:
        return self.constraint.relation

    @property
    def name(self) -> str:
        """The slot's name."""
        return self.constraint.slot

    @property
    def op(self) -> str:
        return self.constraint.op

    @property
    def threshold(self) -> bool:
        return self.op in ("gte", "lte")

    @property
    def period(self) -> bool:
        return self.name in PERIOD

    @property
    def condition(self) -> str:
        """The constraint as a reply says it: `relation.slot op value`."""
        return f"{self.relation}.{self.name} {self.asked}"

    @property
    def asked(self) -> str:
        said = [str(v) for v in self.constraint.values()]
        return f"{WORDS[self.op]} {'[' + ', '.join(said) + ']' if self.op == 'in' else said[0]}"


@dataclass(frozen=True)
class Unbound:
    """A constraint that cannot run, and the reason as `gaps.unbound` prints it."""

    index: int
    constraint: Constraint
    reason: str


def bind(pack: Pack, constraints: Sequence[Constraint]) -> list[Bound | Unbound]:
    """Bind each constraint, in request order. Refuses (RequestRefused) what a slot's type cannot answer."""
    return [_bind(pack, i, c) for i, c in enumerate(constraints)]


def _bind(pack: Pack, index: int, constraint: Constraint) -> Bound | Unbound:
    relation = pack.relations.get(constraint.relation)
    if relation is None:
        return Unbound(index, constraint, f"{reasons.RELATION_UNKNOWN}:{constraint.relation}")
    slot = relation.slot(constraint.slot)
    if slot is None:
        return Unbound(index, constraint, f"{reasons.SLOT_UNKNOWN}:{constraint.slot}")
    vocabulary = pack.vocabulary(slot)
    values = constraint.values()
    match slot.type:
        case "term":
            if constraint.op in ("gte", "lte") and not (vocabulary and vocabulary.ordered):
                _refuse(index, constraint, f"axis {slot.axis} has no order; use eq, ne or in")
            if vocabulary is None:
                return Unbound(index, constraint, f"{reasons.VOCABULARY_UNBOUND}:{constraint.slot}")
            texts = tuple(_text(index, constraint, v) for v in values)
            if constraint.op in ("gte", "lte"):
                term = vocabulary.place(texts[0])
                if term is not None and term not in vocabulary.rungs:
                    _refuse(index, constraint, f"{term} is a group without a place in the order of axis {slot.axis}")
            return Bound(index, constraint, slot, vocabulary, texts=texts)
        case "text":
            if constraint.op in ("gte", "lte"):
                _refuse(index, constraint, "a text slot has no order; use eq, ne or in")
            return Bound(index, constraint, slot, None, texts=tuple(_text(index, constraint, v) for v in values))
        case "number":
            return Bound(index, constraint, slot, None, numbers=tuple(_number(index, constraint, v) for v in values))
        case "date":
            return Bound(index, constraint, slot, None, spans=tuple(_span(index, constraint, v) for v in values))


def _text(index: int, constraint: Constraint, value: Scalar) -> str:
    if isinstance(value, float):
        _refuse(index, constraint, f"{value!r} is a number, and the slot holds text; write it as text")
    return str(value)


def _number(index: int, constraint: Constraint, value: Scalar) -> Decimal:
    number = decimals.read(str(value) if not isinstance(value, str) else value.strip())
    if number is None:
        _refuse(
            index, constraint,
            f"{str(value)!r} is no number of at most {decimals.DIGITS} digits; write digits with a decimal point",
        )  # fmt: skip
    return number


def _span(index: int, constraint: Constraint, value: Scalar) -> Span:
    span = dates.read_iso(str(value).strip()) if not isinstance(value, float) else None
    if span is None:
        _refuse(index, constraint, f"{str(value)!r} is no date; write YYYY, YYYY-MM or YYYY-MM-DD")
    return span


def _refuse(index: int, constraint: Constraint, reason: str) -> NoReturn:
    raise RequestRefused(
        "search_constraint_invalid",
        "a constraint asks its slot something its type cannot answer",
        reason=f"constraints[{index}] ({constraint.relation}.{constraint.slot} {constraint.op}): {reason}",
        index=index,
    )
