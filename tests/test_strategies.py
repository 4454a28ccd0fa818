"""The generators reach what they are for: a green comparison over stores without a verdict proves nothing."""

from collections import Counter
from collections.abc import Callable

import pytest
from tests import reference
from tests.strategies import Store, losses, random_store, tiny_store

SEEDS = 300
WANTED = {
    "constraint_unbound",
    "vocabulary_unknown_surface",
    "vocabulary_unplaced",
    "vocabulary_coarse",
    "entities_not_recorded",
    "relation_not_recorded",
    "undated_rows_unanswerable",
    "open_period_rows_unanswerable",
    "corrected_rows_unanswerable",
    "unattributed_rows_withheld",
    "slot_unrecorded_rows_unanswerable",
    "slot_unreadable_rows_unanswerable",
    "withheld_rows_unanswerable",
    "refused",
    "licensed",
    "preferred",
    "ranked by distance",
}


@pytest.mark.parametrize("draw", [random_store, tiny_store])
def test_the_first_300_seeds_reach_every_verdict_and_every_reason(draw: Callable[[int], Store]) -> None:
    verdicts: Counter[str] = Counter()
    reached: Counter[str] = Counter()
    for seed in range(SEEDS):
        store = draw(seed)
        lost = losses(seed, store) if seed % 4 == 0 else ({}, {})
        for request in store.requests:
            try:
                answer = reference.answer(store.pack, store.mapping, store.tables, request, *lost, said=store.said)
            except reference.Refused:
                reached["refused"] += 1
                continue
            verdicts.update(answer.verdicts.values())
            reached.update({code.partition(":")[0] for code, _ in answer.reasons})
            reached["licensed"] += answer.licensed
            reached["preferred"] += any(liked for _, liked, _ in answer.ranking)
            reached["ranked by distance"] += any(distances for _, _, distances in answer.ranking)
    total = sum(verdicts.values())
    assert set(verdicts) == set(reference.VERDICTS)
    assert min(verdicts.values()) > total * 0.05, verdicts
    assert {name for name in WANTED if reached[name] < 5} == set(), reached


def test_a_seed_always_draws_the_same_store() -> None:
    assert random_store(7) == random_store(7)
