"""Dates keep the precision they were written with; what cannot be read without guessing is unreadable."""

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from closedset import dates
from closedset.dates import Span


def span(first: str, last: str | None = None) -> Span:
    return Span(date.fromisoformat(first), date.fromisoformat(last or first))


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("2024", span("2024-01-01", "2024-12-31")),
        ("2024-00-00", span("2024-01-01", "2024-12-31")),
        ("2024-02", span("2024-02-01", "2024-02-29")),
        ("2023-02-00", span("2023-02-01", "2023-02-28")),
        ("2024-02-29", span("2024-02-29")),
        ("1900-02", span("1900-02-01", "1900-02-28")),
        ("0001", span("0001-01-01", "0001-12-31")),
        ("9999", span("9999-01-01", "9999-12-31")),
        ("9999-12-31", span("9999-12-31")),
        ("2022-10-01T00:00:00+02:00", span("2022-10-01")),
        ("2022-10-01 23:59:59.999999-11", span("2022-10-01")),
        ("2022-10-01T00:00Z", span("2022-10-01")),
        ("2022-10-01T0000+0200", span("2022-10-01")),
        ("2022-10-01T00", span("2022-10-01")),
        ("2024-01-31T24:00:00", span("2024-01-31")),
        ("2024-01-31T24:00:00.000Z", span("2024-01-31")),
        ("2024-01-31T23:30:00+18:00", span("2024-01-31")),
        ("2024-01-31T23:30:00-17:59", span("2024-01-31")),
        ("2024-06-30T23:59:60Z", span("2024-06-30")),
    ],
)
def test_iso_years_months_days_and_timestamps_are_always_read(text: str, days: Span) -> None:
    assert dates.read(text) == days


@pytest.mark.parametrize(
    "text",
    [
        "", "soon", "0000", "0000-01", "2024-00", "2024-00-01", "2024-13", "2024-1", "2024-02-30", "2023-02-29",
        "24", "02024", "-2024", "20240201", "2024/02/01", "2024-02-01T", "2024-02-01Tnoon", "2024-02-00T00:00",
        "2024-01-31T23:30:00+99:00", "2024-01-31T23:30:00+18:01", "2024-01-31T23:30:00-19", "2024-01-31T23:30:00+02:60",
        "2024-01-31T24:00:01", "2024-01-31T24:30", "2024-01-31T24:00:00.5", "2024-01-31T25:00", "2024-01-31T23:60",
        "2024-01-31T23:30:00+0275", "2024-01-31T23:30:61",
        "03/04/2020", "16/07/68", "1 March 2020", "２０２４", "٢٠٢٤", "2024-02-01 2024-02-02", "2024–02", "45292",
    ],
)  # fmt: skip
def test_what_would_have_to_be_guessed_is_unreadable(text: str) -> None:
    assert dates.read(text) is None


@pytest.mark.parametrize(
    ("text", "form", "days"),
    [
        ("03/04/2020", "%d/%m/%Y", span("2020-04-03")),
        ("03/04/2020", "%m/%d/%Y", span("2020-03-04")),
        ("04/2020", "%m/%Y", span("2020-04-01", "2020-04-30")),
        ("Mar 2020", "%b %Y", span("2020-03-01", "2020-03-31")),
        ("FY2020", "FY%Y", span("2020-01-01", "2020-12-31")),
        ("20240201", "%Y%m%d", span("2024-02-01")),
        ("2024112", "%Y%m%d", None),
        ("2024-032", "%Y-%j", span("2024-02-01")),
        ("31/02/2020", "%d/%m/%Y", None),
        ("03/04/20", "%d/%m/%Y", None),
        ("05JAN2024", "%d%b%Y", span("2024-01-05")),
        ("5jan2024", "%d%b%Y", span("2024-01-05")),
        ("JAN2024", "%b%Y", span("2024-01-01", "2024-01-31")),
        ("20240105T101500Z", "%Y%m%dT%H%M%S%z", span("2024-01-05")),
        ("20240105T101500+01:00", "%Y%m%dT%H%M%S%z", span("2024-01-05")),
        ("2024-W10-1", "%G-W%V-%u", span("2024-03-04")),
        ("2024-W10-1", "%Y-W%W-%w", span("2024-03-04")),
        ("2024-366", "%Y-%j", span("2024-12-31")),
    ],
)
def test_a_declared_format_says_what_the_digits_mean_as_precisely_as_it_names_them(
    text: str, form: str, days: Span | None
) -> None:
    assert dates.read(text, [form]) == days


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("2023-366", "%Y-%j"),
        ("2023-W53-1", "%G-W%V-%u"),
        ("2023-W00-1", "%Y-W%W-%w"),
        ("Mon 02.01.2024", "%a %d.%m.%Y"),
        ("Tuesday, 01 Jan 2024 10:00:00 GMT", "%A, %d %b %Y %H:%M:%S %Z"),
        ("2024-060 (March)", "%Y-%j (%B)"),
    ],
)
def test_a_text_that_contradicts_itself_is_unreadable_and_no_day_of_the_next_year(text: str, form: str) -> None:
    assert dates.read(text, [form]) is None


