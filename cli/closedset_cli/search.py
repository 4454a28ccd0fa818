"""`closedset search`: ask for a closed set."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from closedset_cli import brief as briefs
from closedset_cli import progress, request, streams
from closedset_cli.diagnostics import UsageRefused
from closedset_cli.format import Format

if TYPE_CHECKING:
    from closedset.brief import Model
    from closedset.reply_full import FullReply
    from closedset.store import Store


class Detail(StrEnum):
    FULL = "full"
    COMPACT = "compact"


class TheSet(StrEnum):
    """The four sets, by the verdict's own name."""

    MATCHED = "matched"
    NONE = "none"
    NOT_RECORDED = "not_recorded"
    UNDETERMINED = "undetermined"


def search(
    store: Annotated[str, typer.Argument(metavar="STORE", help="The store's directory.")],
    where: request.Where = None,
    prefer: request.Prefer = None,
    as_of: request.AsOf = None,
    limit: request.Limit = None,
    offset: request.Offset = None,
    list_limit: request.ListLimit = None,
    entity_id: request.EntityId = None,
    detail: Annotated[
        Detail | None, typer.Option("--detail", show_default=False, help="The full reply (default) or the compact one.")
    ] = None,
    request_file: request.RequestFile = None,
    brief: request.Brief = None,
    record: briefs.Record = None,
    replay: briefs.Replay = None,
    save_request: briefs.SaveRequest = None,
    the_set: Annotated[
        TheSet | None, typer.Option("--set", help="Print the whole of one set: every id, however many.")
    ] = None,
    absence: Annotated[
        bool, typer.Option("--absence", help="Print who holds no row of an asked relation, and whether anybody looked.")
    ] = False,
    output: Annotated[Format, typer.Option("--format", help="How the reply is written.")] = Format.TABLE,
) -> None:
    """Ask who satisfies conditions, and whether these are all.

    Gives the four sets, the licence (or every reason it is withheld, with its cure), and the matches with the
    cells they rest on.
    """
    asked = request.build(
        where, prefer, request_file, brief,
        as_of=as_of, limit=limit, offset=offset, list_limit=list_limit, entity_ids=entity_id,
        detail=detail.value if detail else None,
    )  # fmt: skip
    _refuse_unfit(asked, the_set, absence, output)
    model = briefs.of_request(asked, record, replay, save_request)
    import closedset

    with closedset.open(store) as opened:
        if the_set is not None:
            _the_set(opened, asked, the_set, output, model)
        elif absence:
            _absence(opened, asked, output, model)
        else:
            _answer(opened, asked, output, model)
        if save_request is not None:
            _save(opened, asked, model, save_request)


def _refuse_unfit(asked: dict[str, Any], the_set: TheSet | None, absence: bool, output: Format) -> None:
    if the_set is not None and absence:
        raise UsageRefused("--set and --absence are two replies: give one of them")
    if the_set is not None:
        for key in ("limit", "offset", "list_limit", "entity_ids", "detail"):
            if key in asked:
                raise UsageRefused(f"--set prints the whole set: leave out {request.flag(key)}")
    elif asked.get("detail") == "compact" and (absence or output in (Format.CSV, Format.JSONL)):
        raise UsageRefused("a compact reply is written as table or json: leave out --detail, or change --format")


def _save(store: "Store", asked: dict[str, Any], model: "Model | None", file: str) -> None:
    from closedset.reply_full import FullReply

    reply = store.search({**asked, "detail": "full", "limit": 1, "list_limit": 0}, model)
    assert isinstance(reply, FullReply)
    briefs.save(file, asked, reply)


def _answer(store: "Store", asked: dict[str, Any], output: Format, model: "Model | None") -> None:
    from closedset.reply_full import FullReply

    with progress.shown("asking"):
        reply = store.search(asked, model)
    if output is Format.JSON:
        from closedset_cli.printable import json_safe

        streams.reply(json_safe(reply.model_dump_json(indent=2)) + "\n")
    elif not isinstance(reply, FullReply):
        from closedset_cli import answer

        answer.compact(reply).send()
    elif output is Format.TABLE:
        from closedset_cli import answer

        answer.full(reply, int(asked.get("offset") or 0)).send()
    else:
        _matches(reply, output)
    if isinstance(reply, FullReply):
        _talk(store, reply, output)


def _talk(store: "Store", reply: "FullReply", output: Format) -> None:
    """On stderr: a better name for what did not run; and for lines without a warrant, the warrant."""
    from closedset_cli import suggestion

    streams.finish()
    suggestion.near_names(store.catalog.pack, reply)
    if output in (Format.CSV, Format.JSONL):
        suggestion.warrant(reply)
        streams.talk(f"closedset: showing {len(reply.matches)} of {reply.counts.matched}")


def _matches(reply: "FullReply", output: Format) -> None:
    """One line a match. In CSV each condition has two columns: the value stated, and where it came from."""
    from closedset_cli.csv_lines import Csv, json_line
    from closedset_cli.why import conditions, why

    if output is Format.JSONL:
        for match in reply.matches:
            said = [
                {
                    "condition": one.condition, "value": one.value, "required": one.required, "table": one.table,
                    "file": one.file, "row": one.row, "column": one.column,
                    **({"source_entity_id": one.whose} if one.whose is not None else {}),
                }
                for one in why(reply, match) if one
            ]  # fmt: skip
            json_line({"entity_id": match.entity_id, "name": match.name, "rank": match.rank, "why": said})
        return
    header = ["entity_id", "name", "rank"]
    for condition in conditions(reply):
        name = condition if condition not in header else f"{condition} ({len(header)})"
        header += [name, f"{name}: source"]
    table = Csv(header)
    for match in reply.matches:
        cells = [cell for one in why(reply, match) for cell in ((one.value, one.source) if one else (None, None))]
        table.write([[match.entity_id, match.name, match.rank, *cells]])


def _the_set(store: "Store", asked: dict[str, Any], the_set: TheSet, output: Format, model: "Model | None") -> None:
    from closedset.reply_full import FullReply
    from closedset_cli import suggestion, whole_set

    with progress.shown("asking"):
        reply = store.search({**asked, "limit": 1, "list_limit": 0}, model)
        partition = store.partition(asked, model)
    assert isinstance(reply, FullReply)
    whole_set.send(partition, the_set.value, output, reply.coverage.narrowed_by or [])
    streams.finish()
    suggestion.near_names(store.catalog.pack, reply)
    suggestion.warrant(reply, whole=True)


def _absence(store: "Store", asked: dict[str, Any], output: Format, model: "Model | None") -> None:
    from closedset.reply_full import FullReply
    from closedset_cli import absence, suggestion

    with progress.shown("asking"):
        reply = store.search(asked, model)
    assert isinstance(reply, FullReply)
    absence.send(reply, output)
    _talk(store, reply, Format.TABLE)
    if output is not Format.TABLE:
        suggestion.warrant(reply, whole=True)
