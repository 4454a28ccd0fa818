"""A store outlives the processes that change it, and is never between two states for those that read it.

A handful of what `python -m tests.kills` and `python -m tests.readers` do for as long as they are asked to.
"""

import random
from pathlib import Path

from tests import kills, readers


def test_a_killed_act_leaves_the_old_state_or_the_new_one_whole(tmp_path: Path) -> None:
    seed = random.randrange(1 << 30)
    tally = kills.kill(4, seed, tmp_path)
    assert tally.faults == [], f"seed {seed}"
    assert tally.kills == 4


def test_readers_beside_a_loader_neither_fail_nor_see_a_mix(tmp_path: Path) -> None:
    tally = readers.beside(2, 3, tmp_path)
    assert tally.faults == []
    assert tally.loads
    assert tally.answers["a"] + tally.answers["b"] > 0
