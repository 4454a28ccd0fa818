"""What a column becomes: the type of slot that every one of its cells fits, and what else it might be."""

from collections.abc import Iterator
from dataclasses import dataclass

from closedset.fold import fold
from closedset.load.proposal.identifier import words
from closedset.load.proposal.profile import COMPACT, Column
from closedset.load.proposal.subject import ID_WORDS

#: Words of which the first opens what the second closes.
PAIRS = (
    ("start", "end"), ("started", "ended"), ("starts", "ends"), ("begin", "end"), ("begins", "ends"),
    ("began", "ended"), ("from", "to"), ("from", "until"), ("from", "till"), ("from", "thru"), ("since", "until"),
    ("since", "to"), ("opened", "closed"), ("open", "close"), ("effective", "expires"), ("issued", "expires"),
    ("hired", "left"), ("joined", "left"), ("entered", "left"), ("von", "bis"), ("beginn", "ende"),
    ("debut", "fin"), ("desde", "hasta"), ("inicio", "fin"), ("valid", "expires"),
)  # fmt: skip
#: The most spellings that are still a vocabulary, the longest of them, and how full a small table may be of them.
_TERMS = 60
_LONGEST_TERM = 60
_FEW_CELLS = 20
#: Words of a name that say a four-digit number is a year, or eight digits a day.
_YEAR_WORDS = {"year", "yr", "years", "jahr", "annee", "ano", "anno", *(word for pair in PAIRS for word in pair)}
_DATE_WORDS = {"date", "day", "on", "at", "dt", "datum", "fecha", "data", "birthday", "dob", *_YEAR_WORDS}
#: Words of a name that say its digits are no amount.
_CODE_WORDS = {*ID_WORDS, "zip", "postal", "postcode", "plz", "phone", "telephone", "tel", "fax", "mobile", "iban",
               "account", "fips", "isbn", "barcode", "sku"}  # fmt: skip
_ENOUGH_DAYS = 5
#: Orders that people use, low to high. Only suggested: the words do not say whose order it is.
LADDERS: tuple[tuple[str, ...], ...] = (
    ("very low", "low", "medium", "high", "very high", "critical"),
    ("low", "moderate", "high", "severe"),
    ("minor", "moderate", "major", "critical"),
    ("bronze", "silver", "gold", "platinum"),
    ("junior", "mid", "senior", "lead", "principal"),
    ("ic", "manager", "director", "vp", "svp", "evp", "c-level"),
    ("analyst", "associate", "vice president", "director", "managing director"),
    ("xs", "s", "m", "l", "xl", "xxl"),
    ("small", "medium", "large", "extra large"),
    ("poor", "fair", "good", "very good", "excellent"),
    ("basic", "intermediate", "advanced", "expert"),
    ("never", "rarely", "sometimes", "often", "always"),
)


@dataclass(frozen=True)
class Proposed:
    """One column's slot. `kind` is text, number, date or term; `dates` the format to declare; `terms` the texts of
    a vocabulary with their cells, most frequent first, one spelling each; `order` a suggestion, low to high.
    `notes` stand beside the slot; `question` is what only its owner can answer, with what to write then."""

    column: Column
    kind: str
    dates: str = ""
    terms: tuple[tuple[str, int], ...] = ()
    order: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    question: str = ""


def proposed(column: Column, place: str) -> Proposed:
    """The slot of a column; `place` says which it is, as questions name it."""
    notes = [*_filled(column)]
    if not column.filled:
        return Proposed(column, "text", notes=tuple(notes))
    nested = _nested(column)
    if nested:
        return Proposed(column, "text", notes=(*notes, nested), question=f"{place}: {nested}")
    said = words(column.name)
    marks = ", ".join(repr(text) for text, _ in column.markers)
    date, wrong = _date(column, said)
    if date is not None and not marks:
        return Proposed(column, "date", dates=date, notes=(*notes, *([f"written {date}"] if date else [])))
    amount = column.number or column.comma or column.grouped
    amount = amount and not (column.padded or set(said) & _CODE_WORDS) and date is None
    if amount and column.number and not marks and not wrong:
        return Proposed(column, "number", notes=tuple(notes))
    if wrong:
        return _asked(column, wrong, f"{place}: {wrong}")
    if marks and (date is not None or amount):
        kind = "a date" if date is not None else "a number"
        commas = f" {_commas(column)}" if date is None and not column.number else ""
        form = f' with dates: "{date}"' if date else commas
        said_so = f"{kind}{form}, if {marks} records nothing: declare it under `null` in the map"
        return _asked(column, said_so, f"{place}: every other cell is {said_so}")
    if amount and not column.number:
        said_so = f"a number {_commas(column)}: declare it in the map"
        return _asked(column, said_so, f"{place}: {said_so}")
    return _as_words(column, notes)


