"""`closedset verify`: what was tampered with is found, and a live export is compared row by row."""

import json
from pathlib import Path
from typing import Any

import duckdb
import pytest
from tests.command import run

PACK = """
pack: people
axes: {outcome: {terms: [passed, failed]}}
relations:
  check: {slots: {outcome: {term: outcome}, fee: number, "on": date}}
  role: {slots: {title: text}}
"""
MAP = """
source: hr
tables:
  named: SELECT id, title, upper(title) AS loud FROM roles WHERE title <> 'none'
rows:
  - relation: check
    from: checks
    entity: id
    slots: {outcome: outcome, fee: fee, "on": day}
    looked_at: {listed: asked.id}
  - {relation: role, from: named, entity: id, slots: {title: title}}
"""
HEAD = "id,outcome,fee,day"
ROWS = ["e1,passed,1.5,2020", "e2,failed,2,2020-01-02", "e2,Pass?,,", ",passed,3,2021", "e3,failed,x,2019"]
EXPORT = {
    "checks": "\n".join([HEAD, *ROWS]) + "\n",
    "roles": "id,title\ne1,none\ne2,Cook\ne3,Clerk\n",
    "asked": "id\ne1\ne4\n",
}


@pytest.fixture
def store(tmp_path: Path) -> Path:
    (tmp_path / "pack.yaml").write_text(PACK, encoding="utf-8")
    (tmp_path / "map.yaml").write_text(MAP, encoding="utf-8")
    export(tmp_path / "export")
    code, _, err = run("load", tmp_path / "s", "--pack", tmp_path / "pack.yaml", tmp_path / "export")
    assert code == 0, err
    return tmp_path / "s"


