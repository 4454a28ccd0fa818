"""The bundled packs are what they say they are, and a fault in a pack or a map is named by file and line."""

import json
from pathlib import Path

import pytest

from closedset import mapping, pack
from closedset.errors import PackRefused
from closedset.fold import fold

HERE = Path(__file__).parent
ROSTER = pack.pack_file("roster")


def read_vocabularies(name: str) -> list[dict[str, object]]:
    text = (HERE / "real" / f"{name}_vocab.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


# --- the bundled packs ----------------------------------------------------------------------------------


def test_the_three_packs_are_bundled() -> None:
    assert pack.bundled() == ["congress", "roster", "sf_food"]


@pytest.mark.parametrize("name", pack.bundled())
def test_every_bundled_pack_validates_with_its_map(name: str) -> None:
    declared = pack.load(name)
    mapped = mapping.load(pack.pack_file(name).parent / "map.yaml", declared)
    assert declared.pack == name
    assert mapped.rows


@pytest.mark.parametrize("name", pack.bundled())
def test_every_bundled_pack_says_where_its_data_comes_from_and_under_which_licence(name: str) -> None:
    folder = pack.pack_file(name).parent
    told = (folder / "SOURCE.md").read_text(encoding="utf-8")
    for part in ("Origin.", "Licence.", "The export.", "Mapping.", "Coverage", "Known mess"):
        assert f"**{part}" in told
    assert list((folder / "data").iterdir())


@pytest.mark.parametrize("name", ["congress", "sf_food"])
def test_every_relation_and_slot_of_a_real_pack_is_filled_by_its_map(name: str) -> None:
    declared = pack.load(name)
    mapped = mapping.load(pack.pack_file(name).parent / "map.yaml", declared)
    filled = {(rows.relation, slot) for rows in mapped.rows for slot in rows.cells()}
    assert filled == {
        (relation, slot) for relation, held in declared.relations.items() for slot in held.askable()
    }


def test_the_worked_pack_has_thirteen_slots_and_two_axes_without_vocabulary() -> None:
    roster = pack.load("roster")
    slots = [(name, slot) for name, relation in roster.relations.items() for slot in relation.askable()]
    assert len(slots) == 13
    assert set(roster.axes) - set(roster.vocabularies) == {"title", "topic"}
    assert roster.relations["engagement"].slots["hourly_rate_usd"].unit == "USD"


@pytest.mark.parametrize("name", ["congress", "sf_food"])
def test_every_term_and_synonym_of_the_source_vocabulary_is_in_the_pack(name: str) -> None:
    declared = pack.load(name)
    for axis in read_vocabularies(name):
        relation, slot = str(axis["slot"]).split(".")
        vocabulary = declared.vocabulary(declared.relations[relation].slots[slot])
        assert vocabulary is not None
        assert list(vocabulary.terms) == axis["terms"], axis["slot"]
        assert vocabulary.ordered == bool(axis["order_low_to_high"])
        assert sorted(vocabulary.rungs, key=vocabulary.rungs.__getitem__) == (axis["order_low_to_high"] or [])
        synonyms, parents = axis["synonyms"], axis["parents"]
        assert isinstance(synonyms, dict)
        assert isinstance(parents, dict)
        assert {surface: vocabulary.place(surface) for surface in synonyms} == synonyms
        assert {term: vocabulary.place(term) for term in vocabulary.terms} == {t: t for t in vocabulary.terms}
        above = {(kid, parent) for kid, named in parents.items() for parent in named}
        assert above == {
            (kid, parent) for parent, kids in declared.axes[vocabulary.name].tree.items() for kid in kids
        }


def test_every_term_slot_of_a_real_pack_has_a_source_vocabulary() -> None:
    for name in ("congress", "sf_food"):
        terms = {
            f"{relation}.{slot}"
            for relation, held in pack.load(name).relations.items()
            for slot, declared in held.slots.items()
            if declared.type == "term"
        }
        assert terms == {axis["slot"] for axis in read_vocabularies(name)}


def test_no_synonym_repeats_what_folding_does_already() -> None:
    for name in pack.bundled():
        for axis_name, axis in pack.load(name).axes.items():
            for term, spellings in axis.synonyms.items():
                folds = [fold(term), *map(fold, spellings)]
                assert len(folds) == len(set(folds)), f"{name}: {axis_name}: {term}"


# --- values are the text that was typed -----------------------------------------------------------------


def test_no_stays_norway(tmp_path: Path) -> None:
    path = tmp_path / "pack.yaml"
    path.write_text(
        "pack: p\naxes:\n  country:\n    terms: [NO, SE, YES, 007, 1e5, 2024-01]\n"
        "    tree: {Nordic: [NO, SE]}\n    synonyms: {NO: [Norway, null]}\n"
        "relations: {held: {slots: {country: {term: country}}}}\n",
        encoding="utf-8",
    )
    country = pack.load(path).vocabularies["country"]
    assert country.terms == ("NO", "SE", "YES", "007", "1e5", "2024-01", "Nordic")
    assert country.place("no") == country.place("null") == "NO"


# --- faults ---------------------------------------------------------------------------------------------


def refusal(tmp_path: Path, file: str, old: str, new: str) -> str:
    """What is said of the roster's pack or map with one passage changed, with PATH for the file's path."""
    for name in ("pack.yaml", "map.yaml"):
        (tmp_path / name).write_bytes((ROSTER.parent / name).read_bytes())
    path = tmp_path / file
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, old
    path.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(PackRefused) as refused:
        mapping.load(tmp_path / "map.yaml", pack.load(tmp_path))
    return str(refused.value).replace(str(path), "PATH")


def line(file: str, text: str, add: int = 0) -> int:
    """The line of the roster's pack or map on which the one occurrence of a passage begins."""
    whole = (ROSTER.parent / file).read_text(encoding="utf-8")
    assert whole.count(text) == 1, text
    return whole[: whole.index(text)].count("\n") + 1 + add


SENIORITY = "    order: [IC, Manager, Director, VP, SVP, C-level]"
DACH = "      DACH: [Germany, Austria, Switzerland]"
OUTCOME = "  outcome:\n    terms: [passed, failed]"
COMPANY = "      company: company"

PACK_FAULTS = {
    "an unknown key": (
        SENIORITY,
        SENIORITY.replace("order", "ordr"),
        0,
        "axes.seniority.ordr: unknown key; did you mean `order`?",
    ),
    "an unknown key near none": (
        "    dated: true",
        "    xyz: true",
        0,
        "relations.held_role.xyz: unknown key; known here: dated, slots",
    ),
    "a key written twice": (
        OUTCOME,
        f"{OUTCOME}\n{OUTCOME}",
        2,
        f"key 'outcome' is written twice (first on line {line('pack.yaml', OUTCOME)})",
    ),
    "a cycle": (
        DACH,
        "      DACH: [Germany]\n      Germany: [Bavaria]\n      Bavaria: [DACH]",
        2,
        "axes.geography.tree.Bavaria: axis geography: the tree is a cycle: DACH > Germany > Bavaria > DACH",
    ),
    "one surface on two terms": (
        "      VP: [Vice President, VPs]",
        "      VP: [Vice President, ＳＶＰ]",
        0,
        "axes.seniority.synonyms.VP: axis seniority: 'ＳＶＰ' would name both SVP and VP",
    ),
    "synonyms of no term": (
        "      VP: [Vice President, VPs]",
        "      EVP: [Executive Vice President]",
        0,
        "axes.seniority.synonyms.EVP: axis seniority: synonyms for EVP, which is no term of the axis",
    ),
    "an unknown axis": (
        "      kind: {term: kind}",
        "      kind: {term: kynd}",
        0,
        "relations.screening.slots.kind: axis 'kynd' is not declared under `axes`",
    ),
    "an unknown slot type": (
        "      company: text",
        "      company: string",
        0,
        "relations.held_role.slots.company: 'string' is no slot type: "
        "write text, date, number, {term: AXIS} or {number: UNIT}",
    ),
    "a text where a list belongs": (
        "    terms: [compliance]",
        "    terms: compliance",
        0,
        "axes.kind.terms: write a list, as in [a, b]",
    ),
    "a name with a blank": (
        "  screening:\n",
        "  scree ning:\n",
        0,
        "relations.scree ning: a name is letters and digits, a letter first, with single _ between them",
    ),
    "a tab": (
        "    dated: true",
        "\tdated: true",
        0,
        "not readable as YAML: found character '\\t' that cannot start any token",
    ),
}

MAP_FAULTS = {
    "an unknown relation": (
        "  - relation: screening",
        "  - relation: screenings",
        0,
        "rows.1.relation: pack roster declares no relation 'screenings'; "
        "it has: held_role, screening, engagement",
    ),
    "an unknown slot": (
        "      outcome: outcome",
        "      result: outcome",
        0,
        "rows.1.slots.result: screening has no slot 'result'; it has: kind, outcome, as_of",
    ),
    "an unknown key": (
        "    looked_at: {listed: screening_checked.person_id}",
        "    looked_at: {liste: screening_checked.person_id}",
        0,
        "rows.1.looked_at.liste: unknown key; did you mean `listed`?",
    ),
    "a word that is no coverage": (
        "    looked_at: {every: roles.person_id}",
        "    looked_at: everybody",
        0,
        "rows.0.looked_at: write `rows`, {every: TABLE.COLUMN} or {listed: TABLE.COLUMN}",
    ),
    "a bad regular expression": (
        COMPANY,
        '      company: {column: company, pattern: "[0-9"}',
        0,
        "rows.0.slots.company: `pattern` is no regular expression: unterminated character set at position 0",
    ),
    "a column and a constant": (
        COMPANY,
        "      company: {column: company, constant: Acme}",
        0,
        "rows.0.slots.company: write exactly one of `column` and `constant`",
    ),
    "half a period": (
        "    period: [started_on, ended_on]",
        "    period: [started_on]",
        0,
        "rows.0.period.1: one more item is needed",
    ),
    "no entity": (
        "    from: screenings\n    entity: person_id\n",
        "    from: screenings\n",
        -1,
        "rows.1.entity: this key is needed",
    ),
    "a table that is no SELECT": (
        "source: hr_warehouse\n",
        "source: hr_warehouse\ntables:\n  roles_now: DELETE FROM roles\n",
        2,
        "tables.roles_now: a table is defined by one SELECT",
    ),
}


@pytest.mark.parametrize(("old", "new", "add", "told"), PACK_FAULTS.values(), ids=list(PACK_FAULTS))
def test_a_fault_in_a_pack_is_named_by_file_and_line(
    tmp_path: Path, old: str, new: str, add: int, told: str
) -> None:
    assert refusal(tmp_path, "pack.yaml", old, new) == f"PATH:{line('pack.yaml', old, add)}: {told}"


@pytest.mark.parametrize(("old", "new", "add", "told"), MAP_FAULTS.values(), ids=list(MAP_FAULTS))
def test_a_fault_in_a_map_is_named_by_file_and_line(
    tmp_path: Path, old: str, new: str, add: int, told: str
) -> None:
    assert refusal(tmp_path, "map.yaml", old, new) == f"PATH:{line('map.yaml', old, add)}: {told}"


def test_every_fault_of_a_map_is_named_at_once(tmp_path: Path) -> None:
    slots = "      kind: kind\n      outcome: outcome\n"
    said = refusal(tmp_path, "map.yaml", slots, "      a: kind\n      b: outcome\n")
    first = line("map.yaml", "      kind: kind")
    assert [one.split(": ")[0] for one in said.splitlines()] == [f"PATH:{first}", f"PATH:{first + 1}"]


def test_a_pack_that_is_nowhere_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(PackRefused, match=r"no such pack; .* congress, roster, sf_food"):
        pack.load("rooster")
