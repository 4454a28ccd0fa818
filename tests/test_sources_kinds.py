"""Every kind of export: the same tables, written by whoever writes that kind, are the same kept cells and give the
same answers; and what each kind alone can hold."""

import csv
import datetime as dt
import gzip
import json
import sqlite3
import subprocess
import sys
import zipfile
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from tests.test_load import ask, delivered, figures, load, reasons, rows, verdicts
from tests.test_sources_csv import kept

import closedset
import closedset.load
from closedset import pack as packs
from closedset.content import content
from closedset.errors import ClosedsetError, LoadRefused
from closedset.render import quoted

ROSTER = packs.data_folder("packs") / "roster"
Tables = dict[str, tuple[list[str], list[list[str | None]]]]


def roster() -> Tables:
    """The bundled roster export: each table's columns and rows, an empty cell None."""
    tables: Tables = {}
    for file in sorted((ROSTER / "data").glob("*.csv")):
        with file.open(encoding="utf-8", newline="") as stream:
            header, *records = csv.reader(stream)
        tables[file.stem] = header, [[cell or None for cell in record] for record in records]
    return tables


def arrow(columns: list[str], records: list[list[str | None]]) -> pa.Table:
    return pa.table([pa.array(c, pa.string()) for c in zip(*records, strict=True)], names=columns)


# --- writers --------------------------------------------------------------------------------------------


def as_csv(folder: Path, tables: Tables, suffix: str = "csv", **form: Any) -> None:
    for name, (columns, records) in tables.items():
        with (folder / f"{name}.{suffix}").open("w", encoding=form.get("encoding", "utf-8"), newline="") as out:
            writer = csv.writer(out, delimiter=form.get("delimiter", ","), quoting=csv.QUOTE_ALL)
            writer.writerows([columns, *records])


def as_json(folder: Path, tables: Tables) -> None:
    for name, (columns, records) in tables.items():
        objects = [dict(zip(columns, record, strict=True)) for record in records]
        (folder / f"{name}.json").write_text(json.dumps(objects, indent=1, ensure_ascii=False), encoding="utf-8")


def as_jsonl(folder: Path, tables: Tables) -> None:
    for name, (columns, records) in tables.items():
        lines = "".join(json.dumps(dict(zip(columns, record, strict=True))) + "\n" for record in records)
        (folder / f"{name}.jsonl.gz").write_bytes(gzip.compress(lines.encode()))


def as_parquet(folder: Path, tables: Tables) -> None:
    for name, table in tables.items():
        pq.write_table(arrow(*table), folder / f"{name}.parquet")


def as_arrow_file(folder: Path, tables: Tables) -> None:
    for name, table in tables.items():
        data = arrow(*table)
        with pa.ipc.new_file(str(folder / f"{name}.feather"), data.schema) as writer:
            writer.write_table(data, max_chunksize=2)


def as_arrow_stream(folder: Path, tables: Tables) -> None:
    for name, table in tables.items():
        data = arrow(*table)
        with pa.ipc.new_stream(str(folder / f"{name}.arrow"), data.schema) as writer:
            writer.write_table(data, max_chunksize=2)


def as_sqlite(folder: Path, tables: Tables) -> None:
    con = sqlite3.connect(folder / "export.db")
    for name, (columns, records) in tables.items():
        con.execute(f"CREATE TABLE {quoted(name)} ({', '.join(f'{quoted(c)} TEXT' for c in columns)})")
        con.executemany(f"INSERT INTO {quoted(name)} VALUES ({', '.join('?' * len(columns))})", records)
    con.commit()
    con.close()


def as_duckdb(folder: Path, tables: Tables) -> None:
    with duckdb.connect(str(folder / "export.duckdb")) as con:
        for name, table in tables.items():
            con.register("given", arrow(*table))
            con.execute(f"CREATE TABLE {quoted(name)} AS SELECT * FROM given")


def as_delta(folder: Path, tables: Tables) -> None:
    import deltalake

    for name, table in tables.items():
        deltalake.write_deltalake(str(folder / name), arrow(*table))


def as_iceberg(folder: Path, tables: Tables) -> None:
    from pyiceberg.catalog.memory import InMemoryCatalog

    catalog = InMemoryCatalog("made", warehouse=folder.as_uri())
    catalog.create_namespace("n")
    for name, table in tables.items():
        data = arrow(*table)
        catalog.create_table(f"n.{name}", data.schema, location=(folder / name).as_uri()).append(data)


_SHEET = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
_REL = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def cell_xml(value: Any) -> str:
    """One cell of a sheet: text, what `{t, v, s}` says of its kind, stored value and style, or its XML."""
    if value is None:
        return "<c/>"
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, dict):
        kind = f' t="{value["t"]}"' if "t" in value else ""
        return f'<c{kind} s="{value.get("s", 0)}"><v>{escape(str(value["v"]))}</v></c>'
    return f'<c t="inlineStr"><is><t xml:space="preserve">{escape(value)}</t></is></c>'


