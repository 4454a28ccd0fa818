"""The model call: what is sent, what each failure says, and that the key is nowhere but in its header."""
# ruff: noqa: E501 (a printed line, a case or a brief stands on one line)

import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.messages_api import KEY, Answer, Api, error, message, serving, tool_use

import closedset
from closedset import pack
from closedset.brief import compile_brief
from closedset.brief.messages import Messages, _client
from closedset.brief.tool import compile_tool

BRIEF = "VP-level Sales leaders in DACH."
ROSTER = pack.load("roster")
VP = {
    "relation": "held_role", "slot": "seniority", "op": "gte", "value": "VP", "brief_span": [0, 8], "quote": "VP-level",
    "required": True,
}  # fmt: skip
GOOD = Answer(message(tool_use({"constraints": [VP]})))


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[Api]:
    for name in [n for n in os.environ if n.startswith(("ANTHROPIC_", "CLOSEDSET_"))]:
        monkeypatch.delenv(name)
    with serving(lambda asked: GOOD) as running:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", running.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        yield running
        assert running.faults == []
    _client.cache_clear()


def refused(model: Messages | None = None) -> str:
    with pytest.raises(closedset.CompileUnavailable) as caught:
        compile_brief(ROSTER, BRIEF, model)
    reason: str = caught.value.body["reason"]
    assert caught.value.body["type"] == "compile_unavailable"
    assert reason.endswith("or pass constraints")
    assert KEY not in reason
    assert KEY not in repr(caught.value)
    return reason


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_a_brief_is_compiled_by_one_call_that_forces_the_tool(api: Api, stream: bool) -> None:
    made = compile_brief(ROSTER, BRIEF, Messages(stream=stream))
    assert [(c.slot, c.op, c.value) for c in made.constraints] == [("seniority", "gte", "VP")]
    (asked,) = api.requests
    assert asked["tool_choice"] == {
        "type": "tool", "name": "compile_search_brief", "disable_parallel_tool_use": True,
    }  # fmt: skip
    assert asked["messages"] == [{"role": "user", "content": BRIEF}]
    assert asked["tools"] == [compile_tool(ROSTER)]
    assert asked["system"][-1]["cache_control"] == {"type": "ephemeral"}
    assert made.model == "claude-haiku-5-5"
    assert made.usage_said == {
        "input_tokens": 40, "output_tokens": 210, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 2600,
        "cost_usd": 0.000135, "cost_basis": "list price since 2026-10-07, checked 2026-10-24",
    }  # fmt: skip


def test_everything_before_the_brief_is_the_same_bytes_so_that_it_is_cached(api: Api) -> None:
    compile_brief(ROSTER, BRIEF)
    compile_brief(pack.load("roster"), "Somebody else entirely.")
    first, second = ({k: v for k, v in asked.items() if k != "messages"} for asked in api.requests)
    assert first == second


def test_a_model_that_will_not_be_forced_is_offered_the_tool_alone(api: Api) -> None:
    def script(asked: dict[str, Any]) -> Answer:
        if asked["tool_choice"]["type"] == "tool":
            text = 'tool_choice: type "tool" and "any" are not supported for this model.'
            return error(400, "invalid_request_error", text)
        return GOOD

    api.script = script
    assert compile_brief(ROSTER, BRIEF, Messages(model="claude-next-9")).constraints
    assert [asked["tool_choice"]["type"] for asked in api.requests] == ["tool", "auto"]
    api.requests.clear()
    assert compile_brief(ROSTER, BRIEF, Messages(model="claude-opus-5-5")).constraints
    assert [asked["tool_choice"]["type"] for asked in api.requests] == ["auto"]


@pytest.mark.parametrize(
    ("answer", "tries", "says"),
    [
        (error(429, "rate_limit_error"), 3, "the model's rate limit is reached; wait and try again"),
        (error(529, "overloaded_error"), 3, "the model's service is overloaded; try again later"),
        (error(500, "api_error"), 3, "the model's service failed (500); try again later"),
        (error(503, "api_error"), 3, "the model's service failed (503); try again later"),
        (error(401, "authentication_error", f"invalid key {KEY}"), 1, "refused the key; check ANTHROPIC_API_KEY"),
        (error(402, "billing_error"), 1, "no credit left"),
        (error(403, "permission_error"), 1, "does not allow this key"),
        (error(404, "not_found_error"), 1, "knows no model claude-haiku-5-5; set CLOSEDSET_MODEL"),
        (error(413, "request_too_large"), 1, "more than the model takes"),
        (error(400, "invalid_request_error", f"bad {KEY}"), 1, "refused the request (400: bad …)"),
        (Answer(message(stop_reason="refusal")), 1, "the model refused to read the brief; reword it"),
        (Answer(message(tool_use({"constraints": []}), stop_reason="max_tokens")), 1, "was cut off (max_tokens)"),
        (
            Answer(message(stop_reason="model_context_window_exceeded")),
            1,
            "was cut off (model_context_window_exceeded)",
        ),
        (Answer({"hello": "world"}), 1, "answered with no message"),
        (Answer(b"[1, 2]"), 1, "answered with no message"),
        (Answer(b"<html>proxy</html>", headers={"content-type": "text/html"}), 1, ""),
        (Answer(b'{"type": "message", "content": [{"ty'), 1, ""),
        (Answer(b"[" * 100_000), 1, ""),
        (Answer(b"", 502, {"retry-after-ms": "1"}), 3, "the model's service failed (502)"),
    ],
    ids=lambda value: str(value)[:40] if isinstance(value, str) else "",
)
def test_every_failure_says_what_happened_and_what_to_do(api: Api, answer: Answer, tries: int, says: str) -> None:
    api.script = lambda asked: answer
    assert says in refused(Messages(retries=2))
    assert len(api.requests) == tries


