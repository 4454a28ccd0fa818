"""Ids that differ by little stay different entities, and every load says how many there are and which come first."""

import json
from pathlib import Path

import pytest
from tests.command import run

PACK = "pack: p\nrelations: {seen: {slots: {what: text}}}\n"
MAP = "source: s\nrows: [{relation: seen, from: t, entity: id, slots: {what: what}}]\n"


def load(folder: Path, ids: list[str], *more: str) -> str:
    (folder / "pack.yaml").write_text(PACK, encoding="utf-8")
    (folder / "map.yaml").write_text(MAP, encoding="utf-8")
    (folder / "t.csv").write_text("id,what\n" + "".join(f'"{one}",x\n' for one in ids), encoding="utf-8")
    code, out, err = run("load", folder / "s", "--pack", folder / "pack.yaml", folder / "t.csv", *more)
    assert code == 0, err
    return out


@pytest.mark.parametrize(
    "alike",
    [
        ["007", "7"],
        ["00012", "12"],
        ["A1", "a1", "Ａ1"],
        ["S-101", "S101", "S–101", "s 101"],
        ["A-007", "A7"],
        ["DE89 3704 0044", "DE8937040044"],
        ["Zu\u0308rich", "ZÜRICH"],
        ["STRASSE", "Straße"],
        ["a\u200bb", "ab"],
    ],
)
def test_ids_that_differ_by_little_are_one_group_and_stay_different(alike: list[str], tmp_path: Path) -> None:
    said = json.loads(load(tmp_path, [*alike, "other", "70", "ot"], "--format", "json"))
    assert said["universe"] == len(alike) + 3
    assert said["near_duplicates"] == {"groups": 1, "ids": len(alike), "first": [sorted(alike)]}


def test_ids_that_differ_in_a_letter_or_a_digit_are_not_alike(tmp_path: Path) -> None:
    ids = ["10", "1", "100", "A10", "A1", "B1", "0", "-", "--", "é", "e", "1a0", "10a"]
    assert json.loads(load(tmp_path, ids, "--format", "json"))["near_duplicates"]["groups"] == 0
    assert "differ only" not in run("load", tmp_path / "s", "--pack", tmp_path / "pack.yaml", tmp_path / "t.csv")[1]


def test_all_groups_are_counted_and_the_first_are_named(tmp_path: Path) -> None:
    ids = [f"{form}{n}" for n in range(1000, 1030) for form in ("a", "A")] + ["x-1", "x1", "X1", "x 1"]
    said = load(tmp_path, ids)
    begins = said.index("ids that differ only a little")
    lines = said[begins:].splitlines()
    assert lines[0] == "ids that differ only a little: 64 ids in 31 groups, kept as different entities"
    assert lines[1:3] == ["  'A1000', 'a1000'", "  'A1001', 'a1001'"]
    assert lines[11] == "  and 21 groups more"
    one = load(tmp_path, ["x-1", "x1", "X1", "x 1"], "--accept-shrink")
    assert "4 ids in 1 group, kept as different entities\n  'X1', 'x 1', 'x-1', 'x1'\n" in one
    assert "universe 1 entity\n" in load(tmp_path, ["x1"], "--accept-shrink")
