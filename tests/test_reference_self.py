"""The two proofs agree with each other, and the reference with every number the documentation prints."""

import csv
from typing import Any

import pytest
from tests import reference, worlds
from tests.strategies import Store, losses, tiny_store

from closedset import mapping, pack

ROSTER = pack.pack_file("roster").parent


@pytest.mark.parametrize("block", range(6))
def test_an_answer_claims_what_every_world_holds_and_rules_out_what_none_holds(block: int) -> None:
    for seed in range(block * 50, block * 50 + 50):
        store = tiny_store(seed)
        lost = losses(seed, store) if seed % 4 == 0 else ({}, {})
        for request in store.requests:
            found = contradicted(store, request, *lost)
            assert found is None, f"tiny_store({seed}): {request}: {found}"


def contradicted(
    store: Store, request: dict[str, Any], withheld: dict[str, list[str]], unattributed: dict[str, int]
) -> str | None:
    """What the worlds say against the reference's answer; nothing when the request is refused."""
    try:
        answer = reference.answer(*store[:3], request, withheld, unattributed, store.said)
    except reference.Refused:
        return None
    of_nobody = any(code.startswith("unattributed") for code, _ in answer.reasons)
    return worlds.contradiction(
        worlds.memberships(*store[:3], request, withheld, store.said),
        answer.verdicts,
        answer.licensed,
        exact=worlds.slots_named_once(request, store.pack),
        whole=worlds.everything_asked(request, store.pack) and not of_nobody,
    )


# --- the worked example: five people, six held roles, three screenings --------------------------------


def asked(place: str, op: str, value: str, **more: Any) -> dict[str, Any]:
    relation, slot = place.split(".")
    return {"relation": relation, "slot": slot, "op": op, "value": value, **more}


VP = asked("held_role.seniority", "gte", "VP")
SALES = asked("held_role.function", "eq", "Sales")
DACH = asked("held_role.geography", "eq", "DACH")
PASSED = asked("screening.outcome", "eq", "passed")
BRIEF = [VP, SALES, DACH, asked("screening.kind", "eq", "compliance"), PASSED]


