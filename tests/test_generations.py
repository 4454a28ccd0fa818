"""Generations through the real commands: what made each, which are kept, what a new shape of the export is called."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.command import run

import closedset
from closedset.store import Store

PACK = """
pack: people
axes: {outcome: {terms: [passed, failed]}}
relations:
  screening: {slots: {outcome: {term: outcome}}}
"""
MAP = """
source: export
files: {t: "t*.csv"}
rows:
  - {relation: screening, from: t, entity: id, slots: {outcome: outcome}}
"""
ASKED = {"constraints": [{"relation": "screening", "slot": "outcome", "op": "eq", "value": "passed"}]}
ONE = "id,outcome,by\ne1,passed,x\ne2,failed,y\n"
TWO = "id,outcome,by\ne3,passed,y\n"


def load(folder: Path, *options: str, **files: str) -> dict[str, Any]:
    """Replace the export's files by these, load them, and give the report."""
    (folder / "pack.yaml").write_text(PACK, encoding="utf-8")
    (folder / "map.yaml").write_text(MAP, encoding="utf-8")
    for old in folder.glob("*.csv"):
        old.unlink()
    for name, text in files.items():
        (folder / f"{name}.csv").write_text(text, encoding="utf-8")
    arguments = ("load", folder / "s", "--pack", folder / "pack.yaml", folder, "--format", "json", "--accept-shrink")
    code, out, err = run(*arguments, *options)
    assert code == 0, err
    said: dict[str, Any] = json.loads(out)
    return said


def history(folder: Path) -> list[dict[str, Any]]:
    code, out, _ = run("loads", folder / "s", "--format", "json")
    assert code == 0
    said: list[dict[str, Any]] = json.loads(out)
    return said


def matched(store: Store) -> list[str]:
    return [r["entity_id"] for r in store.partition(ASKED).to_pylist() if r["verdict"] == "matched"]


def files(folder: Path) -> set[str]:
    return {str(f.relative_to(folder / "s")) for f in (folder / "s").rglob("*.*") if f.name != "load.lock"}


# --- what is kept -----------------------------------------------------------------------------------------


def test_the_history_says_what_made_each_generation_and_which_are_held(tmp_path: Path) -> None:
    load(tmp_path, t=ONE)
    load(tmp_path, t=ONE)
    load(tmp_path, t=TWO)
    load(tmp_path, t="id,outcome\ne1,passed,x\n,failed\ne2,failed\n")
    said = history(tmp_path)
    figures = ("generation", "what", "source", "read", "loaded", "withheld", "unattributed", "universe", "state")
    assert [tuple(one[f] for f in figures) for one in said] == [
        (1, "load", "export", 2, 2, 0, 0, 2, "dropped"),
        (2, "load", "export", 1, 1, 0, 0, 1, "held"),
        (3, "load", "export", 4, 1, 1, 2, 2, "current"),
    ]
    assert [one["at"] for one in said] == sorted(one["at"] for one in said)
    table = run("loads", tmp_path / "s")[1].splitlines()
    assert [line.split()[-1] for line in table[1:]] == ["dropped", "held", "current"]


def test_so_many_former_generations_stay_as_was_said_last(tmp_path: Path) -> None:
    load(tmp_path, "--keep", "2", t=ONE)
    for text in (TWO, ONE, TWO):
        load(tmp_path, t=text)
    assert [one["state"] for one in history(tmp_path)] == ["dropped", "held", "held", "current"]
    with Store(tmp_path / "s", number=3) as former:
        assert matched(former) == ["e1"]
    load(tmp_path, "--keep", "0", t=ONE)
    assert files(tmp_path) == {"generations/5.duckdb", "cells/5_export.duckdb"}
    assert load(tmp_path, "--keep", "1", t=ONE)["unchanged"]
    load(tmp_path, t=TWO)
    assert [(one["what"], one["state"]) for one in history(tmp_path)[-3:]] == [
        ("load", "dropped"), ("keep", "held"), ("load", "current")
    ]  # fmt: skip


