"""The loader on real files: its figures add up, nothing is dropped or half-written in silence, and whatever is killed,
refused or run at the same time leaves one whole generation.

One file, though long: its cases share one tiny domain and its helpers.
"""

import codecs
import gzip
import io
import itertools
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import closedset
import closedset.load
from closedset.catalog import Catalog
from closedset.errors import ClosedsetError, LoadRefused, PackRefused, StoreRefused
from closedset.load import Loaded
from closedset.store import Store

PACK: dict[str, Any] = {
    "pack": "people",
    "axes": {"outcome": {"terms": ["passed", "failed"]}},
    "relations": {
        "screening": {"slots": {"outcome": {"term": "outcome"}, "by": "text", "on": "date", "fee": "number"}},
        "held_role": {"dated": True, "slots": {"title": "text", "company": "text"}},
    },
}
SLOTS = {"outcome": "outcome", "by": "by"}


def rows(relation: str = "screening", table: str = "t", entity: str = "id", **more: Any) -> dict[str, Any]:
    return {"relation": relation, "from": table, "entity": entity, "slots": SLOTS, **more}


def write(folder: Path, files: dict[str, str | bytes]) -> None:
    for name, said in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(said.encode() if isinstance(said, str) else said)


def load(
    folder: Path, files: dict[str, str | bytes], mapping: dict[str, Any] | None = None, pack: Any = PACK, **options: Any
) -> Loaded:
    """Write an export with its map and pack, and load it into `folder/store`."""
    mapping = {"source": "export", "rows": [rows()], **(mapping or {})}
    export = folder / mapping["source"]
    write(export, files)
    (folder / "pack.yaml").write_text(json.dumps(pack), encoding="utf-8")
    file = folder / f"{mapping['source']}.map.yaml"
    file.write_text(json.dumps(mapping, ensure_ascii=False), encoding="utf-8")
    return closedset.load.load(folder / "store", folder / "pack.yaml", [export], mapping=file, **options)


def figures(catalog: Catalog, relation: str = "screening") -> tuple[int, int, int, int]:
    mine = [r for r in catalog.reports if r.relation == relation]
    for one in mine:
        assert one.read == one.loaded + one.withheld + one.unattributed
    return (
        sum(r.read for r in mine), sum(r.loaded for r in mine),
        sum(r.withheld for r in mine), sum(r.unattributed for r in mine),
    )  # fmt: skip


def ask(slot: str, op: str, value: Any, relation: str = "screening", **more: Any) -> dict[str, Any]:
    return {"constraints": [{"relation": relation, "slot": slot, "op": op, "value": value}], **more}


PASSED = ask("outcome", "eq", "passed")


def verdicts(folder: Path, asked: dict[str, Any] = PASSED) -> dict[str, str]:
    with closedset.open(folder / "store") as store:
        return {r["entity_id"]: r["verdict"] for r in store.partition(asked).to_pylist()}


def reasons(folder: Path, asked: dict[str, Any] = PASSED) -> dict[str, int | None]:
    with closedset.open(folder / "store") as store:
        reply = store.search(asked).model_dump(mode="json")
    return {r["code"]: r["count"] for r in reply["licence"]["reasons"]}


def delivered(folder: Path, asked: dict[str, Any] = PASSED) -> list[dict[str, Any]]:
    """Every delivered row, with its entity, in order."""
    with closedset.open(folder / "store") as store:
        reply = store.search({"limit": 500, **asked}).model_dump(mode="json")
    return [{"entity": m["entity_id"], **row} for m in reply["matches"] for row in m["rows"]]


# --- rows that cannot be read ---------------------------------------------------------------------------

RAGGED = "id,outcome,by\ne1,passed,x\ne2,failed\ne3,passed,y\ne4,failed,y,z\ne5,passed,z\n"


def test_a_ragged_row_is_withheld_where_the_entity_comes_first(tmp_path: Path) -> None:
    done = load(tmp_path, {"t.csv": RAGGED})
    assert figures(done.catalog) == (5, 3, 2, 0)
    assert verdicts(tmp_path) == {
        "e1": "matched", "e2": "undetermined", "e3": "matched", "e4": "undetermined", "e5": "matched"
    }  # fmt: skip
    assert reasons(tmp_path) == {"withheld_rows_unanswerable:screening": 2}
    (table,) = done.catalog.tables
    assert (table.files[0].rows, table.files[0].unreadable, table.rows) == (5, 2, 3)


def test_a_ragged_row_is_nobodys_where_the_entity_comes_later(tmp_path: Path) -> None:
    done = load(tmp_path, {"t.csv": "outcome,id,by\npassed,e1,x\nfailed,e2\npassed,e3,y,z\n"})
    assert figures(done.catalog) == (3, 1, 0, 2)
    assert verdicts(tmp_path) == {"e1": "matched"}
    assert reasons(tmp_path) == {"unattributed_rows_withheld:screening": 2}


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_ragged_row_keeps_its_entity_whatever_the_delimiter_and_line_end(
    delimiter: str, end: str, tmp_path: Path
) -> None:
    text = RAGGED.replace(",", delimiter).replace("\n", end)
    done = load(tmp_path, {"t.csv": text})
    assert figures(done.catalog) == (5, 3, 2, 0)
    assert verdicts(tmp_path)["e2"] == "undetermined"


def test_a_ragged_row_over_several_lines_is_refused_for_it_may_hold_other_rows(tmp_path: Path) -> None:
    with pytest.raises(LoadRefused, match=r"t\.csv:4: .*several lines"):
        load(tmp_path, {"t.csv": 'id,outcome,by\ne1,passed,"a\nb"\ne2,"failed\n"\ne3,passed,z\n'})


def test_a_row_lost_before_a_select_may_be_about_anybody(tmp_path: Path) -> None:
    mapping = {"tables": {"v": "SELECT id, outcome, by FROM t WHERE by <> 'q'"}, "rows": [rows(table="v")]}
    done = load(tmp_path, {"t.csv": RAGGED}, mapping)
    assert figures(done.catalog) == (5, 3, 0, 2)
    assert reasons(tmp_path) == {"unattributed_rows_withheld:screening": 2}


def test_a_blank_id_is_nobodys(tmp_path: Path) -> None:
    done = load(tmp_path, {"t.csv": "id,outcome,by\n,passed,x\n \u00a0\t,passed,x\ne1,failed,x\n"})
    assert figures(done.catalog) == (3, 1, 0, 2)


@pytest.mark.parametrize("bad", ['e2,"passed"x,y', 'e2,"passed,y'])
def test_a_broken_quote_is_refused_by_line_for_it_may_swallow_rows(bad: str, tmp_path: Path) -> None:
    with pytest.raises(LoadRefused, match=r"t\.csv:3: .*quote"):
        load(tmp_path, {"t.csv": f"id,outcome,by\ne1,passed,x\n{bad}\ne3,passed,z\n"})


