"""The terminal as a contract, held by real processes: streams, exit codes, formats, colour, hostile text, signals.

One file, though long: all its processes share one loaded store.
"""

import csv
import fcntl
import io
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import closedset
from closedset.errors import Broken, CompileUnavailable, LoadRefused, PackRefused, RequestRefused, StoreRefused
from closedset_cli import diagnostics, printable
from closedset_cli.diagnostics import ExitCode, PipeClosed, ReplyLost, UsageRefused

HERE = Path(__file__).parent
COMMAND = (sys.executable, "-m", "closedset_cli")
PASSED = ("-w", "screening.outcome = passed")
S1 = ("-w", "violation.risk_category = High Risk", "-w", "violation.date >= 2015-01", "-w", "violation.date <= 2015-12")
S1_REQUEST = {
    "constraints": [
        {"relation": "violation", "slot": "risk_category", "op": "eq", "value": "High Risk"},
        {"relation": "violation", "slot": "date", "op": "gte", "value": "2015-01"},
        {"relation": "violation", "slot": "date", "op": "lte", "value": "2015-12"},
    ]
}
ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
HOSTILE_ID = "e1\x1b[31m"
HOSTILE_NAME = "[bold red]Zoë[/]\u202egnp\x9b2J"
HOSTILE_NOTE = "two\nlines\x1b]0;title\x07[link=x]"

HOSTILE_PACK = """
pack: hostile
subject: person
axes:
  mood: {terms: [good, bad]}
relations:
  note: {slots: {text: text, mood: {term: mood}, size: number, seen: date}}
"""
HOSTILE_MAP = """
source: notes
rows:
  - relation: note
    from: notes
    entity: who
    name: name
    slots: {text: text, mood: mood, size: size, seen: seen}
    looked_at: {listed: asked.who}
"""


def environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    left_out = ("NO_COLOR", "FORCE_COLOR", "TERM", "COLUMNS", diagnostics.DEBUG, "TTY_COMPATIBLE", "TTY_INTERACTIVE")
    return {**{k: v for k, v in os.environ.items() if k not in left_out}, **(more or {})}


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str

    def json(self) -> Any:
        return json.loads(self.out)

    def csv(self) -> list[list[str]]:
        return list(csv.reader(io.StringIO(self.out)))


def run(*arguments: str, stdin: str = "", env: Mapping[str, str] | None = None) -> Done:
    done = subprocess.run(
        [*COMMAND, *arguments], input=stdin.encode(), capture_output=True, timeout=180, env=environment(env)
    )
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


#: What shows that something takes long: drawn with the cursor hidden, and wiped.
PROGRESS = re.compile(r"\x1b\[\?25l.*?\x1b\[\?25h(\r?\x1b\[\d*[AK])*", re.DOTALL)


def on_terminal(
    *arguments: str, columns: int = 400, env: Mapping[str, str] | None = None, progress: bool = False
) -> tuple[int, str]:
    """Run with stdin, stdout and stderr on a pseudo-terminal; give the exit code and everything it showed.

    What it did meanwhile is left out, but with `progress`: it shows only where the machine is slow.
    """
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    process = subprocess.Popen(
        [*COMMAND, *arguments], stdin=follower, stdout=follower, stderr=follower, close_fds=True,
        env=environment({"TERM": "xterm-256color", **(env or {})}),
    )  # fmt: skip
    os.close(follower)
    shown = b""
    while True:
        try:
            block = os.read(leader, 1 << 16)
        except OSError:
            break
        if not block:
            break
        shown += block
    os.close(leader)
    said = shown.decode()
    return process.wait(timeout=60), (said if progress else PROGRESS.sub("", said)).replace("\r\n", "\n")


