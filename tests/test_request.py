"""What may be asked, and the refusal of everything that never made sense."""

import json
from typing import Any

import pytest
from tests.tiny import ask, sets, store, where

from closedset import request
from closedset.errors import CompileUnavailable, RequestRefused
from closedset.request import Request

VP = where("role.level", "eq", "VP")


def refused(raw: object) -> dict[str, Any]:
    with pytest.raises(RequestRefused) as error:
        request.parse(raw)
    assert error.value.status == 422
    assert {"type", "title"} <= set(error.value.detail)
    json.dumps(error.value.detail)
    return error.value.detail


# --- what is read --------------------------------------------------------------------------------------


def test_numbers_and_arrays_that_arrive_as_text_are_read_when_they_print_back_the_same() -> None:
    asked = request.parse({"limit": "25", "offset": "3", "list_limit": "0", "constraints": json.dumps([VP])})
    assert (asked.limit, asked.offset, asked.list_limit) == (25, 3, 0)
    assert asked.constraints is not None
    assert asked.constraints[0].value == "VP"


def test_a_boolean_and_a_list_of_values_that_arrive_as_text_are_read() -> None:
    one = where("role.level", "in", '["VP", "SVP"]', required="false")
    asked = request.parse({"constraints": [one], "entity_ids": '["e1"]'})
    assert asked.constraints is not None
    assert (asked.constraints[0].value, asked.constraints[0].required) == (["VP", "SVP"], False)
    assert asked.entity_ids == ["e1"]


@pytest.mark.parametrize("text", ["1,000", "1e3", "0x10", " 2 5", " 25", "+25", "025", "-0", "2.0", "٢٥", "", "abc"])
@pytest.mark.parametrize("key", ["limit", "offset", "list_limit"])
def test_a_number_written_otherwise_is_refused_by_its_key(key: str, text: str) -> None:
    detail = refused({"constraints": [VP], key: text})
    assert detail["type"] == "search_request_invalid"
    assert detail["errors"][0]["key"] == key


def test_a_value_that_looks_like_a_list_stays_text_for_every_op_but_in() -> None:
    asked = request.parse({"constraints": [where("role.firm", "eq", '["a"]')]})
    assert asked.constraints is not None
    assert asked.constraints[0].value == '["a"]'


def test_null_says_the_same_as_leaving_a_key_out() -> None:
    nulls = dict.fromkeys(["brief", "as_of", "limit", "offset", "list_limit", "entity_ids", "detail"])
    assert request.parse({"constraints": [VP], **nulls}) == request.parse({"constraints": [VP]})


def test_the_model_is_taken_as_well_as_the_json() -> None:
    raw = {"constraints": [VP], "limit": 3}
    assert request.parse(Request.model_validate(raw)) == request.parse(raw)


def test_a_constraint_may_carry_the_words_of_a_brief() -> None:
    marks = {"brief_span": [0, 8], "quote": "VP-level", "span_relocated_from": [1, 9]}
    reply = ask(store({"role": [{"id": "e1", "level": "VP"}]}), {**VP, **marks})
    assert reply["counts"]["per_constraint"][0]["constraint"] == {**VP, "required": True, **marks}


# --- what is refused -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "key", "nearest"),
    [
        ({"constraints": [VP], "as_off": "2024-01"}, "as_off", "as_of"),
        ({"constraints": [VP], "limti": None}, "limti", "limit"),
        ({"constriants": [VP]}, "constriants", "constraints"),
        ({"filter": {"level": "VP"}}, "filter", "limit"),
        ({"constraints": [VP], "workspace_id": "w"}, "workspace_id", "entity_ids"),
    ],
)
def test_an_unknown_key_is_named_with_the_nearest_known_one(raw: dict[str, Any], key: str, nearest: str) -> None:
    detail = refused(raw)
    assert detail["title"] == f"unknown key `{key}`"
    assert detail["reason"] == f"unknown key `{key}`; the nearest known key is `{nearest}`"
    assert detail["errors"][0]["nearest"] == nearest