def export(folder: Path, **files: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in {**EXPORT, **files}.items():
        (folder / f"{name}.csv").write_text(text, encoding="utf-8")
    return folder


def verify(*arguments: str | Path) -> tuple[int, dict[str, Any]]:
    code, out, err = run("verify", *arguments, "--format", "json")
    assert code in (0, 3), err
    said: dict[str, Any] = json.loads(out)
    assert said["differs"] == (code == 3)
    return code, said


def tamper(file: Path, statement: str) -> None:
    with duckdb.connect(str(file)) as con:
        con.execute(statement).fetchall()


# --- the store against its own cells ------------------------------------------------------------------------


def test_a_store_that_nobody_touched_is_as_it_was(store: Path) -> None:
    code, said = verify(store)
    assert (code, said["differences"], said["rows"]) == (0, [], 6)
    assert said["cells"] == 5 * 4 + 3 * 2 + 2 * 1 + 2 * 3
    assert verify(store, "--sample", "2")[0] == 0
    assert len(said["content"]) == 64
    assert f"content {said['content'][:16]}: " in run("verify", store)[1]
    assert run("verify", store, "--source", "hr")[1].startswith("as it was: ")
    code, out, err = run("verify", store, "--source", "nobody")
    assert (code, out) == (2, "")
    assert "it has: hr" in err


GENERATION, CELLS = "generations/1.duckdb", "cells/1_hr.duckdb"


@pytest.mark.parametrize(
    ("file", "statement", "where", "example"),
    [
        (GENERATION, "UPDATE rows_check SET outcome = 1 WHERE _row = 1", "check: rows", "check/hr/checks/2: outcome"),
        (GENERATION, "UPDATE rows_check SET fee = 9 WHERE _row = 0", "check: rows", "check/hr/checks/1: fee"),
        (GENERATION, "UPDATE rows_check SET fee__unreadable = false WHERE _row = 4", "check: rows", "fee__unreadable"),
        (GENERATION, "DELETE FROM rows_role WHERE _row = 1", "role: rows", "role/hr/named/2: "),
        (GENERATION, "INSERT INTO coverage SELECT 0, ordinal FROM entity WHERE entity_id = 'e2'", "table coverage", ""),
        (GENERATION, "UPDATE entity SET entity_id = 'e9' WHERE entity_id = 'e4'", "table entity", ""),
        (GENERATION, "DELETE FROM unattributed", "table unattributed", ""),
        (GENERATION, "UPDATE bitmap SET held = NULL WHERE relation = 'role'", "table bitmap", ""),
        (
            GENERATION,
            """UPDATE catalog SET record = replace(record, '"universe":4,', '"universe":5,')""",
            "catalog: universe",
            "says 5, counted 4",
        ),
        (CELLS, "UPDATE cells_0 SET outcome = 'failed' WHERE id = 'e1'", "check: rows", "check/hr/checks/1: outcome"),
        (CELLS, "DELETE FROM cells_0 WHERE id = 'e3'", "table checks (hr): rows", "4 are kept, 5 were read"),
        (CELLS, "UPDATE cells_2 SET title = 'Chef' WHERE id = 'e2'", "column title is not roles.title", ""),
    ],
)
def test_what_was_tampered_with_is_named(store: Path, file: str, statement: str, where: str, example: str) -> None:
    was = verify(store)[1]["content"]
    tamper(store / file, statement)
    code, said = verify(store)
    assert code == 3
    of_content = not any(name in statement for name in ("unattributed", "bitmap", "catalog"))
    assert (said["content"] != was) == of_content
    found = [one for one in said["differences"] if where in one["where"]]
    assert found, said["differences"]
    assert found[0]["count"] == 1
    assert any(example in text for text in found[0]["examples"]) or not example
    code, out, _ = run("verify", store)
    assert code == 3
    assert out.startswith("not as it was: ")
    assert where in out


def test_a_sample_finds_what_lies_in_it(store: Path) -> None:
    tamper(store / CELLS, "UPDATE cells_0 SET outcome = 'failed' WHERE id = 'e1'")
    code, said = verify(store, "--sample", "100")
    assert code == 3
    assert [(d["count"], d["examples"]) for d in said["differences"]] == [(1, ["check/hr/checks/1: outcome"])]


# --- against the live export --------------------------------------------------------------------------------

SECOND = "checks.csv row 2"
FIGURES = ("kept", "live", "same", "moved", "changed", "missing", "new", "cells")


def rows(*lines: str, head: str = HEAD) -> str:
    return "\n".join([head, *lines]) + "\n"


@pytest.mark.parametrize(
    ("live", "figures", "examples"),
    [
        (rows(*ROWS), (5, 5, 5, 0, 0, 0, 0, 0), {}),
        (
            rows(ROWS[0], "e2,passed,2.0,2020-01-02", *ROWS[2:]),
            (5, 5, 4, 0, 1, 0, 0, 2),
            {"changed": [(SECOND, SECOND, [["outcome", "failed", "passed"], ["fee", "2", "2.0"]])]},
        ),
        (
            rows(ROWS[1], ROWS[0], *ROWS[2:]),
            (5, 5, 3, 2, 0, 0, 0, 0),
            {"moved": [("checks.csv row 1", "checks.csv row 2", []), ("checks.csv row 2", "checks.csv row 1", [])]},
        ),
        (
            rows("e0,passed,1,2020", *ROWS),
            (5, 6, 0, 5, 0, 0, 1, 0),
            {"new": [(None, "checks.csv row 1", [])]},
        ),
        (rows(*ROWS[:4]), (5, 4, 4, 0, 0, 1, 0, 0), {"missing": [("checks.csv row 5", None, [])]}),
        # The same row twice is one more row; a row about somebody else is one gone and one new.
        (rows(*ROWS, ROWS[0]), (5, 6, 5, 0, 0, 0, 1, 0), {"new": [(None, "checks.csv row 6", [])]}),
        (
            rows("e8,passed,1.5,2020", *ROWS[1:]),
            (5, 5, 4, 0, 0, 1, 1, 0),
            {"missing": [("checks.csv row 1", None, [])], "new": [(None, "checks.csv row 1", [])]},
        ),
        # A row that names nobody is known by its place.
        (
            rows(*ROWS[:3], ",failed,3,2021", ROWS[4]),
            (5, 5, 4, 0, 1, 0, 0, 1),
            {"changed": [("checks.csv row 4", "checks.csv row 4", [["outcome", "passed", "failed"]])]},
        ),
        # One inserted above, one changed below it.
        (
            rows("e0,passed,1,2020", *ROWS[:4], "e3,passed,x,2019"),
            (5, 6, 0, 4, 1, 0, 1, 1),
            {"changed": [("checks.csv row 5", "checks.csv row 6", [["outcome", "failed", "passed"]])]},
        ),
    ],
)
def test_every_row_of_the_live_export_is_the_same_moved_changed_missing_or_new(
    store: Path, tmp_path: Path, live: str, figures: tuple[int, ...], examples: dict[str, list[Any]]
) -> None:
    before = {f: f.stat().st_mtime_ns for f in store.rglob("*.duckdb")}
    code, said = verify(store, "--against", export(tmp_path / "live", checks=live))
    (checks,) = [t for t in said["tables"] if t["table"] == "checks"]
    assert tuple(checks[f] for f in FIGURES) == figures
    assert checks["kept"] == checks["same"] + checks["moved"] + checks["changed"] + checks["missing"]
    assert checks["live"] == checks["same"] + checks["moved"] + checks["changed"] + checks["new"]
    for kind, expected in examples.items():
        found = [(e["was_at"], e["now_at"], e["cells"]) for e in checks["examples"][kind]]
        assert found == expected
    assert code == (0 if figures[2] == figures[0] == figures[1] else 3)
    assert all(not t["differs"] for t in said["tables"] if t["table"] != "checks")
    assert before == {f: f.stat().st_mtime_ns for f in store.rglob("*.duckdb")}
    assert run("verify", store, "--against", tmp_path / "live")[0] == code


PARTS = """
source: hr
files: {checks: "checks*.csv"}
rows: [{relation: check, from: checks, entity: id, slots: {outcome: outcome}}]
"""


@pytest.mark.parametrize(
    ("kept", "live", "figures", "examples"),
    [
        (  # A part file more, before the others; and one that is gone.
            {"checks_2": rows(*ROWS)},
            {"checks_1": rows("e9,passed,1,2020"), "checks_2": rows(*ROWS)},
            (5, 6, 5, 0, 0, 0, 1, 0),
            {"new": [(None, "checks_1.csv row 1")]},
        ),
        (
            {"checks_1": rows("e9,passed,1,2020"), "checks_2": rows(*ROWS)},
            {"checks_2": rows(*ROWS)},
            (6, 5, 5, 0, 0, 1, 0, 0),
            {"missing": [("checks_1.csv row 1", None)]},
        ),
        (  # Files of one name are told apart by their folders; a file of another name alone is the same file.
            {"2023/checks": rows(*ROWS[:2]), "2024/checks": rows(*ROWS[2:])},
            {"2022/checks": rows("e9,passed,1,2020"), "2023/checks": rows(*ROWS[:2]), "2024/checks": rows(*ROWS[2:])},
            (5, 6, 5, 0, 0, 0, 1, 0),
            {"new": [(None, "checks.csv row 1")]},
        ),
        ({"checks_1": rows(*ROWS)}, {"checks_2": rows(*ROWS)}, (5, 5, 5, 0, 0, 0, 0, 0), {}),
        (  # A row that moves from one part to another has moved; so has one within its part.
            {"checks_1": rows(*ROWS[:2]), "checks_2": rows(*ROWS[2:])},
            {"checks_0": rows("e9,passed,1,2020"), "checks_1": rows(ROWS[0]), "checks_2": rows(*ROWS[2:], ROWS[1])},
            (5, 6, 4, 1, 0, 0, 1, 0),
            {"moved": [("checks_1.csv row 2", "checks_2.csv row 4")]},
        ),
        (  # A line that can be read again is a row more, and those below it stand where they stood.
            {"checks": rows(*ROWS[:2], "e7,passed", *ROWS[2:])},
            {"checks": rows(*ROWS[:2], "e7,passed,1,2020", *ROWS[2:])},
            (5, 6, 5, 0, 0, 0, 1, 0),
            {"new": [(None, "checks.csv row 3")]},
        ),
        (  # A row that names nobody is known by its place in its file.
            {"checks_2": rows(ROWS[0], ",failed,3,2021")},
            {"checks_1": rows("e9,passed,1,2020"), "checks_2": rows(ROWS[0], ",passed,3,2021")},
            (2, 3, 1, 0, 1, 0, 1, 1),
            {"changed": [("checks_2.csv row 2", "checks_2.csv row 2")]},
        ),
    ],
)
def test_a_row_of_a_part_stands_where_it_stood_whatever_parts_there_are(
    tmp_path: Path, kept: dict[str, str], live: dict[str, str], figures: tuple[int, ...], examples: dict[str, list[Any]]
) -> None:
    folders: dict[str, dict[Path, None]] = {"kept": {}, "live": {}}
    for folder, parts in (("kept", kept), ("live", live)):
        for name, text in parts.items():
            file = tmp_path / folder / f"{name}.csv"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
            folders[folder][file.parent] = None
    (tmp_path / "pack.yaml").write_text(PACK, encoding="utf-8")
    (tmp_path / "map.yaml").write_text(PARTS, encoding="utf-8")
    code, _, err = run("load", tmp_path / "s", "--pack", tmp_path / "pack.yaml", *folders["kept"])
    assert code == 0, err
    live_folders = [word for folder in folders["live"] for word in ("--against", folder)]
    (checks,) = verify(tmp_path / "s", *live_folders)[1]["tables"]
    assert tuple(checks[f] for f in FIGURES) == figures
    for kind, expected in examples.items():
        assert [(e["was_at"], e["now_at"]) for e in checks["examples"][kind]] == expected


def test_columns_and_lines_that_came_or_went_are_named(store: Path, tmp_path: Path) -> None:
    lines = [f"{line},z" for line in ROWS]
    live = export(tmp_path / "live", checks=rows(*lines, "e5,failed", head="id,outcome,fee,date,more"))
    code, said = verify(store, "--against", live)
    (checks,) = [t for t in said["tables"] if t["table"] == "checks"]
    assert code == 3
    assert (checks["columns_gained"], checks["columns_lost"]) == (["date", "more"], ["day"])
    assert (checks["unread_gained"], checks["unread_lost"], checks["same"]) == (["e5,failed"], [], 5)


def test_which_source_is_meant_must_be_said_where_there_are_several(store: Path, tmp_path: Path) -> None:
    other = MAP.replace("source: hr", "source: other")
    (tmp_path / "other.yaml").write_text(other, encoding="utf-8")
    arguments = ("load", store, "--pack", tmp_path / "pack.yaml", "--map", tmp_path / "other.yaml", tmp_path / "export")
    assert run(*arguments)[0] == 0
    code, out, err = run("verify", store, "--against", tmp_path / "export")
    assert (code, out) == (2, "")
    assert "--source: hr, other" in err
    assert verify(store, "--against", tmp_path / "export", "--source", "other")[0] == 0
    assert verify(store)[0] == 0
    assert verify(store, "--source", "other")[1]["rows"] == 6
    assert run("verify", store, "--against", tmp_path / "export", "--sample", "1")[0] == 2
