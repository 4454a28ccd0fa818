"""Text that comes from data, made safe to print: what could move a cursor or reorder a line is spelled out."""

import unicodedata

_JOINERS = "\u200c\u200d\u00ad"
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def printable(text: str, keep: str = "") -> str:
    r"""`text` with every control, direction and line-separating character written as its escape.

    >>> printable("a\x1b[31mb\nc")
    'a\\x1b[31mb\\nc'
    """
    if text.isprintable():
        return text
    return "".join(c if c in keep or not _moves(c) else _SHORT.get(c) or _escape(c) for c in text)


def _moves(character: str) -> bool:
    return unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp") and character not in _JOINERS


def _escape(character: str) -> str:
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def json_safe(text: str) -> str:
    """JSON text in which no such character stands raw; inside a JSON string its escape means the same."""
    if text.isprintable():
        return text
    return "".join(_json_escape(c) if not c.isprintable() and c not in "\n" and _moves(c) else c for c in text)


def _json_escape(character: str) -> str:
    """An escape as JSON spells it: UTF-16 units."""
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))


def width(text: str) -> int:
    """How many columns of a terminal the text takes."""
    if text.isascii():
        return len(text)
    return sum(_columns(c) for c in text)


def _columns(character: str) -> int:
    if unicodedata.combining(character) or character in _JOINERS:
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


def padded(text: str, columns: int) -> str:
    """The text made printable, filled with blanks to a width."""
    safe = printable(text)
    return safe + " " * max(0, columns - width(safe))
