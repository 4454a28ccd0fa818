"""What a map says of one table's files: which they are, and how they are read."""

import codecs
import re
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, field_validator, model_validator

from closedset import kinds
from closedset.pack import Declared

Texts = tuple[str, ...]


def one_or_many(value: Any) -> Any:
    """A text alone as a list of one."""
    return [value] if isinstance(value, str) else value


#: A mark that is hard to type, by the word for it.
_MARKS = {"tab": "\t", "\\t": "\t", "space": " ", "none": ""}
_LONGEST_DELIMITER = 4


class TableFiles(Declared):
    """Which files hold one table, and how they are read. Written as a file name or glob, a list of them, or a
    mapping with:

    `file`: the names or globs; `delimiter`, `quote` and `escape`: a CSV's marks (`quote: none` where nothing is
    quoted); `encoding`: of text that is not UTF-8; `header: false`: the first line is a row; `columns`: the names,
    instead of the header's; `skip`: lines before the header; `sheet`: of a workbook; `table`: of a database;
    `path`: where the rows are in nested data (`$.people[*].roles[*]`); `connection`: the environment variable that
    holds a PostgreSQL URI.
    """

    file: Annotated[Texts, BeforeValidator(one_or_many)] = ()
    delimiter: str | None = None
    quote: str | None = None
    escape: str | None = None
    encoding: str | None = None
    header: bool = True
    columns: Annotated[Texts, BeforeValidator(one_or_many)] = ()
    skip: int = Field(default=0, ge=0)
    sheet: str | None = None
    table: str | None = None
    path: str | None = None
    connection: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return {"file": value} if isinstance(value, str | list | tuple) else value

    @field_validator("delimiter", "quote", "escape", mode="before")
    @classmethod
    def _mark(cls, value: Any) -> Any:
        return _MARKS.get(value, value) if isinstance(value, str) else value

    @field_validator("delimiter")
    @classmethod
    def _one_delimiter(cls, mark: str | None) -> str | None:
        if mark is not None and (not 1 <= len(mark.encode()) <= _LONGEST_DELIMITER or set(mark) & set("\r\n\0")):
            raise ValueError("a delimiter is one to four characters on one line (write `tab` for a tab)")
        return mark

    @field_validator("quote", "escape")
    @classmethod
    def _one_mark(cls, mark: str | None) -> str | None:
        if mark is not None and (len(mark) > 1 or not mark.isascii() or mark in tuple("\r\n\0")):
            raise ValueError("write one ASCII character, or `none`")
        return mark

    @field_validator("encoding")
    @classmethod
    def _known(cls, name: str | None) -> str | None:
        if name is not None:
            try:
                # Encodings of bytes as text (base64, rot13) and of Python source are none of a file's letters.
                wrong = not codecs.lookup(name)._is_text_encoding or "escape" in codecs.lookup(name).name
            except LookupError:
                wrong = True
            if wrong:
                raise ValueError(f"{name!r} is no encoding Python knows (utf-8, utf-16-le, cp1252, latin-1, …)")
        return name

    @field_validator("path")
    @classmethod
    def _steps(cls, path: str | None) -> str | None:
        if path is not None:
            steps(path)
        return path

    @field_validator("connection")
    @classmethod
    def _a_variable(cls, name: str | None) -> str | None:
        if name is not None and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            raise ValueError("write the name of an environment variable; a URI here would keep its password in the map")
        return name

    @model_validator(mode="after")
    def _fits(self) -> "TableFiles":
        marks = [m for m in (self.delimiter, self.quote) if m]
        if len(set(marks)) < len(marks):
            raise ValueError("`delimiter` and `quote` are the same mark")
        if self.connection is not None and self.file:
            raise ValueError("write `connection` (a database server) or `file`, not both")
        if len({c.lower() for c in self.columns}) < len(self.columns) or "" in self.columns:
            raise ValueError("`columns` are names, each once (whatever their case)")
        return self

    def said(self) -> list[str]:
        """The options that are written, `file` aside."""
        return [o for o in kinds.OPTIONS if getattr(self, o) != TableFiles.model_fields[o].default]


_STEP = re.compile(r'(?:\.([^.\[\]"]+)|\["([^"]+)"\])(\[\*\])?')


def steps(path: str) -> list[tuple[str, bool]]:
    """A path's steps, each a key (empty for the whole) and whether each element of the list there is taken.
    Refuses (ValueError) what is no such path."""
    root = re.match(r"\$(\[\*\])?", path)
    taken = [("", bool(root[1]))] if root else []
    at = root.end() if root else 0
    while at < len(path) and root:
        step = _STEP.match(path, at)
        if step is None:
            break
        taken.append((step[1] or step[2], bool(step[3])))
        at = step.end()
    if root is None or at < len(path):
        raise ValueError(f"{path!r} is no path to rows; write it as in $.people[*].roles[*]")
    return taken


def idle(files: TableFiles, found: Sequence[str]) -> list[tuple[str, str]]:
    """The written options that no file of these kinds uses, each with what is wrong."""
    is_ = " and ".join(dict.fromkeys(kinds.NAMES[kind] for kind in found))
    return [
        (option, f"`{option}` is for {', '.join(kinds.NAMES[k] for k in kinds.OPTIONS[option])}, and this is {is_}")
        for option in files.said()
        if not set(found) & set(kinds.OPTIONS[option])
    ]
