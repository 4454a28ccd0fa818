"""What is given to a load and what of it is taken: names with folders, one file in two spellings, links, and what
cannot be read beside an export."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.command import run
from tests.test_load import PACK, rows, write

ROWS = [{**rows(), "slots": {"outcome": "outcome"}}]


def lay(folder: Path, files: dict[str, str | bytes], files_said: Any = None) -> None:
    write(folder, files)
    said = {"source": "s", "rows": ROWS, **({"files": {"t": files_said}} if files_said else {})}
    (folder / "pack.yaml").write_text(json.dumps(PACK), encoding="utf-8")
    (folder / "map.yaml").write_text(json.dumps(said), encoding="utf-8")


def loaded(folder: Path, *paths: str | Path) -> tuple[int, list[str], str]:
    """Load; the exit code, the ids that matched, and what was said on stderr."""
    store = folder / "store"
    code, _, err = run("load", store, "--pack", folder / "pack.yaml", *paths)
    if code:
        return code, [], err
    _, out, _ = run("search", store, "-w", "screening.outcome = passed", "--format", "json")
    return code, [match["entity_id"] for match in json.loads(out)["matches"]], err


YEARS: dict[str, str | bytes] = {
    "2023/roles.csv": "id,outcome\nA,passed\n",
    "2024/roles.csv": "id,outcome\nB,passed\n",
    "2024/more.csv": "id,outcome\nC,passed\n",
}


@pytest.mark.parametrize(
    ("said", "matched"),
    [
        ("2024/roles.csv", ["B"]),
        ("./2024/roles.csv", ["B"]),
        ("2024/*.csv", ["B", "C"]),
        ("20*/roles.csv", ["A", "B"]),
        (["2023/roles.csv", "2024/more.csv"], ["A", "C"]),
        ("roles.csv", ["A", "B"]),
    ],
)
def test_a_folder_in_a_name_of_the_map_is_honoured(said: Any, matched: list[str], tmp_path: Path) -> None:
    lay(tmp_path, YEARS, said)
    assert loaded(tmp_path, tmp_path / "2023", tmp_path / "2024") == (0, matched, "")


@pytest.mark.parametrize("said", ["2025/roles.csv", "2024/roles", "x/2024/roles.csv", "2025/roles.csv.gz"])
def test_a_name_with_a_folder_never_takes_a_file_of_another(said: str, tmp_path: Path) -> None:
    lay(tmp_path, YEARS, said)
    code, _, err = loaded(tmp_path, tmp_path / "2023", tmp_path / "2024")
    assert code == 2
    assert f"table t: no file {said} among what was given" in err
    assert f"{tmp_path}/2023/roles.csv" in err


def test_one_file_is_loaded_once_in_whatever_spelling_it_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lay(tmp_path, {"e/t.csv": "id,outcome\nA,passed\nA,passed\n"})
    (tmp_path / "link").symlink_to("e")
    monkeypatch.chdir(tmp_path)
    given: list[str | Path] = ["e", "e/t.csv", tmp_path / "e", "./e/../e", "link", "e/*.csv"]
    code, out, _ = run("check", "pack.yaml", "map.yaml", *given)
    assert code == 0
    assert "screening  t         2       2" in out
    (files,) = (line for line in out.splitlines() if line.startswith("  t  "))
    assert files.split()[:4] == ["t", "e/t.csv", "2", "rows"]
    code, out, _ = run("init", *given, "--out", "draft")
    assert "t.csv  2 rows" in out


def test_a_link_is_found_by_its_own_name_and_its_file_is_read_once(tmp_path: Path) -> None:
    lay(tmp_path, {"e/export_7.csv": "id,outcome\nA,passed\n"})
    (tmp_path / "e" / "t.csv").symlink_to("export_7.csv")
    assert loaded(tmp_path, tmp_path / "e") == (0, ["A"], "")
    lay(tmp_path, {}, "*.csv")
    _, out, _ = run("check", tmp_path / "pack.yaml", tmp_path / "map.yaml", tmp_path / "e")
    assert "screening  t         1       1" in out


def as_reader(*arguments: str | Path) -> tuple[int, str]:
    """Run a command as one who may not read everything; its exit code and what it says."""
    powers = "-dac_override,-dac_read_search"
    bare = ["setpriv", f"--bounding-set={powers}", f"--inh-caps={powers}"] if os.getuid() == 0 else []
    command = [*bare, sys.executable, "-m", "closedset_cli", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def test_what_nobody_needs_may_be_unreadable(tmp_path: Path) -> None:
    lay(tmp_path, {"e/t.csv": "id,outcome\nA,passed\n", "e/private/x.csv": "", "e/old.db": "", "e/u.csv": "id\n"})
    shut = [tmp_path / "e" / name for name in ("private", "old.db", "u.csv")]
    for one in shut:
        one.chmod(0)
    assert as_reader("check", tmp_path / "pack.yaml", tmp_path / "map.yaml", tmp_path / "e")[0] == 0
    code, out = as_reader("init", tmp_path / "e", "--out", tmp_path / "d")
    assert code == 0
    for one in shut:
        assert f"{one}: cannot be read: Permission denied" in out
    shut[0].chmod(0o755)


@pytest.mark.parametrize(
    ("shut", "command"), [("e", "check"), ("e/t.csv", "check"), ("e", "init"), ("e/t.csv", "init"), ("e/t.db", "check")]
)
def test_what_may_not_be_read_is_said_to_be_so(shut: str, command: str, tmp_path: Path) -> None:
    lay(tmp_path, {shut if shut != "e" else "e/t.csv": "id,outcome\nA,passed\n"})
    (tmp_path / shut).chmod(0)
    words: dict[str, list[str | Path]] = {
        "check": [tmp_path / "pack.yaml", tmp_path / "map.yaml", tmp_path / "e"],
        "init": [tmp_path / "e", "--out", tmp_path / "d"],
    }
    code, err = as_reader(command, *words[command])
    (tmp_path / shut).chmod(0o755)
    assert code == 2
    assert "cannot be read: Permission denied" in err
    assert shut.rsplit("/", 1)[-1] in err
    assert "is it whole" not in err
    assert "_delta_log" not in err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[{"id":"A","outcome":"passed"}]\n', "t.jsonl:1: an object must stand here, not [{"),
        ('\n[\n{"id":"A",\n"outcome":"passed"}\n]\n', "t.jsonl:2: no JSON: "),
        ("id,outcome\nA,passed\n", "t.jsonl:1: no JSON: "),
    ],
)
def test_lines_of_which_none_is_a_row_are_refused_by_the_first(text: str, said: str, tmp_path: Path) -> None:
    lay(tmp_path, {"e/t.jsonl": text})
    code, _, err = loaded(tmp_path, tmp_path / "e")
    assert code == 2
    assert "table t: no line is a row" in err
    assert said in err
    assert ("is called .json" in err) == ("[{" in text)
