"""Which rows of two readings of a table stand at the same place: the same row of the same file."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from closedset.catalog import SourceFile, SourceTable


@dataclass(frozen=True)
class Stretch:
    """Rows that follow each other in both readings: `held` of them, from the places `was` and `now` on."""

    was: int
    now: int
    held: int


def stretches(former: SourceTable, live: SourceTable) -> list[Stretch]:
    """The rows of two readings that stand at the same place, in the order of the live one.

    Files are the same by their names, and by the folders they lie in where several have one name; of those that are
    left, as many on both sides, by their order.
    """
    if not former.files or not live.files:
        return [Stretch(0, 0, min(former.rows, live.rows))]
    mine, others = _begins(former), _begins(live)
    found: list[Stretch] = []
    for i, j in sorted(_paired(former.files, live.files), key=lambda pair: pair[1]):
        for was, now, held in _common(_runs(former.files[i], mine[i]), _runs(live.files[j], others[j])):
            last = found[-1] if found else None
            if last and (last.was + last.held, last.now + last.held) == (was, now):
                found[-1] = Stretch(last.was, last.now, last.held + held)
            else:
                found.append(Stretch(was, now, held))
    return found


def _begins(table: SourceTable) -> list[int]:
    """The place of each file's first row."""
    return [0, *accumulate(file.rows - file.unreadable for file in table.files)]


def _runs(file: SourceFile, begin: int) -> list[tuple[int, int, int]]:
    """The readable rows of a file, from 1 among all its records: from, to, and what is added to one for its place."""
    held = file.rows - file.unreadable
    steps = dict([(0, 0), *file.shifts])
    starts = sorted(start for start in steps if start < held)
    ends = [*starts[1:], held]
    return [(s + 1 + steps[s], e + steps[s], begin - 1 - steps[s]) for s, e in zip(starts, ends, strict=False)]


def _common(
    former: Sequence[tuple[int, int, int]], live: Sequence[tuple[int, int, int]]
) -> Iterator[tuple[int, int, int]]:
    """The rows of a file that both readings could read: their places in each, and how many."""
    i = j = 0
    while i < len(former) and j < len(live):
        (first, last, was), (start, end, now) = former[i], live[j]
        low, high = max(first, start), min(last, end)
        if low <= high:
            yield low + was, low + now, high - low + 1
        i, j = (i + 1, j) if last < end else (i, j + 1)


def _paired(former: Sequence[SourceFile], live: Sequence[SourceFile]) -> list[tuple[int, int]]:
    """The files that are one, by their numbers on each side."""
    named: dict[str, list[int]] = defaultdict(list)
    for j, file in enumerate(live):
        named[_folders(file)[0]].append(j)
    likely = [
        (-_shared(_folders(one), _folders(live[j])), i, j)
        for i, one in enumerate(former)
        for j in named[_folders(one)[0]]
    ]
    mine, others = dict.fromkeys(range(len(former))), dict.fromkeys(range(len(live)))
    pairs: list[tuple[int, int]] = []
    for _, i, j in sorted(likely):
        if i in mine and j in others:
            pairs.append((i, j))
            del mine[i], others[j]
    return [*pairs, *(zip(mine, others, strict=True) if len(mine) == len(others) else ())]


def _folders(file: SourceFile) -> list[str]:
    """A file's name, then the folders it lies in, the nearest first."""
    return file.path.split("/")[::-1]


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    return next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
