"""The request: what may be asked, and the refusal of everything that never made sense.

Takes the JSON request or a `Request`. A number, boolean or array that arrives as text is read when it prints
back the same ("25", not "1e3"); an unknown key is refused with the nearest known one.
"""

import json
import re
from collections.abc import Mapping
from decimal import Decimal
from difflib import get_close_matches
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from closedset.dates import month_end
from closedset.errors import RequestRefused

LIMIT = {"full": 50, "compact": 25}
LIMIT_AT_MOST = 500
LIST_LIMIT = 200
OFFSET_AT_MOST = 2**53
_INTEGER = re.compile(r"0|-?[1-9][0-9]*")
#: Beyond this a JSON reader's floating point drops digits, so a reply says such an integer as text.
_EXACT_INTEGER = 2**53

Scalar = str | int | float | Decimal


class Constraint(BaseModel):
    """One condition on one slot of one relation. `value` is a scalar, and for `in` a list of them."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    relation: str
    slot: str
    op: Literal["eq", "ne", "in", "gte", "lte"]
    value: Any
    required: bool = True
    brief_span: tuple[int, int] | None = None
    quote: str | None = None
    span_relocated_from: tuple[int, int] | None = None

    @field_validator("required", mode="before")
    @classmethod
    def _boolean(cls, value: Any) -> Any:
        value = {"true": True, "false": False}.get(value, value) if isinstance(value, str) else value
        if not isinstance(value, bool):
            raise ValueError("must be true or false")
        return value

    @model_validator(mode="after")
    def _value_fits_op(self) -> "Constraint":
        values = self.values()
        if self.op == "in" and not isinstance(self.value, list | tuple):
            raise ValueError("value: op `in` takes a list of values")
        if self.op == "in" and not values:
            raise ValueError("value: op `in` takes at least one value")
        if self.op != "in" and isinstance(self.value, list | tuple):
            raise ValueError(f"value: op `{self.op}` takes one value, not a list; did you mean op `in`?")
        for value in values:
            if isinstance(value, bool) or not isinstance(value, str | int | float | Decimal):
                raise ValueError(f"value: {json.dumps(value, default=str)} is neither text nor a number")
            if isinstance(value, str) and not value.strip():
                raise ValueError("value: is blank")
            if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
                raise ValueError("value: is not a finite number")
        return self

    @model_validator(mode="before")
    @classmethod
    def _array_as_text(cls, raw: Any) -> Any:
        if isinstance(raw, Mapping) and raw.get("op") == "in" and isinstance(raw.get("value"), str):
            return {**raw, "value": _from_text(raw["value"], list)}
        return raw

    def values(self) -> list[Scalar]:
        """The asked values, one or many."""
        return list(self.value) if isinstance(self.value, list | tuple) else [self.value]

    def as_sent(self) -> dict[str, Any]:
        """The condition as a reply repeats it: the compile's marks only where there are any."""
        said = self.model_dump(mode="json")
        said["value"] = _whole_digits(said["value"])
        return {k: v for k, v in said.items() if v is not None or k == "value"}


