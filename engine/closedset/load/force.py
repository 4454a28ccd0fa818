"""What became of each event of the ledger in one generation: what it holds of, or why it fits nothing there."""

import duckdb

from closedset.ledger import Event, Fact

_SHOWN = 50
_TABLE = "CREATE TABLE in_force (event INTEGER, held BIGINT, places VARCHAR, note VARCHAR)"


class Force:
    """The events in force, each told once. `held` counts the rows a correction retires (`places` are the first of
    them, as a reply calls them) or that hold a placed spelling, or the entities a coverage covers."""

    def __init__(self) -> None:
        self._told: list[tuple[int, int | None, str | None, str | None]] = []
        self._said: dict[int, str] = {}

    def fit(self, event: Event[Fact], held: int | None = None, places: str | None = None) -> None:
        self._told.append((event.id, held, places, None))

    def unfit(self, event: Event[Fact], why: str, held: int | None = 0) -> None:
        """The event stays in the ledger, and holds again when its source states what it is about."""
        self._told.append((event.id, held, None, why))
        self._said[event.id] = f"{event.kind} {event.id}: {why}"

    def notes(self) -> list[str]:
        """The first events that do not fit, for the load report."""
        return [said for _, said in sorted(self._said.items())][:_SHOWN]

    def write(self, con: duckdb.DuckDBPyConnection) -> None:
        con.execute(_TABLE).fetchall()
        if self._told:
            con.executemany("INSERT INTO in_force VALUES (?, ?, ?, ?)", sorted(self._told)).fetchall()
