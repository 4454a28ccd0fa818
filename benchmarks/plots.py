"""Draw the pictures of the README from a result file: peers side by side, time against rows, memory."""

import argparse
import json
import statistics
from collections import defaultdict
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt

mpl.use("Agg")
HERE = Path(__file__).parent


def peers(record: dict[str, Any], file: Path) -> None:
    """Every question's median at the compared size, one mark a peer."""
    sizes = {f["size"]: sum(g["size"] == f["size"] for g in record["figures"]) for f in record["figures"]}
    size = max(sizes, key=lambda s: sizes[s])
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for f in record["figures"]:
        if f["size"] == size and f["wall_s"]:
            found[f["peer"]][f["question"]] = statistics.median(f["wall_s"])
    order = sorted(found["closedset"], key=lambda q: found["duckdb_matched"].get(q, 0))
    figure, axes = plt.subplots(figsize=(9, 8))
    for peer, times in found.items():
        asked = [q for q in order if q in times]
        axes.plot(
            [times[q] for q in asked],
            [order.index(q) for q in asked],
            "o",
            ms=9 if peer == "closedset" else 5,
            label=peer,
        )
    axes.set_xscale("log")
    axes.set_yticks(range(len(order)), order, fontsize=8)
    axes.set_xlabel(f"seconds, hot, median, {size} rows")
    axes.legend(fontsize=8)
    axes.grid(alpha=0.3)
    _save(figure, file)


def growth(record: dict[str, Any], file: Path) -> None:
    """Median over the questions against the rows."""
    found: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for f in record["figures"]:
        if f["wall_s"] and f["peer"] in ("closedset", "duckdb_matched"):
            found[f["peer"]][int(f["size"][:-1])].append(statistics.median(f["wall_s"]))
    figure, axes = plt.subplots(figsize=(6, 4))
    for peer, by_size in found.items():
        at = sorted(by_size)
        axes.plot(at, [statistics.geometric_mean(by_size[s]) for s in at], "o-", label=peer)
    axes.set(xscale="log", yscale="log", xlabel="million rows", ylabel="seconds, geometric mean over the questions")
    axes.legend()
    axes.grid(alpha=0.3)
    _save(figure, file)


def memory(record: dict[str, Any], file: Path) -> None:
    """Peak memory of a search in a fresh process, over what opening took."""
    found = [f for f in record["figures"] if f["peer"] == "closedset" and f["peak_rss"]]
    found.sort(key=lambda f: f["peak_rss"] - f["rss_after_open"])
    figure, axes = plt.subplots(figsize=(9, 7))
    axes.barh([f["question"] for f in found], [(f["peak_rss"] - f["rss_after_open"]) / (1 << 20) for f in found])
    axes.axvline(1024, color="black", ls="--")
    axes.set_xlabel("MiB over the open store, fresh process")
    axes.tick_params(axis="y", labelsize=8)
    _save(figure, file)


def _save(figure: Any, file: Path) -> None:
    figure.tight_layout()
    figure.savefig(file, dpi=110)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("result", type=Path)
    args = parser.parse_args()
    record = json.loads(args.result.read_text())
    for name, draw in (("peers", peers), ("growth", growth), ("memory", memory)):
        draw(record, HERE / f"{name}.png")


if __name__ == "__main__":
    main()
