"""A whole set of the partition, id by id, however many there are."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from closedset_cli import streams, words
from closedset_cli.csv_lines import Csv, as_json, json_line
from closedset_cli.format import Format
from closedset_cli.printable import printable

if TYPE_CHECKING:
    import pyarrow as pa

_BATCH = 10_000


def send(partition: "pa.Table", verdict: str, output: Format, narrowed_by: list[str]) -> None:
    """Write the ids of one verdict, in id order, a batch at a time; in JSON with the set's licence."""
    batches = _ids(partition, verdict)
    match output:
        case Format.CSV:
            table = Csv(["entity_id", "verdict"])
            for ids in batches:
                table.write([(one, verdict) for one in ids])
        case Format.JSONL:
            for ids in batches:
                for one in ids:
                    json_line({"entity_id": one, "verdict": verdict})
        case Format.JSON:
            streams.reply(f'{{"set": {as_json(verdict)}, "entity_ids": [')
            total = 0
            for ids in batches:
                lines = ",\n".join(as_json(one) for one in ids)
                streams.reply(("\n" if not total else ",\n") + lines)
                total += len(ids)
            licence = as_json({"granted": not narrowed_by, "narrowed_by": narrowed_by})
            counted = f'"total": {total}, "universe": {partition.num_rows}, "licence": {licence}'
            streams.reply(f"{chr(10) if total else ''}], {counted}}}\n")
        case Format.TABLE:
            total = 0
            for ids in batches:
                streams.reply("".join(f"{printable(one)}\n" for one in ids))
                total += len(ids)
            said = f"{words.name(verdict)}: {words.SETS[verdict]}"
            streams.reply(f"\n{said}; {words.of(total, partition.num_rows)} entities\n")
            streams.reply(f"showing {words.of(total, total)}\n")


def _ids(partition: "pa.Table", verdict: str) -> Iterator[list[str]]:
    for batch in partition.to_batches(max_chunksize=_BATCH):
        verdicts = batch.column(1).to_pylist()
        ids = [one for one, said in zip(batch.column(0).to_pylist(), verdicts, strict=True) if said == verdict]
        if ids:
            yield ids
