"""The documentation in the code held to the truth: every public thing says what it is, every example runs."""

import ast
import doctest
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ENGINE = sorted((ROOT / "engine" / "closedset").rglob("*.py"))
FILES = [*ENGINE, *sorted((ROOT / "cli" / "closedset_cli").rglob("*.py"))]
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def module(file: Path) -> str:
    parts = file.relative_to(ROOT).with_suffix("").parts[1:]
    return ".".join(part for part in parts if part != "__init__")


def undocumented(file: Path) -> list[str]:
    """The public functions and classes of a file without a docstring, and the file itself."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    public = [node for node in tree.body if isinstance(node, kinds) and not node.name.startswith("_")]
    names = [node.name for node in public if not ast.get_docstring(node)]
    return names if ast.get_docstring(tree) else [*names, file.name]


@pytest.mark.parametrize("file", ENGINE, ids=module)
def test_every_public_function_and_class_says_what_it_is(file: Path) -> None:
    assert undocumented(file) == []


@pytest.mark.parametrize("file", [f for f in FILES if ">>>" in f.read_text(encoding="utf-8")], ids=module)
def test_every_example_in_a_docstring_runs(file: Path) -> None:
    assert doctest.testmod(importlib.import_module(module(file))).failed == 0


def test_the_examples_are_found() -> None:
    found = doctest.DocTestFinder().find(importlib.import_module("closedset.decimals"))
    assert sum(len(test.examples) for test in found) >= 2


def test_every_file_and_folder_that_contributing_names_exists() -> None:
    named = {name for name in re.findall(r"`([^`\n]+)`", CONTRIBUTING) if re.fullmatch(r"[\w./]+", name)}
    files = {n for n in named if "/" in n or n.endswith((".py", ".yaml", ".toml", ".j2"))}
    files = {n for n in files if "NAME" not in n}
    assert len(files) > 15
    folders = ("", "engine/closedset/", "packs/*/")
    assert [n for n in sorted(files) if not any(list(ROOT.glob(folder + n)) for folder in folders)] == []


def test_every_name_in_the_code_that_contributing_names_exists() -> None:
    for name in ("request.Constraint", "constraint.WORDS", "mapping.Cell"):
        assert f"`{name}" in CONTRIBUTING
        place, attribute = name.split(".")
        assert hasattr(importlib.import_module(f"closedset.{place}"), attribute)
