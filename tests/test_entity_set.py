"""A set of entities as a bitmap says the same as a set of numbers."""

import random

import pytest

from closedset.entity_set import EntitySet


@pytest.mark.parametrize(
    ("universe", "held"),
    [
        (1, 0), (1, 1), (8, 8), (17, 5), (64, 64), (9_000, 3), (65_537, 9), (100_000, 60_000), (100_001, 100_001),
        (200_003, 0), (200_003, 40), (200_064, 40), (500_000, 2_500), (500_009, 2_001),
    ],
)  # fmt: skip
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


@pytest.mark.parametrize("universe", [1, 7, 8, 1_000, 65_536, 65_537, 200_003])
def test_sets_combine_as_sets_of_numbers_do(universe: int) -> None:
    drawn = random.Random(universe)
    a, b = (set(drawn.sample(range(universe), drawn.randint(0, universe))) for _ in range(2))
    one, other = (EntitySet.of_ordinals(members, universe) for members in (a, b))
    for found, members in ((one & other, a & b), (one | other, a | b), (one - other, a - b)):
        assert len(found) == len(members)
        assert found == EntitySet.of_ordinals(members, universe)
        assert found.ordinals() == sorted(members)
    everybody = EntitySet.whole(universe)
    assert everybody.ordinals() == list(range(universe))
    assert everybody - one == EntitySet.of_ordinals(set(range(universe)) - a, universe)
    assert (one - one) == EntitySet.empty(universe) == EntitySet.of_bytes(None, universe)
    nobody = EntitySet.empty(universe)
    assert not nobody
    for known in (nobody, everybody, one - one, one | everybody):
        members = set(known.ordinals())
        assert len(known) == len(members)
        for found, wanted in (
            (one & known, a & members), (one | known, a | members), (one - known, a - members),
            (known & one, members & a), (known | one, members | a), (known - one, members - a),
        ):  # fmt: skip
            assert found == EntitySet.of_ordinals(wanted, universe)
