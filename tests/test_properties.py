"""What holds of every store and every request, each property named as a sentence (DESIGN section 8).

The stores are drawn by seed and asked their own requests; a failing assertion names the seed that draws it again.
"""

import contextlib
import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from tests import strategies
from tests.said import state
from tests.test_engine_agrees import load
from tests.tiny import ask, store, where

from closedset.errors import RequestRefused
from closedset.store import Store

SETS = ("matched", "none", "not_recorded", "undetermined")
PAGE = ("detail", "limit", "offset", "entity_ids", "list_limit")
SEEDS = range(9000, 9020)
Json = dict[str, Any]


@dataclass(frozen=True)
class Drawn:
    """A drawn store, loaded, with each of its requests that is not refused and the whole reply to it."""

    seed: int
    held: Store
    asked: list[tuple[Json, Json]]

    @property
    def rng(self) -> random.Random:
        return random.Random(self.seed)


def draw(seed: int, *, shuffled: bool = False, apart: bool = False, threads: int | None = None) -> Drawn:
    one = strategies.random_store(seed)
    tables = one.tables
    if apart:
        tables = {
            name: [
                {**row, "id": row["id"] and row["id"].strip() and f"{row['id']}.{name}.{n}"}
                for n, row in enumerate(rows)
            ]
            for name, rows in tables.items()
        }
    if shuffled:
        rng = random.Random(seed)
        tables = {name: rng.sample(rows, len(rows)) for name, rows in tables.items()}
    # A row is corrected wherever a later load puts it; ids that are taken apart are others than anybody spoke of.
    held = load(one.pack, one.mapping, tables, None if apart else state(one.said, one.mapping, one.tables))
    if threads:
        held.generation().cursor().execute(f"SET threads = {threads}").fetchall()
    asked = []
    for drawn in one.requests:
        request = {k: v for k, v in drawn.items() if k not in PAGE}
        with contextlib.suppress(RequestRefused):
            asked.append((request, said(held, request)))
    return Drawn(seed, held, asked)


def said(held: Store, request: Mapping[str, Any], **more: Any) -> Json:
    reply: Json = held.search({**request, **more}).model_dump(mode="json")
    return reply


@pytest.fixture(scope="module")
def stores() -> list[Drawn]:
    return [draw(seed) for seed in SEEDS]


def every(stores: list[Drawn]) -> Iterator[tuple[Drawn, Json, Json]]:
    for one in stores:
        for request, reply in one.asked:
            yield one, request, reply


def without(value: Any, *keys: str) -> Any:
    """A reply without some keys, at any depth."""
    if isinstance(value, dict):
        return {k: without(v, *keys) for k, v in value.items() if k not in keys}
    return [without(v, *keys) for v in value] if isinstance(value, list) else value


def timeless(reply: Json) -> str:
    """A reply's bytes without what is the call's own or the load's clock."""
    return json.dumps(without(reply, "request_id", "loaded_at"), ensure_ascii=False)


# --- the partition and the licence -----------------------------------------------------------------------


def test_every_entity_is_in_exactly_one_set_of_the_whole_of_every_group_and_of_every_constraint(
    stores: list[Drawn],
) -> None:
    for one, request, reply in every(stores):
        counts = reply["counts"]
        assert counts["bound"] == counts["matched"] + counts["none"]
        ids = [e for s in SETS for e in reply["entities"][s]]
        verdicts = one.held.partition(request)
        assert sorted(ids) == verdicts.column("entity_id").to_pylist(), one.seed
        assert Counter(verdicts.column("verdict").to_pylist()) == Counter({s: counts[s] for s in SETS if counts[s]})
        bound = [c for c in counts["per_constraint"] if c["status"] == "bound"]
        for judged in (counts, *reply["groups"], *bound):
            assert sum(judged[s] for s in SETS) == counts["universe"] == len(ids), one.seed
        for group in reply["groups"]:
            split = group["absence"]["split"]
            assert split["recorded"] + split["none"] == group["covered"], one.seed
            assert split["not_recorded"] == group["not_recorded"], one.seed
            assert group["covered"] + group["not_recorded"] == counts["universe"], one.seed


