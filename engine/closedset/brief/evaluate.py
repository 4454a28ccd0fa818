"""Scoring compiles against gold: what a model should have said of each brief, and what it should have left out.

A case file is YAML; a constraint is one line, a preference starts with `prefer`, and of a quote
that stands more than once ` #2` says which:

    pack: roster
    cases:
      - brief: VP-level Sales leaders in DACH in March 2020. Fluent in German.
        tags: [unanswerable]
        gold:
          - held_role.seniority gte VP | VP-level
          - held_role.function eq Sales | Sales
          - prefer held_role.geography eq DACH | DACH
        as_of: 2020-03 | in March 2020
        leave: [Fluent in German.]
"""

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from closedset import pack as packs
from closedset import yaml_file
from closedset.brief.check import Compiled, read_compile_output
from closedset.brief.compile import Model, compile_brief
from closedset.brief.words import Words
from closedset.errors import PackRefused
from closedset.fold import fold
from closedset.pack import Pack
from closedset.request import Constraint

_LINE = re.compile(r"(prefer )?(\w+)\.(\w+) (eq|ne|in|gte|lte) (.+?) \| (.+?)(?: #([1-9]))?")
_KEYS = {"brief", "tags", "gold", "leave", "as_of"}


@dataclass(frozen=True)
class Case:
    """A brief with its gold. `said` is the gold as a model would say it; `leave` the phrases of the brief that no
    constraint may quote, whole sentences among them."""

    place: str
    brief: str
    pack: str
    tags: tuple[str, ...]
    said: dict[str, Any]
    leave: tuple[str, ...]

    def gold(self, pack: Pack) -> Compiled:
        return read_compile_output(self.brief, pack, self.said)


@dataclass
class Tally:
    """Two multisets compared: `both`, of those `said` and those in the `gold`."""

    both: int = 0
    said: int = 0
    gold: int = 0

    def add(self, said: Iterable[Hashable], gold: Iterable[Hashable]) -> None:
        ours, theirs = Counter(said), Counter(gold)
        self.both += (ours & theirs).total()
        self.said += ours.total()
        self.gold += theirs.total()

    @property
    def precision(self) -> float | None:
        """None where nothing was said."""
        return self.both / self.said if self.said else None

    @property
    def recall(self) -> float | None:
        """None where the gold holds nothing."""
        return self.both / self.gold if self.gold else None


@dataclass
class Score:
    """`cases` briefs, of which `exact` became the gold and nothing else. `fields` compares constraints by part;
    `uncompiled` compares what was left, one with another where they overlap. A drop is right unless the gold holds
    that constraint; `left` of `to_leave` phrases are quoted by nothing."""

    cases: int = 0
    exact: int = 0
    fields: dict[str, Tally] = field(default_factory=lambda: {name: Tally() for name in _FIELDS})
    uncompiled: Tally = field(default_factory=Tally)
    dropped_rightly: int = 0
    dropped_wrongly: int = 0
    left: int = 0
    to_leave: int = 0
    inexact: list[str] = field(default_factory=list)

    def as_said(self) -> dict[str, Any]:
        """The score as JSON values."""
        return {
            "cases": self.cases, "exact": self.exact,
            "fields": {name: {"precision": t.precision, "recall": t.recall} for name, t in self.fields.items()},
            "uncompiled": {"precision": self.uncompiled.precision, "recall": self.uncompiled.recall},
            "dropped": {"rightly": self.dropped_rightly, "wrongly": self.dropped_wrongly},
            "left": {"rightly": self.left, "of": self.to_leave}, "inexact": self.inexact,
        }  # fmt: skip


@dataclass(frozen=True)
class _Said:
    """A constraint as it is compared: its value as the terms it names, or as folded text."""

    relation: str
    slot: str
    op: str
    value: tuple[str, ...]
    required: bool
    span: tuple[int, int]


_FIELDS: dict[str, Callable[[_Said], Hashable]] = {
    "constraint": lambda c: (c.relation, c.slot, c.op, c.value, c.required),
    "slot": lambda c: (c.relation, c.slot),
    "op": lambda c: (c.relation, c.slot, c.op),
    "value": lambda c: (c.relation, c.slot, c.value),
    "required": lambda c: (c.relation, c.slot, c.required),
    "quote": lambda c: (c.relation, c.slot, c.span),
}


def evaluate(cases: Sequence[Case], model: Model | None = None) -> dict[str, Score]:
    """Compile every brief and score it: under `all`, and under each tag in the order they first occur.

    Refuses (CompileUnavailable) as `compile_brief` does.
    """
    scores = {"all": Score()}
    loaded: dict[str, Pack] = {}
    for case in cases:
        pack = loaded.setdefault(case.pack, packs.load(case.pack))
        made, gold = compile_brief(pack, case.brief, model), case.gold(pack)
        for name in ("all", *case.tags):
            _score(scores.setdefault(name, Score()), case, pack, made, gold)
    return scores


