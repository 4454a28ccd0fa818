"""The four sets and the absence verdicts in plain words, the same in every table."""

#: What each set means, said of its entities.
SETS = {
    "matched": "a recorded row satisfies every required condition",
    "none": "looked at, and no recorded row satisfies some required condition",
    "not_recorded": "never looked at for a required relation: this is no \"no\"",
    "undetermined": "the only candidate rows cannot be judged: nothing either way",
}


def name(verdict: str) -> str:
    return verdict.replace("_", " ")


def of(part: int, whole: int) -> str:
    """A count with its denominator."""
    return f"{part} of {whole}"


def denominator(value: int | None) -> str:
    """How many rows an absence rests on: 0 where somebody looked, a dash (never a zero) where nobody did."""
    return "–" if value is None else str(value)
