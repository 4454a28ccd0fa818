"""The engine answers as the reference does, in every field that the reference states.

`python -m tests.agree` runs the same comparison over thousands of stores.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from tests import reference, worlds
from tests import strategies as drawn
from tests.reference_store import Tables
from tests.said import Said, mentioned, state

from closedset.errors import RequestRefused
from closedset.ledger import State
from closedset.mapping import Map
from closedset.pack import Pack
from closedset.store import Store, in_memory

OTHERS = ("none", "not_recorded", "undetermined")
LIST_LIMIT, PAGE = 200, 50


def load(pack: Pack, mapping: Map, tables: Tables, said: State | None = None) -> Store:
    """The drawn tables as an export would arrive: every cell text, None an empty one."""
    return in_memory(pack, mapping, {name: arrow(name, rows, mapping) for name, rows in tables.items()}, said)


def arrow(name: str, rows: Sequence[Mapping[str, str | None]], mapping: Map) -> pa.Table:
    """A table with every column that its rows or the map name: an empty table has its columns too."""
    columns = dict.fromkeys(column for row in rows for column in row)
    for entry in (one for one in mapping.rows if one.table == name):
        cells = [*entry.cells().values()]
        columns |= dict.fromkeys([entry.entity, *(cell.column for cell in cells if cell.column)])
    columns |= dict.fromkeys(one.entity for one in mapping.entities if one.table == name)
    columns |= dict.fromkeys(one.column for _, one in mapping.statements() if one.table == name)
    return pa.table({c: pa.array([row.get(c) for row in rows], pa.string()) for c in columns})


def load_drawn(one: drawn.Store) -> Store:
    """A drawn store with what people said of it."""
    return load(one.pack, one.mapping, one.tables, state(one.said, one.mapping, one.tables))


def disagreement(store: Store, one: drawn.Store, request: dict[str, Any]) -> str | None:
    """The first place where the engine's reply differs from the reference's answer, or None."""
    try:
        expected: reference.Answer | None = reference.answer(*one[:3], request, said=one.said)
        title = None
    except reference.Refused as refused:
        expected, title = None, refused.title
    try:
        reply = store.search(request).model_dump(mode="json")
    except RequestRefused as refused:
        said = refused.detail["title"]
        return None if said == title else f"the engine refuses ({said!r}), the reference says {title!r}"
    if expected is None:
        return f"the reference refuses ({title!r}), the engine answers"
    said_here = one.said.among(mentioned(one.mapping, one.tables, {}))
    for place, ours, theirs in compared(expected, reply, request, said_here):
        if ours != theirs:
            return f"{place}: the engine says {theirs!r}, the reference {ours!r}"
    table = store.partition(request).to_pydict()
    partition = dict(zip(table["entity_id"], table["verdict"], strict=True))
    if partition != expected.verdicts or list(partition) != sorted(partition):
        return f"partition: the engine says {partition!r}, the reference {expected.verdicts!r}"
    return None


def compared(
    answer: reference.Answer, reply: Mapping[str, Any], request: Mapping[str, Any], said: Said
) -> Iterator[tuple[str, Any, Any]]:
    """(place in the reply, the reference's value, the engine's value)."""
    bound = request.get("list_limit", LIST_LIMIT)
    yield "bound", answer.bound, reply["bound"]
    yield "unbound_because", answer.unbound_because, reply.get("unbound_because")
    yield "gaps.unbound", answer.unbound, [(gap["index"], gap["reason"]) for gap in reply["gaps"]["unbound"]]
    counts = dict(reply["counts"])
    alone = counts.pop("per_constraint")
    yield "counts", answer.counts, counts
    for i, one in enumerate(answer.per_constraint):
        yield f"counts.per_constraint[{i}]", one, {key: alone[i][key] for key in one}
    yield "expansion", answer.expansion, reply["expansion"]
    ids = {name: reference.ids(answer.verdicts, name)[:bound] for name in OTHERS}
    ranked = [entity for entity, _, _ in answer.ranking][:LIST_LIMIT]
    yield "entities", {"matched": ranked, **ids}, reply["entities"]
    yield "groups", len(answer.groups), len(reply["groups"])
    for ours, theirs in zip(answer.groups, reply["groups"], strict=True):
        yield from compared_group(ours, theirs, reply, bound, request.get("as_of"))
        yield from compared_coverage(answer.vouched[ours["relation"]], theirs)
    yield from compared_matches(answer, reply, request, said)
    yield from compared_licence(answer, reply)


def compared_group(
    ours: dict[str, Any], theirs: dict[str, Any], reply: Mapping[str, Any], bound: int, as_of: str | None
) -> Iterator[tuple[str, Any, Any]]:
    i = ours["index"]
    for key in ours.keys() - {"split", "ids", "time_test", "absent"}:
        yield f"groups[{i}].{key}", ours[key], theirs[key]
    test = ours["time_test"] and {"month": as_of, **ours["time_test"]}
    yield f"groups[{i}].time_test", test, theirs["time_test"]
    absence = theirs["absence"]
    yield f"groups[{i}].absence.split", ours["split"], absence["split"]
    for name in ("none", "not_recorded"):
        said = [one["entity_id"] for one in absence[name]]
        yield f"groups[{i}].absence.{name}", ours["absent"][name][:bound], said
    for name in OTHERS:
        (listing,) = (one for one in reply[name] if one["group"] == i)
        found = ours["ids"][name]
        wanted = {
            "group": i,
            "relation": ours["relation"],
            "entity_ids": found[:bound],
            "total": len(found),
        }
        yield f"{name} of group {i}", wanted, listing


def compared_coverage(vouched: set[str], theirs: dict[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Whom an operator says was looked at, among those listed without a row."""
    for one in theirs["absence"]["none"]:
        entity, said_by = one["entity_id"], {record["declared_by"] for record in one["coverage"]}
        yield f"who covers {entity}", entity in vouched, "operator" in said_by
        yield f"anybody covers {entity}", True, bool(said_by)