def test_what_contradicts_itself_is_judged_in_the_century_that_the_map_declares() -> None:
    assert dates.read("00061", ["%y%j"], base_year=1900) == span("1900-03-02")
    assert dates.read("00061", ["%y%j"], base_year=2000) == span("2000-03-01")
    assert dates.read("00366", ["%y%j"], base_year=1900) is None
    assert dates.read("Mon 01.01.00", ["%a %d.%m.%y"], base_year=1900) == span("1900-01-01")
    assert dates.read("Mon 01.01.00", ["%a %d.%m.%y"], base_year=2000) is None


def test_iso_comes_before_a_declared_format_and_formats_are_tried_in_order() -> None:
    assert dates.read("2020-04-03", ["%Y-%d-%m"]) == span("2020-04-03")
    assert dates.read("03/04/2020", ["%d/%m/%Y", "%m/%d/%Y"]) == span("2020-04-03")
    assert dates.read("03/14/2020", ["%d/%m/%Y", "%m/%d/%Y"]) == span("2020-03-14")


def test_two_digit_years_are_unreadable_without_a_base_year_and_fall_into_its_century() -> None:
    assert dates.read("16/07/68", ["%d/%m/%y"]) is None
    assert dates.read("16/07/68", ["%d/%m/%y"], base_year=1925) == span("1968-07-16")
    assert dates.read("01/02/69", ["%d/%m/%y"], base_year=1925) == span("1969-02-01")
    assert dates.read("01/02/24", ["%d/%m/%y"], base_year=1925) == span("2024-02-01")
    assert dates.read("01/02/25", ["%d/%m/%y"], base_year=1925) == span("1925-02-01")
    assert dates.read("29/02/00", ["%d/%m/%y"], base_year=1925) == span("2000-02-29")
    assert dates.read("29/02/00", ["%d/%m/%y"], base_year=1850) is None


@pytest.mark.parametrize(
    ("serial", "day"),
    [
        ("1", "1900-01-01"),
        ("59", "1900-02-28"),
        ("61", "1900-03-01"),
        ("45292", "2024-01-01"),
        ("2958465", "9999-12-31"),
    ],
)
def test_a_declared_spreadsheet_serial_is_a_day(serial: str, day: str) -> None:
    assert dates.read(serial, excel_serial=True) == span(day)
    assert dates.read(serial) is None


@pytest.mark.parametrize("serial", ["0", "60", "2958466", "-1", "1.5", "45292.0"])
def test_no_day_is_the_29_february_1900_nor_before_or_after_the_calendar(serial: str) -> None:
    assert dates.read(serial, excel_serial=True) is None


def test_a_bare_number_of_four_digits_is_a_year_and_never_a_serial() -> None:
    assert dates.read("2005", excel_serial=True) == span("2005-01-01", "2005-12-31")


@given(st.dates(), st.sampled_from(["%Y", "%Y-%m", "%Y-%m-%d"]))
def test_a_written_date_spans_exactly_the_days_it_may_mean(day: date, form: str) -> None:
    # strftime leaves the zeros of an early year out.
    text = day.isoformat()[: {"%Y": 4, "%Y-%m": 7, "%Y-%m-%d": 10}[form]]
    read = dates.read(text)
    assert read is not None
    assert read.start <= day <= read.end
    assert read.start.isoformat().startswith(text)
    assert read.end.isoformat().startswith(text)
    for outside, edge in ((-1, read.start), (1, read.end)):
        if edge not in (date.min, date.max):
            assert not (edge + timedelta(days=outside)).isoformat().startswith(text)


def test_a_month_ends_on_its_last_day_and_what_is_no_month_has_no_end() -> None:
    assert dates.month_end("2024-02") == date(2024, 2, 29)
    assert dates.month_end("9999-12") == date(9999, 12, 31)
    for text in ("2024", "2024-13", "2024-00", "0000-01", "2024-02-01", "2024-2", " 2024-02"):
        assert dates.month_end(text) is None


def test_spans_that_touch_or_overlap_are_joined_and_others_stay_apart() -> None:
    months = [span("2020-03-01", "2020-03-31"), span("2020-01-01", "2020-01-31"), span("2020-02-01", "2020-02-29")]
    assert dates.joined(months) == (span("2020-01-01", "2020-03-31"),)
    assert dates.joined(months[:2]) == (span("2020-01-01", "2020-01-31"), span("2020-03-01", "2020-03-31"))
    assert dates.joined([span("2020-01-01", "9999-12-31"), span("2021-01-01")]) == (span("2020-01-01", "9999-12-31"),)
    assert dates.joined([]) == ()