def workbook(file: Path, sheets: dict[str, list[list[Any]]]) -> None:
    """A workbook as a spreadsheet program writes it: inline texts, and style 1 for days."""
    with zipfile.ZipFile(file, "w") as out:
        types = "http://schemas.openxmlformats.org/package/2006/content-types"
        main = "application/vnd.openxmlformats-officedocument.spreadsheetml"
        parts = "".join(
            f'<Override PartName="/xl/worksheets/sheet{i}.xml" ContentType="{main}.worksheet+xml"/>'
            for i in range(1, len(sheets) + 1)
        )
        out.writestr(
            "[Content_Types].xml",
            f'<Types xmlns="{types}"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.'
            f'relationships+xml"/><Override PartName="/xl/workbook.xml" ContentType="{main}.sheet.main+xml"/>'
            f'<Override PartName="/xl/styles.xml" ContentType="{main}.styles+xml"/>{parts}</Types>',
        )
        package = "http://schemas.openxmlformats.org/package/2006/relationships"
        out.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{package}"><Relationship Id="r1" Type="{_REL}/officeDocument" '
            'Target="xl/workbook.xml"/></Relationships>',
        )
        names = "".join(f'<sheet name="{escape(n)}" sheetId="{i}" r:id="r{i}"/>' for i, n in enumerate(sheets, 1))
        out.writestr("xl/workbook.xml", f'<workbook {_SHEET} xmlns:r="{_REL}"><sheets>{names}</sheets></workbook>')
        links = "".join(
            f'<Relationship Id="r{i}" Type="{_REL}/worksheet" Target="worksheets/sheet{i}.xml"/>'
            for i in range(1, len(sheets) + 1)
        )
        style = f'<Relationship Id="rs" Type="{_REL}/styles" Target="styles.xml"/>'
        out.writestr("xl/_rels/workbook.xml.rels", f'<Relationships xmlns="{package}">{links}{style}</Relationships>')
        out.writestr(
            "xl/styles.xml",
            f'<styleSheet {_SHEET}><cellXfs count="2"><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs></styleSheet>',
        )
        for i, records in enumerate(sheets.values(), 1):
            lines = "".join(f"<row>{''.join(map(cell_xml, record))}</row>" for record in records)
            sheet = f"<worksheet {_SHEET}><sheetData>{lines}</sheetData></worksheet>"
            out.writestr(f"xl/worksheets/sheet{i}.xml", sheet)


def as_excel(folder: Path, tables: Tables) -> None:
    workbook(folder / "export.xlsx", {name: [columns, *records] for name, (columns, records) in tables.items()})


def as_ods(folder: Path, tables: Tables) -> None:
    spaces = " ".join(
        f'xmlns:{short}="urn:oasis:names:tc:opendocument:xmlns:{long}:1.0"'
        for short, long in (("office", "office"), ("table", "table"), ("text", "text"))
    )

    def cell(value: str | None) -> str:
        if value is None:
            return "<table:table-cell/>"
        return f'<table:table-cell office:value-type="string"><text:p>{escape(value)}</text:p></table:table-cell>'

    body = ""
    for name, (columns, records) in tables.items():
        header: list[str | None] = [*columns]
        lines = "".join(f"<table:table-row>{''.join(map(cell, r))}</table:table-row>" for r in [header, *records])
        body += f'<table:table table:name="{name}">{lines}</table:table>'
    with zipfile.ZipFile(folder / "export.ods", "w") as out:
        out.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        out.writestr(
            "META-INF/manifest.xml",
            '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"/>',
        )
        out.writestr(
            "content.xml",
            f"<office:document-content {spaces}><office:body><office:spreadsheet>{body}</office:spreadsheet>"
            "</office:body></office:document-content>",
        )


WRITERS: dict[str, Callable[[Path, Tables], None]] = {
    "CSV": as_csv,
    "TSV in UTF-16": lambda folder, tables: as_csv(folder, tables, "tsv", encoding="utf-16", delimiter="\t"),
    "JSON": as_json,
    "JSON lines, packed": as_jsonl,
    "Parquet": as_parquet,
    "Arrow file": as_arrow_file,
    "Arrow stream": as_arrow_stream,
    "SQLite": as_sqlite,
    "DuckDB": as_duckdb,
    "Delta": as_delta,
    "Iceberg": as_iceberg,
    "Excel": as_excel,
    "OpenDocument": as_ods,
}
VPS = {
    "constraints": [
        {"relation": "held_role", "slot": "seniority", "op": "gte", "value": "VP"},
        {"relation": "screening", "slot": "outcome", "op": "eq", "value": "passed"},
    ]
}
MAP: dict[str, Any] = {**yaml.safe_load((ROSTER / "map.yaml").read_text(encoding="utf-8")), "files": {}}


