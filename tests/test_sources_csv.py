"""CSV in every form an export has it: marks, encodings, headers, parts that differ; and, as one property, whatever
Python's own csv reads from the bytes is what the store keeps."""

import codecs
import csv
import gzip
import io
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.test_load import ask, delivered, figures, load, reasons, rows, verdicts

import closedset
from closedset.catalog import SourceTable
from closedset.errors import ClosedsetError, LoadRefused
from closedset.load import read
from closedset.load.read import Unread
from closedset.render import quoted
from closedset.table_files import TableFiles

PLAIN = "id,outcome,by\ne1,passed,Zürich\n,failed,“x”\ne3,failed,\n"
KEPT = [("e1", "passed", "Zürich"), (None, "failed", "“x”"), ("e3", "failed", None)]


def kept(folder: Path, table: str = "t") -> list[tuple[str | None, ...]]:
    """A table's kept cells, in order."""
    with closedset.open(folder / "store") as store:
        (one,) = (t for t in store.catalog.tables if t.table == table)
        return store.generation().cursor().execute(f"SELECT * FROM {quoted(one.cells)} ORDER BY rowid").fetchall()


@pytest.mark.parametrize("ends", [["\n"], ["\r\n"], ["\n", "\r\n"]], ids=["lf", "crlf", "mixed"])
@pytest.mark.parametrize("header", [True, False])
def test_a_blank_line_is_no_record_in_a_file_of_one_column_either(
    ends: list[str], header: bool, tmp_path: Path
) -> None:
    """A quoted cell without a text is one, and so is a line of blanks."""
    lines = [*(["id"] if header else []), "e1", "", '""', "e2", "", "", "  ", "e3,more", "", '"e4"', "", ""]
    text = "".join(line + ends[i % len(ends)] for i, line in enumerate(lines))
    said: dict[str, Any] = {"rows": [rows() | {"slots": {"by": {"constant": "x"}}}]}
    if not header:
        said["files"] = {"t": {"file": "t.csv", "header": False, "columns": ["id"]}}
    done = load(tmp_path, {"t.csv": text}, said)
    assert kept(tmp_path) == [("e1",), (None,), ("e2",), ("  ",), ("e4",)]
    assert figures(done.catalog) == (7, 3, 1, 3)
    places = {row["entity"]: row["slot_receipts"]["by"]["row"] for row in delivered(tmp_path, ask("by", "eq", "x"))}
    assert places == {"e1": 1, "e2": 3, "e4": 6}


def test_a_blank_line_at_the_end_of_one_column_withholds_nothing(tmp_path: Path) -> None:
    load(tmp_path, {"t.csv": "id\ne1\ne2\n\n"}, {"rows": [rows() | {"slots": {"by": {"constant": "x"}}}]})
    assert verdicts(tmp_path, ask("by", "eq", "x")) == {"e1": "matched", "e2": "matched"}
    assert reasons(tmp_path, ask("by", "eq", "x")) == {}


# --- encodings ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["utf-8-sig", "utf-16", "utf-32"])
def test_a_mark_at_the_start_says_the_encoding(name: str, tmp_path: Path) -> None:
    load(tmp_path, {"t.csv": PLAIN.encode(name)})
    assert kept(tmp_path) == KEPT


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_utf_16_of_either_order_may_be_packed(end: str, tmp_path: Path) -> None:
    text = PLAIN.replace("\n", end)
    for i, (mark, name) in enumerate(((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))):
        load(tmp_path / str(i), {"t.csv.gz": gzip.compress(mark + text.encode(name))})
        assert kept(tmp_path / str(i)) == KEPT


@pytest.mark.parametrize("name", ["cp1252", "utf-16-le", "utf-16-be", "mac-roman", "gb18030", "utf-8", "UTF8"])
def test_a_declared_encoding_is_read(name: str, tmp_path: Path) -> None:
    load(tmp_path, {"t.csv": PLAIN.encode(name)}, {"files": {"t": {"file": "t.csv", "encoding": name}}})
    assert kept(tmp_path) == KEPT