@pytest.mark.parametrize("seed", range(4))
def test_the_figures_add_up_over_random_ragged_files(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    lines, expected, held = [], [0, 0, 0], 0
    for i in range(3000):
        id_ = chance.choice([f"e{i}", f"e{i}", f"e{i}", " ", ""])
        cells = [id_, chance.choice(["passed", "failed", ""]), chance.choice(["a", "b\nc", 'd"e', "f,g", ""])]
        cells = cells[: chance.choice([3, 3, 3, 2])] + ["more"] * chance.choice([0, 0, 0, 1])
        if len(cells) != 3:  # a ragged row over several lines is refused: it may hold other rows
            cells = [cell.replace("\n", " ") for cell in cells]
        # A short row after a short one may be the rest of it: two cells and two, one of them broken, are three.
        rest = len(cells) == held == 2
        held = 0 if rest else len(cells) if len(cells) < 3 else 0
        kind = 2 if rest or not id_.strip() else 0 if len(cells) == 3 else 1
        expected[kind] += 1
        lines.append(",".join('"' + c.replace('"', '""') + '"' if set(c) & set('\n",') else c for c in cells))
    done = load(tmp_path, {"t.csv": "id,outcome,by\n" + "\n".join(lines) + "\n"})
    assert figures(done.catalog) == (3000, *expected)


# --- loads after loads ----------------------------------------------------------------------------------


def test_the_same_bytes_change_nothing(tmp_path: Path) -> None:
    first = load(tmp_path, {"t.csv": RAGGED})
    stamps = {f: f.stat().st_mtime_ns for f in (tmp_path / "store").rglob("*") if f.is_file()}
    again = load(tmp_path, {"t.csv": RAGGED})
    assert (first.unchanged, again.unchanged) == (False, True)
    assert again.catalog == first.catalog
    assert {f: f.stat().st_mtime_ns for f in (tmp_path / "store").rglob("*.duckdb")} == {
        f: s for f, s in stamps.items() if f.suffix == ".duckdb"
    }


def test_a_changed_map_or_pack_over_the_same_bytes_is_a_new_generation(tmp_path: Path) -> None:
    load(tmp_path, {"t.csv": "id,outcome,by\ne1,ok,x\n"})
    assert verdicts(tmp_path) == {"e1": "undetermined"}
    pack = {**PACK, "axes": {"outcome": {"terms": ["passed", "failed"], "synonyms": {"passed": ["ok"]}}}}
    assert not load(tmp_path, {}, pack=pack).unchanged
    assert verdicts(tmp_path) == {"e1": "matched"}


def two_sources(folder: Path) -> None:
    load(folder, {"t.csv": "id,outcome,by\ne1,passed,x\ne2,failed\n"}, {"source": "one"})
    load(folder, {"t.csv": "id,outcome,by\ne1,failed,x\ne3,passed,y\n,passed,z\n"}, {"source": "two"})


def test_a_reload_replaces_one_source_only(tmp_path: Path) -> None:
    two_sources(tmp_path)
    assert verdicts(tmp_path) == {"e1": "matched", "e2": "undetermined", "e3": "matched"}
    done = load(tmp_path, {"t.csv": "id,outcome,by\ne1,failed,x\ne4,passed,y\n,passed,z\n"}, {"source": "two"})
    assert figures(done.catalog) == (5, 3, 1, 1)
    assert verdicts(tmp_path) == {"e1": "matched", "e2": "undetermined", "e4": "matched"}
    assert reasons(tmp_path) == {
        "withheld_rows_unanswerable:screening": 1, "unattributed_rows_withheld:screening": 1
    }  # fmt: skip
    done = load(tmp_path, {"t.csv": "id,outcome,by\ne1,failed,x\ne2,failed,x\n"}, {"source": "one"})
    assert done.catalog.generation == 4
    assert verdicts(tmp_path) == {"e1": "none", "e2": "none", "e4": "matched"}
    assert [(r["entity"], r["slot_receipts"]["outcome"]["source"]) for r in delivered(tmp_path)] == [("e4", "two")]


def test_one_source_loaded_in_either_order_gives_the_same_answer(tmp_path: Path) -> None:
    two_sources(tmp_path / "a")
    b = tmp_path / "b"
    load(b, {"t.csv": "id,outcome,by\ne1,failed,x\ne3,passed,y\n,passed,z\n"}, {"source": "two"})
    load(b, {"t.csv": "id,outcome,by\ne1,passed,x\ne2,failed\n"}, {"source": "one"})
    assert verdicts(tmp_path / "a") == verdicts(b)
    assert reasons(tmp_path / "a") == reasons(b)


def test_a_pack_that_no_longer_fits_another_source_is_refused(tmp_path: Path) -> None:
    two_sources(tmp_path)
    thinner = {**PACK, "relations": {"screening": {"slots": {"outcome": {"term": "outcome"}}}}}
    mapping = {"source": "two", "rows": [rows() | {"slots": {"outcome": "outcome"}}]}
    with pytest.raises(LoadRefused, match=r"source one, .*no slot 'by'"):
        load(tmp_path, {}, mapping, pack=thinner)
    assert verdicts(tmp_path)["e1"] == "matched"


def test_another_pack_is_refused(tmp_path: Path) -> None:
    load(tmp_path, {"t.csv": RAGGED})
    with pytest.raises(LoadRefused, match="holds pack people, not others"):
        load(tmp_path, {}, pack={**PACK, "pack": "others"})


def test_a_source_that_shrinks_by_more_than_a_fifth_is_refused_until_accepted(tmp_path: Path) -> None:
    def export(count: int) -> dict[str, str | bytes]:
        return {"t.csv": "id,outcome,by\n" + "".join(f"e{i:02d},passed,x\n" for i in range(count))}

    load(tmp_path, export(10))
    assert not load(tmp_path, export(8)).unchanged
    with pytest.raises(LoadRefused, match="rows would fall from 8 to 6"):
        load(tmp_path, export(6))
    assert len(verdicts(tmp_path)) == 8
    assert load(tmp_path, export(6), accept_shrink=True).catalog.generation == 3
    assert len(verdicts(tmp_path)) == 6


def test_coverage_that_shrinks_by_more_than_a_fifth_is_refused_until_accepted(tmp_path: Path) -> None:
    mapping = {"rows": [rows(looked_at={"listed": "log.id"})]}
    log = "id\n" + "".join(f"e{i}\n" for i in range(10))
    load(tmp_path, {"t.csv": "id,outcome,by\ne1,passed,x\n", "log.csv": log}, mapping)
    with pytest.raises(LoadRefused, match="covered entities would fall from 10 to 2"):
        load(tmp_path, {"log.csv": "id\ne1\ne2\n"}, mapping)
    load(tmp_path, {"log.csv": "id\ne1\ne2\n"}, mapping, accept_shrink=True)
    assert set(verdicts(tmp_path)) == {"e1", "e2"}


def test_rows_that_turn_unreadable_count_as_lost(tmp_path: Path) -> None:
    load(tmp_path, {"t.csv": "id,outcome,by\n" + "e,passed,x\n" * 10})
    with pytest.raises(LoadRefused, match="rows would fall from 10 to 7"):
        load(tmp_path, {"t.csv": "id,outcome,by\n" + "e,passed,x\n" * 7 + "e,passed\n" * 3})


# --- what is refused leaves what was there --------------------------------------------------------------


def files_of(store: Path) -> set[str]:
    return {str(f.relative_to(store)) for f in store.rglob("*") if f.is_file()}


@pytest.mark.parametrize(
    ("files", "mapping", "said"),
    [
        ({"t.csv": ""}, {}, "0 bytes"),
        ({"t.csv": "\n"}, {}, r"t\.csv:1: no header"),
        ({"t.csv": "id,outcme,by\ne1,passed,x\n"}, {}, "no column 'outcome'; did you mean 'outcme'?"),
        ({"t.csv": "Id,outcome,by\ne1,passed,x\n"}, {}, "no column 'id'; did you mean 'Id'?"),
        ({"t.csv": "id,outcome,outcome\n"}, {}, "same name"),
        ({"t.parquet": b"PAR1 and no more PAR1"}, {}, r"t\.parquet"),
        ({"t.csv.gz": b"no gzip at all"}, {}, r"t\.csv\.gz: cannot be read"),
        ({"t.csv.gz": gzip.compress(b"id,outcome,by\n" + os.urandom(90_000).hex().encode())[:-50_000]}, {}, "t.csv.gz"),
        ({"t.csv.zst": b"no zstd at all"}, {}, r"t\.csv\.zst: cannot be read"),
        ({"u.csv": "id\n"}, {}, "table t: no file t"),
        ({"t.csv": RAGGED}, {"rows": [rows(looked_at={"listed": "log.id"})]}, "table log"),
        ({"t.csv": RAGGED}, {"rows": [rows(looked_at={"every": "t.di"})]}, "no column 'di'"),
    ],
)  # fmt: skip
def test_a_refused_load_names_the_fault_and_leaves_nothing_half_written(
    files: dict[str, str | bytes], mapping: dict[str, Any], said: str, tmp_path: Path
) -> None:
    with pytest.raises(LoadRefused, match=said):
        load(tmp_path, files, mapping)
    with pytest.raises(StoreRefused, match="no store here"):
        closedset.open(tmp_path / "store")
    assert not [f for f in files_of(tmp_path / "store") if ".duckdb" in f]
    for old in (tmp_path / "export").iterdir():
        old.unlink()
    load(tmp_path, {"t.csv": RAGGED})
    held = files_of(tmp_path / "store")
    for old in (tmp_path / "export").iterdir():
        old.unlink()
    with pytest.raises(LoadRefused, match=said):
        load(tmp_path, files, mapping)
    assert files_of(tmp_path / "store") == held
    assert verdicts(tmp_path)["e1"] == "matched"


def test_a_store_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "store").write_text("mine", encoding="utf-8")
    with pytest.raises(StoreRefused, match="is a file"):
        load(tmp_path, {"t.csv": RAGGED})
    assert (tmp_path / "store").read_text(encoding="utf-8") == "mine"