def answer(folder: Path, given: list[str]) -> tuple[Any, ...]:
    """The kept cells, the verdicts and the figures of a roster export."""
    (folder / "map.yaml").write_text(json.dumps(MAP), encoding="utf-8")
    done = closedset.load.load(folder / "store", "roster", given, mapping=folder / "map.yaml")
    again = closedset.load.load(folder / "store", "roster", given, mapping=folder / "map.yaml")
    assert (done.unchanged, again.unchanged) == (False, True)
    with closedset.open(folder / "store") as store:
        cells = {t.table: (t.columns, kept(folder, t.table)) for t in done.catalog.tables}
        reports = [r.model_dump() for r in done.catalog.reports]
        return content(store.generation()), cells, store.partition(VPS).to_pylist(), reports


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, ...]:
    return answer(tmp_path_factory.mktemp("expected"), [str(ROSTER / "data")])


@pytest.mark.parametrize("kind", WRITERS)
def test_the_same_tables_of_any_kind_are_the_same_cells_and_answers(
    kind: str, expected: tuple[Any, ...], tmp_path: Path
) -> None:
    export = tmp_path / "export"
    export.mkdir()
    WRITERS[kind](export, roster())
    assert answer(tmp_path, [str(export)]) == expected


# --- JSON -----------------------------------------------------------------------------------------------

PEOPLE = """{"exported": "2026-11-01", "people": [
  {"id": "007", "name": "Ann", "home": {"city": "Bern", "tags": ["a", 1.10]}, "roles": [
     {"title": "passed", "pay": 1.10, "at": {"org": "Acme"}}, {"title": "failed", "pay": 1e5}]},
  {"id": 9007199254740993, "name": null, "roles": []},
  {"id": "x", "roles": null},
  {"id": "y", "home": {}, "roles": [{"title": "", "pay": 12345678901234567890123456789}]}
]}"""
ROLES = {"t": {"file": "t.json", "path": "$.people[*].roles[*]"}}
ROLE = rows() | {"slots": {"outcome": "roles.title", "by": "roles.at.org", "fee": "roles.pay"}}


def test_a_document_is_as_many_rows_as_its_list_with_its_own_columns_beside(tmp_path: Path) -> None:
    done = load(tmp_path, {"t.json": PEOPLE}, {"files": ROLES, "rows": [ROLE]})
    (table,) = done.catalog.tables
    assert table.columns == ["id", "name", "home", "roles.title", "roles.pay", "roles.at", "roles.at.org"]
    assert kept(tmp_path) == [
        ("007", "Ann", '{"city":"Bern","tags":["a",1.10]}', "passed", "1.10", '{"org":"Acme"}', "Acme"),
        ("007", "Ann", '{"city":"Bern","tags":["a",1.10]}', "failed", "1e5", None, None),
        ("y", None, "{}", None, "12345678901234567890123456789", None, None),
    ]
    assert verdicts(tmp_path) == {"007": "matched", "y": "undetermined"}
    (row,) = [r for r in delivered(tmp_path) if r["slots"]["outcome"] == "passed"]
    assert row["slot_receipts"]["fee"]["cell"] == "1.10"


def test_two_tables_may_lie_in_one_file(tmp_path: Path) -> None:
    mapping = {
        "files": {**ROLES, "u": {"file": "t.json", "path": "$.people[*]"}},
        "rows": [{**ROLE, "looked_at": {"every": "u.id"}}],
    }
    load(tmp_path, {"t.json": PEOPLE}, mapping)
    assert verdicts(tmp_path) == {"007": "matched", "9007199254740993": "none", "x": "none", "y": "undetermined"}
    assert [row[0] for row in kept(tmp_path, "u")] == ["007", "9007199254740993", "x", "y"]


@pytest.mark.parametrize("path", ["$[*].roles[*]", "$.roles[*]"])
@pytest.mark.parametrize("name", ["t.json", "t.jsonl", "t.parquet", "t.arrow"])
def test_a_path_means_the_same_in_every_nested_kind(path: str, name: str, tmp_path: Path) -> None:
    people = json.loads(PEOPLE, parse_int=str, parse_float=Decimal)["people"]
    texts = [
        {"id": p["id"], "roles": [{"title": r["title"], "at": r.get("at")} for r in p["roles"] or []]} for p in people
    ]
    export = tmp_path / "export"
    export.mkdir()
    if name == "t.json":
        (export / name).write_text(json.dumps(texts), encoding="utf-8")
    elif name == "t.jsonl":
        (export / name).write_text("\n".join(map(json.dumps, texts)), encoding="utf-8")
    elif name == "t.parquet":
        pq.write_table(pa.Table.from_pylist(texts), export / name)
    else:
        data = pa.Table.from_pylist(texts)
        with pa.ipc.new_stream(str(export / name), data.schema) as writer:
            writer.write_table(data)
    mapping = {
        "files": {"t": {"file": name, "path": path}},
        "rows": [rows() | {"slots": {"outcome": "roles.title", "by": "roles.at.org"}}],
    }
    done = load(tmp_path, {}, mapping)
    assert done.catalog.tables[0].columns == ["id", "roles.title", "roles.at", "roles.at.org"]
    assert kept(tmp_path) == [
        ("007", "passed", '{"org":"Acme"}', "Acme"), ("007", "failed", None, None), ("y", None, None, None)
    ]  # fmt: skip