def _commas(column: Column) -> str:
    """What the commas of a number may be. Of 5,123 nobody can tell, and a thousand lies between the two."""
    mark = 'decimal: "," and grouping: "." if its comma is the decimal mark'
    group = 'grouping: "," if its comma groups thousands'
    both = " or ".join(said for said, may in ((mark, column.comma), (group, column.grouped)) if may)
    return f"with {both}{' (no cell tells which)' if column.comma and column.grouped else ''}"


def _asked(column: Column, note: str, question: str) -> Proposed:
    """The same as text, with what else it might be: no vocabulary is drafted of what may be dates or numbers."""
    return Proposed(column, "text", notes=(*_filled(column), f"perhaps {note}"), question=question)


def _nested(column: Column) -> str:
    """What to do with a column that holds lists or objects, as JSON."""
    texts = [text for text, _ in column.top if text not in ("[]", "{}")]
    if texts and all(text.startswith("[{") and text.endswith("}]") for text in texts):
        return "lists of rows: make them a table of their own, with a path under files in the map"
    if texts and all(text.startswith('{"') and text.endswith("}") for text in texts):
        return f"objects: in the map, name a field as a column of its own, such as {column.name}.FIELD"
    return ""


def _filled(column: Column) -> Iterator[str]:
    if column.filled < column.rows:
        yield f"{column.filled} of {column.rows} cells filled"


def _date(column: Column, said: list[str]) -> tuple[str | None, str]:
    """The format under which all cells are certain dates ("" is ISO), or None; and what leaves it open."""
    if not column.formats:
        return None, ""
    if column.years:
        return ("", "") if set(said) & _YEAR_WORDS or said[-1:] == ["date"] else (None, "")
    if column.odd and "" in column.formats:
        return None, _odd(column, said)
    if column.formats == ("",):
        return "", ""
    if any("%y" in form for form in column.formats):
        return None, f"a date, {' or '.join(column.formats)}: a two-digit year needs a base_year in the map"
    if column.formats == (COMPACT,):
        sure = column.distinct >= _ENOUGH_DAYS or set(said) & _DATE_WORDS
        return (COMPACT, "") if sure and not set(said) & set(ID_WORDS) else (None, "")
    if column.agree:
        return column.formats[0], ""
    return (
        None,
        f"a date, {' or '.join(column.formats)}: no day above 12 says which; declare one under dates in the map",
    )


def _odd(column: Column, said: list[str]) -> str:
    """What leaves open whether texts such as 0324 and 5003 are years. Numbers, and what its name calls a code, are
    none."""
    if set(said) & _CODE_WORDS or (column.number and not column.padded):
        return ""
    return (
        f"a date, if {column.odd!r} is the year {int(column.odd[:4])}; where that is a month and year, a SELECT under "
        "tables must write it as ISO"
    )


def _as_words(column: Column, notes: list[str]) -> Proposed:
    """Text, or a vocabulary where few spellings stand in many cells. A text that may record nothing is no term:
    whoever holds it stays open until the map says what it means."""
    few = column.distinct <= _TERMS + len(column.markers) and column.longest <= _LONGEST_TERM
    limit = column.filled - 1 if column.filled < _FEW_CELLS else column.filled // 2
    if not (few and column.folded <= min(_TERMS, limit)) or any(not text.isprintable() for text, _ in column.top):
        return Proposed(column, "text", notes=tuple(notes))
    markers = {text for text, _ in column.markers}
    spelt: dict[str, tuple[str, int]] = {}
    for text, held in column.top:
        if text not in markers:
            first, before = spelt.get(fold(text), (text, 0))
            spelt[fold(text)] = (first, before + held)
    if not spelt:
        return Proposed(column, "text", notes=tuple(notes))
    terms = tuple(sorted(spelt.values(), key=lambda pair: (-pair[1], pair[0])))
    return Proposed(column, "term", terms=terms, order=order([t for t, _ in terms]), notes=tuple(notes))


def order(terms: list[str]) -> tuple[str, ...]:
    """A known order that all terms stand in, or that of a number each begins or ends with."""
    if len(terms) < 2:
        return ()
    for ladder in LADDERS:
        rungs = {fold(term): _rung(term, ladder) for term in terms}
        if None not in rungs.values() and len(set(rungs.values())) == len(terms):
            return tuple(sorted(terms, key=lambda t: rungs[fold(t)] or 0))
    numbers = {term: [int(w) for w in words(term) if w.isdigit() and len(w) < 10] for term in terms}
    rest = {tuple(w for w in words(term) if not w.isdigit()) for term in terms}
    if len(rest) == 1 and all(len(n) == 1 for n in numbers.values()) and len({n[0] for n in numbers.values()}) > 1:
        return tuple(sorted(terms, key=lambda t: numbers[t][0]))
    return ()


def _rung(term: str, ladder: tuple[str, ...]) -> int | None:
    """The term's rung: equal to one, or one with a word after it ("High Risk")."""
    folded = fold(term)
    if folded in ladder:
        return ladder.index(folded)
    head = folded.rsplit(" ", 1)[0] if " " in folded else None
    return ladder.index(head) if head in ladder else None