@pytest.mark.parametrize(
    ("data", "name", "said"),
    [
        (PLAIN.encode("cp1252"), "ascii", r"t\.csv:2: byte 0xfc is not ascii"),
        (b"id,outcome,by\ne1,passed,\x81\n", "cp1252", r"t\.csv:2: byte 0x81 is not cp1252"),
        (codecs.BOM_UTF16_LE + "id\nx".encode("utf-16-le") + b"\x00\xd8", None, r"t\.csv:2: byte .* is not utf-16-le"),
        (PLAIN.encode("utf-16"), "cp1252", r"t\.csv:1: .*mark of utf-16-le.*take `encoding` out"),
        (PLAIN.encode("utf-16-le"), "utf-16", r"t\.csv:1: .*`encoding: utf-16-le`"),
        (PLAIN.encode(), "klingon", r"map\.yaml:1: files\.t\.encoding: 'klingon' is no encoding"),
        (PLAIN.encode(), "base64", "no encoding"),
        (PLAIN.encode(), "unicode_escape", "no encoding"),
        (
            b"id,outcome,by\n" + b"e,passed,x\n" * 200_000 + b"e1,passed,\xfc\n",
            None,
            r"t\.csv:200002: .*encoding: cp1252",
        ),
    ],
)
def test_a_byte_that_is_no_letter_is_refused_by_line(data: bytes, name: str | None, said: str, tmp_path: Path) -> None:
    files = {"files": {"t": {"file": "t.csv"} | ({"encoding": name} if name else {})}}
    with pytest.raises(ClosedsetError, match=said):
        load(tmp_path, {"t.csv": data}, files)
    assert not (tmp_path / "store").exists()


# --- marks and headers ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("id~outcome~by\ne1~passed~a~b\ne2~failed~x\n".replace("a~b", "'a~b'"), {"delimiter": "~", "quote": "'"}),
        ("id||outcome||by\ne1||passed||\"a||b\"\ne2||failed||x\n", {"delimiter": "||"}),
        ("id§outcome§by\ne1§passed§\"a§b\"\ne2§failed§x\n", {"delimiter": "§"}),
        ("id\x01outcome\x01by\ne1\x01passed\x01a~b\ne2\x01failed\x01x\n", {"delimiter": "\x01"}),
        ("id outcome by\ne1 passed a~b\ne2 failed x\n", {"delimiter": "space"}),
        ("id\toutcome\tby\ne1\tpassed\ta~b\ne2\tfailed\tx\n", {"delimiter": "tab"}),
        ("id,outcome,by\ne1,passed,\"a\ne2,failed,x\n", {"quote": "none"}),
        ("id,outcome,by\ne1,passed,\"a\\\"b, c\"\ne2,failed,x\n", {"escape": "\\"}),
        ("id,outcome,by\ne1,passed,a\\,b\ne2,failed,x\n", {"escape": "\\"}),
        ("e1,passed,a~b\ne2,failed,x\n", {"header": "false", "columns": ["id", "outcome", "by"]}),
        ("Id,Outcome,Outcome\ne1,passed,a~b\ne2,failed,x\n", {"columns": ["id", "outcome", "by"]}),
        ("Report, \"of 2026\nmade by hand\n\nid,outcome,by\ne1,passed,a~b\ne2,failed,x\n", {"skip": "3"}),
        ("Report\r\nof\r\nid,outcome,by\r\ne1,passed,a~b\r\ne2,failed,x\r\n", {"skip": "2"}),
    ],
)  # fmt: skip
def test_a_map_says_how_a_csv_is_marked(text: str, said: dict[str, Any], tmp_path: Path) -> None:
    load(tmp_path, {"t.csv": text}, {"files": {"t": {"file": "t.csv", **said}}})
    cell = {"||": "a||b", "§": "a§b"}.get(said.get("delimiter", ""), "a~b")
    cell = {"none": '"a', "\\": 'a"b, c' if '"' in text else "a,b"}.get(said.get("quote", said.get("escape", "")), cell)
    assert kept(tmp_path) == [("e1", "passed", cell), ("e2", "failed", "x")]
    assert verdicts(tmp_path) == {"e1": "matched", "e2": "none"}


