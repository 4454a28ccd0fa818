"""A brief to constraints: the tool, one model call, the check. The only stage of a search that may call a model."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from closedset.brief.check import Compiled, called_again, read_compile_output
from closedset.brief.spend import Usage
from closedset.brief.tool import compile_tool
from closedset.errors import RequestRefused
from closedset.pack import Pack

#: The longest brief in code points: some pages, far more than one closed set needs.
BRIEF_AT_MOST = 20_000


@dataclass(frozen=True)
class Said:
    """A model's answer: the input of each of its calls of the tool (none: it called nothing), and what it used.

    `on` is the day it was said (ISO), by which it is priced.
    """

    calls: tuple[object, ...]
    model: str
    usage: Usage | None
    on: str


#: Whatever answers a brief with calls of the tool: the Messages API, or a file of recorded answers.
Model = Callable[[str, dict[str, Any]], Said]


def compile_brief(pack: Pack, brief: str, model: Model | None = None) -> Compiled:
    """Compile a brief with one call of `model` (the Messages API of the environment when None) and check it.

    A pack that declares nothing to ask needs no model: every sentence is uncompiled.
    Refuses (CompileUnavailable) where there is no model or it does not answer; (RequestRefused) a brief too long.
    """
    if len(brief) > BRIEF_AT_MOST:
        reason = f"it has {len(brief)} code points of at most {BRIEF_AT_MOST}"
        raise RequestRefused(
            "search_request_invalid", "`brief` is too long", reason=reason, fix="say only what the set is"
        )
    if not any(relation.askable() for relation in pack.relations.values()):
        return read_compile_output(brief, pack, None)
    if model is None:
        from closedset.brief.messages import Messages

        model = Messages.of_environment()
    said = model(brief, compile_tool(pack))
    first, *rest = said.calls or (None,)
    compiled = read_compile_output(brief, pack, first)
    dropped = compiled.dropped + called_again(rest)
    return replace(compiled, dropped=dropped, model=said.model, usage=said.usage, on=said.on)
