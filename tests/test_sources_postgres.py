"""PostgreSQL, from a real server on a socket of its own: cells as the server writes them, all tables of one moment, and
a password that nobody ever sees."""

import contextlib
import os
import pwd
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.test_load import figures, load, rows, verdicts
from tests.test_sources_csv import kept
from tests.test_sources_kinds import ROSTER, answer, roster

import closedset
from closedset.errors import ClosedsetError, LoadRefused
from closedset.load import load as load_export

dbapi = pytest.importorskip("adbc_driver_postgresql.dbapi")
SECRET = "s3cret p@ss/word"
WRITTEN = "s3cret%20p%40ss%2Fword"


def binaries() -> Path | None:
    """Where a server's programs are: on the path, or where Debian puts them."""
    found = shutil.which("initdb")
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return Path(found).parent if found else places[-1].parent if places else None


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """A server that asks for a password: the URI up to its database's name."""
    programs = binaries()
    if programs is None:
        pytest.skip("no PostgreSQL server is installed (apt-get install postgresql)")
    # A server refuses to run as root, and a socket's path may have a hundred characters.
    account = "postgres" if os.getuid() == 0 else None
    with tempfile.TemporaryDirectory(prefix="cs-pg-") as folder, contextlib.ExitStack() as stack:
        place = Path(folder)
        (place / "password").write_text(SECRET, encoding="utf-8")
        if account:
            owner = pwd.getpwnam(account)
            for path in (place, place / "password"):
                os.chown(path, owner.pw_uid, owner.pw_gid)

        def run(*command: str) -> None:
            subprocess.run([str(programs / command[0]), *command[1:]], check=True, capture_output=True, user=account)

        data = str(place / "data")
        run("initdb", "-D", data, "-U", "ana", "--auth=scram-sha-256", f"--pwfile={place / 'password'}", "-E", "UTF8",
            "--locale=C", "--no-sync")  # fmt: skip
        settings = f"-c listen_addresses='' -c unix_socket_directories={place} -c fsync=off -c timezone=Asia/Kolkata"
        run("pg_ctl", "-D", data, "-w", "-o", settings, "-l", str(place / "log"), "start")
        stack.callback(run, "pg_ctl", "-D", data, "-m", "immediate", "stop")
        yield f"postgresql://ana:{WRITTEN}@/{{}}?host={place}"


@pytest.fixture
def database(server: str, request: pytest.FixtureRequest) -> str:
    """The URI of an empty database of the test's own."""
    name = f"d{abs(hash(request.node.nodeid))}"
    execute(server.format("postgres"), f"CREATE DATABASE {name}", alone=True)
    return server.format(name)


def execute(uri: str, *statements: str, alone: bool = False) -> None:
    with dbapi.connect(uri, autocommit=alone) as con, con.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
        if not alone:
            con.commit()


def literal(value: str | None) -> str:
    return "NULL" if value is None else "'" + value.replace("'", "''") + "'"


def fill(uri: str) -> None:
    statements = []
    for name, (columns, records) in roster().items():
        statements.append(f"CREATE TABLE {name} (place serial PRIMARY KEY, {', '.join(f'{c} text' for c in columns)})")
        lines = ", ".join(f"({', '.join(map(literal, record))})" for record in records)
        statements.append(f"INSERT INTO {name} ({', '.join(columns)}) VALUES {lines}")
    execute(uri, *statements)


def test_the_roster_on_a_server_gives_the_answers_of_its_files(database: str, tmp_path: Path) -> None:
    fill(database)
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    _, cells, partition, reports = answer(tmp_path / "a", [database])
    _, from_files, *rest = answer(tmp_path / "b", [str(ROSTER / "data")])
    assert [partition, reports] == rest
    for table, (columns, records) in from_files.items():
        assert cells[table] == (["place", *columns], [(str(i), *record) for i, record in enumerate(records, 1)])