def read_cases(file: Path) -> list[Case]:
    """The cases of a file. Refuses (PackRefused) one whose gold could not be meant, naming the case."""
    read, lines = yaml_file.read(file)
    cases = read.get("cases") if isinstance(read, dict) else None
    if not isinstance(cases, list) or read.keys() != {"pack", "cases"}:
        raise PackRefused(f"{file}:1: a file of cases is a mapping of `pack` and a list of `cases`")
    return [_case(f"{file}:{lines['cases', i]}", read["pack"], raw) for i, raw in enumerate(cases)]


def _case(place: str, pack: str, raw: Any) -> Case:
    if not isinstance(raw, dict) or not raw.keys() <= _KEYS or "brief" not in raw:
        raise PackRefused(f"{place}: a case has `brief`, and of {sorted(_KEYS - {'brief'})} what it needs")
    brief = str(raw["brief"])
    said: dict[str, Any] = {"constraints": [_constraint(place, brief, line) for line in raw.get("gold") or []]}
    if raw.get("as_of"):
        month, _, quote = str(raw["as_of"]).partition(" | ")
        said |= {"as_of": month, "as_of_quote": quote}
    leave = tuple(raw.get("leave") or ())
    said["uncompiled"] = list(leave)
    case = Case(place, brief, pack, tuple(raw.get("tags") or ()), said, leave)
    gold = case.gold(packs.load(case.pack))
    if gold.dropped:
        raise PackRefused(f"{place}: the gold itself is dropped: {gold.dropped}")
    quoted = [c.brief_span for c in gold.constraints if c.brief_span]
    for phrase in case.leave:
        if phrase not in brief or _touched(brief, phrase, quoted):
            raise PackRefused(f"{place}: {phrase!r} is to be left, but is not in the brief or is quoted by the gold")
    forgotten = [u["text"] for u in gold.uncompiled if u["text"] not in case.leave]
    if forgotten:
        raise PackRefused(f"{place}: the gold compiles nothing of {forgotten}; list it under `leave`")
    return case


def _constraint(place: str, brief: str, line: object) -> dict[str, Any]:
    match = _LINE.fullmatch(str(line))
    if not match:
        raise PackRefused(f"{place}: {line!r} is not `[prefer ]relation.slot op value | quote[ #n]`")
    prefer, relation, slot, op, value, quote, nth = match.groups()
    many = [one.strip() for one in value.strip("[]").split(",")] if op == "in" else value
    said = {"relation": relation, "slot": slot, "op": op, "value": many, "quote": quote, "required": not prefer}
    return said | ({"brief_span": list(Words(brief).find(quote)[int(nth) - 1])} if nth else {})


def _touched(brief: str, phrase: str, spans: Iterable[tuple[int, int]]) -> bool:
    start = brief.find(phrase)
    return any(first < start + len(phrase) and start < last for first, last in spans)


def _score(score: Score, case: Case, pack: Pack, made: Compiled, gold: Compiled) -> None:
    ours, theirs = ([_comparable(pack, c) for c in one.constraints] for one in (made, gold))
    for name, part in _FIELDS.items():
        score.fields[name].add(map(part, ours), map(part, theirs))
    whole = _FIELDS["constraint"]
    left = [{tuple(u["span"]) for u in gold.uncompiled}] * 2
    left[0] = {_same(span, left[1]) for span in (tuple(u["span"]) for u in made.uncompiled)}
    score.uncompiled.add(*left)
    wanted = Counter((c.relation, c.slot, c.op) for c in theirs) - Counter((c.relation, c.slot, c.op) for c in ours)
    for dropped in made.dropped:
        raw = dropped["constraint"]
        named = [str(raw.get(key)) for key in ("relation", "slot", "op")] if isinstance(raw, dict) else ["", "", ""]
        asked = named[0], named[1], named[2]
        lost = wanted[asked] > 0
        wanted[asked] -= lost
        score.dropped_wrongly += lost
        score.dropped_rightly += not lost
    score.to_leave += len(case.leave)
    score.left += sum(not _touched(case.brief, phrase, [c.span for c in ours]) for phrase in case.leave)
    same = Counter(map(whole, ours)) == Counter(map(whole, theirs)) and left[0] == left[1]
    exact = same and made.as_of == gold.as_of and not made.dropped
    score.cases += 1
    score.exact += exact
    score.inexact += [] if exact else [case.place]


def _same(span: tuple[int, ...], gold: set[tuple[int, ...]]) -> tuple[int, ...]:
    """The span of the gold that one overlaps, by which the two count as one; itself where there is none."""
    return next((g for g in sorted(gold) if g[0] < span[1] and span[0] < g[1]), span)


def _comparable(pack: Pack, constraint: Constraint) -> _Said:
    slot = pack.relations[constraint.relation].slot(constraint.slot)
    assert slot is not None
    assert constraint.brief_span is not None
    vocabulary = pack.vocabulary(slot)
    values = [str(value) for value in constraint.values()]
    named = [(vocabulary.place(value) if vocabulary else None) or fold(value) for value in values]
    return _Said(
        constraint.relation,
        constraint.slot,
        constraint.op,
        tuple(sorted(named)),
        constraint.required,
        constraint.brief_span,
    )
