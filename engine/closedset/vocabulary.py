"""One axis's vocabulary: its terms, their order and parents, and which surface names which term.

A term's *code* is its place (from 1) in the axis's declared order; codes are what a store keeps.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from closedset.fold import fold


class VocabularyError(ValueError):
    """A vocabulary that contradicts itself; the text names the terms, `place` the key at fault."""

    def __init__(self, text: str, *place: str) -> None:
        super().__init__(text)
        self.place = place


@dataclass(frozen=True)
class Vocabulary:
    """A closed list of terms as a directed acyclic graph.

    `terms` in declared order; `rungs` gives the ordered terms their place from 0 (descendants stand on
    their ancestor's rung); `below[t]` holds every descendant of `t` in declared order.
    """

    name: str
    terms: tuple[str, ...]
    ordered: bool
    exact: bool
    rungs: Mapping[str, int]
    below: Mapping[str, tuple[str, ...]]
    leaves: Mapping[str, frozenset[str]]
    labels: Mapping[str, str]
    surfaces: Mapping[str, str] = field(repr=False)
    codes: Mapping[str, int] = field(repr=False)

    def place(self, surface: str) -> str | None:
        """The term a surface names (by its name, a synonym or its label), or None: it is on no term."""
        return self.surfaces.get(fold(surface))

    def label(self, term: str) -> str:
        return self.labels.get(term, term)

    def with_below(self, term: str) -> tuple[str, ...]:
        """The term first, then its descendants in declared order."""
        return (term, *self.below[term])


def build(
    name: str,
    *,
    terms: Sequence[str] = (),
    order: Sequence[str] = (),
    children: Mapping[str, Sequence[str]] | None = None,
    synonyms: Mapping[str, Iterable[str]] | None = None,
    labels: Mapping[str, str] | None = None,
    exact: bool = False,
) -> Vocabulary | None:
    """Close an axis's declaration. None when it declares no term at all (an axis without vocabulary).

    Refuses (VocabularyError): a cycle, naming it; one surface on two terms; a synonym or label of no term;
    on an ordered axis, a term that has no rung and whose leaves have none, or one under two rungs.
    """
    children = children or {}
    declared: dict[str, None] = dict.fromkeys(order)
    if len(declared) != len(order):
        raise VocabularyError(f"axis {name}: a term stands twice in the order", "order")
    declared.update(dict.fromkeys(terms))
    for parent, kids in children.items():
        declared.setdefault(parent)
        declared.update(dict.fromkeys(kids))
    if not declared:
        if synonyms or labels:
            raise VocabularyError(f"axis {name}: synonyms or labels, but no terms")
        return None
    names = tuple(declared)
    at = {term: i for i, term in enumerate(names)}
    _refuse_cycle(name, names, children)
    below: dict[str, tuple[str, ...]] = {}
    for term in names:
        found: set[str] = set()
        stack = list(children.get(term, ()))
        while stack:
            kid = stack.pop()
            if kid not in found:
                found.add(kid)
                stack.extend(children.get(kid, ()))
        below[term] = tuple(sorted(found, key=at.__getitem__))
    leaves = {term: frozenset(kid for kid in below[term] if not below[kid]) or frozenset([term]) for term in names}
    return Vocabulary(
        name=name,
        terms=names,
        ordered=bool(order),
        exact=exact,
        rungs=_rungs(name, names, order, below, leaves, exact),
        below=below,
        leaves=leaves,
        labels=_labels(name, labels or {}, at),
        surfaces=_surfaces(name, names, synonyms or {}, labels or {}),
        codes={term: i + 1 for term, i in at.items()},
    )


def _refuse_cycle(name: str, terms: Sequence[str], children: Mapping[str, Sequence[str]]) -> None:
    done: set[str] = set()
    for root in terms:
        path: list[str] = []
        on_path: set[str] = set()
        stack: list[tuple[str, bool]] = [(root, False)]
        while stack:
            term, leaving = stack.pop()
            if leaving:
                on_path.discard(path.pop())
                done.add(term)
                continue
            if term in on_path:
                cycle = [*path[path.index(term) :], term]
                said = " > ".join(cycle)
                raise VocabularyError(f"axis {name}: the tree is a cycle: {said}", "tree", path[-1])
            if term in done:
                continue
            path.append(term)
            on_path.add(term)
            stack.append((term, True))
            stack.extend((kid, False) for kid in children.get(term, ()))


def _rungs(
    name: str,
    terms: Sequence[str],
    order: Sequence[str],
    below: Mapping[str, tuple[str, ...]],
    leaves: Mapping[str, frozenset[str]],
    exact: bool,
) -> dict[str, int]:
    if not order:
        return {}
    rungs = {term: i for i, term in enumerate(order)}
    for i, term in enumerate(order):
        for kid in below[term]:
            if rungs.setdefault(kid, i) != i:
                raise VocabularyError(f"axis {name}: {kid} stands on two rungs of the order", "tree", term)
    for term in terms:
        if term not in rungs and not all(leaf in rungs for leaf in leaves[term]):
            raise VocabularyError(
                f"axis {name}: the axis is ordered, but {term} has no rung; add it to `order` or under a term of it",
                "tree",
                term,
            )
        if term not in rungs and exact:
            raise VocabularyError(
                f"axis {name}: {term} has no rung, and with `interior: exact` it stands for none of the terms below it,"
                " so no threshold could place it; add it to `order`, or leave out `interior: exact`",
                "tree",
                term,
            )
    return rungs


def _labels(name: str, labels: Mapping[str, str], at: Mapping[str, int]) -> dict[str, str]:
    for term in labels:
        if term not in at:
            message = f"axis {name}: a label for {term}, which is no term of the axis"
            raise VocabularyError(message, "labels", term)
    return dict(labels)


def _surfaces(
    name: str,
    terms: Sequence[str],
    synonyms: Mapping[str, Iterable[str]],
    labels: Mapping[str, str],
) -> dict[str, str]:
    surfaces: dict[str, str] = {}

    def add(surface: str, term: str, *place: str) -> None:
        folded = fold(surface)
        if not folded:
            raise VocabularyError(f"axis {name}: an empty surface for {term}", *place)
        taken = surfaces.setdefault(folded, term)
        if taken != term:
            raise VocabularyError(f"axis {name}: {surface!r} would name both {taken} and {term}", *place)

    for term in terms:
        add(term, term)
    for term, spellings in synonyms.items():
        if term not in terms:
            message = f"axis {name}: synonyms for {term}, which is no term of the axis"
            raise VocabularyError(message, "synonyms", term)
        for spelling in spellings:
            add(spelling, term, "synonyms", term)
    for term, label in labels.items():
        add(label, term, "labels", term)
    return surfaces