LINES = """{"id": "e1", "outcome": "passed"}
{"id": "e2", "outcome": "pas
{"id": "e3", "outcome": "failed", "outcome": "passed"}
{"outcome": "passed", "id": "e4", "id": "e5"}

["e6"]
{"id": "e7", "outcome": NaN}
{"id": "e8", "outcome": "passed"} and more
{"outcome": "\\ud800", "id": "e9"}
{"id": "e10", "outcome": "failed"}
"""


def test_a_broken_line_is_withheld_where_it_says_whose_it_is(tmp_path: Path) -> None:
    mapping = {"rows": [rows() | {"slots": {"outcome": "outcome"}}]}
    done = load(tmp_path, {"t.jsonl": LINES}, mapping)
    assert figures(done.catalog) == (10, 2, 5, 3)
    assert [(lost.line, lost.entity_id) for lost in sorted(done.catalog.lost, key=lambda one: one.line or 0)] == [
        (2, "e2"), (3, "e3"), (4, None), (6, None), (7, "e7"), (8, "e8"), (8, None), (9, "e9")
    ]  # fmt: skip
    assert set(verdicts(tmp_path).values()) == {"matched", "none", "undetermined"}
    assert reasons(tmp_path)["unattributed_rows_withheld:screening"] == 3


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[{"id": "e1"}, {"id": "e2"', r"t\.json:1: no JSON"),
        ('[\n{"id": "e1"},\n{"id": e2}]', r"t\.json:3: no JSON"),
        ('[{"id": "e1"}]\n]', r"t\.json:2: no JSON: more text"),
        ('[{"id": "e1"},]', r"t\.json:1: no JSON"),
        ('{"people": [{"id": "e1"}]}', r"`path: \$\.people\[\*\]`"),
        ('"e1"', "a list or an object"),
        ("", "0 bytes"),
        ("[]", "declare its `columns`"),
        ('[{"id": "\xff"}]'.encode("latin-1"), r"t\.json:1: byte 0xff is not UTF-8"),
        ('[{"id": "e1", "ID": "e2", "outcome": "", "by": ""}]', "same name"),
    ],
)
def test_a_json_file_that_is_not_whole_is_refused_by_line(text: str | bytes, said: str, tmp_path: Path) -> None:
    with pytest.raises(LoadRefused, match=said):
        load(tmp_path, {"t.json": text})
    assert not (tmp_path / "store").exists()


ROLE_FROM = rows("held_role") | {"slots": {"title": "title"}, "period": ["f", "u"]}


@pytest.mark.parametrize("suffix", ["json", "jsonl"])
def test_a_key_that_some_objects_of_a_part_lack_is_an_empty_cell_in_whatever_order_of_parts(
    suffix: str, tmp_path: Path
) -> None:
    held = {"id": "e1", "title": "x", "f": "2020"}
    first, second = [held, {**held, "id": "e3", "u": "2022"}], [{**held, "id": "e2", "u": "2021"}]
    for i, names in enumerate(("ab", "ba")):
        files: dict[str, str | bytes] = {
            f"{name}.{suffix}": written(suffix, part) for name, part in zip(names, (first, second), strict=True)
        }
        done = load(tmp_path / str(i), files, {"files": {"t": f"*.{suffix}"}, "rows": [ROLE_FROM]})
        assert done.catalog.tables[0].notes == []
        assert sorted(row[0] or "" for row in kept(tmp_path / str(i))) == ["e1", "e2", "e3"]


def written(suffix: str, objects: list[dict[str, Any]]) -> str:
    return json.dumps(objects) if suffix == "json" else "".join(json.dumps(one) + "\n" for one in objects)


@pytest.mark.parametrize("suffix", ["json", "jsonl"])
@pytest.mark.parametrize(
    ("mapping", "key", "said"),
    [
        ({"rows": [ROLE_FROM]}, "u", "still open"),
        ({"rows": [rows() | {"slots": {"by": {"column": "u", "absent": "nobody"}}}]}, "u", "means 'nobody'"),
        (
            {"rows": [rows(table="v") | {"slots": {}}], "tables": {"v": "SELECT id FROM t WHERE U IS NULL"}},
            "u",
            "tables.v reads it",
        ),
        ({"rows": [ROLE_FROM | {"period": ["f", "at.u"]}]}, "at.u", "still open"),
    ],
)
def test_a_key_that_no_object_of_a_part_has_is_a_column_it_lacks(
    suffix: str, mapping: dict[str, Any], key: str, said: str, tmp_path: Path
) -> None:
    """A renamed key would read as still open; where it is only left out, the map says so."""
    held = {"id": "e1", "title": "x", "f": "2020", "u": "2021", "at": {"u": "2021"}}
    renamed = {"id": "e2", "title": "x", "f": "2020", "ended": "2021", "at": {"ended": "2021"}}
    files: dict[str, str | bytes] = {f"a.{suffix}": written(suffix, [held]), f"b.{suffix}": written(suffix, [renamed])}
    refusal = rf"b\.{suffix}: none of its objects has the key '{key}'.*{said}.*columns: \["
    with pytest.raises(LoadRefused, match=refusal):
        load(tmp_path, files, {"files": {"t": f"*.{suffix}"}, **mapping})
    assert not (tmp_path / "store").exists()
    load(tmp_path, files, {"files": {"t": {"file": f"*.{suffix}", "columns": [key]}}, **mapping})
    if mapping["rows"] == [ROLE_FROM]:
        asked = ask("title", "eq", "x", "held_role", as_of="2024-01")
        assert verdicts(tmp_path, asked) == {"e1": "none", "e2": "matched"}