def test_gc_drops_old_generations_and_leftovers_and_no_more(tmp_path: Path) -> None:
    load(tmp_path, "--keep", "3", t=ONE)
    load(tmp_path, t=TWO)
    held = files(tmp_path)
    left = {"generations/3.duckdb", "generations/3.duckdb.wal", "cells/3_export.duckdb", "CURRENT.next"}
    for name in left:
        (tmp_path / "s" / name).write_bytes(b"12345")
    (tmp_path / "s" / "generations" / "3.duckdb.tmp").mkdir()
    code, out, err = run("gc", tmp_path / "s", "--format", "json")
    assert code == 0, err
    said = json.loads(out)
    assert {one["what"] for one in said["dropped"]} == {"leftover"}
    assert {one["file"]: one["bytes"] for one in said["dropped"]} == {
        "generations/3.duckdb": 10, "cells/3_export.duckdb": 5, "CURRENT.next": 5
    }  # fmt: skip
    assert said["bytes"] == 20
    assert files(tmp_path) == held
    with Store(tmp_path / "s", number=1) as reader:
        code, out, _ = run("gc", tmp_path / "s", "--keep", "0")
        assert out.splitlines()[-1].startswith("dropped 2 files, ")
        assert files(tmp_path) == {"generations/2.duckdb", "cells/2_export.duckdb"}
        assert matched(reader) == ["e1"]
        assert reader.search(ASKED).model_dump()["matches"][0]["rows"][0]["slot_receipts"]["outcome"]["byte_verified"]
    with closedset.open(tmp_path / "s") as store:
        assert matched(store) == ["e3"]


def test_gc_clears_a_first_load_that_was_killed_and_refuses_what_is_no_store(tmp_path: Path) -> None:
    for folder in ("generations", "cells"):
        (tmp_path / "s" / folder).mkdir(parents=True)
    (tmp_path / "s" / "generations" / "1.duckdb").write_bytes(b"half")
    assert run("gc", tmp_path / "s")[1].splitlines()[-1] == "dropped 1 file, 4 bytes"
    code, out, err = run("gc", tmp_path / "none")
    assert (code, out) == (2, "")
    assert "no store here" in err
    assert not (tmp_path / "none").exists()


def test_gc_waits_for_no_load_and_disturbs_none(tmp_path: Path) -> None:
    from closedset.load import lock

    load(tmp_path, t=ONE)
    with lock.loading(tmp_path / "s"):
        code, out, err = run("gc", tmp_path / "s")
    assert (code, out) == (2, "")
    assert "another load is running" in err


# --- the shape of the export --------------------------------------------------------------------------------


def drift(said: dict[str, Any]) -> list[tuple[str, str | None, str | None]]:
    return [(one["what"], one["was"], one["now"]) for one in said["drift"]]


WIDE = [("e1", "passed", "x", "1"), ("e2", "failed", "y", "2"), ("e3", "passed", "z", "3"), ("e3", "passed", "w", "4")]


