"""What people add between loads, through the commands: what each means, how it outlives loads, and how it is undone.

`tests/agree.py` holds the meaning to the reference and to the possible worlds over drawn stores; here are the acts.
"""

import json
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from tests.tiny import export, reasons, sets, where

import closedset
from closedset import ledger
from closedset.load import load
from closedset_cli import main

PACK = """
pack: staff
axes:
  level: {order: [IC, VP, SVP], synonyms: {VP: [Vice President]}}
  grade: {terms: [junior, VP]}
  outcome: {terms: [passed, failed]}
relations:
  role: {dated: true, slots: {level: {term: level}, grade: {term: grade}, firm: text}}
  check: {slots: {outcome: {term: outcome}}}
"""
MAP = """
source: hr
rows:
  - {relation: role, from: roles, entity: id, name: name, slots: {level: level, firm: firm}, period: [began, ended]}
  - {relation: check, from: checks, entity: id, slots: {outcome: outcome}}
"""
ROLES = """id,name,level,firm,began,ended
a,Ada,VP,Acme,2018-01,
b,Bo,VP,Acme,2018-01,
b,Bo,IC,Sable,2016-01,2017-12
c,Cy,IC,Acme,2018-01,
d,Di,Veep,Acme,2018-01,
"""
CHECKS = """id,outcome
a,passed
e,failed
"""
VP = where("role.level", "gte", "VP")
PASSED = where("check.outcome", "eq", "passed")
Json = dict[str, Any]