def test_a_misspelt_key_of_a_constraint_is_named_before_the_key_it_was_meant_to_be() -> None:
    detail = refused({"constraints": [VP, {"relation": "check", "slot": "outcome", "op": "eq", "valeu": "passed"}]})
    assert detail["type"] == "search_constraint_invalid"
    assert (detail["title"], detail["index"]) == ("constraints[1] is malformed", 1)
    assert detail["reason"] == "unknown key `valeu`; the nearest known key is `value`"


def test_a_refusal_says_its_fix_in_its_own_text() -> None:
    with pytest.raises(RequestRefused, match="nearest known key is `as_of`"):
        request.parse({"constraints": [VP], "as_off": "2024-01"})


@pytest.mark.parametrize(
    "raw",
    [
        {},
        {"limit": 3},
        {"brief": None, "constraints": None},
        {"brief": "VPs", "constraints": [VP]},
        {"brief": "VPs", "constraints": []},
    ],
)
def test_exactly_one_of_brief_and_constraints_is_sent(raw: dict[str, Any]) -> None:
    assert refused(raw)["title"] == "send exactly one of `brief` and `constraints`"


def test_an_empty_list_of_constraints_and_a_blank_brief_ask_nothing() -> None:
    assert refused({"constraints": []})["title"] == "`constraints` is empty"
    assert refused({"brief": " \t"})["title"] == "`brief` is blank"


@pytest.mark.parametrize("raw", [None, [], "constraints", 3, [VP]])
def test_a_request_that_is_no_object_is_refused(raw: object) -> None:
    assert refused(raw)["title"] == "a request is a JSON object"


@pytest.mark.parametrize(
    "fault",
    [
        {"op": "in", "value": "VP"},
        {"op": "in", "value": []},
        {"op": "eq", "value": ["VP"]},
        {"op": "gte", "value": ["VP", "SVP"]},
        {"op": "lt", "value": "VP"},
        {"op": "EQ", "value": "VP"},
        {"op": "eq", "value": None},
        {"op": "eq", "value": True},
        {"op": "in", "value": ["VP", True]},
        {"op": "in", "value": [["VP"]]},
        {"op": "eq", "value": {"term": "VP"}},
        {"op": "eq", "value": "  "},
        {"op": "eq", "value": "\u00a0"},
        {"op": "gte", "value": float("nan")},
        {"op": "gte", "value": float("inf")},
        {"op": "eq", "value": "VP", "required": 1},
        {"op": "eq", "value": "VP", "required": "yes"},
        {"op": "eq"},
    ],
)
def test_a_malformed_constraint_is_refused_by_its_index(fault: dict[str, Any]) -> None:
    detail = refused({"constraints": [VP, {"relation": "role", "slot": "level", **fault}]})
    assert (detail["type"], detail["title"]) == ("search_constraint_invalid", "constraints[1] is malformed")
    assert detail["reason"]


@pytest.mark.parametrize(("key", "low", "high"), [("limit", 1, 500), ("list_limit", 0, 200), ("offset", 0, None)])
def test_the_bounds_of_a_page_and_of_the_lists(key: str, low: int, high: int | None) -> None:
    request.parse({"constraints": [VP], key: low})
    refused({"constraints": [VP], key: low - 1})
    if high is not None:
        request.parse({"constraints": [VP], key: high})
        refused({"constraints": [VP], key: high + 1})


@pytest.mark.parametrize("wrong", [True, 2.5, [], "true"])
def test_a_limit_is_a_whole_number(wrong: object) -> None:
    refused({"constraints": [VP], "limit": wrong})


@pytest.mark.parametrize(
    "month", ["2024", "2024-1", "2024-13", "2024-00", "0000-01", "2024-01-01", "01/2024", "2024-01 ", 202401]
)
def test_as_of_is_a_month(month: object) -> None:
    refused({"constraints": [VP], "as_of": month})