def wide(head: str, rows: Sequence[tuple[str, ...]] = WIDE, take: str = "0123") -> str:
    lines = [",".join(row[int(i)] for i in take) for row in rows]
    return "\n".join([head, *lines]) + "\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (wide("id,outcome,by,no"), []),
        (wide("id,outcome,by,no", WIDE[::-1]), []),
        (wide("id,outcome,by", take="012"), [("column lost", "no", None)]),
        (wide("id,outcome,by,no,more", take="01230"), [("column gained", None, "more")]),
        (wide("id,outcome,who,no"), [("column renamed", "by", "who")]),
        (
            wide("who,no,id,outcome", take="2301"),
            [
                ("column renamed", "by", "who"),
                ("columns in another order", "id, outcome, who, no", "who, no, id, outcome"),
            ],
        ),
        (wide("id,outcome,who,num"), [("column renamed", "by", "who"), ("column renamed", "no", "num")]),
        # Rows that came or went, and a renamed column in the rest.
        (
            wide("id,outcome,who,no", [WIDE[0], *WIDE[2:], ("e9", "failed", "q", "9")]),
            [("column renamed", "by", "who")],
        ),
        # One cell is not the same: not certain.
        (
            wide("id,outcome,who,no", [("e1", "passed", "other", "1"), *WIDE[1:]]),
            [("column lost", "by", None), ("column gained", None, "who")],
        ),
        # Two columns hold its cells: which of them it is now nobody can say.
        (
            wide("id,outcome,who,no,whom", take="01232"),
            [("column lost", "by", None), ("column gained", None, "who"), ("column gained", None, "whom")],
        ),
        # All cells the same says nothing of the name.
        (
            wide("id,outcome,who,no", [(a, b, "", d) for a, b, _, d in WIDE]),
            [("column lost", "by", None), ("column gained", None, "who")],
        ),
    ],
)
def test_a_new_shape_of_the_export_is_said_and_changes_no_answer(
    text: str, said: list[tuple[str, str | None, str | None]], tmp_path: Path
) -> None:
    first = load(tmp_path, t=wide("id,outcome,by,no"))
    assert drift(first) == []
    with closedset.open(tmp_path / "s") as store:
        before = matched(store)
    second = load(tmp_path, t=text)
    assert drift(second) == said
    with closedset.open(tmp_path / "s") as store:
        assert matched(store) == before
    assert drift(load(tmp_path, t=text)) == []


def test_part_files_in_another_order_give_the_same_answer_and_say_so(tmp_path: Path) -> None:
    load(tmp_path, t1=ONE, t2=TWO)
    with closedset.open(tmp_path / "s") as store:
        before = store.search(ASKED).model_dump()["entities"]
    said = load(tmp_path, t1=TWO, t2=ONE)
    assert drift(said) == [("files in another order", "t1.csv, t2.csv", "t1.csv (was t2.csv), t2.csv (was t1.csv)")]
    with closedset.open(tmp_path / "s") as store:
        assert store.search(ASKED).model_dump()["entities"] == before
    said = load(tmp_path, t=ONE + TWO.split("\n", 1)[1])
    assert drift(said) == [("another number of files", "2", "1")]
    with closedset.open(tmp_path / "s") as store:
        assert store.search(ASKED).model_dump()["entities"] == before
    table = run("load", tmp_path / "s", "--pack", tmp_path / "pack.yaml", tmp_path)[1]
    assert "since the load before" not in table


# --- field case H3 ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("looked", "verdict"),
    [("{every: people.id}", "none"), ("rows", "not_recorded")],
)
def test_h3_what_the_source_deleted_is_gone_and_coverage_says_whether_that_is_a_no(
    looked: str, verdict: str, tmp_path: Path
) -> None:
    mapping = MAP.replace("slots: {", f"looked_at: {looked}, slots: {{") + "entities: [{from: people, entity: id}]\n"
    (tmp_path / "pack.yaml").write_text(PACK, encoding="utf-8")
    (tmp_path / "map.yaml").write_text(mapping, encoding="utf-8")
    (tmp_path / "people.csv").write_text("id\ne1\ne2\n", encoding="utf-8")
    arguments = ("load", tmp_path / "s", "--pack", tmp_path / "pack.yaml", tmp_path, "--accept-shrink")
    first = "id,outcome\ne1,passed\ne2,passed\n"
    for text, generation, expected in (
        (first, 1, {"e1": "matched", "e2": "matched"}),
        (first, 1, {"e1": "matched", "e2": "matched"}),
        ("id,outcome\ne2,passed\n", 2, {"e1": verdict, "e2": "matched"}),
    ):
        (tmp_path / "t.csv").write_text(text, encoding="utf-8")
        assert run(*arguments)[0] == 0
        with closedset.open(tmp_path / "s") as store:
            assert store.catalog.generation == generation
            assert {r["entity_id"]: r["verdict"] for r in store.partition(ASKED).to_pylist()} == expected
            rows = [row for match in store.search(ASKED).model_dump()["matches"] for row in match["rows"]]
            assert len(rows) == list(expected.values()).count("matched")
