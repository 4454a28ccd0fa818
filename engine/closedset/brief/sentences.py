"""A brief's sentences: whoever reads one of them is answered for exactly that one.

sentencex (Wikimedia's splitter, some 300 languages) finds the breaks; a line break and a bullet always are one.
The rest is tilted one way on purpose: a break too many withholds a licence, a break too few grants one wrongly.
"""

import re
from dataclasses import dataclass


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_LINE = re.compile(r"\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_BULLET = re.compile(r"(?<=\S)[ \t]+(?=[•◦▪‣●∙][ \t])")
#: A full stop, question or exclamation mark with what closes behind it, before a word that can begin a sentence.
_MARK = re.compile(r"([.!?…؟。！？]+)([\"'»”’)\]]*)\s+(?=[\"'«“‘(\[¿¡]*([^\W_][^\W_]*))")
#: What stands before the full stop: "U.S", "p.m", "Inc", or any other word.
_BEFORE = re.compile(r"(?:^|[^\w.])((?:\w\.)+\w|\w+)$")
_INITIALS = re.compile(r"(?:\w\.)+\w")
#: A list's own mark at the start of a line, which is no sentence: "1.", "(b)", "-".
_ITEM = re.compile(r"\s*(?:[-–—*]|\(?(?:[0-9]{1,3}|[A-Za-z])[.)])\s+")
#: Abbreviations that may well end a sentence (unlike "Dr", "vs" or "No").
_CAN_END = _words("ag bros co corp etc gmbh inc jr llc llp ltd plc sr ust")
#: Initialisms that never end one.
_MID = _words("e.g i.e z.b d.h u.a p.ex")
#: What an initialism names together with the next word: "the U.S. Senate", "the U.K. Government".
_COMPANION = _words(
    """agency agencies air ambassador army attorney bank border capitol citizen citizens code coast congress
    constitution court courts customs department district dollar dollars embassy federal food forces geological
    government governor health house immigration marine marines military national navy patent postal president
    representative representatives secretary senate senator senators state states steel supreme territories
    territory treasury virgin"""
)
#: Words that begin a sentence of a brief far more often than they follow an abbreviation.
_STARTER = _words(
    """a all also an and any but currently each every everybody everyone exclude excluding find fluent give has have
    he her his how i ideally if in include it its least list look men must neither never no nobody none nor not only
    or other passed people please prefer preferably rank return she should show since speaks still that the their
    them then these they this those was we were what when where which who whoever whose with without women you"""
)
#: Function words by which a brief's language is guessed, for the abbreviations and ordinals it writes.
_FUNCTION = {
    "en": _words("the of and with who in for at to or not"),
    "de": _words("der die das und mit im für von oder nicht ab bis den dem ein eine am zum"),
    "fr": _words("le la les des et dans avec pour qui ou une du au en"),
    "es": _words("el los las y con para que o del una en"),
    "it": _words("il gli e di con per che nel una del della"),
    "pt": _words("os as e em com para que não do da uma"),
    "nl": _words("de het een en van met voor niet op"),
}
_SCRIPT = {
    "ja": re.compile(r"[\u3040-\u30ff]"),
    "zh": re.compile(r"[\u3400-\u9fff]"),
    "ko": re.compile(r"[\uac00-\ud7af]"),
    "ru": re.compile(r"[\u0400-\u04ff]"),
    "ar": re.compile(r"[\u0600-\u06ff]"),
    "hi": re.compile(r"[\u0900-\u097f]"),
    "el": re.compile(r"[\u0370-\u03ff]"),
    "he": re.compile(r"[\u0590-\u05ff]"),
    "th": re.compile(r"[\u0e00-\u0e7f]"),
}


@dataclass(frozen=True)
class Sentence:
    """Code points `start` to `end` (half-open) of the brief, white space trimmed."""

    start: int
    end: int
    text: str

    def holds(self, start: int, end: int) -> bool:
        return self.start <= start and end <= self.end


def sentences(brief: str) -> list[Sentence]:
    """The brief's sentences in order. Text without a letter or digit is none, unless it is the whole brief.

    >>> [s.text for s in sentences("Dr. Quist's team in the U.S. Passed.\\n- in DACH\\n- Sales 🚀")]
    ["Dr. Quist's team in the U.S.", 'Passed.', '- in DACH', '- Sales 🚀']
    """
    found = []
    wordless = not any(c.isalnum() for c in brief)
    for start, end in [(0, len(brief))] if wordless else _pieces(brief):
        text = brief[start:end]
        if any(c.isalnum() for c in text) or (wordless and text.strip()):
            start += len(text) - len(text.lstrip())
            text = text.strip()
            found.append(Sentence(start, start + len(text), text))
    return found


def _pieces(brief: str) -> list[tuple[int, int]]:
    language = _language(brief)
    pieces = []
    for start, end in _between(brief, 0, [(m.start(), m.end()) for m in _LINE.finditer(brief)]):
        line = brief[start:end]
        for first, last in _between(line, start, [m.span() for m in _BULLET.finditer(line)]):
            pieces += _split(brief[first:last], first, language)
    return pieces


def _between(text: str, offset: int, breaks: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """What lies between the breaks, in the offsets of the whole."""
    ends = [*(b[0] for b in breaks), len(text)]
    starts = [0, *(b[1] for b in breaks)]
    return [(offset + s, offset + e) for s, e in zip(starts, ends, strict=True)]


def _split(line: str, offset: int, language: str) -> list[tuple[int, int]]:
    from sentencex import get_sentence_boundaries

    cuts = {int(b["end_index"]) for b in get_sentence_boundaries(language, _scalar(line))} if line else set()
    cuts |= {m.end() for m in _MARK.finditer(line) if _ends(line, m)}
    item = _ITEM.match(line)
    first = item.end() if item else 0
    inner = sorted(c for c in cuts if first < c < len(line))
    return _between(line, offset, [(c, c) for c in inner])


def _scalar(text: str) -> str:
    """The same code points with lone surrogates replaced, which no UTF-8 library takes."""
    return text.encode("utf-8", "replace").decode() if not text.isprintable() else text


def _ends(line: str, mark: re.Match[str]) -> bool:
    """Whether a mark that sentencex passed over ends a sentence all the same."""
    following = mark[3]
    if not following[0].isupper():
        return False
    word = following.casefold()
    if mark[1] != "." or mark[2]:
        return mark[1] != "..." or word in _STARTER
    before = _BEFORE.search(line[: mark.start()])
    if not before:
        return word in _STARTER
    if _INITIALS.fullmatch(before[1]) and len(before[1]) > 1:
        return before[1].casefold() not in _MID and word not in _COMPANION
    return word in _STARTER or before[1].casefold() in _CAN_END


def _language(text: str) -> str:
    """The likeliest language of a brief; English where nothing speaks for another."""
    for language, script in _SCRIPT.items():
        if len(script.findall(text)) * 3 > sum(c.isalpha() for c in text):
            return language
    words = re.findall(r"[^\W\d_]+", text.casefold())
    return max(_FUNCTION, key=lambda language: sum(w in _FUNCTION[language] for w in words))
