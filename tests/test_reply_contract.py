"""The reply, exactly: its keys, what is absent and what is null, and every rule of the reply as a sentence.

One file, though long: it follows the numbered rules of one contract.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import jsonschema
import pytest
from tests.tiny import DOMAIN, PACK, ask, reason, reasons, sets, store, where

import closedset
from closedset import load
from closedset.pack import Pack
from closedset.reply_compact import CompactReply
from closedset.reply_full import FullReply
from closedset.store import Store

VP = where("role.level", "gte", "VP")
SALES = where("role.function", "eq", "Sales")
PASSED = where("check.outcome", "eq", "passed")
HELD_ROLE = [
    {"relation": "held_role", "slot": "seniority", "op": "gte", "value": "VP"},
    {"relation": "held_role", "slot": "geography", "op": "eq", "value": "DACH"},
]
SCREENED = [{"relation": "screening", "slot": "outcome", "op": "eq", "value": "passed"}]
UNBOUND = {"relation": "engagement", "slot": "topic", "op": "eq", "value": "pricing"}

#: Requests over the roster that together reach every shape of both replies.
REQUESTS: list[dict[str, Any]] = [
    {"constraints": HELD_ROLE + SCREENED},
    {"constraints": HELD_ROLE},
    {"constraints": HELD_ROLE, "limit": 1, "offset": 1},
    {"constraints": HELD_ROLE, "offset": 9},
    {"constraints": HELD_ROLE, "entity_ids": ["isolde_marbrook", "nobody"]},
    {"constraints": SCREENED, "entity_ids": []},
    {"constraints": SCREENED, "as_of": "2024-01", "list_limit": 1},
    {"constraints": [*SCREENED, UNBOUND]},
    {"constraints": [UNBOUND]},
    {"constraints": [{**SCREENED[0], "required": False}, *HELD_ROLE]},
    {"constraints": [{**SCREENED[0], "required": False}]},
    {"constraints": [{**UNBOUND, "slot": "hourly_rate_usd", "op": "lte", "value": 900}]},
    {"constraints": [{**HELD_ROLE[0], "slot": "period_to", "op": "lte", "value": "2020"}]},
]


@pytest.fixture(scope="module")
def roster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    path = tmp_path_factory.mktemp("roster") / "store"
    load.load(path, "roster", sample=True)
    with closedset.open(path) as opened:
        yield opened


def people(*ids: str, **slots: str) -> list[dict[str, str | None]]:
    return [{"id": one, **slots} for one in ids]


# --- keys: what is printed whole takes no further key and keeps its order -----------------------------


@pytest.mark.parametrize("request_", REQUESTS)
def test_no_printed_block_of_the_full_reply_gains_or_reorders_a_key(roster: Store, request_: dict[str, Any]) -> None:
    reply = roster.search(request_).model_dump(mode="json")
    assert list(reply["counts"]) == [
        "universe",
        "matched",
        "none",
        "not_recorded",
        "undetermined",
        "bound",
        "per_constraint",
    ]
    assert list(reply["entities"]) == ["matched", "none", "not_recorded", "undetermined"]
    assert list(reply["provenance"]) == ["declared", "extracted"]
    licensed = reply["coverage"]["completeness_licensed"]
    narrowed = reply["coverage"].get("withheld_because") == "narrowed"
    assert (
        list(reply["coverage"])
        == ["completeness_licensed"] + ["withheld_because"] * (not licensed) + ["narrowed_by"] * narrowed
    )
    for group in reply["groups"]:
        assert list(group["absence"]["split"]) == ["none", "not_recorded", "recorded"]
    for count in reply["counts"]["per_constraint"]:
        assert list(count) == [
            "index",
            "constraint",
            "status",
            "matched",
            "rows",
            "none",
            "not_recorded",
            "undetermined",
        ]
    assert list(reply["gaps"]) == ["unbound", "dropped", "uncompiled"]


@pytest.mark.parametrize("request_", REQUESTS)
def test_the_compact_reply_has_the_ten_printed_keys_and_no_other(roster: Store, request_: dict[str, Any]) -> None:
    reply = roster.search({**request_, "detail": "compact"}).model_dump(mode="json")
    ten = ["close", "complete", "detail", "incomplete_because", "map_version", "matched", "matches"]
    ten += ["more", "others", "request_id"]
    assert sorted(reply) == [k for k in ten if k != "incomplete_because" or not reply["complete"]]
    assert list(reply)[-1] == "map_version"
    assert list(reply["matched"]) == ["total", "showing", "next_offset"]
    assert list(reply["others"]) == ["ruled_out", "cannot_tell", "not_read", "no_documents"]
    assert list(reply["more"]) == ["entity", "full", "receipt", "rows"]
    assert reply["close"] == {"matches": []}
    for match in reply["matches"]:
        assert [k for k in match if k != "about"] == ["entity_id", "name", "why"]
        for line in match["why"]:
            assert list(line) == ["condition", "value", "from"]


def test_what_is_ours_stands_beside_the_printed_keys_in_the_full_reply_only(roster: Store) -> None:
    full = roster.search({"constraints": SCREENED}).model_dump(mode="json")
    assert list(full["licence"]) == ["granted", "reasons"]
    assert [list(r) for r in full["licence"]["reasons"]] == [["code", "count", "sentence", "cure"]]
    compact = roster.search({"constraints": SCREENED, "detail": "compact"}).model_dump(mode="json")
    assert "licence" not in compact


def test_what_does_not_apply_is_absent_and_what_is_not_known_is_null(roster: Store) -> None:
    full = roster.search({"constraints": SCREENED}).model_dump(mode="json")
    assert {"list_limit", "unbound_because"} & set(full) == set()
    assert (full["as_of"], full["as_of_source"]) == (None, None)
    assert full["groups"][0]["time_test"] is None
    assert full["groups"][0]["absence"]["not_recorded"][0]["denominator"] is None
    assert full["groups"][0]["absence"]["none"][0]["denominator"] == 0
    assert full["matches"][0]["name"] is None
    assert full["matches"][0]["rows"][0]["receipt"] is None
    licensed = roster.search({"constraints": HELD_ROLE}).model_dump(mode="json")
    assert licensed["coverage"] == {"completeness_licensed": True}
    whole = roster.search({"constraints": HELD_ROLE, "detail": "compact"}).model_dump(mode="json")
    assert "incomplete_because" not in whole
    assert whole["matched"]["next_offset"] is None


@pytest.mark.parametrize("detail", ["full", "compact"])
@pytest.mark.parametrize("request_", REQUESTS)
def test_a_reply_survives_json_and_validates_against_its_own_schema(
    roster: Store, request_: dict[str, Any], detail: str
) -> None:
    reply = roster.search({**request_, "detail": detail})
    said = reply.model_dump(mode="json")
    assert json.loads(json.dumps(said, allow_nan=False)) == said
    schema = type(reply).model_json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(said, schema)
    assert set(said) <= set(schema["properties"])
    assert set(schema.get("required", ())) <= set(said)


def test_the_two_schemas_are_of_two_replies() -> None:
    assert "counts" in FullReply.model_json_schema()["properties"]
    assert "others" in CompactReply.model_json_schema()["properties"]


# --- compact is a projection of full -------------------------------------------------------------------

WORDS = {"eq": "=", "ne": "≠", "in": "in", "gte": "≥", "lte": "≤"}


def projected(full: Mapping[str, Any], request_: Mapping[str, Any]) -> dict[str, Any]:
    """The compact reply written again from the full reply's JSON and the page that was asked for."""
    total, start = full["counts"]["matched"], int(request_.get("offset", 0))
    end = start + len(full["matches"])
    reachable = total
    if "entity_ids" in request_:
        reachable = sum(one in full["entities"]["matched"] for one in request_["entity_ids"])
    group_of = {i: g["index"] for g in full["groups"] for i in g["constraints"]}
    matches = []
    for match in full["matches"]:
        why = []
        for count in full["counts"]["per_constraint"]:
            asked = count["constraint"]
            for row in match["rows"]:
                if group_of.get(count["index"]) in row["satisfies_groups"]:
                    stated = {**row["slots"], **row.get("period", {})}
                    condition = f"{asked['relation']}.{asked['slot']} {WORDS[asked['op']]} {asked['value']}"
                    why.append({"condition": condition, "value": stated[asked["slot"]], "from": "record"})
                    break
        matches.append({"entity_id": match["entity_id"], "name": match["name"], "why": why})
    because = [r["code"] + ("" if r["count"] is None else f": {r['count']}") for r in full["licence"]["reasons"]]
    return {
        "detail": "compact",
        "matched": {
            "total": total,
            "showing": [full["matches"][0]["rank"], full["matches"][-1]["rank"]] if matches else [0, 0],
            "next_offset": end if matches and end < reachable else None,
        },
        "complete": full["coverage"]["completeness_licensed"],
        **({} if full["coverage"]["completeness_licensed"] else {"incomplete_because": because[:5]}),
        "matches": matches,
        "close": {"matches": []},
        "others": {
            "ruled_out": full["counts"]["none"],
            "cannot_tell": full["counts"]["undetermined"],
            "not_read": full["counts"]["not_recorded"],
            "no_documents": 0,
        },
        "map_version": full["map_version"],
    }


