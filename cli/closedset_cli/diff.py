"""`closedset diff`: who entered and who left the answer between two generations, and why."""

import re
from typing import TYPE_CHECKING, Annotated, Any

import typer

from closedset_cli import progress, request, streams, words
from closedset_cli.diagnostics import UsageRefused
from closedset_cli.format import Format
from closedset_cli.sheet import Cell, Sheet

if TYPE_CHECKING:
    from closedset.diff import Changed, Comparison, Stand

_SHOWN = 20
_CAUSES_SHOWN = 5
_GENERATIONS = re.compile(r"(\d*)\.\.(\d*)")
_COLUMNS = ("entity_id", "was", "now", "cause", "relation", "said")
_UNKNOWN = "not in the universe"
#: The sets whose members a question leaves open.
_OPEN = ("not_recorded", "undetermined")

Question = Annotated[
    str | None,
    typer.Option(
        "--question", "--request", metavar="FILE", help="The request as JSON, from a file or stdin (-), instead of -w."
    ),
]


def diff(
    store: Annotated[str, typer.Argument(metavar="STORE", help="The store's directory.")],
    generations: Annotated[
        str | None,
        typer.Argument(
            metavar="A..B",
            help="Two generations that are held (closedset loads); an end left out is the last former, or the current.",
            show_default=False,
        ),
    ] = None,
    where: request.Where = None,
    prefer: request.Prefer = None,
    as_of: request.AsOf = None,
    question: Question = None,
    limit: Annotated[
        int | None,
        typer.Option("--limit", metavar="N", min=0, help="Explain at most N entities (default: 20 in a table; all)."),
    ] = None,
    output: Annotated[Format, typer.Option("--format", help="How the comparison is written.")] = Format.TABLE,
) -> None:
    """Compare two generations by one question: who entered and who left each set, and why.

    Each entity that moved is listed with what moved it: rows gained, lost or changed, coverage, corrections and merges,
    or the vocabulary. Both licences are stated: a set that was open may change without any change in the world.
    """
    former, latter = _ends(generations)
    asked = request.build(where, prefer, question, as_of=as_of)
    import closedset
    from closedset.diff import Comparison

    with closedset.open(store) as opened, opened.held(former, latter) as both:
        with progress.shown(f"comparing in {store}"):
            found = Comparison(*both, asked)
        if output is Format.TABLE:
            _table(found, _SHOWN if limit is None else limit)
        else:
            _records(found, limit, output)


def _ends(text: str | None) -> tuple[int | None, int | None]:
    if text is None:
        return None, None
    match = _GENERATIONS.fullmatch(text)
    if match is None:
        raise UsageRefused(f"{text!r} names no two generations: write A..B, such as 3..4 (closedset loads lists them)")
    former, latter = (int(end) if end else None for end in match.groups())
    return former, latter


def _records(found: "Comparison", limit: int | None, output: Format) -> None:
    from closedset_cli.csv_lines import Csv, as_json, json_line

    match output:
        case Format.CSV:
            table = Csv(_COLUMNS)
            for one in found.explained(limit):
                table.write([[one.entity_id, one.was, one.now, c.what, c.relation, c.said] for c in one.causes])
        case Format.JSONL:
            for one in found.explained(limit):
                json_line(_changed(one))
        case _:
            head = {"former": _stand(found.former), "latter": _stand(found.latter), "moves": _moves(found)}
            streams.reply(as_json(head, indent=2).removesuffix("\n}") + f',\n  "total": {found.total},\n  "changed": [')
            for n, one in enumerate(found.explained(limit)):
                streams.reply((",\n    " if n else "\n    ") + as_json(_changed(one)))
            streams.reply("\n  ]\n}\n")
    if output is not Format.JSON:
        streams.finish()
        for stand in (found.former, found.latter):
            streams.talk(f"closedset: {_headline(stand)}; licence {_licence(stand)}")
        shown = found.total if limit is None else min(limit, found.total)
        streams.talk(f"closedset: showing {words.of(shown, found.total)} that moved")


def _stand(stand: "Stand") -> dict[str, Any]:
    return {
        "generation": stand.generation,
        "made_by": stand.change.model_dump(include={"at", "what", "source", "detail"}) if stand.change else None,
        "universe": stand.universe,
        "counts": {verdict.value: count for verdict, count in stand.counts.items()},
        "licence": {
            "granted": not stand.gaps,
            "reasons": [{"code": g.full_code, "count": g.count, "sentence": g.sentence} for g in stand.gaps],
        },
    }


