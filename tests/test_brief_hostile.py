"""What a model may say against us: some 60 tool outputs, each over real HTTP through the real SDK, streamed or not.

Each ends in what was kept, what was dropped and why, and how many sentences were left uncompiled; never in a
traceback, and never in a licence.
"""
# ruff: noqa: E501 (a printed line, a case or a brief stands on one line)

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from tests.messages_api import KEY, Answer, Api, message, serving, tool_use

import closedset
from closedset import load
from closedset.brief.messages import Messages
from closedset.store import Store

BRIEF = (
    "Find VP-level Sales leaders in DACH. They passed a compliance screening, and the Sales role began after 2016 "
    "at 1.5 times 2016. Fluent in German 🚀."
)
ALL = 3


def one(slot: str = "seniority", op: str = "gte", value: object = "VP", quote: object = "VP-level", **more: Any) -> Any:
    """One constraint as a model says it, its span right unless told otherwise."""
    relation = {"outcome": "screening", "kind": "screening", "hourly_rate_usd": "engagement"}.get(slot, "held_role")
    at = BRIEF.find(quote) if isinstance(quote, str) else 0
    span = [at, at + len(quote)] if isinstance(quote, str) else [0, 0]
    said = {"relation": relation, "slot": slot, "op": op, "value": value, "brief_span": span, "quote": quote}
    return {**said, "required": True, **more}


def without(key: str) -> Any:
    return {k: v for k, v in one().items() if k != key}


@dataclass(frozen=True)
class Hostile:
    """`said`: the tool's input, or whole content blocks. `kept` and `dropped` in order; `left` sentences uncompiled."""

    name: str
    said: Any
    kept: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    left: int = ALL
    whole_only: bool = False


def h(name: str, *said: Any, kept: tuple[str, ...] = (), dropped: tuple[str, ...] = (), left: int = ALL) -> Hostile:
    return Hostile(name, {"constraints": list(said)}, kept, dropped, left, whole_only="surrogate" in name)


VP = ("seniority gte VP",)
DEEP: Any = "x"
for _ in range(150):
    DEEP = [DEEP]

