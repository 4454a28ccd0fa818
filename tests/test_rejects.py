"""`closedset rejects` and `closedset receipt` on real files: every row and cell where the export has it."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from tests.command import run

PACK = """
pack: people
axes: {outcome: {terms: [passed, failed]}}
relations:
  screening: {slots: {outcome: {term: outcome}, by: text, fee: {number: USD}, on: date}}
  role: {slots: {title: text}}
"""
MAP = """
source: export
tables:
  named: SELECT id, title FROM roles WHERE title <> 'none'
rows:
  - relation: screening
    from: screenings
    entity: id
    slots: {outcome: outcome, by: by, fee: fee, on: {column: on, dates: "%d.%m.%Y"}}
    looked_at: {listed: asked.id}
  - {relation: role, from: named, entity: id, slots: {title: title}}
files: {screenings: "screenings_*.csv"}
"""
TERM = "term of axis outcome"
HEAD = "id,outcome,by,fee,on\n"
FILES = {
    "screenings_1.csv": HEAD + 'e1,passed,x,1.50,2024\ne2,failed\n,passed,"a, ""b""",,\ne3,failed,,2,31.12.2023\n',
    "screenings_2.csv": HEAD + ",failed,y,,\ne4,Passed ,y,NaN,soon,more\ne5, passed,,1e3,2023-02\n",
    "roles.csv": "id,title\ne1,none\n,Clerk\n ,Cook\ne2,Cook\n",
    "asked.csv": "id\ne6,oops\ne7\n",
}


def loaded(folder: Path, pack: str, mapping: str, files: dict[str, str]) -> Path:
    """A folder with an export, its pack and map, loaded into the store `s` there."""
    for name, text in {"pack.yaml": pack, "map.yaml": mapping, **files}.items():
        (folder / name).write_text(text, encoding="utf-8")
    code, _, err = run("load", str(folder / "s"), "--pack", str(folder / "pack.yaml"), str(folder))
    assert code == 0, err
    return folder


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(loaded(tmp_path_factory.mktemp("rejects"), PACK, MAP, FILES) / "s")


def place(row: dict[str, Any]) -> str:
    return f"{row['file']}:{row['line']}" if row["line"] else f"{row['file']} row {row['row']}"


def test_every_row_stands_there_with_its_place_its_entity_and_its_text(store: str) -> None:
    code, out, _ = run("rejects", store, "--format", "json")
    said = json.loads(out)
    found = {(r["relation"], r["table"], place(r)): (r["entity_id"], r["text"]) for r in said["rows"]}
    assert (code, said["withheld"], said["unattributed"], len(said["rows"])) == (0, 2, 6, 8)
    empty = {"id": None, "outcome": "passed", "by": 'a, "b"', "fee": None, "on": None}
    assert {k: v for k, v in found.items() if not v[1].startswith("{")} == {
        ("screening", "screenings", "screenings_1.csv:3"): ("e2", "e2,failed"),
        ("screening", "screenings", "screenings_2.csv:3"): ("e4", "e4,Passed ,y,NaN,soon,more"),
        ("screening", "asked", "asked.csv:2"): (None, "e6,oops"),
    }
    assert {k: (v[0], json.loads(v[1])) for k, v in found.items() if v[1].startswith("{")} == {
        ("screening", "screenings", "screenings_1.csv row 3"): (None, empty),
        ("screening", "screenings", "screenings_2.csv row 1"): (
            None,
            {**empty, "outcome": "failed", "by": "y"},
        ),
        ("role", "named", "roles.csv row 2"): (None, {"id": None, "title": "Clerk"}),
        ("role", "named", "roles.csv row 3"): (None, {"id": " ", "title": "Cook"}),
    }
    assert all(r["fault"] and r["cure"] and r["source"] == "export" for r in said["rows"])