@pytest.mark.parametrize("request_", REQUESTS)
def test_compact_is_a_projection_of_full(roster: Store, request_: dict[str, Any]) -> None:
    full = roster.search({**request_, "detail": "full"}).model_dump(mode="json")
    compact = roster.search({**request_, "detail": "compact"}).model_dump(mode="json")
    for match in compact["matches"]:
        match.pop("about", None)
    compact.pop("request_id")
    assert sorted(compact.pop("more")) == ["entity", "full", "receipt", "rows"]
    assert compact == projected(full, request_)


# --- rule 1: groups ------------------------------------------------------------------------------------


def test_groups_are_keyed_by_relation_and_requiredness_in_the_order_of_their_first_bound_constraint() -> None:
    reply = ask(
        store({"role": people("e1", level="VP"), "check": people("e1", outcome="passed")}),
        where("role.topic", "eq", "anything"),
        {**PASSED, "required": False},
        VP,
        SALES,
        where("check.on", "gte", "2020", required=False),
        {**VP, "op": "lte", "value": "SVP", "required": False},
        PASSED,
    )
    said = [(g["index"], g["relation"], g["required"], g["constraints"]) for g in reply["groups"]]
    assert said == [(0, "check", False, [1, 4]), (1, "role", True, [2, 3]), (2, "role", False, [5]),
                    (3, "check", True, [6])]  # fmt: skip


def test_a_groups_conditions_hold_on_one_row_and_not_on_several() -> None:
    two_roles = [
        {"id": "e1", "level": "VP", "function": "Operations"},
        {"id": "e1", "level": "IC", "function": "Sales"},
        {"id": "e2", "level": "VP", "function": "Sales"},
    ]
    assert sets(ask(store({"role": two_roles}), VP, SALES)) == {"matched": ["e2"], "none": ["e1"]}


# --- rule 2: rows, cover and time ----------------------------------------------------------------------

HISTORY: dict[str, list[dict[str, str | None]]] = {
    "role": [
        {"id": "now", "level": "VP", "period_from": "2016-01", "period_to": None},
        {"id": "then", "level": "VP", "period_from": "2012-01", "period_to": "2015-06"},
        {"id": "bare", "level": "VP", "period_from": "2018", "period_to": None},
        {"id": "seen", "level": "VP", "seen_on": "2017-02"},
        {"id": "vague", "level": "VP"},
        {"id": "low", "level": "IC", "period_from": "2016-01"},
    ]
}


