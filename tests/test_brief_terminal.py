"""A brief at the terminal, by processes that really run: marked phrases, a saved request, record, replay, eval."""
# ruff: noqa: E501 (a case or a printed line stands on one line)

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.messages_api import KEY, Answer, message, serving, tool_use

from closedset import load, pack
from closedset.brief import Said, compile_brief
from closedset.brief.record import Recorder
from closedset.brief.spend import Usage

ROOT = Path(__file__).parents[1]
BRIEF = "VP-level Sales leaders in DACH.\nFluent in German."
SAID: dict[str, Any] = {
    "constraints": [
        {
            "relation": "held_role",
            "slot": "seniority",
            "op": "gte",
            "value": "VP",
            "quote": "VP-level",
            "required": True,
        },
        {"relation": "held_role", "slot": "function", "op": "eq", "value": "Sales", "quote": "Sales leaders"},
        {"relation": "held_role", "slot": "geography", "op": "eq", "value": "DACH", "quote": "DACH"},
        {"relation": "screening", "slot": "kind", "op": "eq", "value": "compliance", "quote": "a compliance check"},
    ]
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("roster") / "store"
    load.load(path, "roster", sample=True)
    return path


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    file = tmp_path / "compiles.jsonl"

    def model(brief: str, tool: dict[str, Any]) -> Said:
        return Said((SAID,), "claude-haiku-5-5", Usage(900, 100, 0, 2600), "2026-11-30")

    compile_brief(pack.load("roster"), BRIEF, Recorder(model, file))
    return file


def run(*arguments: object, cwd: Path, **environment: str) -> "subprocess.CompletedProcess[str]":
    quiet = {k: v for k, v in os.environ.items() if not k.startswith(("ANTHROPIC_", "CLOSEDSET_"))}
    path = os.pathsep.join([str(ROOT / "engine"), str(ROOT / "cli")])
    return subprocess.run(
        [sys.executable, "-m", "closedset_cli", *map(str, arguments)],
        env={**quiet, "PYTHONPATH": path, "NO_PROXY": "127.0.0.1", **environment}, cwd=cwd, capture_output=True, text=True,
    )  # fmt: skip


def test_a_replayed_brief_is_printed_with_its_phrases_marked(store: Path, recorded: Path, tmp_path: Path) -> None:
    ran = run("search", store, "--brief", BRIEF, "--replay", recorded, cwd=tmp_path)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.startswith(
        "brief (3 conditions, 1 dropped, 1 not compiled)\n"
        "  [VP-level]0 [Sales leaders]1 in [DACH]2.\n"
        "  Fluent in German.\n"
        "  not compiled: Fluent in German.\n"
        '  dropped: {"relation": "screening", "slot": "kind", "op": "eq", "value": "compliance", "quote": "a compliance check"}\n'
        "    quote_not_in_brief. The brief does not say what it quotes: the constraint came from nowhere.\n"
        "  compiled by claude-haiku-5-5: 3500 tokens read (2600 from the cache), 100 written, "
        "0.000166 USD (list price since 2026-10-07, checked 2026-10-24)\n"
    )
    assert "licence withheld: narrowed\n  constraints_dropped: 1\n" in ran.stdout


def test_what_a_brief_became_is_saved_as_a_request_and_asked_again(store: Path, recorded: Path, tmp_path: Path) -> None:
    asked = ("search", store, "--brief", BRIEF, "--replay", recorded, "--format", "json", "--as-of", "2018-01")
    ran = run(*asked, "--save-request", "again.json", cwd=tmp_path)
    assert ran.returncode == 0
    assert ran.stderr == "closedset: saved as again.json; edit it, then ask again with: --request again.json\n"
    first = json.loads(ran.stdout)
    request = json.loads((tmp_path / "again.json").read_text())
    assert request == {"constraints": first["compiled"]["constraints"], "as_of": "2018-01"}
    again = json.loads(run("search", store, "--request", "again.json", "--format", "json", cwd=tmp_path).stdout)
    assert (again["counts"], again["entities"]) == (first["counts"], first["entities"])
    twice = run(*asked, "--save-request", "again.json", cwd=tmp_path)
    assert twice.returncode == 2
    assert "there is such a file already" in twice.stderr


def test_a_whole_set_of_a_brief_asks_the_model_once_and_records_it(store: Path, tmp_path: Path) -> None:
    asked = ("search", store, "--brief", BRIEF, "--set", "matched", "--format", "csv")
    with serving(lambda _: Answer(message(tool_use(SAID)))) as api:
        live = {"ANTHROPIC_BASE_URL": api.url, "ANTHROPIC_API_KEY": KEY}
        ran = run(*asked, "--record", "made.jsonl", cwd=tmp_path, **live)
    assert ran.returncode == 0, ran.stderr
    matched = [line.split(",")[0] for line in ran.stdout.splitlines()[1:]]
    assert matched == ["halvard_quist", "isolde_marbrook", "yusuf_alderane"]
    assert len(api.requests) == 1
    assert (api.faults, KEY in (tmp_path / "made.jsonl").read_text()) == ([], False)
    replayed = run(*asked, "--replay", "made.jsonl", cwd=tmp_path)
    assert (replayed.stdout, replayed.stderr) == (ran.stdout, ran.stderr)


def test_without_a_model_the_exit_code_is_its_own(store: Path, tmp_path: Path) -> None:
    ran = run("search", store, "--brief", BRIEF, cwd=tmp_path)
    assert (ran.returncode, ran.stdout) == (69, "")
    assert ran.stderr.startswith("closedset: unavailable: compile requires a model; pass constraints")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["-w", "screening.outcome = passed", "--replay", "x"], "--replay is for a brief, and none is asked"),
        (["-w", "screening.outcome = passed", "--save-request", "x"], "--save-request is for a brief"),
        (["--brief", "VPs", "--replay", "x", "--record", "y"], "--record beside --replay"),
    ],
)
def test_options_of_a_brief_that_do_not_go_together(store: Path, tmp_path: Path, options: list[str], says: str) -> None:
    ran = run("search", store, *options, cwd=tmp_path)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert says in ran.stderr


def test_eval_scores_a_replay(recorded: Path, tmp_path: Path) -> None:
    cases = tmp_path / "cases.yaml"
    cases.write_text(
        "pack: roster\ncases:\n"
        f"  - brief: {json.dumps(BRIEF)}\n    tags: [list]\n"
        "    gold:\n      - held_role.seniority gte VP | VP-level\n      - held_role.function eq Sales | Sales leaders\n"
        "      - held_role.geography eq DACH | DACH\n    leave: [Fluent in German.]\n"
    )
    ran = run("eval", cases, "--replay", recorded, cwd=tmp_path)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.startswith("exact 0 of 1\n\nby part of a constraint\n")
    assert "constraint         1.000   1.000" in ran.stdout
    assert "dropped rightly 1, wrongly 0" in ran.stdout
    said = json.loads(run("eval", cases, "--replay", recorded, "--format", "json", cwd=tmp_path).stdout)
    assert said["all"]["fields"]["constraint"] == {"precision": 1.0, "recall": 1.0}
    assert said["list"]["dropped"] == {"rightly": 1, "wrongly": 0}
    assert run("eval", tmp_path / "nothing.yaml", cwd=tmp_path).returncode == 2
