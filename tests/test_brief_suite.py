"""The compile suite: its gold is itself an honest compile, and a score tells every way to be wrong apart."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import closedset
from closedset import pack
from closedset.brief import Said, compile_brief
from closedset.brief.evaluate import Case, evaluate, read_cases
from closedset.brief.record import Recorder, Replay
from closedset.brief.spend import Usage
from closedset.errors import PackRefused

FILES = sorted((Path(__file__).parent / "briefs").glob("*.yaml"))
CASES = [case for file in FILES for case in read_cases(file)]
TAGS = {
    "plain", "multi-sentence", "list", "unanswerable", "ambiguous", "negated", "misspelt", "pinned", "two-roles",
    "preference", "language", "injected", "number", "date",
}  # fmt: skip


class Model:
    """Says the gold, or what becomes of it: no network, the same every time."""

    def __init__(self, change: Callable[[dict[str, Any]], object] = lambda said: said) -> None:
        self.change = change
        self.asked = 0
        self._gold = {case.brief: case.said for case in CASES}

    def __call__(self, brief: str, tool: dict[str, Any]) -> Said:
        self.asked += 1
        said = json.loads(json.dumps(self._gold[brief]))
        return Said((self.change(said),), "claude-haiku-5-5", Usage(1000, 100), "2026-11-30")


def test_there_are_enough_of_every_kind_over_every_bundled_pack() -> None:
    assert len(CASES) >= 120
    assert len({case.brief for case in CASES}) == len(CASES)
    assert {case.pack for case in CASES} == set(pack.bundled())
    tags = [tag for case in CASES for tag in case.tags]
    assert set(tags) == TAGS
    assert min(tags.count(tag) for tag in TAGS) >= 3


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.place.rsplit("/", 1)[-1])
def test_the_gold_is_an_honest_compile(case: Case) -> None:
    """Every constraint of the gold is borne out by whole words of one sentence and can be asked; what it lists to
    leave is what the check reports."""
    gold = case.gold(pack.load(case.pack))
    assert gold.dropped == []
    assert all(case.brief[slice(*c.brief_span)] == c.quote for c in gold.constraints if c.brief_span)
    reported = " ".join(u["text"] for u in gold.uncompiled)
    assert all(phrase in reported for phrase in case.leave)
    assert bool(case.leave) == bool(gold.uncompiled)


def test_a_compile_like_the_gold_scores_everything() -> None:
    scores = evaluate(CASES, Model())
    for score in scores.values():
        assert (score.exact, score.inexact) == (score.cases, [])
        assert {(t.precision, t.recall) for t in score.fields.values()} == {(1.0, 1.0)}
        assert (score.dropped_rightly, score.dropped_wrongly, score.left) == (0, 0, score.to_leave)
    assert scores["all"].cases == len(CASES)
    assert set(scores) == {"all", *TAGS}
    json.dumps({name: score.as_said() for name, score in scores.items()})


def changed(key: str, value: Any) -> Callable[[dict[str, Any]], object]:
    """Every first constraint with one key otherwise."""

    def change(said: dict[str, Any]) -> object:
        for first in said["constraints"][:1]:
            first[key] = value
        return said

    return change


def test_a_score_says_which_part_is_wrong() -> None:
    assert evaluate(CASES, Model(changed("op", "ne")))["all"].fields["op"].recall != 1.0
    assert evaluate(CASES, Model(changed("required", False)))["plain"].fields["slot"].recall == 1.0
    assert evaluate(CASES, Model(changed("required", False)))["plain"].fields["required"].recall != 1.0
    silent = evaluate(CASES, Model(lambda said: {"constraints": []}))["all"]
    assert (silent.fields["constraint"].precision, silent.fields["constraint"].recall) == (None, 0.0)
    assert silent.uncompiled.recall == 1.0
    assert silent.left == silent.to_leave


def test_a_drop_is_right_unless_the_gold_holds_the_constraint() -> None:
    lost = evaluate(CASES, Model(changed("quote", "words from nowhere")))["all"]
    assert lost.dropped_wrongly == sum(bool(case.said["constraints"]) for case in CASES)
    assert lost.dropped_rightly == 0

    def invent(said: dict[str, Any]) -> object:
        said["constraints"].append({"relation": "nowhere", "slot": "x", "op": "eq", "value": "y", "quote": "z"})
        return said

    invented = evaluate(CASES, Model(invent))["all"]
    assert (invented.dropped_rightly, invented.dropped_wrongly) == (len(CASES), 0)
    assert invented.fields["constraint"].precision == 1.0
    assert invented.exact == 0


def test_quoting_over_what_must_be_left_is_seen() -> None:
    case = next(c for c in CASES if c.leave == ("Fluent in German.",))

    def bend(said: dict[str, Any]) -> object:
        said["constraints"].append(
            {"relation": "held_role", "slot": "geography", "op": "eq", "value": "Germany", "quote": "Fluent in German"}
        )
        return said

    score = evaluate([case], Model(bend))["all"]
    assert (score.left, score.to_leave, score.exact) == (0, 1, 0)
    assert score.fields["constraint"].precision == 5 / 6


def test_a_recorded_suite_is_replayed_without_a_model(tmp_path: Path) -> None:
    model, file = Model(), tmp_path / "compiles.jsonl"
    evaluate(CASES, Recorder(model, file))
    assert model.asked == len(CASES)
    scores = evaluate(CASES, Replay(file))
    assert model.asked == len(CASES)
    assert scores["all"].exact == len(CASES)
    assert len(file.read_text().splitlines()) == len(CASES)


def test_a_replay_is_the_compile_that_was_recorded(tmp_path: Path) -> None:
    file = tmp_path / "compiles.jsonl"
    roster = pack.load("roster")
    brief = CASES[-1].brief if CASES[-1].pack == "roster" else next(c.brief for c in CASES if c.pack == "roster")
    made = compile_brief(roster, brief, Recorder(Model(), file))
    assert compile_brief(roster, brief, Replay(file)) == made
    assert made.usage_said is not None


def test_a_replay_says_what_it_does_not_hold(tmp_path: Path) -> None:
    file = tmp_path / "compiles.jsonl"
    roster, brief = pack.load("roster"), CASES[0].brief
    for case in CASES[:1]:
        compile_brief(pack.load(case.pack), case.brief, Recorder(Model(), file))
    with pytest.raises(closedset.CompileUnavailable, match="holds no compile of this brief"):
        compile_brief(roster, "Somebody else.", Replay(file))
    other = next(name for name in pack.bundled() if name != CASES[0].pack)
    with pytest.raises(closedset.CompileUnavailable, match="for another pack, or for this pack before it changed"):
        compile_brief(pack.load(other), brief, Replay(file))
    with pytest.raises(closedset.CompileUnavailable, match="no file of recorded compiles"):
        Replay(tmp_path / "nothing.jsonl")
    for line in (
        "{}",
        "[]",
        "no JSON",
        '{"brief": 1, "tool": "x", "on": "soon", "model": "m", "usage": null, "calls": []}',
    ):
        file.write_text(f"\n{line}\n")
        with pytest.raises(closedset.CompileUnavailable, match=r"compiles\.jsonl:2: no recorded compile"):
            Replay(file)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("pack: roster\ncases: nothing\n", "a mapping of `pack` and a list of `cases`"),
        ("- brief: x\n", "a mapping of `pack` and a list of `cases`"),
        ("pack: roster\ncases:\n  - brief: VPs\n    gilt: []\n", ":3: a case has `brief`"),
        (
            "pack: roster\ncases:\n  - brief: VPs\n    gold: [seniority is VP]\n",
            "is not `[prefer ]relation.slot op value",
        ),
        (
            "pack: roster\ncases:\n  - brief: VPs\n    gold: [held_role.seniority eq VP | SVPs]\n",
            "the gold itself is dropped",
        ),
        ("pack: roster\ncases:\n  - brief: VPs\n", "list it under `leave`"),
        ("pack: roster\ncases:\n  - brief: VPs\n    leave: [SVPs]\n", "the gold itself is dropped"),
        (
            "pack: roster\ncases:\n  - brief: VPs\n    gold: [held_role.seniority eq VP | VPs]\n    leave: [VP]\n",
            "is quoted by the gold",
        ),
    ],
)
def test_a_gold_that_could_not_be_meant_is_refused(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "cases.yaml"
    file.write_text(text)
    with pytest.raises(PackRefused) as caught:
        read_cases(file)
    assert says in str(caught.value)
