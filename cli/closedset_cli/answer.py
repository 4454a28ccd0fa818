"""A reply as a table for people: the partition with its denominators, the licence, the gaps, the matches."""

from typing import TYPE_CHECKING

from closedset_cli import words
from closedset_cli.printable import padded, printable, width
from closedset_cli.sheet import Cell, Sheet
from closedset_cli.why import Why, why

if TYPE_CHECKING:
    from closedset.reply_compact import CompactReply
    from closedset.reply_full import FullReply, GroupBlock, MatchBlock

_ABSENT_SHOWN = 3
_STYLES = {"matched": "green", "none": "", "not_recorded": "yellow", "undetermined": "yellow"}


def full(reply: "FullReply", offset: int = 0) -> Sheet:
    """The whole warrant. Ends with `showing n of N`."""
    sheet = Sheet()
    if reply.compiled is not None:
        from closedset_cli import brief

        brief.show(sheet, reply.compiled)
    _partition(sheet, reply)
    _licence(sheet, reply)
    _asked(sheet, reply)
    _absence(sheet, reply)
    _matches(sheet, reply)
    _showing(sheet, len(reply.matches), reply.counts.matched, offset)
    return sheet


def _partition(sheet: Sheet, reply: "FullReply") -> None:
    counts = reply.counts
    at = f" at {reply.as_of}" if reply.as_of else ""
    sheet.heading(f"universe {counts.universe}{at}")
    sheet.columns(
        [
            ((words.name(s), _STYLES[s]), words.of(getattr(counts, s), counts.universe), words.SETS[s])
            for s in words.SETS
        ],
        right=(1,),
    )
    for one in reply.merged or ():
        sheet.line(f"{one.asked} is {one.entity_id}: the two are merged", indent=2)
    if reply.unbound_because:
        from closedset import reasons

        sheet.line((reasons.NOTHING_RAN[reply.unbound_because], "yellow"), indent=2)


def _licence(sheet: Sheet, reply: "FullReply") -> None:
    if reply.licence.granted:
        sheet.heading("licence ", ("granted", "green"), f": {words.all_of_them(reply.counts.matched)}")
        return
    sheet.heading("licence ", ("withheld", "yellow"), f": {reply.coverage.withheld_because}")
    for reason in reply.licence.reasons:
        count = "" if reason.count is None else f": {reason.count}"
        sheet.line((reason.code, "yellow"), count, indent=2)
        sheet.line(reason.sentence, indent=4)
        sheet.line("cure: ", reason.cure, indent=4)


def _asked(sheet: Sheet, reply: "FullReply") -> None:
    from closedset.reply_compact import condition

    sheet.heading("asked", " (each condition alone, whatever the month)")
    rows: list[list[Cell]] = [["", "", "matched", "none", "not recorded", "undetermined", "rows"]]
    gaps = {g.index: g.reason for g in reply.gaps.unbound}
    for one in reply.counts.per_constraint:
        prefer = "" if one.constraint.get("required", True) else "prefer "
        figures = (one.matched, one.none, one.not_recorded, one.undetermined, one.rows)
        said: list[Cell] = ["–" if f is None else str(f) for f in figures]
        rows.append([str(one.index), prefer + condition(one.constraint), *said])
    sheet.columns(rows, right=(2, 3, 4, 5, 6))
    for line in reply.expansion:
        sheet.line(line, indent=4)
    for index, reason in gaps.items():
        _gap(sheet, index, reason)
    for group in reply.groups:
        _group(sheet, group)


def _gap(sheet: Sheet, index: int, reason: str) -> None:
    from closedset import reasons

    meaning = reasons.UNBOUND.get(reason.split(":")[0], "")
    sheet.line(("did not run", "yellow"), f": condition {index}, {reason}. {meaning}", indent=4)


def _group(sheet: Sheet, group: "GroupBlock") -> None:
    word = "must hold on one row" if group.required else "preferred on one row"
    indices = ("condition " if len(group.constraints) == 1 else "conditions ") + ", ".join(map(str, group.constraints))
    at = ""
    if group.time_test:
        at = (
            f"; rows at {group.time_test.month}: {group.active_rows} count, {group.inactive_rows} do not, "
            f"{group.unanswerable_rows} cannot be placed"
        )
    sheet.line(f"{group.relation}: {indices} {word}{at}", indent=4)
    if group.time_test:
        sheet.line(group.time_test.rule, indent=6)
    if group.unrecorded_slots:
        sheet.line(f"empty in rows that could decide: {', '.join(group.unrecorded_slots)}", indent=6)


