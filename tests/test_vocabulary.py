"""A vocabulary closes: spellings, what lies below what, rungs, and every contradiction refused by name."""

from typing import Any

import pytest

from closedset.vocabulary import Vocabulary, VocabularyError, build


def closed(**declared: Any) -> Vocabulary:
    vocabulary = build("place", **declared)
    assert vocabulary is not None
    return vocabulary


def refused(**declared: Any) -> str:
    with pytest.raises(VocabularyError) as error:
        build("place", **declared)
    return str(error.value)


DIAMOND = {"World": ["North", "West"], "North": ["Alps"], "West": ["Alps"], "Alps": ["Tyrol", "Vaud"]}


def test_an_axis_that_declares_nothing_has_no_vocabulary() -> None:
    assert build("topic") is None


def test_descendants_stand_once_each_in_declared_order_however_many_ways_lead_to_them() -> None:
    places = closed(children=DIAMOND)
    assert places.terms == ("World", "North", "West", "Alps", "Tyrol", "Vaud")
    assert places.with_below("World") == ("World", "North", "West", "Alps", "Tyrol", "Vaud")
    assert places.with_below("West") == ("West", "Alps", "Tyrol", "Vaud")
    assert places.leaves["World"] == {"Tyrol", "Vaud"}
    assert places.leaves["Tyrol"] == {"Tyrol"}


def test_terms_keep_their_declared_order_and_their_codes_follow_it() -> None:
    places = closed(terms=["Vaud", "World"], children=DIAMOND)
    assert places.terms == ("Vaud", "World", "North", "West", "Alps", "Tyrol")
    assert [places.codes[term] for term in places.terms] == [1, 2, 3, 4, 5, 6]


def test_a_spelling_is_found_whatever_its_case_width_and_spaces() -> None:
    places = closed(children=DIAMOND, synonyms={"Tyrol": ["Tirol", "Land Tirol"]}, labels={"Vaud": "Canton of Vaud"})
    for surface, term in (
        ("TYROL", "Tyrol"), (" land\u00a0 tirol", "Tyrol"), ("ｔｉｒｏｌ", "Tyrol"), ("canton of vaud", "Vaud"),
        ("Tirols", None), ("", None),
    ):  # fmt: skip
        assert places.place(surface) == term
    assert (places.label("Vaud"), places.label("Tyrol")) == ("Canton of Vaud", "Tyrol")


def test_below_a_rung_is_on_that_rung_and_a_group_of_rungs_is_on_none() -> None:
    levels = closed(order=["IC", "VP", "SVP"], children={"VP": ["AVP"], "Leaders": ["VP", "SVP"]})
    assert dict(levels.rungs) == {"IC": 0, "VP": 1, "SVP": 2, "AVP": 1}
    assert levels.ordered
    assert levels.leaves["Leaders"] == {"AVP", "SVP"}


@pytest.mark.parametrize(
    ("tree", "cycle"),
    [
        ({"DACH": ["Germany"], "Germany": ["Bavaria"], "Bavaria": ["DACH"]}, "DACH > Germany > Bavaria > DACH"),
        ({"Alps": ["Alps"]}, "Alps > Alps"),
        ({"World": ["A"], "A": ["B"], "B": ["A"]}, "A > B > A"),
    ],
)
def test_a_cycle_is_refused_and_named(tree: dict[str, list[str]], cycle: str) -> None:
    assert refused(children=tree).endswith(f"the tree is a cycle: {cycle}")


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        ({"terms": ["DE", "NA"], "synonyms": {"DE": ["na"]}}, "'na' would name both NA and DE"),
        ({"terms": ["DE", "de"]}, "'de' would name both DE and de"),
        ({"terms": ["DE", "NA"], "labels": {"NA": "DE"}}, "'DE' would name both DE and NA"),
        ({"terms": ["DE"], "synonyms": {"FR": ["France"]}}, "synonyms for FR, which is no term of the axis"),
        ({"terms": ["DE"], "labels": {"FR": "France"}}, "a label for FR, which is no term of the axis"),
        ({"synonyms": {"FR": ["France"]}}, "synonyms or labels, but no terms"),
        ({"terms": ["DE"], "synonyms": {"DE": ["\u00a0"]}}, "an empty surface for DE"),
        ({"order": ["IC", "VP", "IC"]}, "a term stands twice in the order"),
        ({"order": ["IC", "VP"], "terms": ["Chair"]}, "Chair has no rung"),
        ({"order": ["IC", "VP"], "children": {"IC": ["X"], "VP": ["X"]}}, "X stands on two rungs of the order"),
        ({"order": ["IC", "VP"], "children": {"IC": ["VP"]}}, "VP stands on two rungs of the order"),
    ],
)
def test_a_vocabulary_that_contradicts_itself_is_refused_by_the_names_at_fault(
    declared: dict[str, Any], said: str
) -> None:
    message = refused(**declared)
    assert message.startswith("axis place: ")
    assert said in message


def test_a_vocabulary_of_a_thousand_levels_closes() -> None:
    chain = {f"t{i}": [f"t{i + 1}"] for i in range(1500)}
    assert len(closed(children=chain).below["t0"]) == 1500


def test_a_group_that_stands_for_itself_needs_a_rung_on_an_ordered_axis() -> None:
    """Otherwise it would be outside every threshold, and a licensed "no" to each."""
    with pytest.raises(VocabularyError, match="Senior has no rung"):
        build("level", order=["Low", "High", "Top"], children={"Senior": ["High", "Top"]}, exact=True)
    assert build("level", order=["Low", "High", "Top"], children={"High": ["Higher"]}, exact=True) is not None