def test_every_format_lists_the_same_rows_and_a_limit_bounds_the_list_alone(store: str) -> None:
    listed = json.loads(run("rejects", store, "--format", "json")[1])["rows"]
    lines = [json.loads(line) for line in run("rejects", store, "--format", "jsonl")[1].splitlines()]
    table = list(csv.DictReader(io.StringIO(run("rejects", store, "--format", "csv")[1])))
    assert lines == listed
    assert [{k: v or None for k, v in row.items()} for row in table] == [
        {k: None if v is None else str(v) for k, v in row.items()} for row in listed
    ]
    code, out, err = run("rejects", store, "--format", "jsonl", "--limit", "2")
    assert (code, err) == (0, "closedset: showing 2 of 8\n")
    assert [json.loads(line) for line in out.splitlines()] == listed[:2]
    shown = run("rejects", store)[1]
    assert all(text in shown for text in ("asked.csv:2", "roles.csv row 3", "showing 8 of 8: 2 withheld"))


def test_a_store_that_lost_nothing_and_a_source_that_is_not_there(store: str, tmp_path: Path) -> None:
    assert run("load", str(tmp_path / "s"), "--pack", "roster", "--sample")[0] == 0
    code, out, _ = run("rejects", str(tmp_path / "s"))
    assert code == 0
    assert out.startswith("showing 0 of 0")
    assert run("rejects", store, "--source", "export", "--format", "jsonl")[1].count("\n") == 8
    code, out, err = run("rejects", store, "--source", "exprot")
    assert (code, out) == (2, "")
    assert "'exprot'; it has: export" in err


@pytest.mark.parametrize(
    ("row", "slot", "file", "at", "cell", "kind", "value"),
    [
        ("screening/export/screenings/1", "fee", "screenings_1.csv", 1, "1.50", "number (USD)", "1.50"),
        ("screening/export/screenings/3", "on", "screenings_1.csv", 4, "31.12.2023", "date", "2023-12-31"),
        ("screening/export/screenings/3", "by", "screenings_1.csv", 4, None, "nothing recorded", None),
        ("screening/export/screenings/5", "outcome", "screenings_2.csv", 3, " passed", TERM, "passed"),
        ("screening/export/screenings/5", "on", "screenings_2.csv", 3, "2023-02", "date", "2023-02-01 to 2023-02-28"),
        ("screening/export/screenings/5", "fee", "screenings_2.csv", 3, "1e3", "number (USD)", "1000"),
        ("role/export/named/3", "title", "roles.csv", 4, "Cook", "text", "cook"),
    ],
)
def test_a_receipt_is_the_cell_as_written_and_what_it_was_read_as(
    store: str, row: str, slot: str, file: str, at: int, cell: str | None, kind: str, value: str | None
) -> None:
    code, out, err = run("receipt", store, row, slot, "--format", "json")
    assert code == 0, err
    said = json.loads(out)
    assert (said["file"], said["row"], said["cell"], said["byte_verified"]) == (file, at, cell, True)
    assert said["read_as"] == {"kind": kind, "value": value}
    with io.StringIO(FILES[file]) as text:
        records = list(csv.DictReader(text))
    assert said["cells"] == {k: v or None for k, v in records[at - 1].items()}
    table = run("receipt", store, row, slot)[1]
    assert f"{file} row {at}" in table
    assert all(column in table for column in said["cells"])


@pytest.mark.parametrize(
    ("row", "slot", "said"),
    [
        ("screening/export/screenings/2", "by", "names no entity"),
        ("screening/export/screenings/6", "by", "rows 1 to 5"),
        ("screening/export/screenings/0", "by", "rows 1 to 5"),
        ("screening/export/roles/1", "by", "screening/export/screenings"),
        ("screening/export/screenings", "by", "RELATION/SOURCE/TABLE/NUMBER"),
        ("screening/export/screenings/1", "bye", "there are: outcome, by, fee, on"),
        ("screenings/export/screenings/1", "by", "there are: screening, role"),
    ],
)
def test_a_row_or_slot_that_is_not_there_is_refused_with_what_there_is(
    store: str, row: str, slot: str, said: str
) -> None:
    code, out, err = run("receipt", store, row, slot)
    assert (code, out) == (2, "")
    assert said in err


