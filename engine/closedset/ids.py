"""Ids and names as an export writes them: trimmed of white space; what is blank or records nothing names nobody."""

from collections.abc import Iterable

from closedset.fold import WHITE_SPACE


def read(cell: str | None, null: Iterable[str]) -> str:
    """The id that a cell holds, or the empty text; `null` are the texts by which its map records nothing."""
    trimmed = (cell or "").strip(WHITE_SPACE)
    return "" if trimmed in null else trimmed


class Bound:
    """What a statement that reads ids binds: `values`, by the names under which its text has them."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {"white_space": WHITE_SPACE}
        self._names: dict[str, str] = {}

    def markers(self, null: Iterable[str]) -> list[str]:
        """The texts by which a map records nothing, as the templates write them."""
        for text in null:
            name = self._names.setdefault(text, f"null_{len(self._names)}")
            self.values[name] = text
        return [f"${self._names[text]}" for text in dict.fromkeys(null)]
