"""The README held to the truth: its commands run, its files load, its tables are what the code says."""

import doctest
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from typer.core import TyperGroup, TyperOption
from typer.main import get_command

import closedset
from closedset import load, pack, reasons
from closedset.brief import Said, compile_brief
from closedset.brief.record import Recorder
from closedset.brief.spend import Usage
from closedset.mapping import Cell, Map
from closedset.pack import Axis, Pack, Relation
from closedset.reply_compact import CompactReply
from closedset.reply_full import FullReply
from closedset.request import Constraint, Request
from closedset.table_files import TableFiles
from closedset_cli import condition, main, words
from closedset_cli.diagnostics import DEBUG, ExitCode

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: What a command may be called in the README.
CALLED = ("uv run closedset", "closedset")
BRIEF = "Find VP-level Sales leaders in DACH. Fluent in German."
OWN = ("certificate.standard = ISO 9001", "listing.country = DACH")
MEANS = {
    ExitCode.OK: "answered, gaps included",
    ExitCode.REFUSED: "refused: what was asked or given makes no sense; stderr names the place and the fix",
    ExitCode.DIFFERS: "`verify` found something not as it was, or a `receipt` a cell that answers do not rest on",
    ExitCode.LOSSY: "`check` found that a load would lose rows or cells; the report names them",
    ExitCode.UNAVAILABLE: "unavailable: a brief, and no model to read it",
    ExitCode.BROKEN: f"broken: a fault of closedset ({DEBUG}=1 shows where)",
    ExitCode.UNWRITTEN: "the reply could not be written (a full disk, say); what the command was to do took place",
    ExitCode.INTERRUPTED: "interrupted with Ctrl-C",
}


# --- the tables that the code gives -----------------------------------------------------------------------


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    cells = [head, tuple("---" for _ in head), *rows]
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in cells]
    return "\n".join(lines).replace("| ---", "|---").replace("--- |", "---|")


def said(text: str, of: str) -> str:
    """A reason's sentence with its blanks as a reader may see them."""
    return text.replace("{subject}", f"`<{of}>`").replace("{count}", "*n*").replace("{detail}", "…")


def reason_rows(listed: tuple[reasons.Reason, ...]) -> list[tuple[str, ...]]:
    return [
        (
            f"`{r.code}{f':<{r.of}>' if r.of else ''}`",
            said(r.sentence, r.of),
            f"{r.counts}" if r.counts else "–",
            said(r.cure, r.of),
        )
        for r in listed
    ]


def code_rows(meanings: dict[str, str]) -> list[tuple[str, ...]]:
    return [(f"`{code}`", meaning) for code, meaning in meanings.items()]


def tables() -> dict[str, str]:
    """Every part of the README that is written by the code, by name."""
    means = ("code", "means")
    return {
        "SETS": "\n".join(table(("", ""), [(words.name(s), m) for s, m in words.SETS.items()]).split("\n")[2:]),
        "LICENCE": table(("code", "means", "counts", "cure"), reason_rows(reasons.LICENCE)),
        "TRUNCATED": f"| `{reasons.TRUNCATED}` | {said(reasons.TRUNCATED_REASON.sentence, '')} | "
        f"{said(reasons.TRUNCATED_REASON.cure, '')} |",
        "UNBOUND": table(means, code_rows(reasons.UNBOUND)),
        "NOTHING": table(means, code_rows(reasons.NOTHING_RAN)),
        "DROPPED": table(means, code_rows(reasons.DROPPED)),
        "EXITS": table(means, [(f"{int(code)}", MEANS[code]) for code in ExitCode]),
        "COMMANDS": "\n\n".join(command_section(name) for name in main.COMMANDS),
    }


def command_section(name: str) -> str:
    """A command as `--help` says it, or each command of a group."""
    group = get_command(main.app())
    assert isinstance(group, TyperGroup)
    command = group.commands[name]
    if isinstance(command, TyperGroup):
        return "\n\n".join(one_section(f"{name} {inner}", one) for inner, one in command.commands.items())
    return one_section(name, command)


def one_section(name: str, command: Any) -> str:
    """One command's sentence, its arguments and its options."""
    paragraphs = [" ".join(p.split()) for p in (command.help or "").split("\n\n")]
    rows: list[tuple[str, ...]] = []
    arguments = ""
    for one in command.params:
        text = getattr(one, "help", None) or ""
        if not isinstance(one, TyperOption):
            arguments += f" {one.metavar}" if one.required else f" [{one.metavar}]"
            arguments += "..." if one.nargs != 1 else ""
            rows.append((f"`{one.metavar}`", text))
        elif one.name != "help":
            rows.append((f"`{', '.join(one.opts)}{value(one)}`", text))
    head = f"### `closedset {name}{arguments}`\n\n" + "\n\n".join(paragraphs)
    return f"{head}\n\n{table(('argument', 'says'), rows)}" if rows else head


