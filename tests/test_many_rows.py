"""What a load does only with very many rows or texts (plain cells read by SQL, term indexes, kinds of rows)
changes no answer."""

import itertools
import random
from typing import Any

import pyarrow as pa
import pytest
from tests import agree

from closedset import ranking, search
from closedset.load import column
from closedset.mapping import Map
from closedset.pack import Pack
from closedset.store import in_memory

PACK = Pack.model_validate(
    {
        "pack": "plain",
        "relations": {"fact": {"dated": True, "slots": {"said": "text", "amount": "number", "day": "date"}}},
    }
)
WORDS = (
    "", " ", "a", "A b", "A  b", " a", "a ", "İ", "ß", "Straße", "ﬁ", "e\u0301", "a\tb", "a\nb", "NA", "-", "n/a",
    "\u00a0x", "0", "00", "007", "-0", "-1", "+1", "1.", ".5", "1.50", "1.5", "-1.500", "1e5", "1,5", "1.299,99",
    "NaN", "inf", "123456789012345678", "1234567890123456789", "12345678901234567890123456789012345678.9",
    "0.123456789", "0.1234567891", "0.00000000000000000000000000000000000001", "１２", "1 000", "$5", "2024", "2024-02",
    "2024-02-30", "2024-02-29", "2023-02-29", "0000-01-01", "0001-01-01", "9999-12-31", "2024-1-1", "2024-02-00",
    "2024-00-00", "2024-01-01T00:00:00Z", "2024-01-01 24:00", "2024-01-01 23:59:60", "2024-01-01T10:00:00.123+02:00",
    "2024-01-01T1:00", "2024-01-01T10:00:00+0200", "2024-01-01T10:00:00+02", "2024-01-01 10:00 +02:00",
    "2024-01-01T10", "2024-01-01T10:00:00+99:00", "2024-01-01T10:00:00+18:01", "2024-01-01T24:30",
    "01/02/2024", "2024-13-01", "2024-01-32", "12024-01-01", "45292",
)  # fmt: skip