TWO = """
source: s
rows: [{relation: ev, from: ev, entity: id, slots: {kind: kind}}]
entities: [{from: people, entity: id}]
"""
HEADER = "id,kind,n\nA,red,1\n"
LINE = '{"id":"A","kind":"red"}\n'
Found = tuple[str | None, ...]


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("ev.csv", HEADER + "A,blue,2B,red,3\n", [("A", "A,blue,2B,red,3"), (None, "A,blue,2B,red,3")]),
        ("ev.csv", HEADER + "A,blue,2,B,red,3\n", [("A", "A,blue,2,B,red,3"), (None, "A,blue,2,B,red,3")]),
        ("ev.csv", "id,kind,n\r\nA,red,1\r\nA,x,,B,red\r\n", [("A", "A,x,,B,red"), (None, "A,x,,B,red")]),
        ("ev.csv", "id,kind,n\nA,red,1\r\nA,x,,B,red\n", [("A", "A,x,,B,red"), (None, "A,x,,B,red")]),
        ("ev.csv", HEADER + "A,blue,2,x\n", [("A", "A,blue,2,x")]),
        (
            "ev.jsonl",
            LINE + '{"id":"A","kind":"blue"} {"id":"B","kind":"red"}\n',
            [("A", '{"id":"A","kind":"blue"} {"id":"B","kind":"red"}'), (None, '{"id":"B","kind":"red"}')],
        ),
        (
            "ev.jsonl",
            LINE + '{"id":"A","kind":"bl{"id":"B","kind":"red"}\n',
            [("A", '{"id":"A","kind":"bl{"id":"B","kind":"red"}'), (None, '{"id":"B","kind":"red"}')],
        ),
        (
            "ev.jsonl",
            LINE + '{"id":"A","kind":"blue" "id":"B","kind":"red"}\n',
            [("A", '{"id":"A","kind":"blue" "id":"B","kind":"red"}'), (None, '"id":"B","kind":"red"}')],
        ),
        ("ev.jsonl", LINE + '{"id":"A","kind":"bl\n', [("A", '{"id":"A","kind":"bl')]),
        ("ev.jsonl", LINE + '{"id":"A","kind":"blue"},\n', [("A", '{"id":"A","kind":"blue"},')]),
        ("ev.jsonl", LINE + '{"id":007,"kind":"red"}\n', [(None, '{"id":007,"kind":"red"}')]),
        ("ev.jsonl", LINE + '{"id":1.2.3}\n', [(None, '{"id":1.2.3}')]),
        ("ev.jsonl", LINE + '{"id":"\\q","x":1}\n', [(None, '{"id":"\\q","x":1}')]),
        ("ev.jsonl", LINE + '{"id":"\\ud800", bad\n', [(None, '{"id":"\\ud800", bad')]),
        ("ev.jsonl", LINE + '{"i\\qd":"A", bad\n', [(None, '{"i\\qd":"A", bad')]),
    ],
)
def test_of_two_records_on_one_line_the_second_is_somebodys_whom_nobody_knows(
    name: str, text: str, found: list[Found], tmp_path: Path
) -> None:
    pack = "pack: two\nrelations: {ev: {slots: {kind: text}}}\n"
    for file, said in {"pack.yaml": pack, "map.yaml": TWO, "people.csv": "id\nA\nB\n", name: text}.items():
        (tmp_path / file).write_bytes(said.encode())
    given = (tmp_path / "people.csv", tmp_path / name)
    code, out, err = run("load", tmp_path / "s", "--pack", tmp_path / "pack.yaml", *given, "--format", "json")
    assert code == 0, err
    withheld, nobodys = sum(who is not None for who, _ in found), sum(who is None for who, _ in found)
    (report,) = json.loads(out)["entries"]
    figures = [report[figure] for figure in ("read", "loaded", "withheld", "unattributed")]
    assert figures == [1 + withheld + nobodys, 1, withheld, nobodys]
    listed = json.loads(run("rejects", tmp_path / "s", "--format", "json")[1])["rows"]
    line = 3 if name == "ev.csv" else 2
    assert [(r["entity_id"], r["text"], r["file"], r["line"]) for r in listed] == [(*one, name, line) for one in found]
    licence = run("search", tmp_path / "s", "-w", "ev.kind = red", "--set", "none")[2]
    assert ("unattributed_rows_withheld:ev" in licence) == bool(nobodys)


