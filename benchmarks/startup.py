# ruff: noqa: E501 (SQL reads better whole)
"""What a terminal user waits for: the whole process of `closedset search` on an existing store of the bundled
sf_food pack, against a process that imports duckdb, pyarrow and pydantic and runs the bare SQL, turn about."""

import argparse
import importlib.util
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
#: Question S1 of the sf_food field questions.
QUESTION = {
    "constraints": [
        {"relation": "violation", "slot": "risk_category", "op": "eq", "value": "High Risk"},
        {"relation": "violation", "slot": "date", "op": "eq", "value": "2015"},
    ]
}
#: The same four sets by hand, over the export's own files.
BARE = """
import duckdb, pyarrow, pydantic
import json
print(json.dumps(dict(duckdb.connect().sql('''
    WITH v AS (
        SELECT business_id, bool_or(risk_category = 'High Risk' AND date BETWEEN '20150101' AND '20151231') AS m
        FROM '{data}/violations.parquet' GROUP BY 1),
    looked AS (
        SELECT DISTINCT business_id FROM '{data}/inspections.parquet'
        WHERE type NOT IN ('Non-inspection site visit', 'Administrative or Document Review')),
    everybody AS (
        SELECT business_id FROM '{data}/businesses.parquet' UNION SELECT business_id FROM '{data}/inspections.parquet'
        UNION SELECT business_id FROM '{data}/violations.parquet')
    SELECT CASE WHEN m THEN 'matched' WHEN m IS NOT NULL OR looked.business_id IS NOT NULL THEN 'none'
           ELSE 'not_recorded' END AS verdict, count(*)
    FROM everybody LEFT JOIN v USING (business_id) LEFT JOIN looked USING (business_id) GROUP BY 1
''').fetchall())))
"""


def timed(words: list[str]) -> tuple[float, float]:
    """Wall and CPU seconds of one process; its output is thrown away, and it must succeed (or answer with a gap)."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=dict(os.environ))
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def same_answer(searched: list[str], bare: list[str]) -> None:
    """Refuse to time two processes that do not both answer, and alike: one that does nothing is very fast."""
    ours, theirs = (
        json.loads(subprocess.run(words, check=True, stdout=subprocess.PIPE).stdout) for words in (searched, bare)
    )
    counted = {verdict: ours["counts"][verdict] for verdict in theirs}
    assert counted == theirs, f"closedset counts {counted}, the bare SQL {theirs}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--out", type=Path, help="write the figures as JSON here")
    args = parser.parse_args()
    if importlib.util.find_spec("pandas"):
        print(
            "pandas is installed here: pyarrow imports it, closedset does not need it; measure without the bench group"
        )
    with tempfile.TemporaryDirectory() as folder:
        import closedset.load

        store = Path(folder) / "store"
        closedset.load.load(store, "sf_food", sample=True)
        request = Path(folder) / "request.json"
        request.write_text(json.dumps(QUESTION))
        searched = [
            sys.executable,
            "-m",
            "closedset_cli",
            "search",
            str(store),
            "--request",
            str(request),
            "--format",
            "json",
        ]
        bare = [sys.executable, "-c", BARE.format(data=ROOT / "packs/sf_food/data")]
        same_answer(searched, bare)
        timed(searched), timed(bare)
        pairs = [(timed(searched), timed(bare)) for _ in range(args.pairs)]
    figures: dict[str, dict[str, float]] = {}
    for what, at in (("wall", 0), ("CPU", 1)):
        a, b = ([pair[side][at] * 1000 for pair in pairs] for side in (0, 1))
        print(
            f"{what}: closedset search {statistics.median(a):.0f} ms ({min(a):.0f}–{max(a):.0f}), imports and bare SQL "
            f"{statistics.median(b):.0f} ms ({min(b):.0f}–{max(b):.0f}): {statistics.median(a) / statistics.median(b):.2f}"
        )
        ratios = sorted(x / y for x, y in zip(a, b, strict=True))
        figures[what] = {
            "search_ms": statistics.median(a),
            "bare_ms": statistics.median(b),
            "ratio_of_medians": statistics.median(a) / statistics.median(b),
            "least_ratio": ratios[0],
            "greatest_ratio": ratios[-1],
        }
    if args.out:
        said = {"pairs": args.pairs, "bytecode": not sys.dont_write_bytecode, **figures}
        args.out.write_text(json.dumps(said, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