def _moves(found: "Comparison") -> list[dict[str, Any]]:
    return [{"was": was, "now": now, "entities": n} for (was, now), n in found.moves.items() if n and was is not now]


def _changed(one: "Changed") -> dict[str, Any]:
    return {
        "entity_id": one.entity_id,
        "was": one.was,
        "now": one.now,
        "causes": [
            {
                "what": c.what, "relation": c.relation, "was_at": c.was_at, "now_at": c.now_at,
                "slots": {
                    s.slot: {"was": s.was, "now": s.now, "was_read_as": s.was_means, "now_read_as": s.now_means}
                    for s in c.slots
                },
                "detail": c.detail, "said": c.said,
            }
            for c in one.causes
        ],
    }  # fmt: skip


def _table(found: "Comparison", limit: int) -> None:
    sheet = Sheet()
    for stand in (found.former, found.latter):
        sheet.line((_headline(stand), "bold"))
        sheet.line(f"licence {_licence(stand)}", indent=2)
    if found.former.gaps or found.latter.gaps:
        said = "where a licence is withheld, whoever was open may move though nothing in the world has changed"
        sheet.line((said, "yellow"))
    _matrix(sheet, found)
    sheet.send()
    _explained(found, limit)


def _headline(stand: "Stand") -> str:
    change = stand.change
    made = f" ({', '.join(p for p in (change.what, change.source, change.detail) if p)}, {change.at})" if change else ""
    return f"generation {stand.generation}{made}: universe {stand.universe}"


def _licence(stand: "Stand") -> str:
    if not stand.gaps:
        return "granted"
    return "withheld: " + ", ".join(
        g.full_code if g.count is None else f"{g.full_code} ({g.count})" for g in stand.gaps
    )


def _matrix(sheet: Sheet, found: "Comparison") -> None:
    """Where everybody went: a row for each former set, a column for each set now."""
    moves = found.moves
    sets = [*found.former.counts, None]
    sheet.heading("who went where", " (rows: the set before; columns: the set now)")
    head = ["", *(words.name(s) if s else "gone" for s in sets), "before"]
    rows: list[list[Cell]] = [list(head)]
    for was in sets:
        counts = [moves.get((was, now), 0) for now in sets]
        rows.append([words.name(was) if was else "new", *(str(n) for n in counts), str(sum(counts))])
    rows[-1][-2] = "–"
    totals = [sum(moves.get((was, now), 0) for was in sets) for now in sets]
    rows.append(["now", *(str(n) for n in totals), ""])
    sheet.columns(rows, right=tuple(range(1, len(head))))
    for verdict in found.former.counts:
        entered = sum(n for (was, now), n in moves.items() if now is verdict and was is not verdict)
        left = sum(n for (was, now), n in moves.items() if was is verdict and now is not verdict)
        if entered or left:
            was_count, now_count = found.former.counts[verdict], found.latter.counts[verdict]
            said = f": {was_count} → {now_count} ({entered} entered, {left} left)"
            sheet.line((words.name(verdict), "bold"), said, indent=2)


def _explained(found: "Comparison", limit: int) -> None:
    shown = 0
    before: tuple[str, str] | None = None
    for one in found.explained(limit):
        sheet = Sheet()
        move = (one.was or "", one.now or "")
        if move != before:
            sheet.line()
            sheet.line((f"{_named(one.was)} → {_named(one.now)}", "bold"), _note(*move))
            before = move
        sheet.line((one.entity_id, "bold"), indent=2)
        for cause in one.causes[:_CAUSES_SHOWN]:
            sheet.line(cause.said, indent=4)
        if len(one.causes) > _CAUSES_SHOWN:
            sheet.line(f"and {len(one.causes) - _CAUSES_SHOWN} more (--format json has them all)", indent=4)
        sheet.send()
        shown += 1
    sheet = Sheet()
    sheet.line()
    rest = "" if shown == found.total else " (--limit N, or --format csv for all)"
    sheet.line(f"showing {words.of(shown, found.total)} that moved{rest}")
    sheet.send()


def _named(verdict: str | None) -> str:
    return words.name(verdict) if verdict else _UNKNOWN


def _note(was: str, now: str) -> str:
    """What a move says of the world, where it says less than it seems to."""
    if was in _OPEN and now not in _OPEN:
        return ": it was open before; now it is known"
    if now in _OPEN and was not in _OPEN:
        return ": it is open now; what was known is no longer"
    return ""