def test_a_passing_failure_is_tried_again(api: Api) -> None:
    answers = iter([error(529, "overloaded_error"), error(429, "rate_limit_error"), GOOD])
    api.script = lambda asked: next(answers)
    assert compile_brief(ROSTER, BRIEF, Messages(retries=2)).constraints
    assert len(api.requests) == 3


def test_a_model_that_does_not_answer_is_given_up(api: Api) -> None:
    api.script = lambda asked: Answer(message(), delay_s=1.0)
    assert "did not answer within 0.2 s; try again" in refused(Messages(timeout_s=0.2, retries=0))


def test_a_service_that_is_not_there(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    assert "cannot be reached" in refused(Messages(retries=0))
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "no address")
    refused(Messages(retries=0))


@pytest.mark.parametrize("cut", [0.2, 0.5, 0.9])
def test_a_stream_that_breaks_off(api: Api, cut: float) -> None:
    from tests.messages_api import events

    whole = events(message(tool_use({"constraints": [VP]})))
    body = whole[: int(len(whole) * cut)]
    api.script = lambda asked: Answer(body, headers={"content-type": "text/event-stream"})
    refused(Messages(stream=True, retries=0))


def test_an_error_in_the_middle_of_a_stream(api: Api) -> None:
    fault = b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n'
    api.script = lambda asked: Answer(fault, headers={"content-type": "text/event-stream"})
    assert "overloaded" in refused(Messages(stream=True, retries=0))


def test_half_a_character_in_a_stream_is_an_answer_nobody_can_read(api: Api) -> None:
    api.script = lambda asked: Answer(message(tool_use({"constraints": [{**VP, "quote": "\ud83d"}]})))
    assert "cannot be read" in refused(Messages(stream=True))


@pytest.mark.parametrize("key", ["", "   "])
def test_without_a_key_there_is_no_model(api: Api, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", key)
    with pytest.raises(closedset.CompileUnavailable) as caught:
        compile_brief(ROSTER, BRIEF)
    assert caught.value.status == 503
    assert caught.value.body == {"type": "compile_unavailable", "reason": "compile requires a model; pass constraints"}
    assert api.requests == []


def test_a_token_serves_as_key(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", KEY)
    assert compile_brief(ROSTER, BRIEF).constraints


@pytest.mark.parametrize("key", [f"{KEY}\nX-Other: 1", f"{KEY}\r\n\tx"])
def test_a_key_that_no_header_can_carry_is_not_repeated(api: Api, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", key)
    refused(Messages(retries=0))
    assert api.requests == []


def test_the_key_is_never_logged(api: Api, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    compile_brief(ROSTER, BRIEF)
    api.script = lambda asked: error(401, "authentication_error")
    refused()
    assert caplog.records
    assert KEY not in caplog.text


def test_the_environment_chooses_the_model(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLOSEDSET_MODEL", "claude-sonnet-5")
    monkeypatch.setenv("CLOSEDSET_MODEL_TIMEOUT_S", "2.5")
    monkeypatch.setenv("CLOSEDSET_MODEL_RETRIES", "0")
    assert Messages.of_environment() == Messages("claude-sonnet-5", 2.5, 0)
    compile_brief(ROSTER, BRIEF)
    assert api.requests[0]["model"] == "claude-sonnet-5"
    for wrong in ("soon", "-1", "1e99", "NaN", "[]"):
        monkeypatch.setenv("CLOSEDSET_MODEL_TIMEOUT_S", wrong)
        with pytest.raises(closedset.CompileUnavailable, match="CLOSEDSET_MODEL_TIMEOUT_S"):
            Messages.of_environment()


@pytest.mark.parametrize(
    ("usage", "cost"),
    [
        ({"service_tier": "priority"}, None),
        ({"speed": "fast"}, None),
        ({"cache_creation": {"ephemeral_1h_input_tokens": 5, "ephemeral_5m_input_tokens": 0}}, None),
        ({"cache_creation": {"ephemeral_1h_input_tokens": 0, "ephemeral_5m_input_tokens": 9}}, 0.000135),
        ({"service_tier": "standard", "speed": "standard"}, 0.000135),
    ],
)
def test_what_is_not_billed_at_the_list_price_has_no_known_cost(api: Api, usage: Any, cost: float | None) -> None:
    whole = message(tool_use({"constraints": [VP]}))
    api.script = lambda asked: Answer({**whole, "usage": {**whole["usage"], **usage}})
    said = compile_brief(ROSTER, BRIEF).usage_said
    assert said is not None
    assert said["cost_usd"] == cost
    assert said["output_tokens"] == 210


def test_an_unknown_model_has_no_known_price(api: Api) -> None:
    api.script = lambda asked: Answer(message(tool_use({"constraints": [VP]}), model="claude-next-9"))
    said = compile_brief(ROSTER, BRIEF).usage_said
    assert said is not None
    assert (said["cost_usd"], said["cost_basis"]) == (None, None)


def test_importing_closedset_or_its_briefs_loads_no_sdk() -> None:
    code = "import sys, closedset, closedset.brief; print([m for m in ('anthropic', 'httpx2', 'sentencex') if m in sys.modules])"
    path = os.pathsep.join([str(Path(closedset.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    run = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "[]"


def test_without_the_sdk_the_reason_says_how_to_get_it(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "anthropic", None)
    assert "pip install 'closedset[brief]'" in refused()
