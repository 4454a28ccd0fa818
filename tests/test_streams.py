"""The two streams at their worst: closed, full, interrupted, a terminal that reads hostile cells."""

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.command import run

COMMAND = [sys.executable, "-m", "closedset_cli"]
HOSTILE = "a\x1b[31m\x07\u009b\u202eb"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("streams")
    (folder / "pack.yaml").write_text("pack: p\nrelations: {seen: {slots: {what: text}}}\n", encoding="utf-8")
    (folder / "map.yaml").write_text(
        "source: s\nrows: [{relation: seen, from: t, entity: id, slots: {what: what}}]\n", encoding="utf-8"
    )
    (folder / "t.csv").write_text(f"id,what\n{HOSTILE},x\n", encoding="utf-8")
    assert run("load", folder / "s", "--pack", folder / "pack.yaml", folder / "t.csv")[0] == 0
    return folder / "s"


def shell(line: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a line of sh in which `closedset` is the command and $1, $2 … the arguments."""
    begun = f'closedset() {{ "{sys.executable}" -m closedset_cli "$@"; }}; {line}'
    return subprocess.run(["sh", "-c", begun, "sh", *map(str, arguments)], capture_output=True, text=True, check=False)


def test_a_closed_stream_leads_nowhere_and_changes_no_exit_code(store: Path) -> None:
    line = 'closedset schema "$1" >&-; echo $?; closedset schema "$1" 2>&- | head -1; closedset schema 2>&-; echo $?'
    ended = shell(line, store)
    assert (ended.stdout, ended.stderr) == ("0\npack p\n2\n", "")


def test_no_file_of_the_store_is_written_into_where_a_stream_was_closed(store: Path, tmp_path: Path) -> None:
    pack, table = store.parent / "pack.yaml", store.parent / "t.csv"
    line = 'closedset load "$1" --pack "$2" "$3" <&- >&- 2>&-; closedset verify "$1"'
    ended = shell(line, tmp_path / "s", pack, table)
    assert (ended.returncode, ended.stdout.split(":")[0]) == (0, "as it was"), ended


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_reply_that_cannot_be_written_says_what_took_place_all_the_same(store: Path, tmp_path: Path) -> None:
    pack, table = store.parent / "pack.yaml", store.parent / "t.csv"
    ended = shell('closedset load "$1" --pack "$2" "$3" > /dev/full; echo $?', tmp_path / "s", pack, table)
    assert ended.stdout == "74\n"
    assert ended.stderr == (
        "closedset: the reply could not be written: No space left on device; "
        "the load took place: generation 1 is the current one\n"
    )
    ended = shell('closedset schema "$1" > /dev/full; echo $?', tmp_path / "s")
    assert ended.stdout == "74\n"
    assert ended.stderr == "closedset: the reply could not be written: No space left on device\n"


def test_ctrl_c_before_anything_is_imported_is_quiet() -> None:
    """The moment is held open: the first import waits."""
    late = (
        "import sys, time\n"
        "class Slow:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'typer':\n"
        "            print('importing', flush=True)\n"
        "            time.sleep(30)\n"
        "sys.meta_path.insert(0, Slow())\n"
        "from closedset_cli.__main__ import start\n"
        "start()\n"
    )
    process = subprocess.Popen([sys.executable, "-c", late], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "importing\n"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=10)
    assert (process.returncode, err) == (130, "")


def test_csv_is_harmless_on_a_terminal_and_the_very_bytes_elsewhere(store: Path) -> None:
    asked = ["search", str(store), "-w", "seen.what = x", "--set", "matched", "--format", "csv"]
    assert HOSTILE in run(*asked)[1]
    ours, theirs = pty.openpty()
    process = subprocess.Popen([*COMMAND, *asked], stdout=theirs, stderr=subprocess.DEVNULL)
    os.close(theirs)
    said = b""
    while True:
        try:
            block = os.read(ours, 4096)
        except OSError:
            break
        if not block:
            break
        said += block
    os.close(ours)
    assert process.wait() == 0
    assert said.decode().split("\r\n")[:2] == ["entity_id,verdict", "a\\x1b[31m\\x07\\x9b\\u202eb,matched"]
