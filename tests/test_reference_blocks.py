"""The worked example: what each printed block of the reference prints, verbatim, on the bundled roster.

Each test sends a block's request and reads the reply the way the block does; the blocks that need a server,
MCP or a compiled brief are with those surfaces.
"""
# ruff: noqa: E501 (a printed line is compared as it was printed)

from collections.abc import Iterator
from textwrap import dedent
from typing import Any

import pytest

import closedset
from closedset import load
from closedset.store import Store

PASSED = [{"relation": "screening", "slot": "outcome", "op": "eq", "value": "passed"}]
BRIEF: list[dict[str, Any]] = [
    {"relation": "held_role", "slot": "seniority", "op": "gte", "value": "VP"},
    {"relation": "held_role", "slot": "function", "op": "eq", "value": "Sales"},
    {"relation": "held_role", "slot": "geography", "op": "eq", "value": "DACH"},
    {"relation": "screening", "slot": "kind", "op": "eq", "value": "compliance"},
    *PASSED,
]


@pytest.fixture(scope="module")
def roster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    path = tmp_path_factory.mktemp("roster") / "store"
    load.load(path, "roster", sample=True)
    with closedset.open(path) as store:
        yield store


def ask(store: Store, constraints: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    reply: dict[str, Any] = store.search({"constraints": constraints, **more}).model_dump(mode="json")
    return reply


def said(*lines: object) -> str:
    return "\n".join(str(line) for line in lines)


def printed(text: str) -> str:
    return dedent(text).strip("\n")


def test_the_worked_question_finds_one_of_five_and_withholds_the_licence(roster: Store) -> None:
    body = ask(roster, BRIEF)
    counts = {k: v for k, v in body["counts"].items() if k != "per_constraint"}
    entities = {k: v for k, v in body["entities"].items() if k != "matched"}
    assert said(
        f"bound: {body['bound']} | ranking: {body['ranking']}",
        f"matched: {body['entities']['matched']}",
        f"counts: {counts}",
        f"entities: {entities}",
        f"coverage: {body['coverage']}",
    ) == printed("""
        bound: True | ranking: deterministic: optional-groups, threshold-distance, entity_id
        matched: ['halvard_quist']
        counts: {'universe': 5, 'matched': 1, 'none': 3, 'not_recorded': 1, 'undetermined': 0, 'bound': 4}
        entities: {'none': ['isolde_marbrook', 'odile_fenwright', 'teodor_brask'], 'not_recorded': ['yusuf_alderane'], 'undetermined': []}
        coverage: {'completeness_licensed': False, 'withheld_because': 'narrowed', 'narrowed_by': ['entities_not_recorded']}
    """)  # fmt: skip


def test_the_groups_say_whom_each_relation_rules_out(roster: Store) -> None:
    body = ask(roster, BRIEF)
    groups = [
        f"group {g['index']} {g['relation']} constraints {g['constraints']} | covered: {g['covered']} | "
        f"matched: {g['matched']} | none: {g['none']} | not_recorded: {g['not_recorded']}"
        for g in body["groups"]
    ]
    listings = [
        f"{listing} | group {e['group']} {e['relation']} -> {e['entity_ids']}"
        for listing in ("none", "not_recorded")
        for e in body[listing]
    ]
    assert said(*groups, *listings) == printed("""
        group 0 held_role constraints [0, 1, 2] | covered: 5 | matched: 3 | none: 2 | not_recorded: 0
        group 1 screening constraints [3, 4] | covered: 4 | matched: 2 | none: 2 | not_recorded: 1
        none | group 0 held_role -> ['odile_fenwright', 'teodor_brask']
        none | group 1 screening -> ['isolde_marbrook', 'teodor_brask']
        not_recorded | group 0 held_role -> []
        not_recorded | group 1 screening -> ['yusuf_alderane']
    """)


def test_absence_tells_looked_at_and_nothing_found_from_never_looked_at(roster: Store) -> None:
    body = ask(roster, PASSED)
    absence = body["groups"][0]["absence"]
    verdicts = [
        f"{v['entity_id']} | kind: {v['kind']} | denominator: {v['denominator']} | "
        f"declared_by: {[c['declared_by'] for c in v['coverage']]}"
        for v in absence["none"] + absence["not_recorded"]
    ]
    assert said(
        f"group none: {body['none'][0]['entity_ids']}", f"split: {absence['split']}", *verdicts
    ) == printed("""
        group none: ['isolde_marbrook', 'teodor_brask']
        split: {'none': 1, 'not_recorded': 1, 'recorded': 3}
        teodor_brask | kind: none | denominator: 0 | declared_by: ['source']
        yusuf_alderane | kind: not_recorded | denominator: None | declared_by: []
    """)


def test_each_constraint_is_counted_alone_and_its_expansion_printed(roster: Store) -> None:
    body = ask(roster, BRIEF)
    lines = []
    for entry in body["counts"]["per_constraint"]:
        c = entry["constraint"]
        lines.append(
            f"{entry['index']} {c['slot']} {c['op']} {c['value']} | {entry['status']} | matched {entry['matched']} "
            f"| rows {entry['rows']} | none {entry['none']} | not_recorded {entry['not_recorded']}"
        )
    expansion = [f"   {line}" for line in body["expansion"]]
    assert said(*lines, "expansion:", *expansion) == printed("""
        0 seniority gte VP | bound | matched 4 | rows 4 | none 1 | not_recorded 0
        1 function eq Sales | bound | matched 3 | rows 4 | none 2 | not_recorded 0
        2 geography eq DACH | bound | matched 4 | rows 5 | none 1 | not_recorded 0
        3 kind eq compliance | bound | matched 3 | rows 3 | none 1 | not_recorded 1
        4 outcome eq passed | bound | matched 2 | rows 2 | none 2 | not_recorded 1
        expansion:
           seniority: ≥ VP → {VP, SVP, C-level} via order
           function: Sales is a term of axis function
           geography: DACH → {DACH, Germany, Austria, Switzerland} via hierarchy
           kind: compliance is a term of axis kind
           outcome: passed is a term of axis outcome
    """)


def test_a_list_limit_bounds_the_lists_of_non_matches_and_nothing_else(roster: Store) -> None:
    whole = ask(roster, PASSED)
    bounded = ask(roster, PASSED, list_limit=0)
    assert said(
        f"unbounded: {whole['entities']['none']} {whole['entities']['not_recorded']} "
        f"| list_limit in the response: {'list_limit' in whole}",
        f"bounded:   {bounded['entities']['none']} {bounded['entities']['not_recorded']} "
        f"| list_limit: {bounded['list_limit']}",
        f"matches, both: {whole['entities']['matched'] == bounded['entities']['matched']} "
        f"| counts, both: {whole['counts'] == bounded['counts']} | none, counted: {bounded['none'][0]['total']}",
    ) == printed("""
        unbounded: ['isolde_marbrook', 'teodor_brask'] ['yusuf_alderane'] | list_limit in the response: False
        bounded:   [] [] | list_limit: 0
        matches, both: True | counts, both: True | none, counted: 2
    """)


def test_the_compact_reply_says_who_matched_why_and_who_they_are(roster: Store) -> None:
    reply = ask(roster, PASSED, detail="compact", limit=1)
    lines: list[object] = [
        sorted(reply),
        f"matched: {reply['matched']} | complete: {reply['complete']} {reply.get('incomplete_because')}",
    ]
    for match in reply["matches"]:
        lines.append(f"{match['entity_id']} {match['name']} {match['why']}")
        lines.append(f"  about: {match.get('about')}")
    lines.append(f"others: {reply['others']}")
    page_2 = ask(roster, PASSED, detail="compact", limit=1, offset=reply["matched"]["next_offset"])
    lines.append(f"next page: {[p['entity_id'] for p in page_2['matches']]} {page_2['matched']}")
    assert said(*lines) == printed("""
        ['close', 'complete', 'detail', 'incomplete_because', 'map_version', 'matched', 'matches', 'more', 'others', 'request_id']
        matched: {'total': 2, 'showing': [1, 1], 'next_offset': 1} | complete: False ['entities_not_recorded: 1']
        halvard_quist None [{'condition': 'screening.outcome = passed', 'value': 'passed', 'from': 'record'}]
          about: ['Austria, Director, Sales, Lumen Ridge (2019–now)', 'compliance, passed, as of 2024-02', 'Germany, VP, Vice President, Sales, Kestrel Pumps AG (2016–2018)']
        others: {'ruled_out': 2, 'cannot_tell': 0, 'not_read': 1, 'no_documents': 0}
        next page: ['odile_fenwright'] {'total': 2, 'showing': [2, 2], 'next_offset': None}
    """)  # fmt: skip


def test_the_compact_replys_calls_fetch_one_entitys_rows_and_receipts(roster: Store) -> None:
    reply = ask(roster, PASSED, detail="compact")
    person = reply["matches"][-1]["entity_id"]
    detail = ask(roster, PASSED, entity_ids=[person], detail="full")
    row = detail["matches"][0]["rows"][0]
    receipt = {k: row["slot_receipts"]["outcome"][k] for k in ("db_table", "db_column", "byte_verified")}
    assert said(
        sorted(reply["more"]),
        f"{[m['entity_id'] for m in detail['matches']] == [person]} | rank: {detail['matches'][0]['rank']} "
        f"| counts.matched: {detail['counts']['matched']}",
        f"{row['relation']} {row['slots']['outcome']} | receipt: {receipt}",
    ) == printed("""
        ['entity', 'full', 'receipt', 'rows']
        True | rank: 2 | counts.matched: 2
        screening passed | receipt: {'db_table': 'screenings', 'db_column': 'outcome', 'byte_verified': True}
    """)


def test_a_match_delivers_the_rows_that_satisfied_its_groups_with_a_receipt_per_slot(roster: Store) -> None:
    body = ask(roster, BRIEF)
    match = body["matches"][0]
    lines = [f"{match['entity_id']} | name: {match['name']} | rank: {match['rank']}"]
    for row in match["rows"]:
        receipts = sorted(
            (s, v["db_table"], v["db_column"], v["byte_verified"]) for s, v in row["slot_receipts"].items()
        )
        lines.append(f"  {row['relation']} {row['slots']} | satisfies groups {row['satisfies_groups']}")
        lines.append(
            f"    provenance_kind: {row['provenance_kind']} | receipt: {row['receipt']} | slot receipts: {receipts}"
        )
    lines.append(f"provenance split over delivered rows: {body['provenance']}")
    assert said(*lines) == printed("""
        halvard_quist | name: None | rank: 1
          held_role {'company': 'Kestrel Pumps AG', 'function': 'Sales', 'geography': 'Germany', 'seniority': 'VP', 'title': 'Vice President, Sales'} | satisfies groups [0]
            provenance_kind: declared | receipt: None | slot receipts: [('company', 'roles', 'company', True), ('function', 'roles', 'function', True), ('geography', 'roles', 'geography', True), ('seniority', 'roles', 'seniority', True), ('title', 'roles', 'title', True)]
          screening {'as_of': '2024-02', 'kind': 'compliance', 'outcome': 'passed'} | satisfies groups [1]
            provenance_kind: declared | receipt: None | slot receipts: [('as_of', 'screenings', 'screened_on', True), ('kind', 'screenings', 'kind', True), ('outcome', 'screenings', 'outcome', True)]
        provenance split over delivered rows: {'declared': 2, 'extracted': 0}
    """)  # fmt: skip


def test_what_could_not_run_is_a_gap_that_withholds_the_licence(roster: Store) -> None:
    body = ask(
        roster,
        [
            {"relation": "held_role", "slot": "function", "op": "eq", "value": "Sales"},
            {"relation": "engagement", "slot": "topic", "op": "eq", "value": "pricing"},
            {"relation": "board_seat", "slot": "company", "op": "eq", "value": "Sable Point"},
        ],
    )
    gaps = [f"unbound {gap['index']} -> {gap['reason']}" for gap in body["gaps"]["unbound"]]
    assert said(
        *gaps,
        f"dropped: {body['gaps']['dropped']} | uncompiled: {body['gaps']['uncompiled']}",
        f"matched: {body['entities']['matched']}",
        f"coverage: {body['coverage']}",
    ) == printed("""
        unbound 1 -> vocabulary_unbound:topic
        unbound 2 -> relation_unknown:board_seat
        dropped: [] | uncompiled: []
        matched: ['halvard_quist', 'isolde_marbrook', 'yusuf_alderane']
        coverage: {'completeness_licensed': False, 'withheld_because': 'narrowed', 'narrowed_by': ['constraint_unbound:1', 'constraint_unbound:2']}
    """)  # fmt: skip


def test_a_constraint_that_never_made_sense_is_refused(roster: Store) -> None:
    lines = []
    for constraint in (
        {"relation": "held_role", "slot": "seniority", "op": "in", "value": "VP"},
        {"relation": "engagement", "slot": "hourly_rate_usd", "op": "gte", "value": "1,5"},
        {"relation": "held_role", "slot": "company", "op": "gte", "value": "Kestrel"},
    ):
        with pytest.raises(closedset.RequestRefused) as refused:
            ask(roster, [constraint])
        lines.append(
            f"{refused.value.status} {refused.value.detail['type']} | {refused.value.detail['title']}"
        )
    with pytest.raises(closedset.RequestRefused) as refused:
        ask(roster, [])
    lines.append(f"{refused.value.status} {refused.value.detail['title']}")
    assert said(*lines) == printed("""
        422 search_constraint_invalid | constraints[0] is malformed
        422 search_constraint_invalid | a constraint asks its slot something its type cannot answer
        422 search_constraint_invalid | a constraint asks its slot something its type cannot answer
        422 `constraints` is empty
    """)


def test_a_preference_and_a_threshold_order_the_set_and_never_change_it(roster: Store) -> None:
    preference = ask(
        roster,
        [
            {"relation": "held_role", "slot": "function", "op": "eq", "value": "Sales"},
            {
                "relation": "screening",
                "slot": "outcome",
                "op": "eq",
                "value": "passed",
                "required": False,
            },
        ],
    )
    preferred = [
        (m["rank"], m["entity_id"], m["rank_key"]["optional_groups_satisfied"]) for m in preference["matches"]
    ]
    threshold = ask(
        roster, [{"relation": "held_role", "slot": "seniority", "op": "gte", "value": "Director"}]
    )
    near = [(m["rank"], m["entity_id"], m["rank_key"]["threshold_distance"]) for m in threshold["matches"]]
    assert said(
        f"preference: {preferred} | licensed: {preference['coverage']['completeness_licensed']}",
        f"threshold: {near}",
    ) == printed("""
        preference: [(1, 'halvard_quist', 1), (2, 'isolde_marbrook', 0), (3, 'yusuf_alderane', 0)] | licensed: True
        threshold: [(1, 'halvard_quist', [0.0]), (2, 'odile_fenwright', [0.0]), (3, 'yusuf_alderane', [1.0]), (4, 'isolde_marbrook', [2.0]), (5, 'teodor_brask', [3.0])]
    """)  # fmt: skip


def test_a_page_of_a_closed_set_is_truncated_and_says_so(roster: Store) -> None:
    body = ask(roster, [{"relation": "held_role", "slot": "seniority", "op": "eq", "value": "VP"}], limit=1)
    assert said(
        f"matches on the page: {[m['entity_id'] for m in body['matches']]} | truncated: {body['truncated']}",
        f"every match: {body['entities']['matched']} | counts.matched: {body['counts']['matched']}",
        body["coverage"],
    ) == printed("""
        matches on the page: ['halvard_quist'] | truncated: True
        every match: ['halvard_quist', 'yusuf_alderane'] | counts.matched: 2
        {'completeness_licensed': False, 'withheld_because': 'truncated'}
    """)


def test_a_month_asks_who_held_the_role_then(roster: Store) -> None:
    vp_in_dach = [
        {"relation": "held_role", "slot": "seniority", "op": "gte", "value": "VP"},
        {"relation": "held_role", "slot": "geography", "op": "eq", "value": "DACH"},
    ]
    lines = []
    for month in (None, "2018-01", "2020-01"):
        body = ask(roster, vp_in_dach, **({"as_of": month} if month else {}))
        group = body["groups"][0]
        lines.append(
            f"{month} -> {body['entities']['matched']} | active rows: {group['active_rows']} "
            f"| inactive rows: {group['inactive_rows']} | as_of_source: {body['as_of_source']}"
        )
    lines.append(body["groups"][0]["time_test"]["rule"])
    assert said(*lines) == printed("""
        None -> ['halvard_quist', 'yusuf_alderane', 'isolde_marbrook'] | active rows: 3 | inactive rows: 0 | as_of_source: None
        2018-01 -> ['halvard_quist'] | active rows: 1 | inactive rows: 2 | as_of_source: request
        2020-01 -> ['isolde_marbrook'] | active rows: 1 | inactive rows: 2 | as_of_source: request
        dated rows: period_from ≤ 2020-01 and (period_to open or period_to > 2020-01); undated rows cannot be placed at 2020-01: the relation declares no date slot — unanswerable
    """)  # fmt: skip


def test_a_month_places_undated_rows_by_the_relations_one_date_slot(roster: Store) -> None:
    body = ask(roster, PASSED, as_of="2024-01")
    group = body["groups"][0]
    assert said(
        f"matched: {body['entities']['matched']} | none: {body['entities']['none']}",
        f"undated rows: {group['undated_rows']} | active: {group['active_rows']} "
        f"| inactive: {group['inactive_rows']} | date slot: {group['time_test']['date_slot']}",
        group["time_test"]["rule"],
    ) == printed("""
        matched: ['odile_fenwright'] | none: ['halvard_quist', 'isolde_marbrook', 'teodor_brask']
        undated rows: 2 | active: 1 | inactive: 1 | date slot: as_of
        dated rows: period_from ≤ 2024-01 and (period_to open or period_to > 2024-01); undated rows: current, and the whole of as_of ≤ 2024-01 (a as_of whose span straddles 2024-01, such as a bare year, is unanswerable)
    """)  # fmt: skip


def test_a_brief_without_a_model_is_unavailable_and_with_constraints_beside_it_refused(roster: Store) -> None:
    with pytest.raises(closedset.CompileUnavailable) as unavailable:
        roster.search({"brief": "VP-level Sales leaders in DACH."})
    with pytest.raises(closedset.RequestRefused) as refused:
        roster.search({"brief": "VP-level Sales leaders in DACH.", "constraints": BRIEF[:1]})
    assert said(
        f"{unavailable.value.status} {unavailable.value.body}",
        f"{refused.value.status} {refused.value.detail['title']}",
    ) == printed("""
        503 {'type': 'compile_unavailable', 'reason': 'compile requires a model; pass constraints'}
        422 send exactly one of `brief` and `constraints`
    """)