def test_names_are_made_where_there_is_no_header(tmp_path: Path) -> None:
    mapping = {"files": {"t": {"file": "t.csv", "header": "false"}}}
    slots = {"outcome": "column_2"}
    load(
        tmp_path, {"t.csv": "e1,passed\ne2,failed\n"}, mapping | {"rows": [rows(entity="column_1") | {"slots": slots}]}
    )
    assert verdicts(tmp_path) == {"e1": "matched", "e2": "none"}


def test_a_fault_stands_on_its_line_of_the_file_though_lines_are_skipped(tmp_path: Path) -> None:
    done = load(tmp_path, {"t.csv": "a\nb\nid,outcome,by\ne1,passed\n"}, {"files": {"t": {"file": "t.csv", "skip": 2}}})
    (lost,) = done.catalog.lost
    assert (lost.file, lost.line, lost.entity_id) == ("t.csv", 4, "e1")


@pytest.mark.parametrize(
    ("said", "fault"),
    [
        ({"delimiter": "\n"}, "a delimiter is"),
        ({"delimiter": ",,,,,"}, "a delimiter is"),
        ({"quote": "''"}, "one ASCII character"),
        ({"delimiter": ";", "quote": ";"}, "the same mark"),
        ({"skip": "-1"}, "files.t.skip"),
        ({"skip": "99"}, "skip: 99"),
        ({"delimeter": ";"}, "did you mean `delimiter`"),
        ({"sheet": "Roles"}, "map.yaml:1: files.t.sheet: `sheet` is for a workbook, and this is CSV"),
        ({"table": "t"}, "`table` is for"),
        ({"path": "$.t[*]"}, "`path` is for"),
        ({"columns": ["id", "ID", "by"]}, "each once"),
        ({"columns": ["id", "outcome"]}, r"the map names 2 columns, and the first line has 3"),
        ({"connection": "postgresql://u:secret@h/db"}, "name of an environment variable"),
    ],
)
def test_an_option_that_cannot_be_meant_is_refused_by_line(said: dict[str, Any], fault: str, tmp_path: Path) -> None:
    with pytest.raises(ClosedsetError) as refusal:
        load(tmp_path, {"t.csv": PLAIN}, {"files": {"t": {"file": "t.csv", **said}}})
    assert fault in str(refusal.value)
    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("inside", ["\n", "\r\n", "\r"])
def test_a_line_break_inside_a_column_name_loses_no_row(inside: str, end: str, tmp_path: Path) -> None:
    name = f"by{inside}(free text)"
    records = [f'id,outcome,"{name}"', "e1,passed,x", f'e2,failed,"y{inside}z"', ",passed,"]
    text = "".join(record + end for record in records)
    mapping = {"rows": [rows() | {"slots": {"outcome": "outcome", "by": name}}]}
    found: list[tuple[str | None, ...]] = [("e1", "passed", "x"), ("e2", "failed", f"y{inside}z")]
    found.append((None, "passed", None))
    load(tmp_path / "one", {"t.csv": text}, mapping)
    assert kept(tmp_path / "one") == found
    skipped = {"files": {"t": {"file": "*.csv", "skip": "1"}}}
    load(tmp_path / "parts", {"a.csv": f"of 2026{end}{text}", "b.csv": f"of 2027\n{text}"}, mapping | skipped)
    assert kept(tmp_path / "parts") == found * 2
    assert verdicts(tmp_path / "one") == verdicts(tmp_path / "parts") == {"e1": "matched", "e2": "none"}


# --- a line break without quotes ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "withheld", "nobodys"),
    [
        ("e1,pas\nsed,x\ne2,failed,y\n", ["e1"], 1),
        ("e1,passed,a note\nthat goes on\ne2,failed,y\n", [], 1),
        ("e1,passed,a note\n\nthat goes on\ne2,failed,y\n", [], 1),
        ("e1,a\n\nb\nc,d\ne2,failed,y\n", ["e1"], 2),
        ("e1,failed\ne2,passed,y,z\ne3\n", ["e1", "e2", "e3"], 0),
    ],
)
def test_the_rest_of_a_broken_row_is_nobody(text: str, withheld: list[str], nobodys: int, tmp_path: Path) -> None:
    for i, end in enumerate(("\n", "\r\n")):
        done = load(tmp_path / str(i), {"t.csv": ("id,outcome,by\n" + text).replace("\n", end)})
        assert [lost.entity_id for lost in done.catalog.lost if lost.entity_id] == withheld
        assert figures(done.catalog)[3] == nobodys


