"""SQL text from the templates in `sql/`: values never reach the text, only identifiers, quoted.

Every template starts with a header comment that is its contract: what it does, `grain`, `reads`, `columns`,
`parameters`, and `bound` where values are bound. A parameter that is used but not declared, or declared but
not used, is refused.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from minijinja import Environment, TemplateError

from closedset.errors import Broken
from closedset.pack import data_folder

KEYS = ("grain", "reads", "columns", "parameters")
BOUND = "bound"
_HEADER = re.compile(r"\A((?:--[^\n]*\n)+)")


def quoted(name: str | Sequence[str]) -> str:
    """An identifier as SQL writes it; several parts are a name inside a database."""
    parts = [name] if isinstance(name, str) else name
    return ".".join('"' + part.replace('"', '""') + '"' for part in parts)


@lru_cache
def _environment() -> Environment:
    environment = Environment(
        loader=_source,
        undefined_behavior="strict",
        auto_escape_callback=lambda _: False,
        trim_blocks=True,
        lstrip_blocks=True,
        reload_before_render=False,
    )
    environment.add_filter("id", quoted)
    return environment


def _source(name: str) -> str | None:
    file = data_folder("sql") / name
    return file.read_text(encoding="utf-8") if file.is_file() else None


@lru_cache
def header(name: str) -> dict[str, str]:
    """A template's contract: `does` and the four keys. Refuses (Broken) a header that lacks one of them."""
    text = _source(name)
    if text is None:
        raise Broken(f"sql/{name}: no such template")
    match = _HEADER.match(text)
    lines = [line[2:].strip() for line in match[1].splitlines()] if match else []
    contract: dict[str, str] = {}
    key = "does"
    for line in lines:
        word, colon, rest = line.partition(":")
        if colon and word in (*KEYS, BOUND):
            key, line = word, rest.strip()
        contract[key] = f"{contract[key]} {line}" if key in contract else line
    for needed in ("does", *KEYS):
        if needed not in contract:
            raise Broken(f"sql/{name}:1: the header lacks `{needed}`")
    try:
        used = set(_environment().undeclared_variables_in_str(text))
    except TemplateError as error:
        raise Broken(f"sql/{name}:{error.line}: {error.message}") from None
    declared = _declared(contract)
    for fault, names in (("used but not declared", used - declared), ("declared but not used", declared - used)):
        for one in sorted(names):
            spots = (i for i, line in enumerate(text.splitlines(), 1) if re.search(rf"\b{re.escape(one)}\b", line))
            raise Broken(f"sql/{name}:{next(spots, 1)}: parameter {one} is {fault}")
    return contract


def _declared(contract: dict[str, str]) -> set[str]:
    return {word.strip() for word in contract["parameters"].split(",")} - {"none", ""}


def render(name: str, **parameters: Any) -> str:
    """One statement. Parameters are identifiers, numbers of our own making, or fragments rendered before.
    Refuses (Broken) a declared parameter that is not given, and a given one that is not declared."""
    contract = header(name)
    declared = _declared(contract)
    for fault, names in (
        ("not given", declared - set(parameters)),
        ("given but not declared", set(parameters) - declared),
    ):
        for one in sorted(names):
            raise Broken(f"sql/{name}:1: parameter {one} is {fault}")
    try:
        body = _environment().render_template(name, **parameters)
    except TemplateError as error:
        raise Broken(f"sql/{name}:{error.line}: {error.message}") from None
    return f"-- {name}: {contract['does']}\n" + _HEADER.sub("", body).strip()