def compared_matches(
    answer: reference.Answer, reply: Mapping[str, Any], request: Mapping[str, Any], said: Said
) -> Iterator[tuple[str, Any, Any]]:
    """The page: which matches, their rank and key, and their rows with the place each came from."""
    wanted = request.get("entity_ids")
    if wanted is not None:
        asked = sorted({name.strip() for name in wanted})
        moved = [{"asked": name, "entity_id": said.who(name)} for name in asked if said.who(name) != name]
        known = [one for one in moved if one["entity_id"] in answer.verdicts]
        yield "merged", known, reply.get("merged", [])
        wanted = [said.who(name) for name in asked]
    start = request.get("offset", 0)
    ranked = [(rank, *key) for rank, key in enumerate(answer.ranking, 1) if wanted is None or key[0] in wanted]
    page = ranked[start : start + request.get("limit", PAGE)]
    yield "matches", [entity for _, entity, _, _ in page], [match["entity_id"] for match in reply["matches"]]
    for (rank, entity, liked, distances), match in zip(page, reply["matches"], strict=True):
        key = match["rank_key"]
        placed = (match["rank"], key["optional_groups_satisfied"], key["threshold_distance"])
        yield f"rank of {entity}", (rank, liked, distances), placed
        yield f"rows of {entity}", len(answer.rows[entity]), len(match["rows"])
        for ours, theirs in zip(answer.rows[entity], match["rows"], strict=True):
            shown = (theirs["relation"], theirs["slots"], theirs["satisfies_groups"])
            yield f"a row of {entity}", (ours.relation, dict(ours.slots), ours.satisfies_groups), shown
            yield f"whose row of {entity}", ours.entity_id, theirs.get("source_entity_id", entity)
            places = {(one["db_table"], one["row"] - 1) for one in theirs["slot_receipts"].values()}
            own = {(ours.table, ours.ordinal)} if places else set()
            yield f"where a row of {entity} came from", own, places
    yield "truncated", len(page) < answer.counts["matched"], reply["truncated"]
    delivered = sum(len(answer.rows[entity]) for _, entity, _, _ in page)
    yield "provenance", {"declared": delivered, "extracted": 0}, reply["provenance"]


def compared_licence(answer: reference.Answer, reply: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    hidden = answer.counts["matched"] - len(reply["matches"])
    codes = [code for code, _ in answer.reasons]
    if codes:
        coverage = {"completeness_licensed": False, "withheld_because": "narrowed", "narrowed_by": codes}
    elif hidden:
        coverage = {"completeness_licensed": False, "withheld_because": "truncated"}
    else:
        coverage = {"completeness_licensed": True}
    yield "coverage", coverage, reply["coverage"]
    reasons = answer.reasons or ([("truncated", hidden)] if hidden else [])
    said = [(one["code"], one["count"]) for one in reply["licence"]["reasons"]]
    yield "licence", (not reasons, reasons), (reply["licence"]["granted"], said)


def contradiction(store: Store, one: drawn.Store, request: dict[str, Any]) -> str | None:
    """What the possible worlds hold against the engine's own answer, or None (also when it refuses)."""
    try:
        reply = store.search({**request, "limit": 500, "offset": 0}).model_dump(mode="json")
    except RequestRefused:
        return None
    table = store.partition(request).to_pydict()
    codes = reply["coverage"].get("narrowed_by", [])
    whole = worlds.everything_asked(request, one.pack)
    return worlds.contradiction(
        worlds.memberships(*one[:3], request, said=one.said),
        dict(zip(table["entity_id"], table["verdict"], strict=True)),
        not codes,
        exact=worlds.slots_named_once(request, one.pack),
        whole=whole and not any(code.startswith("unattributed") for code in codes),
    )


# The named subset that CI runs; `python -m tests.agree` runs as many as asked.
@pytest.mark.parametrize("block", range(8))
def test_the_engine_answers_as_the_reference_does(block: int) -> None:
    for seed in range(block * 12, block * 12 + 12):
        one = drawn.random_store(seed)
        with load_drawn(one) as store:
            for request in one.requests:
                found = disagreement(store, one, request)
                assert found is None, f"random_store({seed}): {request}: {found}"


@pytest.mark.parametrize("block", range(4))
def test_no_world_contradicts_the_engine(block: int) -> None:
    for seed in range(block * 12, block * 12 + 12):
        one = drawn.tiny_store(seed)
        with load_drawn(one) as store:
            for request in one.requests:
                found = contradiction(store, one, request)
                assert found is None, f"tiny_store({seed}): {request}: {found}"


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(drawn.stores())
def test_the_engine_answers_whatever_is_drawn_as_the_reference_does(one: drawn.Store) -> None:
    with load_drawn(one) as store:
        for request in one.requests:
            assert disagreement(store, one, request) is None