def test_active_inactive_undated_and_unanswerable_rows_are_counted_by_the_time_test() -> None:
    group = ask(store(HISTORY), VP, as_of="2018-03")["groups"][0]
    assert group["time_test"]["date_slot"] == "seen_on"
    rows = {k: group[f"{k}_rows"] for k in ("active", "inactive", "undated", "unanswerable")}
    assert rows == {"active": 2, "inactive": 1, "undated": 2, "unanswerable": 2}


def test_without_a_month_every_true_row_is_active_and_none_unanswerable() -> None:
    group = ask(store(HISTORY), VP)["groups"][0]
    assert (group["active_rows"], group["inactive_rows"], group["unanswerable_rows"]) == (5, 0, 0)
    assert group["undated_rows"] == 2


def test_a_row_is_dated_if_it_states_a_period_whatever_its_relation_declares() -> None:
    reply = ask(store(HISTORY), VP, as_of="2018-03")
    assert sets(reply) == {
        "matched": ["now", "seen"],
        "none": ["low", "then"],
        "undetermined": ["bare", "vague"],
    }
    assert reasons(reply) == {"undated_rows_unanswerable:role": 2}


def test_covered_are_those_with_a_row_and_those_a_statement_lists() -> None:
    group = ask(store({"check": people("e1", outcome="failed")}, looked={"check": ["e2"]}, everybody=["e3"]), PASSED)[
        "groups"
    ][0]
    assert (group["covered"], group["none"], group["not_recorded"]) == (2, 2, 1)


# --- rule 3: bound -------------------------------------------------------------------------------------


def test_when_no_constraint_could_run_everybody_is_undetermined_and_never_matched() -> None:
    reply = ask(store({"role": people("e1", "e2", level="VP")}), where("seat.level", "eq", "VP"))
    assert (reply["bound"], reply["unbound_because"]) == (False, "no_constraint_bound")
    assert sets(reply) == {"undetermined": ["e1", "e2"]}
    assert reply["counts"]["bound"] == 0
    assert reply["coverage"]["narrowed_by"] == ["constraint_unbound:0"]


def test_a_pack_without_relations_says_that_it_declares_none() -> None:
    empty = store({}, everybody=["e1"], pack=Pack.model_validate({"pack": "empty"}))
    reply = ask(empty, VP)
    assert (reply["bound"], reply["unbound_because"]) == (False, "workspace_declares_no_relation")
    assert sets(reply) == {"undetermined": ["e1"]}


def test_a_request_of_preferences_only_matches_the_universe() -> None:
    reply = ask(store({"check": people("e2", outcome="passed")}, everybody=["e1", "e2"]), {**PASSED, "required": False})
    assert reply["entities"]["matched"] == ["e2", "e1"]
    assert reply["coverage"] == {"completeness_licensed": True}


def test_a_request_of_preferences_of_which_none_could_run_matches_nobody() -> None:
    reply = ask(store({"role": people("e1", level="VP")}), where("seat.level", "eq", "VP", required=False))
    assert reply["bound"] is False
    assert sets(reply) == {"undetermined": ["e1"]}


def test_a_required_condition_that_could_not_run_is_not_made_good_by_a_preference() -> None:
    reply = ask(
        store({"role": people("e1", level="VP")}),
        where("seat.level", "eq", "VP"),
        {**VP, "required": False},
    )
    assert reply["bound"] is True
    assert sets(reply) == {"undetermined": ["e1"]}
    assert reply["coverage"]["narrowed_by"] == ["constraint_unbound:0"]


def test_an_unbound_preference_is_a_gap_that_withholds_nothing() -> None:
    reply = ask(store({"role": people("e1", level="VP")}), VP, where("role.topic", "eq", "x", required=False))
    assert reply["gaps"]["unbound"] == [{"index": 1, "reason": "vocabulary_unbound:topic"}]
    assert reply["coverage"] == {"completeness_licensed": True}


# --- rule 4: per_constraint ----------------------------------------------------------------------------


def test_a_constraint_is_counted_alone_and_without_the_month() -> None:
    reply = ask(store(HISTORY), VP, SALES, as_of="2018-03")
    alone = reply["counts"]["per_constraint"][0]
    assert (alone["matched"], alone["rows"], alone["none"], alone["undetermined"]) == (5, 5, 1, 0)
    assert reply["counts"]["matched"] == 0


def test_an_unbound_constraint_carries_nulls() -> None:
    reply = ask(store(HISTORY), VP, where("seat.level", "eq", "VP"))
    unbound = reply["counts"]["per_constraint"][1]
    assert unbound["status"] == "unbound"
    assert [v for k, v in unbound.items() if k not in ("index", "constraint", "status")] == [None] * 5


def test_joined_rows_are_never_multiplied() -> None:
    roles = people("e1", "e1", "e1", "e2", function="Sales")
    checks = people("e1", "e1", outcome="passed")
    held = store({"role": roles, "check": checks}, looked={"check": ["e2"]})
    reply = ask(held, SALES, PASSED)
    assert [c["rows"] for c in reply["counts"]["per_constraint"]] == [4, 2]
    assert reply["counts"]["matched"] == 1
    rows = reply["matches"][0]["rows"]
    assert len(rows) == len({r["row_id"] for r in rows}) == 5


# --- rule 5: narrowed_by -------------------------------------------------------------------------------