class Shop:
    """An export in a folder, its store, and the commands run on it."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self.capsys, self.path = folder, capsys, folder / "store"
        export(folder, {"pack.yaml": PACK, "map.yaml": MAP, "roles.csv": ROLES, "checks.csv": CHECKS})
        self.load()

    def load(self, *more: str, **files: str) -> str:
        export(self.folder, {f"{name}.csv": text for name, text in files.items()})
        paths = [str(self.folder / f"{name}.csv") for name in ("roles", "checks")]
        return self.run("load", *paths, "--pack", str(self.folder / "pack.yaml"), *more)

    def run(self, command: str, *arguments: str, code: int = 0) -> str:
        """What a command says: its reply, or where it is refused its talk."""
        words = command.split()
        ended = main.main([*words, str(self.path), *arguments])
        said = self.capsys.readouterr()
        assert ended == code, said
        return said.err if code else said.out

    def refused(self, command: str, *arguments: str) -> str:
        before = state(self.path)
        said = self.run(command, *arguments, code=2)
        assert state(self.path) == before
        return said

    def ask(self, *constraints: Json, **more: Any) -> Json:
        with closedset.open(self.path) as store:
            reply: Json = store.search({"constraints": list(constraints), **more}).model_dump(mode="json")
        return reply


def state(path: Path) -> tuple[int | None, int]:
    return closedset.store.current(path), ledger.read(path).last


@pytest.fixture
def shop(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Shop:
    return Shop(tmp_path, capsys)


def content(path: Path) -> Json:
    """All that a generation holds and searches read, but its number, its history and the place in the ledger."""
    number = closedset.store.current(path)
    with duckdb.connect(str(path / "generations" / f"{number}.duckdb"), read_only=True) as con:
        names = [name for (name,) in con.execute("SELECT table_name FROM duckdb_tables()").fetchall()]
        held = {name: con.execute(f'SELECT * FROM "{name}" ORDER BY ALL').fetchall() for name in sorted(names)}
        held["columns"] = con.execute("SELECT table_name, column_name FROM duckdb_columns() ORDER BY ALL").fetchall()
    catalog = json.loads(held.pop("catalog")[0][0])
    return {**held, "catalog": {k: v for k, v in catalog.items() if k not in ("generation", "history", "ledger")}}


# --- corrections ----------------------------------------------------------------------------------------


def test_a_retired_row_can_be_ruled_out_but_shows_nothing(shop: Shop) -> None:
    before = shop.ask(VP)
    assert sets(before) == {"matched": ["a", "b"], "none": ["c"], "not_recorded": ["e"], "undetermined": ["d"]}
    said = shop.run("correct", "role/hr/roles/1", "--reason", "she left", "--by", "anna")
    assert said == (
        "correction 1: a row of 'a' in role/hr/roles is retired\n  1 row: role/hr/roles/1\n  generation 2\n"
    )
    reply = shop.ask(VP)
    assert sets(reply) == {"matched": ["b"], "none": ["c"], "not_recorded": ["e"], "undetermined": ["a", "d"]}
    assert reasons(reply)["corrected_rows_unanswerable:role"] == 1
    (group,) = reply["groups"]
    assert (group["covered"], group["active_rows"], group["absence"]["split"]["recorded"]) == (4, 1, 4)
    assert reply["counts"]["per_constraint"][0]["rows"] == 1
    assert [m["entity_id"] for m in reply["matches"]] == ["b"]
    # What the retired row is not, it still is not: nothing is open about it.
    low = shop.ask(where("role.level", "lte", "IC"))
    assert sets(low)["none"] == ["a"]
    assert "corrected_rows_unanswerable:role" not in reasons(low)


def test_a_retired_row_is_nothing_that_the_store_says_about_an_entity(shop: Shop) -> None:
    shop.run("correct", "role/hr/roles/2", "--reason", "wrong", "--by", "anna")
    prefer = where("check.outcome", "eq", "passed", required=False)
    (about,) = [m.get("about") for m in shop.ask(prefer, detail="compact")["matches"] if m["entity_id"] == "b"]
    assert about == ["IC, Sable (2016–2017)"]


def test_a_correction_is_of_the_row_wherever_a_later_load_puts_it(shop: Shop) -> None:
    shop.run("correct", "role/hr/roles/1", "--reason", "she left", "--by", "anna")
    head, *lines = ROLES.splitlines()
    turned = "\n".join([f"{head},note", *(f"{line},new" for line in reversed(lines)), ""])
    assert "what people added" not in shop.load(roles=turned)
    assert sets(shop.ask(VP))["undetermined"] == ["a", "d"]
    (listed,) = json.loads(shop.run("correct", "--list", "--format", "json"))
    assert (listed["held"], listed["places"], listed["note"]) == (1, "role/hr/roles/5", None)


def test_a_row_that_its_source_no_longer_states_is_gone_and_comes_back_retired(shop: Shop) -> None:
    shop.run("correct", "role/hr/roles/1", "--reason", "she left", "--by", "anna")
    mended = shop.load(roles=ROLES.replace("a,Ada,VP", "a,Ada,SVP"))
    assert "correction 1: the source no longer states the row" in mended
    assert sets(shop.ask(VP))["matched"] == ["b", "a"], "nearest to the threshold first"
    assert "corrected_rows_unanswerable:role" not in reasons(shop.ask(VP))
    assert "the source no longer states the row" in shop.run("correct", "--list")
    shop.load(roles=ROLES)
    assert sets(shop.ask(VP))["undetermined"] == ["a", "d"]


def test_every_row_of_the_table_with_the_same_cells_is_meant(shop: Shop) -> None:
    shop.load(roles=ROLES + "a,Ada,VP,Acme,2018-01,\n")
    said = shop.run("correct", "role/hr/roles/6", "--reason", "twice wrong", "--by", "anna")
    assert "2 rows: role/hr/roles/1, role/hr/roles/6" in said
    assert "nothing was added" in shop.run("correct", "role/hr/roles/1", "--reason", "again", "--by", "bob")
    assert sets(shop.ask(VP))["undetermined"] == ["a", "d"]
    shop.run("correct", "--undo", "role/hr/roles/1")
    assert sets(shop.ask(VP))["matched"] == ["a", "b"]


def test_a_row_that_was_corrected_by_mistake_is_named_with_what_there_is(shop: Shop) -> None:
    assert "table roles has 5 rows" in shop.refused("correct", "role/hr/roles/9", "--reason", "x")
    assert "did you mean 'role/hr/roles'" in shop.refused("correct", "role/hr/rolls/1", "--reason", "x")
    assert "RELATION/SOURCE/TABLE/NUMBER" in shop.refused("correct", "7", "--reason", "x")
    assert "--reason is missing" in shop.refused("correct", "role/hr/roles/1")
    assert "no correction '3' is in force; in force: none" in shop.refused("correct", "--undo", "3")


def test_one_source_row_of_two_entities_is_two_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shop = Shop(tmp_path, capsys)
    shop.path = tmp_path / "deals"
    pack = "pack: deals\nrelations: {side: {slots: {firm: text}}}\n"
    entry = "{{relation: side, from: deals, entity: {}, slots: {{firm: firm}}}}"
    rows = [entry.format("buyer"), entry.format("seller")]
    export(tmp_path, {"pack.yaml": pack, "map.yaml": f"source: x\nrows: [{', '.join(rows)}]\n"})
    export(tmp_path, {"deals.csv": "buyer,seller,firm\np,q,Acme\n"})
    shop.run("load", str(tmp_path / "deals.csv"), "--pack", str(tmp_path / "pack.yaml"))
    assert "side/x/deals/1 is a row of 'p', side/x/deals/1/2 is a row of 'q'" in shop.refused(
        "correct", "side/x/deals/1", "--entity", "q", "--reason", "x"
    )
    shop.run("correct", "side/x/deals/1/2", "--entity", "q", "--reason", "x")
    acme = shop.ask(where("side.firm", "eq", "acme"))
    assert sets(acme) == {"matched": ["p"], "undetermined": ["q"]}


# --- merges ---------------------------------------------------------------------------------------------


def test_e9_the_id_that_was_merged_away(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """E9. https://github.com/acdh-oeaw/apis-core/issues/240
    https://github.com/public-accountability/littlesis-rails/issues/420"""
    shop = Shop(tmp_path, capsys)
    head = ROLES.splitlines()[0]
    shop.load("--accept-shrink", roles=f"{head}\n123,Ada,VP,Acme,2018-01,\n", checks="id,outcome\n456,passed\n")
    assert sets(shop.ask(VP, PASSED)) == {"not_recorded": ["123", "456"]}
    assert shop.run("merge", "123", "456", "--reason", "one person", "--by", "anna").startswith(
        "merge 1: '123' is '456'\n"
    )
    reply = shop.ask(VP, PASSED)
    assert reply["counts"]["universe"] == 1
    assert sets(reply) == {"matched": ["456"]}
    assert reply["coverage"] == {"completeness_licensed": True}
    assert "merged" not in reply
    asked = shop.ask(VP, PASSED, entity_ids=["123"])
    assert asked["merged"] == [{"asked": "123", "entity_id": "456"}]
    (match,) = asked["matches"]
    assert (match["entity_id"], match["name"]) == ("456", "Ada")
    role, check = match["rows"]
    assert (role["row_id"], role["source_entity_id"]) == ("role/hr/roles/1", "123")
    assert role["slot_receipts"]["level"] == {
        "db_table": "roles", "db_column": "level", "byte_verified": True, "source": "hr", "file": "roles.csv",
        "row": 1, "cell": "VP",
    }  # fmt: skip
    assert "source_entity_id" not in check
    assert "123 is 456: the two are merged" in shop.run("search", "-w", "check.outcome = passed", "--entity-id", "123")
    (line,) = shop.ask(VP, PASSED, entity_ids=["123"], detail="compact")["matches"]
    assert line["entity_id"] == "456"


