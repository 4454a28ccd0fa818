"""Assembling the full reply from what the stages found."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from closedset import absence, licence, matches, ranking, reasons
from closedset.absence import Covering
from closedset.execute import Run
from closedset.licence import Licence
from closedset.matches import Match, MatchRow, Named
from closedset.pack import PERIOD
from closedset.partition import Verdict
from closedset.plan import Group
from closedset.ranking import Ranked
from closedset.receipt import SlotReceipt, StatedRow
from closedset.reply_full import (
    AbsenceBlock,
    CompiledBlock,
    ConstraintCount,
    Counts,
    Coverage,
    CoverageRecord,
    EntityAbsence,
    EntityLists,
    FullReply,
    Gaps,
    GroupBlock,
    LicenceBlock,
    LicenceReason,
    Listing,
    MatchBlock,
    MergedId,
    PeriodBlock,
    Provenance,
    RankKey,
    ReceiptBlock,
    RowBlock,
    Split,
    TimeTestBlock,
    UnboundGap,
)
from closedset.store import Looked

if TYPE_CHECKING:
    from closedset.brief import Compiled
    from closedset.search import Answer

_SETS = ("none", "not_recorded", "undetermined")


class _Lists:
    """The bounded lists of non-matches, their ordinals gathered first so that all ids are one look-up."""

    def __init__(self, run: Run, found: "Answer", ranked: Sequence[Ranked], page: Sequence[Ranked]) -> None:
        listed = found.asked.listed
        overall = found.verdicts.overall
        self.overall = {s: getattr(overall, s).ordinals(listed) for s in _SETS}
        self.groups = {
            g.index: {s: getattr(found.verdicts.groups[g.index].partition, s).ordinals(listed) for s in _SETS}
            for g in found.plan.groups
        }
        self.absent = {
            r: (one.unheld.ordinals(listed), one.never.ordinals(listed)) for r, one in found.verdicts.looked.items()
        }
        self.covering = {r: absence.covering_absent(run, r, none) for r, (none, _) in self.absent.items()}
        every = [o for one in (self.overall, *self.groups.values()) for ids in one.values() for o in ids]
        every += [o for pair in self.absent.values() for one in pair for o in one]
        every += [r.ordinal for r in (*ranked, *page)]
        self._names = run.soon(lambda own: matches.names(own, every))

    @cached_property
    def known(self) -> dict[int, tuple[str, str | None]]:
        """The id and name of every listed entity, by ordinal."""
        return self._names()

    def ids(self, ordinals: Sequence[int]) -> list[str]:
        return [self.known[o][0] for o in ordinals]


def assemble(
    run: Run,
    found: "Answer",
    licensed: Callable[[], Licence],
    ranked: Sequence[Ranked],
    page: Sequence[Ranked],
    merged: Sequence[Named],
    request_id: str,
) -> FullReply:
    """Takes the answer, what gives the licence that was begun, the first ranked matches, the page of them to deliver,
    and the ids that the request names and that are merged into others."""
    deliver = matches.deliver(run, found.plan, page)
    lists = _Lists(run, found, ranked, page)
    delivered, warrant = deliver(lists.known), licensed()
    overall = found.verdicts.overall
    hidden = len(overall.matched) - len(delivered)
    return FullReply(
        request_id=request_id,
        detail="full",
        bound=bool(found.bound),
        unbound_because=_unbound_because(run, found),
        ranking=ranking.NAME,
        as_of=found.asked.as_of,
        as_of_source=found.as_of_source,
        compiled=_compiled(found.compiled),
        list_limit=found.asked.list_limit,
        expansion=[line for _, e in sorted(found.plan.expansions.items()) for line in e.lines],
        counts=_counts(run, found),
        groups=[_group(run, found, g, warrant, lists) for g in found.plan.groups],
        entities=EntityLists(
            matched=lists.ids([r.ordinal for r in ranked]), **{s: lists.ids(lists.overall[s]) for s in _SETS}
        ),
        matches=[_match(m) for m in delivered],
        truncated=hidden > 0,
        **{s: _listings(found, lists, s) for s in _SETS},
        gaps=Gaps(
            unbound=[UnboundGap(index=u.index, reason=u.reason) for u in found.unbound],
            dropped=found.compiled.dropped if found.compiled else [],
            uncompiled=found.compiled.uncompiled if found.compiled else [],
        ),
        provenance=Provenance(declared=sum(len(m.rows) for m in delivered), extracted=0),
        coverage=_coverage(warrant, hidden),
        licence=_licence(warrant, hidden),
        map_version=run.catalog.map_version,
        merged=[MergedId(asked=one.asked, entity_id=one.entity_id) for one in merged] or None,
    )


def _compiled(compiled: "Compiled | None") -> CompiledBlock | None:
    if compiled is None:
        return None
    return CompiledBlock(
        brief=compiled.brief,
        constraints=[c.as_sent() for c in compiled.constraints],
        dropped=compiled.dropped,
        uncompiled=compiled.uncompiled,
        as_of=compiled.as_of,
        model=compiled.model,
        usage=compiled.usage_said,
    )


def _unbound_because(run: Run, found: "Answer") -> str | None:
    if found.bound:
        return None
    return reasons.NO_CONSTRAINT_BOUND if run.catalog.pack.relations else reasons.NO_RELATION_DECLARED


def _counts(run: Run, found: "Answer") -> Counts:
    overall = found.verdicts.overall
    sizes = {v.value: overall.size(v) for v in Verdict}
    per_constraint = []
    for i, asked in enumerate(found.asked.constraints or []):
        judged = found.verdicts.constraints.get(i)
        counted = {v.value: judged.partition.size(v) if judged else None for v in Verdict}
        per_constraint.append(
            ConstraintCount(
                index=i,
                constraint=asked.as_sent(),
                status="bound" if judged else "unbound",
                rows=judged.said.rows if judged else None,
                **counted,
            )
        )
    return Counts(universe=run.universe, bound=sizes["matched"] + sizes["none"], per_constraint=per_constraint, **sizes)


def _group(run: Run, found: "Answer", group: Group, warrant: Licence, lists: _Lists) -> GroupBlock:
    judged = found.verdicts.groups[group.index]
    time = group.time
    return GroupBlock(
        index=group.index,
        relation=group.relation,
        required=group.required,
        constraints=list(group.constraints),
        covered=len(found.verdicts.looked[group.relation].covered),
        **{v.value: judged.partition.size(v) for v in Verdict},
        active_rows=judged.said.rows,
        inactive_rows=judged.said.inactive,
        undated_rows=judged.said.undated,
        unanswerable_rows=judged.said.unanswerable,
        unrecorded_slots=list(warrant.unrecorded[group.index]),
        time_test=TimeTestBlock(month=time.month, date_slot=time.date_slot, rule=time.rule) if time else None,
        absence=_absence(run, group.relation, found.verdicts.looked[group.relation], lists),
    )


def _absence(run: Run, relation: str, looked: Looked, lists: _Lists) -> AbsenceBlock:
    none, not_recorded = lists.absent[relation]

    def records(covering: Sequence[Covering]) -> list[CoverageRecord]:
        return [
            CoverageRecord(
                declared_by=c.declared_by, source=c.source, said=c.said, loaded_at=c.at or run.catalog.loaded_at
            )
            for c in covering
        ]

    return AbsenceBlock(
        split=Split(none=len(looked.unheld), not_recorded=len(looked.never), recorded=len(looked.recorded)),
        none=[
            EntityAbsence(
                entity_id=lists.known[o][0], kind="none", denominator=0, coverage=records(lists.covering[relation][o])
            )
            for o in none
        ],
        not_recorded=[
            EntityAbsence(entity_id=lists.known[o][0], kind="not_recorded", denominator=None, coverage=[])
            for o in not_recorded
        ],
    )


def _listings(found: "Answer", lists: _Lists, verdict: str) -> list[Listing]:
    return [
        Listing(
            group=g.index,
            relation=g.relation,
            entity_ids=lists.ids(lists.groups[g.index][verdict]),
            total=found.verdicts.groups[g.index].partition.size(Verdict(verdict)),
        )
        for g in found.plan.groups
    ]


def _match(match: Match) -> MatchBlock:
    return MatchBlock(
        entity_id=match.entity_id,
        name=match.name,
        rank=match.ranked.rank,
        rank_key=RankKey(
            optional_groups_satisfied=match.ranked.preferences, threshold_distance=list(match.ranked.distances)
        ),
        rows=[_row(r, match.entity_id) for r in match.rows],
    )


def _row(row: MatchRow, entity_id: str) -> RowBlock:
    stated = row.stated
    return RowBlock(
        relation=stated.row.relation,
        row_id=stated.row_id,
        slots=matches.slots(stated),
        period=_period(stated) if PERIOD[0] in stated.slots else None,
        satisfies_groups=list(row.satisfies),
        provenance_kind="declared",
        receipt=None,
        slot_receipts={
            name: _receipt(r) for name, r in sorted(stated.slots.items()) if r.text is not None and name not in PERIOD
        },
        source_entity_id=stated.entity_id if stated.entity_id != entity_id else None,
    )


def _period(stated: StatedRow) -> PeriodBlock:
    first, last = (stated.slots[name] for name in PERIOD)
    receipts = {name: _receipt(stated.slots[name]) for name in PERIOD if stated.slots[name].text is not None}
    return PeriodBlock(period_from=first.text, period_to=last.text, receipts=receipts)


def _receipt(receipt: SlotReceipt) -> ReceiptBlock:
    return ReceiptBlock(
        db_table=receipt.table,
        db_column=receipt.column,
        byte_verified=receipt.byte_verified,
        source=receipt.source,
        file=receipt.file,
        row=receipt.row,
        cell=receipt.cell,
        unreadable=True if receipt.reading.unreadable else None,
    )


def _coverage(warrant: Licence, hidden: int) -> Coverage:
    """`narrowed` beats `truncated`: a gap leaves the set open, a page only leaves it unshown."""
    if not warrant.closed:
        return Coverage(
            completeness_licensed=False,
            withheld_because=reasons.NARROWED,
            narrowed_by=[g.full_code for g in warrant.gaps],
        )
    if hidden:
        return Coverage(completeness_licensed=False, withheld_because=reasons.TRUNCATED)
    return Coverage(completeness_licensed=True)


def _licence(warrant: Licence, hidden: int) -> LicenceBlock:
    said = [LicenceReason(**licence.record(g)) for g in warrant.gaps]
    if warrant.closed and hidden:
        reason = reasons.TRUNCATED_REASON
        said = [
            LicenceReason(
                code=reason.code, count=hidden, sentence=reason.sentence.format(count=hidden), cure=reason.cure
            )
        ]
    return LicenceBlock(granted=not said, reasons=said)
