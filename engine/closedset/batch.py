"""Many requests over one generation: what they have in common runs once, and a few are answered at a time."""

import os
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

from closedset import search
from closedset.errors import RequestRefused
from closedset.memo import Memo
from closedset.reply_compact import CompactReply
from closedset.reply_full import FullReply
from closedset.store import Generation

if TYPE_CHECKING:
    from closedset.brief import Model

#: Planning a statement keeps one core busy, so another request may use the other; more at a time take more memory.
_MOST_AT_A_TIME = 4

Answered = FullReply | CompactReply | RequestRefused


def batch(generation: Generation, requests: Iterable[object], model: "Model | None" = None) -> Iterator[Answered]:
    """The reply of each request, or its refusal, in the requests' order; a request is taken when a reply is.

    With a `model`, one at a time: what is recorded of it stands in the requests' order too.
    """
    memo = Memo()
    at_a_time = 1 if model is not None else max(1, min(os.cpu_count() or 1, _MOST_AT_A_TIME))
    with ThreadPoolExecutor(at_a_time) as pool:
        under_way: deque[Future[Answered]] = deque()
        try:
            for request in requests:
                under_way.append(pool.submit(_answered, generation, request, model, memo))
                if len(under_way) > at_a_time:
                    yield under_way.popleft().result()
            while under_way:
                yield under_way.popleft().result()
        finally:
            for one in under_way:
                one.cancel()


def _answered(generation: Generation, request: object, model: "Model | None", memo: Memo) -> Answered:
    try:
        return search.search(generation, request, model, memo)
    except RequestRefused as refused:
        return refused
