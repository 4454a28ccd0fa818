"""The name of a row: which entry of a map states it, and at which place of that entry's table."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from closedset.mapping import Map, Rows

SHAPE = "RELATION/SOURCE/TABLE/NUMBER, as the replies do under row_id"


@dataclass(frozen=True)
class Entry:
    """One `rows` entry of a source's map, by its `number` in the generation, from 0. `nth` counts, from 1, those that
    make rows of one relation from one table: each makes a row of its own of every source row."""

    number: int
    source: str
    rows: Rows
    nth: int = 1

    @property
    def home(self) -> str:
        """What the names of its rows begin with."""
        return f"{self.rows.relation}/{self.source}/{self.rows.table}"

    def row_id(self, place: int) -> str:
        """The name of the row that it makes of the source row at `place`, from 0. The first entry's is
        RELATION/SOURCE/TABLE/NUMBER, of a further one /2, /3, … follows."""
        return f"{self.home}/{place + 1}{f'/{self.nth}' if self.nth > 1 else ''}"

    def reads(self) -> tuple[str, ...]:
        """What it reads of a source row: whom it is about, and each slot's column or constant."""
        slots = {name: cell.column or f"={cell.constant}" for name, cell in self.rows.cells().items()}
        return tuple(sorted(f"{name}: {said}" for name, said in {"(entity)": self.rows.entity, **slots}.items()))


@dataclass(frozen=True)
class RowId:
    """A row's name taken apart; `place` counts from 0."""

    relation: str
    source: str
    table: str
    place: int
    nth: int

    @property
    def home(self) -> str:
        return f"{self.relation}/{self.source}/{self.table}"


def entries(maps: Mapping[str, Map]) -> list[Entry]:
    """The `rows` entries of every source, in the order of their numbers."""
    found: list[Entry] = []
    homes: Counter[str] = Counter()
    for source, mapping in maps.items():
        for rows in mapping.rows:
            one = Entry(len(found), source, rows)
            homes[one.home] += 1
            found.append(Entry(one.number, source, rows, homes[one.home]))
    return found


def parse(text: str) -> RowId | None:
    """Take a row's name apart; None where it is none."""
    home, numbers = text.split("/")[:3], text.split("/")[3:]
    if len(numbers) not in (1, 2) or not all(n.isascii() and n.isdigit() for n in numbers):
        return None
    place, nth = int(numbers[0]) - 1, int(numbers[1]) if numbers[1:] else 1
    relation, source, table = home
    return RowId(relation, source, table, place, nth)
