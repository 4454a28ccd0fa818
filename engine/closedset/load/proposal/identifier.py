"""Names for relations, slots, axes and tables, made from whatever an export calls its files and columns."""

import re
import unicodedata
from collections.abc import Container

from closedset.pack import PERIOD

_LONGEST = 48
#: Words of the map and of a condition that a name made here should not be mistaken for.
_RESERVED = {*PERIOD, "rowid", "in", "is", "and", "or", "not"}
_LATIN = str.maketrans({"ß": "ss", "ø": "o", "Ø": "O", "æ": "ae", "Æ": "Ae", "œ": "oe", "đ": "d", "ł": "l", "Ł": "L"})


def snake(text: str) -> str:
    """Small letters and digits with single _ between words; empty where the text has neither.

    >>> snake("ViolationTypeID"), snake("Straße / Nr."), snake("名前")
    ('violation_type_id', 'strasse_nr', '')
    """
    latin = unicodedata.normalize("NFKD", text.translate(_LATIN))
    plain = "".join(c for c in latin if not unicodedata.combining(c))
    split = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", plain)
    return re.sub(r"[^a-z0-9]+", "_", split.lower()).strip("_")


def words(text: str) -> list[str]:
    """The words of a name, in small letters."""
    return [word for word in snake(text).split("_") if word]


def identifier(text: str, otherwise: str, taken: Container[str] = ()) -> str:
    """A name the pack accepts, that is not taken: the text's own words, or `otherwise` where it has none.

    >>> identifier("2024 Umsätze", "table_1"), identifier("名前", "column_3"), identifier("Rolle", "x", {"rolle"})
    ('n_2024_umsatze', 'column_3', 'rolle_2')
    """
    name = snake(text)[:_LONGEST].strip("_") or otherwise
    if name[0].isdigit():
        name = f"n_{name}"
    if name in _RESERVED:
        name = f"{name}_column"
    number, free = 2, name
    while free in taken:
        free, number = f"{name}_{number}", number + 1
    return free
