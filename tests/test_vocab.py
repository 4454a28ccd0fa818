"""`closedset vocab`: what a store holds of its axes, counted here a second time from the export itself."""

import csv
import io
import json
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

PACK = """
pack: crew
axes:
  rank:
    terms: [Captain, Mate, Deck Hand]
    synonyms: {Mate: [First Mate]}
  ship: {terms: [Aurora]}
  nickname:
relations:
  post: {slots: {rank: {term: rank}, former: {term: rank}, ship: {term: ship}, nickname: {term: nickname}}}
  leave: {slots: {as: {term: rank}}}
"""
MAP = """
source: books
rows:
  - {relation: post, from: posts, entity: id, slots: {rank: rank, former: former, ship: ship, nickname: nick}}
  - {relation: leave, from: leaves, entity: id, slots: {as: rank}}
"""
POSTS = [
    ("a", "Captain", "Mate", "Aurora", "Cap"),
    ("a", "Capitain", "", "Aurora", "Cap"),
    ("b", "capitain", "First Mate", "Aurora", ""),
    ("c", " CAPITAIN ", "Deckhand", "Aurora", ""),
    ("c", "Stowaway Zz", "Capitain", "Aurora", ""),
]
LEAVES = [("d", "Deckhand"), ("b", "Capitain"), ("e", "Mate")]


def run(*arguments: str) -> tuple[int, str, str]:
    done = subprocess.run([sys.executable, "-m", "closedset_cli", *arguments], capture_output=True, timeout=120)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder: Path = tmp_path_factory.mktemp("vocab")
    (folder / "pack.yaml").write_text(PACK, encoding="utf-8")
    (folder / "map.yaml").write_text(MAP, encoding="utf-8")
    for name, head, rows in (("posts", "id,rank,former,ship,nick", POSTS), ("leaves", "id,rank", LEAVES)):
        text = "".join(",".join(row) + "\n" for row in (tuple(head.split(",")), *rows))
        (folder / f"{name}.csv").write_text(text, encoding="utf-8")
    code, _, err = run("load", str(folder / "s"), "--pack", str(folder / "pack.yaml"), str(folder))
    assert code == 0, err
    return str(folder / "s")


def counted() -> tuple[Counter[str], dict[str, set[str]]]:
    """Rows and entities by folded text of the axis `rank`, from the lines above."""
    cells = [(e, t) for e, *both, _, _ in POSTS for t in both] + LEAVES
    rows: Counter[str] = Counter()
    entities: dict[str, set[str]] = defaultdict(set)
    for entity, text in cells:
        if folded := text.strip().casefold():
            rows[folded] += 1
            entities[folded].add(entity)
    return rows, entities


def test_the_unplaced_are_listed_by_rows_with_entities_over_every_slot_of_the_axis(store: str) -> None:
    code, out, err = run("vocab", store, "--unplaced", "--format", "json")
    assert (code, err) == (0, "")
    listed = json.loads(out)
    rows, entities = counted()
    names = ("capitain", "deckhand", "stowaway zz")
    expected = [("rank", n, rows[n], len(entities[n])) for n in sorted(names, key=lambda n: (-rows[n], n))]
    assert [(r["axis"], r["surface"].strip().casefold(), r["rows"], r["entities"]) for r in listed] == expected
    assert expected[0] == ("rank", "capitain", 5, 3)
    by_name = {r["surface"].strip().casefold(): r for r in listed}
    assert by_name["capitain"]["slots"] == ["post.rank", "post.former", "leave.as"]
    assert by_name["deckhand"]["slots"] == ["post.former", "leave.as"]
    assert all(r["term"] is None for r in listed)


def test_the_nearest_terms_are_suggested_through_names_and_synonyms_and_noise_is_not(store: str) -> None:
    listed = {
        r["surface"].strip().casefold(): r for r in json.loads(run("vocab", store, "--unplaced", "--format", "json")[1])
    }
    assert listed["capitain"]["nearest"][0]["term"] == "Captain"
    assert listed["deckhand"]["nearest"][0]["term"] == "Deck Hand"
    assert listed["stowaway zz"]["nearest"] == []
    for record in listed.values():
        scores = [n["score"] for n in record["nearest"]]
        assert scores == sorted(scores, reverse=True)
        assert all(60 <= s <= 100 for s in scores)


def test_every_term_is_listed_with_the_rows_and_entities_that_hold_it(store: str) -> None:
    listed = json.loads(run("vocab", store, "--axis", "rank", "--format", "json")[1])
    rows, entities = counted()
    spelt = {"Captain": ["captain"], "Mate": ["mate", "first mate"], "Deck Hand": []}
    got = {r["term"]: (r["rows"], r["entities"]) for r in listed if r["term"]}
    assert list(got) == ["Captain", "Mate", "Deck Hand"]
    for term, texts in spelt.items():
        who = set().union(*(entities[t] for t in texts))
        assert got[term] == (sum(rows[t] for t in texts), len(who)), term


@pytest.mark.parametrize("word", [(), ("list",)])
@pytest.mark.parametrize("before", [True, False])
def test_the_word_list_may_be_left_out_and_options_stand_anywhere(
    store: str, word: tuple[str, ...], before: bool
) -> None:
    arguments = ("--unplaced", store) if before else (store, "--unplaced")
    assert run("vocab", *word, *arguments) == run("vocab", "list", store, "--unplaced")


def test_csv_and_table_say_the_same(store: str) -> None:
    _, out, _ = run("vocab", store, "--unplaced", "--format", "csv")
    head, *lines = list(csv.reader(io.StringIO(out)))
    assert head == ["axis", "surface", "term", "rows", "entities", "slots", "nearest", "score"]
    shown = run("vocab", store, "--unplaced")[1]
    assert len(lines) == 3
    for line in lines:
        assert any(repr(line[1]) in row and f" {line[3]} " in row for row in shown.splitlines())


def test_an_axis_without_vocabulary_is_listed_only_when_it_is_named(store: str) -> None:
    def axes(*asked: str) -> set[str]:
        listed: list[dict[str, Any]] = json.loads(run("vocab", store, *asked, "--format", "json")[1])
        return {r["axis"] for r in listed}

    assert axes("--unplaced") == {"rank"}
    assert axes("--unplaced", "--axis", "nickname") == {"nickname"}
    assert "no vocabulary" in run("vocab", store, "--axis", "nickname")[1]


def test_where_all_is_placed_it_says_so(store: str) -> None:
    assert run("vocab", store, "--unplaced", "--axis", "ship") == (0, "every surface is placed\n", "")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "Missing argument 'STORE'"),
        (("no-such-store",), "no-such-store: no store here"),
        (("STORE", "--axis", "rnak"), "declares no axis 'rnak'; it has: rank, ship, nickname"),
    ],
)
def test_what_makes_no_sense_is_refused(store: str, arguments: tuple[str, ...], said: str) -> None:
    code, out, err = run("vocab", *(store if a == "STORE" else a for a in arguments))
    assert (code, out) == (2, "")
    assert said in err