def _absence(sheet: Sheet, reply: "FullReply") -> None:
    """Who holds no row at all of an asked relation: 0 rows where somebody looked, a dash where nobody did."""
    seen: set[str] = set()
    for group in reply.groups:
        split = group.absence.split
        if group.relation in seen or not (split.none or split.not_recorded):
            continue
        seen.add(group.relation)
        sheet.heading(
            f"no row of {group.relation}",
            f": {words.of(split.none, reply.counts.universe)} were looked at (0 rows), "
            f"{words.of(split.not_recorded, reply.counts.universe)} were not (no denominator)",
        )
        rows: list[list[Cell]] = []
        for entry in group.absence.none[:_ABSENT_SHOWN]:
            said = "; ".join(f"{c.declared_by} {c.source}, {c.said}" for c in entry.coverage)
            rows.append([entry.entity_id, "none", words.denominator(entry.denominator), f"looked at: {said}"])
        for entry in group.absence.not_recorded[:_ABSENT_SHOWN]:
            nobody = words.denominator(entry.denominator)
            rows.append([entry.entity_id, "not recorded", nobody, "no coverage statement"])
        sheet.columns(rows, right=(2,))
        more = split.none + split.not_recorded - len(rows)
        if more:
            sheet.line(f"and {more} more (--absence lists them)", indent=2)


def _matches(sheet: Sheet, reply: "FullReply") -> None:
    if not reply.matches:
        return
    sheet.heading("matches")
    lines = [(m, [w for w in why(reply, m) if w]) for m in reply.matches]
    said = [width(printable(_condition(w))) for _, whys in lines for w in whys]
    stated = [width(printable(w.value or "nothing")) for _, whys in lines for w in whys]
    room = (min(60, max(said, default=0)), min(40, max(stated, default=0)))
    for match, whys in lines:
        match_block(sheet, match, whys, room)


def match_block(sheet: Sheet, match: "MatchBlock", whys: list[Why], room: tuple[int, int]) -> None:
    """One match: its rank, id and name, then a line for each condition that a delivered row establishes."""
    from closedset.fold import excerpt

    named = f"  {match.name}" if match.name is not None else ""
    sheet.line(f"{match.rank}  ", (match.entity_id, "bold"), named, indent=2)
    for one in whys:
        stale: Cell = ("  the source no longer reads this value", "red") if one.stale else ""
        sheet.line(
            padded(_condition(one), room[0]), "  ", (padded(excerpt(one.value or "nothing"), room[1]), "green"),
            "  ", (one.source, "dim"), stale, indent=5,
        )  # fmt: skip


def _condition(one: Why) -> str:
    return one.condition if one.required else f"prefer {one.condition}"


def compact(reply: "CompactReply") -> Sheet:
    """The compact reply as a table."""
    sheet = Sheet()
    others = reply.others
    total = reply.matched.total
    unknown = others.not_read + others.no_documents
    universe = total + others.ruled_out + others.cannot_tell + unknown
    figures = {"matched": total, "none": others.ruled_out, "not_recorded": unknown, "undetermined": others.cannot_tell}
    sheet.heading(f"universe {universe}")
    sheet.columns(
        [((words.name(s), _STYLES[s]), words.of(figures[s], universe), words.SETS[s]) for s in words.SETS], right=(1,)
    )
    if reply.complete:
        sheet.heading("licence ", ("granted", "green"), f": {words.all_of_them(total)}")
    else:
        sheet.heading("licence ", ("withheld", "yellow"), ": ", "; ".join(reply.incomplete_because or ()))
    if reply.matches:
        sheet.heading("matches")
    for rank, match in enumerate(reply.matches, reply.matched.showing[0]):
        named = f"  {match.name}" if match.name is not None else ""
        sheet.line(f"{rank}  ", (match.entity_id, "bold"), named, indent=2)
        for line in match.about or ():
            sheet.line((line, "dim"), indent=5)
        for one in match.why:
            check: Cell = (f"  {one['check']}", "red") if one.get("check") else ""
            sheet.line(f"{one['condition']}: ", (one["value"] or "nothing", "green"), check, indent=5)
    _showing(sheet, len(reply.matches), total, reply.matched.showing[0] - 1)
    return sheet


def _showing(sheet: Sheet, shown: int, total: int, offset: int) -> None:
    sheet.line()
    first = f" ({offset + 1} to {offset + shown})" if shown and offset > 0 else ""
    sheet.line(f"showing {words.of(shown, total)}{first}")
