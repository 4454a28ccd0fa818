"""`closedset bench`: how long a store's own questions take on this machine."""

import statistics
from typing import TYPE_CHECKING, Annotated, Any

import typer

from closedset_cli import progress, request, streams
from closedset_cli.diagnostics import UsageRefused
from closedset_cli.format import Report
from closedset_cli.sheet import Cell, Sheet

if TYPE_CHECKING:
    from closedset.bench import Bench, Timing

_MIB = 1 << 20


def bench(
    store: Annotated[str, typer.Argument(metavar="STORE", help="The store's directory.")],
    questions: Annotated[
        str | None,
        typer.Option(
            "--questions",
            metavar="FILE",
            show_default=False,
            help="JSON lines: one request a line, as --request takes one; - is stdin. Without it, questions are drawn "
            "from what the store holds.",
        ),
    ] = None,
    runs: Annotated[int, typer.Option("--runs", metavar="N", min=1, max=1000, help="How often each is asked.")] = 3,
    output: Annotated[Report, typer.Option("--format", help="How the figures are written.")] = Report.TABLE,
) -> None:
    """Measure how long questions over a store take here.

    Each question is asked for its whole reply, and in turn by plain SQL for its four sets alone (GROUP BY and
    anti-joins over the same tables). Gives medians, and whether both put every entity into the same set.
    """
    asked = None if questions is None else [_fit(one) for _, one in request.lines(questions)]
    if asked == []:
        raise UsageRefused(f"{questions}: holds no request; write one a line")
    import closedset
    from closedset.bench import bench as measure

    with closedset.open(store) as opened, progress.shown("measuring"):
        found = measure(opened.generation(), asked, runs)
    if output is Report.JSON:
        from closedset_cli.csv_lines import as_json

        streams.reply(as_json(_record(found), indent=2) + "\n")
    else:
        _sheet(found, runs).send()


def _fit(one: "dict[str, Any] | UsageRefused") -> dict[str, Any]:
    if isinstance(one, UsageRefused):
        raise one
    return one


def _record(found: "Bench") -> dict[str, Any]:
    return {
        "questions": [
            {
                "request": t.request, "matched": t.matched, "universe": t.universe, "equal": t.equal,
                "whole_reply_s": t.whole_s, "cpu_s": t.cpu_s, "plain_sql_s": t.plain_s,
            }
            for t in found.timings
        ],
        "batch_over_one_by_one": found.batch,
        "peak_bytes": found.peak_bytes,
    }  # fmt: skip


def _sheet(found: "Bench", runs: int) -> Sheet:
    sheet = Sheet()
    rows: list[list[Cell]] = [["", "matched", "whole reply", "spread", "plain SQL", "times as long", "same sets"]]
    for number, timing in enumerate(found.timings, 1):
        rows.append([str(number), str(timing.matched), *_figures(timing)])
    sheet.heading(f"questions (medians of {runs}; milliseconds)")
    sheet.columns(rows, right=(0, 1, 2, 3, 4, 5))
    sheet.heading("asked")
    for number, timing in enumerate(found.timings, 1):
        sheet.line(f"{number}  {_said(timing.request)}", indent=2)
    ratios = [t.ratio for t in found.timings if t.ratio is not None]
    sheet.line()
    if ratios:
        sheet.line(f"plain SQL takes {statistics.geometric_mean(ratios):.2f} times as long (geometric mean)")
    sheet.line(f"as a batch they take {found.batch:.2f} times as long as one by one")
    sheet.line(f"memory rose by at most {found.peak_bytes / _MIB:.0f} MiB")
    if any(t.equal is False for t in found.timings):
        sheet.line(("some sets differ: please report it, with the question", "bold"))
    return sheet


def _figures(timing: "Timing") -> list[str]:
    spread = f"{min(timing.whole_s) * 1000:.1f}–{max(timing.whole_s) * 1000:.1f}"
    plain = f"{statistics.median(timing.plain_s) * 1000:.1f}" if timing.plain_s else "–"
    ratio = f"{timing.ratio:.2f}" if timing.ratio is not None else "–"
    same = {True: "yes", False: "NO", None: "–"}[timing.equal]
    return [f"{timing.seconds * 1000:.1f}", spread, plain, ratio, same]


def _said(asked: dict[str, Any]) -> str:
    constraints = asked.get("constraints")
    if not isinstance(constraints, list):
        return str(asked.get("brief", ""))
    said = [
        f"{'' if c.get('required', True) else 'prefer '}{c['relation']}.{c['slot']} {c['op']} {c['value']}"
        for c in constraints
    ]
    month = f" at {asked['as_of']}" if asked.get("as_of") else ""
    return " and ".join(said) + month