def test_at_most_500_entities_are_named() -> None:
    request.parse({"constraints": [VP], "entity_ids": [f"e{i}" for i in range(500)]})
    refused({"constraints": [VP], "entity_ids": [f"e{i}" for i in range(501)]})


def test_text_that_no_cell_can_hold_is_refused_and_not_a_crash() -> None:
    half = json.loads('"\\ud800"')
    for raw in (
        {"constraints": [where("role.firm", "eq", half)]},
        {"constraints": [where("role.level", "in", ["VP", half])]},
        {"constraints": [where(f"{half}.level", "eq", "VP")]},
        {"constraints": [VP], "entity_ids": [half]},
        {"brief": half},
    ):
        assert refused(raw)["reason"] == "U+D800 is half a character"


# --- what a slot's type cannot answer -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("slot", "op", "value"),
    [
        ("firm", "gte", "Kestrel"),
        ("function", "gte", "Sales"),
        ("topic", "lte", "pricing"),
        ("level", "gte", "Leaders"),
        ("fee", "eq", "€900"),
        ("fee", "gte", "1,5"),
        ("fee", "eq", "NaN"),
        ("fee", "eq", "1e400"),
        ("fee", "in", ["1", "one"]),
        ("seen_on", "gte", "03/04/2020"),
        ("seen_on", "eq", "soon"),
        ("seen_on", "eq", 2020.5),
        ("period_from", "lte", "next year"),
        ("firm", "eq", 1.5),
    ],
)
def test_a_value_or_an_order_that_the_slot_does_not_have_is_refused(slot: str, op: str, value: Any) -> None:
    held = store({"role": [{"id": "e1", "level": "VP"}]})
    with pytest.raises(RequestRefused) as error:
        held.search({"constraints": [where(f"role.{slot}", op, value)]})
    detail = error.value.detail
    assert detail["type"] == "search_constraint_invalid"
    assert detail["title"] == "a constraint asks its slot something its type cannot answer"
    assert detail["index"] == 0
    assert f"role.{slot} {op}" in detail["reason"]


def test_what_is_no_relation_slot_or_vocabulary_is_a_gap_and_never_a_refusal() -> None:
    reply = ask(
        store({"role": [{"id": "e1", "level": "VP"}]}),
        VP,
        where("seat.level", "gte", "VP"),
        where("role.colour", "gte", "blue"),
        where("role.topic", "eq", "pricing"),
        where("check.period_from", "gte", "2020"),
    )
    assert reply["gaps"]["unbound"] == [
        {"index": 1, "reason": "relation_unknown:seat"},
        {"index": 2, "reason": "slot_unknown:colour"},
        {"index": 3, "reason": "vocabulary_unbound:topic"},
        {"index": 4, "reason": "slot_unknown:period_from"},
    ]
    assert sets(reply) == {"matched": ["e1"]}


def test_a_number_is_asked_as_a_number_or_as_its_text() -> None:
    held = store({"role": [{"id": "e1", "fee": "0.1"}, {"id": "e2", "fee": "9007199254740993"}]})
    for value in (0.1, "0.1", "0.10", "1e-1"):
        assert sets(ask(held, where("role.fee", "eq", value)))["matched"] == ["e1"]
    for value in (9007199254740993, "9007199254740993"):
        assert sets(ask(held, where("role.fee", "eq", value)))["matched"] == ["e2"]
    assert sets(ask(held, where("role.fee", "eq", 9007199254740992)))["none"] == ["e1", "e2"]


def test_a_brief_without_a_model_is_unavailable_and_runs_nothing() -> None:
    with pytest.raises(CompileUnavailable) as error:
        store({"role": []}).search({"brief": "VPs in Germany"})
    assert error.value.status == 503
    assert error.value.body == {
        "type": "compile_unavailable",
        "reason": "compile requires a model; pass constraints",
    }


def test_an_offset_no_store_can_reach_is_refused() -> None:
    asked = {"constraints": [VP], "offset": 10**20}
    assert refused(asked)["title"] == "`offset` is malformed"
