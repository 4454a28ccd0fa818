"""`closedset check`: a load's report and its verdict, and nothing that stays. Faults stand on the map's lines."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from closedset.load import load
from closedset.pack import bundled, data_folder

PACK = """
pack: crew
axes: {rank: {terms: [Captain, Mate]}}
relations:
  post: {dated: true, slots: {rank: {term: rank}, pay: number}}
"""
MAP = """\
source: books
files:
  posts: posts.csv
tables:
  asked: >-
    SELECT id FROM posts
rows:
  - relation: post
    from: posts
    entity: id
    slots:
      rank: rank
      pay: pay
    period: [since, until]
    looked_at: {listed: asked.id}
"""
HEAD = "id,rank,pay,since,until\n"
WHOLE = HEAD + "a,Captain,100,2020-01,2021-01\nb,mate,,2020-01,\n"


def run(*arguments: str) -> tuple[int, str, str]:
    done = subprocess.run([sys.executable, "-m", "closedset_cli", *arguments], capture_output=True, timeout=120)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def lay(folder: Path, posts: str = WHOLE, mapping: str = MAP) -> tuple[str, str, str]:
    for name, text in (("pack.yaml", PACK), ("map.yaml", mapping), ("posts.csv", posts)):
        (folder / name).write_text(text, encoding="utf-8")
    return str(folder / "pack.yaml"), str(folder / "map.yaml"), str(folder)


@pytest.mark.parametrize("name", bundled())
def test_every_bundled_export_loads_and_loses_nothing(name: str) -> None:
    folder = data_folder("packs") / name
    code, out, err = run("check", name, str(folder / "map.yaml"), str(folder / "data"))
    assert (code, err) == (0, "")
    assert out.startswith(f"source {source_of(folder)} of pack {name}: would load, and lose nothing\n")


def source_of(folder: Path) -> str:
    line = next(x for x in (folder / "map.yaml").read_text(encoding="utf-8").splitlines() if x.startswith("source:"))
    return line.split()[1]


LOSING = [
    ("cells_unreadable", "a,Captain,€100,2020-01,\n", 1),
    ("cells_unreadable", "a,Captain,1,01/02/2020,\n", 1),
    ("cells_on_no_term", "a,Cook,1,2020-01,\na,Cook,1,2021-01,\n", 2),
    ("rows_unattributed", ",Mate,1,2020-01,\n", 1),
    ("rows_withheld", "a,Mate,1,2020-01\n", 1),
    ("periods_reversed", "a,Mate,1,2020-01,2019-01\n", 1),
]


@pytest.mark.parametrize(("what", "line", "count"), LOSING)
def test_whatever_would_be_lost_ends_with_4_and_is_counted(tmp_path: Path, what: str, line: str, count: int) -> None:
    code, out, err = run("check", *lay(tmp_path, HEAD + line), "--format", "json")
    assert (code, err) == (4, "")
    losing = json.loads(out)["loses"]
    assert losing[what] == count
    assert sum(losing.values()) == count
    code, out, _ = run("check", *lay(tmp_path, HEAD + line))
    assert code == 4
    said = what.replace("_", " ") if count > 1 else what.replace("s_", "_", 1).replace("_", " ")
    assert out.splitlines()[0].endswith(f"would load, with {count} {said}")


def test_an_empty_cell_and_an_open_period_are_no_loss(tmp_path: Path) -> None:
    assert run("check", *lay(tmp_path))[0] == 0


def test_it_reports_what_a_load_reports_and_leaves_nothing_behind(tmp_path: Path) -> None:
    arguments = lay(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    checked = json.loads(run("check", *arguments, "--format", "json")[1])
    assert sorted(tmp_path.rglob("*")) == before
    pack, mapping, folder = arguments
    _, out, _ = run("load", str(tmp_path / "s"), "--pack", pack, "--map", mapping, folder, "--format", "json")
    loaded = json.loads(out)
    shared = set(checked) & set(loaded)
    assert {"source", "pack", "universe", "files", "entries", "coverage", "lost", "near_duplicates"} <= shared
    assert {k: checked[k] for k in shared} == {k: loaded[k] for k in shared}


FAULTS = [
    ("rank: rank", "rank: rnak", "12: rows.0.slots.rank: table posts has no column 'rnak'; did you mean 'rank'?"),
    ("entity: id", "entity: who", "10: rows.0.entity: table posts has no column 'who'"),
    ("since, until]", "since, till]", "14: rows.0.period.1: table posts has no column 'till'"),
    ("listed: asked.id", "listed: asked.who", "15: rows.0.looked_at: table asked has no column 'who'"),
    ("posts: posts.csv", "posts: jobs.csv", "3: files.posts: table posts: no file jobs.csv"),
    ("from: posts", "from: jobs", "9: rows.0.from: table jobs: no file jobs"),
    ("SELECT id FROM posts", "SELECT id FROM jobs", "5: tables.asked: table jobs: no file jobs"),
    ("SELECT id FROM posts", "SELECT nothing FROM posts", "5: tables.asked: "),
    ("SELECT id FROM posts", "SELECT id FROM read_csv('x')", "5: tables.asked: "),
]


@pytest.mark.parametrize(("was", "becomes", "said"), FAULTS)
def test_a_fault_beside_the_export_names_file_and_line_of_the_map(
    tmp_path: Path, was: str, becomes: str, said: str
) -> None:
    pack, mapping, folder = lay(tmp_path, mapping=MAP.replace(was, becomes))
    code, out, err = run("check", pack, mapping, folder)
    assert (code, out) == (2, "")
    assert err.startswith(f"closedset: refused: {mapping}:{said}")
    with pytest.raises(Exception, match=r"map\.yaml:\d+: "):
        load(tmp_path / "s", pack, [folder], mapping=mapping)


def test_every_column_that_is_not_there_is_named_at_once(tmp_path: Path) -> None:
    wrong = MAP.replace("rank: rank", "rank: rnak").replace("pay: pay", "pay: wage")
    _, _, err = run("check", *lay(tmp_path, mapping=wrong))
    assert "map.yaml:12: rows.0.slots.rank" in err
    assert "map.yaml:13: rows.0.slots.pay" in err
