"""Two real exports, loaded as a user loads them: every known answer id by id, and further questions over
every relation and slot, answered a second time by `tests/reference.py`."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import pytest
from tests import reference

import closedset
import closedset.load
from closedset import mapping, pack

REAL = Path(__file__).parent / "real"
NAMES = ("congress", "sf_food")

# One line a question: an optional month, then conditions. `prefer` marks a preference; `|` stands between
# the values of `in`.
FURTHER = {
    "congress": """
        term.state = Dixie; term.party = Democratic; term.chamber = rep
        @2015-06 term.state = New England; term.chamber = senator
        @2025-01 term.chamber = House; term.party = GOP
        @2024-12 term.chamber = House; term.party ≠ GOP
        term.state in Rocky Mountain states | Puerto Rico | WA; term.period_from ≤ 1999
        term.state ≠ West; term.period_from ≥ 2025-01; term.period_to ≥ 2027-01-03
        @2026-06 term.caucus = democrat
        term.caucus ≠ Democrat
        @2026-06 term.district = 0
        term.district ≥ 40; term.state = California
        term.district in 1 | 2.0 | 3e0; prefer term.district ≤ 1
        @2013-02 term.class = 1; term.state_rank ≥ senior
        term.state_rank ≤ junior; term.class ≤ 2
        term.how = appointed
        term.how ≠ special-election; term.chamber = Senate
        executive_term.office ≥ president; executive_term.party = Whig
        @1850-06 executive_term.office ≤ POTUS
        executive_term.office = viceprez; executive_term.how in appointment | succession
        executive_term.party = none
        executive_term.party ≠ Democratic; executive_term.period_from ≥ 1861; executive_term.period_to ≤ 1900
        leadership.title = senate  majority leader; leadership.chamber = SENATE
        @2026-06 leadership.chamber ≠ senate
        leadership.period_from ≤ 2007; leadership.chamber = house
        leadership.period_to ≥ 2027; leadership.title ≠ House Minority Whip
        committee.committee = Armed Services; committee.title = Chairwoman
        committee.committee = House Committee on Appropriations; committee.level = sub; committee.rank ≤ 3
        committee.committee in HSAG15 | Joint committees; committee.side = minority
        committee.committee ≠ Senate committees; committee.title ≠ Member
        @2026-05 committee.level = full
        @2026-06 committee.level = full; committee.title = Member; prefer committee.rank ≤ 2
        committee.as_of = 2026; committee.rank ≥ 25
        social_account.service = X; social_account.as_of ≥ 2026-06
        social_account.service ≠ facebook
        @2026-07 social_account.service in youtube | mastodon
        district_office.city = SPRINGFIELD; district_office.state = IL
        district_office.state ≠ TX; district_office.as_of ≤ 2026-06-15
        person.gender = women; person.birthday ≥ 1990
        person.birthday in 1941-09-08 | 1960-05 | 1958; person.gender ≠ female
        person.birthday ≤ 1943; prefer term.chamber = Senate; prefer committee.rank ≤ 1
        prefer term.state = Pacific; prefer person.birthday ≥ 1980-06
        term.state = Atlantis; person.gender = F
        term.party ≠ Bull Moose
        person.gender = M; board_seat.company = Acme; term.shoe_size = 44
        @2026-06 person.gender = F; term.chamber = Senate; committee.level = sub; leadership.chamber = senate
    """,
    "sf_food": """
        establishment.city = Bay Area; establishment.city ≠ SF
        establishment.city ≠ san francisco
        establishment.city in Oakland | CA
        establishment.postal_code in 94103 | 94110 | 941
        establishment.postal_code ≠ 94110; establishment.tax_code = h24
        establishment.tax_code ≠ H24; establishment.application_date ≤ 1999
        establishment.application_date ≥ 2015-06; establishment.application_date ≤ 2015
        establishment.application_date = 1975-04
        establishment.name = tiramisu  KITCHEN
        @2000-01 establishment.postal_code = 94133
        inspection.type = Complaint-driven; inspection.date ≥ 2015-06; inspection.date ≤ 2015-06-15
        inspection.type in Routine | Permitting; inspection.score ≤ 60
        @2014-05 inspection.type = Follow-up; prefer inspection.score ≥ 90
        inspection.type ≠ Inspection; inspection.date ≤ 2013-06
        inspection.score = 100; inspection.score ≠ 100.0
        inspection.score ≠ 100; inspection.type = Routine - Unscheduled
        violation.risk_category ≤ Moderate; violation.type_id = 103154
        violation.risk_category ≠ High; violation.date = 2013-12
        violation.description = Unclean or degraded floors walls or ceilings; prefer establishment.city = SF
        violation.description ≠ x; violation.risk_category = Purple
        violation.type_id ≠ 103154; inspection.score ≤ 55; establishment.city = SF
        @2013-03 violation.risk_category ≥ High
    """,
}
OPS = {"=": "eq", "≠": "ne", "in": "in", "≥": "gte", "≤": "lte"}


def read_question(line: str) -> dict[str, Any]:
    """A request from one line of FURTHER."""
    found = re.fullmatch(r"(?:@(\S+) )?(.*)", line)
    assert found
    request: dict[str, Any] = {"constraints": []}
    if found[1]:
        request["as_of"] = found[1]
    for condition in found[2].split("; "):
        said = re.fullmatch(r"(prefer )?(\w+)\.(\w+) (=|≠|in|≥|≤) (.*)", condition)
        assert said, condition
        asked = {"relation": said[2], "slot": said[3], "op": OPS[said[4]], "required": not said[1]}
        value = said[5].split(" | ") if said[4] == "in" else said[5]
        request["constraints"].append({**asked, "value": value})
    return request


def further() -> Iterator[tuple[str, str]]:
    for name, text in FURTHER.items():
        for line in text.strip().splitlines():
            yield name, line.strip()


def known() -> Iterator[tuple[str, dict[str, Any]]]:
    for name in NAMES:
        for line in (REAL / f"{name}_questions.jsonl").read_text(encoding="utf-8").splitlines():
            yield name, json.loads(line)


KNOWN = list(known())


@cache
def declared(name: str) -> tuple[pack.Pack, mapping.Map]:
    one = pack.load(name)
    return one, mapping.load(pack.pack_file(name).parent / "map.yaml", one)


@cache
def export(name: str) -> duckdb.DuckDBPyConnection:
    """The sample's files as tables, and the map's SELECTs over them, as an analyst would open them."""
    con = duckdb.connect()
    for file in sorted((pack.pack_file(name).parent / "data").glob("*.parquet")):
        con.execute(f"CREATE TABLE {file.stem} AS FROM read_parquet('{file}')")
    for table, select in declared(name)[1].tables.items():
        con.execute(f"CREATE TABLE {table} AS {select}")
    return con


@cache
def read_reference(name: str) -> reference.Store:
    one, mapped = declared(name)
    tables = {rows.table for rows in mapped.rows} | {entities.table for entities in mapped.entities}
    tables |= {statement.table for _, statement in mapped.statements()}
    cells = {t: export(name).sql(f"FROM {t}").to_arrow_table().to_pylist() for t in tables}
    return reference.read_store(one, mapped, cells)


@cache
def answer_by_reference(name: str, line: str) -> reference.Answer:
    with pytest.MonkeyPatch.context() as patch:
        # Reading the larger export takes seconds, so it is read once and not for every question.
        store = read_reference(name)
        patch.setattr(reference, "read_store", lambda *_: store)
        return reference.answer(*declared(name), {}, read_question(line))


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """Both samples, each in a store of its own, loaded by the loader."""
    opened = {}
    for name in NAMES:
        path = tmp_path_factory.mktemp(name) / "store"
        closedset.load.load(path, pack=name, sample=True)
        opened[name] = closedset.open(path)
    return opened


def read_sets(table: Any) -> dict[str, list[str]]:
    sets: dict[str, list[str]] = {verdict: [] for verdict in reference.VERDICTS}
    for row in table.to_pylist():
        sets[row["verdict"]].append(row["entity_id"])
    return {verdict: sorted(ids) for verdict, ids in sets.items()}


def ask(store: Any, request: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    reply = store.search({**request, **more}).model_dump(mode="json")
    assert isinstance(reply, dict)
    return reply


# --- known answers --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "question"), KNOWN, ids=[f"{name}-{q['id']}" for name, q in KNOWN])
def test_a_known_answer_holds_id_by_id(
    stores: Mapping[str, Any], name: str, question: dict[str, Any]
) -> None:
    request = {"constraints": question["constraints"]}
    if question["as_of"]:
        request["as_of"] = question["as_of"]
    sets = read_sets(stores[name].partition(request))
    assert sets == {verdict: sorted(question["ids"][verdict]) for verdict in reference.VERDICTS}

    reply = ask(stores[name], request)
    counts = reply["counts"]
    assert {verdict: counts[verdict] for verdict in reference.VERDICTS} == question["expect"]
    assert counts["universe"] == read_facts(name)["universe"]
    assert counts["bound"] == counts["matched"] + counts["none"]
    assert [told(group, "active_rows") for group in reply["groups"]] == [
        told(group, "rows_satisfying") for group in question["groups"]
    ]
    assert [group["relation"] for group in reply["groups"]] == [g["relation"] for g in question["groups"]]
    assert [told(one, "rows") for one in counts["per_constraint"]] == [
        told(one, "rows") for one in question["per_constraint"]
    ]
    is_open = question["expect"]["not_recorded"] + question["expect"]["undetermined"] > 0
    assert bool(reply["coverage"].get("narrowed_by")) == is_open


def told(counted: Mapping[str, Any], rows: str) -> tuple[int, ...]:
    return (counted[rows], *(counted[verdict] for verdict in reference.VERDICTS))


# --- further questions, answered twice ------------------------------------------------------------------


@pytest.mark.parametrize(("name", "line"), list(further()), ids=[line for _, line in further()])
def test_a_further_question_is_answered_as_the_reference_answers_it(
    stores: Mapping[str, Any], name: str, line: str
) -> None:
    request, expected = read_question(line), answer_by_reference(name, line)
    sets = read_sets(stores[name].partition(request))
    verdicts = {entity: verdict for verdict, ids in sets.items() for entity in ids}
    assert verdicts == expected.verdicts

    reply = ask(stores[name], request, limit=500, list_limit=200)
    per_constraint = reply["counts"].pop("per_constraint")
    assert reply["counts"] == expected.counts
    for one, wanted in zip(per_constraint, expected.per_constraint, strict=True):
        assert {key: one[key] for key in wanted} == wanted
    plain = ("index", "relation", "required", "constraints", "covered", *reference.VERDICTS)
    tested = ("active_rows", "inactive_rows", "undated_rows", "unanswerable_rows", "unrecorded_slots")
    for group, wanted in zip(reply["groups"], expected.groups, strict=True):
        for key in (*plain, *tested):
            assert group[key] == wanted[key], key
        assert group["absence"]["split"] == wanted["split"]
    assert [code for code, _ in expected.reasons] == reply["coverage"].get("narrowed_by", [])
    assert expanded(reply["expansion"]) == expanded(expected.expansion)

    ranked = [entity for entity, _, _ in expected.ranking]
    assert reply["entities"]["matched"] == ranked[:200]
    assert [match["entity_id"] for match in reply["matches"]] == ranked[:500]
    for match in reply["matches"][:20]:
        rows = expected.rows[match["entity_id"]]
        delivered = [shown(row["relation"], row["satisfies_groups"], row["slots"]) for row in match["rows"]]
        twice = [shown(row.relation, row.satisfies_groups, row.slots) for row in rows]
        if declared(name)[1].tables.keys() & {row.table for row in rows}:
            # The analyst's SELECT promises no order, so only the loader's own rows stand in one.
            delivered, twice = sorted(delivered), sorted(twice)
        assert delivered == twice


def shown(relation: str, groups: list[int], slots: Mapping[str, str | None]) -> str:
    """A row to compare. The reference says what a cell means, the engine shows it blanks and all."""
    return json.dumps([relation, groups, {slot: stated and stated.strip() for slot, stated in slots.items()}])


def expanded(lines: Sequence[str]) -> list[str]:
    """What each line expands to, whatever the words around it."""
    return [terms for line in lines for terms in re.findall(r"→ (\{.*\})", line)]


def test_the_further_questions_name_every_relation_and_slot() -> None:
    for name in NAMES:
        asked = {
            (c["relation"], c["slot"])
            for which, line in further()
            if which == name
            for c in read_question(line)["constraints"]
        }
        relations = declared(name)[0].relations
        assert {(r, s) for r, held in relations.items() for s in held.askable()} <= asked


def test_the_further_questions_meet_every_verdict_and_many_reasons() -> None:
    # What no question meets, no comparison proves.
    met: set[str] = set()
    codes: set[str] = set()
    for name, line in further():
        answer = answer_by_reference(name, line)
        met |= {verdict for verdict in reference.VERDICTS if answer.counts[verdict]}
        codes |= {code.split(":")[0] for code, _ in answer.reasons}
    assert met == set(reference.VERDICTS)
    assert codes >= {
        "constraint_unbound",
        "entities_not_recorded",
        "open_period_rows_unanswerable",
        "slot_unrecorded_rows_unanswerable",
        "undated_rows_unanswerable",
        "vocabulary_unknown_surface",
    }


# --- the figures of the export --------------------------------------------------------------------------


@cache
def read_facts(name: str) -> dict[str, Any]:
    facts = json.loads((REAL / f"{name}_facts.json").read_text(encoding="utf-8"))
    assert isinstance(facts, dict)
    return facts


@pytest.mark.parametrize("name", NAMES)
def test_a_load_reproduces_the_figures_of_the_export(stores: Mapping[str, Any], name: str) -> None:
    facts, catalog = read_facts(name), stores[name].catalog
    assert catalog.universe == facts["universe"]
    assert {relation: stored.rows for relation, stored in catalog.relations.items()} == facts["rows"]
    assert all(report.read == report.loaded for report in catalog.reports)
    covered = {relation: stored.covered for relation, stored in catalog.relations.items()}
    stated = {statement.relation: statement.entities for statement in catalog.statements}
    assert {**covered, **stated} == facts["coverage"]


def read_slot(store: Any, relation: str, slot: str) -> Any:
    (report,) = [report for report in store.catalog.reports if report.relation == relation]
    return report.slots[slot]


def test_no_cell_of_the_real_exports_is_unreadable_or_on_no_term(stores: Mapping[str, Any]) -> None:
    for store in stores.values():
        for report in store.catalog.reports:
            for slot, said in report.slots.items():
                assert not said.unreadable.rows, (report.relation, slot)
                assert not said.unplaced.rows, (report.relation, slot)


def test_the_known_mess_of_congress_is_counted(stores: Mapping[str, Any]) -> None:
    mess, store = read_facts("congress")["data_quality"], stores["congress"]
    assert read_slot(store, "term", "how").empty == mess["terms_without_how"]
    # A House term has no rank in its state at all.
    house = count("congress", "SELECT count(*) FROM terms WHERE type = 'rep'")
    assert read_slot(store, "term", "state_rank").empty - house == mess["senate_terms_without_state_rank"]
    assert read_slot(store, "leadership", "period_to").empty == mess["leadership_open_ended"]
    assert read_slot(store, "committee", "title").empty == 0
    members = read_facts("congress")["legislators"]
    relations = store.catalog.relations
    assert members - relations["social_account"].covered == mess["legislators_without_social_row"]
    assert members - relations["district_office"].covered == mess["legislators_without_office_row"]


def test_the_known_mess_of_sf_food_is_counted(stores: Mapping[str, Any]) -> None:
    mess, store = read_facts("sf_food")["data_quality"], stores["sf_food"]
    city, dates = mess["city_empty"] + mess["city_says_CA"], mess["application_date_1899_sentinel"]
    assert read_slot(store, "establishment", "city").empty == city
    assert read_slot(store, "establishment", "postal_code").empty == mess["postal_code_unusable"]
    empty = read_slot(store, "establishment", "application_date").empty
    assert empty == mess["application_date_empty"] + dates
    assert read_slot(store, "inspection", "score").empty == mess["score_missing"]
    assert read_slot(store, "violation", "risk_category").empty == mess["risk_NA"]


# --- the same, as a person would type it ----------------------------------------------------------------

BY_HAND = {
    "Southern members of the House in June 2015": (
        "congress",
        "@2015-06 term.state = South; term.chamber = House",
        """
        SELECT count(DISTINCT person_id) FROM terms
        WHERE type = 'rep' AND left(start, 7) <= '2015-06' AND left("end", 7) > '2015-06'
          AND state IN ('DE', 'DC', 'FL', 'GA', 'MD', 'NC', 'SC', 'VA', 'WV',
                        'AL', 'KY', 'MS', 'TN', 'AR', 'LA', 'OK', 'TX')
        """,
    ),
    "chairs of a full committee": (
        "congress",
        "committee.title = Chair; committee.level = full",
        """
        SELECT count(DISTINCT person_id) FROM committee_membership JOIN committees USING (committee_id)
        WHERE parent_id IS NULL AND title IN ('Chair', 'Chairman', 'Chairwoman', 'Cochairman')
        """,
    ),
    "low scores at routine visits in 2015": (
        "sf_food",
        "inspection.type = Routine; inspection.score ≤ 70; inspection.date = 2015",
        """
        SELECT count(DISTINCT business_id) FROM inspections
        WHERE type LIKE 'Routine%' AND Score <> '' AND Score::INT <= 70 AND date LIKE '2015%'
        """,
    ),
    "high risk in a postal code": (
        "sf_food",
        "establishment.postal_code = 94110; violation.risk_category = High",
        """
        SELECT count(DISTINCT business_id) FROM businesses JOIN violations USING (business_id)
        WHERE postal_code = '94110' AND risk_category = 'High Risk'
        """,
    ),
}


def count(name: str, sql: str) -> int:
    ((counted,),) = export(name).sql(sql).fetchall()
    assert isinstance(counted, int)
    return counted


@pytest.mark.parametrize(("name", "line", "sql"), BY_HAND.values(), ids=list(BY_HAND))
def test_matches_are_those_of_sql_typed_by_hand(
    stores: Mapping[str, Any], name: str, line: str, sql: str
) -> None:
    assert len(read_sets(stores[name].partition(read_question(line)))["matched"]) == count(name, sql)
