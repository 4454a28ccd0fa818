"""Many requests over one generation: the same replies as one by one, refusals in their place, bounded memory."""

import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.command import run
from tests.strategies import random_store
from tests.test_engine_agrees import load_drawn

import closedset
from closedset import load, search
from closedset.errors import RequestRefused
from closedset.execute import Run
from closedset.memo import Memo
from closedset.store import Store

PASSED = {"relation": "screening", "slot": "outcome", "op": "eq", "value": "passed"}
SENIOR = {"relation": "held_role", "slot": "seniority", "op": "gte", "value": "VP"}
SALES = {"relation": "held_role", "slot": "function", "op": "eq", "value": "Sales"}


def said(reply: Any) -> Any:
    """A reply without what names the call."""
    if isinstance(reply, RequestRefused):
        return reply.detail
    return {key: value for key, value in reply.model_dump().items() if key != "request_id"}


def one_by_one(store: Store, request: object) -> Any:
    try:
        return store.search(request)
    except RequestRefused as refused:
        return refused


@pytest.fixture(scope="module")
def roster(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("batch") / "roster"
    load.load(place, "roster", sample=True)
    return place


@pytest.mark.parametrize("seed", range(8))
def test_a_batch_gives_the_replies_that_its_requests_get_one_by_one(seed: int) -> None:
    drawn = random_store(9000 + seed)
    asked = [
        {**request, **more}
        for request in drawn.requests
        for more in ({}, {"limit": 1}, {"offset": 1}, {"detail": "compact"}, {"as_of": "2020-03"})
        if not set(more) & set(request)
    ]
    with load_drawn(drawn) as store:
        alone = [said(one_by_one(store, request)) for request in asked]
        # Asked twice over, the second time everything is remembered.
        assert [said(reply) for reply in store.batch(asked * 2)] == alone * 2
        assert len(asked) > 4


def test_what_requests_have_in_common_runs_once(roster: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []
    truly = Run._run

    def counted(self: Run, step: Any, lent: Any) -> Any:
        # What a request keeps for its own statements is no answer, and is written by whoever needs it.
        if step.name != "search/keep":
            ran.append(step.sql)
        return truly(self, step, lent)

    monkeypatch.setattr(Run, "_run", counted)
    with closedset.open(roster) as store:
        list(store.batch([{"constraints": [PASSED, SENIOR]}]))
        once = sorted(ran)
        assert len(once) > 5
        ran.clear()
        list(store.batch([{"constraints": [PASSED, SENIOR]}] * 5))
        assert sorted(ran) == once
        ran.clear()
        for _ in range(5):
            store.search({"constraints": [PASSED, SENIOR]})
        assert sorted(ran) == sorted(once * 5)


def test_a_batch_answers_from_the_generation_that_was_current_when_it_began(tmp_path: Path) -> None:
    export = tmp_path / "export"
    export.mkdir()
    (tmp_path / "pack.yaml").write_text("pack: p\nrelations: {fact: {slots: {said: text}}}\n")
    (tmp_path / "map.yaml").write_text(
        "source: s\nrows: [{relation: fact, from: t, entity: id, slots: {said: said}, looked_at: {every: t.id}}]\n"
    )
    request = {"constraints": [{"relation": "fact", "slot": "said", "op": "eq", "value": "x"}]}

    def loaded(text: str) -> None:
        (export / "t.csv").write_text(text)
        load.load(tmp_path / "store", tmp_path / "pack.yaml", [export], mapping=tmp_path / "map.yaml")

    loaded("id,said\na,x\nb,y\n")
    with closedset.open(tmp_path / "store") as store:
        answers = store.batch([request] * 2)
        first = next(answers)
        loaded("id,said\na,x\nb,x\n")
        second = next(answers)
        assert isinstance(first, type(second))
        assert said(first) == said(second)
        assert said(first)["counts"]["matched"] == 1
        assert said(store.search(request))["counts"]["matched"] == 2


def test_a_refused_request_is_its_refusal_and_ends_nothing(roster: Path) -> None:
    with closedset.open(roster) as store:
        found = list(store.batch([{"constraints": []}, {"constraints": [PASSED]}, {"nonsense": 1}]))
    assert [isinstance(one, RequestRefused) for one in found] == [True, False, True]
    assert said(found[1])["counts"]["matched"] == 2


def test_a_memo_stays_within_its_bytes_and_forgets_what_was_longest_unused() -> None:
    memo = Memo(100_000)
    table = pa.table({"bytes": [b"x" * 8_000]})
    for key in "abcdefgh":
        memo.put(key, table)
        memo.get("a")
    kept = [key for key in "abcdefgh" if memo.get(key) is not None]
    assert kept[0] == "a"
    assert "b" in kept
    for key in map(str, range(50)):
        memo.put(key, table)
        memo.get("a")
    assert memo.get("a") is not None
    assert memo.get("b") is None
    assert memo.held <= 100_000
    memo.put("large", pa.table({"bytes": [b"x" * 90_000]}))
    assert memo.get("large") is None


def test_a_batch_that_remembers_next_to_nothing_answers_the_same(roster: Path) -> None:
    asked = [{"constraints": some} for some in ([PASSED], [SENIOR, SALES], [PASSED, SENIOR], [PASSED])]
    with closedset.open(roster) as store:
        generation, memo = store.generation(), Memo(3_000)
        small = [said(search.search(generation, request, None, memo)) for request in asked * 3]
        assert small == [said(store.search(request)) for request in asked * 3]


# --- the terminal -----------------------------------------------------------------------------------------

LINES = [
    json.dumps({"constraints": [PASSED]}),
    "",
    "{not json",
    json.dumps({"constraints": [SENIOR, SALES], "detail": "compact"}),
    json.dumps({"constraints": [{**PASSED, "op": "gte"}]}),
    json.dumps({"constraints": [PASSED], "colour": "red"}),
    '{"constraints": [], "constraints": []}',
    "[1]",
]


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    file = tmp_path / "questions.jsonl"
    file.write_text("\ufeff" + "\n".join(LINES), encoding="utf-8")
    return file


def test_each_line_is_answered_in_its_place(roster: Path, questions: Path) -> None:
    code, out, err = run("batch", roster, questions, "--format", "jsonl")
    lines = [json.loads(line) for line in out.splitlines()]
    assert code == 2
    assert err == "closedset: refused: 5 of the requests; the others are answered\n"
    assert [line["line"] for line in lines] == [1, 3, 4, 5, 6, 7, 8]
    assert ["reply" in line for line in lines] == [True, False, True, False, False, False, False]
    with closedset.open(roster) as store:
        for line in (lines[0], lines[2]):
            alone = said(store.search(json.loads(LINES[line["line"] - 1])))
            assert {k: v for k, v in line["reply"].items() if k != "request_id"} == json.loads(json.dumps(alone))
    assert f"{questions}:3:2: not JSON" in lines[1]["refused"]["title"]
    assert "stands twice" in lines[5]["refused"]["title"]
    assert lines[3]["refused"]["type"] == "search_constraint_invalid"


def test_the_counts_are_the_same_in_a_table_and_in_csv(roster: Path, questions: Path) -> None:
    table = run("batch", roster, questions)
    csv = run("batch", roster, questions, "--format", "csv")
    assert table[0] == csv[0] == 2
    rows = [line.split(",")[:6] for line in csv[1].splitlines()[1:]]
    assert rows[0] == ["1", "2", "2", "1", "0", "5"]
    assert rows[2] == ["4", "3", "2", "0", "0", "5"]
    assert rows[1] == ["3", "", "", "", "", ""]
    for row in (rows[0], rows[2]):
        assert any(line.split()[:6] == row for line in table[1].splitlines())
    assert "entities_not_recorded: 1" in table[1]


def test_without_a_fault_it_ends_well_and_reads_stdin(roster: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(LINES[0].encode() + b"\n")))
    code, out, err = run("batch", roster, "-", "--format", "csv")
    assert (code, err) == (0, "")
    assert out.splitlines()[1:] == ["1,2,2,1,0,5,entities_not_recorded: 1,"]


@pytest.mark.parametrize(
    ("file", "fault"),
    [("missing.jsonl", "missing.jsonl: No such file or directory"), ("", "is a folder; give a file of JSON lines")],
)
def test_a_file_that_cannot_be_read_is_refused(roster: Path, tmp_path: Path, file: str, fault: str) -> None:
    code, out, err = run("batch", roster, tmp_path / file)
    assert (code, out.strip()) == (2, "")
    assert fault in err


def test_bench_times_questions_it_draws_and_both_ways_answer_alike(roster: Path) -> None:
    code, out, _ = run("bench", roster, "--runs", "2", "--format", "json")
    found = json.loads(out)
    assert code == 0
    assert len(found["questions"]) >= 7
    assert {q["equal"] for q in found["questions"]} == {True}
    assert all(len(q["whole_reply_s"]) == len(q["plain_sql_s"]) == 2 for q in found["questions"])
    assert any(q["matched"] for q in found["questions"])
    assert any("as_of" in q["request"] for q in found["questions"])
    assert any(len({c["relation"] for c in q["request"]["constraints"]}) == 2 for q in found["questions"])
    assert found["batch_over_one_by_one"] > 0


def test_bench_asks_the_questions_it_is_given(roster: Path, tmp_path: Path) -> None:
    preferred = {"constraints": [{**PASSED, "required": False}]}
    (tmp_path / "q").write_text(json.dumps({"constraints": [PASSED]}) + "\n" + json.dumps(preferred) + "\n")
    code, out, _ = run("bench", roster, "--questions", tmp_path / "q", "--runs", "1")
    assert code == 0
    assert "screening.outcome eq passed" in out
    assert "prefer screening.outcome eq passed" in out
    for text, fault in (("", "holds no request"), ("{", "not JSON"), ('{"constraints": []}', "is empty")):
        (tmp_path / "q").write_text(text)
        code, out, err = run("bench", roster, "--questions", tmp_path / "q")
        assert (code, out) == (2, "")
        assert fault in err