CASES = [
    # Offsets.
    h("offsets from somewhere else", one(brief_span=[0, 3]), kept=VP, left=2),
    h("offsets in bytes, past the end", one(brief_span=[5000, 5008]), kept=VP, left=2),
    h("offsets that are negative", one(brief_span=[-5, -1]), kept=VP, left=2),
    h("offsets the wrong way round", one(brief_span=[13, 5]), kept=VP, left=2),
    h("offsets with white space around", one(brief_span=[4, 14]), kept=VP, left=2),
    h("three offsets", one(brief_span=[5, 13, 13]), kept=VP, left=2),
    h("offsets as text", one(brief_span="[5, 13]"), kept=VP, left=2),
    h("offsets as words", one(brief_span=["five", "thirteen"]), kept=VP, left=2),
    h("offsets as fractions", one(brief_span=[5.5, 13.0]), kept=VP, left=2),
    h("offsets as booleans", one(brief_span=[False, True]), kept=VP, left=2),
    h("offsets beyond any integer", one(brief_span=[5, 10**400]), kept=VP, left=2),
    h("no offsets", without("brief_span"), kept=VP, left=2),
    # Quotes.
    h("an invented quote", one(quote="a C-level role"), dropped=("quote_not_in_brief",)),
    h("a paraphrase", one(quote="VP level"), dropped=("quote_not_in_brief",)),
    h("another case, width and space", one(quote=" ｖｐ-LEVEL  sales "), kept=VP, left=2),
    h("a blank quote", one(quote="  \n"), dropped=("quote_empty",)),
    h("an empty quote", one(quote=""), dropped=("quote_empty",)),
    h("no quote", without("quote"), dropped=("quote_empty",)),
    h("a quote that is a number", one(quote=2016), dropped=("quote_empty",)),
    h("a quote that is a list", one(quote=["VP-level"]), dropped=("quote_empty",)),
    h("a quote twice in the brief, span on neither", one("function", "eq", "Sales", "Sales", brief_span=[0, 5]),
      dropped=("span_ambiguous",)),
    h("a quote twice in the brief, no span", {**one("function", "eq", "Sales", "Sales"), "brief_span": None},
      dropped=("span_ambiguous",)),
    h("a quote twice in the brief, span on the second",
      one("function", "eq", "Sales", "Sales", brief_span=[BRIEF.rindex("Sales"), BRIEF.rindex("Sales") + 5]),
      kept=("function eq Sales",), left=2),
    h("part of a word", one(quote="lead"), dropped=("quote_not_whole_words",)),
    h("part of a number", one(quote="5"), dropped=("quote_not_whole_words",)),
    h("punctuation alone", one(quote=","), dropped=("quote_not_whole_words",)),
    h("an emoji alone", one(quote="🚀"), dropped=("quote_not_whole_words",)),
    h("a quote over a sentence's end", one(quote="DACH. They passed"), dropped=("quote_crosses_sentences",)),
    h("the whole brief as quote", one(quote=BRIEF), dropped=("quote_crosses_sentences",)),
    h("a sentence as quote", one(quote="Find VP-level Sales leaders in DACH."), kept=VP, left=2),
    h("a quote of 10 MB", one(quote="VP-level " * 1_200_000), dropped=("quote_not_in_brief",)),
    h("half a surrogate in the quote", one(quote="VP-level\ud83d"), dropped=("quote_not_in_brief",)),
    # Names that the tool did not offer.
    h("an unknown relation", one(relation="board_seat"), dropped=("relation_unknown:board_seat",)),
    h("an unknown slot", one("shoe_size"), dropped=("slot_unknown:shoe_size",)),
    h("a slot of another relation", one("outcome", "eq", "passed", "passed", relation="held_role"),
      dropped=("slot_unknown:outcome",)),
    h("an unknown op", one(op="like"), dropped=("op_unknown:like",)),
    h("an order on an axis without one", one("geography", "gte", "DACH", "DACH"), dropped=("op_unknown:gte",)),
    h("a relation that is a list", one(relation=["held_role"]), dropped=("constraint_malformed",)),
    h("no relation", without("relation"), dropped=("constraint_malformed",)),
    h("a key that no constraint has", one(negate=True), dropped=("key_unknown:negate",)),
    # Values.
    h("a value on no term", one("geography", "eq", "Atlantis", "DACH"), kept=("geography eq Atlantis",), left=2),
    h("no value", without("value"), dropped=("value_unanswerable:seniority",)),
    h("a value that is an object", one(value={"gte": "VP"}), dropped=("value_unanswerable:seniority",)),
    h("a value that is true", one(value=True), dropped=("value_unanswerable:seniority",)),
    h("a list under gte", one(value=["VP", "SVP"]), dropped=("value_unanswerable:seniority",)),
    h("a word under in", one(op="in", value="VP"), dropped=("value_unanswerable:seniority",)),
    h("nothing under in", one(op="in", value=[]), dropped=("value_unanswerable:seniority",)),
    h("a list as text", one(op="in", value='["VP", "SVP"]'), kept=("seniority in ['VP', 'SVP']",), left=2),
    h("a list as text that prints otherwise", one(op="in", value='["VP" ,"SVP"]'),
      dropped=("value_unanswerable:seniority",)),
    h("a number as text", one("hourly_rate_usd", "lte", "2016", "1.5 times"), kept=("hourly_rate_usd lte 2016",), left=2),
    h("a decimal as text", one("hourly_rate_usd", "lte", "1.5", "1.5"), kept=("hourly_rate_usd lte 1.5",), left=2),
    h("a number that prints otherwise", one("hourly_rate_usd", "lte", "1e3", "1.5"),
      dropped=("value_unanswerable:hourly_rate_usd",)),
    h("a number with a decimal comma", one("hourly_rate_usd", "lte", "1,5", "1.5"),
      dropped=("value_unanswerable:hourly_rate_usd",)),
    h("a number of 60 digits", one("hourly_rate_usd", "lte", 10**60, "1.5"),
      dropped=("value_unanswerable:hourly_rate_usd",)),
    h("a date in words", one("period_from", "gte", "after 2016", "after 2016"),
      dropped=("value_unanswerable:period_from",)),
    h("a date as a number", one("period_from", "gte", 2017, "after 2016"), kept=("period_from gte 2017",), left=2),
    h("a value of 10 MB", one("company", "eq", "x" * 10_000_000, "DACH"), dropped=("value_unanswerable:company",)),
    h("half a surrogate in the value", one("company", "eq", "x\ud83d", "DACH"), dropped=("value_unanswerable:company",)),
    h("a NUL in the value", one("company", "eq", "x\0", "DACH"), dropped=("value_unanswerable:company",)),
    h("an injection in the value", one("company", "eq", "'; DROP TABLE catalog; --", "DACH"),
      kept=("company eq '; DROP TABLE catalog; --",), left=2),
    # `required`.
    h("required as text", one(required="true"), kept=VP, left=2),
    h("required as a wish", one(required="maybe"), dropped=("constraint_malformed",)),
    h("a preference alone", one(required=False), kept=VP, left=2),
    # The form of the whole.
    Hostile("the constraints as text", {"constraints": json.dumps([one()])}, VP, (), 2),
    Hostile("the constraints as prose", {"constraints": "VP and above"}, (), ("constraint_malformed",)),
    Hostile("the constraints as null", {"constraints": None}, (), ("constraint_malformed",)),
    Hostile("nothing in it", {}),
    h("a constraint that is text", "seniority >= VP", dropped=("constraint_malformed",)),
    h("a constraint that is JSON text", json.dumps(one()), kept=VP, left=2),
    h("nulls among the constraints", None, one(), None, kept=VP, dropped=("constraint_malformed",) * 2, left=2),
    h("nested a hundred deep", DEEP, one(value=DEEP),
      dropped=("constraint_malformed", "value_unanswerable:seniority")),
    h("300 constraints", *[one()] * 300, kept=VP * 100, dropped=("constraints_too_many",) * 200, left=2),
    Hostile("extra keys beside the constraints", {"constraints": [one()], "note": "sure!"}, VP, (), 2),
    Hostile("two tool calls", [tool_use({"constraints": [one()]}), tool_use({"constraints": [one()]}, id="toolu_02")],
            VP, ("tool_called_again",), 2),
    Hostile("a call of another tool", [tool_use({"constraints": [one()]}, name="run_sql")]),
    Hostile("words and no call", [{"type": "text", "text": "I would rather talk about it."}]),
    Hostile("words before the call", [{"type": "text", "text": "Sure."}, tool_use({"constraints": [one()]})], VP, (), 2),
    Hostile("no content", []),
    # as_of.
    Hostile("a month from nowhere", {"constraints": [one()], "as_of": "2024-05"}, VP, ("as_of_not_in_brief",), 2),
    Hostile("no month", {"constraints": [one()], "as_of": "2016-13"}, VP, ("as_of_no_month",), 2),
    Hostile("a month that is a number", {"constraints": [one()], "as_of": 201603}, VP, ("as_of_no_month",), 2),
    Hostile("a month whose quote is invented",
            {"constraints": [one()], "as_of": "2016-03", "as_of_quote": "March 2016"}, VP, ("quote_not_in_brief",), 2),
]  # fmt: skip


