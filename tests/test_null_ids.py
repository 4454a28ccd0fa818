"""A text that records nothing names nobody, wherever ids are read; and figures are of the rows that are loaded."""

import json
import shutil
from pathlib import Path
from typing import Any

import duckdb
import pytest
from tests.command import run
from tests.tiny import ask, export, reasons, sets, where

import closedset
from closedset import ledger

PACK = """
pack: certs
subject: supplier
axes: {body: {terms: [TUV, DNV]}}
relations:
  cert: {dated: true, slots: {standard: text, body: {term: body}, fee: number}}
"""
MAP = """
source: s
"null": ["NULL", n/a]
entities: [{from: listed, entity: id, name: name}]
rows:
  - {relation: cert, from: certs, entity: id, name: name, slots: {standard: standard, body: body, fee: fee},
     period: [a, b], looked_at: {listed: asked.id}}
coverage: [{relation: cert, every: certs.id}]
"""
CERTS = """id,name,standard,body,fee,a,b
S1,Alpha,ISO,TUV,1,2020-01,
NULL,Nobody,ISO,Zorp,??,2024-05,2023-01
 n/a ,n/a,ISO,TUV,1,??,??
,x,ISO,TUV,1,,
S4,x,ISO
S2,n/a,QMS,DNV,2,2024-05,2023-01
NULL,x,ISO
"""
#: The same texts, where a map says nothing of them.
OTHER = MAP.replace("source: s", "source: o").replace('"null": ["NULL", n/a]\n', "")
ISO = where("cert.standard", "eq", "ISO")


def ok(*arguments: str | Path, code: int = 0) -> str:
    ended, out, err = run(*arguments)
    assert ended == code, (out, err)
    return out


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("null")
    export(folder, {"pack.yaml": PACK, "map.yaml": MAP, "other.yaml": OTHER})
    listed = "id,name\nS2,NULL\nn/a,Nobody\nS5,Echo\n"
    export(folder / "x", {"certs.csv": CERTS, "asked.csv": "id\nS1\nS3\nn/a\nNULL \n", "listed.csv": listed})
    ok("load", folder / "st", "--pack", folder / "pack.yaml", folder / "x")
    return folder / "st"


def asked(store: Path, *constraints: dict[str, Any]) -> dict[str, Any]:
    with closedset.open(store) as opened:
        return ask(opened, *constraints)


def test_a_text_that_records_nothing_names_nobody(store: Path) -> None:
    reply = asked(store, ISO)
    assert sets(reply) == {
        "matched": ["S1"], "none": ["S2", "S3"], "not_recorded": ["S5"], "undetermined": ["S4"],
    }  # fmt: skip
    assert reasons(reply)["unattributed_rows_withheld:cert"] == 4
    assert [m["name"] for m in reply["matches"]] == ["Alpha"]
    found = asked(store, where("cert.standard", "eq", "QMS"))
    assert [(m["entity_id"], m["name"]) for m in found["matches"]] == [("S2", None)]
    with closedset.open(store) as opened:
        said = {s.said: s.entities for s in opened.catalog.statements}
        assert said == {"listed: asked.id": 2, "every: certs.id": 2}
        (one,) = opened.catalog.reports
        assert (one.read, one.loaded, one.withheld, one.unattributed) == (7, 2, 1, 4)


def test_rejects_says_which_of_them_and_what_would_cure_it(store: Path) -> None:
    listed = json.loads(ok("rejects", store, "--format", "json"))["rows"]
    told = {(r["row"], r["line"]): r["fault"] for r in listed if r["state"] == "unattributed"}
    nothing = "the entity column holds a text that records nothing"
    assert {at: told[at] for at in ((2, None), (3, None), (4, None))} == {
        (2, None): nothing, (3, None): nothing, (4, None): "the entity column is empty",
    }  # fmt: skip
    assert len(told) == 4
    assert "take it out of the map's `null`" in ok("rejects", store)


def test_the_figures_are_of_the_rows_that_are_loaded(store: Path) -> None:
    with closedset.open(store) as opened:
        (report,) = opened.catalog.reports
    for slot in report.slots.values():
        assert slot.recorded + slot.empty + slot.reversed + slot.unreadable.rows == report.loaded == 2
    assert (report.slots["period_from"].recorded, report.slots["period_from"].reversed) == (1, 1)
    assert report.slots["period_from"].unreadable.rows == report.slots["fee"].unreadable.rows == 0
    assert report.slots["body"].unplaced.rows == 0
    slots = json.loads(ok("schema", store, "--format", "json"))["relations"]["cert"]["slots"]
    assert {n: (s["recorded"], s["empty"], s["unreadable"]) for n, s in slots.items()} == {
        "standard": (2, 0, 0), "body": (2, 0, 0), "fee": (2, 0, 0), "period_from": (1, 0, 1), "period_to": (0, 1, 1),
    }  # fmt: skip
    assert "every surface is placed" in ok("vocab", store, "--unplaced")