def test_reasons_stand_in_the_order_of_the_table_then_by_name_each_once() -> None:
    held = store(
        {
            "role": [
                {"id": "e1", "level": "Head", "place": "DACH", "fee": "€9", "function": "Sales"},
                {"id": "e2", "level": "VP", "place": "Germany", "fee": None, "function": "Sales"},
                {"id": "e3", "level": "VP", "place": "Nowhere", "fee": "9", "function": "Barter"},
                {"id": None, "level": "VP", "place": "Germany", "fee": "9", "function": "Sales"},
            ]
        },
        looked={"check": ["e1", "e2", "e3"]},
        everybody=["e4"],
    )
    reply = ask(
        held,
        where("role.topic", "eq", "x"),
        where("seat.level", "eq", "VP"),
        VP,
        where("role.place", "eq", "Germany"),
        where("role.fee", "gte", 5),
        where("role.function", "eq", "Sailing", required=False),
        as_of="2020-01",
    )
    assert reply["coverage"]["narrowed_by"] == [
        "constraint_unbound:0",
        "constraint_unbound:1",
        "vocabulary_unplaced:level",
        "vocabulary_unplaced:place",
        "vocabulary_coarse:place",
        "entities_not_recorded",
        "undated_rows_unanswerable:role",
        "unattributed_rows_withheld:role",
        "slot_unrecorded_rows_unanswerable:role",
        "slot_unreadable_rows_unanswerable:role",
    ]
    assert reply["coverage"]["narrowed_by"] == [r["code"] for r in reply["licence"]["reasons"]]
    assert set(reasons(reply).values()) == {None, 1, 3}


def test_a_slots_code_sums_over_relations_and_its_detail_names_relation_and_slot() -> None:
    domain = {**DOMAIN, "relations": {**DOMAIN["relations"], "seat": {"slots": {"place": {"term": "place"}}}}}
    held = store(
        {
            "role": people("e1", "e2", place="Mars"),
            "seat": [*people("e2", "e3", place="Venus"), *people("e1", place="Germany")],
        },
        looked={"role": ["e3"], "seat": ["e1", "e2", "e3"]},
        pack=Pack.model_validate(domain),
    )
    reply = ask(held, where("role.place", "eq", "US"), where("seat.place", "eq", "Germany"))
    assert sets(reply) == {"none": ["e3"], "undetermined": ["e1", "e2"]}
    assert reasons(reply) == {"vocabulary_unplaced:place": 2}
    sentence = reason(reply, "vocabulary_unplaced:place")["sentence"]
    assert "role.place: 'Mars' in 2 rows" in sentence
    assert "seat.place: 'Venus' in 1 row" in sentence


def test_a_reason_is_not_listed_for_whom_another_group_rules_out() -> None:
    held = store({"role": people("e1", level="IC"), "check": [{"id": "e1", "outcome": None}]}, looked={"check": ["e1"]})
    reply = ask(held, VP, PASSED)
    assert sets(reply) == {"none": ["e1"]}
    assert reply["coverage"] == {"completeness_licensed": True}


def test_rows_of_nobody_withhold_the_licence_and_change_no_verdict() -> None:
    rows: list[dict[str, str | None]] = [{"id": "e1", "outcome": "passed"}, {"id": " ", "outcome": "failed"}]
    reply = ask(store({"check": rows}), PASSED)
    assert sets(reply) == {"matched": ["e1"]}
    assert reasons(reply) == {"unattributed_rows_withheld:check": 1}
    preferred = ask(store({"check": rows}), {**PASSED, "required": False})
    assert preferred["coverage"] == {"completeness_licensed": True}


def test_a_relation_nobody_was_looked_at_for_is_named_instead_of_counting_entities() -> None:
    held = store({"role": people("e1", "e2", level="VP")}, looked={"check": ["e1"]})
    reply = ask(held, VP, PASSED, where("deal.firm", "eq", "Kestrel"))
    # e1 was looked at for checks and has none; e2 is open, and for deals nobody ever looked.
    assert sets(reply) == {"none": ["e1"], "not_recorded": ["e2"]}
    assert reasons(reply) == {"entities_not_recorded": 1, "relation_not_recorded:deal": 1}


def test_nobody_is_licensed_none_because_a_relation_was_never_loaded() -> None:
    reply = ask(store({"role": people("e1", level="VP")}), where("deal.firm", "ne", "Kestrel"))
    assert sets(reply) == {"not_recorded": ["e1"]}
    assert reasons(reply) == {"relation_not_recorded:deal": 1}


# --- rule 6: truncated ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "page", [{"limit": 1}, {"offset": 1}, {"offset": 3}, {"entity_ids": ["e1"]}, {"entity_ids": []}]
)
def test_matches_left_out_by_limit_offset_or_name_truncate(page: dict[str, Any]) -> None:
    reply = ask(store({"role": people("e1", "e2", "e3", level="VP")}), VP, **page)
    assert reply["truncated"] is True
    assert reply["coverage"] == {"completeness_licensed": False, "withheld_because": "truncated"}
    hidden = 3 - len(reply["matches"])
    assert reasons(reply) == {"truncated": hidden}
    compact = ask(store({"role": people("e1", "e2", "e3", level="VP")}), VP, detail="compact", **page)
    assert (compact["complete"], compact["incomplete_because"]) == (False, [f"truncated: {hidden}"])


def test_narrowed_beats_truncated() -> None:
    held = store({"role": people("e1", "e2", level="VP")}, everybody=["e3"])
    reply = ask(held, VP, limit=1)
    assert reply["truncated"] is True
    assert reply["coverage"] == {
        "completeness_licensed": False,
        "withheld_because": "narrowed",
        "narrowed_by": ["entities_not_recorded"],
    }
    compact = ask(held, VP, limit=1, detail="compact")
    assert compact["incomplete_because"] == ["entities_not_recorded: 1"]


def test_a_page_of_502_is_never_read_as_the_whole() -> None:
    held = store({"role": people(*(f"p{i:03}" for i in range(502)), level="VP")})
    reply = ask(held, VP, limit=40, detail="compact")
    assert reply["matched"] == {"total": 502, "showing": [1, 40], "next_offset": 40}
    assert (reply["complete"], reply["incomplete_because"]) == (False, ["truncated: 462"])
    totals = [v for k, v in _leaves(reply) if k == "total"]
    assert totals == [502]