def test_a_store_below_a_file_is_refused(tmp_path: Path) -> None:
    load(tmp_path, {"t.csv": RAGGED})
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    with pytest.raises(StoreRefused, match="cannot hold a store"):
        closedset.load.load(
            tmp_path / "file" / "store",
            tmp_path / "pack.yaml",
            [tmp_path / "export"],
            mapping=tmp_path / "export.map.yaml",
        )


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ({"column": "on", "dates": "%d/%m"}, "states no year"),
        ({"column": "on", "dates": "dd/mm/yyyy"}, "states no year"),
        ({"column": "on", "dates": "%-d/%m/%Y"}, "%- is no strptime directive"),
        ({"column": "on", "dates": "%d/%m %%Y"}, "states no year"),
        ({"column": "on", "dates": "%Y-W%W"}, "states a week and no day of it"),
        ({"column": "on", "dates": "%G-W%V"}, "states a week and no day of it"),
        ({"column": "on", "dates": "%V/%d.%m.%Y"}, "cannot be read: ISO week directive"),
        ({"column": "on", "dates": "%x"}, "%x is written otherwise in every place; write %m/%d/%y"),
        ({"column": "on", "dates": "%c"}, "%c is written otherwise in every place; write %a %b %d"),
        ({"column": "on", "dates": "%D"}, "%D is no strptime directive .write %m/%d/%y"),
        ({"column": "on", "dates": "%Y %Y"}, "states %Y twice"),
        ({"column": "on", "dates": "%d.%m.%y/%Y"}, "states two years"),
        ({"column": "on", "dates": "%d %Y"}, "states a day and no month"),
        ({"column": "on", "dates": "%m%y", "base_year": "2000"}, "is never asked for '1299': ISO is read first"),
        ({"column": "on", "dates": "%y%m", "base_year": "2000"}, "is never asked for '9912': ISO is read first"),
        ({"column": "on", "dates": "%Y-%d-%m"}, "is never asked for '2003-05-04': ISO is read first"),
        ({"column": "on", "decimal": ","}, "`decimal` is for number slots"),
        ({"column": "on", "base_year": "0"}, "`base_year` is the first year"),
        ({"column": "on", "pattern": "("}, "no regular expression"),
    ],
)  # fmt: skip
def test_a_map_that_could_never_read_a_date_is_refused_by_line(cell: Any, said: str, tmp_path: Path) -> None:
    with pytest.raises(PackRefused, match=rf"map\.yaml:1: rows\.0\.slots\.on.*{said}"):
        load(tmp_path, {"t.csv": "id,on\n"}, {"rows": [rows() | {"slots": {"on": cell}}]})


@pytest.mark.parametrize(
    ("name", "form", "said"),
    [("on", "%Y-W%W", "date format '%Y-W%W': states a week and no day"), ("off", "%Y", "no such slot in this entry")],
)
def test_formats_for_a_slot_by_name_are_refused_at_their_line(name: str, form: str, said: str, tmp_path: Path) -> None:
    entry = rows() | {"slots": {"on": "on"}, "dates": {name: form}}
    with pytest.raises(PackRefused, match=rf"map\.yaml:1: rows\.0\.dates\.{name}: {said}"):
        load(tmp_path, {"t.csv": "id,on\n"}, {"rows": [entry]})


def test_a_month_and_year_in_four_digits_is_a_date_once_a_select_writes_it_as_iso(tmp_path: Path) -> None:
    """The cure that the refusal of `%m%y` names."""
    select = "SELECT id, '20' || right(on_, 2) || '-' || left(on_, 2) AS on_month FROM t"
    entry = rows(table="v") | {"slots": {"on": "on_month"}}
    load(tmp_path, {"t.csv": "id,on_\nA,0324\nB,1129\n"}, {"tables": {"v": select}, "rows": [entry]})
    assert verdicts(tmp_path, ask("on", "gte", "2029-11")) == {"A": "none", "B": "matched"}


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from closedset.load import read

    whole = read.read

    def read_late(*given: Any) -> Any:
        with (tmp_path / "export" / "t.csv").open("a") as more:
            more.write("e9,passed,x\n")
        return whole(*given)

    monkeypatch.setattr(read, "read", read_late)
    with pytest.raises(LoadRefused, match=r"t\.csv: changed while it was read"):
        load(tmp_path, {"t.csv": RAGGED})


# --- killed, locked, read at the same time --------------------------------------------------------------