def ask(*constraints: dict[str, Any], **more: Any) -> reference.Answer:
    roster = pack.load("roster")
    tables = {}
    for name in ("roles", "screenings", "screening_checked"):
        with (ROSTER / "data" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
            tables[name] = list(csv.DictReader(file))
    mapped = mapping.load(ROSTER / "map.yaml", roster)
    return reference.answer(roster, mapped, tables, {"constraints": list(constraints), **more})


def of(answer: reference.Answer, verdict: str) -> list[str]:
    return sorted(entity for entity, one in answer.verdicts.items() if one == verdict)


def test_the_brief_is_answered_and_its_licence_withheld() -> None:
    answer = ask(*BRIEF)
    assert answer.bound
    assert [entity for entity, *_ in answer.ranking] == ["halvard_quist"]
    assert answer.counts == {
        "universe": 5,
        "matched": 1,
        "none": 3,
        "not_recorded": 1,
        "undetermined": 0,
        "bound": 4,
    }
    assert of(answer, "none") == ["isolde_marbrook", "odile_fenwright", "teodor_brask"]
    assert of(answer, "not_recorded") == ["yusuf_alderane"]
    assert answer.reasons == [("entities_not_recorded", 1)]


def test_conditions_on_one_relation_hold_on_one_row() -> None:
    keys = ("index", "relation", "constraints", "covered", "matched", "none", "not_recorded")
    groups = ask(*BRIEF).groups
    assert [tuple(group[key] for key in keys) for group in groups] == [
        (0, "held_role", [0, 1, 2], 5, 3, 2, 0),
        (1, "screening", [3, 4], 4, 2, 2, 1),
    ]
    assert [group["ids"]["none"] for group in groups] == [
        ["odile_fenwright", "teodor_brask"],
        ["isolde_marbrook", "teodor_brask"],
    ]
    assert [group["ids"]["not_recorded"] for group in groups] == [[], ["yusuf_alderane"]]


def test_absence_is_stronger_than_none() -> None:
    (group,) = ask(PASSED).groups
    assert group["ids"]["none"] == ["isolde_marbrook", "teodor_brask"]
    assert group["split"] == {"none": 1, "not_recorded": 1, "recorded": 3}


def test_each_constraint_is_counted_alone_and_its_expansion_printed() -> None:
    answer = ask(*BRIEF)
    keys = ("index", "status", "matched", "rows", "none", "not_recorded")
    assert [tuple(one[key] for key in keys) for one in answer.per_constraint] == [
        (0, "bound", 4, 4, 1, 0),
        (1, "bound", 3, 4, 2, 0),
        (2, "bound", 4, 5, 1, 0),
        (3, "bound", 3, 3, 1, 1),
        (4, "bound", 2, 2, 2, 1),
    ]
    assert answer.expansion == [
        "seniority: ≥ VP → {VP, SVP, C-level} via order",
        "function: Sales is a term of axis function",
        "geography: DACH → {DACH, Germany, Austria, Switzerland} via hierarchy",
        "kind: compliance is a term of axis kind",
        "outcome: passed is a term of axis outcome",
    ]


@pytest.mark.parametrize(
    ("month", "matched", "active", "inactive"),
    [
        (None, ["halvard_quist", "yusuf_alderane", "isolde_marbrook"], 3, 0),
        ("2018-01", ["halvard_quist"], 1, 2),
        ("2020-01", ["isolde_marbrook"], 1, 2),
    ],
)
def test_a_month_tests_the_rows(month: str | None, matched: list[str], active: int, inactive: int) -> None:
    answer = ask(VP, DACH, **({"as_of": month} if month else {}))
    (group,) = answer.groups
    assert [entity for entity, *_ in answer.ranking] == matched
    assert (group["active_rows"], group["inactive_rows"]) == (active, inactive)
    assert group["time_test"] == (
        month
        and {
            "rule": f"dated rows: period_from ≤ {month} and (period_to open or period_to > {month}); undated "
            f"rows cannot be placed at {month}: the relation declares no date slot — unanswerable",
            "date_slot": None,
        }
    )


def test_an_undated_row_counts_by_its_one_date_slot() -> None:
    answer = ask(PASSED, as_of="2024-01")
    (group,) = answer.groups
    assert of(answer, "matched") == ["odile_fenwright"]
    assert of(answer, "none") == ["halvard_quist", "isolde_marbrook", "teodor_brask"]
    assert (group["undated_rows"], group["active_rows"], group["inactive_rows"]) == (2, 1, 1)
    assert group["time_test"] == {
        "rule": "dated rows: period_from ≤ 2024-01 and (period_to open or period_to > 2024-01); undated "
        "rows: current, and the whole of as_of ≤ 2024-01 (a as_of whose span straddles 2024-01, such as a "
        "bare year, is unanswerable)",
        "date_slot": "as_of",
    }


def test_every_row_that_satisfies_a_group_is_delivered_once() -> None:
    rows = ask(*BRIEF).rows["halvard_quist"]
    assert [(row.relation, row.table, row.ordinal, row.slots, row.satisfies_groups) for row in rows] == [
        (
            "held_role",
            "roles",
            0,
            {
                "company": "Kestrel Pumps AG",
                "function": "Sales",
                "geography": "Germany",
                "seniority": "VP",
                "title": "Vice President, Sales",
            },
            [0],
        ),
        ("screening", "screenings", 0, {"as_of": "2024-02", "kind": "compliance", "outcome": "passed"}, [1]),
    ]


def test_what_cannot_run_is_a_gap_and_withholds_the_licence() -> None:
    answer = ask(
        SALES,
        asked("engagement.topic", "eq", "pricing"),
        asked("board_seat.company", "eq", "Sable Point"),
    )
    assert answer.unbound == [(1, "vocabulary_unbound:topic"), (2, "relation_unknown:board_seat")]
    assert of(answer, "matched") == ["halvard_quist", "isolde_marbrook", "yusuf_alderane"]
    assert answer.reasons == [("constraint_unbound:1", None), ("constraint_unbound:2", None)]


@pytest.mark.parametrize(
    ("constraint", "title"),
    [
        (asked("held_role.seniority", "in", "VP"), "constraints[0] is malformed"),
        (asked("engagement.hourly_rate_usd", "gte", "1,5"), reference.INVALID),
        (asked("held_role.company", "gte", "Kestrel"), reference.INVALID),
    ],
)
def test_a_constraint_that_never_made_sense_is_refused(constraint: dict[str, Any], title: str) -> None:
    with pytest.raises(reference.Refused) as refused:
        ask(constraint)
    assert refused.value.title == title


def test_no_constraint_at_all_is_refused() -> None:
    with pytest.raises(reference.Refused, match="`constraints` is empty"):
        ask()


def test_a_preference_moves_people_up_and_withholds_nothing() -> None:
    answer = ask(SALES, {**PASSED, "required": False})
    assert [(entity, liked) for entity, liked, _ in answer.ranking] == [
        ("halvard_quist", 1),
        ("isolde_marbrook", 0),
        ("yusuf_alderane", 0),
    ]
    assert answer.licensed


def test_a_threshold_ranks_the_nearest_first() -> None:
    answer = ask(asked("held_role.seniority", "gte", "Director"))
    assert [(entity, distances) for entity, _, distances in answer.ranking] == [
        ("halvard_quist", [0.0]),
        ("odile_fenwright", [0.0]),
        ("yusuf_alderane", [1.0]),
        ("isolde_marbrook", [2.0]),
        ("teodor_brask", [3.0]),
    ]
