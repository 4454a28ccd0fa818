# ruff: noqa: E501 (SQL reads better whole)
"""Loading: 10 M rows of seven columns, as Parquet against CREATE TABLE AS SELECT and a checkpoint, as CSV against
read_csv(all_varchar); wall, CPU and peak memory, each in a process of its own."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

PACK = """
pack: bench_load
subject: person
axes:
  seniority: {order: [IC, Manager, Director, VP, SVP, C-level]}
  function: {terms: [Sales, Finance, Legal]}
relations:
  held_role:
    dated: true
    slots: {seniority: {term: seniority}, function: {term: function}, company: text, rate: number}
"""
MAP = """
source: bench
rows:
  - relation: held_role
    from: roles
    entity: person_id
    slots: {seniority: level, function: function, company: employer, rate: rate}
    period: [started_on, ended_on]
    looked_at: {every: roles.person_id}
"""
_ROWS = """
    SELECT 10000000 + ((i * 48271) % {people}) AS person_id,
           ['IC', 'IC', 'IC', 'Manager', 'Manager', 'Director', 'VP', 'C-level'][1 + (hash(i) % 8)::INTEGER] AS level,
           ['Sales', 'Finance', 'Legal', 'Other'][1 + (hash(i + 1) % 4)::INTEGER] AS function,
           'Company ' || (hash(i + 2) % 5000) AS employer,
           ((hash(i + 3) % 100000) / 100.0)::DECIMAL(9, 2)::VARCHAR AS rate,
           (DATE '2000-01-01' + (hash(i + 4) % 7000)::INTEGER)::VARCHAR AS started_on,
           CASE WHEN hash(i + 5) % 3 > 0 THEN (DATE '2010-01-01' + (hash(i + 6) % 5000)::INTEGER)::VARCHAR END AS ended_on
    FROM (SELECT range::BIGINT AS i FROM range({rows}))"""


def make(folder: Path, rows: int) -> None:
    import duckdb

    con = duckdb.connect()
    select = _ROWS.format(rows=rows, people=max(1, rows // 5))
    for kind, how in (("parquet", "FORMAT parquet"), ("csv", "FORMAT csv, HEADER")):
        (folder / kind).mkdir(parents=True)
        con.execute(f"COPY ({select}) TO '{folder / kind / 'roles'}.{kind}' ({how})")
        (folder / kind / "pack.yaml").write_text(PACK)
        (folder / kind / "map.yaml").write_text(MAP)


def ours(folder: Path, target: Path) -> None:
    import closedset.load

    closedset.load.load(target, folder / "pack.yaml", [folder])


def theirs(folder: Path, target: Path) -> None:
    import duckdb

    con = duckdb.connect(str(target))
    reader = (
        f"read_parquet('{folder}/roles.parquet')"
        if folder.name == "parquet"
        else f"read_csv('{folder}/roles.csv', all_varchar = true)"
    )
    con.execute(f"CREATE TABLE roles AS SELECT * FROM {reader}")
    con.execute("CHECKPOINT")
    con.close()


def measured(who: str, folder: Path, target: Path) -> dict[str, Any]:
    """Run one side in a process of its own; figures from wait4."""
    start = time.perf_counter()
    process = subprocess.Popen([sys.executable, __file__, "--side", who, str(folder), str(target)])
    _, status, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    if status:
        raise SystemExit(f"{who} {folder.name}: ended with {status}")
    size = sum(f.stat().st_size for f in (target.rglob("*") if target.is_dir() else [target]) if f.is_file())
    return {"wall_s": wall, "cpu_s": used.ru_utime + used.ru_stime, "peak_rss": used.ru_maxrss * 1024, "bytes": size}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--out", type=Path, help="also write the figures as JSON here")
    parser.add_argument("--side", nargs=3, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.side:
        {"closedset": ours, "duckdb": theirs}[args.side[0]](Path(args.side[1]), Path(args.side[2]))
        return
    figures: dict[str, dict[str, list[dict[str, Any]]]] = {}
    with tempfile.TemporaryDirectory() as work:
        make(Path(work) / "made", args.rows)
        for kind in ("parquet", "csv"):
            figures[kind] = {"closedset": [], "duckdb": []}
            for i in range(args.runs):
                for who in ("closedset", "duckdb"):
                    figures[kind][who].append(
                        measured(who, Path(work) / "made" / kind, Path(work) / f"{who}_{kind}_{i}")
                    )
            a, b = (
                sorted(figures[kind][who], key=lambda f: f["wall_s"])[args.runs // 2] for who in ("closedset", "duckdb")
            )
            for who, one in (("closedset", a), ("duckdb", b)):
                print(
                    f"{kind:8} {who:10} {one['wall_s']:8.1f} s  CPU {one['cpu_s']:8.1f} s  peak {one['peak_rss'] / (1 << 20):8.0f} MiB"
                    f"  on disk {one['bytes'] / (1 << 20):8.0f} MiB"
                )
            print(f"{kind:8} ratio      {a['wall_s'] / b['wall_s']:8.1f}    CPU {a['cpu_s'] / b['cpu_s']:8.1f}")
    if args.out:
        args.out.write_text(json.dumps({"rows": args.rows, "figures": figures}, indent=1) + "\n")


if __name__ == "__main__":
    main()
