"""What a compile used and what that costs by the list price of its day; unknown is null, never 0."""

from dataclasses import asdict, dataclass
from datetime import date
from decimal import Decimal
from typing import Any

#: The day the table was last held against the published prices of the Messages API.
PRICES_CHECKED = date(2026, 10, 24)
_MILLION = Decimal(1_000_000)


@dataclass(frozen=True)
class Usage:
    """Tokens of one model call, as the service counted them. `input_tokens` are those outside the prompt cache;
    `listed`: billed at the list price (no other tier, speed or cache life)."""

    input_tokens: int
    output_tokens: int
    cache_creation_input_tokens: int = 0
    cache_read_input_tokens: int = 0
    listed: bool = True

    def as_said(self, model: str, on: date) -> dict[str, Any]:
        """The reply's `usage`: the tokens, `cost_usd` (null when it cannot be known) and what it was priced by."""
        price = price_of(model, on, self.prompt_tokens) if self.listed else None
        cost = None if price is None else price.of(self)
        basis = None if price is None else f"list price since {price.since}, checked {PRICES_CHECKED}"
        counted = {name: tokens for name, tokens in asdict(self).items() if name != "listed"}
        return {**counted, "cost_usd": cost, "cost_basis": basis}

    @property
    def prompt_tokens(self) -> int:
        return self.input_tokens + self.cache_creation_input_tokens + self.cache_read_input_tokens


@dataclass(frozen=True)
class Price:
    """USD per million tokens since a day: input, output, cache writes that last five minutes, cache reads.

    `up_to` is the longest prompt in tokens that is billed at it; null: any.
    """

    model: str
    since: date
    input: Decimal
    output: Decimal
    cache_write: Decimal
    cache_read: Decimal
    up_to: int | None = None

    def of(self, usage: Usage) -> float:
        total = (
            self.input * usage.input_tokens
            + self.output * usage.output_tokens
            + self.cache_write * usage.cache_creation_input_tokens
            + self.cache_read * usage.cache_read_input_tokens
        )
        return float(total / _MILLION)


def _price(model: str, since: str, *usd: str, up_to: int | None = None) -> Price:
    input_, output, cache_write, cache_read = map(Decimal, usd)
    return Price(model, date.fromisoformat(since), input_, output, cache_write, cache_read, up_to)


#: Source: the published price list of the Messages API. A model that is not here has no known price.
PRICES = (
    _price("claude-haiku-5-5", "2026-10-07", "0.10", "0.50", "0.125", "0.01", up_to=100_000),
    _price("claude-haiku-5-5", "2026-10-07", "0.50", "2.50", "0.625", "0.05"),
    _price("claude-sonnet-5-5", "2026-09-28", "2", "10", "2.50", "0.20"),
    _price("claude-sonnet-5-5", "2026-10-07", "2", "10", "2.50", "0.10"),
    _price("claude-opus-5-5", "2026-09-22", "4", "20", "5", "0.20"),
    _price("claude-fable-5-1", "2026-09-01", "10", "50", "12.50", "0.25"),
    _price("claude-sonnet-5", "2026-06-30", "2", "10", "2.50", "0.20"),
    _price("claude-opus-5", "2026-07-24", "5", "25", "6.25", "0.50"),
    _price("claude-haiku-4-5", "2025-10-15", "1", "5", "1.25", "0.10"),
)


def price_of(model: str, on: date, prompt_tokens: int) -> Price | None:
    """The price of a model on a day for a prompt of that length, or None where the table knows none.

    >>> price_of("claude-opus-9", date(2026, 11, 30), 100) is None
    True
    >>> Usage(1000, 200).as_said("claude-haiku-5-5", date(2026, 11, 30))["cost_usd"]
    0.0002
    """
    known = [p for p in PRICES if _same(p.model, model) and p.since <= on]
    latest = [p for p in known if p.since == max(k.since for k in known)]
    return next((p for p in latest if p.up_to is None or prompt_tokens <= p.up_to), None)


def _same(listed: str, model: str) -> bool:
    """A model goes by its name or by its name and the day of its release (`…-20251001`)."""
    rest = model.removeprefix(listed)
    return model.startswith(listed) and (not rest or (rest[0] == "-" and len(rest) == 9 and rest[1:].isdigit()))
