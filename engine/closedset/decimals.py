"""Numbers are exact decimals; what would have to be guessed (currency signs, undeclared marks, NaN) is unreadable."""

import re
from decimal import Context, Decimal
from functools import lru_cache

#: DuckDB's widest decimal; a number with more digits is unreadable rather than rounded.
DIGITS = 38
_EXACT = Context(prec=200)


@lru_cache
def _form(decimal: str, grouping: str) -> re.Pattern[str]:
    whole = "[0-9]+"
    if grouping:
        whole = rf"(?:[0-9]{{1,3}}(?:{re.escape(grouping)}[0-9]{{3}})+|[0-9]+)"
    mark = re.escape(decimal)
    return re.compile(rf"[+-]?(?:{whole}(?:{mark}[0-9]+)?|{mark}[0-9]+)(?:[eE][+-]?[0-9]{{1,3}})?")


def read(text: str, decimal: str = ".", grouping: str = "") -> Decimal | None:
    """A trimmed cell as an exact decimal, or None when it is unreadable.

    >>> read("1.299,99", decimal=",", grouping=".")
    Decimal('1299.99')
    >>> read("1,5") is None
    True
    """
    if not _form(decimal, grouping).fullmatch(text):
        return None
    plain = text.replace(grouping, "") if grouping else text
    number = Decimal(plain.replace(decimal, "."))
    whole, fraction = digits(number)
    return number if whole + fraction <= DIGITS else None


def digits(number: Decimal) -> tuple[int, int]:
    """How many digits a number needs before and after its point, trailing zeros of the fraction kept."""
    _, figures, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    if not number:
        return 0, max(0, -exponent)
    return max(0, len(figures) + exponent), max(0, -exponent)


def trimmed(number: Decimal) -> Decimal:
    """The same number without trailing zeros, every digit kept."""
    return number.normalize(_EXACT)


def at_scale(number: Decimal, scale: int, rounding: str) -> Decimal:
    """The number at a column's scale, rounded as said (a bound that lies between two column values)."""
    return number.quantize(Decimal(1).scaleb(-scale), rounding=rounding, context=_EXACT)