def test_a_very_long_cell_is_quoted_by_its_beginning_and_printed_whole_by_receipt_alone(tmp_path: Path) -> None:
    long = "x" * 200_000
    for file, said in {
        "pack.yaml": "pack: two\nrelations: {ev: {slots: {kind: text, fee: number}}}\n",
        "map.yaml": TWO.replace("kind: kind", "kind: kind, fee: fee").replace("entities: [{from: people", "# [{x"),
        "ev.csv": f"id,kind,fee\nA,red,{long}\nB,{long},1\n",
    }.items():
        (tmp_path / file).write_text(said, encoding="utf-8")
    quote = f"{'x' * 200}… (200000 characters)"
    loaded = run("load", tmp_path / "s", "--pack", tmp_path / "pack.yaml", tmp_path / "ev.csv")[1]
    for out in (loaded, *(run("search", tmp_path / "s", "-w", w)[1] for w in ("ev.fee >= 1", "ev.kind != red"))):
        assert ("x" * 201 in out, quote in out.replace("\n", "")) == (False, True), out[:2000]
    assert long in run("receipt", tmp_path / "s", "ev/s/ev/1", "fee")[1]


def test_every_message_names_a_row_by_its_place_among_all_records_of_its_file(tmp_path: Path) -> None:
    """Row 3 cannot be read, row 1 names nobody, and a blank line is no record."""
    was = "id,kind\n,blue\nA,red\nB\n\nC,red\nD,blue\n"
    for file, said in {
        "pack.yaml": "pack: two\nrelations: {ev: {slots: {kind: text, more: text}}}\n",
        "map.yaml": TWO.replace("entities: [{from: people, entity: id}]\n", ""),
        "e/ev.csv": was,
        "now/ev.csv": was.replace("D,blue", "D,green").replace("C,red", "C,blue"),
    }.items():
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text(said, encoding="utf-8")
    made = (str(tmp_path / "s"), "--pack", str(tmp_path / "pack.yaml"))
    red = (tmp_path / "s", "-w", "ev.kind = red")
    assert "ev: ev.csv row 1:" in run("load", *made, tmp_path / "e")[1]
    listed = run("rejects", tmp_path / "s")[1]
    assert ["ev.csv row 1" in listed, "ev.csv:4" in listed] == [True, True]
    assert {place in run("search", *red)[1] for place in ("ev.csv row 2 ", "ev.csv row 4 ")} == {True}
    shown = run("search", *red, "--format", "csv")[1]
    assert {place in shown for place in ("ev.csv row 2 ", "ev.csv row 4 ")} == {True}
    assert "ev.csv row 4" in run("receipt", tmp_path / "s", "ev/s/ev/3", "kind")[1]
    assert "row 4 of ev.csv" in run("receipt", tmp_path / "s", "ev/s/ev/3", "more")[1]
    compared = run("verify", tmp_path / "s", "--against", tmp_path / "now")[1]
    assert {place in compared for place in ("ev.csv row 4: kind", "ev.csv row 5: kind")} == {True}
    assert run("load", *made, tmp_path / "now")[0] == 0
    assert "(ev.csv row 4)" in run("diff", *red, "1..2")[1]