TYPES = """
CREATE TABLE t (id text, outcome text, by numeric(12, 4), big numeric, stamp timestamptz, day date, yes boolean,
                raw bytea, many int[], doc jsonb, said json, span interval, id2 uuid, real float8);
INSERT INTO t VALUES ('007', 'passed', 1.1000, 170141183460469231731687303715884105728.50, '2024-02-29 23:30:00+05:30',
                      '2024-02-29', true, '\\x00ff', '{1,NULL}', '{"a": 1.10}', '{"b":  1.10}', '1 day 2 hours',
                      '00000000-0000-0000-0000-0000000000ab', 0.1),
                     ('', NULL, NULL, 'NaN', 'infinity', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1e300)
"""


def test_a_cell_is_what_the_server_writes_whatever_its_zone(database: str, tmp_path: Path) -> None:
    execute(database, *TYPES.split(";"))
    mapping = map_file(tmp_path, {})
    load_export(tmp_path / "store", tmp_path / "pack.yaml", [database], mapping=mapping)
    second, first = kept(tmp_path)
    assert first == (
        "007", "passed", "1.1000", "170141183460469231731687303715884105728.50", "2024-02-29 18:00:00+00", "2024-02-29",
        "true", "\\x00ff", "[1,null]", '{"a": 1.10}', '{"b":  1.10}', "P1DT2H", "00000000-0000-0000-0000-0000000000ab",
        "0.1",
    )  # fmt: skip
    assert second == (None, None, None, "NaN", "infinity", *[None] * 8, "1e+300")


def map_file(folder: Path, said: dict[str, Any]) -> Path:
    """A pack and map in a folder, and the map's place."""
    with pytest.raises(ClosedsetError):
        load(folder, {"nothing.csv": "x\n"}, {"files": {"t": said} if said else {}})
    return folder / "export.map.yaml"


ROWS = (
    "CREATE TABLE {} (id text, outcome text, by text);"
    "INSERT INTO {} VALUES ('e1', 'passed', 'x'), ('e2', 'failed', 'y')"
)


def test_a_table_of_another_schema_is_named_with_it(database: str, tmp_path: Path) -> None:
    execute(database, "CREATE SCHEMA hr", *ROWS.format("hr.seen", "hr.seen").split(";"))
    mapping = map_file(tmp_path, {"table": "hr.seen"})
    done = load_export(tmp_path / "store", tmp_path / "pack.yaml", [database], mapping=mapping)
    assert verdicts(tmp_path) == {"e1": "matched", "e2": "none"}
    assert load_export(tmp_path / "store", tmp_path / "pack.yaml", [database], mapping=mapping).unchanged
    execute(database, "UPDATE hr.seen SET outcome = 'passed'")
    again = load_export(tmp_path / "store", tmp_path / "pack.yaml", [database], mapping=mapping)
    assert not again.unchanged
    assert verdicts(tmp_path) == {"e1": "matched", "e2": "matched"}
    assert "hr.seen" in done.catalog.tables[0].files[0].path


