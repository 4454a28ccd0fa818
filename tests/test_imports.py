"""A command imports what it needs and no more: waiting for a help text is waiting for nothing."""

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {"duckdb", "polars", "pyarrow", "pydantic", "rich", "jinja2", "minijinja", "yaml", "sqlglot"}
ASKED = ["-w", "screening.outcome = passed"]


def modules(code: str) -> set[str]:
    """The top-level modules a fresh interpreter holds after running some code."""
    code += "\nimport sys; print(*{m.split('.')[0] for m in sys.modules}, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    return set(done.stderr.splitlines()[-1].split())


def command(*arguments: str) -> set[str]:
    return modules(f"from closedset_cli.main import main\nassert main({list(arguments)!r}) == 0")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    from closedset.load import load

    path: Path = tmp_path_factory.mktemp("imports") / "roster"
    load(path, "roster", sample=True)
    return str(path)


def test_import_closedset_is_light() -> None:
    assert not modules("import closedset") & HEAVY


@pytest.mark.parametrize("arguments", [(), ("--help",), ("--version",)])
def test_help_and_version_import_nothing_heavy(arguments: tuple[str, ...]) -> None:
    assert not command(*arguments) & HEAVY


@pytest.mark.parametrize("name", ["demo", "load", "search", "schema", "vocab", "explain", "init", "check"])
def test_the_help_of_a_command_imports_nothing_heavy(name: str) -> None:
    # The option parser itself builds its converters with pydantic.
    assert not command(name, "--help") & (HEAVY - {"pydantic"})


@pytest.mark.parametrize("output", ["table", "json", "jsonl", "csv"])
def test_a_search_imports_neither_polars_nor_rich(store: str, output: str) -> None:
    held = command("search", store, *ASKED, "--format", output)
    assert "duckdb" in held
    assert not held & {"polars", "rich", "sqlglot", "yaml", "asyncio"}


def test_a_whole_set_imports_neither_polars_nor_rich(store: str) -> None:
    assert not command("search", store, *ASKED, "--set", "none", "--format", "csv") & {"polars", "rich", "sqlglot"}
