"""The check of a compile: the printed block, sentences and whole words, and two promises for whatever is said."""

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import tiny

from closedset import pack, reasons
from closedset.brief import Said, read_compile_output
from closedset.brief.sentences import sentences
from closedset.brief.words import Words
from closedset.fold import fold
from closedset.store import Store

ROSTER = pack.load("roster")


def test_the_printed_block() -> None:
    brief = (
        "Find VP-level Sales leaders in DACH. They must have passed a compliance screening. Fluent in German."
    )  # fmt: skip

    def at(words: str) -> list[int]:
        start = brief.index(words)
        return [start, start + len(words)]

    model_said = {"constraints": [
        {"relation": "held_role", "slot": "seniority", "op": "gte", "value": "VP",
         "quote": "VP-level", "brief_span": at("VP-level"), "required": True},
        {"relation": "held_role", "slot": "function", "op": "eq", "value": "Sales",
         "quote": "Sales leaders", "brief_span": [0, 3], "required": True},
        {"relation": "held_role", "slot": "geography", "op": "eq", "value": "DACH",
         "quote": "DACH", "brief_span": at("DACH"), "required": True},
        {"relation": "screening", "slot": "outcome", "op": "eq", "value": "passed",
         "quote": "passed", "brief_span": at("passed"), "required": True},
        {"relation": "screening", "slot": "kind", "op": "eq", "value": "compliance",
         "quote": "a compliance check", "brief_span": [0, 5], "required": True},
    ]}  # fmt: skip
    compiled = read_compile_output(brief, ROSTER, model_said)
    lines = []
    for c in compiled.constraints:
        moved = f" (relocated from {c.span_relocated_from})" if c.span_relocated_from else ""
        lines.append(f"kept {c.slot} {c.op} {c.value} {c.brief_span} {c.quote!r}{moved}")
    lines += [f"dropped {d['constraint']['slot']} -> {d['reason']}" for d in compiled.dropped]
    lines.append(f"uncompiled: {compiled.uncompiled}")
    assert lines == [
        "kept seniority gte VP (5, 13) 'VP-level'",
        "kept function eq Sales (14, 27) 'Sales leaders' (relocated from (0, 3))",
        "kept geography eq DACH (31, 35) 'DACH'",
        "kept outcome eq passed (52, 58) 'passed'",
        "dropped kind -> quote_not_in_brief",
        "uncompiled: [{'span': [83, 100], 'text': 'Fluent in German.'}]",
    ]


@pytest.mark.parametrize(
    ("brief", "expected"),
    [
        ("Experts in the U.S. Fluent in German.", ["Experts in the U.S.", "Fluent in German."]),
        ("Members of the U.S. Senate from Texas.", ["Members of the U.S. Senate from Texas."]),
        (
            "Dr. Quist, e.g. at Kestrel Pumps Inc. in St. Gallen.",
            ["Dr. Quist, e.g. at Kestrel Pumps Inc. in St. Gallen."],
        ),
        ("At Orrin Inc. Passed a screening.", ["At Orrin Inc.", "Passed a screening."]),
        ("Rate at most 1.5 or 1,500.25 USD, No. 5 only.", ["Rate at most 1.5 or 1,500.25 USD, No. 5 only."]),
        ("John F. Kennedy and J. P. Morgan.", ["John F. Kennedy and J. P. Morgan."]),
        ("Since 2018-06. Sales.", ["Since 2018-06.", "Sales."]),
        ("Who passed?! They did… ok.", ["Who passed?!", "They did… ok."]),
        ("(All of them.) Then stop.", ["(All of them.)", "Then stop."]),
        ('He said "Stop!" Then left.', ['He said "Stop!"', "Then left."]),
        ("- VP or above\n- in DACH\n\nFluent", ["- VP or above", "- in DACH", "Fluent"]),
        ("1. VP or above\n2) Sales; DACH\n(c) passed", ["1. VP or above", "2) Sales; DACH", "(c) passed"]),
        ("VP\r\nSales\rDACH\u2028passed\x85now", ["VP", "Sales", "DACH", "passed", "now"]),
        ("VP • Sales • Fluent in German", ["VP", "• Sales", "• Fluent in German"]),
        (
            "Vertrieb, z.B. in Wien. Am 3. Mai 2020 und danach.",
            ["Vertrieb, z.B. in Wien.", "Am 3. Mai 2020 und danach."],
        ),
        ("営業部の副社長。審査に合格した人！", ["営業部の副社長。", "審査に合格した人！"]),
        ("Что? Г. Иванов в г. Москва.", ["Что?", "Г. Иванов в г. Москва."]),
        ("भारत में। ठीक है।", ["भारत में।", "ठीक है।"]),
        ("سؤال؟ نعم.", ["سؤال؟", "نعم."]),
        ("¿Quiénes son? ¡Todos!", ["¿Quiénes son?", "¡Todos!"]),
        ("VPs 🚀 in DACH 👍🏽. 👩‍👩‍👧 Sales.", ["VPs 🚀 in DACH 👍🏽.", "👩‍👩‍👧 Sales."]),
        ("VPs. 🚀 !! --", ["VPs."]),
        ("🚀 …", ["🚀 …"]),
        (" \n ", []),
    ],
)
def test_sentences(brief: str, expected: list[str]) -> None:
    found = sentences(brief)
    assert [s.text for s in found] == expected
    assert all(brief[s.start : s.end] == s.text for s in found)