def test_a_key_that_a_part_lacks_is_said_and_a_part_without_a_row_lacks_none(tmp_path: Path) -> None:
    whole = {"id": "e1", "outcome": "passed", "by": "x"}
    files: dict[str, str | bytes] = {"a.json": json.dumps([whole]), "b.json": '[{"id": "e2"}]', "c.json": "[]"}
    done = load(tmp_path, files, {"files": {"t": "*.json"}})
    assert done.catalog.tables[0].notes == [
        "t: b.json has no column 'outcome', 'by', which other parts have: not recorded in its rows"
    ]
    assert verdicts(tmp_path) == {"e1": "matched", "e2": "undetermined"}


def test_an_export_without_a_row_covers_whom_it_lists(tmp_path: Path) -> None:
    mapping = {
        "files": {"t": {"file": "t.json", "columns": ["id", "outcome", "by"]}},
        "rows": [rows(looked_at={"listed": "log.id"})],
    }
    load(tmp_path, {"t.json": "[]", "log.csv": "id\ne1\n"}, mapping)
    assert verdicts(tmp_path) == {"e1": "none"}


def test_a_json_value_longer_than_what_is_read_at_once_is_whole(tmp_path: Path) -> None:
    long = [{"id": f"e{i}", "outcome": "passed", "by": "é" * size} for i, size in enumerate((3_000_000, 1, 700_000))]
    load(tmp_path, {"t.json": json.dumps(long, ensure_ascii=False)})
    assert [len(row[2] or "") for row in kept(tmp_path)] == [3_000_000, 1, 700_000]


# --- workbooks ------------------------------------------------------------------------------------------


def test_a_cell_of_a_workbook_is_what_is_stored(tmp_path: Path) -> None:
    (tmp_path / "export").mkdir()
    cells = [
        "007", {"v": 42}, {"v": 1.5}, {"v": 45292, "s": 1}, {"v": 45292.5, "s": 1}, {"t": "b", "v": 1},
        {"t": "e", "v": "#N/A"}, {"v": 12345678901234567890}, " blanks ", None,
    ]  # fmt: skip
    names = [f"c{i}" for i in range(len(cells))]
    workbook(tmp_path / "export" / "b.xlsx", {"notes": [["x"]], "t": [names, cells, [], ["8"]]})
    mapping = {"rows": [rows(entity="c0") | {"slots": {"outcome": "c1"}}]}
    load(tmp_path, {}, mapping)
    first, second = kept(tmp_path)
    assert first == ("007", "42", "1.5", "2024-01-01", "2024-01-01 12:00:00", "true", "#N/A",
                     "1.2345678901234567e+19", " blanks ", None)  # fmt: skip
    assert second == ("8", *[None] * 9)


def test_a_table_may_stand_anywhere_on_its_sheet_and_a_fault_is_named_by_its_row(tmp_path: Path) -> None:
    (tmp_path / "export").mkdir()
    error = {"t": "e", "v": "#REF!"}
    lines: list[list[Any]] = [
        [None] * 4,
        [None, "id", "outcome", "by"],
        [None, "e1", "passed", error],
        [None, "e2", "failed", "y", "z"],
    ]
    workbook(tmp_path / "export" / "b.xlsx", {"t": lines})
    done = load(tmp_path, {})
    assert kept(tmp_path) == [("e1", "passed", "#REF!")]
    (lost,) = done.catalog.lost
    assert (lost.file, lost.line, lost.entity_id) == ("b.xlsx sheet t", 4, "e2")


