"""`closedset diff`: whoever moved between two generations is who two answers say, each with a cause that is true."""

import csv
import io
import json
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests import strategies as drawn
from tests.command import run
from tests.said import NOTHING
from tests.test_engine_agrees import load_drawn

import closedset
import closedset.load
from closedset.diff import Comparison, compare
from closedset.errors import RequestRefused, StoreRefused
from closedset.pack import Pack
from closedset.store import Store

PACK: dict[str, Any] = {
    "pack": "people",
    "axes": {
        "outcome": {"terms": ["passed", "failed"]},
        "place": {"tree": {"DACH": ["Germany", "Austria"]}, "terms": ["France"]},
    },
    "relations": {
        "check": {"slots": {"outcome": {"term": "outcome"}, "place": {"term": "place"}, "fee": "number", "by": "text"}},
        "role": {"dated": True, "slots": {"title": "text"}},
    },
}
MAP: dict[str, Any] = {
    "source": "hr",
    "entities": [{"from": "people", "entity": "id"}],
    "rows": [
        {
            "relation": "check",
            "from": "checks",
            "entity": "id",
            "slots": {"outcome": "outcome", "place": "place", "fee": "fee", "by": "by"},
            "looked_at": {"listed": "asked.id"},
        },
        {
            "relation": "role",
            "from": "roles",
            "entity": "id",
            "slots": {"title": "title"},
            "period": ["since", "until"],
            "looked_at": {"every": "people.id"},
        },
    ],
}
CHECKS = "id,outcome,place,fee,by"
EXPORT = {
    "people": "id\ne1\ne2\ne3\ne4\n",
    "asked": "id\ne1\ne2\ne3\n",
    "checks": f"{CHECKS}\ne1,passed,Germany,1,x\ne2,failed,Austria,2,x\n",
    "roles": "id,title,since,until\ne1,Cook,2020-01,\ne2,Cook,2019-01,2021-06\n",
}
PASSED = ("-w", "check.outcome = passed")


def load(folder: Path, pack: dict[str, Any] | None = None, mapping: dict[str, Any] | None = None, **files: str) -> None:
    """Load the export above with some of its files, the pack or the map replaced."""
    export = folder / "export"
    export.mkdir(exist_ok=True)
    for name, text in {**EXPORT, **files}.items():
        (export / f"{name}.csv").write_text(text, encoding="utf-8")
    (folder / "pack.yaml").write_text(json.dumps({**PACK, **(pack or {})}), encoding="utf-8")
    (folder / "map.yaml").write_text(json.dumps({**MAP, **(mapping or {})}), encoding="utf-8")
    closedset.load.load(folder / "s", folder / "pack.yaml", [export], accept_shrink=True, keep=5)


def diff(folder: Path, *arguments: str) -> dict[str, Any]:
    code, out, err = run("diff", folder / "s", *arguments, "--format", "json")
    assert code == 0, err
    said: dict[str, Any] = json.loads(out)
    return said


def causes(said: dict[str, Any]) -> dict[tuple[str, str | None, str | None], list[str]]:
    return {(c["entity_id"], c["was"], c["now"]): [cause["said"] for cause in c["causes"]] for c in said["changed"]}


HEAD = f"{CHECKS}\n"
NO_LONGER = "condition runs otherwise: condition 0 does not run in generation 2 (slot_unknown:by)"
E1, E2 = "e1,passed,Germany,1,x\n", "e2,failed,Austria,2,x\n"


def axes(**changed: Any) -> dict[str, Any]:
    return {"axes": {**PACK["axes"], **changed}}


def slots(**mapped: Any) -> dict[str, Any]:
    return {"rows": [{**MAP["rows"][0], "slots": mapped}, MAP["rows"][1]]}