@pytest.mark.parametrize(
    ("brief", "quote", "places"),
    [
        ("VP-level VPs", "vp", ["VP"]),
        ("Sales  \n leaders", "sales leaders", ["Sales  \n leaders"]),
        ("in Zu\u0308rich", "Zürich", ["Zu\u0308rich"]),
        ("in Zürich", "Zu\u0308rich", ["Zürich"]),
        ("die Straße STRASSE", "strasse", ["Straße", "STRASSE"]),
        ("ﬁne ＤＡＣＨ", "dach", ["ＤＡＣＨ"]),
        ("営業部の副社長", "副社長", ["副社長"]),
        ("VP以上", "VP", ["VP"]),
        ("costs 1.5 or 15", "5", []),
        ("2,500 USD", "500", []),
        ("O'Brien's", "O'Brien", ["O'Brien"]),
        ("snake_case", "case", []),
        ("cafe\u0301", "cafe", []),
        ("👩\u200d👧 a", "👧", []),
        ("독일에서", "독일", []),
        ("x" * 50, "x", []),
    ],
)
def test_a_quote_is_found_under_the_one_folding_and_only_as_whole_words(
    brief: str, quote: str, places: list[str]
) -> None:
    words = Words(brief)
    assert [brief[s:e] for s, e in words.find(quote) if words.whole(s, e)] == places


def test_every_reason_a_check_gives_has_its_sentence() -> None:
    codes = {value for name, value in vars(reasons).items() if name.isupper() and isinstance(value, str)}
    given_elsewhere = {
        reasons.VOCABULARY_UNBOUND, reasons.NO_CONSTRAINT_BOUND, reasons.NO_RELATION_DECLARED, reasons.NARROWED,
        reasons.TRUNCATED,
    }  # fmt: skip
    assert codes - given_elsewhere == set(reasons.DROPPED)


def test_a_month_with_a_sentence_of_its_own_leaves_it_compiled() -> None:
    brief = "VPs in Sales. As of March 2020. Passed as of March 2020."
    vp = {"relation": "held_role", "slot": "seniority", "op": "eq", "value": "VPs", "quote": "VPs"}
    said = {"constraints": [vp], "as_of": "2020-03", "as_of_quote": "As of March 2020."}
    made = read_compile_output(brief, ROSTER, said)
    assert (made.as_of, made.dropped) == ("2020-03", [])
    assert [u["text"] for u in made.uncompiled] == ["Passed as of March 2020."]
    assert read_compile_output("VPs as of March 2020", ROSTER, {**said, "as_of_quote": None}).as_of == "2020-03"


# Whatever a model says: two promises.

WORDS = [
    "VP",
    "Sales",
    "role",
    "in",
    "DACH",
    "Germany",
    "passed",
    "a",
    "check",
    "U.S.",
    "since",
    "2016",
    "1.5",
    "🚀",
    "Ｖ",
]
BRIEFS = st.lists(st.sampled_from([*WORDS, ".", ".\n", "?", "\n- ", ", "]), min_size=1, max_size=14).map(
    lambda parts: " ".join(parts).replace(" .", ".").strip() or "VP"
)
SCALARS = st.one_of(
    st.sampled_from([*WORDS, "2016", "1.5", '["VP"]', "", " "]), st.none(), st.booleans(), st.integers(), st.floats(),
    st.text(max_size=4),
)  # fmt: skip
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
)
NAMES = st.sampled_from(
    ["role", "check", "deal", "level", "function", "place", "outcome", "topic", "firm", "fee", "on"]
)


@st.composite
def constraints(draw: st.DrawFn, brief: str) -> Any:
    """A constraint about the tiny domain: mostly right, its quote mostly cut from the brief."""
    if draw(st.integers(0, 9)) == 0:
        return draw(JSON)
    first, last = sorted((draw(st.integers(0, len(brief))), draw(st.integers(0, len(brief)))))
    made: dict[str, Any] = {
        "relation": draw(st.sampled_from(["role", "role", "check", "nothing"])),
        "slot": draw(NAMES),
        "op": draw(st.sampled_from(["eq", "eq", "ne", "in", "gte", "lte", "like"])),
        "value": draw(st.one_of(st.sampled_from(["VP", "Sales", "Germany", "passed", ["VP", "SVP"], 5]), JSON)),
        "brief_span": draw(st.one_of(st.just([first, last]), st.lists(st.integers(-5, 90), max_size=3), JSON)),
        "quote": draw(st.one_of(st.just(brief[first:last]), st.sampled_from(brief.split() or ["VP"]), JSON)),
        "required": draw(st.sampled_from([True, True, False, "true", None])),
    }
    for key in draw(st.sets(st.sampled_from(list(made)), max_size=1)) if draw(st.booleans()) else ():
        made.pop(key)
    return made