# --- parts that differ ----------------------------------------------------------------------------------

PARTS: dict[str, str | bytes] = {
    "a.csv": "id,outcome,by\ne1,passed,x\ne2,failed,y\n",
    "b.csv": "outcome,id,more\npassed,e3,q\n",
    "c.csv": "id\ne4\n",
}
TOGETHER = {"files": {"t": ["a.csv", "b.csv", "c.csv"]}}


def test_a_column_that_a_part_lacks_is_unrecorded_there_and_said(tmp_path: Path) -> None:
    done = load(tmp_path, PARTS, TOGETHER)
    assert verdicts(tmp_path) == {"e1": "matched", "e2": "none", "e3": "matched", "e4": "undetermined"}
    assert reasons(tmp_path) == {"slot_unrecorded_rows_unanswerable:screening": 1}
    (table,) = done.catalog.tables
    assert table.notes == [
        "t: a.csv has no column 'more', which other parts have: not recorded in its rows",
        "t: b.csv has no column 'by', which other parts have: not recorded in its rows",
        "t: c.csv has no column 'outcome', 'by', 'more', which other parts have: not recorded in its rows",
    ]


def test_parts_that_differ_give_one_answer_in_any_order(tmp_path: Path) -> None:
    answers = []
    for i, names in enumerate((("1", "2", "3"), ("3", "1", "2"), ("2", "3", "1"))):
        files = {f"{n}.csv": text for n, text in zip(names, PARTS.values(), strict=True)}
        load(tmp_path / str(i), files, {"files": {"t": "*.csv"}})
        answers.append((verdicts(tmp_path / str(i)), reasons(tmp_path / str(i))))
    assert answers[0] == answers[1] == answers[2]


def test_a_column_that_every_part_lacks_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LoadRefused, match="table t has no column 'by'"):
        load(tmp_path, {"a.csv": "id,outcome\n", "b.csv": "outcome,id,q\n"}, {"files": {"t": "*.csv"}})


