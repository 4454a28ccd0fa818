"""The one folding of text: what counts as the same spelling, at load, in expansion and in a brief.

Source: DESIGN section 3 (NFKC, case fold, every Unicode white space trimmed and squeezed).
"""

import unicodedata

#: Every code point Python's `str.isspace` accepts; SQL trims with the same list, since DuckDB's own
#: `trim` knows only the blank.
WHITE_SPACE = "".join(chr(c) for c in range(0x3001) if chr(c).isspace())


def fold(text: str) -> str:
    """Two spellings are the same exactly when their folds are equal.

    >>> fold(" Zu\\u0308rich\\u00a0 ") == fold("ZÜRICH")
    True
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    # Case folding can leave the normal form (U+0345, for one), so the form is restored before comparing.
    return " ".join(unicodedata.normalize("NFKC", folded).split())


#: The most characters of a text of the export that a report quotes.
QUOTED = 200


def excerpt(text: str) -> str:
    """A text as reports and reasons quote it: its beginning and its length, where it is long.

    >>> excerpt("a" * 201)[-21:]
    'aaa… (201 characters)'
    """
    return text if len(text) <= QUOTED else f"{text[:QUOTED]}… ({len(text)} characters)"