def started(folder: Path, source: str = "export") -> subprocess.Popen[bytes]:
    """A loading process, as the terminal would start one."""
    script = "import sys, closedset.load; closedset.load.load(*sys.argv[1:3], [sys.argv[3]], mapping=sys.argv[4])"
    names = ["store", "pack.yaml", source, f"{source}.map.yaml"]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen([sys.executable, "-c", script, *(str(folder / n) for n in names)], env=env)


def many(count: int, outcome: str) -> str:
    return "id,outcome,by\n" + "".join(f"e{i:06d},{outcome},{i}\n" for i in range(count))


def test_a_killed_load_leaves_the_old_generation_and_a_new_load_finishes(tmp_path: Path) -> None:
    chance = random.Random(7)
    size = 20_000
    load(tmp_path, {"t.csv": many(size, "passed")})
    begun = time.monotonic()
    write(tmp_path / "export", {"t.csv": many(size, "failed")})
    first = started(tmp_path)
    assert first.wait() == 0
    took = time.monotonic() - begun
    now, next_ = "failed", "passed"
    # `python -m tests.kills` does so for as long as it is asked to.
    for _ in range(4):
        write(tmp_path / "export", {"t.csv": many(size, next_)})
        process = started(tmp_path)
        time.sleep(took * chance.uniform(0.3, 1.05))
        process.send_signal(signal.SIGKILL)
        process.wait()
        with closedset.open(tmp_path / "store") as store:
            reply = store.search(PASSED).model_dump(mode="json")["counts"]
        found = "passed" if reply["matched"] else "failed"
        assert (reply["matched"], reply["none"]) == ((size, 0) if found == "passed" else (0, size))
        assert found in (now, next_)
        if found == next_:
            now, next_ = next_, now
    done = load(tmp_path, {"t.csv": many(size, next_)})
    assert not done.unchanged
    left = {f for f in files_of(tmp_path / "store") if "duckdb" in f}
    number = done.catalog.generation
    stay = [f"{number}", f"{number - 1}"]
    assert left == {f"generations/{n}.duckdb" for n in stay} | {f"cells/{n}_export.duckdb" for n in stay}
    assert verdicts(tmp_path)["e000007"] == ("matched" if next_ == "passed" else "none")


def test_a_second_loader_is_refused_at_once_and_told_who_loads(tmp_path: Path) -> None:
    from closedset.load import lock

    load(tmp_path, {"t.csv": RAGGED})
    with lock.loading(tmp_path / "store"):
        begun = time.monotonic()
        said = rf"another load is running \(process {os.getpid()} on .*, since .*load\.lock"
        with pytest.raises(StoreRefused, match=said):
            load(tmp_path, {"t.csv": RAGGED + "e9,passed,x\n"})
        assert time.monotonic() - begun < 5
    assert load(tmp_path, {"t.csv": RAGGED + "e9,passed,x\n"}).catalog.generation == 2


def test_a_lock_left_by_a_dead_process_holds_nobody_up(tmp_path: Path) -> None:
    load(tmp_path, {"t.csv": RAGGED})
    write(tmp_path / "store", {"load.lock": "", "load.holder": "process 1 on nowhere"})
    assert load(tmp_path, {"t.csv": RAGGED + "e9,passed,x\n"}).catalog.generation == 2


def test_readers_answer_from_one_whole_generation_while_loads_go_on(tmp_path: Path) -> None:
    """H1. https://github.com/duckdb/duckdb/issues/17158 https://github.com/tradeblocks-org/tradeblocks/pull/446
    https://github.com/TableProApp/TablePro/issues/2518"""
    size = 2000
    load(tmp_path, {"t.csv": many(size, "passed")})
    stop = threading.Event()
    seen: list[tuple[int, int]] = []
    faults: list[BaseException] = []

    def read(store: Store | None) -> None:
        try:
            while not stop.is_set():
                one = store or closedset.open(tmp_path / "store")
                counts = one.search(PASSED).model_dump(mode="json")["counts"]
                seen.append((counts["matched"], counts["none"]))
                if store is None:
                    one.close()
        except BaseException as fault:
            faults.append(fault)

    kept = closedset.open(tmp_path / "store")
    readers = [threading.Thread(target=read, args=(store,)) for store in (kept, kept, None, None)]
    for reader in readers:
        reader.start()
    for i in range(3):
        write(tmp_path / "export", {"t.csv": many(size + i, "failed" if i % 2 == 0 else "passed")})
        process = started(tmp_path)
        assert process.wait() == 0
    stop.set()
    for reader in readers:
        reader.join()
    assert not faults
    assert seen
    assert all(0 in pair and sum(pair) in range(size, size + 3) for pair in seen)
    assert kept.search(PASSED).model_dump(mode="json")["counts"]["none"] == size + 2
    kept.close()


def test_a_reader_overtaken_by_a_load_looks_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from closedset import store

    load(tmp_path, {"t.csv": RAGGED})
    load(tmp_path, {"t.csv": RAGGED + "e9,passed,x\n"})
    told = itertools.chain([1], itertools.repeat(2))
    monkeypatch.setattr(store, "current", lambda _: next(told))
    assert closedset.open(tmp_path / "store").catalog.generation == 2


def test_one_process_may_read_and_load(tmp_path: Path) -> None:
    load(tmp_path, {"t.csv": RAGGED}, {"source": "one"})
    with closedset.open(tmp_path / "store") as store:
        assert store.search(PASSED).model_dump(mode="json")["counts"]["matched"] == 3
        load(tmp_path, {"t.csv": "id,outcome,by\ne9,passed,x\n"}, {"source": "two"})
        assert store.search(PASSED).model_dump(mode="json")["counts"]["matched"] == 4


# --- one table, many files ------------------------------------------------------------------------------

TYPED = """
    SELECT 'e' || i AS id, CASE WHEN i % 3 = 0 THEN 'failed' ELSE 'passed' END AS outcome,
           (i % 2 = 0) AS by, (i / 4)::DECIMAL(18, 4) AS fee, DATE '2024-01-30' + i::INT AS "on",
           (170141183460469231731687303715884105727 - i)::HUGEINT::VARCHAR AS huge,
           i::UTINYINT AS tiny, -i::BIGINT AS big,
           uuid AS u, TIMESTAMP '2024-02-01 12:00:00' AS stamp, TIMESTAMPTZ '2024-02-01 12:00:00+00' AS zoned,
           NULL AS nothing, TIME '12:30:00' AS clock, i / 8 AS dbl
    FROM range(40) t(i), (SELECT UUID '00000000-0000-0000-0000-0000000000ab' AS uuid)
"""


def test_parquet_of_every_simple_type_and_csv_of_the_same_table_are_the_same_cells(tmp_path: Path) -> None:
    stores = []
    slots = {"outcome": "outcome", "by": "by", "fee": "fee", "on": "on"}
    for kind in ("parquet", "csv", "csv.gz", "csv.zst"):
        folder = tmp_path / kind
        (folder / "export").mkdir(parents=True)
        with duckdb.connect() as con:
            con.execute("SET TimeZone = 'UTC'")
            form = "parquet" if kind == "parquet" else "csv"
            con.execute(f"COPY ({TYPED}) TO '{folder}/export/t.{kind}' (FORMAT {form})")
        done = load(folder, {}, {"rows": [rows() | {"slots": slots}]})
        assert figures(done.catalog) == (40, 40, 0, 0)
        with closedset.open(folder / "store") as store:
            cells = store.generation().cursor().execute("SELECT * FROM cells_export.cells_0 ORDER BY id").fetchall()
        asks = [PASSED, ask("fee", "gte", "2.5"), ask("on", "lte", "2024-02"), ask("by", "eq", "TRUE")]
        answers = [(verdicts(folder, a), reasons(folder, a)) for a in asks]
        stores.append((cells, done.catalog.reports, answers))
    assert all(one == stores[0] for one in stores[1:])
    assert set(stores[0][2][1][0].values()) == {"matched", "none"}