@pytest.fixture(scope="module")
def roster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    path = tmp_path_factory.mktemp("roster") / "store"
    load.load(path, "roster", sample=True)
    with closedset.open(path) as store:
        yield store


@pytest.fixture(scope="module")
def api() -> Iterator[Api]:
    with serving(lambda asked: Answer(message())) as running:
        yield running


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_whatever_a_model_says_is_kept_dropped_or_left(
    roster: Store, api: Api, case: Hostile, stream: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if stream and case.whole_only:
        pytest.skip("the SDK reads no such stream: an error of its own, see test_brief_messages")
    content = case.said if isinstance(case.said, list) else [tool_use(case.said)]
    api.script = lambda asked: Answer(message(*content))
    monkeypatch.setenv("ANTHROPIC_BASE_URL", api.url)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    body = roster.search({"brief": BRIEF}, Messages(stream=stream)).model_dump()
    assert api.faults == []
    compiled = body["compiled"]
    kept = tuple(f"{c['slot']} {c['op']} {c['value']}" for c in compiled["constraints"])
    dropped = tuple(d["reason"] for d in compiled["dropped"])
    assert (kept, dropped, len(compiled["uncompiled"])) == (case.kept, case.dropped, case.left)
    assert all(BRIEF[slice(*c["brief_span"])] == c["quote"] for c in compiled["constraints"])
    assert body["bound"] == bool(kept)
    assert not body["coverage"]["completeness_licensed"]
    assert len(json.dumps(body).encode()) < 600_000
    if not kept:
        assert body["counts"]["undetermined"] == body["counts"]["universe"] == 5


def test_there_are_some_sixty_of_them() -> None:
    assert len(CASES) >= 60
    assert len({case.name for case in CASES}) == len(CASES)


def test_a_ten_megabyte_answer_is_not_repeated_in_the_reply() -> None:
    """The reply's echo of what was dropped is cut; that the search answers at all is tested above."""
    from closedset import pack
    from closedset.brief import read_compile_output

    made = read_compile_output(BRIEF, pack.load("roster"), {"constraints": [one(quote="no " * 3_000_000)] * 3})
    assert len(json.dumps(made.dropped)) < 5_000
