"""Columns of any type as text, in SQL: plain ones as DuckDB writes them, nested ones as canonical JSON, a field
inside a nested one by its path, and the elements of a list as rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from closedset.render import quoted
from closedset.table_files import steps

_NUMBERS = {
    "boolean", "tinyint", "smallint", "integer", "bigint", "hugeint", "utinyint", "usmallint", "uinteger", "ubigint",
    "uhugeint", "decimal", "bignum",
}  # fmt: skip
_ELEMENT = "(element {})"
#: A type of DuckDB's: its `id`, and its `children` by name.
Type = Any


@dataclass(frozen=True)
class Selected:
    """A SELECT whose columns are all text, and their names."""

    names: list[str]
    sql: str


def select(
    columns: Sequence[tuple[str, Type]], source: str, wanted: Sequence[str] = (), path: str | None = None
) -> Selected:
    """Every column of `source` (a FROM item) as text. `wanted` names fields inside nested columns (`address.city`)
    that become columns too; `path` leads to the list whose elements are the rows, called `list.field`.

    Refuses (ValueError) a path that no list lies on.
    """
    held = {name: (f"{quoted(name)}", type_) for name, type_ in columns}
    for level, (key, each) in enumerate(steps(path)[1:] if path else ()):
        name = next((n for n in held if n == key or n.endswith(f".{key}")), None)
        if name is None:
            raise ValueError(f"no column {key!r} on the path {path}; there are: {', '.join(held)}")
        prefix = name
        expression, type_ = held.pop(name)
        if each:
            if type_.id not in ("list", "array"):
                raise ValueError(f"{key!r} on the path {path} is no list ({type_})")
            element = _ELEMENT.format(level)
            source = f"(SELECT *, unnest({expression}) AS {quoted(element)} FROM {source})"
            expression, type_ = quoted(element), _child(type_)
        if type_.id == "struct":
            for field, below in type_.children:
                held[f"{prefix}.{field}"] = (f"{expression}.{quoted(field)}", below)
        else:
            held[prefix] = (expression, type_)
    for name in wanted:
        if name not in held and (found := _reached(held, name)):
            held[name] = found
    chosen = ", ".join(f"nullif({text(expression, type_)}, '')" for expression, type_ in held.values())
    return Selected(list(held), f"SELECT {chosen} FROM {source}")


def _reached(held: dict[str, tuple[str, Type]], name: str) -> tuple[str, Type] | None:
    """A field inside a nested column, or None where no column leads to it."""
    parts = name.split(".")
    for split in range(len(parts) - 1, 0, -1):
        if (column := ".".join(parts[:split])) not in held:
            continue
        expression, type_ = held[column]
        for key in parts[split:]:
            if type_.id == "struct" and key in dict(type_.children):
                expression, type_ = f"{expression}.{quoted(key)}", dict(type_.children)[key]
            elif type_.id == "map" and dict(type_.children)["key"].id == "varchar":
                expression = f"map_extract_value({expression}, {literal(key)})"
                type_ = dict(type_.children)["value"]
            else:
                return None
        return expression, type_
    return None


def literal(text_: str) -> str:
    """A text as SQL writes it."""
    return "'" + text_.replace("'", "''") + "'"


def text(expression: str, type_: Type) -> str:
    """A column as text: what is nested as JSON that loses nothing."""
    if type_.id in ("struct", "list", "array", "map", "union"):
        return f"CASE WHEN ({expression}) IS NOT NULL THEN {_json(expression, type_, 0)} END"
    return f"({expression})::VARCHAR"


def _json(expression: str, type_: Type, depth: int) -> str:
    """JSON text of a value, NULL as `null`. Decimals keep their scale, which to_json drops."""
    here = f"({expression})"
    match type_.id:
        case "struct":
            below = [(name, _json(f"{here}.{quoted(name)}", of, depth)) for name, of in type_.children]
            fields = [f"{literal(_key(name))} || {value}" for name, value in below]
            whole = "'{' || " + " || ',' || ".join(fields) + " || '}'" if fields else "'{}'"
        case "list" | "array":
            one = f"x{depth}"
            each = _json(one, _child(type_), depth + 1)
            listed = f"{here}::{_child(type_)}[]" if type_.id == "array" else here
            whole = f"'[' || array_to_string(list_transform({listed}, lambda {one}: {each}), ',') || ']'"
        case "map":
            one = f"x{depth}"
            key = f"to_json({one}.key::VARCHAR)::VARCHAR"
            each = f"{key} || ':' || {_json(f'{one}.value', dict(type_.children)['value'], depth + 1)}"
            whole = f"'{{' || array_to_string(list_transform(map_entries({here}), lambda {one}: {each}), ',') || '}}'"
        case "float" | "double":
            whole = f"CASE WHEN isfinite({here}) THEN {here}::VARCHAR ELSE to_json({here}::VARCHAR)::VARCHAR END"
        case kind if kind in _NUMBERS:
            whole = f"{here}::VARCHAR"
        case _:
            whole = f"to_json({here}::VARCHAR)::VARCHAR"
    return f"CASE WHEN {here} IS NULL THEN 'null' ELSE {whole} END"


def _key(name: str) -> str:
    import json

    return json.dumps(name, ensure_ascii=False) + ":"


def _child(type_: Type) -> Type:
    return type_.children[0][1]