OPEN = {
    "rows": [rows("held_role") | {"slots": {"title": "title"}, "period": ["f", "u"]}],
    "files": {"t": {"file": "b.xlsx", "sheet": "t"}},
}
FORMULA = "<f>DATE(2021,1,1)</f>"


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        (f"<c>{FORMULA}<v/></c>", "1 cell holds a formula without a value (D3)"),
        (f"<c>{FORMULA}<v></v></c>", "(D3)"),
        (f"<c>{FORMULA}</c>", "(D3)"),
        ('<c t="str"><f>A1</f></c>', "(D3)"),
        ('<c><f t="shared" si="0"/><v /></c>', "(D3)"),
        (f'<c r="AB3">{FORMULA}<v/></c>', "(AB3)"),
        (f"<c>{FORMULA}<v/></c>" * 5, "5 cells hold formulas without a value (D3, E3, F3, …)"),
        (f'<c s="1">{FORMULA}<v>44197</v></c>', "none"),
        ('<c t="str"><f>""</f><v></v></c>', "matched"),
    ],
)
def test_a_formula_that_was_never_computed_is_refused_and_no_open_end(cell: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "export").mkdir()
    lines: list[list[Any]] = [[None] * 4, ["id", "title", "f", "u"], ["e1", "VP", "2020", cell.encode()]]
    workbook(tmp_path / "export" / "b.xlsx", {"t": lines, "more": [[b"<c><f>A1</f></c>"]]})
    if "(" in said:
        with pytest.raises(LoadRefused) as refusal:
            load(tmp_path, {}, OPEN)
        assert str(refusal.value).startswith(f"{tmp_path / 'export' / 'b.xlsx'} sheet t: ")
        assert f"{said}: " in str(refusal.value)
        assert "spreadsheet program and save it, or export its values" in str(refusal.value)
        assert not (tmp_path / "store").exists()
    else:
        load(tmp_path, {}, OPEN)
        asked = ask("title", "eq", "VP", "held_role", as_of="2024-01")
        assert verdicts(tmp_path, asked) == {"e1": said}


def test_a_row_is_named_as_whoever_opens_its_file_finds_it(tmp_path: Path) -> None:
    (tmp_path / "book" / "export").mkdir(parents=True)
    header = ["id", "outcome", "by"]
    lines = [[], header, ["e1", "passed", "x"], [], ["e2", "x", "y", "z"], ["e3", "passed", "y"], [], ["e4", "passed"]]
    workbook(tmp_path / "book" / "export" / "b.xlsx", {"t": [line or [None] * 3 for line in lines]})
    records = ['{"id": "e1", "outcome": "passed"', *(f'{{"id": "e{i}", "outcome": "passed"}}' for i in (2, 3)), "[]"]
    text = "\n".join([*records[:2], "", *records[2:], records[1].replace("e2", "e4")])
    found = {}
    for name, files in (("book", {}), ("lines", {"t.jsonl": text})):
        load(tmp_path / name, dict(files), {"rows": [rows() | {"slots": {"outcome": "outcome"}}]})
        found[name] = [row["slot_receipts"]["outcome"]["row"] for row in delivered(tmp_path / name)]
    assert found == {"book": [3, 6, 8], "lines": [2, 3, 5]}


@pytest.mark.parametrize(
    ("said", "fault"),
    [
        ({"file": "b.xlsx", "sheet": "Role"}, "no sheet 'Role'; did you mean 'roles'"),
        ({"file": "b.xlsx"}, "no sheet 't' (it has: roles, more)"),
        ({"file": "b.xlsx", "sheet": "more"}, "the sheet is empty"),
        ({"file": "b.xlsx", "table": "roles"}, "`table` is for"),
    ],
)
def test_a_sheet_that_is_not_there_is_refused(said: dict[str, str], fault: str, tmp_path: Path) -> None:
    (tmp_path / "export").mkdir()
    workbook(tmp_path / "export" / "b.xlsx", {"roles": [["id", "outcome", "by"]], "more": []})
    with pytest.raises(ClosedsetError) as refusal:
        load(tmp_path, {}, {"files": {"t": said}})
    assert fault in str(refusal.value)
    load(tmp_path, {}, {"files": {"t": {"file": "b.xlsx", "sheet": "roles"}}})


@pytest.mark.parametrize("name", ["t.xlsx", "t.ods", "t.xls", "t.arrow", "t.feather", "t.json", "t.jsonl"])
@pytest.mark.parametrize("junk", [b"\0" * 5000, b"PK\x03\x04" + b"\0\x9f" * 80, b'{"id": ', b"ARROW1\0\0junk"])
def test_junk_of_any_kind_is_refused_by_name(name: str, junk: bytes, tmp_path: Path) -> None:
    with pytest.raises(LoadRefused, match=name.replace(".", r"\.")):
        load(tmp_path, {name: junk})


# --- databases ------------------------------------------------------------------------------------------


