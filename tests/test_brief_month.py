"""A brief pins a month only if it writes it: anything else would answer another question, and license it."""

import pytest

from closedset.brief.month import writes


@pytest.mark.parametrize(
    ("words", "month"),
    [
        ("as of March 2020", "2020-03"),
        ("state of play 02/2019", "2019-02"),
        ("As of 2018-01.", "2018-01"),
        ("on March 3, 2020", "2020-03"),
        ("on 3 March 2020", "2020-03"),
        ("2020, March", "2020-03"),
        ("Stand: März 2020", "2020-03"),
        ("2020年3月現在", "2020-03"),
        ("in Sept 2021 or in May 2022", "2022-05"),
    ],
)
def test_these_words_write_the_month(words: str, month: str) -> None:
    assert writes(words, month)


@pytest.mark.parametrize(
    ("words", "month"),
    [
        ("as of March 2020", "2020-07"),
        ("As of 2020", "2020-01"),
        ("state of play 02/2019", "2019-03"),
        ("As of 2018-01.", "2018-10"),
        ("in March 2020", "2021-03"),
        ("during 2020", "2020-06"),
        ("March", "2020-03"),
        ("2020", "2020-01"),
    ],
)
def test_these_words_do_not(words: str, month: str) -> None:
    assert not writes(words, month)