def _leaves(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for k, v in value.items():
            yield from _leaves(v, k)
    elif isinstance(value, list):
        for v in value:
            yield from _leaves(v, key)
    else:
        yield key, value


# --- rule 9: expansion lines ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("constraint", "lines"),
    [
        (where("role.level", "gte", "VP"), ["level: ≥ VP → {VP, SVP} via order"]),
        (where("role.level", "lte", "vp"), ["level: ≤ VP → {IC, Director, VP} via order"]),
        (where("role.level", "eq", "Vice President"), ["level: Vice President → {VP} via synonym"]),
        (where("role.level", "eq", "vp"), ["level: VP is a term of axis level"]),
        (where("role.level", "ne", "VP"), ["level: VP is a term of axis level"]),
        (where("role.place", "eq", "World"), ["place: World → {World, DACH, US, Germany, Austria} via hierarchy"]),
        (where("role.place", "eq", "Deutschland"), ["place: Deutschland → {Germany} via synonym"]),
        (where("role.function", "eq", "Barter"), ["function: Barter is on no term of axis function"]),
        (
            where("role.place", "in", ["DACH", "US"]),
            ["place: DACH → {DACH, Germany, Austria} via hierarchy", "place: US is a term of axis place"],
        ),
        (where("role.firm", "eq", "Kestrel"), ["firm: = Kestrel"]),
        (where("role.firm", "ne", "Kestrel"), ["firm: ≠ Kestrel"]),
        (where("role.firm", "in", ["Kestrel", "Lumen"]), ["firm: in [Kestrel, Lumen]"]),
        (where("role.fee", "gte", 900), ["fee: ≥ 900"]),
        (where("role.seen_on", "lte", "2020-02"), ["seen_on: ≤ 2020-02"]),
        (where("role.period_from", "eq", "2020"), ["period_from: = 2020"]),
        (where("role.topic", "eq", "pricing"), []),
    ],
)  # fmt: skip
def test_an_expansion_line_says_what_a_constraint_became(constraint: dict[str, Any], lines: list[str]) -> None:
    assert ask(store({"role": people("e1", level="VP")}), constraint)["expansion"] == lines


# --- rule 10: ranking, lists, pages --------------------------------------------------------------------


def test_distances_are_floats_in_request_order_and_the_nearest_row_counts() -> None:
    rows = [
        {"id": "e1", "level": "SVP", "fee": "1000.5"},
        {"id": "e1", "level": "VP", "fee": "900"},
        {"id": "e2", "level": "VP", "fee": "100"},
    ]
    reply = ask(
        store({"role": rows}), where("role.fee", "gte", 100), where("role.level", "gte", "Director", required=False)
    )  # fmt: skip
    assert [(m["entity_id"], m["rank_key"]["threshold_distance"]) for m in reply["matches"]] == [
        ("e2", [0.0, 1.0]),
        ("e1", [800.0, 1.0]),
    ]
    assert all(isinstance(d, float) for m in reply["matches"] for d in m["rank_key"]["threshold_distance"])


def test_a_distance_in_dates_is_in_whole_months() -> None:
    rows = [{"id": "e1", "seen_on": "2020-01-31"}, {"id": "e2", "seen_on": "2021"}]
    reply = ask(store({"role": rows}), where("role.seen_on", "gte", "2019-12"))
    assert [(m["entity_id"], m["rank_key"]["threshold_distance"]) for m in reply["matches"]] == [
        ("e1", [1.0]),
        ("e2", [13.0]),
    ]
    # lte counts from the end of what is written: 2021 may mean December.
    reply = ask(store({"role": rows}), where("role.seen_on", "lte", "2022-01"))
    assert [(m["entity_id"], m["rank_key"]["threshold_distance"]) for m in reply["matches"]] == [
        ("e2", [1.0]),
        ("e1", [24.0]),
    ]


def test_who_states_no_distance_stands_last_with_a_null() -> None:
    rows = [{"id": "e1", "level": "Leaders"}, {"id": "e2", "level": "SVP"}]
    reply = ask(store({"role": rows}), VP)
    assert [(m["entity_id"], m["rank_key"]["threshold_distance"]) for m in reply["matches"]] == [
        ("e2", [1.0]),
        ("e1", [None]),
    ]


def test_ties_are_broken_by_the_code_points_of_the_id() -> None:
    ids = ["ä", "b", "B", "a", "10", "9", "Z", "ｚ", "😀"]
    reply = ask(store({"role": people(*ids, level="VP")}), VP)
    assert reply["entities"]["matched"] == sorted(ids)


def test_a_preference_is_satisfied_on_a_relation_with_a_required_group_by_a_row_that_satisfies_both() -> None:
    rows = [
        {"id": "e1", "level": "VP", "function": "Operations"},
        {"id": "e1", "level": "IC", "function": "Sales"},
        {"id": "e2", "level": "VP", "function": "Sales"},
    ]
    reply = ask(store({"role": rows}), VP, {**SALES, "required": False})
    assert [(m["entity_id"], m["rank_key"]["optional_groups_satisfied"]) for m in reply["matches"]] == [
        ("e2", 1),
        ("e1", 0),
    ]


def test_the_lists_of_non_matches_are_by_id_hold_200_at_most_and_say_their_total() -> None:
    ids = [f"p{i:03}" for i in range(230)]
    held = store({"role": people(*reversed(ids), level="IC")}, looked={"check": ids[:5]})
    reply = ask(held, VP)
    assert reply["entities"]["none"] == reply["none"][0]["entity_ids"] == ids[:200]
    assert (reply["none"][0]["total"], reply["counts"]["none"]) == (230, 230)
    reply = ask(held, PASSED)
    absence = reply["groups"][0]["absence"]
    assert absence["split"] == {"none": 5, "not_recorded": 225, "recorded": 0}
    assert [v["entity_id"] for v in absence["not_recorded"]] == ids[5:205]


@pytest.mark.parametrize(("detail", "default"), [("full", 50), ("compact", 25)])
def test_the_default_pages_hold_50_and_25_and_the_matched_ids_200(detail: str, default: int) -> None:
    ids = [f"p{i:03}" for i in range(230)]
    held = store({"role": people(*ids, level="VP")})
    assert len(ask(held, VP, detail=detail)["matches"]) == default
    reply = ask(held, VP, limit=500, list_limit=0)
    assert len(reply["matches"]) == 230
    assert reply["entities"]["matched"] == ids[:200]


