"""Everything a size needs, made once and kept in the work folder: export, store, typed tables; and the proof
that the data is worth asking: every verdict and every reason code a question can raise occurs."""

import hashlib
import json
import shutil
import time
from pathlib import Path
from typing import Any

import duckdb
from benchmarks import generate, typed
from benchmarks.generate import Size
from benchmarks.questions import QUESTIONS, UNTIMED

ROOT = Path(__file__).parents[1]
#: Codes no question over constraints raises yet: keys and briefs come with the surfaces, corrections with the ledger.
ELSEWHERE = {"acl", "constraints_dropped", "brief_uncompiled", "corrected_rows_unanswerable"}
_LOADER_FILES = ("load", "catalog", "cells", "dates", "decimals", "fold", "mapping", "pack", "vocabulary", "store")


def prepare(size: Size, work: Path, say: Any = print) -> Path:
    """The folder of one size, made as far as it is not there. Gives `export/`, `store/` and `typed.duckdb`."""
    folder = work / size.name
    folder.mkdir(parents=True, exist_ok=True)
    export, made = folder / "export", folder / "made.json"
    state = json.loads(made.read_text()) if made.exists() else {}
    makers = [ROOT / "benchmarks" / name for name in ("generate.py", "typed.py", "export")]
    loader = _loader()
    wanted = {"data": _hash(makers) + duckdb.__version__, "store": _hash(loader)}
    if state.get("data") != wanted["data"]:
        for old in ("typed.sqlite", "typed.duckdb"):
            (folder / old).unlink(missing_ok=True)
        for old in ("postgres", "store"):
            shutil.rmtree(folder / old, ignore_errors=True)
        state = {}
        _timed(say, f"{size.name}: generate the export", lambda: generate.export(size, export))
        _timed(
            say,
            f"{size.name}: build the peers' typed tables",
            lambda: typed.build(size, export, folder / "typed.duckdb"),
        )
        state["data"] = wanted["data"]
        made.write_text(json.dumps(state))
    if state.get("store") != wanted["store"]:
        shutil.rmtree(folder / "store", ignore_errors=True)
        state["load_s"] = _timed(say, f"{size.name}: load the store", lambda: _load(folder))
        say(f"{size.name}: {_assert_occurs(folder)}")
        state["store"] = wanted["store"]
        made.write_text(json.dumps(state))
    return folder


def _loader() -> list[Path]:
    """The files of the installed engine that a store depends on."""
    import closedset
    from closedset.pack import data_folder

    engine = Path(closedset.__file__).parent
    modules = [engine / name if name == "load" else engine / f"{name}.py" for name in _LOADER_FILES]
    return [*(m for m in modules if m.exists()), data_folder("sql") / "load"]


def _load(folder: Path) -> None:
    import closedset.load

    closedset.load.load(folder / "store", folder / "export" / "pack.yaml", [folder / "export"])


def _assert_occurs(folder: Path) -> str:
    """Refuse data on which the questions would prove little."""
    import closedset
    from closedset import reasons

    verdicts: dict[str, int] = {}
    codes: set[str] = set()
    with closedset.open(folder / "store") as store:
        for request in [*(q.request() for q in QUESTIONS), *UNTIMED]:
            reply: Any = store.search(request).model_dump(mode="json")
            for verdict in ("matched", "none", "not_recorded", "undetermined"):
                verdicts[verdict] = verdicts.get(verdict, 0) + bool(reply["counts"][verdict])
            codes |= {code.split(":")[0] for code in reply["coverage"].get("narrowed_by", [])}
    never = {r.code for r in reasons.LICENCE} - ELSEWHERE - codes
    assert all(verdicts.values()), f"verdicts that no question brings about: {verdicts}"
    assert not never, f"reason codes that no question raises: {sorted(never)}"
    return f"all four verdicts and {len(codes)} reason codes occur"


def _timed(say: Any, what: str, work: Any) -> float:
    start = time.perf_counter()
    work()
    seconds = time.perf_counter() - start
    say(f"{what}: {seconds:.1f} s")
    return round(seconds, 2)


def _hash(paths: list[Path]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file() and "__pycache__" not in file.parts:
                digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:16]


def store_bytes(folder: Path) -> dict[str, int]:
    """What each system keeps on disk for the same data."""
    return {
        "export": _bytes(folder / "export"),
        "closedset": _bytes(folder / "store"),
        "duckdb": _bytes(folder / "typed.duckdb"),
        "sqlite": _bytes(folder / "typed.sqlite"),
        "postgres": _bytes(folder / "postgres" / "base"),
    }


def _bytes(path: Path) -> int:
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(f.stat().st_size for f in files if f.is_file())
