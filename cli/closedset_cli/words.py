"""The four sets and the absence verdicts in plain words, the same in every table."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from closedset.catalog import Statement

#: What each set means, said of its entities.
SETS = {
    "matched": "a recorded row satisfies every required condition",
    "none": "looked at, and no recorded row satisfies some required condition",
    "not_recorded": 'never looked at for a required relation: this is no "no"',
    "undetermined": "the only candidate rows cannot be judged: nothing either way",
}


def name(verdict: str) -> str:
    return verdict.replace("_", " ")


def of(part: int, whole: int) -> str:
    """A count with its denominator."""
    return f"{part} of {whole}"


def coverage(statement: "Statement") -> str:
    """A coverage statement with how many it lists: in its source's words, or who declared it, when and why."""
    if statement.declared_by == "operator":
        return f"declared by {statement.source} on {(statement.at or '')[:10]}: {statement.said} ({statement.entities})"
    return f"{statement.said} ({statement.entities})"


def many(count: int, noun: str) -> str:
    """A count with its noun.

    >>> many(1, "row"), many(2, "row")
    ('1 row', '2 rows')
    """
    return f"{count} {noun}{'' if count == 1 else 's'}"


def entities(count: int) -> str:
    """A count of entities.

    >>> entities(1), entities(2)
    ('1 entity', '2 entities')
    """
    return f"{count} {'entity' if count == 1 else 'entities'}"


def all_of_them(matched: int) -> str:
    """What a granted licence says of the matches."""
    return {0: "there are none", 1: "this is the only one"}.get(matched, f"these {matched} are all of them")


def denominator(value: int | None) -> str:
    """How many rows an absence rests on: 0 where somebody looked, a dash (never a zero) where nobody did."""
    return "–" if value is None else str(value)
