# ruff: noqa: E501 (lists read better whole)
"""Mixed questions for a batch: drawn from the pack's slots, no two alike, as many analysts ask one store."""

import json
import random
from typing import Any

#: relation -> slot -> operators and values; a draw takes one to three slots of one to three relations.
ASKED: dict[str, dict[str, list[tuple[str, list[Any]]]]] = {
    "held_role": {
        "seniority": [("gte", ["Manager", "Director", "VP", "SVP"]), ("eq", ["IC", "VP", "C-level"]), ("lte", ["Manager"])],
        "function": [("eq", ["Sales", "Finance", "Technical", "Engineering", "Legal", "Commercial", "HR"]), ("ne", ["Sales"])],
        "geography": [("eq", ["DACH", "Europe", "USA", "India", "Nordics", "Americas"]), ("in", [["Germany", "France"]])],
        "industry": [("eq", ["Banking", "Pharma", "Software", "Financial services"])],
        "company": [("eq", [f"Company {n}" for n in range(1, 400)])],
        "period_from": [("gte", ["2010", "2015-06"])],
    },
    "screening": {
        "kind": [("eq", ["compliance", "sanctions", "COI"])],
        "outcome": [("eq", ["passed", "failed"]), ("ne", ["passed"]), ("in", [["passed", "pending"]])],
        "screened_on": [("gte", ["2018-01", "2020-07-01"])],
    },
    "engagement": {
        "topic": [("eq", ["Strategy", "Risk", "Hiring", "Fraud"])],
        "hourly_rate_usd": [("lte", [150, 300, 500]), ("gte", [200, 400])],
        "engaged_on": [("eq", ["2019", "2021"]), ("gte", ["2020"])],
    },
    "certificate": {
        "scheme": [("eq", ["CFA", "PMP", "CISSP", "Finance charter"])],
        "grade": [("gte", ["Practitioner", "Expert"])],
    },
    "language": {
        "language": [("eq", ["German", "French", "Romance", "Japanese"])],
        "fluency": [("gte", ["Working", "Fluent"])],
    },
}  # fmt: skip
_MONTHS = [f"{year}-{month:02}" for year in range(2008, 2024) for month in (1, 7)]


def mixed(count: int, seed: int = 1) -> list[dict[str, Any]]:
    """So many different requests: a fifth at a month, a fifth of the relations after the first only preferred."""
    chance = random.Random(seed)
    drawn: dict[str, dict[str, Any]] = {}
    while len(drawn) < count:
        request = _request(chance)
        drawn.setdefault(json.dumps(request), request)
    return list(drawn.values())


def _request(chance: random.Random) -> dict[str, Any]:
    constraints: list[dict[str, Any]] = []
    relations = chance.sample(list(ASKED), chance.choice((1, 1, 2, 2, 3)))
    for place, relation in enumerate(relations):
        preferred = {"required": False} if place and chance.random() < 0.2 else {}
        slots = ASKED[relation]
        for slot in chance.sample(list(slots), min(len(slots), chance.choice((1, 2, 2, 3)))):
            op, values = chance.choice(slots[slot])
            constraints.append(
                {"relation": relation, "slot": slot, "op": op, "value": chance.choice(values), **preferred}
            )
    month = {"as_of": chance.choice(_MONTHS)} if chance.random() < 0.2 else {}
    return {"constraints": constraints, **month}