@pytest.fixture(scope="module")
def roster(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("terminal") / "roster"
    assert run("load", str(path), "--pack", "roster", "--sample").code == 0
    return str(path)


@pytest.fixture(scope="module")
def food(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("terminal") / "food"
    assert run("load", str(path), "--pack", "sf_food", "--sample").code == 0
    return str(path)


@pytest.fixture(scope="module")
def hostile_export(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "pack.yaml").write_text(HOSTILE_PACK, encoding="utf-8")
    (folder / "map.yaml").write_text(HOSTILE_MAP, encoding="utf-8")
    data = folder / "data"
    data.mkdir()
    rows = [
        ["who", "name", "text", "mood", "size", "seen"],
        [HOSTILE_ID, HOSTILE_NAME, HOSTILE_NOTE, "good", "1", "2024-01"],
        ["e2", "", "plain", "\x1b[5mgrumpy", "\x1b[7m900€", "03/04/2020"],
        ["E2", "", "plain", "bad", "2", "2024"],
    ]
    with (data / "notes.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    (data / "asked.csv").write_text("who\ne2\nE2\nnobody\n", encoding="utf-8")
    (data / "left_over.csv").write_text("a\n1\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def hostile(hostile_export: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("terminal") / "hostile"
    done = run("load", str(path), "--pack", str(hostile_export / "pack.yaml"), str(hostile_export / "data"))
    assert done.code == 0, done.err
    return str(path)


def harmless(text: str) -> bool:
    return not any(printable._moves(c) for c in text if c != "\n")


# --- exit codes -------------------------------------------------------------------------------------------


def test_every_kind_of_end_has_its_exit_code() -> None:
    ends: list[tuple[BaseException, bool, ExitCode]] = [
        (RequestRefused("t", "no"), False, ExitCode.REFUSED),
        (PackRefused("no"), False, ExitCode.REFUSED),
        (LoadRefused("no"), False, ExitCode.REFUSED),
        (StoreRefused("no"), False, ExitCode.REFUSED),
        (UsageRefused("no"), False, ExitCode.REFUSED),
        (PermissionError(13, "Permission denied", "/x"), False, ExitCode.REFUSED),
        (CompileUnavailable(), False, ExitCode.UNAVAILABLE),
        (Broken("ours"), False, ExitCode.BROKEN),
        (ZeroDivisionError("x"), False, ExitCode.BROKEN),
        (KeyboardInterrupt(), False, ExitCode.INTERRUPTED),
        (Broken("query interrupted"), True, ExitCode.INTERRUPTED),
        (PipeClosed(), False, ExitCode.OK),
        (ReplyLost("no room"), False, ExitCode.UNWRITTEN),
    ]
    assert [(diagnostics.ended(e, i)[0], e) for e, i, _ in ends] == [(code, e) for e, _, code in ends]
    assert sorted(int(code) for code in ExitCode) == [0, 2, 3, 4, 69, 70, 74, 130]


REFUSED = [
    ((), "nothing is asked"),
    (("-w", "held_role.seniority > VP"), "write >="),
    (("-w", "held_role.seniority", ">=", "VP"), "quote a whole condition"),
    (("-w", "screening.as_of >= soon"), "is no date"),
    (("-w", "screening.outcome >= passed"), "no order"),
    ((*PASSED, "--as-of", "January"), "YYYY-MM"),
    ((*PASSED, "--limit", "0"), "limit"),
    ((*PASSED, "--limit", "many"), "--limit"),
    ((*PASSED, "--format", "xml"), "--format"),
    ((*PASSED, "--set", "all"), "--set"),
    ((*PASSED, "--set", "none", "--limit", "3"), "leave out --limit"),
    ((*PASSED, "--detail", "compact", "--format", "csv"), "leave out --detail"),
    ((*PASSED, "--request", "-"), "-w beside --request"),
    ((*PASSED, "--brief", "x"), "-w beside --brief"),
    (("--request", "/nowhere/at/all.json"), "/nowhere/at/all.json: No such file"),
]


@pytest.mark.parametrize(("arguments", "said"), REFUSED)
def test_a_refused_search_exits_2_and_says_the_fix_on_stderr_alone(
    roster: str, arguments: Sequence[str], said: str
) -> None:
    done = run("search", roster, *arguments)
    assert (done.code, done.out) == (ExitCode.REFUSED, "")
    assert said in done.err
    assert "Traceback" not in done.err
    assert done.err.startswith("closedset: refused: ")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("frobnicate",), "frobnicate"),
        (("search",), "STORE"),
        (("search", "/nowhere", *PASSED), "/nowhere: no store here"),
        (("schema", "/nowhere"), "/nowhere: no store here"),
        (("explain", "/nowhere", *PASSED), "/nowhere: no store here"),
        (("load", "/nowhere/x"), "--pack is missing"),
        (("load", "/nowhere/x", "--pack", "roster"), "nothing to load"),
        (("load", "/nowhere/x", "--pack", "nope", "--sample"), "nope: no such pack"),
        (("load", "/nowhere/x", "--pack", "roster", "/no/such/export"), "/no/such/export: no such file"),
    ],
)
def test_a_refused_command_names_the_value_and_the_place(arguments: Sequence[str], said: str) -> None:
    done = run(*arguments)
    assert (done.code, done.out) == (ExitCode.REFUSED, "")
    assert said in done.err


def test_a_brief_without_a_model_is_unavailable(roster: str) -> None:
    done = run("search", roster, "--brief", "VP-level Sales leaders in DACH")
    assert (done.code, done.out) == (ExitCode.UNAVAILABLE, "")
    assert "compile requires a model; pass constraints" in done.err


def test_a_broken_promise_is_one_line_and_a_traceback_only_when_asked(roster: str, tmp_path: Path) -> None:
    # A fault put into the engine for one process, by a start-up file of that process alone.
    (tmp_path / "sitecustomize.py").write_text(
        "import closedset.request\ndef fail(raw): raise ZeroDivisionError('boom\\nsecond line')\n"
        "closedset.request.parse = fail\n"
    )
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    done = run("search", roster, *PASSED, env={"PYTHONPATH": path})
    assert (done.code, done.out) == (ExitCode.BROKEN, "")
    assert len(done.err.splitlines()) == 1
    assert "please report" in done.err
    assert "boom" in done.err
    told = run("search", roster, *PASSED, env={"PYTHONPATH": path, diagnostics.DEBUG: "1"})
    assert told.code == ExitCode.BROKEN
    assert "Traceback" in told.err


# --- help and version -------------------------------------------------------------------------------------


def test_the_bare_command_is_its_help_and_every_command_explains_itself() -> None:
    bare = run()
    assert (bare.code, bare.err) == (0, "")
    assert bare.out == run("--help").out
    for name in ("demo", "init", "check", "load", "search", "schema", "vocab", "explain"):
        assert f"  {name} " in bare.out
        told = run(name, "--help")
        assert told.code == 0
        assert f"Usage: closedset {name}" in told.out


def test_version() -> None:
    assert run("--version") == Done(0, f"closedset {closedset.__version__}\n", "")


# --- search -----------------------------------------------------------------------------------------------


def test_the_json_reply_is_the_library_s_own(food: str) -> None:
    done = run("search", food, *S1, "--format", "json", "--limit", "2", "--list-limit", "3")
    with closedset.open(food) as store:
        reply = store.search({**S1_REQUEST, "limit": 2, "list_limit": 3}).model_dump(mode="json")
    said = done.json()
    del said["request_id"], reply["request_id"]
    assert (done.code, done.err) == (0, "")
    assert said == reply


def test_a_request_on_stdin_or_in_a_file_gives_the_same_reply_as_conditions(food: str, tmp_path: Path) -> None:
    file = tmp_path / "request.json"
    file.write_text(json.dumps(S1_REQUEST), encoding="utf-8-sig")
    typed = run("search", food, *S1, "--format", "jsonl", "--limit", "5")
    piped = run("search", food, "--request", "-", "--format", "jsonl", "--limit", "5", stdin=json.dumps(S1_REQUEST))
    filed = run("search", food, "--request", str(file), "--format", "jsonl", "--limit", "5")
    assert typed.code == 0
    assert typed.out == piped.out == filed.out
    assert len(typed.out.splitlines()) == 5


@pytest.mark.parametrize(
    ("request_text", "said"),
    [
        ("{", "not JSON"),
        ("[]", "a request is a JSON object"),
        ('{"limit": 1, "limit": 2}', "stands twice"),
        ('{"constraints": [], "limt": 3}', "`limit`"),
        ('{"constraints": [{"relation": "a", "slot": "b", "op": "eq", "valeu": 1}]}', "`value`"),
        ('{"constraints": [{"relation": "a", "slot": "b", "op": "eq", "value": NaN}]}', "finite"),
    ],
)
def test_a_request_that_makes_no_sense_is_refused(roster: str, request_text: str, said: str) -> None:
    done = run("search", roster, "--request", "-", stdin=request_text)
    assert (done.code, done.out) == (ExitCode.REFUSED, "")
    assert said in done.err


def test_a_key_may_not_be_stated_twice(roster: str) -> None:
    done = run("search", roster, "--request", "-", "--limit", "2", stdin=json.dumps({**S1_REQUEST, "limit": 3}))
    assert done.code == ExitCode.REFUSED
    assert "--limit beside `limit`" in done.err


def test_the_table_shows_sets_denominators_licence_gaps_matches_and_ends_with_showing(roster: str) -> None:
    done = run(
        "search", roster, *PASSED, "-w", "held_role.seniorty >= VP", "-w", "engagment.topic = x", "--limit", "1"
    )
    assert done.code == 0
    for line in (
        "universe 5",
        "2 of 5",
        "licence withheld: narrowed",
        "entities_not_recorded: 1",
        "cure: Load coverage for these entities, or their rows.",
        "outcome: passed is a term of axis outcome",
        "slot_unknown:seniorty",
        "relation_unknown:engagment",
        "screening.outcome = passed  passed  screenings.csv row 1 column outcome",
        "teodor_brask    none          0  looked at",
        "yusuf_alderane  not recorded  –  no coverage",
    ):
        assert line in done.out, line
    assert done.out.endswith("\nshowing 1 of 2\n")
    assert "did you mean seniority?" in done.err
    assert "did you mean engagement?" in done.err


def test_the_compact_table_ends_with_showing_too(food: str) -> None:
    done = run("search", food, *S1, "--detail", "compact", "--limit", "2", "--offset", "4")
    assert done.code == 0
    assert "996 of 7652" in done.out
    assert done.out.endswith("\nshowing 2 of 996 (5 to 6)\n")


def test_a_granted_licence_says_so(roster: str) -> None:
    done = run("search", roster, "-w", "held_role.seniority = VP")
    assert "licence granted: these 2 are all of them" in done.out


def test_a_page_is_never_shown_as_the_whole(food: str) -> None:
    done = run("search", food, "-w", "inspection.type = Inspection", "--limit", "40")
    assert "licence withheld: truncated" in done.out
    assert done.out.endswith("\nshowing 40 of 5944\n")


def test_preferences_come_after_conditions_and_remove_nobody(roster: str) -> None:
    preferred = ("--prefer", "screening.outcome = passed")
    done = run("search", roster, *preferred, "-w", "held_role.function = Sales", "--format", "json")
    reply = done.json()
    assert [c["constraint"]["required"] for c in reply["counts"]["per_constraint"]] == [True, False]
    assert [m["entity_id"] for m in reply["matches"]] == ["halvard_quist", "isolde_marbrook", "yusuf_alderane"]


def test_options_reach_the_request(roster: str) -> None:
    done = run(
        "search", roster, "-w", "held_role.seniority >= VP", "--as-of", "2020-01", "--entity-id", "isolde_marbrook",
        "--entity-id", "halvard_quist", "--format", "json",
    )  # fmt: skip
    reply = done.json()
    assert (reply["as_of"], [m["entity_id"] for m in reply["matches"]]) == ("2020-01", ["isolde_marbrook"])


# --- lines and whole sets ---------------------------------------------------------------------------------


def test_csv_is_one_line_a_match_with_its_sources(food: str) -> None:
    done = run("search", food, *S1, "--format", "csv", "--limit", "3")
    header, *rows = done.csv()
    asked = "violation.risk_category = High Risk"
    assert header[:5] == ["entity_id", "name", "rank", asked, f"{asked}: source"]
    assert len(header) == 3 + 2 * 3
    assert [row[2] for row in rows] == ["1", "2", "3"]
    assert all(row[4].startswith("violations.parquet row ") for row in rows)
    assert "showing 3 of 996" in done.err
    assert "licence withheld: entities_not_recorded" in done.err


def test_none_has_denominator_0_and_not_recorded_has_none_in_every_format(roster: str) -> None:
    asked = ("search", roster, *PASSED, "--absence", "--format")
    _, *rows = run(*asked, "csv").csv()
    assert [(r[2], r[3], r[4]) for r in rows] == [("teodor_brask", "none", "0"), ("yusuf_alderane", "not_recorded", "")]
    assert [r["denominator"] for r in run(*asked, "json").json()] == [0, None]
    assert [json.loads(line)["denominator"] for line in run(*asked, "jsonl").out.splitlines()] == [0, None]
    table = run(*asked, "table").out
    assert re.search(r"teodor_brask +none +0 ", table)
    assert re.search(r"yusuf_alderane +not recorded +– ", table)


@pytest.mark.parametrize("verdict", ["matched", "none", "not_recorded", "undetermined"])
def test_the_csv_of_a_whole_set_is_the_partition(food: str, verdict: str) -> None:
    done = run("search", food, *S1, "--set", verdict, "--format", "csv")
    with closedset.open(food) as store:
        rows = store.partition(S1_REQUEST).to_pylist()
    expected = [[r["entity_id"], r["verdict"]] for r in rows if r["verdict"] == verdict]
    assert done.code == 0
    assert done.csv() == [["entity_id", "verdict"], *expected]
    assert "licence withheld: entities_not_recorded" in done.err


def test_a_whole_set_is_the_same_in_every_format(food: str) -> None:
    asked = ("search", food, *S1, "--set", "not_recorded", "--format")
    ids = [row[0] for row in run(*asked, "csv").csv()[1:]]
    whole = run(*asked, "json").json()
    assert len(ids) == 1708
    assert (whole["set"], whole["total"], whole["universe"], whole["entity_ids"]) == ("not_recorded", 1708, 7652, ids)
    assert whole["licence"] == {"granted": False, "narrowed_by": ["entities_not_recorded"]}
    assert [json.loads(line)["entity_id"] for line in run(*asked, "jsonl").out.splitlines()] == ids
    table = run(*asked, "table").out
    assert table.splitlines()[:1708] == ids
    assert table.endswith("showing 1708 of 1708\n")


# --- load, schema, explain --------------------------------------------------------------------------------


def test_a_load_reports_figures_that_add_up_and_a_second_one_changes_nothing(tmp_path: Path) -> None:
    store = str(tmp_path / "food")
    first = run("load", store, "--pack", "sf_food", "--sample", "--format", "json")
    report = first.json()
    assert (first.code, first.err, report["unchanged"]) == (0, "", False)
    for entry in report["entries"]:
        assert entry["read"] == entry["loaded"] + entry["withheld"] + entry["unattributed"]
    again = run("load", store, "--pack", "sf_food", "--sample")
    assert again.code == 0
    assert "unchanged" in again.out
    assert "listed: inspected.business_id (5944)" in again.out
    assert run("load", store, "--pack", "sf_food", "--sample", "--format", "json").json()["unchanged"] is True


def test_a_load_names_what_it_could_not_read_and_what_it_left_aside(hostile_export: Path, tmp_path: Path) -> None:
    pack, data = str(hostile_export / "pack.yaml"), str(hostile_export / "data")
    done = run("load", str(tmp_path / "store"), "--pack", pack, "--map", str(hostile_export / "map.yaml"), data)
    assert done.code == 0, done.err
    assert harmless(done.out)
    unread = ("note.size unreadable", "900€", "note.seen unreadable: '03/04/2020' in 1", "note.mood on no term")
    for line in (*unread, "left_over.csv"):
        assert line in done.out, line
    assert re.search(r"'E2', 'e2'", done.out)


def test_a_load_that_lost_rows_is_refused_until_accepted(hostile_export: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    for name in ("notes", "asked"):
        (data / f"{name}.csv").write_text("who,name,text,mood,size,seen\n" + "".join(f"e{i},,,,,\n" for i in range(10)))
    asked = ("load", str(tmp_path / "store"), "--pack", str(hostile_export / "pack.yaml"), str(data))
    assert run(*asked).code == 0
    (data / "notes.csv").write_text("who,name,text,mood,size,seen\ne1,,,,,\n")
    refused = run(*asked)
    assert refused.code == ExitCode.REFUSED
    assert "--accept-shrink" in refused.err
    assert run(*asked, "--accept-shrink").code == 0


def test_the_schema_says_what_may_be_asked_and_what_is_covered(roster: str) -> None:
    told = run("schema", roster)
    assert told.code == 0
    for line in (
        "IC < Manager < Director < VP < SVP < C-level",
        "DACH > Germany, Austria, Switzerland",
        "screening: 3 rows; looked at 4 of 5",
        "no load fills this relation",
        "no vocabulary: reported as a gap",
        "number USD",
    ):
        assert line in told.out, line
    schema = run("schema", roster, "--format", "json").json()
    assert schema["relations"]["screening"]["covered"] == 4
    assert schema["relations"]["held_role"]["slots"]["period_to"]["columns"] == ["roles.ended_on"]
    assert schema["relations"]["held_role"]["slots"]["seniority"]["operators"] == ["=", "!=", "in", ">=", "<="]
    assert [t["term"] for t in schema["axes"]["seniority"]["terms"]][:2] == ["IC", "Manager"]
    assert schema["axes"]["title"] is None


def test_explain_shows_each_step_with_its_sentence_sql_and_values(food: str) -> None:
    told = run("explain", food, *S1)
    steps = run("explain", food, *S1, "--format", "json").json()
    assert told.code == 0
    scan = next(s for s in steps if s["name"] == "search/satisfied")
    assert "risk_category" in scan["sentence"]
    assert scan["sql"].count("SELECT") >= 2
    for step in steps:
        assert {"step", "name", "sentence", "grain", "rows", "values", "sets", "sql"} == set(step)
        assert f"{step['step']}. {step['name']}\n" in told.out
        assert step["sentence"] in told.out
    assert "2015-01-01 (date)" in told.out


# --- the terminal itself ----------------------------------------------------------------------------------


def test_colour_appears_on_a_terminal_and_nowhere_else(roster: str) -> None:
    asked = ("search", roster, *PASSED)
    piped = run(*asked, env={"TERM": "xterm-256color", "FORCE_COLOR": "1"})
    code, shown = on_terminal(*asked)
    assert "\x1b" not in piped.out
    assert code == 0
    assert "\x1b[" in shown
    assert ANSI.sub("", shown) == piped.out
    for silenced in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        assert on_terminal(*asked, env=silenced) == (0, piped.out)


def test_nothing_is_cut_where_the_terminal_is_narrow(roster: str) -> None:
    asked = ("search", roster, *PASSED, "--as-of", "2024-01")
    _, shown = on_terminal(*asked, columns=50)
    assert ANSI.sub("", shown).split() == run(*asked).out.split()
    assert "…" not in shown


SLOW_MAP = """
source: notes
tables:
  slow: SELECT a.who FROM notes AS a, notes AS b WHERE md5(a.who || b.who) = 'none'
rows:
  - {relation: note, from: notes, entity: who, slots: {text: text}, looked_at: {listed: slow.who}}
"""


def slow_export(folder: Path, rows: int) -> Sequence[str]:
    """The command line of a load whose map joins a table with itself: rows times rows hashes."""
    folder.mkdir(exist_ok=True)
    (folder / "pack.yaml").write_text(HOSTILE_PACK, encoding="utf-8")
    (folder / "map.yaml").write_text(SLOW_MAP, encoding="utf-8")
    (folder / "notes.csv").write_text("who,text\n" + "".join(f"w{i},t\n" for i in range(rows)), encoding="utf-8")
    return "load", str(folder / "s"), "--pack", str(folder / "pack.yaml"), str(folder)


def test_progress_is_shown_only_to_a_person_and_only_of_what_takes_a_second(tmp_path: Path) -> None:
    code, shown = on_terminal(*slow_export(tmp_path, 5000), progress=True)
    assert code == 0
    assert re.search(r"loading .*, table slow: its SELECT, (\d+%, )?\d+ s", ANSI.sub("", shown))
    quiet = run(*slow_export(tmp_path / "again", 5000))
    assert (quiet.code, quiet.err) == (0, "")
    assert "loading" not in quiet.out
    assert "loading" not in on_terminal(*slow_export(tmp_path, 5000))[1]


def test_ctrl_c_in_the_middle_of_a_load_leaves_the_store_as_it_was(tmp_path: Path) -> None:
    store = tmp_path / "s"
    assert run(*slow_export(tmp_path, 10)).code == 0
    before = {f.relative_to(store): f.stat().st_size for f in store.rglob("*") if f.is_file()}
    process = subprocess.Popen(
        [*COMMAND, *slow_export(tmp_path, 60_000)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(),
    )  # fmt: skip
    while not (store / "generations" / "2.duckdb").exists():
        assert process.poll() is None
        time.sleep(0.05)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (ExitCode.INTERRUPTED, b"", b"")
    assert {f.relative_to(store): f.stat().st_size for f in store.rglob("*") if f.is_file()} == before
    assert run("loads", str(store)).out.count("\n") == 2


@pytest.mark.parametrize("output", ["table", "json", "jsonl"])
def test_hostile_text_never_reaches_the_terminal_raw(hostile: str, output: str) -> None:
    done = run("search", hostile, "-w", "note.mood = good", "-w", f"note.text = {HOSTILE_NOTE}", "--format", output)
    assert done.code == 0, done.err
    assert harmless(done.out)
    assert harmless(done.err)
    if output == "table":
        assert "[bold red]Zoë[/]\\u202egnp\\x9b2J" in done.out
        assert "e1\\x1b[31m" in done.out
        assert "two\\nlines\\x1b]0;title\\x07[link=x]" in done.out
    else:
        said = done.json() if output == "json" else {"matches": [json.loads(done.out)]}
        assert [(m["entity_id"], m["name"]) for m in said["matches"]] == [(HOSTILE_ID, HOSTILE_NAME)]


def test_hostile_text_is_harmless_in_colour_and_in_every_other_command(hostile: str) -> None:
    _, shown = on_terminal("search", hostile, "-w", "note.mood = good")
    assert harmless(ANSI.sub("", shown))
    assert "[bold red]Zoë[/]" in ANSI.sub("", shown)
    asked = f"note.{HOSTILE_ID} = \x1b[2J"
    for arguments in (
        ("schema", hostile), ("explain", hostile, "-w", "note.text = \x1b[2Jx"), ("search", hostile, "-w", asked),
        ("search", hostile, "-w", "note.mood = good", "--set", "matched"),
        ("search", hostile, "-w", "note.mood \x1b[2J x"),
        ("search", hostile, "-w", "note.mood = \x1b[2J"), ("load", "\x1b[2J", "--pack", "\x1b[2J", "x"),
    ):  # fmt: skip
        done = run(*arguments)
        assert done.code in (0, 2), done.err
        assert harmless(done.out), arguments
        assert harmless(done.err), arguments


def test_csv_keeps_the_very_bytes_of_an_id(hostile: str) -> None:
    done = run("search", hostile, "-w", "note.mood = good", "--set", "matched", "--format", "csv")
    assert done.csv()[1:] == [[HOSTILE_ID, "matched"]]


def test_the_reply_is_utf_8_whatever_the_locale_says(roster: str) -> None:
    asked = ("search", roster, "-w", "held_role.seniority >= VP")
    plain = run(*asked)
    odd = run(*asked, env={"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"})
    assert "≥" in plain.out
    assert (odd.code, odd.out) == (plain.code, plain.out)


# --- signals and pipes ------------------------------------------------------------------------------------


@pytest.mark.parametrize("output", ["table", "csv", "json", "jsonl"])
def test_a_closed_pipe_ends_quietly(food: str, output: str) -> None:
    asked = ("search", food, *S1, "--set", "none", "--format", output)
    process = subprocess.Popen([*COMMAND, *asked], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    err = process.stderr.read().decode()
    assert process.wait(timeout=120) == 0
    assert "Traceback" not in err
    assert "Broken" not in err


def test_ctrl_c_exits_130_without_a_traceback(roster: str, tmp_path: Path) -> None:
    fifo = tmp_path / "request.json"
    os.mkfifo(fifo)
    process = subprocess.Popen(
        [*COMMAND, "search", roster, "--request", str(fifo)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(),
    )  # fmt: skip
    with fifo.open("wb"):  # opens once the command is reading: it waits for a request that never comes
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == ExitCode.INTERRUPTED
    assert (out, err) == (b"", b"")


def test_ctrl_c_ends_a_statement_that_does_not_listen(roster: str) -> None:
    endless = """
import sys
import closedset.search
from closedset_cli.main import main

def search(generation, *_):
    print("running", file=sys.stderr, flush=True)
    endless = "SELECT count(*) FROM range(1000000000) a, range(1000) b WHERE a.range % 7 = b.range % 5"
    generation.cursor().sql(endless).to_arrow_table()

closedset.search.search = search
sys.exit(main(sys.argv[1:]))
"""
    process = subprocess.Popen(
        [sys.executable, "-c", endless, "search", roster, *PASSED],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(),
    )  # fmt: skip
    assert process.stderr is not None
    assert process.stderr.readline() == b"running\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (ExitCode.INTERRUPTED, b"", b"")


# --- the demo ---------------------------------------------------------------------------------------------


def test_the_demo_shows_what_it_always_showed_and_leaves_nothing_behind(tmp_path: Path) -> None:
    """The golden is rewritten with CLOSEDSET_REWRITE=1 and read as a diff."""
    golden = HERE / "cases" / "demo.txt"
    done = run("demo", env={"TMPDIR": str(tmp_path)})
    assert (done.code, done.err) == (0, "")
    assert not list(tmp_path.iterdir())
    if os.environ.get("CLOSEDSET_REWRITE"):
        golden.write_text(done.out, encoding="utf-8")
    assert done.out == golden.read_text(encoding="utf-8")


def test_what_the_demo_tells_a_user_to_type_gives_what_it_shows(tmp_path: Path) -> None:
    import shlex

    text = (HERE / "cases" / "demo.txt").read_text(encoding="utf-8")
    typed = [shlex.split(line) for line in text.splitlines() if line.startswith("  closedset ")]
    outputs = []
    for _, *arguments in typed:
        store = str(tmp_path / arguments[1])
        done = run(arguments[0], store, *arguments[2:])
        assert done.code == 0, done.err
        outputs.append(done.out)
    assert outputs[2].rstrip() in text
