"""A small store that two exports take turns in, and real processes that act on it: shared by the kills and the readers.

Processes are forked from a server that has imported everything, so that an act takes as long as the act itself.
"""

import hashlib
import json
import multiprocessing as mp
import os
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import closedset
from closedset.store import Store

PACK = """
pack: people
axes:
  outcome: {terms: [passed, failed]}
  level: {order: [IC, VP, SVP]}
relations:
  check: {slots: {outcome: {term: outcome}, "on": date, fee: number, by: text}}
  role: {dated: true, slots: {level: {term: level}, firm: text}}
"""
MAP = """
source: hr
tables:
  asked: SELECT id FROM checks WHERE by <> 'nobody'
entities: [{from: people, entity: id, name: name}]
rows:
  - relation: check
    from: checks
    entity: id
    slots: {outcome: outcome, "on": day, fee: fee, by: by}
    looked_at: {listed: asked.id}
  - relation: role
    from: roles
    entity: id
    slots: {level: level, firm: firm}
    period: [since, until]
    looked_at: {every: people.id}
"""
PEOPLE = 120
#: No act takes so long; a process that does is a fault.
LONGEST_S = 120


def _asked(*constraints: tuple[str, str], **more: Any) -> dict[str, Any]:
    asked = [dict(zip(("relation", "slot", "op"), c[0].split(), strict=True), value=c[1]) for c in constraints]
    return {"constraints": asked, **more}


REQUESTS = [
    _asked(("check outcome eq", "passed"), limit=200),
    _asked(("check outcome ne", "passed"), ("role level gte", "VP"), as_of="2021-06", limit=200),
    _asked(("check fee gte", "40"), limit=200),
]  # fmt: skip


def lay(folder: Path) -> None:
    """Write the pack, the map and the two exports `a` and `b` of one source."""
    (folder / "pack.yaml").write_text(PACK, encoding="utf-8")
    (folder / "map.yaml").write_text(MAP, encoding="utf-8")
    for name, shift in (("a", 0), ("b", 1)):
        export = folder / name
        export.mkdir()
        ids = [f"p{i:03}" for i in range(shift, PEOPLE + shift)]
        outcomes = ("passed", "failed", "Pass?", "")
        checks = [
            f"{one},{outcomes[(i + shift) % 4]},20{10 + i % 13},{i % 90},{'x' if i % 7 else 'nobody'}"
            for i, one in enumerate(ids)
        ]
        roles = [
            f"{one},{('IC', 'VP', 'SVP')[(i * (1 + shift)) % 3]},Firm {i % 5},20{10 + i % 12}-0{1 + i % 9},"
            for i, one in enumerate(ids[: PEOPLE - 20])
        ]
        checks += ["p000,passed,2020", ",passed,2020,1,x"] if shift else []
        _write(export / "people.csv", "id,name", [f"{one},Name {one}" for one in ids])
        _write(export / "checks.csv", "id,outcome,day,fee,by", checks)
        _write(export / "roles.csv", "id,level,firm,since,until", roles)


def _write(file: Path, head: str, rows: list[str]) -> None:
    file.write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")


def load_of(folder: Path, name: str) -> list[str]:
    """The command line that loads one of the two exports."""
    return ["load", str(folder / "s"), "--pack", str(folder / "pack.yaml"), "--accept-shrink", str(folder / name)]


def answers(store: Store) -> list[str]:
    """A hash over all that the store answers to each request: sets, counts, licence, matches, receipts, partition.

    Each is one call, and so from one generation; two of them may be from two.
    """
    calls: list[Callable[[dict[str, Any]], Any]] = [
        lambda asked: _timeless(store.search(asked).model_dump(mode="json")),
        lambda asked: store.partition(asked).to_pylist(),
    ]
    said = [json.dumps(call(asked), sort_keys=True, default=str) for asked in REQUESTS for call in calls]
    return [hashlib.sha256(text.encode()).hexdigest() for text in said]


#: Parts of a reply that differ from call to call and from load to load.
_MOMENTS = ("request_id", "loaded_at")


def _timeless(said: Any) -> Any:
    if isinstance(said, dict):
        return {key: _timeless(value) for key, value in said.items() if key not in _MOMENTS}
    return [_timeless(one) for one in said] if isinstance(said, list) else said


def answers_of(folder: Path) -> str:
    """All that the store answers now."""
    with closedset.open(folder / "s") as store:
        return " ".join(answers(store))


@cache
def _server() -> Any:
    context = mp.get_context("forkserver")
    context.set_forkserver_preload(["tests.acts_preload"])
    return context


def process(work: Callable[..., None], *arguments: Any) -> tuple[Any, Any]:
    """Start a process, and give it with the end of a pipe on which it says that it begins."""
    ours, theirs = _server().Pipe(duplex=False)
    one = _server().Process(target=work, args=(theirs, *arguments), daemon=True)
    one.start()
    theirs.close()
    return one, ours


def command(begins: Any, line: list[str]) -> None:
    """Run a command line of closedset as the whole of this process."""
    from closedset_cli import main

    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    begins.send(None)
    code = main.main(line)
    os._exit(code)


def finish(line: list[str]) -> None:
    """Run a command line to its end. Refuses one that does not end well."""
    one, begins = process(command, line)
    begins.recv()
    one.join(LONGEST_S)
    if one.exitcode != 0:
        raise AssertionError(f"closedset {' '.join(line)}: exit code {one.exitcode}")