def test_list_limit_never_touches_the_matches_or_the_counts() -> None:
    held = store({"role": [*people("e1", "e2", level="VP"), *people("e3", level="IC")]}, everybody=["e4"])
    whole, cut = ask(held, VP), ask(held, VP, list_limit=0)
    assert cut["list_limit"] == 0
    for same in ("counts", "matches", "coverage", "licence"):
        assert whole[same] == cut[same]
    assert whole["entities"]["matched"] == cut["entities"]["matched"]
    assert cut["entities"]["none"] == cut["none"][0]["entity_ids"] == []
    assert cut["groups"][0]["absence"]["not_recorded"] == []
    assert cut["groups"][0]["absence"]["split"] == whole["groups"][0]["absence"]["split"]


def test_entity_ids_delivers_the_named_with_their_rank_in_the_whole_set() -> None:
    rows = [{"id": f"p{i:03}", "level": "VP", "fee": str(1000 - i)} for i in range(260)]
    held = store({"role": rows})
    reply = ask(held, where("role.fee", "gte", 1), entity_ids=[" p000 ", "p259", "nobody", "p259"])
    assert [(m["entity_id"], m["rank"]) for m in reply["matches"]] == [("p259", 1), ("p000", 260)]
    assert reply["counts"]["matched"] == 260
    assert reply["entities"]["matched"][0] == "p259"
    assert len(reply["entities"]["matched"]) == 200


def test_a_named_entity_that_does_not_match_is_not_delivered() -> None:
    held = store({"role": [*people("e1", level="VP"), *people("e2", level="IC")]})
    reply = ask(held, VP, entity_ids=["e2"])
    assert reply["matches"] == []
    assert sets(reply) == {"matched": ["e1"], "none": ["e2"]}


def test_next_offset_of_named_entities_leads_to_them_and_ends_with_them() -> None:
    held = store({"role": people("e1", "e2", "e3", "e4", level="VP")})
    page = {"entity_ids": ["e2", "e4"], "limit": 1, "detail": "compact"}
    one = ask(held, VP, **page)
    assert one["matched"] == {"total": 4, "showing": [2, 2], "next_offset": 1}
    two = ask(held, VP, **page, offset=1)
    assert [m["entity_id"] for m in (*one["matches"], *two["matches"])] == ["e2", "e4"]
    assert two["matched"]["next_offset"] is None


# --- rule 11: rows -------------------------------------------------------------------------------------


def test_rows_are_ordered_by_the_first_group_they_satisfy_then_by_source_row() -> None:
    held = store(
        {
            "role": [*people("e1", level="VP"), *people("e1", level="IC"), *people("e1", level="SVP")],
            "check": people("e1", outcome="passed"),
        }
    )
    reply = ask(held, PASSED, VP, {**VP, "op": "eq", "value": "SVP", "required": False})
    rows = [(r["relation"], r["slots"].get("level"), r["satisfies_groups"]) for r in reply["matches"][0]["rows"]]
    assert rows == [("check", None, [0]), ("role", "VP", [1]), ("role", "SVP", [1, 2])]


def test_a_row_that_satisfies_only_a_preference_is_delivered() -> None:
    held = store({"role": people("e1", level="VP"), "check": people("e1", outcome="passed")})
    rows = ask(held, VP, {**PASSED, "required": False})["matches"][0]["rows"]
    assert [(r["relation"], r["satisfies_groups"]) for r in rows] == [("role", [0]), ("check", [1])]


def test_slots_are_sorted_stated_as_written_without_the_period_and_null_where_empty() -> None:
    row = {
        "id": "e1", "level": " Vice  President ", "firm": "KESTREL ag", "fee": "0900.50", "place": None,
        "seen_on": "€", "period_from": "2016", "period_to": None,
    }  # fmt: skip
    (match,) = ask(store({"role": [row]}), VP)["matches"]
    (said,) = match["rows"]
    assert said["slots"] == {
        "body": None,
        "fee": "0900.50",
        "firm": "KESTREL ag",
        "function": None,
        "level": " Vice  President ",
        "place": None,
        "seen_on": "€",
        "topic": None,
    }
    assert list(said["slots"]) == sorted(said["slots"])
    assert sorted(said["slot_receipts"]) == ["fee", "firm", "level", "seen_on"]
    assert {k: v for k, v in said["period"].items() if k != "receipts"} == {"period_from": "2016", "period_to": None}
    assert list(said["period"]["receipts"]) == ["period_from"], "an empty cell has no receipt"


def test_a_receipt_names_the_exports_column_and_a_constant_names_none() -> None:
    held = store(
        {"check": [{"id": "e1", "verdict": "passed", "outcome": "failed"}]},
        cells={"check.outcome": {"column": "verdict"}},
    )
    receipts = ask(held, PASSED)["matches"][0]["rows"][0]["slot_receipts"]
    assert (receipts["outcome"]["db_table"], receipts["outcome"]["db_column"]) == ("check", "verdict")
    assert receipts["outcome"]["byte_verified"] is True
    constant = store(
        {"check": [{"id": "e1", "outcome": None}]},
        cells={"check.outcome": {"column": None, "constant": "passed"}},
    )
    (row,) = ask(constant, PASSED)["matches"][0]["rows"]
    assert row["slots"]["outcome"] == "passed"
    assert row["slot_receipts"]["outcome"]["db_column"] is None


def test_a_receipt_is_read_again_and_a_cell_that_changed_since_is_told() -> None:
    held = store({"check": people("e1", outcome="passed")})
    assert "check" not in ask(held, PASSED, detail="compact")["matches"][0]["why"][0]
    held.generation().cursor().execute("UPDATE cells_0 SET outcome = 'failed'").fetchall()
    row = ask(held, PASSED)["matches"][0]["rows"][0]
    assert row["slot_receipts"]["outcome"]["byte_verified"] is False
    (line,) = ask(held, PASSED, detail="compact")["matches"][0]["why"]
    assert list(line) == ["condition", "value", "from", "check"]