def value(option: TyperOption) -> str:
    if option.is_flag:
        return ""
    if option.metavar:
        return f" {option.metavar}"
    choices = option.type_descriptor.choices
    assert choices
    return " " + "|".join(str(getattr(choice, "value", choice)) for choice in choices)


@pytest.mark.parametrize("name", ["SETS", "LICENCE", "TRUNCATED", "UNBOUND", "NOTHING", "DROPPED", "EXITS"])
def test_a_table_of_codes_is_what_the_code_says(name: str) -> None:
    assert tables()[name] in README


@pytest.mark.parametrize("name", main.COMMANDS)
def test_every_command_and_option_stands_there_as_help_says_it(name: str) -> None:
    assert command_section(name) in README


def keys(heading: str, column: str = "key") -> list[str]:
    """The names in the first column of the table that follows a sentence."""
    after = README[README.index(heading) :]
    rows = after[after.index(f"| {column} |") :].split("\n\n")[0].splitlines()[2:]
    return [name for row in rows for name in re.findall(r"`([^`]+)`", row.split(" | ")[0])]


@pytest.mark.parametrize(
    ("heading", "fields"),
    [
        ("takes the request as", list(Request.model_fields)),
        ("The full reply (`--format", list(FullReply.model_json_schema()["properties"])),
        ("The compact reply (", list(CompactReply.model_json_schema()["properties"])),
        ("## The map", list(Map.model_fields)),
        ("A slot is filled by", list(Cell.model_fields)),
        ("The files of a table are", list(TableFiles.model_fields)),
        (
            "## The pack",
            [
                *(k for k in Pack.model_fields if k not in ("axes", "relations")),
                *(f"relations.NAME.{k}" for k in Relation.model_fields),
                *(f"axes.NAME.{k}" for k in Axis.model_fields),
            ],
        ),
    ],
)
def test_a_table_of_keys_holds_exactly_the_keys_there_are(heading: str, fields: list[str]) -> None:
    assert sorted(keys(heading)) == sorted(fields)


def test_every_key_of_a_constraint_is_named() -> None:
    row = next(line for line in README.splitlines() if line.startswith("| `constraints` |"))
    assert all(f"`{key}`" in row for key in Constraint.model_fields)


def test_every_typed_condition_is_one_and_every_operator_is_shown() -> None:
    typed = keys("## Conditions", "typed")
    assert {condition.read(text, required=True)["op"] for text in typed} == {"eq", "ne", "in", "gte", "lte"}
    section = README[README.index("## Conditions") : README.index("## The request")]
    assert all(op in section for op in condition.OPERATORS)
    known = pack.load("roster")
    for text in typed:
        asked = condition.read(text, required=True)
        assert known.relations[asked["relation"]].slot(asked["slot"])


def test_every_exception_to_catch_is_named() -> None:
    named = set(closedset.__all__) - {"load", "open", "pack"}
    assert all(f"closedset.{name}" in README or f"`{name}`" in README for name in named)