@pytest.mark.parametrize(
    ("lacking", "mapping", "said"),
    [
        (
            "id,title\n",
            {"rows": [rows("held_role") | {"slots": {"title": "title"}, "period": ["f", "u"]}]},
            "still open",
        ),
        ("id,f,u\n", {"rows": [rows() | {"slots": {"by": {"column": "title", "absent": "nobody"}}}]}, "means 'nobody'"),
        (
            "id,f,u\n",
            {"rows": [rows(table="v") | {"slots": {}}], "tables": {"v": "SELECT id FROM t WHERE title <> 'x'"}},
            "tables.v reads it",
        ),
    ],
)
def test_a_lacking_column_whose_emptiness_says_something_is_refused(
    lacking: str, mapping: dict[str, Any], said: str, tmp_path: Path
) -> None:
    files: dict[str, str | bytes] = {"a.csv": "id,title,f,u\ne1,x,2020,2021\n", "b.csv": lacking}
    with pytest.raises(LoadRefused, match=said):
        load(tmp_path, files, {"files": {"t": "*.csv"}, **mapping})
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize(
    ("select", "refused"),
    [
        ("SELECT id FROM t WHERE Title IS NULL", "tables.v reads it"),
        ('SELECT id FROM t AS x WHERE x."TITLE" IS NULL', "tables.v reads it"),
        ("SELECT id FROM u ANTI JOIN t USING (title)", "tables.v reads it"),
        ("SELECT id FROM t WHERE COALESCE(COLUMNS('tit.*'), '') = ''", "may read every column"),
        ("SELECT min(COLUMNS(*)) FROM t", "may read every column"),
        ("SELECT id FROM t NATURAL JOIN u", "may read every column"),
        ("SELECT a AS id FROM t AS x(a, b, c, d) WHERE b IS NULL", "may read every column"),
        ("WITH x(id, b, c, d) AS (SELECT * FROM t) SELECT id FROM x WHERE b IS NULL", "may read every column"),
        ("SELECT id FROM (SELECT * FROM u UNION ALL SELECT * FROM t)", "may read every column"),
        ("SELECT id FROM (SELECT * RENAME (f AS title) FROM t)", "may read every column"),
        ("SELECT id FROM t WHERE hash(t) > 0", "may read every column"),
        ("SELECT id FROM t WHERE hash(t.*) > 0", "may read every column"),
        ("SELECT * FROM t", None),
        ("SELECT x.* EXCLUDE (f) FROM t AS x", None),
        ("SELECT id, count(*) AS n FROM t GROUP BY id", None),
        ("SELECT a.id FROM t AS a JOIN u AS b ON a.id = b.id", None),
    ],
)
def test_a_select_reads_a_column_in_whatever_case_and_way_it_names_it(
    select: str, refused: str | None, tmp_path: Path
) -> None:
    files: dict[str, str | bytes] = {"a.csv": "id,title,f,u\ne1,x,2020,2021\n", "b.csv": "id,f,u\ne2,2020,2021\n"}
    files["u.csv"] = "id,title,f,u\ne1,x,2020,2021\n"
    mapping = {"files": {"t": ["a.csv", "b.csv"]}, "tables": {"v": select}, "rows": [rows(table="v") | {"slots": {}}]}
    if refused is None:
        load(tmp_path, files, mapping)
        return
    with pytest.raises(LoadRefused, match=rf"b\.csv: has no column 'title', .*{refused}"):
        load(tmp_path, files, mapping)


def test_two_spellings_of_one_column_are_refused(tmp_path: Path) -> None:
    with pytest.raises(LoadRefused, match=r"b\.csv:1: column 'ID' is called 'id'"):
        load(tmp_path, {"a.csv": "id,outcome,by\n", "b.csv": "ID,outcome,by\n"}, {"files": {"t": "*.csv"}})


# --- Python's own reading of the bytes ------------------------------------------------------------------

TEXT = st.lists(
    st.sampled_from(
        ["a", "é", "漢", '"', "'", ",", ";", "\t", "|", "~", "\\", " ", "\u00a0", "0", "\n", "\r\n", "\x0b", "😀"]
    ),
    max_size=6,
).map("".join)

#: What may stand inside the name of a column, as inside any cell in quotes.
BREAKS = ["", "", "\n", "\r\n", "\r"]


@st.composite
def exports(draw: st.DrawFn) -> dict[str, Any]:
    """A CSV as some tool wrote it: its bytes, how the map says it is read, and the records in it."""
    delimiter = draw(st.sampled_from([",", ";", "\t", "|", "~", "é"]))
    quote = draw(st.sampled_from(['"', "'"]))
    encoding = draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "gb18030"]))
    end = draw(st.sampled_from(["\n", "\r\n"]))
    width = draw(st.integers(2, 4))
    records = [
        [f"e{i}", *draw(st.lists(TEXT, min_size=width - 1, max_size=width - 1))] for i in range(draw(st.integers(0, 9)))
    ]
    ragged = draw(st.sets(st.integers(0, 9)))
    blank = draw(st.booleans())
    out = io.StringIO()
    quoting: Any = draw(st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]))
    form: dict[str, Any] = {"delimiter": delimiter, "quotechar": quote, "lineterminator": end}
    names = ["id", *(f"c{draw(st.sampled_from(BREAKS))}{i}" for i in range(1, width))]
    csv.writer(out, **form, quoting=csv.QUOTE_ALL).writerow(names)
    writer = csv.writer(out, **form, quoting=quoting)
    for i, record in enumerate(records):
        if i in ragged:
            record[1:] = [c.replace("\r", " ").replace("\n", " ") for c in record[1:]]
            record += ["", "more"] if draw(st.booleans()) or width == 2 else []
            record[:] = record if len(record) > width else record[:-1]
        writer.writerow(record)
        if blank and i % 2:
            out.write(end)
    said = {"file": "t.csv", "delimiter": delimiter, "quote": quote}
    if encoding in ("utf-16-be", "gb18030"):
        said["encoding"] = encoding
    return {"bytes": out.getvalue().encode(encoding), "said": said, "encoding": encoding, "names": names}


