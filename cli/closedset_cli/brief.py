"""A brief at the terminal: who compiles it, what it became, and the request it can be saved as."""

import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from closedset_cli import progress, streams
from closedset_cli.diagnostics import UsageRefused
from closedset_cli.sheet import Cell, Sheet

if TYPE_CHECKING:
    from closedset.brief import Model, Said
    from closedset.reply_full import CompiledBlock, FullReply

Record = Annotated[
    str | None,
    typer.Option("--record", metavar="FILE", help="Add what the model says of the brief to a file (JSON lines)."),
]
Replay = Annotated[
    str | None,
    typer.Option("--replay", metavar="FILE", help="Take what the model said of the brief from such a file; call none."),
]
SaveRequest = Annotated[
    str | None,
    typer.Option("--save-request", metavar="FILE", help="Save what the brief became as a request, to edit and re-run."),
]


class Once:
    """A model that is asked once, however many statements of a command need its answer."""

    def __init__(self, model: "Model") -> None:
        self._model = model
        self._said: dict[str, Said] = {}

    def __call__(self, brief: str, tool: dict[str, Any]) -> "Said":
        if brief not in self._said:
            self._said[brief] = self._model(brief, tool)
        return self._said[brief]


class Environment:
    """The model that the environment configures, looked up when it is first asked."""

    def __call__(self, brief: str, tool: dict[str, Any]) -> "Said":
        from closedset.brief.messages import Messages

        with progress.shown("the model reads the brief"):
            return Messages.of_environment()(brief, tool)


def model(record: str | None, replay: str | None) -> "Model":
    """Who compiles. Refuses (UsageRefused) to record a replay."""
    from closedset.brief.record import Recorder, Replay

    if record is not None and replay is not None:
        raise UsageRefused("--record beside --replay: what is replayed is recorded already; give one of them")
    if replay is not None:
        return Once(Replay(Path(replay)))
    return Once(Recorder(Environment(), Path(record)) if record is not None else Environment())


def of_request(
    asked: dict[str, Any], record: str | None, replay: str | None, save_request: str | None
) -> "Model | None":
    """The model of a request, or None where it holds no brief. Refuses the options of a brief beside none."""
    if "brief" in asked:
        return model(record, replay)
    for option, given in (("--record", record), ("--replay", replay), ("--save-request", save_request)):
        if given is not None:
            raise UsageRefused(f"{option} is for a brief, and none is asked: give --brief TEXT")
    return None


def show(sheet: Sheet, compiled: "CompiledBlock") -> None:
    """The brief, each compiled phrase in brackets with the conditions it became, every other sentence plain."""
    sheet.heading("brief", f" ({_became(compiled)})")
    for line in marked(compiled.brief, [c["brief_span"] for c in compiled.constraints]):
        sheet.line(*line, indent=2)
    from closedset import reasons

    for one in compiled.uncompiled:
        sheet.line(("not compiled", "yellow"), f": {one['text']}", indent=2)
    for dropped in compiled.dropped:
        meaning = reasons.DROPPED.get(dropped["reason"].split(":")[0], "")
        sheet.line(("dropped", "yellow"), f": {_said(dropped['constraint'])}", indent=2)
        sheet.line(f"{dropped['reason']}. {meaning}", indent=4)
    if compiled.as_of:
        sheet.line(f"pins the month {compiled.as_of}", indent=2)
    if compiled.model:
        sheet.line(_spend(compiled), indent=2)


def marked(brief: str, spans: Sequence[Sequence[int]]) -> list[list[Cell]]:
    """The brief's lines; words that conditions came from stand in brackets before their numbers.

    >>> [[str(c[0]) if isinstance(c, tuple) else c for c in line] for line in marked("VPs in DACH", [(0, 3), (7, 11)])]
    [['[VPs]0', ' in ', '[DACH]1']]
    """
    breaks = [at for at, character in enumerate(brief) if character == "\n"]
    cuts = {0, len(brief), *breaks, *(at + 1 for at in breaks), *(at for span in spans for at in span)}
    lines: list[list[Cell]] = [[]]
    for first, last in pairwise(sorted(cuts)):
        text = brief[first:last].replace("\r", "")
        of = [str(i) for i, (start, end) in enumerate(spans) if start <= first and last <= end]
        if text == "\n":
            lines.append([])
        elif of:
            lines[-1].append((f"[{text}]{','.join(of)}", "green"))
        else:
            lines[-1].append(text)
    return [line for line in lines if line]


def save(file: str, asked: dict[str, Any], reply: "FullReply") -> None:
    """Write the compiled constraints, with what else was asked, as a request. Refuses to write over a file."""
    compiled = reply.compiled
    assert compiled is not None
    if not compiled.constraints:
        streams.talk("closedset: nothing of the brief compiled, so there is no request to save")
        return
    request = {"constraints": compiled.constraints, **{k: v for k, v in asked.items() if k != "brief"}}
    if reply.as_of:
        request["as_of"] = reply.as_of
    try:
        with Path(file).open("x", encoding="utf-8") as lines:
            lines.write(json.dumps(request, indent=2, ensure_ascii=False) + "\n")
    except FileExistsError:
        raise UsageRefused(f"{file}: there is such a file already; give --save-request another name") from None
    streams.talk(f"closedset: saved as {file}; edit it, then ask again with: --request {file}")


def _became(compiled: "CompiledBlock") -> str:
    kept = len(compiled.constraints)
    gaps = {"dropped": len(compiled.dropped), "not compiled": len(compiled.uncompiled)}
    return ", ".join([f"{kept} condition{'' if kept == 1 else 's'}", *(f"{n} {what}" for what, n in gaps.items() if n)])


def _said(constraint: Any) -> str:
    from closedset_cli.csv_lines import as_json

    return as_json(constraint)


def _spend(compiled: "CompiledBlock") -> str:
    usage = compiled.usage
    if usage is None:
        return f"compiled by {compiled.model}; what it used is not known"
    read = usage["input_tokens"] + usage["cache_creation_input_tokens"] + usage["cache_read_input_tokens"]
    cost = "cost not known" if usage["cost_usd"] is None else f"{usage['cost_usd']:.6f} USD ({usage['cost_basis']})"
    return (
        f"compiled by {compiled.model}: {read} tokens read ({usage['cache_read_input_tokens']} from the cache), "
        f"{usage['output_tokens']} written, {cost}"
    )