CASES: dict[str, tuple[dict[str, Any], tuple[str, ...], dict[tuple[str, str | None, str | None], list[str]]]] = {
    "nothing that is asked changed": ({"checks": f"{HEAD}e2,failed,France,7,y\ne1,passed,Austria,9,z\n"}, PASSED, {}),
    "a row gained": (
        {"checks": f"{HEAD}{E1}{E2}e3,Passed ,,,\n"},
        PASSED,
        {("e3", "none", "matched"): ["check: row gained: outcome 'Passed ' (checks.csv row 3)"]},
    ),
    "a row lost, and nobody looked any more": (
        {"checks": HEAD + E2, "asked": "id\ne2\ne3\n"},
        PASSED,
        {
            ("e1", "matched", "not_recorded"): [
                "check: row lost: outcome 'passed' (checks.csv row 1)",
                "check: coverage lost: source hr, listed: asked.id",
            ]
        },
    ),
    "a cell changed, in another place": (
        {"checks": f"{HEAD}{E2}e1,paSSed?,Germany,1,x\n"},
        PASSED,
        {
            ("e1", "matched", "undetermined"): [
                "check: row changed: outcome 'passed' → 'paSSed?' (on no term) (checks.csv row 1 → checks.csv row 2)"
            ]
        },
    ),
    "of several rows the one that decides": (
        {"checks": f"{HEAD}e1,failed,Germany,1,x\ne1,failed,France,3,x\n{E2}"},
        PASSED,
        {("e1", "matched", "none"): ["check: row changed: outcome 'passed' → 'failed' (checks.csv row 1)"]},
    ),
    "coverage gained": (
        {"asked": "id\ne1\ne2\ne3\ne4\n"},
        PASSED,
        {("e4", "not_recorded", "none"): ["check: coverage gained: source hr, listed: asked.id"]},
    ),
    "a row that cannot be read": (
        {"checks": f"{HEAD}{E1}{E2}e3,passed\n"},
        PASSED,
        {
            ("e3", "none", "undetermined"): [
                "check: withheld row gained: checks.csv:4: Expected Number of Columns: 5 Found: 2: e3,passed"
            ]
        },
    ),
    "an entity new to the universe, and one gone from it": (
        {"people": "id\ne1\ne2\ne3\ne5\n"},
        PASSED,
        {
            ("e5", None, "not_recorded"): ["entity gained: named by people.id (hr) in generation 2"],
            ("e4", "not_recorded", None): ["entity lost: named by people.id (hr) in generation 1"],
        },
    ),
    "a new entity with a row": (
        {"checks": f"{HEAD}{E1}{E2}e9,passed,,,\n"},
        PASSED,
        {
            ("e9", None, "matched"): [
                "entity gained: named by checks.id (hr) in generation 2",
                "check: row gained: outcome 'passed' (checks.csv row 3)",
            ]
        },
    ),
    "a spelling placed on a term": (
        {"pack": axes(outcome={"terms": ["passed", "fail"], "synonyms": {"passed": ["failed"]}})},
        PASSED,
        {
            ("e2", "none", "matched"): [
                "check: row read otherwise: outcome 'failed' was the term failed, is the term passed (checks.csv row 2)"
            ]
        },
    ),
    "a term moved in its tree": (
        {"pack": axes(place={"tree": {"DACH": ["Germany"]}, "terms": ["France", "Austria"]})},
        ("-w", "check.place = DACH"),
        {
            ("e2", "matched", "none"): [
                "check: row judged otherwise: place 'Austria': place: DACH → {DACH, Germany, Austria} via hierarchy "
                "became place: DACH → {DACH, Germany} via hierarchy (checks.csv row 2)"
            ]
        },
    ),
    "a wider term that stands for itself now": (
        {
            "first": {"checks": f"{HEAD}{E1}{E2}e3,passed,DACH,,\n"},
            "checks": f"{HEAD}{E1}{E2}e3,passed,DACH,,\n",
            "pack": axes(place={**PACK["axes"]["place"], "interior": "exact"}),
        },
        ("-w", "check.place = Germany"),
        {
            ("e3", "undetermined", "none"): [
                "check: row judged otherwise: place 'DACH': "
                "the pack says otherwise what a wider term stands for (checks.csv row 3)"
            ]
        },
    ),
    "another reading of numbers": (
        {
            "first": {"checks": f'{HEAD}e1,passed,Germany,"1,5",x\n{E2}'},
            "checks": f'{HEAD}e1,passed,Germany,"1,5",x\n{E2}',
            "mapping": slots(fee={"column": "fee", "decimal": ","}),
        },
        ("-w", "check.fee >= 1"),
        {
            ("e1", "undetermined", "matched"): [
                "check: row read otherwise: fee '1,5' was unreadable, is 1.5 (checks.csv row 1)"
            ]
        },
    ),
    "a condition that can no longer run": (
        {
            "pack": {"relations": {**PACK["relations"], "check": {"slots": {"outcome": {"term": "outcome"}}}}},
            "mapping": slots(outcome="outcome"),
        },
        ("-w", "check.by = x"),
        {
            (e, was, "undetermined"): [NO_LONGER]
            for e, was in (("e1", "matched"), ("e2", "matched"), ("e3", "none"), ("e4", "not_recorded"))
        },
    ),
    "a period that ends": (
        {"roles": "id,title,since,until\ne1,Cook,2020-01,2024-01\ne2,Cook,2019-01,2021-06\n"},
        ("-w", "role.title = cook", "--as-of", "2024-01"),
        {("e1", "matched", "none"): ["role: row changed: period_to empty → '2024-01' (roles.csv row 1)"]},
    ),
    "two relations, the one that moved": (
        {"roles": "id,title,since,until\ne2,Cook,2019-01,2021-06\n"},
        (*PASSED, "-w", "role.title = cook"),
        {
            ("e1", "matched", "none"): [
                "role: row lost: title 'Cook' (roles.csv row 1)",
            ]
        },
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_whoever_moved_is_named_with_what_moved_them(name: str, tmp_path: Path) -> None:
    changes, asked, expected = CASES[name]
    load(tmp_path, **changes.get("first", {}))
    load(tmp_path, **{name: text for name, text in changes.items() if name != "first"})
    said = diff(tmp_path, *asked)
    assert causes(said) == expected
    back = diff(tmp_path, "2..1", *asked)
    assert {(c["entity_id"], c["now"], c["was"]) for c in back["changed"]} == {
        (c["entity_id"], c["was"], c["now"]) for c in said["changed"]
    }


def test_both_licences_stand_beside_the_moves(tmp_path: Path) -> None:
    load(tmp_path)
    load(tmp_path, asked="id\ne1\ne2\ne3\ne4\n")
    said = diff(tmp_path, *PASSED)
    assert [(s["generation"], s["licence"]["granted"]) for s in (said["former"], said["latter"])] == [
        (1, False), (2, True)
    ]  # fmt: skip
    assert [r["code"] for r in said["former"]["licence"]["reasons"]] == ["entities_not_recorded"]
    code, out, _ = run("diff", tmp_path / "s", *PASSED)
    assert code == 0
    for text in (
        "licence withheld: entities_not_recorded (1)", "licence granted", "nothing in the world has changed",
        "not recorded → none: it was open before; now it is known", "showing 1 of 1 that moved",
    ):  # fmt: skip
        assert text in out
    (matrix,) = [line.split() for line in out.splitlines() if line.split()[:2] == ["not", "recorded"]][:1]
    assert matrix == ["not", "recorded", "0", "1", "0", "0", "0", "1"]


def test_the_formats_agree_and_a_limit_bounds_what_is_explained(tmp_path: Path) -> None:
    load(tmp_path)
    load(tmp_path, checks=f"{HEAD}e1,failed,,,\ne2,passed,,,\ne3,passed,,,\ne4,passed,,,\n")
    said = diff(tmp_path, *PASSED)
    assert said["total"] == len(said["changed"]) == 4
    _, out, err = run("diff", tmp_path / "s", "1..2", *PASSED, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert {(r["entity_id"], r["was"], r["now"], r["said"]) for r in rows} == {
        (c["entity_id"], c["was"], c["now"], cause["said"]) for c in said["changed"] for cause in c["causes"]
    }
    assert "generation 1 (load, hr, " in err
    lines = run("diff", tmp_path / "s", "1..", *PASSED, "--format", "jsonl", "--limit", "3")[1].splitlines()
    assert [json.loads(line) for line in lines] == said["changed"][:3]
    request = tmp_path / "q.json"
    asked = {"constraints": [{"relation": "check", "slot": "outcome", "op": "eq", "value": "passed"}]}
    request.write_text(json.dumps(asked), encoding="utf-8")
    assert diff(tmp_path, "--question", str(request)) == said
    with closedset.open(tmp_path / "s") as store:
        found = store.diff(asked)
    assert [c.entity_id for c in found.changed] == [c["entity_id"] for c in said["changed"]]
    assert found.entities.to_pylist()[0] == {"entity_id": "e2", "was": "none", "now": "matched"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("1..2", *PASSED), "generation 2 is not held; there are: 1"),
        (PASSED, "generation before 1 is not held"),
        (("1-2", *PASSED), "write A..B"),
        (("1..1",), "nothing is asked"),
    ],
)
def test_what_cannot_be_compared_is_refused(arguments: tuple[str, ...], said: str, tmp_path: Path) -> None:
    load(tmp_path)
    code, out, err = run("diff", tmp_path / "s", *arguments)
    assert (code, out) == (2, "")
    assert said in err


def test_a_brief_and_a_store_in_memory_are_not_compared(tmp_path: Path) -> None:
    load(tmp_path)
    with Store(tmp_path / "s", number=1) as one:
        with pytest.raises(RequestRefused, match="save what it becomes"):
            compare(one.generation(), one.generation(), {"brief": "who passed?"})
        with pytest.raises(StoreRefused, match="one generation alone"):
            one.diff({"brief": "who passed?"})


# --- any two generations ------------------------------------------------------------------------------------


def later(rng: random.Random, one: drawn.Store) -> drawn.Store:
    """The same domain some time later: rows gone, doubled and altered, spellings moved, corrections made or undone."""
    tables = {}
    for name, rows in one.tables.items():
        kept = [dict(row) for row in rows if rng.random() > 0.2]
        for row in kept:
            other = rng.choice(rows)
            for column in row:
                if rng.random() < 0.1:
                    row[column] = other[column]
        kept += [dict(rng.choice(rows)) for _ in range(2) if rows and rng.random() < 0.4]
        rng.shuffle(kept)
        tables[name] = kept
    axes = {name: axis.model_dump() for name, axis in one.pack.axes.items()}
    for axis in axes.values():
        if rng.random() < 0.3:
            axis["synonyms"] = {}
        if rng.random() < 0.3:
            axis["tree"] = {parent: below[:1] for parent, below in axis["tree"].items()}
        if rng.random() < 0.2:
            axis["interior"] = "exact" if axis["interior"] == "member" else "member"
    try:
        pack = Pack.model_validate({**one.pack.model_dump(), "axes": axes})
    except ValueError:
        pack = one.pack
    corrections = [c for c in one.said.corrections if c[2] < len(tables[c[1]])]
    still = tuple(c for c in corrections if (tables[c[1]][c[2]]["id"] or "").strip())
    said = rng.choice([NOTHING, replace(one.said, corrections=still)])
    return one._replace(pack=pack, tables=tables, said=said)


def verdicts(store: Store, asked: dict[str, Any]) -> dict[str, str]:
    return {row["entity_id"]: row["verdict"] for row in store.partition(asked).to_pylist()}


@pytest.mark.parametrize("seed", range(12))
def test_of_any_two_generations_the_moves_are_the_answers_and_every_move_has_a_cause(seed: int) -> None:
    one = drawn.random_store(seed)
    with load_drawn(one) as former, load_drawn(later(random.Random(seed), one)) as latter:
        for asked in one.requests:
            try:
                was, now = (verdicts(store, asked) for store in (former, latter))
            except RequestRefused:
                continue
            found = Comparison(former.generation(), latter.generation(), asked)
            moves = {e: (was.get(e), now.get(e)) for e in {*was, *now}}
            assert {k: n for k, n in found.moves.items() if n} == Counter(moves.values())
            changed = list(found.explained())
            assert {c.entity_id: (c.was, c.now) for c in changed} == {e: m for e, m in moves.items() if m[0] != m[1]}
            assert all(c.causes and all(cause.said for cause in c.causes) for c in changed)
