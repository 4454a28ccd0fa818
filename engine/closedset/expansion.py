"""Each constraint through the vocabulary: the printed line, and the test that a row is put to.

A test is three-valued: it says for which stored values it is true and for which it is unknown; every other
value is false, and an empty slot is unknown.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

from closedset import dates, decimals
from closedset.constraint import Bound
from closedset.dates import Span
from closedset.fold import fold
from closedset.vocabulary import Vocabulary

#: The code a store gave to a folded surface that is on no term of an axis, if it holds it.
SurfaceCode = Callable[[str, str], int | None]


@dataclass(frozen=True)
class TermTest:
    """True for the codes in `true` (terms, or with negative codes unplaced surfaces), unknown for `coarse`
    and for every unplaced surface. With `unknown`, an asked surface is on no term: all the rest is unknown."""

    true: tuple[int, ...]
    coarse: tuple[int, ...] = ()
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True)
class TextTest:
    """True for these folded texts."""

    folded: tuple[str, ...]


@dataclass(frozen=True)
class NumberTest:
    """`op` is eq, gte or lte, the values at the column's scale. Without values (none is at that scale, or the
    threshold is out of range) every recorded number answers `always`."""

    op: str
    values: tuple[Decimal, ...]
    always: bool = False


@dataclass(frozen=True)
class DateTest:
    """`op` is eq (inside one of the spans), gte or lte (against the one span)."""

    op: str
    spans: tuple[Span, ...]


Test = TermTest | TextTest | NumberTest | DateTest


@dataclass(frozen=True)
class Expansion:
    """A bound constraint with its printed lines and its test; `negated` for `ne`. `rungs` gives the distance
    in rungs of every code of an ordered threshold."""

    bound: Bound
    lines: tuple[str, ...]
    test: Test
    negated: bool = False
    rungs: tuple[tuple[int, int], ...] = ()


def expand(bound: Bound, scale: int, surface_code: SurfaceCode) -> Expansion:
    """Takes a bound constraint, the stored scale of its number slot, and the store's surface look-up."""
    negated = bound.op == "ne"
    match bound.slot.type:
        case "term":
            return _terms(bound, surface_code, negated)
        case "text":
            return Expansion(bound, _plain(bound), TextTest(tuple(dict.fromkeys(map(fold, bound.texts)))), negated)
        case "number":
            return Expansion(bound, _plain(bound), _number(bound, scale), negated)
        case "date":
            op = bound.op if bound.threshold else "eq"
            spans = bound.spans if bound.threshold else dates.joined(bound.spans)
            return Expansion(bound, _plain(bound), DateTest(op, spans), negated)


def _plain(bound: Bound) -> tuple[str, ...]:
    return (f"{bound.name}: {bound.asked}",)


def _terms(bound: Bound, surface_code: SurfaceCode, negated: bool) -> Expansion:
    vocabulary = bound.vocabulary
    assert vocabulary is not None
    lines: list[str] = []
    terms: dict[str, None] = {}
    surfaces: list[int] = []
    unknown: list[str] = []
    for asked in bound.texts:
        term = vocabulary.place(asked)
        if term is None:
            lines.append(f"{bound.name}: {asked} is on no term of axis {vocabulary.name}")
            unknown.append(asked)
            code = surface_code(vocabulary.name, fold(asked))
            surfaces += [] if code is None else [code]
            continue
        reached = _reached(bound, vocabulary, term)
        terms.update(dict.fromkeys(reached))
        lines.append(_line(bound, vocabulary, asked, term, reached))
    codes = tuple(vocabulary.codes[t] for t in terms)
    coarse, covered = _interior(vocabulary, terms.keys())
    test = TermTest((*codes, *covered, *surfaces), coarse, tuple(unknown))
    return Expansion(bound, tuple(lines), test, negated, _distances(bound, vocabulary, codes, surfaces))


def _reached(bound: Bound, vocabulary: Vocabulary, term: str) -> tuple[str, ...]:
    """The terms a value stands for: itself and what is below it, or its side of the order."""
    if not bound.threshold:
        return vocabulary.with_below(term)
    asked = vocabulary.rungs[term]
    above = bound.op == "gte"
    return tuple(
        t
        for t in vocabulary.terms
        if t in vocabulary.rungs and (vocabulary.rungs[t] >= asked if above else vocabulary.rungs[t] <= asked)
    )


def _line(bound: Bound, vocabulary: Vocabulary, asked: str, term: str, reached: tuple[str, ...]) -> str:
    braces = "{" + ", ".join(reached) + "}"
    named = fold(asked) == fold(term)
    if bound.threshold:
        mark = "≥" if bound.op == "gte" else "≤"
        return f"{bound.name}: {mark} {term if named else asked} → {braces} via order"
    if len(reached) > 1:
        return f"{bound.name}: {term if named else asked} → {braces} via {'' if named else 'synonym and '}hierarchy"
    if named:
        return f"{bound.name}: {term} is a term of axis {vocabulary.name}"
    return f"{bound.name}: {asked} → {braces} via synonym"


def _interior(vocabulary: Vocabulary, reached: Iterable[str]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The codes of wider terms: those with some leaves among the reached (unknown), and with all (true)."""
    inside = set(reached)
    if vocabulary.exact or not inside:
        return (), ()
    some: list[int] = []
    every: list[int] = []
    for term in vocabulary.terms:
        if term in inside or not vocabulary.below[term]:
            continue
        hit = vocabulary.leaves[term] & inside
        if hit:
            (every if hit == vocabulary.leaves[term] else some).append(vocabulary.codes[term])
    return tuple(some), tuple(every)


def _distances(
    bound: Bound, vocabulary: Vocabulary, codes: Iterable[int], surfaces: Iterable[int]
) -> tuple[tuple[int, int], ...]:
    if not bound.threshold:
        return ()
    term = vocabulary.place(bound.texts[0])
    if term is None:
        return tuple((code, 0) for code in surfaces)
    asked = vocabulary.rungs[term]
    names = {code: t for t, code in vocabulary.codes.items()}
    return tuple((code, abs(vocabulary.rungs[names[code]] - asked)) for code in codes)


def _number(bound: Bound, scale: int) -> NumberTest:
    """The asked numbers at the column's scale: a threshold between two column values moves to the next one."""
    op = bound.op if bound.threshold else "eq"
    if op == "eq":
        exact = [n for n in bound.numbers if decimals.digits(decimals.trimmed(n))[1] <= scale and _fits(n, scale)]
        return NumberTest(op, tuple(dict.fromkeys(decimals.at_scale(n, scale, ROUND_FLOOR) for n in exact)))
    (number,) = bound.numbers
    bound_at = decimals.at_scale(number, scale, ROUND_CEILING if op == "gte" else ROUND_FLOOR)
    if _fits(bound_at, scale):
        return NumberTest(op, (bound_at,))
    return NumberTest(op, (), always=(number < 0) == (op == "gte"))


def _fits(number: Decimal, scale: int) -> bool:
    return decimals.digits(number)[0] + scale <= decimals.DIGITS
