"""Every row has a name of its own, and what people say of a row by its name holds of that row alone."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.command import run
from tests.tiny import ask, export, sets, where

import closedset
from closedset import ledger

PACK = """
pack: wide
axes:
  country: {terms: [Germany, France]}
  language: {terms: [German, French]}
relations:
  cert: {slots: {standard: text, body: text}}
  talk: {slots: {country: {term: country}, language: {term: language}}}
"""
TWICE = """
source: s
rows:
  - {relation: cert, from: p, entity: id, slots: {standard: cert1, body: body1}}
  - {relation: cert, from: p, entity: id, slots: {standard: cert2, body: body2}, looked_at: {every: p.id}}
"""
WIDE = "id,cert1,body1,cert2,body2\nP1,ISO,TUV,QMS,SGS\nP2,QMS,DNV,ISO,BV\n"
ONCE = """
source: s
rows: [{relation: cert, from: p, entity: id, slots: {standard: t}, looked_at: {every: p.id}}]
"""
ISO, QMS = where("cert.standard", "eq", "ISO"), where("cert.standard", "eq", "QMS")
WHY = ("--by", "me", "--reason", "wrong")


def ok(*arguments: str | Path) -> str:
    code, out, err = run(*arguments)
    assert code == 0, err
    return out


def refused(*arguments: str | Path) -> str:
    code, _, err = run(*arguments)
    assert code == 2, err
    return err


def load(folder: Path, mapping: str, **files: str) -> Path:
    """Load a folder that holds these files only, and give the store."""
    named = {name.replace("_", "."): text for name, text in files.items()}
    export(folder, {"pack.yaml": PACK, "map.yaml": mapping})
    for file in (folder / "x").glob("*"):
        file.unlink()
    export(folder / "x", named)
    ok("load", folder / "st", "--pack", folder / "pack.yaml", folder / "x")
    return folder / "st"


def asked(store: Path, *constraints: dict[str, Any]) -> dict[str, Any]:
    with closedset.open(store) as opened:
        return ask(opened, *constraints)


def in_force(store: Path) -> list[int]:
    return [event.id for event in ledger.read(store).events]


def test_two_facts_of_one_source_row_have_names_of_their_own(tmp_path: Path) -> None:
    store = load(tmp_path, TWICE, p_csv=WIDE)
    rows = [row for match in asked(store, ISO)["matches"] for row in match["rows"]]
    assert [row["row_id"] for row in rows] == ["cert/s/p/1", "cert/s/p/2/2"]
    for row in rows:
        told = json.loads(ok("receipt", store, row["row_id"], "body", "--format", "json"))
        assert told["row_id"] == row["row_id"]
        assert told["cell"] == row["slots"]["body"]
    assert "it makes: cert/s/p/1, cert/s/p/1/2" in refused("receipt", store, "cert/s/p/1/3", "body")
    assert "of that source row there are: cert/s/p/2, cert/s/p/2/2" in refused("correct", store, "cert/s/p/2/3", *WHY)


def test_a_correction_of_one_fact_leaves_the_others_of_its_source_row(tmp_path: Path) -> None:
    store = load(tmp_path, TWICE, p_csv=WIDE)
    assert "1 row: cert/s/p/2/2\n" in ok("correct", store, "cert/s/p/2/2", *WHY)
    assert sets(asked(store, ISO)) == {"matched": ["P1"], "undetermined": ["P2"]}
    assert sets(asked(store, QMS)) == {"matched": ["P1", "P2"]}
    # Entries that change places in the map take their corrections with them.
    head, first, second = TWICE.strip().rsplit("\n", 2)
    store = load(tmp_path, "\n".join([head, second, first, ""]), p_csv=WIDE)
    assert "1 row: cert/s/p/2 " in ok("correct", store, "--list")
    assert sets(asked(store, ISO)) == {"matched": ["P1"], "undetermined": ["P2"]}
    ok("correct", store, "--undo", "cert/s/p/2", "--by", "me")
    assert sets(asked(store, ISO)) == {"matched": ["P1", "P2"]}


def test_a_correction_outlives_a_slot_that_its_entry_gains_and_an_entry_beside_it(tmp_path: Path) -> None:
    entry = TWICE.split("\n")[3]
    store = load(tmp_path, f"source: s\nrows:\n{entry.replace(', body: body1', '')}\n", p_csv=WIDE)
    ok("correct", store, "cert/s/p/1", *WHY)
    store = load(tmp_path, TWICE, p_csv=WIDE)
    assert "1 row: cert/s/p/1 " in ok("correct", store, "--list")
    assert sets(asked(store, QMS)) == {"matched": ["P1", "P2"]}
    assert sets(asked(store, ISO)) == {"matched": ["P2"], "undetermined": ["P1"]}


def test_a_correction_that_an_older_ledger_holds_keeps_its_meaning(tmp_path: Path) -> None:
    store = load(tmp_path, ONCE, p_csv="id,t\nA,ISO\nB,QMS\n")
    ok("correct", store, "cert/s/p/1", *WHY)
    (event,) = ledger.read(store).events
    assert isinstance(event.fact, ledger.Correction)
    ok("correct", store, "--undo", "1", "--by", "me")
    older = ledger.Correction(**{**vars(event.fact), "reads": ()})
    ledger.append(store, older, by="me", reason="as before rows had names of their own")
    store = load(tmp_path, ONCE, p_csv="id,t\nB,QMS\nA,ISO\n")
    assert sets(asked(store, ISO)) == {"none": ["B"], "undetermined": ["A"]}
    assert "nothing was added" in ok("correct", store, "cert/s/p/2", *WHY)
    ok("correct", store, "--undo", "cert/s/p/2", "--by", "me")
    assert in_force(store) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"p_csv": "id,t\nA,ISO\nB,QMS\n"}, {"p_csv": "id,t,note\nA,ISO,new\nB,QMS,\n"}),
        ({"p_csv": "id,t,note\nA,ISO,\nB,QMS,x\n"}, {"p_csv": "id,t\nA,ISO\nB,QMS\n"}),
        (
            {"p_jsonl": '{"id":"A","t":"ISO"}\n{"id":"B","t":"QMS","note":"left"}\n'},
            {"p_jsonl": '{"id":"A","t":"ISO"}\n{"id":"B","t":"QMS"}\n'},
        ),
    ],
    ids=["gained", "lost from a CSV", "lost from JSON"],
)
def test_a_column_that_comes_or_goes_empty_leaves_the_row_what_it_was(
    tmp_path: Path, before: dict[str, str], after: dict[str, str]
) -> None:
    store = load(tmp_path, ONCE, **before)
    ok("correct", store, "cert/s/p/1", *WHY)
    store = load(tmp_path, ONCE, **after)
    assert sets(asked(store, ISO)) == {"none": ["B"], "undetermined": ["A"]}
    assert "nothing was added" in ok("correct", store, "cert/s/p/1", *WHY)
    assert in_force(store) == [1]
    assert "correction 1 undone" in ok("correct", store, "--undo", "cert/s/p/1", "--by", "me")
    assert sets(asked(store, ISO)) == {"matched": ["A"], "none": ["B"]}


def test_a_column_that_went_with_a_text_in_it_makes_it_another_row(tmp_path: Path) -> None:
    store = load(tmp_path, ONCE, p_csv="id,t,note\nA,ISO,left\nB,QMS,\n")
    ok("correct", store, "cert/s/p/1", *WHY)
    store = load(tmp_path, ONCE, p_csv="id,t\nA,ISO\nB,QMS\n")
    assert sets(asked(store, ISO)) == {"matched": ["A"], "none": ["B"]}
    assert "the source no longer states the row" in ok("correct", store, "--list")
    assert "no correction 'cert/s/p/1' is in force; in force: 1" in refused(
        "correct", store, "--undo", "cert/s/p/1", "--by", "me"
    )


def test_a_row_that_two_corrections_retire_is_given_back_by_their_numbers(tmp_path: Path) -> None:
    """A store of an earlier version may hold two of one row."""
    store = load(tmp_path, ONCE, p_csv="id,t\nA,ISO\n")
    ok("correct", store, "cert/s/p/1", *WHY)
    (event,) = ledger.read(store).events
    assert isinstance(event.fact, ledger.Correction)
    ledger.append(store, ledger.Correction(**{**vars(event.fact), "reads": ()}), by="me", reason="again")
    ok("load", store, "--pack", tmp_path / "pack.yaml", tmp_path / "x")
    said = refused("correct", store, "--undo", "cert/s/p/1", "--by", "me")
    assert "in force more than once; say which, by its number (correction 1: 1; correction 2: 2)" in said
    for number in ("1", "2"):
        ok("correct", store, "--undo", number, "--by", "me")
    assert sets(asked(store, ISO)) == {"matched": ["A"]}


def test_a_placement_is_taken_back_on_the_axis_that_is_named(tmp_path: Path) -> None:
    mapping = "source: s\nrows: [{relation: talk, from: t, entity: id, slots: {country: c, language: l}}]\n"
    store = load(tmp_path, mapping, t_csv="id,c,l\n1,DE,DE\n2,France,French\n")
    for term in ("Germany", "German"):
        ok("vocab", "place", store, "DE", term, "--by", "me")
    german, germany = where("talk.language", "eq", "German"), where("talk.country", "eq", "Germany")
    several = "(placement 1: 'DE' is Germany on axis country; placement 2: 'DE' is German on axis language)"
    assert several in refused("vocab", "place", store, "--undo", "de", "--by", "me")
    said = refused("vocab", "place", store, "--undo", "DE", "--axis", "level", "--by", "me")
    assert "no placement 'DE' on axis level is in force; in force: 'DE' is Germany on axis country, 'DE' is" in said
    assert "placement 2 undone" in ok("vocab", "place", store, "--undo", "DE", "--axis", "language", "--by", "me")
    assert "nothing was added" in ok("vocab", "place", store, "--undo", "DE", "--axis", "language", "--by", "me")
    assert sets(asked(store, german))["undetermined"] == ["1"]
    assert sets(asked(store, germany)) == {"matched": ["1"], "none": ["2"]}
    ok("vocab", "place", store, "--undo", "DE", "--by", "me")
    assert sets(asked(store, germany))["undetermined"] == ["1"]