def test_merges_chain_and_a_cycle_is_named(shop: Shop) -> None:
    shop.run("merge", "a", "b", "--reason", "x")
    shop.run("merge", "b", "c", "--reason", "x")
    assert sets(shop.ask(VP)) == {"matched": ["c"], "not_recorded": ["e"], "undetermined": ["d"]}
    assert "'c' is 'a' is 'b' is 'c' (merge 1, merge 2)" in shop.refused("merge", "c", "a", "--reason", "x")
    assert "'a' is 'b' already (merge 1)" in shop.refused("merge", "a", "e", "--reason", "x")
    assert "'a' is itself" in shop.refused("merge", "a", "a ", "--reason", "x")
    assert "the first id: no source mentions 'zed'" in shop.refused("merge", "zed", "a", "--reason", "x")
    (match,) = shop.ask(VP, entity_ids=["a"])["matches"]
    assert match["name"] == "Cy", "its own name, before that of the ids merged into it"
    shop.run("merge", "--undo", "b")
    assert sets(shop.ask(VP)) == {"matched": ["b"], "none": ["c"], "not_recorded": ["e"], "undetermined": ["d"]}


def test_a_misspelt_id_is_refused_with_the_nearest(shop: Shop) -> None:
    shop.load(checks="id,outcome\nhalvard_quist,passed\n", roles=ROLES)
    assert "(did you mean 'halvard_quist'?)" in shop.refused("merge", "a", "halvard_qvist", "--reason", "x")


