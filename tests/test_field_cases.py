"""Public complaints turned into tiny exports: written as files, loaded as a user loads them, asked, and the right
answer stated. `tests/cases/*.yaml` hold them; every text there is the text that was typed.

A file of cases has a `pack` and a `map` for its cases, which a case may replace. A case has `files` (text, or
`{text, encoding}`, `{hex}`, `{parquet: SELECT}`, `{twins: [names]}`), and what must come of them: `report` figures,
`near` (ids that look alike), `refused` (parts of the refusal's text), `asks`, `months`, `sql` (what an analyst would
type into DuckDB alone, beside our answer), and `then`: further loads into the same store. `like: CASE` takes over
what the case does not state.

An ask is `[@MONTH] [prefer] relation.slot OP value [| value]; …` with OP one of = ≠ in ≥ ≤, or a `request` as JSON.
Sets not named are empty, `withheld` not named means that the licence is granted; both are always checked.
"""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

import closedset
import closedset.load
from closedset.errors import ClosedsetError, RequestRefused
from closedset.store import Store

CASES = Path(__file__).parent / "cases"
SETS = ("matched", "none", "not_recorded", "undetermined")
OPS = {"=": "eq", "≠": "ne", "in": "in", "≥": "gte", "≤": "lte"}
Case = dict[str, Any]


def read_cases() -> dict[str, Case]:
    cases: dict[str, Case] = {}
    for file in sorted(CASES.glob("?_*.yaml")):
        whole = yaml.load(file.read_text(encoding="utf-8"), Loader=yaml.BaseLoader)
        defaults = {k: v for k, v in whole.items() if k != "cases"}
        for case in whole["cases"]:
            assert case["case"] not in cases, case["case"]
            former = cases.get(case.get("like", ""), {})
            taken = {k: v for k, v in former.items() if k in ("pack", "map", "files")}
            cases[case["case"]] = {**defaults, **taken, **case}
    return cases


ALL = read_cases()


def write(folder: Path, name: str, said: Any) -> None:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(said, str):
        file.write_bytes(said.encode())
    elif "text" in said:
        file.write_bytes(said["text"].encode(said["encoding"]))
    elif "hex" in said:
        file.write_bytes(bytes.fromhex(said["hex"]))
    elif "twins" in said:
        pq.write_table(pa.table([pa.array(["e1"]) for _ in said["twins"]], names=said["twins"]), file)
    else:
        with duckdb.connect() as con:
            con.execute("SET TimeZone = 'UTC'")
            con.execute(f"COPY ({said['parquet']}) TO '{file}' (FORMAT parquet)")


def request(asked: str) -> dict[str, Any]:
    said: dict[str, Any] = {"constraints": []}
    if asked.startswith("@"):
        month, asked = asked[1:].split(" ", 1)
        said["as_of"] = month
    for part in asked.split("; "):
        required = not part.startswith("prefer ")
        place, op, value = part.removeprefix("prefer ").split(" ", 2)
        relation, slot = place.split(".")
        values = value.split(" | ") if op == "in" else value
        said["constraints"].append(
            {"relation": relation, "slot": slot, "op": OPS[op], "value": values, "required": required}
        )
    return said


# --- one case -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
def test_the_field_case_gets_the_right_answer(name: str, tmp_path: Path) -> None:
    run(ALL[name], tmp_path)


def run(case: Case, folder: Path) -> None:
    """Load and ask a case and what follows it. Raises AssertionError at the first wrong value."""
    export, store = folder / "export", folder / "store"
    export.mkdir(parents=True)
    for kind in ("pack", "map"):
        (folder / f"{kind}.yaml").write_text(json.dumps(case[kind], ensure_ascii=False), encoding="utf-8")
    for step in (case, *case.get("then", [])):
        for name, said in step.get("files", {}).items():
            write(export, name, said)
        load(step, folder, case.get("paths"))
        if (store / "CURRENT").exists():
            with closedset.open(store) as opened:
                look(step, opened)
        else:
            assert "refused" in step
        for line in step.get("sql", []):
            contrast(line, export)


