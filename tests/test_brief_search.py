"""A brief through the whole search: what the reply carries of the compile, and what it withholds."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests import tiny

import closedset
from closedset import load
from closedset.brief import Said
from closedset.brief.spend import Usage
from closedset.pack import Pack
from closedset.store import Store

BRIEF = "VP-level Sales leaders in DACH. They passed a compliance screening as of January 2018."
GOLD: list[dict[str, Any]] = [
    {"relation": "held_role", "slot": "seniority", "op": "gte", "value": "VP", "quote": "VP-level"},
    {"relation": "held_role", "slot": "function", "op": "eq", "value": "Sales", "quote": "Sales leaders"},
    {"relation": "held_role", "slot": "geography", "op": "eq", "value": "DACH", "quote": "DACH"},
    {"relation": "screening", "slot": "outcome", "op": "eq", "value": "passed", "quote": "passed"},
]
PINNED = {"as_of": "2018-01", "as_of_quote": "as of January 2018"}
Model = Callable[[str, dict[str, Any]], Said]


def says(*calls: object) -> Model:
    return lambda brief, tool: Said(calls, "claude-haiku-5-5", Usage(900, 100, 0, 2600), "2026-11-30")


@pytest.fixture(scope="module")
def roster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    path = tmp_path_factory.mktemp("roster") / "store"
    load.load(path, "roster", sample=True)
    with closedset.open(path) as store:
        yield store


@pytest.fixture(autouse=True)
def _no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.delenv(name, raising=False)


def ask(store: Store, model: Model, brief: str = BRIEF, **more: Any) -> dict[str, Any]:
    reply: dict[str, Any] = store.search({"brief": brief, **more}, model).model_dump()
    return reply


def test_a_compiled_brief_is_answered_like_its_constraints(roster: Store) -> None:
    body = ask(roster, says({"constraints": GOLD}))
    compiled = body["compiled"]
    assert (compiled["brief"], compiled["dropped"], compiled["uncompiled"]) == (BRIEF, [], [])
    sent = roster.search({"constraints": compiled["constraints"]}).model_dump()
    same = ("bound", "counts", "groups", "entities", "matches", "gaps", "coverage", "licence", "expansion")
    assert {k: body[k] for k in same} == {k: sent[k] for k in same}
    assert "compiled" not in sent
    assert list(compiled) == ["brief", "constraints", "dropped", "uncompiled", "as_of", "model", "usage"]
    assert compiled["constraints"][0] == {**GOLD[0], "required": True, "brief_span": [0, 8]}
    assert compiled["model"] == "claude-haiku-5-5"
    assert compiled["usage"] == {
        "input_tokens": 900, "output_tokens": 100, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 2600,
        "cost_usd": 0.000166, "cost_basis": "list price since 2026-10-07, checked 2026-10-24",
    }  # fmt: skip


def test_a_month_the_brief_pins_applies_unless_the_request_has_its_own(roster: Store) -> None:
    said = {"constraints": GOLD[:3], **PINNED}
    body = ask(roster, says(said))
    assert (body["as_of"], body["as_of_source"], body["compiled"]["as_of"]) == ("2018-01", "compiled", "2018-01")
    assert body["entities"]["matched"] == ["halvard_quist"]
    body = ask(roster, says(said), as_of="2020-01")
    assert (body["as_of"], body["as_of_source"], body["compiled"]["as_of"]) == ("2020-01", "request", "2018-01")
    assert body["entities"]["matched"] == ["isolde_marbrook"]
    assert ask(roster, says({"constraints": GOLD}))["as_of_source"] is None


def test_every_gap_of_the_compile_withholds_the_licence(roster: Store) -> None:
    dropped = ask(roster, says({"constraints": [*GOLD, {**GOLD[0], "quote": "C-level"}]}))
    assert dropped["coverage"]["narrowed_by"][:1] == ["constraints_dropped"]
    assert tiny.reasons(dropped)["constraints_dropped"] == 1
    assert dropped["gaps"]["dropped"] == dropped["compiled"]["dropped"]
    left = ask(roster, says({"constraints": GOLD[:3]}))
    assert left["coverage"]["narrowed_by"] == ["brief_uncompiled"]
    assert left["gaps"]["uncompiled"] == [
        {"span": [32, 86], "text": "They passed a compliance screening as of January 2018."}
    ]
    both = ask(roster, says({"constraints": [GOLD[0], {**GOLD[0], "quote": "x"}]}))
    assert both["coverage"]["narrowed_by"] == ["constraints_dropped", "brief_uncompiled"]
    compact = roster.search({"brief": BRIEF, "detail": "compact"}, says({"constraints": GOLD[:3]})).model_dump()
    assert compact["incomplete_because"] == ["brief_uncompiled: 1"]


def test_what_the_model_says_it_left_withholds_the_licence_though_its_sentence_compiled(roster: Store) -> None:
    brief = "Sales leaders in DACH with ten years of experience"
    said = {"constraints": GOLD[1:3], "uncompiled": ["ten years of experience"]}
    body = ask(roster, says(said), brief)
    assert body["compiled"]["uncompiled"] == [{"span": [27, 50], "text": "ten years of experience"}]
    assert body["coverage"]["narrowed_by"] == ["brief_uncompiled"]
    invented = ask(roster, says({**said, "uncompiled": ["fluent in German"]}), brief)
    assert invented["coverage"]["narrowed_by"] == ["constraints_dropped"]


@pytest.mark.parametrize(
    "said",
    [{}, {"constraints": []}, None, {"constraints": [{**GOLD[0], "quote": "no"}]}, "prose", {"constraints": "prose"}],
)
def test_a_brief_that_compiles_to_nothing_claims_nothing_of_anybody(roster: Store, said: object) -> None:
    body = ask(roster, says(said) if said is not None else says())
    assert (body["bound"], body["unbound_because"]) == (False, "no_constraint_bound")
    assert len(body["entities"]["undetermined"]) == body["counts"]["universe"] == 5
    assert "brief_uncompiled" in body["coverage"]["narrowed_by"]
    assert body["matches"] == []
    partition = roster.partition({"brief": BRIEF}, says(said)).to_pydict()
    assert set(partition["verdict"]) == {"undetermined"}


def test_preferences_alone_match_nobody_where_what_was_required_did_not_compile(roster: Store) -> None:
    body = ask(roster, says({"constraints": [{**GOLD[2], "required": False}]}))
    assert body["counts"]["matched"] == 0
    assert body["counts"]["undetermined"] == 5
    whole = ask(roster, says({"constraints": [{**GOLD[2], "required": False}]}), "Ideally DACH")
    assert (whole["counts"]["matched"], whole["coverage"]["completeness_licensed"]) == (5, True)


def test_a_constraint_that_cannot_run_is_unbound_as_ever(roster: Store) -> None:
    said = {
        "constraints": [{"relation": "engagement", "slot": "topic", "op": "eq", "value": "pricing", "quote": "pricing"}]
    }
    body = ask(roster, says(said), "Talks about pricing")
    assert body["gaps"]["unbound"] == [{"index": 0, "reason": "vocabulary_unbound:topic"}]
    assert body["coverage"]["narrowed_by"] == ["constraint_unbound:0"]


def test_a_second_call_of_the_tool_is_no_part_of_the_compile(roster: Store) -> None:
    body = ask(roster, says({"constraints": GOLD}, {"constraints": GOLD[:1]}))
    assert [d["reason"] for d in body["gaps"]["dropped"]] == ["tool_called_again"]
    assert not body["coverage"]["completeness_licensed"]


def test_without_a_model_a_brief_is_unavailable_as_the_reference_prints_it(roster: Store) -> None:
    with pytest.raises(closedset.CompileUnavailable) as caught:
        roster.search({"brief": "VP-level Sales leaders in DACH."})
    printed = "503 {'type': 'compile_unavailable', 'reason': 'compile requires a model; pass constraints'}"
    assert f"{caught.value.status} {caught.value.body}" == printed
    with pytest.raises(closedset.RequestRefused) as refused:
        roster.search({"brief": "VP-level Sales leaders in DACH.", "constraints": GOLD[:1]})
    printed = "422 send exactly one of `brief` and `constraints`"
    assert f"{refused.value.status} {refused.value.detail['title']}" == printed


def test_a_store_that_declares_no_relation_answers_a_brief_without_a_model() -> None:
    bare = Pack.model_validate({"pack": "bare", "subject": "person"})
    store = tiny.store({}, everybody=["e1", "e2"], pack=bare)

    def model(brief: str, tool: dict[str, Any]) -> Said:
        raise AssertionError("no model is called")

    for one in (model, None):
        body = store.search({"brief": "VPs in DACH. Fluent."}, one).model_dump()
        assert (body["bound"], body["unbound_because"]) == (False, "workspace_declares_no_relation")
        assert [u["text"] for u in body["gaps"]["uncompiled"]] == ["VPs in DACH.", "Fluent."]
        assert (body["compiled"]["model"], body["compiled"]["usage"]) == (None, None)
        assert body["counts"]["undetermined"] == body["counts"]["universe"] == 2


def test_a_brief_too_long_is_refused_before_any_model(roster: Store) -> None:
    with pytest.raises(closedset.RequestRefused, match="too long"):
        roster.search({"brief": "VP " * 10_000})


def test_a_brief_of_no_words_compiles_to_nothing_and_is_not_licensed(roster: Store) -> None:
    body = ask(roster, says({"constraints": []}), "🚀 …")
    assert body["coverage"]["narrowed_by"] == ["brief_uncompiled"]