def test_a_merge_whose_id_no_source_mentions_any_more_has_no_effect_until_one_does(shop: Shop) -> None:
    shop.run("merge", "e", "a", "--reason", "x")
    shop.run("coverage declare", "check", "--entity", "e", "--reason", "she is on file")
    assert sets(shop.ask(PASSED)) == {"matched": ["a"], "not_recorded": ["b", "c", "d"]}
    said = shop.load("--accept-shrink", checks="id,outcome\nb,passed\n")
    assert "merge 1: no source mentions 'e' any more" in said
    assert "coverage 2: no source mentions 1 of its 1 entities any more" in said
    reply = shop.ask(PASSED, entity_ids=["e"])
    assert "merged" not in reply
    assert sets(shop.ask(PASSED)) == {"matched": ["b"], "not_recorded": ["a", "c", "d"]}
    assert "operator" not in json.dumps(shop.ask(PASSED)["groups"])
    assert "no source mentions 'e' any more" in shop.run("merge", "--list")
    # Nothing more can be said of an id that no source mentions, and to say the same again adds nothing.
    assert "no source mentions 'e'" in shop.refused("coverage declare", "role", "--entity", "e", "--reason", "x")
    assert "nothing was added" in shop.run("merge", "e", "a", "--reason", "again")
    shop.load(checks=CHECKS)
    assert shop.ask(VP, entity_ids=["e"])["merged"] == [{"asked": "e", "entity_id": "a"}]


def test_a_merge_into_an_id_that_is_gone_leaves_the_first_id_as_it_was(shop: Shop) -> None:
    shop.run("merge", "c", "e", "--reason", "x")
    shop.run("merge", "e", "a", "--reason", "x")
    assert sets(shop.ask(VP))["matched"] == ["a", "b"]
    said = shop.load("--accept-shrink", checks="id,outcome\na,passed\n")
    assert "merge 1: no source mentions 'e' any more" in said
    assert "merge 2: no source mentions 'e' any more" in said
    assert sets(shop.ask(VP)) == {"matched": ["a", "b"], "none": ["c"], "undetermined": ["d"]}


def test_a_correction_keeps_to_the_id_that_its_source_writes(shop: Shop) -> None:
    shop.run("merge", "a", "b", "--reason", "x")
    shop.run("correct", "role/hr/roles/1", "--reason", "x")
    assert sets(shop.ask(VP, where("role.firm", "eq", "Acme")))["matched"] == ["b"]
    shop.run("correct", "role/hr/roles/2", "--reason", "x")
    assert sets(shop.ask(VP))["undetermined"] == ["b", "d"]
    shop.run("merge", "--undo", "a")
    assert sets(shop.ask(VP))["undetermined"] == ["a", "b", "d"]


# --- operators' coverage --------------------------------------------------------------------------------


def test_whom_an_operator_looked_at_is_none_and_no_longer_not_recorded(shop: Shop) -> None:
    assert sets(shop.ask(PASSED))["not_recorded"] == ["b", "c", "d"]
    said = shop.run(
        "coverage declare", "check", "--entity", "c", "--entity", " b ", "--reason", "rang them", "--by", "anna"
    )
    assert said.startswith("coverage 1: looked at for check: 2 ids\n  2 entities\n")
    reply = shop.ask(PASSED)
    assert sets(reply) == {"matched": ["a"], "none": ["b", "c", "e"], "not_recorded": ["d"]}
    absence = {one["entity_id"]: one["coverage"] for one in reply["groups"][0]["absence"]["none"]}
    ((record,),) = [absence["b"]]
    at = record.pop("loaded_at")
    assert record == {"declared_by": "operator", "source": "anna", "said": "rang them"}
    assert f"declared by anna on {at[:10]}: rang them (2)" in shop.run("schema")
    shop.run("coverage withdraw", "1")
    assert sets(shop.ask(PASSED))["not_recorded"] == ["b", "c", "d"]
    (listed,) = json.loads(shop.run("coverage list", "--format", "json"))
    assert (listed["undone_by"], listed["entities"], listed["relation"]) == (2, 2, "check")


def test_every_entity_is_every_one_that_the_store_held_then(shop: Shop) -> None:
    shop.run("coverage declare", "check", "--every", "--reason", "all on file")
    assert sets(shop.ask(PASSED)) == {"matched": ["a"], "none": ["b", "c", "d", "e"]}
    shop.load(roles=ROLES + "f,Fy,VP,Acme,2018-01,\n")
    assert sets(shop.ask(PASSED))["not_recorded"] == ["f"]


