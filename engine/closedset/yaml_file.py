"""Reading a YAML file so that every error can say file:line, and no scalar is anything but what was written.

All scalars stay text: the pack's models convert what they need. So `NO` is Norway, `007` keeps its zeros
and `2024-01` is no date.
"""

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from closedset.errors import PackRefused

if TYPE_CHECKING:
    import yaml

Place = tuple[str | int, ...]
Model = TypeVar("Model", bound=BaseModel)


class Faults(ValueError):
    """What a validator of a model found, each at a place below the value it validates."""

    def __init__(self, faults: Sequence[tuple[Place, str]]) -> None:
        super().__init__("; ".join(message for _, message in faults))
        self.faults = faults


def read(path: Path) -> tuple[Any, dict[Place, int]]:
    """The file's value (dicts, lists, strings) and the line of every key and item.

    Refuses: a file that is no YAML, an anchor's cycle, the same key twice in one mapping.
    """
    import yaml

    try:
        node = yaml.compose(path.read_text(encoding="utf-8"), Loader=yaml.BaseLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise PackRefused(f"{path}:{line}: not readable as YAML: {error.problem or error.context}") from None
    except UnicodeDecodeError as error:
        raise PackRefused(f"{path}:1: not UTF-8 at byte {error.start}: save the file as UTF-8") from None
    except OSError as error:
        raise PackRefused(f"{path}: cannot be read: {error.strerror}") from None
    lines: dict[Place, int] = {}
    if node is None:
        raise PackRefused(f"{path}:1: the file is empty")
    return _value(node, (), path, lines, frozenset()), lines


def _value(node: "yaml.Node", place: Place, path: Path, lines: dict[Place, int], above: frozenset[int]) -> Any:
    import yaml

    line = node.start_mark.line + 1
    lines.setdefault(place, line)
    if id(node) in above:
        raise PackRefused(f"{path}:{line}: an alias contains itself")
    above = above | {id(node)}
    if isinstance(node, yaml.MappingNode):
        mapping: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = str(key_node.value) if isinstance(key_node, yaml.ScalarNode) else None
            at = key_node.start_mark.line + 1
            if key is None:
                raise PackRefused(f"{path}:{at}: a key must be plain text")
            if key in mapping:
                first = lines[(*place, key)]
                raise PackRefused(f"{path}:{at}: key {key!r} is written twice (first on line {first})")
            lines[(*place, key)] = at
            mapping[key] = _value(value_node, (*place, key), path, lines, above)
        return mapping
    if isinstance(node, yaml.SequenceNode):
        return [_value(item, (*place, i), path, lines, above) for i, item in enumerate(node.value)]
    if isinstance(node, yaml.ScalarNode) and node.style is None and node.value in ("", "~"):
        return None
    return node.value


def line_of(place: Place, lines: dict[Place, int]) -> int:
    """The line of a place, or of the nearest place around it."""
    while place and place not in lines:
        place = place[:-1]
    return lines.get(place, 1)


def validate(model: type[Model], path: Path) -> Model:
    """Read and validate. Refuses with file:line, the key, the value and what is allowed."""
    raw, lines = read(path)
    return validate_value(model, raw, str(path), lines)


def validate_value(model: type[Model], raw: Any, name: str, lines: dict[Place, int] | None = None) -> Model:
    """Validate a value that was read already (or built in memory); refuses as `validate` does."""
    try:
        return model.model_validate(raw)
    except ValidationError as error:
        faults: list[tuple[Place, str]] = []
        for one in error.errors(include_url=False):
            place = _written(one["loc"], raw)
            inner = one.get("ctx", {}).get("error")
            if isinstance(inner, Faults):
                faults += [((*place, *below), message) for below, message in inner.faults]
            elif one["type"] == "extra_forbidden":
                faults.append((place, "unknown key" + _nearest(str(place[-1]), _known_keys(model, place))))
            elif one["type"] == "missing" and isinstance(place[-1], int):
                faults.append((place, "one more item is needed"))
            else:
                plain = one["msg"].removeprefix("Value error, ").replace("Input should be", "write")
                faults.append((place, _SAID.get(one["type"], plain)))
        raise PackRefused(said(faults, name, lines)) from None


def said(faults: Sequence[tuple[Place, str]], name: str, lines: dict[Place, int] | None) -> str:
    """The faults as text, one a line: file:line, the place, what is wrong."""
    return "\n".join(
        f"{name}{f':{line_of(place, lines)}' if lines else ''}: "
        f"{'.'.join(str(part) for part in place)}{': ' if place else ''}{message}"
        for place, message in faults
    )


#: Pydantic's own sentences speak of Python; these speak of the file.
_SAID = {
    "missing": "this key is needed",
    "tuple_type": "write a list, as in [a, b]",
    "dict_type": "write a mapping, as in {key: value}",
    "model_type": "write a mapping, as in {key: value}",
    "string_type": "write a text",
    "bool_parsing": "write true or false",
    "int_parsing": "write a whole number",
    "string_pattern_mismatch": "a name is letters and digits, a letter first, with single _ between them",
}


def _written(loc: Place, raw: Any) -> Place:
    """The part of pydantic's location that stands in the file (it also names union members)."""
    place: list[str | int] = []
    for i, part in enumerate(loc):
        if isinstance(raw, dict) and part in raw:
            raw = raw[part]
        elif isinstance(raw, list) and isinstance(part, int):
            raw = raw[part] if part < len(raw) else None
        elif i < len(loc) - 1 or part == "[key]" or not isinstance(raw, dict):
            continue
        place.append(part)
    return tuple(place)


def _models(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for argument in get_args(annotation) for model in _models(argument)]


def _known_keys(model: type[BaseModel], place: Place) -> list[str | int]:
    """The keys that the mapping holding `place` may have."""
    models = [model]
    for part in place[:-1]:
        below = [_keys(one)[part] for one in models if part in _keys(one)]
        models = [found for annotation in below for found in _models(annotation)] or models
    return [key for one in models for key in _keys(one)]


def _keys(model: type[BaseModel]) -> dict[str | int, Any]:
    """The keys of a model as the file writes them, with what each may hold."""
    return {field.alias or name: field.annotation for name, field in model.model_fields.items()}


def _nearest(key: str, keys: list[str | int]) -> str:
    known = [str(key) for key in keys]
    close = get_close_matches(key, known, n=1)
    return f"; did you mean `{close[0]}`?" if close else f"; known here: {', '.join(known)}"