def test_every_link_leads_somewhere() -> None:
    anchors = {re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-") for h in re.findall(r"^#+ (.+)$", README, re.M)}
    for target in re.findall(r"\]\(([^)]+)\)", README):
        assert target[1:] in anchors if target.startswith("#") else (ROOT / target).exists(), target


def test_every_bundled_pack_is_listed() -> None:
    assert sorted(keys("## Bundled packs", "pack")) == pack.bundled()


# --- the commands that really run -------------------------------------------------------------------------


def lay(readme: str, folder: Path) -> None:
    """Write the files that the README asks its reader to paste, and the compile that it says was recorded."""
    for name, text in re.findall(r"^`(\S+)`\n\n```\w+\n(.*?)^```$", readme, re.MULTILINE | re.DOTALL):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    said = [
        {"relation": "held_role", "slot": slot, "op": op, "value": value, "quote": quote, "required": True}
        for slot, op, value, quote in (
            ("seniority", "gte", "VP", "VP-level"),
            ("function", "eq", "Sales", "Sales leaders"),
            ("geography", "eq", "DACH", "DACH"),
        )
    ]

    def model(brief: str, tool: dict[str, Any]) -> Said:
        return Said(({"constraints": said},), "claude-haiku-5-5", Usage(900, 100, 0, 2600), "2026-11-30")

    compile_brief(pack.load("roster"), BRIEF, Recorder(model, folder / "compiles.jsonl"))


def run(command: str, folder: Path) -> str:
    """What a command of the README prints in a folder, stdout and then stderr. It ends as the README says."""
    name = next((c for c in CALLED if command.startswith(f"{c} ")), None)
    assert name, f"no command of closedset: {command}"
    path = os.pathsep.join([str(ROOT / "engine"), str(ROOT / "cli")])
    quiet = {k: v for k, v in os.environ.items() if not k.startswith(("ANTHROPIC_", "CLOSEDSET_"))}
    done = subprocess.run(
        [sys.executable, "-m", "closedset_cli", *shlex.split(command[len(name) :])],
        cwd=folder, env={**quiet, "PYTHONPATH": path}, capture_output=True, text=True, encoding="utf-8", timeout=120,
    )  # fmt: skip
    ends = {"closedset: refused: ": ExitCode.REFUSED, "closedset: unavailable: ": ExitCode.UNAVAILABLE}
    lossy = " check " in command and "would load, with" in done.stdout
    found = ExitCode.LOSSY if lossy else ExitCode.OK
    expected = next((code for said, code in ends.items() if done.stderr.startswith(said)), found)
    assert done.returncode == expected, done.stderr
    return done.stdout + done.stderr


def sessions() -> list[tuple[str, str]]:
    """Every command of the README with what it prints there, in order."""
    found = []
    for kind, text in FENCE.findall(README):
        if kind != "console":
            continue
        assert text.startswith("$ "), text
        for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
            command, _, printed = re.sub(r" \\\n +", " ", part).partition("\n")
            found.append((command, printed))
    return found


def as_pattern(printed: str) -> str:
    """A line that is `…` alone stands for any lines, one inside a line for any part of it."""
    lines = [re.escape(line).replace("…", ".*") if line != "…" else r"(?s:.*?)" for line in printed.splitlines()]
    return "\n".join(lines)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a reader sits: the pasted files, and whatever the commands so far have made."""
    place = tmp_path_factory.mktemp("reader")
    lay(README, place)
    return place


@pytest.fixture(scope="module")
def printed(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What each command prints, all run in the README's order; once, however many processes run the tests."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    kept = shared / "readme-printed.json"
    with FileLock(shared / "readme-printed.lock"):
        if not kept.exists():
            kept.write_text(json.dumps([run(command, folder) for command, _ in sessions()]), encoding="utf-8")
        said: list[str] = json.loads(kept.read_text(encoding="utf-8"))
    return said


@pytest.mark.parametrize("place", range(len(sessions())), ids=lambda i: sessions()[i][0][:60])
def test_a_command_prints_what_the_readme_prints(place: int, printed: list[str]) -> None:
    command, expected = sessions()[place]
    got = printed[place].rstrip("\n")
    if not re.fullmatch(as_pattern(expected), got):
        assert got == expected.rstrip("\n"), command


def test_what_is_left_out_is_little() -> None:
    """A block that says nothing would match anything."""
    for command, expected in sessions():
        assert expected.strip("…\n"), command


def blocks(kind: str) -> Iterator[str]:
    return (text for k, text in FENCE.findall(README) if k == kind)


def test_the_python_session_runs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    for name in [n for n in os.environ if n.startswith(("ANTHROPIC_", "CLOSEDSET_"))]:
        monkeypatch.delenv(name)
    session = doctest.DocTestParser().get_doctest("\n".join(blocks("pycon")), {}, "README", "README.md", 0)
    assert len(session.examples) > 10
    told: list[str] = []
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    doctest.DocTestRunner(optionflags=flags, verbose=False).run(session, out=told.append)
    assert "".join(told) == ""


def test_the_json_request_is_one() -> None:
    for text in blocks("json"):
        Request.model_validate_json(text)


def test_what_the_readme_says_would_cure_the_own_export_cures_it(tmp_path: Path) -> None:
    lay(README, tmp_path)
    certs = tmp_path / "certs"
    for name, former, latter in (
        ("pack.yaml", "ISO 9001: [ISO9001:2015]", "ISO 9001: [ISO9001:2015, QMS 9001]"),
        (
            "suppliers.csv",
            "S-103,Brightwater Foundry,Deutschland,,",
            "S-103,Brightwater Foundry,Deutschland,2025-06-01,",
        ),
        ("certificates.csv", "S-105", "S-103,ISO 9001,01.02.2025,31.01.2028\nS-105"),
    ):
        text = (certs / name).read_text(encoding="utf-8")
        assert text.count(former) == 1
        (certs / name).write_text(text.replace(former, latter), encoding="utf-8")
    load.load(tmp_path / "store", certs / "pack.yaml", [certs])
    asked = [condition.read(text, required=True) for text in OWN]
    with closedset.open(tmp_path / "store") as store:
        reply = store.search({"constraints": asked, "as_of": "2025-06"})
    assert isinstance(reply, FullReply)
    assert reply.licence.granted
    assert sorted(reply.entities.matched) == ["S-101", "S-103", "S-105"]
    assert all(f"-w '{text}'" in README for text in OWN)