def test_check_says_the_same(store: Path) -> None:
    folder = store.parent
    out = ok("check", folder / "pack.yaml", folder / "map.yaml", folder / "x", code=4)
    assert "cert from certs: 1 period ends before it starts" in out
    assert "unreadable: '" not in out


def test_verify_bears_it_out_and_notices_figures_that_do_not_add_up(store: Path, tmp_path: Path) -> None:
    assert "as it was" in ok("verify", store)
    assert "as it was" in ok("verify", store, "--against", store.parent / "x")
    copy = tmp_path / "st"
    shutil.copytree(store, copy)
    with duckdb.connect(str(copy / "generations" / "1.duckdb")) as con:
        con.execute("""UPDATE catalog SET record = replace(record, '"reversed":1,', '"reversed":0,')""").fetchall()
    out = ok("verify", copy, code=3)
    assert "catalog: cert from certs (s): period_from" in out
    assert "2 are counted, and their parts are 1" in out


def test_another_source_may_mean_an_id_by_the_same_text(store: Path, tmp_path: Path) -> None:
    copy = tmp_path / "st"
    shutil.copytree(store, copy)
    export(tmp_path / "x", {"certs.csv": "id,name,standard,body,fee,a,b\nNULL,n/a,ISO,TUV,1,,\n"})
    export(tmp_path / "x", {"asked.csv": "id\nn/a\n", "listed.csv": "id,name\n"})
    ok("load", copy, "--pack", store.parent / "pack.yaml", "--map", store.parent / "other.yaml", tmp_path / "x")
    reply = asked(copy, ISO)
    assert sets(reply)["matched"] == ["NULL", "S1"]
    assert sets(reply)["none"] == ["S2", "S3", "n/a"]
    assert [m["name"] for m in reply["matches"]] == ["n/a", "Alpha"]
    assert [len(m["rows"]) for m in reply["matches"]] == [1, 1]
    assert "as it was" in ok("verify", copy)


def test_a_correction_of_a_row_that_comes_to_name_nobody_has_no_effect(store: Path, tmp_path: Path) -> None:
    export(tmp_path, {"pack.yaml": PACK, "map.yaml": OTHER})
    ok("load", tmp_path / "st", "--pack", tmp_path / "pack.yaml", store.parent / "x")
    ok("correct", tmp_path / "st", "cert/o/certs/2", "--by", "me", "--reason", "nobody")
    assert [e.kind for e in ledger.read(tmp_path / "st").events] == ["correction"]
    export(tmp_path, {"map.yaml": OTHER.replace("source: o", 'source: o\n"null": ["NULL", n/a]')})
    out = ok("load", tmp_path / "st", "--pack", tmp_path / "pack.yaml", store.parent / "x", "--accept-shrink")
    assert "correction 1: the source no longer states the row" in out
    assert "corrected_rows_unanswerable:cert" not in reasons(asked(tmp_path / "st", ISO))


def test_init_asks_of_an_id_that_may_be_none(tmp_path: Path) -> None:
    rows = "".join(f"S{n},{kind}\n" for n, kind in enumerate(["ISO", "QMS", "ISO", "QMS"]))
    export(tmp_path / "x", {"certs.csv": f"supplier_id,standard\n{rows}n/a,ISO\n"})
    out = ok("init", tmp_path / "x", "--out", tmp_path / "d")
    assert "Do 'n/a' record nothing? Then say so under `null` in the map." in out
    drafted = (tmp_path / "d" / "map.yaml").read_text(encoding="utf-8")
    assert "# null: [n/a]\n# 'n/a' stands in certs.supplier_id 1, as an id\n" in drafted
    export(tmp_path / "d", {"map.yaml": drafted.replace("# null:", "null:").replace("null: [", '"null": [')})
    ok("load", tmp_path / "st", "--pack", tmp_path / "d" / "pack.yaml", tmp_path / "x")
    with closedset.open(tmp_path / "st") as opened:
        assert (opened.catalog.universe, opened.catalog.relations["certs"].unattributed) == (4, 1)
