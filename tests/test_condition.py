"""The grammar of -w: what is read, and what is refused with a caret under the fault and the fix."""

import pytest

from closedset_cli import condition
from closedset_cli.diagnostics import UsageRefused

READ = [
    ("held_role.seniority >= VP", "gte", "VP"),
    ("held_role.seniority>=VP", "gte", "VP"),
    ("  held_role . seniority  ≥  VP  ", "gte", "VP"),
    ("held_role.seniority <= VP", "lte", "VP"),
    ("held_role.seniority ≤ VP", "lte", "VP"),
    ("held_role.seniority = VP", "eq", "VP"),
    ("held_role.seniority == VP", "eq", "VP"),
    ("held_role.seniority != VP", "ne", "VP"),
    ("held_role.seniority ≠ VP", "ne", "VP"),
    ("screening.outcome = passed late", "eq", "passed late"),
    ("screening.outcome = in", "eq", "in"),
    ("establishment.name = O'Brien, Sons & Co", "eq", "O'Brien, Sons & Co"),
    ("establishment.name = salt and pepper", "eq", "salt and pepper"),
    ("establishment.name = \"salt and a.b = pepper\"", "eq", "salt and a.b = pepper"),
    ("establishment.name = '[sic]'", "eq", "[sic]"),
    ("establishment.name = \"say \"\"hi\"\"\"", "eq", "say \"hi\""),
    ("engagement.rate >= -5", "gte", "-5"),
    ("engagement.rate >= .5", "gte", ".5"),
    ("violation.date >= 2015-01", "gte", "2015-01"),
    ("held_role.seniority in VP", "in", ["VP"]),
    ("held_role.seniority in VP, SVP", "in", ["VP", "SVP"]),
    ("held_role.seniority IN [VP, SVP]", "in", ["VP", "SVP"]),
    ("held_role.seniority in[VP,SVP]", "in", ["VP", "SVP"]),
    ("establishment.city in \"Paris, Texas\", Oslo", "in", ["Paris, Texas", "Oslo"]),
    ("establishment.city in ['Paris, Texas', \"O'ahu\"]", "in", ["Paris, Texas", "O'ahu"]),
    ("nowhere.at_all = 1", "eq", "1"),
]
REFUSED = [
    ("", "relation is missing", 0),
    (".slot = x", "relation is missing", 0),
    ("held_role", "a dot and a slot are missing", 9),
    ("held_role seniority >= VP", "a dot and a slot are missing", 10),
    ("held_role. = VP", "slot is missing", 11),
    ("held_role.seniority", "quote the whole condition", 19),
    ("held_role.seniority VP", "VP is no operator", 20),
    ("held_role.seniority > VP", "write >=", 20),
    ("held_role.seniority < VP", "write <=", 20),
    ("held_role.seniority => VP", "write >=", 20),
    ("held_role.seniority <> VP", "write !=", 20),
    ("held_role.seniority ~ VP", "write =", 20),
    ("held_role.seniority not in VP", "one != condition for each", 20),
    ("held_role.seniority inside VP", "no operator", 20),
    ("held_role.seniority >= ", "value is missing", 22),
    ("held_role.seniority in", "value is missing", 22),
    ("held_role.seniority = [VP, SVP]", "use in", 22),
    ("held_role.seniority in (VP, SVP)", "write [a, b]", 23),
    ("held_role.seniority in [VP, SVP", "end it with ]", 31),
    ("held_role.seniority in VP,,SVP", "an empty value", 26),
    ("held_role.seniority in []", "an empty value", 24),
    ("held_role.company = \"Lumen", "quote is not closed", 20),
    ("held_role.company = \"Lumen\" Ridge", "after the closing quote", 28),
    ("held_role.company in \"Lumen\" Ridge", "a comma between", 29),
    ("a.b = x and c.d >= y", "its own -w", 8),
    ("a.b = x OR c.d in y", "its own -w", 8),
    ("a.b in x, y and c.d = z", "its own -w", 12),
]


@pytest.mark.parametrize(("text", "op", "value"), READ)
def test_a_condition_reads_as_it_is_written(text: str, op: str, value: object) -> None:
    read = condition.read(text, required=True)
    assert (read["op"], read["value"]) == (op, value)
    assert "required" not in read


@pytest.mark.parametrize(("text", "said", "caret"), REFUSED)
def test_a_refused_condition_shows_the_place_and_the_fix(text: str, said: str, caret: int) -> None:
    with pytest.raises(UsageRefused) as refused:
        condition.read(text, required=True)
    first, shown, mark = str(refused.value).split("\n")
    assert said in first
    assert shown == f"  {text}"
    assert mark == "  " + " " * caret + "^"


def test_a_preference_is_marked() -> None:
    assert condition.read("a.b = c", required=False)["required"] is False


def test_a_caret_stands_right_under_wide_and_escaped_text() -> None:
    with pytest.raises(UsageRefused) as refused:
        condition.read("役割.b\x1b > c", required=True)
    _, shown, mark = str(refused.value).split("\n")
    assert "\x1b" not in shown
    assert shown == "  役割.b\\x1b > c"
    assert mark == "  " + " " * (4 + 6 + 1) + "^"
