"""A set of entities as a bitmap says the same as a set of numbers."""

import random

import pytest

from closedset.entity_set import EntitySet


@pytest.mark.parametrize(("universe", "held"), [(1, 0), (1, 1), (17, 5), (64, 64), (9_000, 3), (100_000, 60_000)])
def test_the_ordinals_of_a_set_are_its_members_in_order(universe: int, held: int) -> None:
    members = sorted(random.Random(universe).sample(range(universe), held))
    bitmap = EntitySet.of_ordinals(members, universe)
    assert len(bitmap) == held
    assert bitmap.column().to_pylist() == members
    for offset in {0, 1, 7, held // 2, held, held + 3}:
        assert bitmap.ordinals(offset=offset) == members[offset:]
        for limit in (0, 1, 50, universe):
            assert bitmap.ordinals(limit, offset) == members[offset : offset + limit]
    for ordinal in members[:: max(1, held // 5)]:
        assert ordinal in bitmap
        assert bitmap.rank(ordinal) == members.index(ordinal)
