"""The two streams at their worst: closed, full, interrupted, a terminal that reads hostile cells."""

import os
import pty
import shutil
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


@pytest.mark.parametrize("folder", ["h#x", "p%41", "it's", "s t\u00f6re"])
def test_a_folder_may_be_called_as_one_likes(folder: str, tmp_path: Path) -> None:
    path = tmp_path / folder / "store"
    assert run("load", path, "--pack", "roster", "--sample")[0] == 0
    assert run("merge", path, "teodor_brask", "yusuf_alderane", "--by", "anna", "--reason", "x")[0] == 0
    assert "'teodor_brask' is 'yusuf_alderane'" in run("merge", path, "--list")[1]


@pytest.mark.parametrize("sign", ["?", "\\"])
def test_but_not_with_a_sign_that_duckdb_takes_for_another(
    sign: str, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named, told = tmp_path / f"q{sign}d", f"a folder whose name holds a '{sign}'; name another one"
    code, _, err = run("load", named / "store", "--pack", "roster", "--sample")
    assert (code, told in err) == (2, True)
    assert not named.exists()
    shutil.copytree(store, named / "s")
    acts = [["search", "-w", "seen.what = x"], ["correct", "seen/s/t/1", "--reason", "x"], ["verify"], ["gc"]]
    for act, *more in acts:
        code, _, err = run(act, named / "s", *more)
        assert (code, told in err) == (2, True)
    # What works beside the store works in the folder of the system for such files.
    monkeypatch.setattr("tempfile.tempdir", str(named))
    for more in ([], ["--against", str(store.parent / "t.csv")]):
        code, _, err = run("verify", store, *more)
        assert (code, told in err) == (2, True)


def test_a_locale_without_utf_8_reads_the_same_names(store: Path, tmp_path: Path) -> None:
    pack, path = store.parent / "pack.yaml", tmp_path / "st\u00f6re"
    (tmp_path / "exp\u00f6rt").mkdir()
    table = shutil.copy(store.parent / "t.csv", tmp_path / "exp\u00f6rt" / "t.csv")
    told = {**os.environ, "LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    line = [*COMMAND, "load", str(path), "--pack", str(pack), str(table)]
    ended = subprocess.run(line, env=told, capture_output=True, check=False)
    assert ended.returncode == 0, ended
    assert "exp\u00f6rt/t.csv" in ended.stdout.decode()
    assert run("schema", path)[0] == 0


_TMPFS = ["unshare", "-Urm", "sh", "-c"]


def _mounts() -> bool:
    try:
        return not subprocess.run([*_TMPFS, "mount -t tmpfs none /mnt"], capture_output=True, check=False).returncode
    except OSError:
        return False


@pytest.mark.skipif(not _mounts(), reason="no small disk can be made here")
def test_a_full_disk_is_named_and_the_store_holds_what_it_held(tmp_path: Path) -> None:
    acts = (
        f'closedset() {{ "{sys.executable}" -m closedset_cli "$@"; }}; mount -t tmpfs -o size=16m none "$1"',
        'closedset load "$1/st" --pack roster --sample > /dev/null; echo $?',
        'cat /dev/zero > "$1/filler" 2> /dev/null',
        'closedset merge "$1/st" teodor_brask yusuf_alderane --by a --reason x; echo $?',
        'closedset load "$1/other" --pack roster --sample; echo $?',
        'closedset search "$1/st" -w "screening.outcome = passed" --set matched',
        'ls "$1"',
    )
    ended = subprocess.run([*_TMPFS, "; ".join(acts), "sh", str(tmp_path)], capture_output=True, text=True, check=False)
    first, *rest = ended.stdout.splitlines()
    assert first == "0", ended
    assert rest[:2] == ["2", "2"], ended
    assert "halvard_quist" in rest
    assert rest[-2:] == ["filler", "st"]
    assert "full" in ended.stderr
    assert "fault of closedset" not in ended.stderr
    assert "other: its disk is full" in ended.stderr
