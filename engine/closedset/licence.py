"""The completeness licence: granted, or withheld with every reason, its count and its cure.

A reason is listed only if it leaves some entity's membership open or part of the request unasked.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from closedset import reasons
from closedset.catalog import Examples
from closedset.constraint import Unbound
from closedset.entity_set import EntitySet
from closedset.execute import Run
from closedset.expansion import Expansion, TermTest
from closedset.fold import excerpt
from closedset.judged_rows import as_asked, judged_rows
from closedset.partition import Verdicts, excused
from closedset.plan import Group, Plan, Scan
from closedset.scan import why as why_unknown
from closedset.unknown import Unknown

if TYPE_CHECKING:
    from closedset.brief import Compiled

_SHOWN = 3
#: So many codes of one reason are counted: a cure names the first ones, and how many more there are.
_COUNTED = 20


@dataclass(frozen=True)
class Gap:
    """One reason: its code with its subject, how many it counts (None where nothing is counted), and why."""

    code: str
    subject: str
    count: int | None
    detail: str = ""

    @property
    def full_code(self) -> str:
        return reasons.full_code(self.code, self.subject)

    def _filled(self, text: str) -> str:
        return text.format(subject=self.subject, count=self.count, detail=self.detail or self.subject)

    @property
    def sentence(self) -> str:
        return self._filled(reasons.BY_CODE[self.code].sentence)

    @property
    def cure(self) -> str:
        return self._filled(reasons.BY_CODE[self.code].cure)


@dataclass(frozen=True)
class Licence:
    """`gaps` in the licence's order; empty: the set is closed. `unrecorded` names, per group index, the slots
    whose empty cells leave somebody undetermined in the group."""

    gaps: tuple[Gap, ...]
    unrecorded: dict[int, tuple[str, ...]]

    @property
    def closed(self) -> bool:
        return not self.gaps


@dataclass
class _Why:
    """One reason under one group: the entities that hold a row unknown because of it, by constraint; `open`, once it is
    found that one of them is undetermined in the group."""

    code: str
    subject: str
    group: Group
    expansion: Expansion | None
    entities: EntitySet
    reason: Unknown | None = None
    open: bool = False


@dataclass
class _Tally:
    open: EntitySet
    details: dict[str, None] = field(default_factory=dict)


def licence(
    run: Run,
    plan: Plan,
    verdicts: Verdicts,
    unbound: Sequence[Unbound],
    vacuous: bool,
    compiled: "Compiled | None" = None,
) -> Licence:
    """Say why the set is not closed. `vacuous` as for the partition: then unbound preferences count too."""
    whys = [why for scan in plan.scans for why in _whys(run, scan, verdicts)]
    tallies: dict[tuple[str, str], _Tally] = defaultdict(lambda: _Tally(EntitySet.empty(run.universe)))
    if not vacuous:
        for group in plan.required:
            never, undetermined = excused(group, verdicts)
            _never_looked(run, group, verdicts, never, tallies)
            mine = [(why, why.entities & undetermined) for why in whys if why.group is group]
            listed = [why for why, still_open in mine if still_open]
            codes = _codes(run, plan, group, listed, undetermined)
            for why, still_open in mine:
                if still_open:
                    why.open = True
                    tally = tallies[why.code, why.subject]
                    tally.open = tally.open | still_open
                    tally.details.update(dict.fromkeys(_details(run, why, codes)))
    gaps = [Gap(code, subject, len(t.open), "; ".join(t.details)) for (code, subject), t in tallies.items()]
    gaps += _unattributed(run, plan)
    gaps += _unasked(unbound, vacuous)
    gaps += _uncompiled(compiled)
    gaps.sort(
        key=lambda g: (
            reasons.order(g.code),
            (len(g.subject), g.subject) if g.code == "constraint_unbound" else (0, g.subject),
        )
    )
    return Licence(tuple(gaps), _unrecorded(plan, whys, verdicts))


def _unasked(unbound: Sequence[Unbound], vacuous: bool) -> list[Gap]:
    """Required constraints that could not run; preferences only where nothing else was asked and nothing ran."""
    required = [u for u in unbound if u.constraint.required]
    named = required or (unbound if vacuous else [])
    return [Gap("constraint_unbound", str(u.index), None, u.reason) for u in named]


def _uncompiled(compiled: "Compiled | None") -> list[Gap]:
    """What a brief asked that did not run: constraints that its words do not bear out, sentences that became none."""
    if compiled is None:
        return []
    counts = {"constraints_dropped": len(compiled.dropped), "brief_uncompiled": len(compiled.uncompiled)}
    return [Gap(code, "", count) for code, count in counts.items() if count]


def _never_looked(
    run: Run, group: Group, verdicts: Verdicts, never: EntitySet, tallies: dict[tuple[str, str], _Tally]
) -> None:
    nobody = not verdicts.looked[group.relation].covered
    # In an empty universe no membership is open, yet a relation that was never loaded was not asked either.
    if not never and not (nobody and not run.universe):
        return
    key = ("relation_not_recorded", group.relation) if nobody else ("entities_not_recorded", "")
    tallies[key].open = tallies[key].open | never
    tallies[key].details[group.relation] = None


def _unattributed(run: Run, plan: Plan) -> list[Gap]:
    relations = dict.fromkeys(g.relation for g in plan.required)
    counts = ((r, run.catalog.relations[r].unattributed) for r in relations)
    return [Gap("unattributed_rows_withheld", r, n) for r, n in counts if n]


def _whys(run: Run, scan: Scan, verdicts: Verdicts) -> list[_Why]:
    """Every reason for an unknown row, for the groups that leave somebody undetermined."""
    found: list[_Why] = []
    by_index = {e.bound.index: e for e in scan.expansions}
    for group in scan.groups:
        if not verdicts.groups[group.index].partition.undetermined:
            continue
        withheld = verdicts.looked[scan.relation].withheld
        if withheld:
            found.append(_Why("withheld_rows_unanswerable", scan.relation, group, None, withheld))
        for reason, entities in why_unknown(run, scan, group, verdicts.groups[group.index].said):
            expansion = None if reason.index is None else by_index[reason.index]
            found.append(_Why(reason.code, reason.subject, group, expansion, entities, reason))
    return found


def _details(run: Run, why: _Why, codes: dict[int, str]) -> list[str]:
    """What a cure needs to know: the surfaces and how many rows hold them, the slot, the texts."""
    if why.expansion is None:
        return []
    bound, test = why.expansion.bound, why.expansion.test
    place = f"{bound.relation}.{bound.name}"
    if why.code == "vocabulary_unknown_surface" and isinstance(test, TermTest):
        return [f"{place}: " + ", ".join(repr(t) for t in test.unknown)]
    if why.code in ("vocabulary_unplaced", "vocabulary_coarse"):
        return [f"{place}: {codes[id(why)]}"]
    if why.code == "slot_unreadable_rows_unanswerable":
        reports = [
            r.slots[bound.name] for r in run.catalog.reports if r.relation == bound.relation and bound.name in r.slots
        ]
        texts = _examples([r.unreadable for r in reports])
        return [f"{place}: {texts}" if texts else place]
    if why.code == "slot_unrecorded_rows_unanswerable":
        written = run.catalog.relations[bound.relation].slots.get(bound.name)
        return [place if written and written.written else f"{place}, which no load wrote"]
    return [place]


def _codes(run: Run, plan: Plan, group: Group, whys: Sequence[_Why], undetermined: EntitySet) -> dict[int, str]:
    """By the identity of each reason about stored codes, which codes leave a group's open entities unjudged, and in how
    many rows. A row with such a code belongs to an entity of the reason, so being undetermined is all that is asked."""
    mine = [w for w in whys if w.code in ("vocabulary_unplaced", "vocabulary_coarse") and w.expansion is not None]
    if not mine:
        return {}
    rows, values = judged_rows(run, plan.scan_of(group.relation), [group])
    bounds = [w.expansion.bound for w in mine if w.expansion]
    asked = as_asked(rows, [w.reason for w in mine if w.reason])
    wanted = [{**one, "slot": bound.name} for one, bound in zip(asked, bounds, strict=True)]
    values |= {f"axis_{place}": bound.slot.axis for place, bound in enumerate(bounds)}
    table = run.statement(
        "search/codes.sql.j2",
        values,
        rows=rows,
        group=group,
        wanted=wanted,
        shown=_COUNTED,
        by_word=run.give_few_rows("open_set", undetermined),
    ).to_pylist()
    said: dict[int, str] = {}
    for place, why in enumerate(mine):
        vocabulary = why.expansion.bound.vocabulary if why.expansion else None
        assert vocabulary is not None
        held = [
            f"{repr(excerpt(row['surface'])) if row['code'] < 0 else vocabulary.terms[row['code'] - 1]} in "
            f"{_rows(row['held'])}"
            for row in table
            if row["wanted"] == place
        ]
        more = f" and {len(held) - _SHOWN} more" if len(held) > _SHOWN else ""
        said[id(why)] = ", ".join(held[:_SHOWN]) + more
    return said


def _examples(found: list[Examples]) -> str:
    texts = [f"{text!r} in {_rows(count)}" for one in found for text, count in one.texts]
    return ", ".join(texts[:_SHOWN])


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count} rows"


def _unrecorded(plan: Plan, whys: list[_Why], verdicts: Verdicts) -> dict[int, tuple[str, ...]]:
    slots: dict[int, tuple[str, ...]] = {}
    for group in plan.groups:
        undetermined = verdicts.groups[group.index].partition.undetermined
        named = {
            why.expansion.bound.name
            for why in whys
            if why.group == group
            and why.expansion
            and why.code == "slot_unrecorded_rows_unanswerable"
            and (why.open or why.entities & undetermined)
        }
        slots[group.index] = tuple(sorted(named))
    return slots


def record(gap: Gap) -> dict[str, Any]:
    """A gap as the reply's `licence` block says it."""
    return {"code": gap.full_code, "count": gap.count, "sentence": gap.sentence, "cure": gap.cure}
