"""Where a quote stands in a brief: compared under the one folding, and only as whole words."""

import unicodedata
from bisect import bisect_left
from itertools import pairwise

from closedset.fold import fold

#: Scripts written without spaces: every character may begin or end a word.
_UNSPACED = (
    (0x0E00, 0x0EFF), (0x0F00, 0x0FFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x3040, 0x30FF), (0x3400, 0x9FFF),
    (0xF900, 0xFAFF), (0x20000, 0x3FFFF),
)  # fmt: skip
_JOINER, _VARIATION, _SKIN = "\u200d", ("\ufe0e", "\ufe0f"), ("\U0001f3fb", "\U0001f3ff")
#: The longest text that one code point can become under NFKC (U+FDFA).
_EXPANDS = 18


class Words:
    """A brief, folded once, with the way back to its code points."""

    def __init__(self, brief: str) -> None:
        self.brief = brief
        folded: list[str] = []
        self._starts: list[int] = []
        self._ends: list[int] = []
        for start, end in _clusters(brief):
            for character in _inside(brief[start:end]):
                if character == " " and folded and folded[-1] == " ":
                    self._ends[-1] = end
                    continue
                folded.append(character)
                self._starts.append(start)
                self._ends.append(end)
        self._folded = "".join(folded)

    def find(self, quote: str) -> list[tuple[int, int]]:
        """Every place of a quote, as code points of the brief, whether whole words or not."""
        if len(quote) > _EXPANDS * len(self.brief):
            return []
        wanted = fold(quote)
        places: dict[tuple[int, int], None] = {}
        at = self._folded.find(wanted) if wanted else -1
        while at >= 0:
            place = self._starts[at], self._ends[at + len(wanted) - 1]
            if fold(self.brief[slice(*place)]) == wanted:
                places.setdefault(place)
            at = self._folded.find(wanted, at + 1)
        return list(places)

    def whole(self, start: int, end: int) -> bool:
        """Whether these code points are whole words, at least one of them.

        >>> Words("VP-level in 1.5 years").whole(0, 2), Words("VPs").whole(0, 2), Words("1.5").whole(2, 3)
        (True, False, False)
        """
        held = self.brief[start:end]
        return any(c.isalnum() for c in held) and self._boundary(start) and self._boundary(end)

    def _boundary(self, at: int) -> bool:
        if at in (0, len(self.brief)):
            return True
        before, after = self.brief[at - 1], self.brief[at]
        if _extends(after) or before == _JOINER:
            return False
        if _wordly(before) and _wordly(after):
            return _unspaced(before) or _unspaced(after)
        return not self._inside_number(at - 1) and not self._inside_number(at)

    def _inside_number(self, at: int) -> bool:
        """Whether a decimal or grouping mark stands here, between two digits."""
        around = self.brief[at - 1 : at + 2] if at else ""
        return len(around) == 3 and around[1] in ".," and around[0].isdigit() and around[2].isdigit()


def _clusters(text: str) -> list[tuple[int, int]]:
    """Runs of code points that fold on their own: a character with all that combines with it."""
    starts = [i for i, c in enumerate(text) if not i or not (unicodedata.combining(c) or "\u1160" <= c <= "\u11ff")]
    return list(pairwise([*starts, len(text)]))


def _inside(piece: str) -> str:
    """A piece folded as it is inside a text: white space is one blank, and none is trimmed."""
    return fold(f"0{piece}0")[1:-1]


def _wordly(char: str) -> bool:
    return char.isalnum() or char == "_" or unicodedata.category(char)[0] == "M"


def _extends(char: str) -> bool:
    """Whether a character only goes on with the one before it: a mark, a joiner, an emoji's variant or skin tone."""
    return unicodedata.category(char)[0] == "M" or char == _JOINER or char in _VARIATION or _SKIN[0] <= char <= _SKIN[1]


def _unspaced(char: str) -> bool:
    at = bisect_left(_UNSPACED, (ord(char) + 1,)) - 1
    return at >= 0 and ord(char) <= _UNSPACED[at][1]
