"""`closedset eval`: how well briefs are compiled, held against gold."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from closedset_cli import brief, streams, words
from closedset_cli.format import Report
from closedset_cli.sheet import Cell, Sheet

if TYPE_CHECKING:
    from closedset.brief.evaluate import Score


def eval(
    cases: Annotated[list[str], typer.Argument(metavar="CASES", help="Files of briefs with their gold (YAML).")],
    record: brief.Record = None,
    replay: brief.Replay = None,
    output: Annotated[Report, typer.Option("--format", help="How the score is written.")] = Report.TABLE,
) -> None:
    """Score how well briefs become conditions.

    Each case file says what its briefs should have become (the gold). Gives how many became it exactly, precision
    and recall by part of a constraint, and whether what was dropped and left uncompiled was so rightly; for all
    briefs and for each of their tags.
    """
    from closedset.brief.evaluate import evaluate, read_cases

    read = [case for name in cases for case in read_cases(Path(name))]
    scores = evaluate(read, brief.model(record, replay))
    if output is Report.JSON:
        from closedset_cli.csv_lines import as_json

        streams.reply(as_json({name: score.as_said() for name, score in scores.items()}, indent=2) + "\n")
    else:
        _sheet(scores).send()


def _sheet(scores: "dict[str, Score]") -> Sheet:
    sheet = Sheet()
    every = scores["all"]
    sheet.heading(f"exact {words.of(every.exact, every.cases)}")
    sheet.heading("by part of a constraint")
    rows: list[list[Cell]] = [["", "precision", "recall"]]
    parts = {**every.fields, "what was left": every.uncompiled}
    rows += [[name, _share(tally.precision), _share(tally.recall)] for name, tally in parts.items()]
    sheet.columns(rows, right=(1, 2))
    sheet.line(f"dropped rightly {every.dropped_rightly}, wrongly {every.dropped_wrongly}", indent=2)
    sheet.line(f"phrases left rightly {words.of(every.left, every.to_leave)}", indent=2)
    sheet.heading("by tag")
    sheet.columns([[name, words.of(s.exact, s.cases)] for name, s in scores.items() if name != "all"], right=(1,))
    if every.inexact:
        sheet.heading("not exact")
        for place in every.inexact:
            sheet.line(place, indent=2)
    return sheet


def _share(share: float | None) -> str:
    return "–" if share is None else f"{share:.3f}"