def generation(rows: list[dict[str, Any]], how: dict[str, Any]) -> tuple[list[tuple[Any, ...]], Any, Any]:
    """The coded rows, the load's figures and the column scales of a store over these rows."""
    slots = {"said": {"column": "said"}, "amount": {"column": "amount"}, "day": {"column": "day"}}
    slots = {name: {**cell, **how.get(name, {})} for name, cell in slots.items()}
    mapping = Map.model_validate(
        {
            "source": "s",
            "null": how.get("null", []),
            "rows": [{"relation": "fact", "from": "t", "entity": "id", "slots": slots, "period": ["from", "to"]}],
        }
    )
    columns = {name: pa.array([row[name] for row in rows], pa.string()) for name in rows[0]}
    with in_memory(PACK, mapping, {"t": pa.table(columns)}) as store:
        held = store.generation().cursor().execute("SELECT * FROM rows_fact ORDER BY _row").fetchall()
        catalog = store.catalog
        return held, [r.model_dump() for r in catalog.reports], catalog.relations["fact"].model_dump()


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"null": ["NA", "-", "0"]},
        {"said": {"null": ["a"]}, "amount": {"null": ["1.5"]}, "day": {"null": ["2024-02-29"]}},
        {"amount": {"decimal": ","}},
        {"amount": {"decimal": ",", "grouping": "."}},
        {"amount": {"grouping": ","}},
        {"said": {"pattern": "[a-z]+"}, "amount": {"pattern": "[0-9]+", "mismatch": "unrecorded"}},
        {"said": {"absent": "nothing"}, "amount": {"absent": "0"}, "day": {"absent": "2024"}},
        {"day": {"dates": ["%d/%m/%Y"], "excel_serial": True}},
    ],
    ids=str,
)
def test_a_column_of_many_texts_is_read_as_each_of_its_texts_is(
    how: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(str(how))
    rows = [
        {"id": f"e{i % 50}", **{name: chance.choice(WORDS) for name in ("said", "amount", "day", "from", "to")}}
        for i in range(1500)
    ]
    text_by_text = generation(rows, how)
    monkeypatch.setattr(column, "_MANY", -1)
    assert generation(rows, how) == text_by_text


@pytest.mark.parametrize("by_kind", [True, False])
def test_stores_built_as_of_very_many_rows_agree_with_the_reference(
    by_kind: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    agree.as_of_very_many_rows(monkeypatch, by_kind)
    tallies = [agree.against_reference(seed, most=2) for seed in range(500, 540)]
    assert [told for tally in tallies for told in tally.found] == []
    assert sum(tally.requests for tally in tallies) > 60


def test_a_relation_may_have_very_many_slots() -> None:
    names = [f"c{i}" for i in range(300)]
    slots = {name: ("text", "number", "date", {"term": "axis"})[i % 4] for i, name in enumerate(names)}
    pack = {"pack": "wide", "axes": {"axis": {"terms": ["1", "2"]}}, "relations": {"fact": {"slots": slots}}}
    columns = {name: pa.array([str(1 + i % 9), "", "2024"], pa.string()) for i, name in enumerate(names)}
    one = {"relation": "fact", "from": "t", "entity": "id", "slots": {name: name for name in names}}
    mapping = {"source": "s", "rows": [one]}
    table = pa.table({"id": pa.array(["a", "b", "c"]), **columns})
    asked = [
        {"relation": "fact", "slot": "c299", "op": "eq", "value": "1"},
        {"relation": "fact", "slot": "c1", "op": "eq", "value": 2},
        {"relation": "fact", "slot": "c288", "op": "eq", "value": "1"},
        {"relation": "fact", "slot": "c298", "op": "eq", "value": "2024"},
    ]
    with in_memory(Pack.model_validate(pack), Map.model_validate(mapping), {"t": table}) as store:
        found = [store.search({"constraints": [one]}).model_dump()["entities"] for one in asked]
    assert [one["matched"] for one in found] == [[], ["a"], ["a"], ["c"]]
    assert [one["undetermined"] for one in found] == [["a", "b", "c"], ["b"], ["b"], ["a", "b"]]


RANKED = Pack.model_validate(
    {
        "pack": "ranked",
        "axes": {"level": {"order": ["low", "middle", "high", "top"]}},
        "relations": {
            "fact": {"slots": {"level": {"term": "level"}, "fee": "number", "day": "date"}},
            "check": {"slots": {"fee": "number"}},
        },
    }
)
FACT = [
    {"relation": "fact", "slot": "level", "op": "gte", "value": "low"},
    {"relation": "fact", "slot": "fee", "op": "gte", "value": 3},
    {"relation": "fact", "slot": "day", "op": "gte", "value": "2020-01"},
    {"relation": "check", "slot": "fee", "op": "lte", "value": 8},
]
PREFERRED = [
    {"relation": "check", "slot": "fee", "op": "gte", "value": 7, "required": False},
    {"relation": "fact", "slot": "level", "op": "lte", "value": "high", "required": False},
]


@pytest.mark.parametrize("seed", range(2))
def test_leaving_out_whoever_cannot_be_first_changes_no_page(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(seed)
    ids = [f"e{chance.randrange(120):03d}" for _ in range(400)]
    columns = {
        "id": ids,
        "level": [chance.choice(["low", "low", "middle", "high", "top", ""]) for _ in ids],
        "fee": [chance.choice(["3", "3", "4", "5.5", "9", "", "x"]) for _ in ids],
        "day": [chance.choice(["2020-01-01", "2020", "2020-02-03", "2021-05", "2019", ""]) for _ in ids],
    }
    table = pa.table({name: pa.array(values, pa.string()) for name, values in columns.items()})
    slots = {"level": "level", "fee": "fee", "day": "day"}
    mapping = Map.model_validate(
        {
            "source": "s",
            "rows": [
                {"relation": "fact", "from": "t", "entity": "id", "slots": slots},
                {"relation": "check", "from": "t", "entity": "id", "slots": {"fee": "fee"}},
            ],
        }
    )
    asked = [list(some) for n in (1, 2) for some in itertools.permutations(FACT, n)]
    asked += [[*some, *PREFERRED[:n]] for some in asked[:8] for n in (1, 2)]
    monkeypatch.setattr(search, "LIST_LIMIT", 5)

    def pages() -> list[Any]:
        requests = [{"constraints": some, "limit": 5, "offset": offset} for some in asked for offset in (0, 4)]
        replies = [store.search(request).model_dump(mode="json") for request in requests]
        return [(r["matches"], r["entities"]["matched"], r["counts"]) for r in replies]

    with in_memory(RANKED, mapping, {"t": table}) as store:
        with monkeypatch.context() as patch:
            patch.setattr(ranking, "_closest", lambda *_: None)
            whole = pages()
        assert pages() == whole
        # With as few rows as matches these are often too few: then more are read, or all.
        for rows, more in ((1, 2), (1, 1)):
            monkeypatch.setattr(ranking, "_ROWS_A_MATCH", rows)
            monkeypatch.setattr(ranking, "_MORE_ROWS_A_MATCH", more)
            assert pages() == whole
        monkeypatch.setattr(ranking, "_MANY", 0)
        assert pages() == whole
        assert sum(counts["matched"] > 10 for *_, counts in whole) > 20
