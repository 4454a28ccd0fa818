"""Drafting a pack and a map from an export: what is certain as lines that load, what is not as questions.

Nothing is claimed of who was looked at, no order of terms is guessed, and no text is taken for a number or a date
unless every cell of its column is one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from closedset import mapping, pack, store
from closedset.errors import LoadRefused
from closedset.load.proposal.identifier import identifier
from closedset.load.proposal.map_text import joins, map_text, markers
from closedset.load.proposal.offered import Aside, Offered, offered
from closedset.load.proposal.pack_text import pack_text
from closedset.load.proposal.profile import Column, profile
from closedset.load.proposal.relations import Relation, relations
from closedset.load.proposal.subject import Subject, subject

PACK, MAP = "pack.yaml", "map.yaml"


@dataclass(frozen=True)
class Proposal:
    """A pack and a map as text, and what they rest on. `questions` are what only the export's owner can answer."""

    pack_text: str
    map_text: str
    subject: Subject
    tables: tuple[Offered, ...]
    relations: tuple[Relation, ...]
    aside: tuple[Aside, ...]
    questions: tuple[str, ...]


def propose(paths: Sequence[str | Path], name: str, entity: str | None = None) -> Proposal:
    """Profile an export (folders, files or globs) and draft a pack and a map of it, called `name`.

    `entity` names the column that says whom a row is about; otherwise the one most tables share. The same bytes
    give the same draft. Refuses (LoadRefused) where no file can be read, or no column has that name.
    """
    called = identifier(name, "export")
    with TemporaryDirectory(prefix="closedset-init-", ignore_cleanup_errors=True) as folder:
        con = store.connect(Path(folder) / "cells.duckdb", read_only=False)
        try:
            tables, aside = offered(con, paths)
            columns = {table.name: profile(con, table.cells) for table in tables}
            chosen = subject(con, tables, columns, entity)
            made, axes = relations(con, tables, columns, chosen)
        finally:
            con.close()
    return Proposal(
        pack_text(called, chosen, made, axes),
        map_text(called, chosen, tables, columns, made, aside),
        chosen,
        tuple(tables),
        tuple(made),
        tuple(aside),
        tuple(_questions(chosen, tables, columns, made, aside)),
    )


def write(proposal: Proposal, folder: Path) -> tuple[Path, Path]:
    """Write a draft as pack.yaml and map.yaml into a folder, which is made if it is not there; give their paths.

    Both are read back first. Refuses (LoadRefused) where one of them exists already.
    """
    refuse_existing(folder)
    with TemporaryDirectory(prefix="closedset-init-", ignore_cleanup_errors=True) as trial:
        for name, text in ((PACK, proposal.pack_text), (MAP, proposal.map_text)):
            (Path(trial) / name).write_text(text, encoding="utf-8")
        mapping.load(Path(trial) / MAP, pack.load(trial))
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    try:
        for file, text in ((folder / PACK, proposal.pack_text), (folder / MAP, proposal.map_text)):
            with file.open("x", encoding="utf-8") as stream:
                written.append(file)
                stream.write(text)
    except BaseException as error:
        for file in written:
            file.unlink(missing_ok=True)
        if isinstance(error, FileExistsError):
            refuse_existing(folder)
        raise
    return folder / PACK, folder / MAP


def refuse_existing(folder: Path) -> None:
    """Refuses (LoadRefused) a folder that holds a pack.yaml or a map.yaml: a draft never replaces anything."""
    for file in (folder / PACK, folder / MAP):
        if file.exists():
            raise LoadRefused(f"{file}: exists already and is not replaced; give another folder with --out")


def _questions(
    chosen: Subject,
    tables: Sequence[Offered],
    columns: dict[str, list[Column]],
    made: Sequence[Relation],
    aside: Sequence[Aside],
) -> list[str]:
    questions: list[str] = []
    if not chosen.certain:
        others = ", ".join(one.name for one in chosen.others[:5])
        instead = f" It might also be {others}: draft again with --entity NAME." if others else ""
        questions.append(f"Is {chosen.chosen.name} who an answer counts?{instead}")
    if chosen.chosen.shared == 0:
        questions.append(f"Some tables that hold {chosen.chosen.name} have no id in common. Do they mean the same ids?")
    for relation in made:
        questions += [slot.of.question for slot in relation.slots if slot.of.question]
        for pair in relation.doubtful:
            questions.append(
                f"{relation.name}: does a row hold from {pair.start.column.name} to {pair.end.column.name}? Then it is "
                "`dated` in the pack, and they are its `period` in the map."
            )
    seen = markers(chosen, tables, columns, made)
    if seen:
        questions.append(f"Do {', '.join(map(repr, seen))} record nothing? Then say so under `null` in the map.")
    lists = [t for t in tables if t.name in chosen.chosen.columns and t.name not in {r.table.name for r in made}]
    for table in lists:
        questions.append(f"{table.name} lists ids and nothing else. Is it a log of who was checked, and for what?")
    for table in tables:
        if table.name not in chosen.chosen.columns:
            shared = joins(table, tables, columns, chosen)
            with_ = f" The map suggests how to join it to {shared[0]}." if shared else ""
            questions.append(f"{table.name} holds no {chosen.chosen.name} and is not mapped.{with_}")
    if made:
        questions.append(
            f"Who was looked at for {', '.join(r.name for r in made)}? Until `looked_at` says so in the map, nobody is "
            'a "no" for having no row.'
        )
    return questions