def test_a_cell_of_sqlite_is_what_is_stored_whatever_its_column_says(tmp_path: Path) -> None:
    (tmp_path / "export").mkdir()
    con = sqlite3.connect(tmp_path / "export" / "hr.sqlite")
    con.execute("PRAGMA journal_mode = wal")
    con.execute("CREATE TABLE screenings (id, outcome TEXT, by)")
    given = [("007", "passed", 0.1 + 0.2), (7, "failed", 2**62), (b"a\\\xff", "", None), ("x", "passed", 1e5)]
    con.executemany("INSERT INTO screenings VALUES (?, ?, ?)", given)
    con.commit()
    mapping = {"files": {"t": {"file": "hr.sqlite", "table": "screenings"}}}
    done = load(tmp_path, {}, mapping)
    assert kept(tmp_path) == [
        ("007", "passed", "0.30000000000000004"), ("7", "failed", str(2**62)), ("a\\x5C\\xFF", None, None),
        ("x", "passed", "100000.0"),
    ]  # fmt: skip
    assert done.catalog.tables[0].files[0].path.endswith("hr.sqlite table screenings")
    con.execute("DELETE FROM screenings WHERE id = 'x'")
    con.commit()
    assert not load(tmp_path, {}, mapping, accept_shrink=True).unchanged, "what stands in the log beside it counts"
    con.close()


def test_a_table_in_two_databases_is_refused_and_one_named_is_read(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / "export" / name).mkdir(parents=True)
        as_duckdb(tmp_path / "export" / name, {"t": (["id", "outcome", "by"], [[name, "passed", None]])})
        (tmp_path / "export" / name / "export.duckdb").rename(tmp_path / "export" / f"{name}.db")
    with pytest.raises(LoadRefused, match=r"'t' is in several .*a\.db, .*b\.db"):
        load(tmp_path, {})
    load(tmp_path, {}, {"files": {"t": "b.db"}})
    assert verdicts(tmp_path) == {"b": "matched"}


