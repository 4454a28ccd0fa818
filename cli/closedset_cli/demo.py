"""`closedset demo`: the whole job on a real export, in a store that is gone afterwards."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from closedset_cli import answer, progress, streams, words
from closedset_cli.sheet import Sheet

if TYPE_CHECKING:
    from closedset.catalog import Catalog
    from closedset.reply_full import FullReply

_PACK = "sf_food"
_ASKED = ("violation.risk_category = High Risk", "violation.date >= 2015-01", "violation.date <= 2015-12")
_SHOWN = 3
_STORE = "food"


def demo() -> None:
    """See the whole job on a real export.

    Loads a bundled export of food inspections into a temporary store, asks who had a high-risk violation, and
    shows the answer: who had one, who was inspected and had none, who was never inspected.
    """
    from closedset_cli import condition

    request: dict[str, Any] = {"constraints": [condition.read(text, required=True) for text in _ASKED], "limit": _SHOWN}
    with TemporaryDirectory(prefix="closedset-demo-", ignore_cleanup_errors=True) as folder:
        import closedset
        from closedset.load import load
        from closedset.reply_full import FullReply

        with progress.shown("loading the bundled export"):
            catalog = load(Path(folder) / _STORE, _PACK, sample=True).catalog
        with closedset.open(Path(folder) / _STORE) as store:
            reply = store.search(request)
    assert isinstance(reply, FullReply)
    for i, sheet in enumerate((_question(catalog), _meaning(reply), answer.full(reply), _yourself())):
        streams.reply("\n" if i else "")
        sheet.send()


def _question(catalog: "Catalog") -> Sheet:
    sheet = Sheet()
    sheet.heading(catalog.pack.title, f": {catalog.universe} businesses, three exported tables")
    for report in catalog.reports:
        sheet.line(
            f"{report.relation}: {report.read} rows read = {report.loaded} loaded + {report.withheld} withheld"
            f" + {report.unattributed} unattributed",
            indent=2,
        )
    sheet.heading("the question", ": which businesses had a high-risk violation in 2015?")
    sheet.line("All three conditions must hold on one row:", indent=2)
    for text in _ASKED:
        sheet.line(text, indent=4)
    return sheet


def _meaning(reply: "FullReply") -> Sheet:
    counts = reply.counts
    held = counts.none + counts.not_recorded
    sheet = Sheet()
    sheet.heading("the answer in words")
    sheet.columns(
        [
            (words.of(counts.matched, counts.universe), "had one: here they are, with the rows that say so"),
            (words.of(counts.none, counts.universe), "were inspected, and no such violation was written down"),
            (words.of(counts.not_recorded, counts.universe), "were never inspected: nobody can say they are clean"),
            (words.of(counts.undetermined, counts.universe), "have only rows that cannot be judged"),
        ]
    )
    sheet.line(
        f"A plain NOT IN over the violations would call {held} businesses clean, {counts.not_recorded} of them unseen.",
        indent=2,
    )
    return sheet


def _yourself() -> Sheet:
    sheet = Sheet()
    sheet.heading("to do the same yourself")
    asked = " ".join(f"-w '{text}'" for text in _ASKED)
    for line in (
        f"closedset load {_STORE} --pack {_PACK} --sample",
        f"closedset schema {_STORE}",
        f"closedset search {_STORE} {asked} --limit {_SHOWN}",
        f"closedset search {_STORE} {asked} --set not_recorded --format csv",
    ):
        sheet.line((line, "bold"), indent=2)
    sheet.line()
    sheet.line("The temporary store is gone.")
    return sheet