def read_alone(file: Path, said: dict[str, Any]) -> tuple[SourceTable, list[Unread], list[tuple[str | None, ...]]]:
    """A file read into cells as a load reads it, without the rest of a load."""
    with duckdb.connect() as con:
        part = read.Part("csv", file, options=TableFiles.model_validate(said))
        table, unread = read.read(con, "export", "t", ("cells",), [part], [""])
        return table, unread, con.execute("SELECT * FROM cells ORDER BY rowid").fetchall()


def by_python(export: dict[str, Any]) -> tuple[list[list[str]], list[list[str]]]:
    """Python's reading of the bytes, the header aside: all records, and those that fit the header."""
    text = io.StringIO(export["bytes"].decode(export["encoding"]), newline="")
    said = export["said"]
    records = [r for r in csv.reader(text, delimiter=said["delimiter"], quotechar=said["quote"]) if r][1:]
    return records, [record for record in records if len(record) == len(export["names"])]


FUZZ = settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=40)


@FUZZ
@given(exports())
def test_what_python_reads_is_what_is_kept(tmp_path_factory: pytest.TempPathFactory, export: dict[str, Any]) -> None:
    file = tmp_path_factory.mktemp("csv") / "t.csv"
    file.write_bytes(export["bytes"])
    records, whole = by_python(export)
    table, unread, cells = read_alone(file, export["said"])
    ragged = [len(record) for record in records if record not in whole]
    width = len(export["names"])
    # A record that may be two has a further one beside it.
    assert len(unread) == len(ragged) + sum(found > width and found >= 2 * width - 1 for found in ragged)
    assert (table.rows, table.files[0].rows, table.files[0].unreadable) == (
        len(whole), len(whole) + len(unread), len(unread)
    )  # fmt: skip
    assert cells == [tuple(cell or None for cell in record) for record in whole]
    places = [place for place, record in enumerate(records, 1) if len(record) == width]
    assert [table.at(i) for i in range(table.rows)] == [("t.csv", place) for place in places]


@settings(FUZZ, max_examples=3)
@given(exports())
def test_a_receipt_is_what_python_reads(tmp_path_factory: pytest.TempPathFactory, export: dict[str, Any]) -> None:
    folder = tmp_path_factory.mktemp("csv")
    records, whole = by_python(export)
    mapping = {"files": {"t": export["said"]}, "rows": [rows() | {"slots": {"by": export["names"][1]}}]}
    done = load(folder, {"t.csv": export["bytes"]}, mapping)
    assert figures(done.catalog)[1] == len(whole)
    for row in delivered(folder, ask("by", "ne", "no such text")):
        receipt = row["slot_receipts"]["by"]
        assert receipt["byte_verified"]
        assert receipt["cell"] == records[receipt["row"] - 1][1]


@FUZZ
@given(
    st.lists(st.sampled_from(["e1", "é", ",", ";", '"', "\n", "\r\n", "\r", "\xff", "\0", " ", "\ufeff"]), max_size=40)
)
def test_any_bytes_are_read_whole_or_refused_by_name(tmp_path_factory: pytest.TempPathFactory, bits: list[str]) -> None:
    file = tmp_path_factory.mktemp("junk") / "t.csv"
    file.write_bytes(b"id,outcome,by\n" + b"".join(b"\xff" if bit == "\xff" else bit.encode() for bit in bits))
    try:
        table, unread, cells = read_alone(file, {})
    except LoadRefused as refusal:
        said = str(refusal)
    else:
        said = str(file)
        assert (table.rows, len(unread)) == (len(cells), table.files[0].unreadable)
    assert said.startswith(str(file))
