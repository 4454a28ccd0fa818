"""YAML as a person writes it: values quoted only where they must be, comments beside them on the same line."""

import re
from collections.abc import Sequence

_PLAIN = re.compile(r"\w(?:[\w ./()+&'%-]*[\w./()+&'%-])?")
_SHORT = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_WIDTH = 118
_COMMENT_AT = 34


def scalar(text: str) -> str:
    r"""A text as a YAML value that reads back as the same text.

    >>> scalar("High Risk"), scalar("a: b"), scalar("- x\n")
    ('High Risk', '"a: b"', '"- x\\n"')
    """
    if _PLAIN.fullmatch(text) and text.isprintable():
        return text
    return '"' + "".join(_escaped(c) for c in text) + '"'


def _escaped(character: str) -> str:
    if character in _SHORT:
        return _SHORT[character]
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def listed(texts: Sequence[str]) -> str:
    """Texts as a value: one alone, or a list in brackets."""
    if len(texts) == 1:
        return scalar(texts[0])
    return "[" + ", ".join(scalar(text) for text in texts) + "]"


def mapped(**options: str) -> str:
    """A mapping on one line; its values are written already."""
    return "{" + ", ".join(f"{key}: {value}" for key, value in options.items()) + "}"


def one_line(text: str, longest: int = 60) -> str:
    """A text of the export as a comment may hold it: on one line, nothing unseen, and not endless."""
    safe = "".join(c if c.isprintable() else _escaped(c) for c in text)
    return safe if len(safe) <= longest else safe[: longest - 1] + "…"


def noted(line: str, note: str) -> str:
    """A line with a comment beside it."""
    return f"{line.ljust(_COMMENT_AT)}  # {note}" if note else line


def comment(text: str, indent: int = 0) -> list[str]:
    """A sentence as lines of comment, wrapped."""
    lines: list[str] = []
    room = _WIDTH - indent - 2
    line = ""
    for word in text.split(" "):
        if line and len(line) + 1 + len(word) > room:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return [f"{' ' * indent}# {part}" for part in [*lines, line]]
