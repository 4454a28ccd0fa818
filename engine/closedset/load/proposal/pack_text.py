"""The draft of a pack: relations, slots and axes as YAML, with what was found beside each."""

from collections.abc import Mapping, Sequence

from closedset.fold import fold
from closedset.load.proposal.relations import Axis, Relation, Slot
from closedset.load.proposal.subject import Subject
from closedset.load.proposal.yaml_text import comment, listed, mapped, noted, one_line, scalar

_HEAD = (
    "Drafted by closedset init. A pack says what can be asked: relations, their slots, and the vocabularies (axes) "
    "that slots are written in. Every value is read as the text that stands here: NO is Norway, 007 keeps its zeros. "
    "What is not certain of the export stands in a comment."
)
_AXES = (
    "The spellings that were found, with their cells. One thing under two spellings: keep one as a term and put the "
    "other under `synonyms`."
)
#: From this likeness (0 to 100) on, a rarer spelling may be a slip of a more frequent one.
_LIKE = 85.0


def pack_text(name: str, subject: Subject, relations: Sequence[Relation], axes: Mapping[str, Axis]) -> str:
    """A pack.yaml that loads as it is."""
    lines = [
        *comment(_HEAD),
        f"pack: {scalar(name)}",
        noted(f"subject: {subject.kind}", f"what an answer counts: each {one_line(subject.chosen.name)}"),
    ]
    if axes:
        lines += ["", *comment(_AXES), "axes:"]
        for axis, drafted in axes.items():
            lines += _axis(axis, drafted)
    lines += ["", "relations:"]
    for relation in relations:
        lines += _relation(relation)
    if not relations:
        lines[-1] = "relations: {}"
    return "\n".join(lines) + "\n"


def _axis(name: str, axis: Axis) -> list[str]:
    spellings = "1 spelling" if len(axis.terms) == 1 else f"{len(axis.terms)} spellings"
    lines = [f"  {name}:", *comment(f"{spellings} in {', '.join(axis.origins)}", 4)]
    if axis.order:
        lines += comment("Low to high? Then this instead of `terms`, and the axis answers >= and <=:", 4)
        lines += [f"    # order: {listed(axis.order) if len(axis.order) > 1 else ''}".rstrip()]
    lines.append("    terms:")
    texts = [term for term, _ in axis.terms]
    for i, (term, held) in enumerate(axis.terms):
        near = _near(term, texts[:i])
        lines.append(noted(f"      - {scalar(term)}", f"{held}{f'; perhaps {one_line(near)}' if near else ''}"))
    return lines


def _near(term: str, before: Sequence[str]) -> str | None:
    """A more frequent spelling that a rarer one is very like; never one that differs in a digit."""
    from rapidfuzz import fuzz, process

    digits = [c for c in term if c.isdigit()]
    others = [other for other in before if [c for c in other if c.isdigit()] == digits]
    found = process.extractOne(fold(term), [fold(o) for o in others], scorer=fuzz.ratio, score_cutoff=_LIKE)
    return others[found[2]] if found else None


def _relation(relation: Relation) -> list[str]:
    table = relation.table
    lines = [f"  {relation.name}:", *comment(f"{one_line(table.place)}: {table.cells.rows} rows", 4)]
    if relation.period:
        start, end = (one_line(p.column.name) for p in (relation.period.start, relation.period.end))
        lines.append(noted("    dated: true", f"each row holds from {start} to {end}"))
    for pair in relation.doubtful:
        start, end = (one_line(p.column.name) for p in (pair.start, pair.end))
        why = (
            f"{pair.reversed_rows} rows end before they start" if pair.reversed_rows else "there are several such pairs"
        )
        lines += comment(f"perhaps dated, from {start} to {end}: {why}", 4)
    if relation.slots:
        lines.append("    slots:")
    lines += [
        noted(f"      {slot.name}: {_type(slot)}", "; ".join(map(_beside, _notes(slot)))) for slot in relation.slots
    ]
    return lines


def _beside(note: str) -> str:
    """A note as it stands beside a slot."""
    return one_line(note, 160)


def _type(slot: Slot) -> str:
    return mapped(term=slot.axis) if slot.axis else slot.of.kind


def _notes(slot: Slot) -> list[str]:
    column = slot.of.column
    notes = [] if slot.name == column.name else [f"column {column.name!r}"]
    if not column.filled:
        return [*notes, "empty in every row" if column.rows else "no row says what it holds"]
    notes += slot.of.notes
    if slot.of.kind == "text" and column.forms:
        shapes = ", ".join(f"{form!r}" for form, _ in column.forms[:2])
        notes.append(
            f"{column.distinct} texts such as {shapes}" if column.distinct > 1 else f"always {column.top[0][0]!r}"
        )
    return notes