def test_coverage_of_an_id_that_no_source_mentions_is_refused(shop: Shop, tmp_path: Path) -> None:
    ids = tmp_path / "ids.txt"
    ids.write_text("b\n\nzoe\n", encoding="utf-8")
    said = shop.refused("coverage declare", "check", "--file", str(ids), "--reason", "x")
    assert f"{ids}:3: no source mentions 'zoe'" in said
    assert "did you mean 'check'" in shop.refused("coverage declare", "chek", "--every", "--reason", "x")
    assert "in one way" in shop.refused("coverage declare", "check", "--reason", "x")
    ids.write_text("b\nd\n", encoding="utf-8")
    shop.run("coverage declare", "check", "--file", str(ids), "--reason", "x")
    lost = shop.load(roles=ROLES.replace("d,Di", "c,Cy"))
    assert "coverage 1: no source mentions 1 of its 2 entities any more" in lost
    assert sets(shop.ask(PASSED))["none"] == ["b", "e"]


# --- placed spellings -----------------------------------------------------------------------------------


def test_a_placed_spelling_is_a_synonym_without_a_load(shop: Shop) -> None:
    said = shop.run("vocab place", "veep", "VP", "--axis", "level", "--by", "anna", "--reason", "they say so")
    assert said.startswith("placement 1: 'veep' is VP on axis level\n")
    reply = shop.ask(VP)
    assert sets(reply) == {"matched": ["a", "b", "d"], "none": ["c"], "not_recorded": ["e"]}
    assert shop.ask(where("role.level", "eq", "Veep"))["expansion"] == ["level: Veep → {VP} via synonym"]
    assert "placed by anna on" in shop.run("schema")
    level = json.loads(shop.run("schema", "--format", "json"))["axes"]["level"]
    assert [(one["surface"], one["term"], one["by"]) for one in level["placed"]] == [("veep", "VP", "anna")]
    assert "every surface is placed" in shop.run("vocab", "--unplaced")
    shop.load(roles=ROLES + "f,Fy,VEEP,Acme,2018-01,\n")
    assert sets(shop.ask(VP))["matched"] == ["a", "b", "d", "f"]
    shop.run("vocab place", "--undo", "Veep")
    assert sets(shop.ask(VP))["undetermined"] == ["d", "f"]


def test_a_spelling_that_means_something_else_already_is_not_placed(shop: Shop) -> None:
    assert "names VP on axis level already, by the pack itself" in shop.refused("vocab place", "vice president", "SVP")
    assert "a term of several axes (level, grade); say which with --axis" in shop.refused("vocab place", "Veep", "VP")
    assert "no term 'SVPP' on axis level; did you mean 'SVP'?" in shop.refused(
        "vocab place", "Veep", "SVPP", "--axis", "level"
    )
    assert "no axis 'lvl' has terms" in shop.refused("vocab place", "Veep", "VP", "--axis", "lvl")
    shop.run("vocab place", "Veep", "SVP")
    assert "is placed on SVP of axis level already (placement 1)" in shop.refused("vocab place", "VEEP", "IC")
    assert "nothing was added" in shop.run("vocab place", "VEEP", "svp")


def test_a_spelling_that_no_row_holds_is_placed_for_a_load_to_come_and_said_to_be_held_by_none(shop: Shop) -> None:
    said = shop.run("vocab place", "Viip", "VP", "--axis", "level")
    assert "0 rows: no row holds this spelling now\n" in said
    (listed,) = json.loads(shop.run("vocab place", "--list", "--format", "json"))
    assert (listed["held"], listed["note"]) == (0, None)
    shop.load(roles=ROLES + "f,Fy,VIIP,Acme,2018-01,\ng,Gy,viip ,Acme,2018-01,\n")
    assert "2 rows" in shop.run("vocab place", "--list")
    assert sets(shop.ask(VP))["matched"] == ["a", "b", "f", "g"]


def test_a_pack_that_names_the_spelling_itself_has_the_last_word(shop: Shop) -> None:
    shop.run("vocab place", "Veep", "SVP")
    export(shop.folder, {"pack.yaml": PACK.replace("[Vice President]", "[Vice President, veep]")})
    assert "placement 1: the pack itself now places 'Veep' on VP" in shop.load()
    assert sets(shop.ask(where("role.level", "eq", "SVP")))["none"] == ["a", "b", "c", "d"]
    export(shop.folder, {"pack.yaml": PACK})
    shop.load()
    assert sets(shop.ask(where("role.level", "eq", "SVP")))["matched"] == ["d"]


# --- there and back, and the ledger itself --------------------------------------------------------------

ACTS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "correction": (("correct", "role/hr/roles/1", "--reason", "x"), ("correct", "--undo", "role/hr/roles/1")),
    "merge": (("merge", "a", "b", "--reason", "x"), ("merge", "--undo", "a")),
    "coverage": (("coverage declare", "check", "--every", "--reason", "x"), ("coverage withdraw", "{id}")),
    "placement": (("vocab place", "Veep", "VP", "--axis", "level"), ("vocab place", "--undo", "Veep")),
}