def load(step: Case, folder: Path, paths: list[str] | None) -> None:
    export, store = folder / "export", folder / "store"
    before = bytes_of(store)
    given = [export / p for p in paths] if paths else [export]
    accept = "accept_shrink" in step
    if "refused" in step:
        with pytest.raises(ClosedsetError) as refusal:
            closedset.load.load(store, folder / "pack.yaml", given, mapping=folder / "map.yaml", accept_shrink=accept)
        for part in step["refused"]:
            assert part in str(refusal.value), str(refusal.value)
        assert bytes_of(store) == before
        return
    loaded = closedset.load.load(store, folder / "pack.yaml", given, mapping=folder / "map.yaml", accept_shrink=accept)
    assert loaded.unchanged == ("unchanged" in step)
    for one in loaded.catalog.reports:
        assert one.read == one.loaded + one.withheld + one.unattributed
        for slot in one.slots.values():
            # A slot's figures count every readable row of its table, those of nobody too.
            readable = slot.recorded + slot.empty + slot.unreadable.rows + slot.reversed
            assert one.loaded <= readable <= one.read
    for said in step.get("report", []):
        (report,) = (r for r in loaded.catalog.reports if r.relation == said["relation"] and r.slots)
        assert {k: str(getattr(report, k)) for k in said} == said
    if "near" in step:
        assert loaded.catalog.near_duplicates.first == step["near"]
    if "unchanged" in step:
        assert bytes_of(store) == before


def bytes_of(store: Path) -> dict[str, str]:
    """Every byte a reader may see."""
    names = [store / "CURRENT", *(store / "generations").glob("*")] if store.is_dir() else []
    return {f.name: hashlib.sha256(f.read_bytes()).hexdigest() for f in names if f.is_file()}


# --- what a step says of the store ----------------------------------------------------------------------


def look(step: Case, store: Store) -> None:
    for ask in step.get("asks", []):
        answer(ask, store)
    if "months" in step:
        every_month(step["months"], store)


def every_month(said: Case, store: Store) -> None:
    (year, month), last = map(int, said["from"].split("-")), said["to"]
    while (at := f"{year:04d}-{month:02d}") <= last:
        holders = [
            ask
            for ask in said["exactly_one"]
            if store.search({**request(ask), "as_of": at}).model_dump()["entities"]["matched"] == [said["matches"]]
        ]
        assert len(holders) == 1, (at, holders)
        year, month = (year, month + 1) if month < 12 else (year + 1, 1)


def answer(ask: Case, store: Store) -> None:
    asked = json.loads(ask["request"]) if "request" in ask else request(ask["ask"])
    if "refuses" in ask:
        with pytest.raises(RequestRefused) as refusal:
            store.search(asked)
        assert refusal.value.status == 422
        said = json.dumps(refusal.value.detail, ensure_ascii=False)
        assert all(part in said for part in ask["refuses"]), said
        return
    before = bytes_of(store.path) if store.path else {}
    reply = store.search(asked).model_dump(mode="json")
    partition = {s: [] for s in SETS} | {
        v: [r["entity_id"] for r in store.partition(asked).to_pylist() if r["verdict"] == v] for v in SETS
    }
    assert partition == {s: sorted(ask.get(s, [])) for s in SETS}, ask
    counts = reply["counts"]
    assert [counts[s] for s in SETS] == [len(partition[s]) for s in SETS]
    assert counts["universe"] == sum(counts[s] for s in SETS)
    assert counts["bound"] == counts["matched"] + counts["none"]
    withheld = {r["code"]: r["count"] for r in reply["licence"]["reasons"]}
    expected = {code: int(n) if n != "null" else None for code, n in ask.get("withheld", {}).items()}
    because = ask.get("withheld_because", "narrowed" if expected else None)
    assert reply["coverage"].get("withheld_because") == because, (ask, withheld)
    assert reply["coverage"]["completeness_licensed"] == (because is None)
    if because != "truncated":
        assert withheld == expected, ask
        assert reply["coverage"].get("narrowed_by", []) == list(withheld)
    said = " ".join(r["sentence"] for r in reply["licence"]["reasons"])
    assert all(part in said for part in ask.get("says", [])), said
    details(ask, reply)
    if "store_unchanged" in ask and store.path:
        assert bytes_of(store.path) == before


def details(ask: Case, reply: dict[str, Any]) -> None:
    text = json.dumps(reply, ensure_ascii=False)
    assert not [word for word in ask.get("never_says", []) if word in text]
    if "rows" in ask:
        assert [str(c["rows"]) for c in reply["counts"]["per_constraint"]] == ask["rows"]
    if "expansion" in ask:
        assert reply["expansion"] == ask["expansion"]
    if "order" in ask:
        assert reply["entities"]["matched"] == ask["order"]
    if "unbound" in ask:
        assert [u["reason"] for u in reply["gaps"]["unbound"]] == ask["unbound"]
    if "listed_none" in ask:
        assert reply["entities"]["none"] == ask["listed_none"]
    delivered = {m["entity_id"]: m for m in reply["matches"]}
    if "delivers" in ask:
        assert list(delivered) == ask["delivers"]
    for entity, rows in ask.get("delivered", {}).items():
        ids = [r["row_id"] for r in delivered[entity]["rows"]]
        assert len(ids) == len(set(ids)) == int(rows)
    for entity, receipts in ask.get("receipts", {}).items():
        for place, cell in receipts.items():
            relation, slot = place.split(".")
            held = [r["slot_receipts"][slot] for r in delivered[entity]["rows"] if r["relation"] == relation]
            assert [h["cell"] for h in held] == [cell]
            assert all(h["byte_verified"] for h in held)
    listed = [a for g in reply["groups"] for kind in ("none", "not_recorded") for a in g["absence"][kind]]
    absent = {a["entity_id"]: a for a in listed}
    for entity, denominator in ask.get("denominators", {}).items():
        assert json.dumps(absent[entity]["denominator"]) == denominator
    if "split" in ask:
        assert {k: str(n) for k, n in reply["groups"][0]["absence"]["split"].items()} == ask["split"]
    if "only_in" in ask:
        found = set(keys_holding(reply, ask["only_in"]["text"]))
        assert found
        assert found <= set(ask["only_in"]["keys"])