def test_a_duckdb_file_that_is_being_written_is_refused_and_may_be_read_afterwards(tmp_path: Path) -> None:
    (tmp_path / "export").mkdir()
    file = tmp_path / "export" / "x.duckdb"
    script = (
        "import duckdb, sys; con = duckdb.connect(sys.argv[1]); con.execute("
        "\"CREATE TABLE t AS SELECT 'e1' AS id, 'passed' AS outcome, {'a': [1.10]} AS by\"); "
        "print('open', flush=True); sys.stdin.read()"
    )
    writer = subprocess.Popen([sys.executable, "-c", script, str(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert writer.stdout
    assert writer.stdin
    assert writer.stdout.readline() == b"open\n"
    with pytest.raises(LoadRefused, match=r"x\.duckdb: .*must close it first"):
        load(tmp_path, {})
    writer.stdin.close()
    assert writer.wait() == 0
    writer.stdout.close()
    load(tmp_path, {})
    assert kept(tmp_path) == [("e1", "passed", '{"a":[1.10]}')]


# --- columns of every type ------------------------------------------------------------------------------


def test_nested_columns_are_json_that_loses_nothing(tmp_path: Path) -> None:
    data = pa.table(
        {
            "id": ["e1", "e2"],
            "s": [{"a": Decimal("1.10"), "b": None, 'q"': "é\n"}, None],
            "l": [[[1, None], []], None],
            "m": pa.array([[("k", 0.5), ("z", float("nan"))], []], pa.map_(pa.string(), pa.float64())),
            "d": [[dt.date(2024, 2, 29)], []],
        }
    )
    expected = [
        ("e1", '{"a":1.10,"b":null,"q\\"":"é\\n"}', "[[1,null],[]]", '{"k":0.5,"z":"nan"}', '["2024-02-29"]'),
        ("e2", None, None, "{}", "[]"),
    ]
    for name in ("t.parquet", "t.arrow"):
        folder = tmp_path / name
        (folder / "export").mkdir(parents=True)
        if name == "t.parquet":
            pq.write_table(data, folder / "export" / name)
        else:
            with pa.ipc.new_file(str(folder / "export" / name), data.schema) as writer:
                writer.write_table(data)
        load(folder, {}, {"rows": [rows() | {"slots": {"outcome": "s.a", "by": "m.k", "fee": "s.b"}}]})
        assert [row[:5] for row in kept(folder)] == expected
        assert [row[5:] for row in kept(folder)] == [("1.10", "0.5", None), (None, None, None)]


@pytest.mark.parametrize("zone", ["Europe/Amsterdam", "+02:00", "UTC"])
@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_a_moment_keeps_the_day_its_zone_wrote(zone: str, kind: str, tmp_path: Path) -> None:
    (tmp_path / "export").mkdir()
    moment = dt.datetime(2022, 9, 30, 22, 0, tzinfo=dt.UTC)
    data = pa.table({"id": ["e1"], "on": pa.array([moment], pa.timestamp("us", zone))})
    if kind == "parquet":
        pq.write_table(data, tmp_path / "export" / "t.parquet")
    else:
        with pa.ipc.new_file(str(tmp_path / "export" / "t.arrow"), data.schema) as writer:
            writer.write_table(data)
    load(tmp_path, {}, {"rows": [rows() | {"slots": {"on": "on"}}]})
    written = "2022-09-30 22:00:00+00" if zone == "UTC" else "2022-10-01 00:00:00+02:00"
    assert kept(tmp_path) == [("e1", written)]


# --- Delta and Iceberg ----------------------------------------------------------------------------------


def test_a_delta_table_is_its_newest_version(tmp_path: Path) -> None:
    import deltalake

    place = tmp_path / "export" / "t"
    place.parent.mkdir()

    def write(rows_: list[tuple[str, str, str]], mode: Any, **more: Any) -> None:
        columns = list(zip(*rows_, strict=True))
        data = pa.table(dict(zip(("id", "outcome", "by"), map(list, columns), strict=True)))
        deltalake.write_deltalake(str(place), data, mode=mode, **more)

    write([("e1", "passed", "x"), ("e2", "failed", "y")], "append", partition_by=["by"])
    first = load(tmp_path, {})
    assert load(tmp_path, {}).unchanged
    write([("e3", "passed", "x")], "append")
    deltalake.DeltaTable(str(place)).delete("id = 'e1'")
    again = load(tmp_path, {})
    assert not again.unchanged
    assert verdicts(tmp_path) == {"e2": "none", "e3": "matched"}
    assert first.catalog.tables[0].files[0].sha256 != again.catalog.tables[0].files[0].sha256


def test_an_iceberg_table_is_its_current_snapshot(tmp_path: Path) -> None:
    from pyiceberg.catalog.memory import InMemoryCatalog

    place = tmp_path / "export" / "t"
    catalog = InMemoryCatalog("made", warehouse=tmp_path.as_uri())
    catalog.create_namespace("n")
    data = pa.table({"id": ["e1", "e2"], "outcome": ["passed", "failed"], "by": ["x", None]})
    table = catalog.create_table("n.t", data.schema, location=place.as_uri())
    table.append(data)
    load(tmp_path, {})
    assert verdicts(tmp_path) == {"e1": "matched", "e2": "none"}
    assert load(tmp_path, {}).unchanged
    table.delete("id = 'e1'")
    load(tmp_path, {}, accept_shrink=True)
    assert verdicts(tmp_path) == {"e2": "none"}


# --- decimals of more digits than a double has ----------------------------------------------------------

IDS = [Decimal("12345678901234567890"), Decimal("12345678901234567891"), Decimal(0)]
FEES = [Decimal("0.12345678901234567891"), Decimal("10000000000000000.01"), None]


def wide(folder: Path, name: str) -> None:
    """A file whose decimals have up to 76 digits: columns, and inside a struct, a list of structs and a map."""
    id_, fee = pa.decimal256(40, 0), pa.decimal256(76, 38)
    held = [None if f is None else {"fee": f, "note": "x"} for f in FEES]
    inner = pa.struct([("fee", fee), ("note", pa.string())])
    table = pa.table({
        "id": pa.array(IDS, id_),
        "fee": pa.array(FEES, fee),
        "at": pa.array(held, inner),
        "many": pa.array([[h, None] if h else None for h in held], pa.list_(inner)),
        "by": pa.array([[("k", f)] for f in FEES], pa.map_(pa.string(), fee)),
        "pair": pa.array([[f, f] if f else None for f in FEES], pa.list_(fee, 2)),
    })  # fmt: skip
    folder.mkdir()
    if name.endswith("parquet"):
        pq.write_table(table, folder / name, row_group_size=2)
    else:
        with pa.ipc.new_file(folder / name, table.schema) as out:
            for at in range(3):
                out.write_table(table.slice(at, 1))


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow"])
def test_a_decimal_of_more_than_38_digits_is_exact_wherever_it_stands(name: str, tmp_path: Path) -> None:
    wide(tmp_path / "export", name)
    load(tmp_path, {}, {"rows": [rows() | {"slots": {"fee": "at.fee"}}]})
    a, b = "0.12345678901234567891", "10000000000000000.01"
    assert kept(tmp_path) == [
        (
            str(id_), fee, f'{{"fee":"{fee}","note":"x"}}', f'[{{"fee":"{fee}","note":"x"}},null]', f'{{"k":"{fee}"}}',
            f'["{fee}","{fee}"]', fee,
        )
        for id_, fee in zip(IDS, (a, b), strict=False)
    ] + [("0", None, None, None, '{"k":null}', None, None)]  # fmt: skip
    assert verdicts(tmp_path, ask("fee", "eq", b)) == {
        "12345678901234567890": "none", "12345678901234567891": "matched", "0": "undetermined",
    }  # fmt: skip


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow"])
def test_a_decimal_of_more_than_38_digits_is_exact_in_rows_out_of_a_list(name: str, tmp_path: Path) -> None:
    wide(tmp_path / "export", name)
    said = {"t": {"file": name, "path": "$.many[*]"}}
    load(tmp_path, {}, {"files": said, "rows": [rows() | {"slots": {"fee": "many.fee"}}]})
    assert verdicts(tmp_path, ask("fee", "gte", "10000000000000000.010")) == {
        "12345678901234567890": "undetermined", "12345678901234567891": "matched",
    }  # fmt: skip
