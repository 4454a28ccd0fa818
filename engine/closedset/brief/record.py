"""Recorded compiles: one JSON object a line, so that a batch of briefs can be run again without a network.

What is kept is what the model said, before any check: the check runs anew on every replay.
"""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any

from closedset.brief.compile import Model, Said
from closedset.brief.spend import Usage
from closedset.brief.tool import tool_bytes
from closedset.errors import CompileUnavailable


@dataclass(frozen=True)
class Recorder:
    """A model whose every answer is added to a file. Nothing but the brief and the answer is kept."""

    model: Model
    file: Path

    def __call__(self, brief: str, tool: dict[str, Any]) -> Said:
        said = self.model(brief, tool)
        usage = None if said.usage is None else asdict(said.usage)
        record = {
            "brief": brief, "tool": digest(tool), "on": said.on, "model": said.model, "usage": usage,
            "calls": said.calls,
        }  # fmt: skip
        # ASCII: half a surrogate pair, which a model may say, is no UTF-8.
        line = json.dumps(record, default=str) + "\n"
        with self.file.open("a", encoding="ascii") as lines:
            lines.write(line)
        return said


class Replay:
    """The answers of a file as a model. The last one recorded for a brief and a tool counts.

    Refuses (CompileUnavailable) a file that cannot be read, and a brief it does not hold for that tool.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        self._said = {(brief, tool): said for brief, tool, said in _records(file)}

    def __call__(self, brief: str, tool: dict[str, Any]) -> Said:
        said = self._said.get((brief, digest(tool)))
        if said is not None:
            return said
        if any(held == brief for held, _ in self._said):
            reason = "holds this brief for another pack, or for this pack before it changed"
        else:
            reason = "holds no compile of this brief"
        raise CompileUnavailable(f"{self.file} {reason}; record it, or pass constraints")


def digest(tool: dict[str, Any]) -> str:
    """A short name of a tool's exact bytes: the same pack, spelt the same, asks the same."""
    return hashlib.sha256(tool_bytes(tool)).hexdigest()[:16]


def _records(file: Path) -> Iterator[tuple[str, str, Said]]:
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise CompileUnavailable(f"{file}: no file of recorded compiles ({type(error).__name__})") from None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            raw = json.loads(line)
            usage = None if raw["usage"] is None else Usage(**raw["usage"])
            said = Said(tuple(raw["calls"]), str(raw["model"]), usage, date.fromisoformat(raw["on"]).isoformat())
            yield str(raw["brief"]), str(raw["tool"]), said
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise CompileUnavailable(f"{file}:{number}: no recorded compile ({type(error).__name__})") from None