@pytest.mark.parametrize("beside", ["t.parquet", "t.csv.gz", "t.tsv", "t.json"])
@pytest.mark.parametrize("said", [None, "*", "t.*"])
def test_two_files_of_one_stem_are_refused_unless_the_map_names_one(
    beside: str, said: str | None, tmp_path: Path
) -> None:
    """They may hold other rows: which is meant only whoever exported them knows."""
    files: dict[str, str | bytes] = {"t.csv": "id,outcome,by\nc,passed,x\n", beside: gzip.compress(b"id\n")}
    with pytest.raises(LoadRefused) as refusal:
        load(tmp_path, files, {"files": {"t": said}} if said else {})
    assert {name in str(refusal.value) for name in ("t.csv", beside, "`files: {t: ", "give only that")} == {True}
    load(tmp_path, files, {"files": {"t": "t.csv"}})
    assert verdicts(tmp_path) == {"c": "matched"}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("t.csv.bz2", "t.csv.bz2 (packed as .bz2, which closedset does not unpack; unpack it, or pack it as .gz"),
        ("t.zip", "t.zip (packed as .zip"),
        ("t", "t (its name does not say what kind of file it is; call it t.csv if it is CSV)"),
        ("t.sql", "t.sql (not a kind of file closedset reads (.parquet"),
        ("t/part-0.csv", "t (a folder; what is inside is read when the folder itself is given)"),
        ("t.csv -> gone.csv", "t.csv (a link to gone.csv, which is not there)"),
    ],
)
def test_what_was_given_and_not_taken_is_named_with_its_cure(name: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "export").mkdir()
    if "->" in name:
        (tmp_path / "export" / "t.csv").symlink_to("gone.csv")
    files: dict[str, str | bytes] = {"u.csv": "id\n", ".hidden": ""}
    with pytest.raises(LoadRefused) as refusal:
        load(tmp_path, files if "->" in name else files | {name: "id,outcome,by\n"})
    assert f"table t: no file t among what was given: u.csv; not taken: {said}" in str(refusal.value)


def test_a_part_that_is_packed_as_no_reader_unpacks_is_refused_not_missed(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"t1.csv": "id,outcome,by\ne1,passed,x\n", "t2.csv.xz": "?", "notes.zip": "?"}
    with pytest.raises(LoadRefused, match=r"t2\.csv\.xz would be one of its files: packed as \.xz"):
        load(tmp_path, files, {"files": {"t": "t*.csv"}})
    load(tmp_path, {}, {"files": {"t": "t1.csv"}})
    assert verdicts(tmp_path) == {"e1": "matched"}


def test_parts_of_one_table_give_the_same_answer_in_any_order_of_columns(tmp_path: Path) -> None:
    mapping = {"files": {"t": "part*.csv"}}
    done = load(
        tmp_path,
        {
            "part1.csv": "id,outcome,by\ne1,passed,x\n",
            "part2.csv": "by;id;outcome\ny;e2;passed\nz;e3\n",
            "other.csv": "q\n",
        },
        mapping,
    )  # fmt: skip
    assert figures(done.catalog) == (3, 2, 0, 1)
    assert [(r["entity"], r["slots"]["by"], r["slot_receipts"]["by"]["file"]) for r in delivered(tmp_path)] == [
        ("e1", "x", "part1.csv"), ("e2", "y", "part2.csv")
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ('id,outcome,by\ne1,passed,"a\nb"\n', "a\nb"),
        ('id,outcome,by\r\ne1,passed,"a\r\nb"\r\n', "a\r\nb"),
        ('id,outcome,by\ne1,passed,"say ""hi"""\n', 'say "hi"'),
        ("id,outcome,by\ne1,passed, blanks \n", " blanks "),
        ("id;outcome;by\ne1;passed;a,b\n", "a,b"),
        ("id\toutcome\tby\ne1\tpassed\ta;b\n", "a;b"),
        ("id|outcome|by\ne1|passed|a\tb\n", "a\tb"),
        ("id,outcome,by\rx1,failed,q\re1,passed,old mac\r", "old mac"),
        ("id,outcome,by\r\nx1,failed,q\ne1,passed,mixed\r\nx2,failed,q\n", "mixed"),
        ('id,outcome,by\nx1,failed,"a\r\nb"\r\ne1,passed,"mixed\nquoted"\n', "mixed\nquoted"),
        ("id,outcome,by\ne1,passed,5\" pipe\n", '5" pipe'),
        ("id,outcome,by\ne1,passed,a\\\n", "a\\"),
        ("id,outcome,by\ne1,passed,no line end", "no line end"),
        ("id,outcome,by\n\ne1,passed,after a blank line\n\n\n", "after a blank line"),
        ("id,outcome,by\ne1,passed,#x\n", "#x"),
        ("id,outcome,by,\ne1,passed,unnamed,\n", "unnamed"),
        ('"id","outcome","by"\n"e1","passed","quoted"\n', "quoted"),
        ("id,outcome,by\ne1,passed,\u202eשלום\u200d👩‍💻\n", "\u202eשלום\u200d👩‍💻"),
    ],
)  # fmt: skip
def test_a_cell_is_the_text_that_was_written(text: str, cells: str, tmp_path: Path) -> None:
    load(tmp_path, {"t.csv": text})
    (row,) = delivered(tmp_path)
    assert row["slot_receipts"]["by"]["cell"] == cells
    assert row["slot_receipts"]["by"]["byte_verified"]


@pytest.mark.parametrize(
    "name",
    ["by", "b y", " by ", 'b"y', "b'y", "b`y", "select", "rowid", "ROWID", "_place", "_entity", "row of t", "(row) u",
     "Ünïcödé 列", "b\ny", "a.b", "{x}", "$y", "%s", "x" * 300, "cell", "1", "-", "by;", "\u200b", "\\"],
)  # fmt: skip
def test_a_column_may_have_any_name(name: str, tmp_path: Path) -> None:
    def cell(text: str) -> str:
        return '"' + text.replace('"', '""') + '"'

    text = f"id,outcome,{cell(name)}\ne1,passed,one\ne2,failed,two\n"
    slots = {"outcome": "outcome", "by": {"column": name}}
    load(tmp_path / "csv", {"t.csv": text}, {"rows": [rows() | {"slots": slots}]})
    (row,) = delivered(tmp_path / "csv", ask("by", "eq", "two"))
    receipt = row["slot_receipts"]["by"]
    assert (row["slots"]["by"], receipt["db_column"], receipt["row"]) == ("two", name, 2)
    view = {"tables": {"v": "SELECT * FROM t"}, "rows": [rows(table="v") | {"slots": slots}]}
    load(tmp_path / "view", {"t.csv": text}, view)
    (row,) = delivered(tmp_path / "view", ask("by", "eq", "two"))
    receipt = row["slot_receipts"]["by"]
    assert (receipt["cell"], receipt["db_table"], receipt["db_column"], receipt["row"]) == ("two", "t", name, 2)
    assert receipt["byte_verified"]
    entity = {"rows": [rows(entity=name) | {"slots": {"outcome": "outcome"}}]}
    load(tmp_path / "entity", {"t.csv": text}, entity)
    assert verdicts(tmp_path / "entity") == {"one": "matched", "two": "none"}