class Request(BaseModel):
    """A search: exactly one of `brief` and `constraints`, and how much of the answer to deliver."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    constraints: list[Constraint] | None = None
    brief: str | None = None
    as_of: str | None = None
    limit: int | None = Field(default=None, ge=1, le=LIMIT_AT_MOST)
    offset: int = Field(default=0, ge=0, le=OFFSET_AT_MOST)
    list_limit: int | None = Field(default=None, ge=0, le=LIST_LIMIT)
    entity_ids: list[str] | None = Field(default=None, max_length=LIMIT_AT_MOST)
    detail: Literal["full", "compact"] = "full"

    @field_validator("as_of")
    @classmethod
    def _month(cls, value: str | None) -> str | None:
        if value is not None and month_end(value) is None:
            raise ValueError(f"{value!r} is no month; write YYYY-MM")
        return value

    @field_validator("limit", "offset", "list_limit", mode="before")
    @classmethod
    def _whole(cls, value: Any) -> Any:
        if isinstance(value, str) and _INTEGER.fullmatch(value):
            return int(value)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
            raise ValueError(f"{value!r} is no whole number")
        return value

    @field_validator("constraints", "entity_ids", mode="before")
    @classmethod
    def _array(cls, value: Any) -> Any:
        return _from_text(value, list) if isinstance(value, str) else value

    @property
    def page(self) -> int:
        """How many matches a page holds."""
        return self.limit if self.limit is not None else LIMIT[self.detail]

    @property
    def listed(self) -> int:
        """How many ids a list of non-matches may hold."""
        return self.list_limit if self.list_limit is not None else LIST_LIMIT


def _whole_digits(value: Any) -> Any:
    if isinstance(value, list):
        return [_whole_digits(one) for one in value]
    return str(value) if isinstance(value, int) and abs(value) > _EXACT_INTEGER else value


def _from_text(value: str, kind: type) -> Any:
    try:
        read = json.loads(value)
    except ValueError:
        return value
    return read if isinstance(read, kind) else value


def parse(raw: object) -> Request:
    """A request from its JSON value. Refuses (RequestRefused, 422) as the module says."""
    if isinstance(raw, Request):
        raw = raw.model_dump(exclude_unset=True)
    if not isinstance(raw, Mapping):
        raise RequestRefused("search_request_invalid", "a request is a JSON object", value=str(raw)[:200])
    _refuse_what_is_no_text(raw)
    # A null says the same as leaving a known key out; of an unknown key it is refused like any other value.
    given = {k: v for k, v in raw.items() if v is not None or k not in Request.model_fields}
    known = given.keys() <= Request.model_fields.keys()
    if known and ("brief" in given) == ("constraints" in given):
        raise RequestRefused("search_request_invalid", "send exactly one of `brief` and `constraints`")
    try:
        request = Request.model_validate(given)
    except ValidationError as error:
        raise _refusal(error) from None
    if request.constraints is not None and not request.constraints:
        raise RequestRefused("search_request_invalid", "`constraints` is empty", fix="send at least one constraint")
    if request.brief is not None and not request.brief.strip():
        raise RequestRefused("search_request_invalid", "`brief` is blank", fix="send the request in plain language")
    return request


def _refuse_what_is_no_text(raw: object) -> None:
    """Half a surrogate pair passes JSON and is no character: no cell can hold it and no reply can say it."""
    try:
        json.dumps(raw, ensure_ascii=False, default=str, skipkeys=True).encode()
    except UnicodeEncodeError as error:
        half = f"U+{ord(error.object[error.start]):04X}"
        raise RequestRefused(
            "search_request_invalid", "the request holds text that is no text", reason=f"{half} is half a character"
        ) from None


def _refusal(error: ValidationError) -> RequestRefused:
    # A misspelt key is said before the key it was meant to be, which is missing for that reason.
    errors = sorted(error.errors(include_url=False), key=lambda one: one["type"] != "extra_forbidden")
    faults = [_fault(one) for one in errors]
    first = faults[0]
    place = first.pop("place")
    for fault in faults[1:]:
        fault.pop("place")
    if len(place) > 1 and place[0] == "constraints" and isinstance(place[1], int):
        return RequestRefused(
            "search_constraint_invalid", f"constraints[{place[1]}] is malformed",
            reason=first["reason"], index=place[1], errors=faults,
        )  # fmt: skip
    title = f"unknown key `{place[-1]}`" if first["reason"].startswith("unknown key") else f"`{place[0]}` is malformed"
    return RequestRefused("search_request_invalid", title, reason=first["reason"], errors=faults)


def _fault(one: Any) -> dict[str, Any]:
    place = one["loc"]
    key = ".".join(str(p) for p in place) or "request"
    if one["type"] == "extra_forbidden":
        model = Constraint if place[0] == "constraints" else Request
        near = get_close_matches(str(place[-1]), list(model.model_fields), n=1, cutoff=0)
        reason = f"unknown key `{place[-1]}`; the nearest known key is `{near[0]}`"
        return {"place": place, "key": key, "reason": reason, "nearest": near[0]}
    reason = one["msg"].removeprefix("Value error, ")
    value = one.get("input")
    shown = _whole_digits(value) if isinstance(value, str | int | float | bool | type(None)) else None
    return {"place": place, "key": key, "reason": f"{key}: {reason}", "value": shown}
