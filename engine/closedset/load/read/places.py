"""Where the rows of a file stand among all of its records: those that could not be read have their places too."""

from collections.abc import Iterable


class Places:
    """The places of one file's rows, in order. `shifts` says by how much a row's place exceeds its number among the
    rows that were read, both from 0: pairs (row, how much from it on), one wherever that changes."""

    def __init__(self) -> None:
        self.shifts: list[tuple[int, int]] = []
        self._rows = 0
        self._passed = 0

    def skip(self) -> None:
        """The next record is no row."""
        self._passed += 1

    def row(self, place: int | None = None) -> None:
        """The next record, or the one at this place, is a row."""
        if place is not None:
            self._passed = place - self._rows
        if self._passed != (self.shifts[-1][1] if self.shifts else 0):
            self.shifts.append((self._rows, self._passed))
        self._rows += 1

    def without(self, places: Iterable[int]) -> None:
        """All records of the file are rows but those at these places, which ascend."""
        for passed, place in enumerate(places):
            row = place - passed
            if self.shifts and self.shifts[-1][0] == row:
                self.shifts.pop()
            self.shifts.append((row, passed + 1))