def test_an_undo_gives_back_exactly_what_was_before(shop: Shop) -> None:
    before = [content(shop.path)]
    for act, _ in ACTS.values():
        shop.run(*act)
        before.append(content(shop.path))
        assert before[-1] != before[-2]
    coverage = next(e.id for e in ledger.read(shop.path).events if e.kind == "coverage")
    before.pop()
    for _, undo in reversed(ACTS.values()):
        shop.run(*(one.format(id=coverage) for one in undo))
        assert content(shop.path) == before.pop()
    with closedset.open(shop.path) as store:
        assert [one.what for one in store.catalog.history][:3] == ["load", "correction 1", "merge 2"]


def test_an_event_that_was_not_applied_is_applied_by_the_next_load_or_by_the_same_command(shop: Shop) -> None:
    """As a kill between the two steps leaves it."""
    merge = ledger.Merge("a", "b")
    finishes: list[Callable[[], str]] = [shop.load, lambda: shop.run("merge", "a", "b", "--reason", "x")]
    for finish in finishes:
        before = content(shop.path)
        event = ledger.append(shop.path, merge, by="anna", reason="x")
        assert content(shop.path) == before
        assert sets(shop.ask(VP))["matched"] == ["a", "b"]
        assert "not applied yet" in shop.run("merge", "--list")
        finish()
        assert sets(shop.ask(VP))["matched"] == ["b"]
        assert [e.id for e in ledger.read(shop.path).events] == [event.id]
        ledger.append(shop.path, ledger.Undo(event.id), by="anna", reason="x")
        shop.run("merge", "--undo", "a")
        assert content(shop.path) == before


@pytest.mark.parametrize("name", ["correction", "placement"])
def test_a_kill_leaves_the_old_or_the_new_generation_and_a_second_run_finishes(name: str, shop: Shop) -> None:
    rng = random.Random(name)
    act, undo = ACTS[name]
    kind = {"correction": ledger.Correction, "placement": ledger.Placement}[name]
    old = sets(shop.ask(VP))
    shop.run(*act)
    new = sets(shop.ask(VP))
    shop.run(*undo)
    began = time.monotonic()
    subprocess.run([*_command(shop, act)], check=True, capture_output=True)
    took = time.monotonic() - began
    shop.run(*undo)
    for _ in range(2):
        for command, was, then, standing in ((act, old, new, 1), (undo, new, old, 0)):
            process = subprocess.Popen(_command(shop, command), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            time.sleep(took * rng.uniform(0.4, 1.0))
            process.send_signal(signal.SIGKILL)
            process.communicate()
            assert sets(shop.ask(VP)) in (was, then)
            shop.run(*command)
            assert sets(shop.ask(VP)) == then
            assert len(ledger.read(shop.path).of(kind)) == standing


def _command(shop: Shop, words: tuple[str, ...]) -> list[str]:
    command, *arguments = words
    return [sys.executable, "-m", "closedset_cli", *command.split(), str(shop.path), *arguments]


def test_the_ledger_is_only_appended_to(shop: Shop) -> None:
    shop.run("merge", "a", "b", "--reason", "x")
    with sqlite3.connect(shop.path / ledger.FILE) as con:
        for change in ("UPDATE event SET reason = ''", "DELETE FROM event"):
            with pytest.raises(sqlite3.IntegrityError, match="only appended to"):
                con.execute(change)
        assert con.execute("PRAGMA journal_mode").fetchone() == ("wal",)


@pytest.mark.parametrize("harm", [Path.unlink, lambda file: file.write_bytes(b"no ledger at all")])
def test_a_ledger_that_is_lost_or_spoiled_is_refused_and_searches_go_on(
    harm: Callable[[Path], object], shop: Shop
) -> None:
    shop.run("merge", "a", "b", "--reason", "x")
    for file in shop.path.glob("ledger.sqlite*"):
        harm(file)
    for command in (("merge", "c", "d", "--reason", "x"), ("coverage declare", "check", "--every", "--reason", "x")):
        assert "ledger.sqlite: " in shop.run(*command, code=2)
    assert sets(shop.ask(VP))["matched"] == ["b"]
    with pytest.raises(closedset.errors.StoreRefused, match=r"ledger\.sqlite"):
        load(shop.path, shop.folder / "pack.yaml", [shop.folder / "roles.csv", shop.folder / "checks.csv"])
