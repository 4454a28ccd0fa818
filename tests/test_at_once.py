"""Statements of one request that run at the same time: the same answer, the same steps, and one end for all of them."""

import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.test_batch import said

import closedset
from closedset import execute, load, matches, progress
from closedset.execute import Run
from closedset.plan import Step

SENIOR = {"relation": "held_role", "slot": "seniority", "op": "gte", "value": "VP"}
DACH = {"relation": "held_role", "slot": "geography", "op": "eq", "value": "DACH"}
PASSED = {"relation": "screening", "slot": "outcome", "op": "eq", "value": "passed"}
REQUEST: dict[str, Any] = {"constraints": [SENIOR, DACH, PASSED]}
#: A statement that ends only when it is ended.
ENDLESS = Step("endless", "count without end", "one row", "SELECT count(*) FROM range(100_000_000_000_000)")


@pytest.fixture(scope="module")
def roster(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("at_once") / "roster"
    load.load(place, "roster", sample=True)
    return place


@pytest.fixture(params=["at once", "one by one"])
def at_once(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """However few rows a store has, or many."""
    monkeypatch.setattr(execute, "_WORTH_A_THREAD", 0 if request.param == "at once" else 1 << 60)
    return bool(request.param == "at once")


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """The threads that statements run in."""
    seen: set[int] = set()
    truly = Run._on

    def noted(self: Run, *args: Any) -> Any:
        seen.add(threading.get_ident())
        return truly(self, *args)

    monkeypatch.setattr(Run, "_on", noted)
    return seen


def endless(run: Run, where: str = "_cursor") -> object:
    """On a task's own cursor, or on the first, where rows that were kept are read."""
    return run._on(getattr(run, where), ENDLESS)


def ends_within_a_minute(task: Callable[[], None]) -> bool:
    thread = threading.Thread(target=task, daemon=True)
    thread.start()
    thread.join(60)
    return not thread.is_alive()


def test_what_runs_at_once_is_found_and_said_in_the_order_in_which_it_began(
    roster: Path, at_once: bool, threads: set[int]
) -> None:
    with closedset.open(roster) as store:
        run = Run(store.generation())
        with run.at_once():
            begun = [run.soon(partial(names, ordinal=n, after=0.1 / (n + 1))) for n in range(6)]
            found = [one() for one in begun]
        assert found == [names(Run(store.generation()), n) for n in range(6)]
    assert [one.parameters["ordinals"] for one in run.steps] == [[n] for n in range(6)]
    assert (len(threads) > 1) is at_once


def test_the_same_steps_are_taken_whether_at_once_or_one_by_one(roster: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = []
    with closedset.open(roster) as store:
        for most in (0, 1 << 60):
            monkeypatch.setattr(execute, "_WORTH_A_THREAD", most)
            steps.append([(one.name, one.sql, one.sets, one.rows) for one in store.explain(REQUEST)])
    assert steps[0] == steps[1]
    assert len(steps[0]) > 5


def names(run: Run, ordinal: int, after: float = 0) -> Any:
    time.sleep(after)
    return matches.names(run, [ordinal])


def test_what_fails_in_one_task_ends_the_request_and_nothing_else(
    roster: Path, at_once: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise ValueError("no rows today")

    with closedset.open(roster) as store:
        before = said(store.search(REQUEST))
        with monkeypatch.context() as patch:
            patch.setattr(matches, "_rows", fails)
            with pytest.raises(ValueError, match="no rows today"):
                store.search(REQUEST)
        assert said(store.search(REQUEST)) == before


@pytest.mark.parametrize("where", ["_cursor", "_first"])
def test_an_end_in_between_ends_what_still_runs(roster: Path, where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execute, "_WORTH_A_THREAD", 0)
    with closedset.open(roster) as store:

        def begin_and_leave() -> None:
            run = Run(store.generation())
            with run.at_once():
                run.soon(partial(endless, where=where))
                raise ValueError("left")

        def left() -> None:
            with pytest.raises(ValueError, match="left"):
                begin_and_leave()

        assert ends_within_a_minute(left)


def test_an_interrupt_ends_every_statement_that_runs(roster: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execute, "_WORTH_A_THREAD", 0)
    work = progress.Work()
    with closedset.open(roster) as store:

        def begin_and_wait() -> None:
            run = Run(store.generation())
            with progress.heard(work), run.at_once():
                begun = [run.soon(endless), run.soon(endless)]
                for one in begun:
                    one()

        def interrupted() -> None:
            with pytest.raises(KeyboardInterrupt):
                begin_and_wait()

        def interrupts() -> None:
            # What has not begun when it is interrupted would run on: until both are over.
            while waits.is_set():
                work.interrupt()
                time.sleep(0.05)

        waits = threading.Event()
        waits.set()
        other = threading.Thread(target=interrupts, daemon=True)
        other.start()
        ended = ends_within_a_minute(interrupted)
        waits.clear()
        assert ended
