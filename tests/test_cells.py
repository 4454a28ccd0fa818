"""What a cell of an export says: the order of reading, numbers, texts and their folding."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from closedset import decimals
from closedset.cells import NOTHING, Reading, read
from closedset.fold import WHITE_SPACE, fold
from closedset.mapping import Cell
from closedset.pack import Slot
from closedset.vocabulary import build

TEXT = Slot.model_validate("text")
NUMBER = Slot.model_validate("number")
DATE = Slot.model_validate("date")
TERM = Slot.model_validate({"term": "country"})
COUNTRY = build("country", terms=["NA", "DE"], synonyms={"DE": ["Germany"]}, labels={"NA": "Namibia"})
BLANKS = "\t\u00a0\u2003\u3000\x85\x1f\n"


def cell(**how: object) -> Cell:
    return Cell.model_validate({"column": "c", **how})


# --- the order: trim, null markers, absent, pattern, type --------------------------------------------------


@pytest.mark.parametrize("raw", [None, "", " ", BLANKS])
def test_an_empty_cell_records_nothing(raw: str | None) -> None:
    for slot in (TEXT, NUMBER, DATE, TERM):
        assert read(raw, cell(), slot, None) == NOTHING


def test_a_null_marker_is_the_whole_trimmed_cell_in_its_exact_case() -> None:
    marked = cell(null=["n/a"])
    assert read(f"{BLANKS}n/a ", marked, TEXT, None) == NOTHING
    assert read("N/A", marked, TEXT, None).folded == "n/a"
    assert read("n/a GmbH", marked, TEXT, None).text == "n/a GmbH"
    assert read("-", cell(), TEXT, None, null=("-",)) == NOTHING


def test_nothing_is_a_null_marker_that_nobody_declared() -> None:
    for text in ("NA", "NULL", "None", "nan", "-", "0"):
        assert read(text, cell(), TEXT, None).text == text
    assert read("NA", cell(), TERM, COUNTRY) == Reading(text="NA", term="NA")


def test_what_an_absent_value_means_is_read_for_empty_and_null_cells_and_for_no_other() -> None:
    absent = cell(null=["-"], absent="DE", pattern="[A-Z]{2}")
    for raw in (None, " ", "-"):
        assert read(raw, absent, TERM, COUNTRY) == Reading(text="DE", term="DE")
    assert read("NA", absent, TERM, COUNTRY).term == "NA"


def test_a_pattern_is_matched_by_the_whole_trimmed_cell() -> None:
    digits = cell(pattern="[0-9]+")
    assert read(" 12 ", digits, TEXT, None).folded == "12"
    assert read("12a", digits, TEXT, None) == Reading(text="12a", unreadable=True)
    assert read("12a", cell(pattern="[0-9]+", mismatch="unrecorded"), TEXT, None) == NOTHING
    assert read("", digits, TEXT, None) == NOTHING


def test_a_constant_stands_in_every_row_whatever_the_pattern() -> None:
    constant = Cell.model_validate({"constant": "DE", "pattern": "x"})
    assert read("NA", constant, TERM, COUNTRY) == Reading(text="DE", term="DE")


def test_a_text_is_kept_as_written_and_compared_by_its_fold() -> None:
    said = read("  Zu\u0308rich\u00a0 RE", cell(), TEXT, None)
    assert (said.text, said.folded) == ("  Zu\u0308rich\u00a0 RE", "zürich re")


def test_a_term_is_found_by_name_synonym_and_label_and_another_surface_is_on_no_term() -> None:
    for text, term in (("de", "DE"), (" GERMANY", "DE"), ("namibia", "NA"), ("ＤＥ", "DE")):
        assert read(text, cell(), TERM, COUNTRY).term == term
    assert read("Mars ", cell(), TERM, COUNTRY) == Reading(text="Mars ", unplaced="mars")


# --- numbers ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("900", "900"), ("-0.50", "-0.50"), ("+7", "7"), (".5", "0.5"), ("1e3", "1E+3"), ("1.5E-2", "0.015"),
        ("007", "7"), ("9" * 38, "9" * 38), ("0." + "0" * 37 + "1", "1E-38"), ("9007199254740993", "9007199254740993"),
    ],
)  # fmt: skip
def test_a_number_is_an_exact_decimal(text: str, number: str) -> None:
    assert decimals.read(text) == Decimal(number)


@pytest.mark.parametrize(
    "text",
    [
        "", "€900", "900 USD", "NaN", "inf", "-Infinity", "1,5", "1,000", "1 000", "1_000", "1.", ".", "+", "1e", "e5",
        "0x10", "1.2.3", "--1", "１２", "٣", "1e9999", "9" * 39, "1e38", "1e-39", "½", "12%", "(5)", " 5",
    ],
)  # fmt: skip
def test_what_no_exact_decimal_is_without_guessing_is_unreadable(text: str) -> None:
    assert decimals.read(text) is None


@pytest.mark.parametrize(
    ("text", "decimal", "grouping", "number"),
    [
        ("1.299,99", ",", ".", "1299.99"),
        ("1,5", ",", ".", "1.5"),
        ("1299.99", ",", ".", None),
        ("1.29", ",", ".", None),
        ("1.2345", ",", ".", None),
        ("1234.567", ",", ".", None),
        ("1.234.567", ",", ".", "1234567"),
        ("1.234,5.6", ",", ".", None),
        ("12 345", ".", " ", "12345"),
        ("12'345.6", ".", "'", "12345.6"),
        ("1,234.5", ".", ",", "1234.5"),
        ("1234567,8", ",", ".", "1234567.8"),
        (",5", ",", ".", "0.5"),
        ("1,5", ",", "", "1.5"),
        ("1.5", ",", "", None),
    ],
)
def test_declared_marks_are_read_and_groups_hold_exactly_three_digits(
    text: str, decimal: str, grouping: str, number: str | None
) -> None:
    assert decimals.read(text, decimal, grouping) == (None if number is None else Decimal(number))


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**18), max_value=10**18, places=6))
def test_every_plain_number_reads_back_exactly(number: Decimal) -> None:
    assert decimals.read(f"{number:f}") == number
    assert decimals.read(f"{number:f}".replace(".", ","), ",", ".") == number


# --- folding -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Zürich", "Zu\u0308rich"), ("STRASSE", "straße"), ("ＶＰ", "vp"), ("ﬁn", "FIN"), (" a\u00a0\t b ", "A B"),
        ("\u1e9e", "ss"), ("Å", "\u212b"), ("a\u3000b", "a b"), ("ͅ", "ι"),
    ],
)  # fmt: skip
def test_two_spellings_of_one_name_fold_alike(one: str, other: str) -> None:
    assert fold(one) == fold(other)


@pytest.mark.parametrize(
    ("one", "other"), [("Zürich", "Zurich"), ("a b", "ab"), ("VP", "V.P."), ("", "0"), ("a1", "a2")]
)
def test_two_names_do_not(one: str, other: str) -> None:
    assert fold(one) != fold(other)


@given(st.text())
def test_folding_a_fold_changes_nothing_and_blanks_around_never_matter(text: str) -> None:
    folded = fold(text)
    assert fold(folded) == folded
    assert fold(f"{BLANKS}{text}\u2009") == folded
    assert not folded or folded[0] not in WHITE_SPACE


def test_white_space_is_what_python_calls_so() -> None:
    assert set(WHITE_SPACE) == {chr(c) for c in range(0x110000) if chr(c).isspace()}
