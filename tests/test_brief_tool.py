"""The compile tool: the printed block, a schema the official meta-schema takes, stable bytes, and its size."""
# ruff: noqa: E501 (a printed line, a case or a brief stands on one line)

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import closedset
from closedset import pack
from closedset.brief import compile_tool, read_compile_output
from closedset.brief.tool import REQUIRED, TOOL_BYTES_AT_MOST, tool_bytes
from closedset.pack import Pack


def variants(tool: dict[str, Any]) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = tool["input_schema"]["properties"]["constraints"]["items"]["anyOf"]
    return listed


def test_the_printed_block() -> None:
    tool = compile_tool(pack.load("roster"))
    lines = [f"{tool['name']} | {len(variants(tool))} relation.slot variants"]
    for variant in variants(tool):
        p = variant["properties"]
        if p["slot"]["enum"][0] in ("seniority", "title"):
            lines.append(f"{p['op']['enum']} | {p['slot']['description']}")
    lines.append(f"required: {variants(tool)[0]['required']}")
    assert lines == [
        "compile_search_brief | 13 relation.slot variants",
        "['eq', 'ne', 'in', 'gte', 'lte'] | held_role.seniority (term): axis seniority, ordered low to high: IC < Manager "
        "< Director < VP < SVP < C-level. Write the term, or the brief's own word when it is a synonym — synonyms and "
        "groups are resolved server-side",
        "['eq', 'ne', 'in'] | held_role.title (term): axis title has NO vocabulary in this workspace; a constraint here is "
        "reported unbound and does not run",
        "required: ['relation', 'slot', 'op', 'value', 'brief_span', 'quote', 'required']",
    ]


def axes(slots: int, terms: int, term: str = "term") -> Pack:
    """A pack of so many term slots, a hundred to a relation, over one axis of so many terms."""
    relations = {
        f"relation_{r}": {"slots": {f"slot_{s}": {"term": "wide"} for s in range(min(100, slots - r * 100))}}
        for r in range(-(-slots // 100))
    }
    axis = {"terms": [f"{term} {n}" for n in range(terms)]}
    return Pack.model_validate({"pack": "wide", "axes": {"wide": axis}, "relations": relations})


SHAPES = [axes(1, 20_000), axes(40, 300), axes(100, 1_000), axes(300, 50_000), axes(3_000, 100), axes(5_000, 3)]


@pytest.mark.parametrize("made", [*map(pack.load, pack.bundled()), *SHAPES], ids=lambda p: f"{p.pack}")
def test_the_schema_is_one_and_within_its_bound(made: Pack) -> None:
    tool = compile_tool(made)
    assert len(tool_bytes(tool)) <= TOOL_BYTES_AT_MOST
    Draft202012Validator.check_schema(tool["input_schema"])
    validator = Draft202012Validator(tool["input_schema"])
    offered = {
        (v["properties"]["relation"]["enum"][0], slot)
        for v in variants(tool)
        for slot in v["properties"]["slot"]["enum"]
    }
    assert offered == {(name, slot) for name, r in made.relations.items() for slot in r.askable()}
    assert all(v["required"] == REQUIRED and not v["additionalProperties"] for v in variants(tool))
    relation, slot = sorted(offered)[0]
    one = {
        "relation": relation, "slot": slot, "op": "eq", "value": "x", "brief_span": [0, 1], "quote": "x", "required": True,
    }  # fmt: skip
    assert validator.is_valid({"constraints": [one]})
    assert not validator.is_valid({"constraints": [{**one, "op": "like"}]})
    assert not validator.is_valid({"constraints": [{k: v for k, v in one.items() if k != "quote"}]})


def test_the_bytes_are_stable() -> None:
    for name in pack.bundled():
        assert tool_bytes(compile_tool(pack.load(name))) == tool_bytes(compile_tool(pack.load(name)))


def test_a_pack_within_the_bound_shows_every_term_in_every_slot() -> None:
    congress = pack.load("congress")
    said = json.dumps(compile_tool(congress), ensure_ascii=False)
    assert all(term in said for axis in congress.vocabularies.values() for term in axis.terms)
    assert "HSAG (House Committee on Agriculture)" in said


def test_beyond_the_bound_terms_stand_once_then_fewer_then_none() -> None:
    once = compile_tool(axes(40, 300))
    first, second, *_ = (v["properties"]["slot"]["description"] for v in variants(once))
    assert "term 299" in first
    assert "axis wide, as above" in second
    fewer = variants(compile_tool(axes(1, 20_000)))[0]["properties"]["slot"]["description"]
    assert "and 19000 more terms: write the brief's own word for them" in fewer
    merged = variants(compile_tool(axes(3_000, 100)))
    assert len(merged) == 30


def test_a_term_the_tool_did_not_show_is_matched_after_the_call() -> None:
    wide = axes(1, 20_000)
    said = {"relation": "relation_0", "slot": "slot_0", "op": "eq", "value": "TERM 19999", "quote": "term 19999"}
    made = read_compile_output("Has term 19999.", wide, {"constraints": [said]})
    assert (made.dropped, made.uncompiled) == ([], [])
    assert wide.vocabularies["wide"].place(made.constraints[0].value) == "term 19999"


def test_a_pack_of_more_names_than_a_model_is_shown_is_no_matter_for_a_model() -> None:
    with pytest.raises(closedset.CompileUnavailable, match="pass constraints"):
        compile_tool(axes(12_000, 3))


def test_numbers_dates_and_texts_say_how_to_be_written() -> None:
    by_slot = {v["properties"]["slot"]["enum"][0]: v["properties"] for v in variants(compile_tool(pack.load("roster")))}
    rate = by_slot["hourly_rate_usd"]
    assert rate["slot"]["description"].startswith("engagement.hourly_rate_usd (number, USD): write digits")
    assert rate["value"] == {"type": ["number", "array"], "items": {"type": "number"}}
    assert by_slot["period_to"]["op"]["enum"] == ["eq", "ne", "in", "gte", "lte"]
    assert by_slot["company"]["op"]["enum"] == ["eq", "ne", "in"]
