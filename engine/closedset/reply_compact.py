"""The compact reply: a projection of the full one for whoever holds a reply in a context and re-reads it.

Matches with one line a condition on why each is in the set, and counts of everything else.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from closedset.constraint import WORDS
from closedset.pack import PERIOD
from closedset.reply_full import Block, FullReply, MatchBlock, ReceiptBlock, RowBlock

_REASONS = 5


class CompactMatch(Block):
    """A match with a line a condition that a delivered row establishes, and up to three lines on the entity."""

    entity_id: str
    name: str | None
    why: list[dict[str, str | None]]
    about: list[str] | None = None
    absent: ClassVar[frozenset[str]] = frozenset({"about"})


class Matched(Block):
    """`total` is the whole set; `showing` the first and last place on this page; `next_offset` null at the end."""

    total: int
    showing: list[int]
    next_offset: int | None


class Close(Block):
    """Near matches: none without a criterion."""

    matches: list[CompactMatch]


class Others(Block):
    """Everybody else, counted: `ruled_out` is the one "no"; `not_read` were never looked at."""

    ruled_out: int
    cannot_tell: int
    not_read: int
    no_documents: int


class CompactReply(Block):
    """A page of matches and counts of everybody else."""

    detail: str
    request_id: str
    matched: Matched
    complete: bool
    incomplete_because: list[str] | None = None
    matches: list[CompactMatch]
    close: Close
    others: Others
    more: dict[str, Any]
    map_version: str
    absent: ClassVar[frozenset[str]] = frozenset({"incomplete_because"})


def compact(full: FullReply, offset: int, on_pages: int, about: Mapping[str, list[str]]) -> CompactReply:
    """Project a full reply. `on_pages`: how many matches this request can page through (fewer than the whole
    set where it names entities). `about` gives each listed entity's lines; an entity the store holds nothing
    for has none."""
    total, showing = full.counts.matched, len(full.matches)
    end = offset + showing
    return CompactReply(
        detail="compact",
        request_id=full.request_id,
        matched=Matched(
            total=total,
            showing=[full.matches[0].rank, full.matches[-1].rank] if showing else [0, 0],
            next_offset=end if showing and end < on_pages else None,
        ),
        complete=full.coverage.completeness_licensed,
        incomplete_because=_because(full),
        matches=[
            CompactMatch(entity_id=m.entity_id, name=m.name, why=_why(full, m), about=about.get(m.entity_id))
            for m in full.matches
        ],
        close=Close(matches=[]),
        others=Others(
            ruled_out=full.counts.none,
            cannot_tell=full.counts.undetermined,
            not_read=full.counts.not_recorded,
            no_documents=0,
        ),
        more=_more(),
        map_version=full.map_version,
    )


def _because(full: FullReply) -> list[str] | None:
    if full.coverage.completeness_licensed:
        return None
    return [reason.counted for reason in full.licence.reasons[:_REASONS]]


def _why(full: FullReply, match: MatchBlock) -> list[dict[str, str | None]]:
    """One line a constraint whose group a delivered row satisfies; the value is that of the group's first row."""
    lines: list[dict[str, str | None]] = []
    groups = {i: g.index for g in full.groups for i in g.constraints}
    for count in full.counts.per_constraint:
        group = groups.get(count.index)
        row = next((r for r in match.rows if group in r.satisfies_groups), None)
        if row is None:
            continue
        value, receipt = stated(row, count.constraint["slot"])
        lines.append({"condition": condition(count.constraint), "value": value, "from": "record"})
        if receipt is not None and not receipt.byte_verified:
            lines[-1]["check"] = "the source no longer reads this value"
    return lines


def stated(row: RowBlock, slot: str) -> tuple[str | None, ReceiptBlock | None]:
    """What a delivered row states for a slot, the period columns included, and the receipt of it."""
    if row.period and slot in PERIOD:
        return getattr(row.period, slot), row.period.receipts.get(slot)
    return row.slots.get(slot), row.slot_receipts.get(slot)


def condition(constraint: Mapping[str, Any]) -> str:
    """A constraint as `relation.slot op value`."""
    value = constraint["value"]
    said = "[" + ", ".join(map(str, value)) + "]" if isinstance(value, list) else str(value)
    return f"{constraint['relation']}.{constraint['slot']} {WORDS[constraint['op']]} {said}"


def _more() -> dict[str, Any]:
    """The calls that fetch what this reply leaves out, each as what to change in the same request."""
    # The offset of a later page would skip the one entity that is asked for.
    one = {"detail": "full", "entity_ids": ["<entity_id>"], "offset": 0}
    return {
        "entity": {"call": "search", "same_request_with": one},
        "full": {"call": "search", "same_request_with": {"detail": "full"}},
        "receipt": {"call": "search", "same_request_with": one, "read": "matches[].rows[].slot_receipts"},
        "rows": {"call": "search", "same_request_with": one, "read": "matches[].rows"},
    }
