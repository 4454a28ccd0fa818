"""`closedset explain`: the steps that answer a request, as they ran."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from closedset_cli import request, streams, words
from closedset_cli.format import Report
from closedset_cli.sheet import Sheet

if TYPE_CHECKING:
    from closedset.plan import Step

_SHOWN = 5


def explain(
    store: Annotated[str, typer.Argument(metavar="STORE", help="The store's directory.")],
    where: request.Where = None,
    prefer: request.Prefer = None,
    as_of: request.AsOf = None,
    limit: request.Limit = None,
    offset: request.Offset = None,
    list_limit: request.ListLimit = None,
    entity_id: request.EntityId = None,
    request_file: request.RequestFile = None,
    brief: request.Brief = None,
    output: Annotated[Report, typer.Option("--format", help="How the steps are written.")] = Report.TABLE,
) -> None:
    """Show how a request is answered.

    Each step in order, as it ran: its sentence, what one row is, the SQL, the bound values, how many rows.
    """
    asked = request.build(
        where, prefer, request_file, brief,
        as_of=as_of, limit=limit, offset=offset, list_limit=list_limit, entity_ids=entity_id,
    )  # fmt: skip
    import closedset

    with closedset.open(store) as opened:
        steps = opened.explain(asked)
    if output is Report.JSON:
        from closedset_cli.csv_lines import as_json

        streams.reply(as_json([_record(i, step) for i, step in enumerate(steps, 1)], indent=2) + "\n")
    else:
        _sheet(steps).send()


def _record(number: int, step: "Step") -> dict[str, Any]:
    return {
        "step": number, "name": step.name, "sentence": step.sentence, "grain": step.grain, "rows": step.rows,
        "values": step.parameters, "sets": step.sets, "sql": step.sql,
    }  # fmt: skip


def _sheet(steps: "list[Step]") -> Sheet:
    sheet = Sheet()
    for number, step in enumerate(steps, 1):
        sheet.heading(f"{number}. {step.name}")
        sheet.line(step.sentence, indent=2)
        sheet.columns(
            [
                ("one row", step.grain),
                ("rows", str(step.rows)),
                *((f"${name}", _value(value)) for name, value in step.parameters.items()),
                *((f"set {name}", words.entities(size)) for name, size in step.sets.items()),
            ]
        )
        for line in step.sql.splitlines():
            sheet.line((line, "dim"), indent=4)
    sheet.line()
    sheet.line(f"{len(steps)} steps")
    return sheet


def _value(value: Any) -> str:
    if isinstance(value, list):
        more = f" and {len(value) - _SHOWN} more" if len(value) > _SHOWN else ""
        return "[" + ", ".join(_value(one) for one in value[:_SHOWN]) + f"]{more}"
    return repr(value) if isinstance(value, str) else f"{value} ({type(value).__name__})"