# --- tables defined by a SELECT -------------------------------------------------------------------------

PEOPLE = "id,name,org\ne1,Ann,o1\ne2,Bob,o9\ne3,Cy,\n"
ORGS = "org,name,by\no1,Acme,x\no2,Beta,y\n"


def company(folder: Path, select: str) -> list[tuple[str, str | None, str, str | None, int, str | None]]:
    """Entity, company, and where its receipt leads: table, column, row, cell."""
    mapping = {
        "tables": {"v": select},
        "rows": [rows("held_role", "v") | {"slots": {"company": "company", "title": "title"}}],
    }
    load(folder, {"people.csv": PEOPLE, "orgs.csv": ORGS}, mapping)
    found = delivered(folder, ask("title", "ne", "nobody", "held_role"))
    assert all(r["byte_verified"] for row in found for r in row["slot_receipts"].values())
    said = [(row["entity"], row["slots"]["company"], row["slot_receipts"].get("company")) for row in found]
    return [
        (entity, text, *((r["db_table"], r["db_column"], r["row"], r["cell"]) if r else ("", None, 0, None)))
        for entity, text, r in said
    ]


@pytest.mark.parametrize(
    ("select", "expected"),
    [
        ("SELECT p.id, p.name AS title, o.name AS company FROM people p JOIN orgs o USING (org)",
         [("e1", "Acme", "orgs", "name", 1, "Acme")]),
        ("SELECT p.id, p.name AS title, o.name AS company FROM people p LEFT JOIN orgs o ON o.org = p.org",
         [("e1", "Acme", "orgs", "name", 1, "Acme"), ("e2", None, "", None, 0, None), ("e3", None, "", None, 0, None)]),
        ("SELECT id, p.name AS title, org AS company FROM people p LEFT JOIN orgs o USING (org)",
         [("e1", "o1", "people", "org", 1, "o1"), ("e2", "o9", "people", "org", 2, "o9"),
          ("e3", None, "", None, 0, None)]),
        ("SELECT id, people.name AS title, orgs.name AS company FROM orgs JOIN people USING (org)",
         [("e1", "Acme", "orgs", "name", 1, "Acme")]),
        ("SELECT p.* EXCLUDE (name, org), p.name AS title, p.org AS company FROM people p WHERE id <> 'e2'",
         [("e1", "o1", "people", "org", 1, "o1"), ("e3", None, "", None, 0, None)]),
        ("SELECT id, name AS title, upper(org) AS company FROM people WHERE org <> ''",
         [("e1", "O1", "v", "company", 1, "O1"), ("e2", "O9", "v", "company", 2, "O9")]),
        ("SELECT * REPLACE (upper(name) AS name), name AS title, org AS company FROM people WHERE id = 'e2'",
         [("e2", "o9", "people", "org", 2, "o9")]),
        ("SELECT id, max(name) AS title, max(org) AS company FROM people GROUP BY id HAVING max(org) <> ''",
         [("e1", "o1", "v", "company", 1, "o1"), ("e2", "o9", "v", "company", 2, "o9")]),
        ("SELECT id, 'name' AS title, name AS company FROM people "
         "UNION ALL SELECT id, 'org', org FROM people WHERE org <> ''",
         [("e1", "Ann", "v", "company", 1, "Ann"), ("e1", "o1", "v", "company", 2, "o1"),
          ("e2", "Bob", "v", "company", 3, "Bob"), ("e2", "o9", "v", "company", 4, "o9"),
          ("e3", "Cy", "v", "company", 5, "Cy")]),
        ("SELECT a.id, a.name AS title, b.name AS company FROM people a JOIN people b ON b.id = 'e3' WHERE a.id = 'e1'",
         [("e1", "Cy", "people", "name", 3, "Cy")]),
        ("SELECT ID, NAME AS title, Org AS company FROM People WHERE id = 'e1'", None),
        ("SELECT ID, NAME AS title, Org AS company FROM people WHERE id = 'e1'",
         [("e1", "o1", "people", "org", 1, "o1")]),
        ("SELECT p.id, p.name AS title, o.name AS company FROM people p, orgs o WHERE p.org = o.org",
         [("e1", "Acme", "orgs", "name", 1, "Acme")]),
        ("SELECT id, name AS title, org AS company FROM people SEMI JOIN orgs USING (org)",
         [("e1", "o1", "people", "org", 1, "o1")]),
        ("WITH some AS (SELECT * FROM people WHERE org <> '') SELECT id, name AS title, org AS company FROM some",
         [("e1", "o1", "v", "company", 1, "o1"), ("e2", "o9", "v", "company", 2, "o9")]),
        ("SELECT id, name AS title, org AS company, row_number() OVER (ORDER BY id) AS n FROM people "
         "ORDER BY id DESC LIMIT 1",
         [("e3", None, "", None, 0, None)]),
        ("SELECT id, variable AS title, value AS company FROM "
         "(UNPIVOT people ON name, org INTO NAME variable VALUE value)",
         [("e1", "Ann", "v", "company", 1, "Ann"), ("e1", "o1", "v", "company", 2, "o1"),
          ("e2", "Bob", "v", "company", 3, "Bob"), ("e2", "o9", "v", "company", 4, "o9"),
          ("e3", "Cy", "v", "company", 5, "Cy")]),
    ],
)  # fmt: skip
def test_a_plainly_passed_column_leads_to_its_cell_and_a_computed_one_to_the_view(
    select: str, expected: Any, tmp_path: Path
) -> None:
    if expected is None:
        with pytest.raises(LoadRefused, match=r"table People: no file People"):
            company(tmp_path, select)
        return
    assert company(tmp_path, select) == expected


