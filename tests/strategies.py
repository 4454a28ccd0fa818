"""Small stores and requests that reach every verdict and every reason.

One generator serves both uses: `random_store(seed)` and `tiny_store(seed)` draw from `random.Random`, fast
and reproducible by number; `stores()` and `tiny_stores()` let Hypothesis draw, so that it can shrink. A
tiny store has few rows, short vocabularies and short requests: its completions can be enumerated.

Stores differ in temper: a `clean` one holds few blanks, so that licences are granted too.

One file, though a little long: the draws feed one another.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from hypothesis import strategies as st
from tests.said import NOTHING, Said

from closedset.mapping import Map
from closedset.pack import Pack

Any_ = TypeVar("Any_")
Table = list[dict[str, str | None]]


class Store(NamedTuple):
    pack: Pack
    mapping: Map
    tables: dict[str, Table]
    requests: list[dict[str, Any]]
    said: Said = NOTHING


@dataclass(frozen=True)
class Size:
    entities: int
    rows_each: int
    terms: int
    slots: int
    constraints: int
    requests: int


GENERAL = Size(entities=9, rows_each=3, terms=8, slots=6, constraints=5, requests=4)
TINY = Size(entities=4, rows_each=2, terms=5, slots=3, constraints=4, requests=3)


def random_store(seed: int) -> Store:
    return build(random.Random(seed), GENERAL)


def tiny_store(seed: int) -> Store:
    return build(random.Random(seed), TINY)


def stores() -> st.SearchStrategy[Store]:
    return st.randoms(use_true_random=False).map(lambda rng: build(rng, GENERAL))


def tiny_stores() -> st.SearchStrategy[Store]:
    return st.randoms(use_true_random=False).map(lambda rng: build(rng, TINY))


def losses(seed: int, store: Store) -> tuple[dict[str, list[str]], dict[str, int]]:
    """Rows a loader could not read: (relation -> their entities, relation -> rows tied to nobody)."""
    rng = random.Random(f"losses {seed}")
    ids = [f"e{i}" for i in range(1, 5)]
    relations = list(store.pack.relations)
    withheld = {name: rng.sample(ids, rng.randint(1, 2)) for name in relations if often(rng, 0.4)}
    return withheld, {name: rng.randint(1, 3) for name in relations if often(rng, 0.1)}


def build(rng: random.Random, size: Size) -> Store:
    clean = often(rng, 0.35)
    pack = Pack.model_validate(
        {
            "pack": "drawn",
            "subject": "person",
            "axes": draw_axes(rng, size),
            "relations": draw_relations(rng, size),
        }
    )
    entities = [f"e{i}" for i in range(1, rng.randint(2, size.entities) + 1)]
    tables: dict[str, Table] = {"people": [{"id": e} for e in entities if often(rng, 0.9)]}
    mapping = Map.model_validate(draw_map(rng, pack, entities, tables, size, clean))
    requests = [draw_request(rng, pack, entities, size, clean) for _ in range(size.requests)]
    said = draw_said(rng, pack, mapping, tables, entities) if often(rng, 0.4) else NOTHING
    return Store(pack, mapping, tables, requests, said)


def often(rng: random.Random, share: float) -> bool:
    return rng.random() < share


def weighted(rng: random.Random, *pairs: tuple[float, Any_]) -> Any_:
    return rng.choices([value for _, value in pairs], [weight for weight, _ in pairs])[0]


# --- packs --------------------------------------------------------------------------------------------

PLACES = ("World", "Alps", "DACH", "Germany", "Zürich", "Bavaria", "Tyrol", "Vaud")
SPELLINGS = {
    "Germany": ("Deutschland", "D E"),
    "Zürich": ("Zurich",),
    "Alps": ("the alps",),
    "Tyrol": ("Tirol",),
}
RUNGS = ("IC", "Manager", "Director", "VP", "SVP")
BODIES = ("Board", "Audit", "Risk", "Credit Risk", "Pay")


def draw_axes(rng: random.Random, size: Size) -> dict[str, Any]:
    places, bodies = PLACES[: rng.randint(3, size.terms)], BODIES[: rng.randint(2, min(size.terms, 5))]
    rungs = RUNGS[: rng.randint(3, 5)]
    ordered: dict[str, list[str]] = {}
    if often(rng, 0.5):
        ordered[rng.choice(rungs)] = ["AVP", "RVP"]
    if often(rng, 0.6):
        ordered["Leaders"] = rng.sample(rungs, 2)
    if "Leaders" in ordered and often(rng, 0.3):
        ordered["Staff"] = ["Leaders", rungs[0]]
    return {
        "place": {
            "terms": list(places),
            "tree": draw_tree(rng, places),
            "synonyms": {t: list(s) for t, s in SPELLINGS.items() if t in places},
            "labels": {"DACH": "German-speaking countries"} if "DACH" in places and often(rng, 0.5) else {},
        },
        "body": {"terms": list(bodies), "tree": draw_tree(rng, bodies), "interior": "exact"},
        "level": {
            "order": list(rungs),
            "tree": ordered,
            "synonyms": {"Director": ["Head of"]},
            # A group without a rung cannot stand for itself on an ordered axis: such a pack is refused.
            "interior": "exact" if set(ordered) <= set(rungs) and often(rng, 0.3) else "member",
        },
        "outcome": {"terms": ["passed", "failed"]},
        "topic": None,
    }


def draw_tree(rng: random.Random, terms: Sequence[str]) -> dict[str, list[str]]:
    """A directed acyclic graph: a term lies below none, one or two of the terms before it."""
    tree: dict[str, list[str]] = {}
    for i, term in enumerate(terms[1:], start=1):
        for parent in rng.sample(terms[:i], min(i, weighted(rng, (2, 0), (6, 1), (3, 2)))):
            tree.setdefault(parent, []).append(term)
    return tree


SLOTS: dict[str, Any] = {
    "place": {"term": "place"},
    "home": {"term": "place"},
    "level": {"term": "level"},
    "body": {"term": "body"},
    "outcome": {"term": "outcome"},
    "topic": {"term": "topic"},
    "firm": "text",
    "fee": {"number": "USD"},
    "seen_on": "date",
    "due_on": "date",
}


def draw_relations(rng: random.Random, size: Size) -> dict[str, Any]:
    drawn = {}
    for name in ("role", "check", "deal")[: weighted(rng, (4, 1), (5, 2), (2, 3))]:
        chosen = rng.sample(sorted(SLOTS), rng.randint(1, size.slots))
        drawn[name] = {
            "dated": often(rng, 0.5),
            "slots": {slot: SLOTS[slot] for slot in SLOTS if slot in chosen},
        }
    return drawn


# --- maps and tables ----------------------------------------------------------------------------------


def draw_map(
    rng: random.Random, pack: Pack, entities: Sequence[str], tables: dict[str, Table], size: Size, clean: bool
) -> dict[str, Any]:
    """The map of a store; fills `tables` on the way."""
    rows, coverage = [], []
    for name, relation in pack.relations.items():
        entries = weighted(rng, (1, 0), (12, 1), (3, 2))
        for part in range(entries):
            entry: dict[str, Any] = {"relation": name, "from": f"{name}_{part}", "entity": "id"}
            entry["slots"] = {
                slot: draw_cell(rng, slot, declared.type, clean)
                for slot, declared in relation.slots.items()
                if often(rng, 0.98 if clean else 0.9)
            }
            if relation.dated and often(rng, 0.85):
                formats = {"dates": ["%d/%m/%Y"]} if often(rng, 0.3) else {}
                entry["period"] = [{"column": "began", **formats}, {"column": "ended", **formats}]
            entry["looked_at"] = draw_looked_at(rng, name, entities, tables, clean)
            tables[entry["from"]] = draw_table(rng, pack, entry, entities, size, clean)
            rows.append(entry)
        if often(rng, 0.6 if entries == 0 else 0.1):
            tables[f"{name}_seen"] = [{"id": e} for e in rng.sample(entities, rng.randint(0, len(entities)))]
            coverage.append({"relation": name, "listed": f"{name}_seen.id"})
    return {
        "source": "export",
        "null": ["-"] if often(rng, 0.3) else [],
        "entities": [{"from": "people", "entity": "id"}] if often(rng, 0.5) else [],
        "rows": rows,
        "coverage": coverage,
    }


def draw_looked_at(
    rng: random.Random, name: str, entities: Sequence[str], tables: dict[str, Table], clean: bool
) -> Any:
    if clean or often(rng, 0.4):
        return {"every": "people.id"}
    if often(rng, 0.5):
        return rng.choice(["rows", "none"])
    listed = rng.sample(entities, rng.randint(0, len(entities)))
    log = [*(pad(rng, e) for e in listed), *("-" if len(listed) % 2 else None, "outsider")[: rng.randint(0, 2)]]
    tables[f"{name}_log"] = [{"id": e} for e in log]
    return {"listed": f"{name}_log.id"}


def draw_cell(rng: random.Random, slot: str, kind: str, clean: bool) -> dict[str, Any]:
    """How one column is read, with the declarations real exports need."""
    if not clean and often(rng, 0.04):
        return {"constant": rng.choice(pool(slot, kind))}
    cell: dict[str, Any] = {"column": f"{slot}_cell"}
    if often(rng, 0.25):
        cell["null"] = ["N/A"]
    if not clean and often(rng, 0.12):
        cell |= {"pattern": "[^?]+", "mismatch": rng.choice(["unreadable", "unrecorded"])}
    if often(rng, 0.08):
        cell["absent"] = rng.choice(pool(slot, kind))
    if kind == "number" and often(rng, 0.4):
        cell |= rng.choice([{"decimal": ",", "grouping": "."}, {"grouping": ","}, {"decimal": ","}])
    if kind == "date" and often(rng, 0.5):
        cell |= rng.choice(
            [
                {"dates": ["%d/%m/%Y", "%m/%Y"]},
                {"dates": ["%d.%m.%y"], "base_year": 1950},
                {"dates": ["%d.%m.%y"]},
                {"excel_serial": True},
                {"dates": ["%Y%m%d"], "excel_serial": True},
            ]
        )
    return cell


def draw_table(
    rng: random.Random, pack: Pack, entry: Mapping[str, Any], entities: Sequence[str], size: Size, clean: bool
) -> Table:
    relation, table = pack.relations[entry["relation"]], []
    for entity in entities:
        for _ in range(weighted(rng, (2, 0), (5, 1), *((2, n) for n in range(2, size.rows_each + 1)))):
            row: dict[str, str | None] = {"id": pad(rng, entity)}
            for slot, declared in relation.slots.items():
                row[f"{slot}_cell"] = draw_text(rng, slot, declared.type, clean)
            row["began"], row["ended"] = draw_period(rng, clean)
            table.append(row)
    if table and not clean and often(rng, 0.08):
        # A text that records nothing, or an id like any other: what the map says of it is drawn later.
        blank = "- " if len(table) % 2 else ""
        table.insert(rng.randint(0, len(table)), {**rng.choice(table), "id": rng.choice([blank, None, " \t"])})
    rng.shuffle(table)
    return table


def pad(rng: random.Random, entity: str) -> str:
    return rng.choice([f" {entity}", f"{entity}\u00a0", f"\t{entity} "]) if often(rng, 0.08) else entity


TEXTS = ("Acme Ltd", "Zürich AG", "Straße 1", "Sable")
NUMBERS = ("10", "10.5", "1000", "-3", "1e2", ".5", "+7", "9007199254740993", "12")
DATES = (
    "2020",
    "2020-03",
    "2020-03-15",
    "2020-06",
    "2019",
    "2021-01-31",
    "2020-12-31",
    "2020-03-00",
    "2020-00-00",
)
DATES_TOO = ("2020-03-15T10:00:00+02:00", "2020-06-30 23:59", "2019-12-31", "2020-01-01", "2021")
SPOILED = {
    "term": ("Atlantis", "Mars", "atlantis", "passed?", "?"),
    "text": ("?", "Orrin?", "somebody"),
    "number": ("1,000", "1.000", "1,5", "€900", "NaN", "1.", "1" * 41, "1.299,99", "1.299.99", "1e40", "inf"),
    "date": (
        "15/03/2020",
        "03/2020",
        "15.03.20",
        "43905",
        "60",
        "59",
        "20200630",
        "soon",
        "2020-02-30",
        "0000",
        "2020-13",
    ),
}


def pool(slot: str, kind: str) -> Sequence[str]:
    """The plain values of a slot, most of which a request asks for."""
    terms = {
        "place": PLACES,
        "home": PLACES,
        "level": (*RUNGS, "AVP", "Leaders", "Staff"),
        "body": BODIES,
        "outcome": ("passed", "failed"),
        "topic": ("pricing", "tax"),
    }
    return {"term": terms.get(slot, ()), "text": TEXTS, "number": NUMBERS, "date": DATES}[kind]


def draw_text(rng: random.Random, slot: str, kind: str, clean: bool) -> str | None:
    """One cell as an export writes it: plain, spelled otherwise, spoiled, or blank."""
    if often(rng, 0.01 if clean else 0.12):
        return rng.choice(["", None, "N/A", "-", " "])
    if often(rng, 0.02 if clean else 0.14):
        return rng.choice(SPOILED[kind])
    text = rng.choice([*pool(slot, kind), *(DATES_TOO if kind == "date" else ())])
    if kind == "term" and text in SPELLINGS and often(rng, 0.3):
        text = rng.choice(SPELLINGS[text])
    return respell(rng, text) if kind in ("term", "text") else f"{text} " if often(rng, 0.05) else text


def respell(rng: random.Random, text: str) -> str:
    """Another spelling of the same fold."""
    if often(rng, 0.8):
        return text
    return rng.choice(
        [text.upper(), f" {text}\u00a0", text.replace(" ", "  "), text.replace("ü", "u\u0308"), text.lower()]
    )


def draw_period(rng: random.Random, clean: bool) -> tuple[str | None, str | None]:
    """Mostly a sound period; also open, undated, reversed, empty, coarse and unreadable ones."""
    begin = f"{rng.choice((2018, 2019, 2020))}-{rng.randint(1, 12):02}"
    end = f"{rng.choice((2020, 2021))}-{rng.randint(1, 12):02}"
    sound: list[tuple[str | None, str | None]] = [
        (begin, end),
        (begin, None),
        (f"{begin}-10", f"{end}-20"),
        (begin, f"{end}-01"),
    ]
    if clean or often(rng, 0.6):
        return rng.choice(sound)
    return rng.choice(
        [
            *sound,
            (None, None),
            (begin[:4], end),
            (begin, "2020"),
            ("2020", "2020"),
            (None, end),
            (end, begin),
            (begin, begin),
            ("soon", end),
            (begin, "soon"),
            ("15/03/2020", None),
            (f"{begin}-00", ""),
        ]
    )


# --- what people add between loads --------------------------------------------------------------------


def draw_said(
    rng: random.Random, pack: Pack, mapping: Map, tables: Mapping[str, Table], entities: Sequence[str]
) -> Said:
    """Retired rows, chains of merges, ids an operator looked at (some of both in no export), placed spellings."""
    rows = [
        (entry.relation, entry.table, place)
        for entry in mapping.rows
        for place, row in enumerate(tables[entry.table])
        if (row["id"] or "").strip() not in ("", *mapping.null)
    ]
    order = rng.sample([*entities, "e98"], len(entities) + 1)
    merges = [
        (one, rng.choice(order[i + 1 :])) for i, one in enumerate(order[:-1]) if often(rng, 0.8 / len(entities))
    ]
    coverage = [
        (name, tuple(rng.sample([*entities, "e99"], rng.randint(1, len(entities)))))
        for name in pack.relations
        if often(rng, 0.35)
    ]
    placements = [
        (name, rng.choice(("Atlantis", "Mars", "passed?")), rng.choice(vocabulary.terms))
        for name, vocabulary in pack.vocabularies.items()
        if often(rng, 0.25)
    ]
    retired = rng.sample(rows, min(len(rows), weighted(rng, (3, 0), (4, 1), (3, 2), (1, 4))))
    return Said(tuple(sorted(retired)), tuple(merges), tuple(coverage), tuple(placements))


# --- requests -----------------------------------------------------------------------------------------


def draw_request(rng: random.Random, pack: Pack, entities: Sequence[str], size: Size, clean: bool) -> dict[str, Any]:
    count = rng.randint(1, size.constraints) if often(rng, 0.7) else 1
    constraints: list[dict[str, Any]] = []
    used: set[tuple[str, str]] = set()
    for _ in range(count):
        drawn = draw_constraint(rng, pack, clean)
        place = (drawn["relation"], drawn["slot"])
        if place in used and often(rng, 0.8):
            continue
        used.add(place)
        constraints.append(drawn)
    request: dict[str, Any] = {"constraints": constraints}
    if often(rng, 0.4):
        request["as_of"] = rng.choice(["2018-06", "2019-12", "2020-03", "2020-06", "2020-12", "2021-01", "2022-01"])
    if often(rng, 0.15):
        request["limit"] = rng.randint(1, 3)
    if often(rng, 0.1):
        request["offset"] = rng.randint(0, 3)
    if often(rng, 0.1):
        request["list_limit"] = rng.randint(0, 3)
    if often(rng, 0.07):
        request["entity_ids"] = rng.sample(entities, rng.randint(0, min(2, len(entities))))
    return request


def draw_constraint(rng: random.Random, pack: Pack, clean: bool) -> dict[str, Any]:
    """Mostly one that can run; now and then a gap, rarely one that makes no sense (refused)."""
    name = rng.choice(list(pack.relations))
    slots = pack.relations[name].askable()
    slot = rng.choice(list(slots))
    kind = slots[slot].type
    asked: dict[str, Any] = {"relation": name, "slot": slot}
    if not clean and often(rng, 0.05):
        asked[rng.choice(["relation", "slot"])] = "unheard_of"
    ops = {"term": ["eq", "eq", "eq", "ne", "in"], "text": ["eq", "eq", "ne", "in"]}.get(
        kind, ["eq", "ne", "in", "gte", "gte", "lte", "lte"]
    )
    if slot == "level":
        ops += ["gte", "gte", "lte", "lte"]
    asked["op"] = rng.choice(ops)
    if often(rng, 0.02):
        asked["op"] = rng.choice(["gte", "in", "like"])
    values = [draw_asked(rng, slot, kind, clean) for _ in range(rng.randint(1, 3) if asked["op"] == "in" else 1)]
    asked["value"] = values if asked["op"] == "in" and often(rng, 0.99) else values[0]
    if often(rng, 0.22):
        asked["required"] = False
    return asked


def draw_asked(rng: random.Random, slot: str, kind: str, clean: bool) -> Any:
    if kind == "term" and often(rng, 0.02 if clean else 0.1):
        return rng.choice(["Atlantis", "Oz"])
    if kind in ("number", "date") and often(rng, 0.01):
        return rng.choice(["1,5", "03/04/2020"])
    text = rng.choice(pool(slot, kind))
    if kind == "term" and text in SPELLINGS and often(rng, 0.3):
        text = rng.choice(SPELLINGS[text])
    if kind == "number" and often(rng, 0.3):
        return rng.choice([10, 1000, -3, 0.5])
    return respell(rng, text) if kind in ("term", "text") else text
