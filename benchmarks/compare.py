"""Compare two result files: what became faster or slower, question by question, and which measures moved."""

import argparse
import json
import statistics
from pathlib import Path
from typing import Any

#: A change within this is called noise.
NOISE = 0.1


def medians(record: dict[str, Any], peer: str) -> dict[tuple[str, str], float]:
    """Median hot seconds by (size, question)."""
    return {
        (f["size"], f["question"]): statistics.median(f["wall_s"])
        for f in record["figures"]
        if f["peer"] == peer and f["wall_s"]
    }


def lines(a: dict[str, Any], b: dict[str, Any], peer: str = "closedset") -> list[str]:
    """What to print. A peer that did not change between the two files says how unlike the two runs were."""
    said = [f"{a['started']} ({a['shape']}) → {b['started']} ({b['shape']})", ""]
    before, after = medians(a, peer), medians(b, peer)
    both = sorted(before.keys() & after.keys(), key=lambda k: after[k] / before[k])
    for size, question in both:
        ratio = after[size, question] / before[size, question]
        word = "" if abs(ratio - 1) <= NOISE else "faster" if ratio < 1 else "slower"
        change = f"{before[size, question]:>10.3f} → {after[size, question]:<10.3f}{ratio:>7.2f}"
        said.append(f"{size:>5} {question:30}{change}  {word}")
    for other in sorted({f["peer"] for f in a["figures"]} & {f["peer"] for f in b["figures"]}):
        was, now = medians(a, other), medians(b, other)
        shared = was.keys() & now.keys()
        if shared:
            mean = statistics.geometric_mean(now[k] / was[k] for k in shared)
            said.append(f"{other}: geometric mean of {len(shared)}: {mean:.2f}")
    said.append("")
    former = {m["name"]: m for m in a["measures"]}
    for measure in b["measures"]:
        old = former.get(measure["name"])
        said.append(f"{measure['name']:74}{_said(old):>18} → {_said(measure)}")
    return said


def _said(measure: dict[str, Any] | None) -> str:
    if measure is None or measure["ratio"] is None:
        return "-"
    return f"{measure['ratio']:.3g} {measure['verdict']}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--peer", default="closedset")
    args = parser.parse_args()
    print("\n".join(lines(json.loads(args.before.read_text()), json.loads(args.after.read_text()), args.peer)))


if __name__ == "__main__":
    main()