@pytest.mark.parametrize(
    ("select", "said"),
    [
        ("SELECT * FROM read_csv('{secret}')", "is no table of this source"),
        ("SELECT * FROM '{secret}'", "no file"),
        ('SELECT * FROM "{secret}"', "no file"),
        ("SELECT * FROM glob('*')", "is no table of this source"),
        ("SELECT id, (SELECT any_value(content) FROM read_text('{secret}')) FROM t", "is no table of this source"),
        ("SELECT * FROM t, LATERAL read_csv('{secret}')", "is no table of this source"),
        ("SELECT * FROM t WHERE id IN (FROM read_text('{secret}'))", "is no table of this source"),
        ("SELECT * FROM query('SELECT 1')", "is no table of this source"),
        ("SELECT * FROM duckdb_settings()", "is no table of this source"),
        ("SELECT * FROM information_schema.tables", "is no table of this source"),
        ("SELECT * FROM cells_0", "no file cells_0"),
        ("SELECT 1; SELECT 2", "one SELECT"),
        ("SELECT 1; DROP TABLE cells_0", "one SELECT"),
        ("WITH x AS (SELECT 1) DELETE FROM t", "one SELECT"),
        ("COPY t TO '{secret}'", "one SELECT"),
        ("ATTACH '{secret}'", "one SELECT"),
        ("SELECT 'never closed FROM t", "tables.v"),
        ("SELECT id FROM", "tables.v"),
        ("SELECT nothing FROM t", "tables.v: .*nothing"),
        ("SELECT t.id, u.id FROM t JOIN t u ON TRUE", "two columns of the SELECT are called 'id'"),
        ("SELECT id, outcome AS ID FROM t", "two columns of the SELECT are called 'ID'"),
    ],
)  # fmt: skip
def test_a_select_that_reads_more_than_the_export_or_does_more_than_read_is_refused(
    select: str, said: str, tmp_path: Path
) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("id,outcome,by\nx,passed,y\n", encoding="utf-8")
    mapping = {"tables": {"v": select.replace("{secret}", str(secret))}, "rows": [rows(table="v")]}
    with pytest.raises(ClosedsetError, match=said):
        load(tmp_path, {"t.csv": RAGGED}, mapping)
    assert secret.read_text(encoding="utf-8") == "id,outcome,by\nx,passed,y\n"
    assert not (tmp_path / "store" / "CURRENT").exists()


def test_a_view_is_kept_in_one_order_whatever_its_joins(tmp_path: Path) -> None:
    ids = [f"e{i:04d}" for i in range(3000)]
    random.Random(3).shuffle(ids)
    files = {"t.csv": "id,outcome,by\n" + "".join(f"{i},passed,{i}\n" for i in ids), "u.csv": "id\n" + "\n".join(ids)}
    mapping = {"tables": {"v": "SELECT t.id, outcome, by FROM u JOIN t USING (id)"}, "rows": [rows(table="v")]}
    kept = []
    for folder in (tmp_path / "a", tmp_path / "b"):
        load(folder, files, mapping)  # type: ignore[arg-type]
        with closedset.open(folder / "store") as store:
            kept.append(store.generation().cursor().execute("SELECT * FROM cells_export.cells_2").fetchall())
    assert kept[0] == kept[1]


# --- data of ill will -----------------------------------------------------------------------------------


def quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


@pytest.mark.parametrize(
    "id_",
    ["a\nb", 'a"b', "a'b", "a,b", "👩‍👩‍👧", "x" * 100_000, "\\", "%", "$1", "{}", "NULL", "null", "-",
     "\u202ea", "a\0b", "é", "e\u0301",
     "'; DROP TABLE entity; --", "\ufeffa", "\u200b"],
)  # fmt: skip
def test_an_id_may_be_any_text(id_: str, tmp_path: Path) -> None:
    load(tmp_path, {"t.csv": f"id,outcome,by\n{quoted(id_)},passed,x\nother,failed,y\n"})
    assert verdicts(tmp_path) == {id_: "matched", "other": "none"}
    assert [r["entity"] for r in delivered(tmp_path, {**PASSED, "entity_ids": [id_]})] == [id_]


@pytest.mark.parametrize(
    "cell",
    ["x" * 1_000_000, "x" * 5_000_000, '"', "\0", "a\0b", "\u3000x\u2003", "\x1c\x1dx\x85", "\u200bx", "İ", "ẞ",
     "\U0010ffff", "\n", "  "],
)  # fmt: skip
def test_a_cell_may_be_any_text(cell: str, tmp_path: Path) -> None:
    load(tmp_path, {"t.csv": f"id,outcome,by\ne1,passed,{quoted(cell)}\n"})
    (row,) = delivered(tmp_path)
    if cell.strip():
        receipt = row["slot_receipts"]["by"]
        assert (receipt["cell"], receipt["byte_verified"]) == (cell, True)
        assert verdicts(tmp_path, ask("by", "eq", cell)) == {"e1": "matched"}
    else:
        assert row["slots"]["by"] is None
        assert reasons(tmp_path, ask("by", "ne", "z")) == {"slot_unrecorded_rows_unanswerable:screening": 1}


def test_a_table_may_be_two_hundred_columns_wide(tmp_path: Path) -> None:
    names = [f"c{i}" for i in range(198)]
    text = ",".join(["id", "outcome", *names, "by"]) + "\n" + ",".join(["e1", "passed", *names, "last"]) + "\n"
    load(tmp_path, {"t.csv": text})
    (row,) = delivered(tmp_path)
    assert row["slots"]["by"] == "last"


def test_a_header_may_be_longer_than_a_first_look(tmp_path: Path) -> None:
    names = [f"column_number_{i:05d}" for i in range(5000)]
    text = ",".join(["id", "outcome", *names, "by"]) + "\n" + ",".join(["e1", "passed", *(["1"] * 5000), "last"]) + "\n"
    load(tmp_path, {"t.csv": text})
    (row,) = delivered(tmp_path)
    assert row["slots"]["by"] == "last"


def test_fifty_thousand_unplaced_words_are_each_kept(tmp_path: Path) -> None:
    lines = "".join(f"e{i},word {i},x\n" for i in range(50_000))
    done = load(tmp_path, {"t.csv": f"id,outcome,by\nz,passed,x\n{lines}"})
    (report,) = done.catalog.reports
    unplaced = report.slots["outcome"].unplaced
    assert (unplaced.rows, unplaced.distinct, len(unplaced.texts)) == (50_000, 50_000, 5)
    with closedset.open(tmp_path / "store") as store:
        counts = store.search(PASSED).model_dump(mode="json")["counts"]
        asked = store.search(ask("outcome", "eq", "WORD  4711")).model_dump(mode="json")
    assert (counts["matched"], counts["none"], counts["undetermined"]) == (1, 0, 50_000)
    assert asked["entities"]["matched"] == ["e4711"]