def keys_holding(value: Any, text: str, key: str = "") -> Iterator[str]:
    """The keys under which a text stands in a reply; a text inside a key would be named by itself."""
    if isinstance(value, dict):
        for k, v in value.items():
            yield from ([k] if text in k else [])
            yield from keys_holding(v, text, k)
    elif isinstance(value, list):
        for v in value:
            yield from keys_holding(v, text, key)
    elif isinstance(value, str) and text in value:
        yield key


def contrast(line: Case, export: Path) -> None:
    """What DuckDB alone says to the SQL that a person would type: it must stay true while we claim it."""
    with duckdb.connect() as con:
        con.execute(f"SET file_search_path = '{export}'")
        rows = [[str(value) for value in row] for row in con.execute(line["query"]).fetchall()]
    assert rows == line["gives"], line["query"]


# --- the server's clock and place -----------------------------------------------------------------------


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Kolkata"])
def test_dates_mean_the_same_in_every_time_zone(zone: str, tmp_path: Path) -> None:
    script = "import sys, pathlib, tests.test_field_cases as t; t.run_dates(pathlib.Path(sys.argv[1]))"
    path = os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])
    env = {**os.environ, "TZ": zone, "PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def run_dates(folder: Path) -> None:
    for i, (name, case) in enumerate(ALL.items()):
        if name.startswith("C"):
            run({k: v for k, v in case.items() if k != "months"}, folder / str(i))


# --- generated cases ------------------------------------------------------------------------------------

PEOPLE = {
    "pack": {
        "pack": "people",
        "axes": {"outcome": {"terms": ["passed", "failed"]}},
        "relations": {"screening": {"slots": {"outcome": {"term": "outcome"}, "version": "text"}}},
    },
    "map": {
        "source": "export",
        "rows": [
            {
                "relation": "screening", "from": "screenings", "entity": "entity_id",
                "slots": {"outcome": "outcome", "version": "version"}, "looked_at": {"every": "screenings.entity_id"},
            }
        ],
    },
}  # fmt: skip
PASSED = {"constraints": [{"relation": "screening", "slot": "outcome", "op": "eq", "value": "passed"}]}


def loaded(folder: Path, lines: list[str], name: str = "screenings.csv") -> Store:
    """A store over `entity_id,outcome,version` lines."""
    folder.mkdir(parents=True, exist_ok=True)
    for kind in ("pack", "map"):
        (folder / f"{kind}.yaml").write_text(json.dumps(PEOPLE[kind]), encoding="utf-8")
    (folder / name).write_text("\n".join(["entity_id,outcome,version", *lines, ""]), encoding="utf-8")
    closedset.load.load(folder / "store", folder / "pack.yaml", [folder / name], mapping=folder / "map.yaml")
    return closedset.open(folder / "store")


def pages(store: Store, limit: int, most: int = 1000) -> list[Any]:
    """The matches of each page of the walk, of at most so many."""
    walk: list[Any] = []
    offset: int | None = 0
    while offset is not None and len(walk) < most:
        asked = {**PASSED, "limit": limit, "offset": offset, "detail": "compact"}
        walk.append(store.search({**asked, "detail": "full"}).model_dump(mode="json")["matches"])
        offset = store.search(asked).model_dump(mode="json")["matched"]["next_offset"]
    return walk


def test_b3_pages_are_disjoint_and_together_the_whole(tmp_path: Path) -> None:
    """B3. https://github.com/LanternOps/breeze/issues/3462 https://github.com/ClickHouse/ClickHouse/issues/70580
    https://github.com/lucyparsons/OpenOversight/pull/828"""
    lines = [f"p{i:03d},passed,1" for i in range(120)]
    with loaded(tmp_path / "a", lines) as store:
        walk = pages(store, 50)
    assert [len(page) for page in walk] == [50, 50, 20]
    assert [m["entity_id"] for page in walk for m in page] == [f"p{i:03d}" for i in range(120)]
    shuffled = sorted(lines, key=lambda line: hashlib.md5(line.encode()).hexdigest())
    with loaded(tmp_path / "b", shuffled) as store:
        other = pages(store, 50)
    ids = [[m["entity_id"] for m in page] for page in walk]
    assert [[m["entity_id"] for m in page] for page in other] == ids
    assert [m["rank_key"] for page in other for m in page] == [m["rank_key"] for page in walk for m in page]


@pytest.mark.parametrize("limit", [13, 119, 120, 121, 500])
def test_b3_any_page_size_walks_the_same_set(limit: int, tmp_path: Path) -> None:
    with loaded(tmp_path, [f"p{i:03d},passed,1" for i in range(120)]) as store:
        walk = pages(store, limit)
    assert [m["entity_id"] for page in walk for m in page] == [f"p{i:03d}" for i in range(120)]


def test_b3_the_same_bytes_with_one_thread_and_eight_and_after_a_reload(tmp_path: Path) -> None:
    lines = [f"p{i:05d},passed,{i % 3}" for i in range(30_000)]
    with loaded(tmp_path, lines) as store:
        walks = []
        for threads in (1, 8):
            store.generation().cursor().execute(f"SET threads = {threads}")
            walks.append(pages(store, 500, 2))
    assert walks[0] == walks[1]
    again = closedset.load.load(
        tmp_path / "store", tmp_path / "pack.yaml", [tmp_path / "screenings.csv"], mapping=tmp_path / "map.yaml"
    )
    assert again.unchanged
    with loaded(tmp_path, [*lines, "p99999,failed,0"]) as store:
        assert store.catalog.generation == 2
        assert pages(store, 500, 2) == walks[0]


def test_b5_a_page_says_of_what_it_is_a_page(tmp_path: Path) -> None:
    """B5. https://github.com/WingedGuardian/GENesis-AGI/issues/1591 https://github.com/gastownhall/beads/pull/5407
    https://github.com/mvanhorn/cli-printing-press/issues/1137 https://github.com/FlowFuse/flowfuse/issues/7919"""
    with loaded(tmp_path, [f"p{i:03d},passed,1" for i in range(502)]) as store:
        reply = store.search({**PASSED, "limit": 40, "detail": "compact"}).model_dump(mode="json")
        last = store.search({**PASSED, "limit": 40, "offset": 480, "detail": "compact"}).model_dump(mode="json")
        whole = store.search({**PASSED, "limit": 40}).model_dump(mode="json")
    assert reply["matched"] == {"total": 502, "showing": [1, 40], "next_offset": 40}
    assert (reply["complete"], reply["incomplete_because"]) == (False, ["truncated: 462"])
    assert [v for k, v in numbers(reply) if "total" in k] == [502]
    assert last["matched"] == {"total": 502, "showing": [481, 502], "next_offset": None}
    assert last["incomplete_because"] == ["truncated: 480"]
    assert (whole["counts"]["matched"], len(whole["entities"]["matched"]), whole["truncated"]) == (502, 200, True)


def numbers(value: Any, key: str = "") -> Iterator[tuple[str, int]]:
    if isinstance(value, dict):
        for k, v in value.items():
            yield from numbers(v, k)
    elif isinstance(value, list):
        for v in value:
            yield from numbers(v, key)
    elif isinstance(value, int) and not isinstance(value, bool):
        yield key, value


@pytest.mark.parametrize("odd", ["11.0.1", "", "eleven", "NaN", '"11,0"'])
def test_b7_a_column_that_changes_its_looks_late_loses_no_row(odd: str, tmp_path: Path) -> None:
    """B7. https://github.com/neiltron/apple-health-mcp/issues/23 https://github.com/duckdb/duckdb/issues/14177
    https://github.com/duckdb/duckdb/issues/13787"""
    lines = [f"p{i:05d},passed,10.5" for i in range(30_000)]
    with loaded(tmp_path, [*lines, f"q1,passed,{odd}", f"q2,failed,{odd}"]) as store:
        (report,) = store.catalog.reports
        reply = store.search(PASSED).model_dump(mode="json")
    assert (report.read, report.loaded, report.withheld, report.unattributed) == (30_002, 30_002, 0, 0)
    assert (reply["counts"]["matched"], reply["counts"]["none"]) == (30_001, 1)


def test_b7_twelve_point_seven_stays_so_after_the_sniffed_rows(tmp_path: Path) -> None:
    lines = [f"p{i:05d},passed,13" for i in range(30_000)]
    with loaded(tmp_path, [*lines, "q1,passed,12.7"]) as store:
        asked = {"constraints": [{"relation": "screening", "slot": "version", "op": "eq", "value": "12.7"}]}
        (match,) = store.search(asked).model_dump(mode="json")["matches"]
    assert match["rows"][0]["slots"]["version"] == "12.7"
