"""Talk about a reply's gaps and licence, for whoever reads a format that does not carry them."""

from difflib import get_close_matches
from typing import TYPE_CHECKING

from closedset_cli import streams

if TYPE_CHECKING:
    from closedset.pack import Pack
    from closedset.reply_full import FullReply


def near_names(pack: "Pack", reply: "FullReply") -> None:
    """Say which name an unknown relation or slot may have meant. It stays a gap: the reply says so itself."""
    from closedset import reasons

    for gap in reply.gaps.unbound:
        asked = reply.counts.per_constraint[gap.index].constraint
        relation, slot = asked["relation"], asked["slot"]
        if gap.reason.startswith(f"{reasons.RELATION_UNKNOWN}:"):
            known = list(pack.relations)
            close = get_close_matches(relation, known, n=1, cutoff=0.5)
            said = f"relation {relation} is not in pack {pack.pack}"
        elif gap.reason.startswith(f"{reasons.SLOT_UNKNOWN}:"):
            known = list(pack.relations[relation].askable())
            close = get_close_matches(slot, known, n=1, cutoff=0.5)
            said = f"{relation} has no slot {slot}"
        else:
            meaning = reasons.UNBOUND.get(gap.reason.split(":")[0], "")
            streams.talk(f"closedset: condition {gap.index} did not run: {gap.reason}. {meaning}")
            continue
        fix = f"did you mean {close[0]}?" if close else f"there are: {', '.join(known)}"
        streams.talk(f"closedset: condition {gap.index} did not run: {said}; {fix}")


def warrant(reply: "FullReply", whole: bool = False) -> None:
    """Say how many there are of each set, and whether the licence holds. `whole`: stdout has the set entire, so
    that a page cannot be what withholds it."""
    counts = reply.counts
    streams.talk(
        f"closedset: matched {counts.matched}, none {counts.none}, not recorded {counts.not_recorded}, "
        f"undetermined {counts.undetermined} of {counts.universe}"
    )
    if reply.coverage.narrowed_by:
        streams.talk(f"closedset: licence withheld: {', '.join(reply.coverage.narrowed_by)}")
    elif whole or reply.coverage.completeness_licensed:
        streams.talk("closedset: licence granted: these are all of them")
    else:
        streams.talk("closedset: licence withheld: truncated (the set is closed, but not all of it is on this page)")