NUMBERS = {
    "9" * 38: "matched", "0" * 50 + "7": "matched", "1e37": "matched", "+1": "matched",
    "-" + "9" * 38: "none", "1e-30": "none", ".5": "none", "0": "none",
    **dict.fromkeys(
        ["9" * 39, "1" * 40, "1e38", "5.", "1e9999", "Infinity", "١٢", "1 000", "0e-99", "1_000", "NaN"], "undetermined"
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("texts", "held"),
    [
        (["5.551115123125783e-17", "1250000.0", "99.0"], ["1250000.0", "99.0"]),
        (["1e37", "0.5"], ["0.5"]),
        (["1e37", "0.5", "0.25"], ["0.5", "0.25"]),
        (["10", "0." + "0" * 36 + "11"], ["10"]),
    ],
    ids=str,
)
def test_a_long_fraction_does_not_make_a_large_number_unreadable(
    texts: list[str], held: list[str], tmp_path: Path
) -> None:
    lines = "".join(f"{text},passed,{text}\n" for text in texts)
    load(tmp_path, {"t.csv": "id,outcome,fee\n" + lines}, {"rows": [rows() | {"slots": {"fee": "fee"}}]})
    with closedset.open(tmp_path / "store") as store:
        reply = store.search(ask("fee", "gte", 0)).model_dump(mode="json")
    assert set(reply["entities"]["matched"]) == set(held)
    assert set(reply["entities"]["undetermined"]) == set(texts) - set(held)


def test_a_number_is_exact_or_unreadable(tmp_path: Path) -> None:
    for i, (text, verdict) in enumerate(NUMBERS.items()):
        folder = tmp_path / str(i)
        load(folder, {"t.csv": f"id,outcome,fee\ne1,passed,{text}\n"}, {"rows": [rows() | {"slots": {"fee": "fee"}}]})
        assert verdicts(folder, ask("fee", "gte", 1)) == {"e1": verdict}, text


DATES = {
    "9999-12-31": "matched", "2024-02-29T23:59:60Z": "matched", "2024-02-29 24:00": "matched", "0001-01-01": "none",
    **dict.fromkeys(
        ["0000", "0000-01-01", "10000", "10000-01-01", "99999999", "2024-02-30", "2024-1-1", "٢٠٢٤", "-2024",
         "2024-W05", "2024-02-29T25:00:00", "2024-02-29T12:60", "2024-00-05", "2024-", "'2024",
         "2024-01-01/2024-12-31"],
        "undetermined",
    ),
}  # fmt: skip


def test_a_date_is_read_or_unreadable(tmp_path: Path) -> None:
    lines = "".join(f"{quoted(text)},passed,{quoted(text)}\n" for text in DATES)
    load(tmp_path, {"t.csv": f"id,outcome,on\n{lines}"}, {"rows": [rows() | {"slots": {"on": "on"}}]})
    assert verdicts(tmp_path, ask("on", "gte", "2024-02")) == DATES


@pytest.mark.parametrize(
    "junk",
    [b"\0" * 5000, b"\xff" * 100, b'"' * 999, b"\r\n" * 50, b"PK\x03\x04" + b"\0\x9f" * 80, bytes(range(255, 0, -1))],
)  # fmt: skip
@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.csv.gz", "t.tsv", "t.csv.zst"])
def test_junk_is_refused_with_the_files_name_and_without_a_crash(junk: bytes, name: str, tmp_path: Path) -> None:
    with pytest.raises(LoadRefused, match=name.replace(".", r"\.")):
        load(tmp_path, {name: junk})


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "latin-1", "cp1252", "shift_jis"])
def test_another_encoding_is_refused_by_line_and_never_mends_letters(encoding: str, tmp_path: Path) -> None:
    last = "東京" if encoding == "shift_jis" else "Zürich"
    text = "id,outcome,by\n" + "e0,passed,plain\n" * 200_000 + f"e1,passed,{last}\n"
    with pytest.raises(LoadRefused, match=r"t\.csv:(1|200002): .*UTF-8"):
        load(tmp_path, {"t.csv": text.encode(encoding)})


def test_a_mark_at_the_start_of_a_packed_file_is_no_letter(tmp_path: Path) -> None:
    packed = gzip.compress(codecs.BOM_UTF8 + b"id,outcome,by\r\ne1,passed,x\ne2,passed,y\r\n")
    load(tmp_path, {"t.csv.gz": packed})
    assert verdicts(tmp_path) == {"e1": "matched", "e2": "matched"}


def test_the_loader_agrees_with_python_on_every_cell_of_random_files(tmp_path: Path) -> None:
    import csv

    chance = random.Random(11)
    alphabet = ["a", "é", "漢", '"', ",", "\n", "\r\n", ";", " ", "\t", "'", "\\", "\u00a0", "0", "👍"]
    for i in range(12):
        table = [["".join(chance.choices(alphabet, k=chance.randrange(8))) for _ in range(3)] for _ in range(200)]
        table = [[f"e{n}", "passed", row[2]] for n, row in enumerate(table)]
        out = io.StringIO()
        end, delimiter = chance.choice(["\n", "\r\n"]), chance.choice(",;\t|")
        quoting = csv.QUOTE_ALL if i % 2 else csv.QUOTE_MINIMAL
        writer = csv.writer(out, delimiter=delimiter, lineterminator=end, quoting=quoting)  # type: ignore[arg-type]
        writer.writerows([["id", "outcome", "by"], *table])
        folder = tmp_path / str(i)
        load(folder, {"t.csv": out.getvalue()})
        with closedset.open(folder / "store") as store:
            kept = store.generation().cursor().execute("SELECT * FROM cells_export.cells_0 ORDER BY rowid").fetchall()
        assert kept == [(a, b, c or None) for a, b, c in table]


def test_in_memory_and_loaded_stores_give_one_answer(tmp_path: Path) -> None:
    from closedset import mapping, pack, store

    load(tmp_path, {"t.csv": "id,outcome,by\ne1,passed,x\ne2,,y\n,passed,z\n"})
    given = pa.table({"id": ["e1", "e2", None], "outcome": ["passed", None, "passed"], "by": ["x", "y", "z"]})
    the_pack = pack.load(tmp_path / "pack.yaml")
    memory = store.in_memory(the_pack, mapping.load(tmp_path / "export.map.yaml", the_pack), {"t": given})
    assert {r["entity_id"]: r["verdict"] for r in memory.partition(PASSED).to_pylist()} == verdicts(tmp_path)


# --- a stray quote must not take other rows with it ---------------------------------------------------


@pytest.mark.parametrize(
    "lines",
    [
        'a,"Acme,Ops\nb,Bolt,Sales"\n',
        'a,"Acme,Ops\nb,Bolt,"Sales\n',
        'a,"Acme,Ops\nb,Bolt",3,Sales\n',
        'x,Xylo,Ops\r\na,"Acme,Ops\nb,Bolt,Sales"\n',
    ],
)
def test_a_record_that_may_have_swallowed_rows_is_refused(lines: str, tmp_path: Path) -> None:
    """b would be missing without a word, or be called none and licensed."""
    (tmp_path / "pack.yaml").write_text(
        "pack: q\naxes: {fn: {terms: [Ops, Sales]}}\nrelations: {role: {slots: {company: text, fn: {term: fn}}}}\n"
    )
    (tmp_path / "map.yaml").write_text(
        "source: s\nrows:\n  - {relation: role, from: roles, entity: id, slots: {company: company, fn: fn},"
        " looked_at: {every: roles.id}}\n"
    )
    export = tmp_path / "export"
    export.mkdir()
    (export / "roles.csv").write_bytes(f"id,company,fn\n{lines}c,Core,Sales\n".encode())
    with pytest.raises(closedset.LoadRefused, match=r"roles\.csv:\d+: .*quote"):
        closedset.load.load(tmp_path / "store", tmp_path, [export])


def test_a_pattern_takes_the_parts_of_an_export_packed_or_not(tmp_path: Path) -> None:
    export = tmp_path / "export"
    export.mkdir()
    (export / "t_1.csv").write_text("id,outcome,by\ne1,passed,x\n")
    (export / "t_2.csv.gz").write_bytes(gzip.compress(b"id,outcome,by\ne2,passed,x\n"))
    load(tmp_path, {}, {"files": {"t": "t_*.csv"}})
    assert verdicts(tmp_path) == {"e1": "matched", "e2": "matched"}