@st.composite
def compiles(draw: st.DrawFn) -> tuple[str, Any]:
    brief = draw(BRIEFS)
    said: Any = {"constraints": draw(st.lists(constraints(brief), max_size=4))}
    if draw(st.integers(0, 3)) == 0:
        said |= {"as_of": draw(st.sampled_from(["2016-05", "2020-01", "x", 5])), "as_of_quote": draw(SCALARS)}
    return brief, draw(st.sampled_from([said, said, said, json.dumps(said, default=str)])) if draw(
        st.booleans()
    ) else said


ANY_TEXT = st.text(st.one_of(st.characters(), st.sampled_from("aB9 .!?…\n\r\t•-()\"'。؟\u0301\u200d🚀")), max_size=40)


@settings(max_examples=500, deadline=None)
@given(ANY_TEXT)
def test_every_letter_and_digit_of_a_brief_is_in_exactly_one_sentence(brief: str) -> None:
    """What lay outside every sentence could go unasked without anybody being told."""
    found = sentences(brief)
    assert all(brief[s.start : s.end] == s.text == s.text.strip() for s in found)
    assert all(a.end <= b.start for a, b in pairwise(found))
    outside = [i for i in range(len(brief)) if not any(s.start <= i < s.end for s in found)]
    assert not any(brief[i].isalnum() for i in outside)
    assert bool(found) == bool(brief.strip())


@settings(max_examples=500, deadline=None)
@given(ANY_TEXT, ANY_TEXT)
def test_a_quote_is_found_only_where_the_brief_says_it(brief: str, quote: str) -> None:
    words = Words(brief)
    assert all(fold(brief[s:e]) == fold(quote) for s, e in words.find(quote))
    for first in range(len(brief)):
        for last in (first + 1, first + 2, len(brief)):
            cut = brief[first:last]
            if last <= len(brief) and cut == cut.strip() and words.whole(first, last):
                assert (first, last) in words.find(cut), "a whole word of the brief is found in it"


@settings(max_examples=400, deadline=None)
@given(compiles())
def test_no_constraint_runs_whose_quote_is_not_whole_words_of_one_sentence_of_the_brief(
    compile: tuple[str, Any],
) -> None:
    brief, said = compile
    made = read_compile_output(brief, tiny.PACK, said)
    for c in made.constraints:
        assert c.brief_span is not None
        assert c.quote is not None
        first, last = c.brief_span
        assert brief[first:last] == c.quote
        assert any(ch.isalnum() for ch in c.quote)
        inner = {brief[first - 1 : first + 1] if first else "", brief[last - 1 : last + 1] if last < len(brief) else ""}
        assert not any(len(pair) == 2 and pair.isalnum() for pair in inner), "cut from a longer word"
        assert sum(s.start <= first and last <= s.end for s in sentences(brief)) == 1
    told = [c.brief_span for c in made.constraints if c.brief_span]
    for sentence in sentences(brief):
        listed = {"span": [sentence.start, sentence.end], "text": sentence.text} in made.uncompiled
        compiled = any(sentence.start <= first and last <= sentence.end for first, last in told)
        assert listed != compiled or (made.as_of is not None and not listed)
    json.dumps(made.dropped).encode()


@pytest.fixture(scope="module")
def store() -> Store:
    rows = [
        {"id": "e1", "level": "VP", "function": "Sales", "place": "Germany"},
        {"id": "e2", "level": "IC", "function": "Sales", "place": "US"},
        {"id": "e3", "level": "SVP", "function": "Operations", "place": "Austria"},
    ]
    return tiny.store({"role": rows, "check": [{"id": "e1", "outcome": "passed"}]}, looked={"role": ["e1", "e2", "e3"]})


@settings(max_examples=150, deadline=None)
@given(compiles())
def test_a_licensed_answer_implies_no_dropped_constraint_and_no_uncompiled_sentence(
    store: Store, compile: tuple[str, Any]
) -> None:
    brief, said = compile
    reply = store.search({"brief": brief}, lambda _brief, _tool: Said((said,), "m", None, "2026-11-30")).model_dump()
    compiled, coverage = reply["compiled"], reply["coverage"]
    if coverage["completeness_licensed"]:
        assert (compiled["dropped"], compiled["uncompiled"]) == ([], [])
        assert reply["bound"]
    named = coverage.get("narrowed_by", [])
    assert ("constraints_dropped" in named) == bool(compiled["dropped"])
    assert ("brief_uncompiled" in named) == bool(compiled["uncompiled"])
    assert (reply["gaps"]["dropped"], reply["gaps"]["uncompiled"]) == (compiled["dropped"], compiled["uncompiled"])
    json.dumps(reply).encode()