def test_the_variable_a_map_names_holds_the_uri(database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    execute(database, *ROWS.format("t", "t").split(";"))
    monkeypatch.delenv("HR_DATABASE", raising=False)
    mapping = map_file(tmp_path, {"connection": "HR_DATABASE"})
    with pytest.raises(LoadRefused, match="HR_DATABASE is not set"):
        load_export(tmp_path / "store", tmp_path / "pack.yaml", mapping=mapping)
    monkeypatch.setenv("HR_DATABASE", database)
    done = load_export(tmp_path / "store", tmp_path / "pack.yaml", mapping=mapping)
    assert figures(done.catalog) == (2, 2, 0, 0)


def test_a_password_is_never_kept_or_said(database: str, server: str, tmp_path: Path) -> None:
    execute(database, *ROWS.format("t", "t").split(";"))
    mapping = map_file(tmp_path, {})
    command = ["load", str(tmp_path / "store"), "--pack", str(tmp_path / "pack.yaml"), "--map", str(mapping)]
    wrong = database.replace("s3cret", "wr0ng")
    said = [terminal(*command, uri) for uri in (database, wrong, f"{database}x", "postgresql://ana:s3cret@h:s3cret/d")]
    assert [code for code, _ in said] == [0, 2, 2, 2]
    assert "password authentication failed" in said[1][1]
    for _, text in said:
        assert not [word for word in ("s3cret", "wr0ng", WRITTEN, SECRET, "Traceback") if word in text], text
    for file in (tmp_path / "store").rglob("*"):
        assert not file.is_file() or b"s3cret" not in file.read_bytes(), file


def terminal(*arguments: str) -> tuple[int, str]:
    """A command as it is typed: its exit code, and all it prints."""
    import sys

    done = subprocess.run(
        [sys.executable, "-m", "closedset_cli", *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def test_all_tables_are_of_one_moment(database: str, tmp_path: Path) -> None:
    """A writer adds an entity to two tables in one transaction, over and over: both or neither is read."""
    execute(
        database, *ROWS.format("t", "t").split(";"), "CREATE TABLE log (id text)", "INSERT INTO log SELECT id FROM t"
    )
    load_map = {"rows": [rows(looked_at={"listed": "log.id"})]}
    with pytest.raises(ClosedsetError):
        load(tmp_path, {"nothing.csv": "x\n"}, load_map)
    stop = threading.Event()

    def write() -> None:
        with dbapi.connect(database) as con, con.cursor() as cursor:
            number = 0
            while not stop.is_set():
                number += 1
                cursor.execute(f"INSERT INTO t VALUES ('n{number}', 'passed', 'x')")
                cursor.execute(f"INSERT INTO log VALUES ('n{number}')")
                con.commit()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(3):
            load_export(tmp_path / "store", tmp_path / "pack.yaml", [database], mapping=tmp_path / "export.map.yaml")
            assert sorted(row[0] or "" for row in kept(tmp_path)) == sorted(
                row[0] or "" for row in kept(tmp_path, "log")
            )
    finally:
        stop.set()
        writer.join()


@pytest.mark.parametrize(
    ("said", "fault"),
    [
        ({}, "table t: no file t among what was given: "),
        ({"table": "nowhere"}, "table t: no file t"),
        ({"path": "$[*]"}, "no file t"),
    ],
)
def test_a_table_that_is_not_on_the_server_is_refused(
    said: dict[str, str], fault: str, database: str, tmp_path: Path
) -> None:
    mapping = map_file(tmp_path, said)
    with pytest.raises(LoadRefused) as refusal:
        load_export(tmp_path / "store", tmp_path / "pack.yaml", [database], mapping=mapping)
    assert fault in str(refusal.value)
    assert "s3cret" not in str(refusal.value)
    with pytest.raises(closedset.StoreRefused):
        closedset.open(tmp_path / "store")


def test_many_rows_are_kept_whole_and_are_the_same_bytes_again(database: str, tmp_path: Path) -> None:
    many = "CREATE TABLE t AS SELECT 'e' || i AS id, 'passed' AS outcome, nullif(i % 7, 0)::text AS by "
    execute(database, f"{many} FROM generate_series(1, 70000) i")
    mapping = map_file(tmp_path, {})
    done = load_export(tmp_path / "store", tmp_path / "pack.yaml", [database], mapping=mapping)
    assert figures(done.catalog) == (70_000, 70_000, 0, 0)
    cells = kept(tmp_path)
    assert len({row[0] for row in cells}) == 70_000
    assert all(by == (str(int((id_ or "")[1:]) % 7) if int((id_ or "")[1:]) % 7 else None) for id_, _, by in cells)
    execute(
        database, "CREATE TABLE u AS SELECT * FROM t ORDER BY by DESC, id", "DROP TABLE t", "ALTER TABLE u RENAME TO t"
    )
    assert load_export(tmp_path / "store", tmp_path / "pack.yaml", [database], mapping=mapping).unchanged