def test_the_licence_is_granted_exactly_when_nobody_is_open_and_nothing_went_unasked(stores: list[Drawn]) -> None:
    granted = 0
    for one, _, reply in every(stores):
        counts = reply["counts"]
        narrowed = reply["coverage"].get("narrowed_by", [])
        unasked = [f"constraint_unbound:{gap['index']}" for gap in reply["gaps"]["unbound"]
                   if counts["per_constraint"][gap["index"]]["constraint"]["required"]]  # fmt: skip
        assert set(unasked) <= set(narrowed), one.seed
        if counts["not_recorded"] + counts["undetermined"]:
            assert narrowed, one.seed
        elif counts["universe"]:
            codes = {code.partition(":")[0] for code in narrowed}
            assert codes <= {"constraint_unbound", "unattributed_rows_withheld"}, one.seed
        assert reply["licence"]["granted"] == reply["coverage"]["completeness_licensed"]
        assert bool(reply["licence"]["reasons"]) != reply["licence"]["granted"]
        granted += reply["licence"]["granted"]
    assert granted > 3


def test_a_preference_never_removes_or_adds_anyone_and_never_withholds(stores: list[Drawn]) -> None:
    for one, request, reply in every(stores):
        sent = [c["constraint"] for c in reply["counts"]["per_constraint"]]
        required = [c for c in sent if c["required"]]
        likings = [{**c, "required": False} for _, other in one.asked for c in
                   (p["constraint"] for p in other["counts"]["per_constraint"])]  # fmt: skip
        if not required:
            continue
        plain = said(one.held, {**request, "constraints": required})
        for liked in one.rng.sample(likings, min(2, len(likings))):
            both = said(one.held, {**request, "constraints": [*required, liked]})
            for verdict in SETS:
                assert sorted(plain["entities"][verdict]) == sorted(both["entities"][verdict]), one.seed
            assert plain["coverage"] == both["coverage"], one.seed
            assert plain["licence"] == both["licence"], one.seed


# --- three values ----------------------------------------------------------------------------------------


def test_rows_where_a_condition_holds_fails_and_is_unknown_are_together_all_rows() -> None:
    counted: Counter[str] = Counter()
    for seed in SEEDS:
        # Every row about an entity of its own, so that the verdicts count rows.
        one = draw(seed, apart=True)
        for _, _, reply in every([one]):
            for count in reply["counts"]["per_constraint"]:
                asked = {**count["constraint"], "required": True}
                if count["status"] != "bound" or asked["op"] not in ("eq", "ne"):
                    continue
                yes, no = (said(one.held, {"constraints": [{**asked, "op": op}]})["counts"] for op in ("eq", "ne"))
                rows = {"true": yes["matched"], "false": no["matched"], "unknown": yes["undetermined"]}
                assert sum(rows.values()) == one.held.catalog.relations[asked["relation"]].rows, seed
                assert no["undetermined"] == rows["unknown"], seed
                assert yes["per_constraint"][0]["rows"] == rows["true"], seed
                assert no["per_constraint"][0]["rows"] == rows["false"], seed
                counted.update(rows)
    assert min(counted.values()) > 30


def test_a_condition_and_its_negation_are_never_both_licensed_empty(stores: list[Drawn]) -> None:
    for one, request, reply in every(stores):
        for count in reply["counts"]["per_constraint"]:
            asked = {**count["constraint"], "required": True}
            if asked["op"] not in ("eq", "ne"):
                continue
            both = [said(one.held, {**request, "constraints": [{**asked, "op": op}]}) for op in ("eq", "ne")]
            if any(r["counts"]["matched"] or not r["licence"]["granted"] for r in both):
                continue
            # Then nobody has a row at all, or none that could count at the month.
            for empty in both:
                assert [g["active_rows"] + g["unanswerable_rows"] for g in empty["groups"]] == [0], one.seed
            if "as_of" not in request:
                assert one.held.catalog.relations[asked["relation"]].rows == 0, one.seed


# --- pages, names, order ---------------------------------------------------------------------------------


def test_withholding_never_depends_on_the_page(stores: list[Drawn]) -> None:
    pages: list[Json] = [{"limit": 1, "list_limit": 0}, {"offset": 2}, {"entity_ids": []}]
    for one, request, whole in every(stores):
        for page in pages:
            reply = said(one.held, request, **page)
            assert reply["coverage"].get("narrowed_by") == whole["coverage"].get("narrowed_by"), one.seed
            for same in ("counts", "expansion", "map_version", "gaps"):
                assert reply[same] == whole[same], one.seed
            assert reply["entities"]["matched"] == whole["entities"]["matched"], one.seed
            if "narrowed_by" in whole["coverage"]:
                assert reply["licence"] == whole["licence"], one.seed


