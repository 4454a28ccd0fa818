"""The conductor: a request through every stage, top to bottom. Read this file first.

request (→ brief) → constraint → expansion → plan → partition → licence → ranking → matches → reply
"""

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from closedset import about, constraint, expansion, licence, matches, partition, ranking, reply, request
from closedset import plan as planning
from closedset.constraint import Bound, Unbound
from closedset.entity_set import EntitySet
from closedset.execute import Run
from closedset.memo import Memo
from closedset.partition import Verdict, Verdicts
from closedset.plan import Plan, Step
from closedset.reply_compact import CompactReply, compact
from closedset.reply_full import FullReply
from closedset.request import LIST_LIMIT, Request
from closedset.store import Generation

if TYPE_CHECKING:
    from closedset.brief import Compiled, Model


@dataclass(frozen=True)
class Answer:
    """A request's answer before any page of it is delivered. `compiled` is what its brief became; `vacuous`: nothing
    that was required could run, so nobody may be called matched."""

    asked: Request
    as_of_source: str | None
    compiled: "Compiled | None"
    bound: tuple[Bound, ...]
    unbound: tuple[Unbound, ...]
    plan: Plan
    verdicts: Verdicts
    vacuous: bool


def answer(run: Run, raw: object, model: "Model | None" = None) -> Answer:
    """Decide every entity's verdict. Refuses (RequestRefused) what never made sense, and a brief
    (CompileUnavailable) where there is no model."""
    asked = request.parse(raw)
    compiled, as_of_source = None, "request" if asked.as_of else None
    pack = run.catalog.pack
    if asked.brief is not None:
        from closedset.brief import compile_brief

        compiled = compile_brief(pack, asked.brief, model)
        asked = compiled.over(asked)
        as_of_source = as_of_source or ("compiled" if asked.as_of else None)
    both = constraint.bind(pack, asked.constraints or [])
    bound = tuple(b for b in both if isinstance(b, Bound))
    unbound = tuple(b for b in both if isinstance(b, Unbound))
    expansions = [expansion.expand(b, _scale(run, b), run.surface_code) for b in bound]
    plan = planning.plan(run.catalog, expansions, asked.as_of)
    unasked = any(u.constraint.required for u in unbound) or not (compiled is None or compiled.whole)
    vacuous = not plan.required and (not bound or unasked)
    return Answer(asked, as_of_source, compiled, bound, unbound, plan, partition.judge(run, plan, vacuous), vacuous)


def _scale(run: Run, bound: Bound) -> int:
    columns = run.catalog.relations[bound.relation].slots.get(bound.name)
    return columns.scale if columns else 0


def search(
    generation: Generation, raw: object, model: "Model | None" = None, memo: Memo | None = None
) -> FullReply | CompactReply:
    """Answer a request with the reply its `detail` asks for; `model` compiles a brief; `memo` is shared by requests
    over the same generation."""
    return _reply(Run(generation, memo), raw, model)


def explain(generation: Generation, raw: object, model: "Model | None" = None) -> list[Step]:
    """Answer a request and give the statements that did, in order, as they ran."""
    run = Run(generation)
    _reply(run, raw, model)
    return run.steps


def the_partition(generation: Generation, raw: object, model: "Model | None" = None) -> pa.Table:
    """Every entity's verdict: `entity_id`, `verdict`, in id order; nothing per entity passes through Python."""
    run = Run(generation)
    with run.at_once():
        return partition_of(run, answer(run, raw, model))


def partition_of(run: Run, found: Answer) -> pa.Table:
    """The same of an answer that was found by this run."""
    import pyarrow.compute as pc

    ids = run.statement("search/all_entities.sql.j2")
    verdicts = pa.nulls(run.universe, pa.string())
    for verdict in Verdict:
        verdicts = pc.if_else(found.verdicts.overall.of(verdict).mask(), verdict.value, verdicts)
    return pa.table({"entity_id": ids.column("entity_id"), "verdict": verdicts})


def _reply(run: Run, raw: object, model: "Model | None") -> FullReply | CompactReply:
    with run.at_once():
        return _assembled(run, answer(run, raw, model))


def _assembled(run: Run, found: Answer) -> FullReply | CompactReply:
    asked, verdicts = found.asked, found.verdicts
    warrant = run.soon(
        lambda own: licence.licence(own, found.plan, verdicts, found.unbound, found.vacuous, found.compiled)
    )
    named, merged = None, []
    if asked.entity_ids is not None:
        meant = matches.named(run, asked.entity_ids)
        named = EntitySet.of_ordinals((one.ordinal for one in meant), run.universe)
        merged = [one for one in meant if one.asked != one.entity_id]
    ranked = ranking.rank(run, found.plan, verdicts, max(LIST_LIMIT, asked.offset + asked.page), named)
    pages = ranked if named is None else [r for r in ranked if r.ordinal in named]
    page = pages[asked.offset : asked.offset + asked.page]
    full = reply.assemble(run, found, warrant, ranked[:LIST_LIMIT], page, merged, f"req_{uuid.uuid4().hex}")
    if asked.detail == "full":
        return full
    lines = about.about(run, [r.ordinal for r in page])
    by_id = {m.entity_id: lines[r.ordinal] for m, r in zip(full.matches, page, strict=True) if r.ordinal in lines}
    on_pages = len(verdicts.overall.matched) if named is None else len(pages)
    return compact(full, asked.offset, on_pages, by_id)