# --- rule 12: about ------------------------------------------------------------------------------------


def lines_of(held: Store, *constraints: dict[str, Any]) -> dict[str, list[str] | None]:
    reply = ask(held, *constraints, detail="compact")
    return {m["entity_id"]: m.get("about") for m in reply["matches"]}


def test_about_says_what_goes_on_then_what_stands_then_what_ended() -> None:
    held = store(
        {
            "check": [{"id": "e1", "outcome": "failed", "on": "2020-02"}, {"id": "e1", "outcome": "passed"}],
            "role": [
                {"id": "e1", "level": "IC", "period_from": "2010", "period_to": "2012"},
                {"id": "e1", "level": "VP", "period_from": "2012", "period_to": "2015"},
                {"id": "e1", "level": "SVP", "period_from": "2015"},
                {"id": "e1", "level": "Director", "period_from": "2016"},
            ],
            "deal": people("e1", firm="Kestrel"),
        }
    )
    assert lines_of(held, {**VP, "required": False})["e1"] == [
        "Director (2016–now)",
        "failed, on 2020-02",
        "Kestrel",
    ]


def test_about_judges_ended_at_the_month_of_the_load_and_never_by_the_clock() -> None:
    rows: list[dict[str, str | None]] = [
        {"id": "e1", "level": "VP", "period_from": "2016", "period_to": "2018-06"},
        {"id": "e1", "level": "SVP", "period_from": "2018", "period_to": None},
    ]
    held = store({"role": rows})
    generation = held.generation()
    for loaded_at, lines in (
        # In May the older role still goes on, so the most recent row of that class is the younger one.
        ("2018-05-31T23:59:59+00:00", ["SVP (2018–now)"]),
        ("2018-06-01T00:00:00+00:00", ["SVP (2018–now)", "VP (2016–2018)"]),
    ):
        generation.catalog = generation.catalog.model_copy(update={"loaded_at": loaded_at})
        assert lines_of(held, VP)["e1"] == lines


def test_about_says_a_term_by_its_label_and_repeats_no_value_that_a_longer_one_holds() -> None:
    row = {
        "id": "e1", "level": "vp", "place": "us", "function": "Sales", "firm": "VP Sales Office",
        "fee": "900", "seen_on": "2020-01",
    }  # fmt: skip
    assert lines_of(store({"role": [row]}), VP)["e1"] == ["United States, VP Sales Office, fee 900, seen on 2020-01"]


def test_about_holds_at_most_three_lines_of_120_characters_and_is_absent_where_there_is_nothing() -> None:
    rows = [{"id": "e1", "firm": "Kestrel " * 40, "period_from": "2016", "period_to": None}]
    held = store({"role": rows}, everybody=["e2"])
    about = lines_of(held, {**VP, "required": False})
    assert about["e1"] is not None
    assert [len(line) <= 120 for line in about["e1"]] == [True]
    assert about["e1"][0].endswith("… (2016–now)")
    assert about["e2"] is None


# --- rule 13: why --------------------------------------------------------------------------------------


def test_why_says_each_condition_in_its_own_words_and_what_the_first_row_states() -> None:
    rows: list[dict[str, str | None]] = [
        {
            "id": "e1",
            "level": "Vice President",
            "firm": "Kestrel",
            "fee": "950",
            "period_from": "2016",
            "period_to": None,
        },
        {"id": "e1", "level": "SVP", "firm": "Lumen", "fee": "990", "period_from": "2018"},
    ]
    reply = ask(
        store({"role": rows, "check": people("e1", outcome="passed")}),
        where("role.level", "gte", "VP"),
        where("role.firm", "in", ["Kestrel", "Lumen"]),
        where("role.fee", "lte", 1000),
        where("role.period_from", "ne", "2020"),
        where("check.outcome", "eq", "passed", required=False),
        where("check.on", "gte", "2020", required=False),
        detail="compact",
    )
    assert reply["matches"][0]["why"] == [
        {"condition": "role.level ≥ VP", "value": "Vice President", "from": "record"},
        {"condition": "role.firm in [Kestrel, Lumen]", "value": "Kestrel", "from": "record"},
        {"condition": "role.fee ≤ 1000", "value": "950", "from": "record"},
        {"condition": "role.period_from ≠ 2020", "value": "2016", "from": "record"},
    ]


def test_without_a_criterion_not_read_is_not_recorded_and_no_documents_is_nought() -> None:
    held = store({"check": [*people("e1", outcome="failed"), {"id": "e2", "outcome": None}]}, everybody=["e3", "e4"])
    assert ask(held, PASSED, detail="compact")["others"] == {
        "ruled_out": 1,
        "cannot_tell": 1,
        "not_read": 2,
        "no_documents": 0,
    }


def test_incomplete_because_holds_at_most_five_reasons_each_with_its_count() -> None:
    held = store(
        {
            "role": [
                {"id": "e1", "level": "Head", "place": "DACH", "fee": "€9"},
                {"id": "e2", "level": "VP", "place": "Nowhere", "fee": None},
            ]
        },
        everybody=["e3"],
    )
    reply = ask(held, VP, where("role.place", "eq", "Germany"), where("role.fee", "gte", 5), UNBOUND, detail="compact")
    assert reply["incomplete_because"] == [
        "constraint_unbound:3",
        "vocabulary_unplaced:level: 1",
        "vocabulary_unplaced:place: 1",
        "vocabulary_coarse:place: 1",
        "entities_not_recorded: 1",
    ]


# --- rule 14: versions and ids -------------------------------------------------------------------------