@pytest.mark.parametrize("detail", ["full", "compact"])
def test_the_pages_are_disjoint_and_their_union_is_the_whole_set_in_order(stores: list[Drawn], detail: str) -> None:
    for one, request, whole in every(stores):
        limit = one.rng.randint(1, 3)
        walked: list[Json] = []
        while True:
            page = said(one.held, request, limit=limit, offset=len(walked), detail=detail)
            walked += page["matches"]
            if len(page["matches"]) < limit:
                break
        assert [m["entity_id"] for m in walked] == whole["entities"]["matched"], one.seed
        if detail == "full":
            assert walked == whole["matches"], one.seed
            assert [m["rank"] for m in walked] == list(range(1, len(walked) + 1)), one.seed


def test_next_offset_leads_through_the_whole_set_and_ends_with_it(stores: list[Drawn]) -> None:
    for one, request, whole in every(stores):
        offset: int | None = 0
        walked: list[str] = []
        while offset is not None:
            page = said(one.held, request, limit=2, offset=offset, detail="compact")
            walked += [m["entity_id"] for m in page["matches"]]
            offset = page["matched"]["next_offset"]
        assert walked == whole["entities"]["matched"], one.seed


def test_named_entities_are_delivered_as_in_the_whole_set(stores: list[Drawn]) -> None:
    for one, request, whole in every(stores):
        named = one.rng.sample(whole["entities"]["matched"], min(2, whole["counts"]["matched"]))
        reply = said(one.held, request, entity_ids=[*named, "nobody"])
        assert reply["matches"] == [m for m in whole["matches"] if m["entity_id"] in named], one.seed
        assert reply["counts"] == whole["counts"], one.seed


def test_a_delivered_row_reads_again_as_it_is_stored(stores: list[Drawn]) -> None:
    delivered = 0
    for one, _, reply in every(stores):
        for match in reply["matches"]:
            assert match["rows"] or not [g for g in reply["groups"] if g["required"]], one.seed
            for row in match["rows"]:
                delivered += 1
                assert row["satisfies_groups"], one.seed
                assert all(r["byte_verified"] for r in row["slot_receipts"].values()), one.seed
                stated = {slot for slot, text in row["slots"].items() if text is not None}
                assert set(row["slot_receipts"]) == stated, one.seed
    assert delivered > 50


# --- the same bytes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("threads", [1, 4])
def test_the_same_bytes_for_any_thread_count(stores: list[Drawn], threads: int) -> None:
    for one in stores[::2]:
        again = draw(one.seed, threads=threads)
        assert [timeless(r) for _, r in again.asked] == [timeless(r) for _, r in one.asked], one.seed


def unplaced(reply: Json) -> Any:
    """A reply without the places of its rows in their files, which is all that a shuffled file may change."""
    plain = without(reply, "request_id", "loaded_at", "row_id", "row")
    for match in plain["matches"]:
        match["rows"].sort(key=lambda row: json.dumps(row, sort_keys=True))
    return plain


def test_the_same_reply_for_any_row_order_of_the_files(stores: list[Drawn]) -> None:
    for one in stores:
        again = draw(one.seed, shuffled=True)
        for (_, reply), (_, shuffled) in zip(one.asked, again.asked, strict=True):
            assert unplaced(reply) == unplaced(shuffled), one.seed


@pytest.mark.parametrize("threads", [1, 8])
def test_120_people_alike_are_paged_in_id_order_whatever_the_file_and_the_threads(threads: int) -> None:
    ids = [f"p{i:03}" for i in range(120)]
    replies = []
    for rows in (ids, random.Random(threads).sample(ids, 120)):
        held = store({"role": [{"id": one, "level": "VP"} for one in rows]})
        held.generation().cursor().execute(f"SET threads = {threads}").fetchall()
        vps = where("role.level", "gte", "VP")
        pages = [ask(held, vps, offset=n, detail="compact", limit=50) for n in (0, 50, 100)]
        replies.append([timeless(page) for page in pages])
        assert [m["entity_id"] for page in pages for m in page["matches"]] == ids
    assert replies[0] == replies[1]