CELLS_PACK = """
pack: people
relations:
  held: {dated: true, slots: {fee: {number: USD}, code: text}}
"""
CELLS_MAP = """
source: export
rows:
  - relation: held
    from: held
    entity: id
    slots: {fee: fee, code: {column: code, pattern: "[A-Z]+"}}
    period: [start, end]
    looked_at: {listed: asked.id}
files: {held: "held_*.csv"}
"""
CELLS_FILES = {
    "held_1.csv": "id,fee,code,start,end\na,1,A,2020-01,2021-01\nb,€2,B,2021-05,2020-05\n",
    "held_2.csv": "id,fee,code,start,end\nc,3,c9,soon,\nd,x,D,2020,\n,y,E,2020,\n",
    "asked.csv": "id\ne,oops\nf\n",
}


@pytest.fixture(scope="module")
def lossy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return loaded(tmp_path_factory.mktemp("cells"), CELLS_PACK, CELLS_MAP, CELLS_FILES)


def test_every_unreadable_cell_of_a_loaded_row_is_listed_with_its_place_and_why(lossy: Path) -> None:
    code, out, _ = run("rejects", lossy / "s", "--cells", "--format", "json")
    said = json.loads(out)
    assert (code, said["unreadable"], len(said["cells"])) == (0, 6, 6)
    assert {(c["slot"], c["column"], c["file"], c["row"], c["entity_id"], c["text"]) for c in said["cells"]} == {
        ("fee", "fee", "held_1.csv", 2, "b", "€2"),
        ("period_from", "start", "held_1.csv", 2, "b", "2021-05"),
        ("period_to", "end", "held_1.csv", 2, "b", "2020-05"),
        ("code", "code", "held_2.csv", 1, "c", "c9"),
        ("period_from", "start", "held_2.csv", 1, "c", "soon"),
        ("fee", "fee", "held_2.csv", 2, "d", "x"),
    }
    why = {c["text"]: c["fault"] for c in said["cells"]}
    assert why["2021-05"] == why["2020-05"] == "its period ends before it starts"
    assert why["c9"] == "does not fit the map's `pattern` [A-Z]+"
    assert why["x"].startswith("is no number")
    assert why["soon"].startswith("is no date")
    assert said["cells"][0]["row_id"] == "held/export/held/2"


def test_every_format_lists_the_same_cells(lossy: Path) -> None:
    listed = json.loads(run("rejects", lossy / "s", "--cells", "--format", "json")[1])["cells"]
    code, out, err = run("rejects", lossy / "s", "--cells", "--format", "jsonl", "--limit", "2")
    assert (code, err) == (0, "closedset: showing 2 of 6\n")
    assert [json.loads(line) for line in out.splitlines()] == listed[:2]
    table = list(csv.DictReader(io.StringIO(run("rejects", lossy / "s", "--cells", "--format", "csv")[1])))
    assert [{**row, "row": int(row["row"])} for row in table] == listed
    shown = run("rejects", lossy / "s", "--cells")[1]
    assert "held_1.csv row 2" in shown
    assert shown.endswith("showing 6 of 6 unreadable cells of loaded rows\n")
    assert run("rejects", lossy / "s", "--cells", "--source", "export", "--format", "jsonl")[1].count("\n") == 6
    assert run("rejects", lossy / "s", "--cells", "--source", "exprot")[0] == 2


def test_the_headline_and_the_table_count_the_same_rows_and_a_reversed_period_is_unreadable(lossy: Path) -> None:
    code, out, _ = run("check", lossy / "pack.yaml", lossy / "map.yaml", lossy)
    assert code == 4
    headline = out.splitlines()[0]
    assert headline.endswith("3 rows unattributed, 4 cells unreadable, 1 period reversed"), headline
    rows = [line.split() for line in out.splitlines()]
    assert ["held", "held", "5", "4", "0", "1"] in rows
    assert ["held", "asked", "2", "0", "0", "2"] in rows
    assert ["held.period_from", "2", "0", "0", "2"] in rows
    assert ["held.period_to", "1", "0", "2", "1"] in rows
    assert "held from held: 1 period ends before it starts: unreadable" in out