def test_the_map_version_moves_with_a_name_and_not_with_rows() -> None:
    rows: list[dict[str, str | None]] = [{"id": "e1", "name": "Ada", "level": "VP"}]

    def version(rows: list[dict[str, str | None]], everybody: tuple[str, ...] = ()) -> str:
        return str(ask(store({"role": rows}, names=True, everybody=everybody), VP)["map_version"])

    first = version(rows)
    assert version([*rows, {"id": "e1", "name": "Ada", "level": "IC"}]) == first
    assert version([{"id": "e1", "name": "Ada", "level": "SVP"}]) == first
    assert version([{"id": "e1", "name": "Ada L.", "level": "VP"}]) != first
    assert version([{"id": "e1", "name": None, "level": "VP"}]) != first
    assert version(rows, everybody=("e2",)) != first
    assert len(first) <= 16


def test_a_name_is_what_the_map_says_and_never_derived_from_an_id() -> None:
    rows: list[dict[str, str | None]] = [
        {"id": "ada_lovelace", "name": None, "level": "VP"},
        {"id": "grace", "name": " Grace Hopper ", "level": "VP"},
    ]
    full = ask(store({"role": rows}, names=True), VP)
    compact = ask(store({"role": rows}, names=True), VP, detail="compact")
    for reply in (full, compact):
        assert [m["name"] for m in reply["matches"]] == [None, "Grace Hopper"]


def test_a_request_id_is_the_calls_own_and_all_else_is_the_same_again() -> None:
    held = store({"role": people("e1", level="VP")})
    for detail in ("full", "compact"):
        replies = [ask(held, VP, detail=detail) for _ in range(3)]
        ids = {reply.pop("request_id") for reply in replies}
        assert len(ids) == 3
        assert all(isinstance(one, str) and one for one in ids)
        assert len({json.dumps(reply) for reply in replies}) == 1


# --- more: the calls it names work when they are followed ------------------------------------------------


def test_more_names_calls_that_work_when_followed_from_any_page() -> None:
    held = store({"role": people("e1", "e2", "e3", level="VP")})
    asked = {"constraints": [VP], "detail": "compact", "limit": 1, "offset": 2}
    reply = held.search(asked).model_dump(mode="json")
    (match,) = reply["matches"]
    for name, call in reply["more"].items():
        assert call["call"] == "search"
        change = json.loads(json.dumps(call["same_request_with"]).replace("<entity_id>", match["entity_id"]))
        followed = held.search({**asked, **change}).model_dump(mode="json")
        assert [m["entity_id"] for m in followed["matches"]] == ["e3"], name
        assert followed["matches"][0]["rank"] == 3
        assert followed["counts"]["matched"] == 3
        at = [followed]
        for step in call.get("read", "").split(".") if "read" in call else []:
            at = [v for one in at for v in (one[step[:-2]] if step.endswith("[]") else [one[step]])]
        assert at


# --- rule 15: the universe -----------------------------------------------------------------------------


def test_the_universe_is_every_id_in_a_row_a_coverage_list_or_an_entity_table() -> None:
    rows = people(" e1 ", "\u00a0e1", level="VP")
    held = store({"role": rows}, looked={"check": ["e2", ""]}, everybody=["e3", "E3", "\t"])
    reply = ask(held, VP)
    assert reply["counts"]["universe"] == 4
    assert sets(reply) == {"matched": ["e1"], "not_recorded": ["E3", "e2", "e3"]}


def test_the_partition_gives_the_sets_that_the_reply_counts(roster: Store) -> None:
    for request_ in REQUESTS:
        table = roster.partition(request_)
        assert table.column_names == ["entity_id", "verdict"]
        found: dict[str, list[str]] = {}
        for one in table.to_pylist():
            found.setdefault(one["verdict"], []).append(one["entity_id"])
        reply = roster.search({**request_, "detail": "full", "list_limit": None}).model_dump(mode="json")
        listed = {k: sorted(v) for k, v in reply["entities"].items() if v}
        assert {k: sorted(v) for k, v in found.items()} == listed


# --- an unrecorded slot --------------------------------------------------------------------------------


def test_a_slot_that_no_load_wrote_leaves_everybody_undetermined_and_is_named() -> None:
    held = store({"role": [*people("e1", level="VP"), *people("e2", level="IC")]})
    for op in ("eq", "ne"):
        reply = ask(held, VP, where("role.function", op, "Sales"))
        assert sets(reply) == {"none": ["e2"], "undetermined": ["e1"]}
        assert reply["groups"][0]["unrecorded_slots"] == ["function"]
        assert reasons(reply) == {"slot_unrecorded_rows_unanswerable:role": 1}
        assert "which no load wrote" in reason(reply, "slot_unrecorded_rows_unanswerable:role")["sentence"]


def test_unrecorded_slots_name_only_what_leaves_somebody_undetermined() -> None:
    rows = [
        {"id": "e1", "level": "VP", "function": None, "firm": "Kestrel"},
        {"id": "e2", "level": None, "function": "Operations", "firm": None},
    ]
    reply = ask(store({"role": rows}), VP, SALES, where("role.firm", "eq", "Kestrel"))
    assert sets(reply) == {"none": ["e2"], "undetermined": ["e1"]}
    assert reply["groups"][0]["unrecorded_slots"] == ["function"]


@pytest.mark.parametrize("slot", sorted(PACK.relations["role"].askable()))
def test_a_condition_and_its_negation_over_empty_cells_are_never_both_licensed_empty(slot: str) -> None:
    value = {
        "level": "VP", "function": "Sales", "place": "DACH", "body": "Board", "fee": 5, "seen_on": "2020",
        "period_from": "2020", "period_to": "2020",
    }.get(slot, "x")  # fmt: skip
    held = store({"role": [{"id": "e1", "level": None}, {"id": "e2", slot: None}]})
    for op in ("eq", "ne"):
        reply = ask(held, where(f"role.{slot}", op, value))
        assert reply["coverage"]["completeness_licensed"] is False
        assert reply["counts"]["none"] == reply["counts"]["matched"] == 0
