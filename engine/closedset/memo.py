"""What statements over one generation have answered: many questions over one store share it, within bounded memory.

A generation never changes, so the same statement with the same values and the same lent sets has the same answer.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable

import pyarrow as pa

#: So many bytes of answers are remembered; the one longest unused goes first.
BYTES = 256 << 20
#: What remembering any answer costs beside its bytes.
_EACH = 2_000


class Memo:
    """Answers by statement; any number of threads may share one. `bytes` bounds what it holds, `held` is that now."""

    def __init__(self, bytes: int = BYTES) -> None:
        self._most = bytes
        self.held = 0
        self._answers: OrderedDict[Hashable, pa.Table] = OrderedDict()
        self._turns: dict[Hashable, threading.Lock] = {}
        self._lock = threading.Lock()

    def answer(self, key: Hashable, ask: Callable[[], pa.Table]) -> pa.Table:
        """What a key's statement answers; of several threads that want it, one asks and the others wait."""
        with self._lock:
            turn = self._turns.setdefault(key, threading.Lock())
        with turn:
            answer = self.get(key)
            if answer is None:
                answer = ask()
                self.put(key, answer)
        with self._lock:
            self._turns.pop(key, None)
        return answer

    def get(self, key: Hashable) -> pa.Table | None:
        with self._lock:
            if key not in self._answers:
                return None
            self._answers.move_to_end(key)
            return self._answers[key]

    def put(self, key: Hashable, answer: pa.Table) -> None:
        """Remember an answer; one that is larger than an eighth of the whole is not worth what would go for it."""
        size = answer.nbytes + _EACH
        if size > self._most // 8:
            return
        with self._lock:
            if key in self._answers:
                return
            self._answers[key] = answer
            self.held += size
            while self.held > self._most:
                _, gone = self._answers.popitem(last=False)
                self.held -= gone.nbytes + _EACH
