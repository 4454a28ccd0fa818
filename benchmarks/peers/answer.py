"""What a peer answers, reduced to what can be compared id by id."""

import hashlib
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from benchmarks.questions import Question

#: The codes of verdicts in every peer's four-way answer.
MATCHED, NONE, NOT_RECORDED, UNDETERMINED = 2, 0, 3, 1
VERDICTS = {"matched": MATCHED, "none": NONE, "not_recorded": NOT_RECORDED, "undetermined": UNDETERMINED}


@dataclass(frozen=True)
class Answer:
    """Hashes over the sorted matched ids, and over the verdict codes in id order (None: the peer has none):
    two answers are equal id by id when their hashes are."""

    matches: int
    matched: str
    four_way: str | None = None

    def record(self) -> dict[str, Any]:
        return asdict(self)


class Peer(Protocol):
    """`ask` does the work that is timed; `answer` gives the whole answer, untimed, to be compared."""

    def ask(self, question: Question) -> None: ...

    def answer(self, question: Question) -> Answer: ...


def of_matched(ids: npt.ArrayLike) -> Answer:
    array = np.sort(np.asarray(ids, dtype=np.int64))
    return Answer(len(array), _hash(array))


def of_verdicts(ids: npt.ArrayLike, verdicts: npt.ArrayLike) -> Answer:
    """Takes one id and one verdict code an entity, in any order."""
    people = np.asarray(ids, dtype=np.int64)
    codes = np.asarray(verdicts, dtype=np.int8)
    order = np.argsort(people, kind="stable")
    people, codes = people[order], codes[order]
    matched = people[codes == MATCHED]
    return Answer(len(matched), _hash(matched), _hash(people) + _hash(codes))


def _hash(array: npt.NDArray[Any]) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()[:32]
