"""A store that lost a file or had one spoiled: what the commands say, and that what they advise brings it back."""

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest
from tests.command import run

ASKED = ("-w", "screening.outcome = passed", "--set", "matched")
Harm = Callable[[Path], object]


def load(store: Path, *more: str) -> tuple[int, str, str]:
    return run("load", store, "--pack", "roster", "--sample", *more)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of two generations: a load, and the same with a merge."""
    path = tmp_path_factory.mktemp("whole") / "store"
    assert load(path)[0] == 0
    merged = run("merge", path, "teodor_brask", "yusuf_alderane", "--by", "anna", "--reason", "one man")
    assert merged[0] == 0
    return path


@pytest.fixture
def store(whole: Path, tmp_path: Path) -> Path:
    """A copy of it, to be harmed."""
    return shutil.copytree(whole, tmp_path / "it's a store")


def files(store: Path) -> list[str]:
    return sorted(str(f.relative_to(store)) for f in store.rglob("*") if f.is_file())


def advised(said: str) -> None:
    """Run the command that stands at the end of a message."""
    command = said.strip().split("the current one: ", 1)[1]
    assert command.startswith("echo ")
    assert shlex.split(command)[2] == ">"
    subprocess.run(command, shell=True, check=True)


def test_a_store_without_its_pointer_is_refused_and_nothing_of_it_is_dropped(store: Path) -> None:
    (store / "CURRENT").unlink()
    before = files(store)
    for command in (("gc", store), ("search", store, *ASKED), ("loads", store), ("merge", store, "--list")):
        code, out, err = run(*command)
        assert (code, out) == (2, "")
        assert f"{store / 'CURRENT'}: is missing; generation 2 is whole" in err
    code, _, err = load(store)
    assert code == 2
    assert files(store) == before
    advised(err)
    code, out, err = run("search", store, *ASKED)
    assert (code, "4 entities" in out) == (0, True), out


def test_a_first_load_that_was_killed_before_it_was_published_is_begun_again(tmp_path: Path) -> None:
    path = tmp_path / "store"
    load(path)
    (path / "CURRENT").unlink()
    assert run("gc", path)[0] == 2
    assert "loaded as generation 1" in load(path)[1]
    (path / "CURRENT").unlink()
    (path / "generations" / "1.duckdb").write_bytes(b"")
    assert run("gc", path)[0] == 0
    assert "loaded as generation 1" in load(path)[1]


def test_another_source_is_not_loaded_over_a_generation_whose_pointer_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "store"
    load(path)
    (path / "CURRENT").unlink()
    (tmp_path / "screenings.csv").write_text("person_id,kind\nhalvard_quist,compliance\n", encoding="utf-8")
    (tmp_path / "map.yaml").write_text(
        "source: other\nrows: [{relation: screening, from: screenings, entity: person_id, slots: {kind: kind}}]\n",
        encoding="utf-8",
    )
    code, _, err = run("load", path, "--pack", "roster", "--map", tmp_path / "map.yaml", tmp_path)
    assert (code, "generation 1 is whole" in err) == (2, True), err
    advised(err)
    _, out, _ = run("load", path, "--pack", "roster", "--map", tmp_path / "map.yaml", tmp_path)
    assert "the store also holds: hr_warehouse" in out


@pytest.mark.parametrize(
    ("file", "harm", "said"),
    [
        ("CURRENT", lambda f: f.write_text("two\n"), "CURRENT: holds no generation number; generation 2 is whole"),
        ("CURRENT", lambda f: f.write_text("7\n"), "7.duckdb: is missing; generation 2 is whole"),
        ("generations/2.duckdb", Path.unlink, "2.duckdb: is missing; generation 1 is whole"),
        ("generations/2.duckdb", lambda f: f.write_bytes(b"spoilt"), "2.duckdb: cannot be opened: "),
    ],
)
def test_what_is_damaged_is_named_with_the_way_back(file: str, harm: Harm, said: str, store: Path) -> None:
    harm(store / file)
    code, out, err = run("verify", store)
    assert (code, f"not as it was: {store}" in out, said in out, err) == (3, True, True, "")
    code, _, err = run("search", store, *ASKED)
    assert (code, said in err) == (2, True), err
    assert load(store)[0] == 2
    advised(err)
    assert run("search", store, *ASKED)[0] == 0
    # What is still in the ledger is applied to what was gone back to.
    assert load(store)[0] == 0
    assert "universe 4" in run("schema", store)[1]


def test_kept_cells_that_are_gone_are_named_and_no_other_generation_is_offered(store: Path) -> None:
    (store / "cells" / "1_hr_warehouse.duckdb").unlink()
    code, _, err = run("search", store, *ASKED)
    assert code == 2
    assert "1_hr_warehouse.duckdb: is missing: generation 2 keeps the cells of its export there" in err
    assert "no other generation of this store is whole: put back a copy of it, or load the exports into a new" in err


@pytest.mark.parametrize("harm", [Path.unlink, lambda f: f.write_bytes(b"")])
def test_a_ledger_that_lacks_what_the_store_applies_is_never_listed_as_empty(harm: Harm, store: Path) -> None:
    harm(store / "ledger.sqlite")
    for command in (
        ("merge", store, "--list"),
        ("correct", store, "--list", "--format", "json"),
        ("coverage", "list", store),
        ("vocab", "place", store, "--list"),
    ):
        code, out, err = run(*command)
        assert (code, out) == (2, "")
        assert "and the store has applied 1 of its events; put back the ledger" in err
    code, out, _ = run("verify", store)
    assert (code, "ledger: events that were applied and are gone: 1" in out) == (3, True)


def test_a_store_that_nobody_may_write_is_read_in_full(store: Path) -> None:
    """Run without the powers of root, where the tests run as root."""
    powers = "-dac_override,-dac_read_search"
    bare = ["setpriv", f"--bounding-set={powers}", f"--inh-caps={powers}"] if os.getuid() == 0 else []
    before = files(store)
    folders = [store, *(f for f in store.rglob("*") if f.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    try:
        for command in (["verify"], ["merge", "--list"], ["search", *ASKED], ["loads"]):
            line = [*bare, sys.executable, "-m", "closedset_cli", command[0], str(store), *command[1:]]
            ended = subprocess.run(line, capture_output=True, text=True)
            assert ended.returncode == 0, ended
            assert ended.stdout
        line = [*bare, sys.executable, "-m", "closedset_cli", "merge", str(store), "--undo", "teodor_brask"]
        ended = subprocess.run(line, capture_output=True, text=True)
        assert ended.returncode == 2
        assert str(store) in ended.stderr
    finally:
        for folder in folders:
            folder.chmod(0o755)
    assert files(store) == before


def test_a_row_that_is_gone_from_the_kept_cells_is_named_with_its_place(store: Path) -> None:
    with duckdb.connect(str(store / "cells" / "1_hr_warehouse.duckdb")) as con:
        con.execute("DELETE FROM cells_1 WHERE rowid = 0")
    said = "table screenings of source hr_warehouse: the store's kept cells hold no screenings.csv row 1 any more"
    for command in (
        ("search", store, "-w", "screening.kind = compliance"),
        ("receipt", store, "screening/hr_warehouse/screenings/1", "kind"),
        ("correct", store, "screening/hr_warehouse/screenings/1", "--reason", "x"),
    ):
        code, _, err = run(*command)
        assert (code, said in err) == (2, True), err
    code, out, _ = run("verify", store)
    assert (code, "table screenings (hr_warehouse): rows: 1" in out) == (3, True), out


def test_verify_says_what_is_damaged_and_ends_with_3(store: Path) -> None:
    file = store / "cells" / "1_hr_warehouse.duckdb"
    whole = file.read_bytes()
    # Past its headers, every block is other than was written.
    file.write_bytes(whole[:12288] + bytes(255 - b for b in whole[12288:]))
    code, out, err = run("verify", store)
    assert (code, err) == (3, "")
    assert out.startswith("not as it was: ")
    assert "1_hr_warehouse.duckdb" in out
    said = json.loads(run("verify", store, "--format", "json")[1])
    assert said["differs"] is True
    file.unlink()
    code, out, _ = run("verify", store, "--sample", "2")
    assert (code, "1_hr_warehouse.duckdb: is missing" in out) == (3, True)


def test_a_receipt_whose_cell_is_not_what_answers_rest_on_ends_with_3(store: Path) -> None:
    asked = ("receipt", store, "screening/hr_warehouse/screenings/1", "kind")
    assert run(*asked)[0] == 0
    with duckdb.connect(str(store / "cells" / "1_hr_warehouse.duckdb")) as con:
        con.execute("UPDATE cells_1 SET kind = 'other' WHERE rowid = 0")
    code, out, _ = run(*asked)
    assert (code, "no: the store has something else" in out) == (3, True)
