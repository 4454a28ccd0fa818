"""The portable rendering and the bitmap scans are two ways to the same verdicts."""

from contextlib import suppress
from pathlib import Path

import pytest
from tests.said import NOTHING
from tests.strategies import random_store
from tests.test_engine_agrees import load_drawn

import closedset
from closedset import load, portable
from closedset.errors import RequestRefused
from closedset.execute import Run
from closedset.search import answer
from closedset.store import Store

ROSTER = [
    [{"relation": "held_role", "slot": "seniority", "op": "gte", "value": "VP"},
     {"relation": "screening", "slot": "outcome", "op": "eq", "value": "passed"}],
    [{"relation": "held_role", "slot": "function", "op": "ne", "value": "Sales"}],
    [{"relation": "held_role", "slot": "geography", "op": "eq", "value": "Germany"}],
    [{"relation": "engagement", "slot": "hourly_rate_usd", "op": "gte", "value": 1}],
    [{"relation": "held_role", "slot": "period_to", "op": "lte", "value": "2019"}],
]  # fmt: skip
SF_FOOD = [
    [{"relation": "violation", "slot": "risk_category", "op": "gte", "value": "Moderate"},
     {"relation": "establishment", "slot": "city", "op": "eq", "value": "SF"}],
    [{"relation": "inspection", "slot": "score", "op": "lte", "value": 70},
     {"relation": "inspection", "slot": "type", "op": "in", "value": ["Routine", "Follow-up"]}],
    [{"relation": "establishment", "slot": "application_date", "op": "gte", "value": "2012-06"}],
]  # fmt: skip


def second_opinion(store: Store, request: dict[str, object]) -> list[str]:
    run = Run(store.generation())
    return [row["verdict"] for row in portable.partition(run, answer(run, request).plan).to_pylist()]


@pytest.fixture(scope="module", params=["roster", "sf_food"])
def bundled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Store]:
    path: Path = tmp_path_factory.mktemp("store") / request.param
    load.load(path, request.param, sample=True)
    return request.param, closedset.open(path)


@pytest.mark.parametrize("as_of", [None, "2014-06", "2018-06", "2024-01"])
def test_both_renderings_place_every_entity_in_the_same_set(bundled: tuple[str, Store], as_of: str | None) -> None:
    name, store = bundled
    for constraints in ROSTER if name == "roster" else SF_FOOD:
        request: dict[str, object] = {"constraints": constraints, **({"as_of": as_of} if as_of else {})}
        assert second_opinion(store, request) == store.partition(request).column("verdict").to_pylist(), request


def test_both_renderings_agree_on_what_people_added() -> None:
    """Retired rows, merged ids, operators' coverage, placed spellings: of the stores that have some."""
    asked = 0
    for one in filter(lambda one: one.said != NOTHING, map(random_store, range(3000, 3030))):
        with load_drawn(one) as store:
            for request in one.requests:
                with suppress(RequestRefused):
                    if answer(Run(store.generation()), request).plan.required:
                        asked += 1
                        wanted = store.partition(request).column("verdict").to_pylist()
                        assert second_opinion(store, request) == wanted, (one.said, request)
    assert asked > 15
