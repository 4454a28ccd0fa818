"""A local server that speaks the Messages API over real HTTP: what a test says it answers, and what it was asked.

Every request is held to what the service itself would refuse: its headers, the tool's schema, the forced choice.
"""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from jsonschema import Draft202012Validator

KEY = "sk-ant-test-0123456789abcdef"


@dataclass
class Answer:
    """What the server answers: a status, headers and a body (a dict as JSON, bytes as they are)."""

    body: dict[str, Any] | bytes
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    delay_s: float = 0.0


Script = Callable[[dict[str, Any]], Answer]


@dataclass
class Api:
    """A running server: its address, the requests it took, and the script that answers them."""

    url: str
    script: Script
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


def message(*content: dict[str, Any], stop_reason: str = "tool_use", **more: Any) -> dict[str, Any]:
    """A whole message of the API."""
    usage = {
        "input_tokens": 40, "output_tokens": 210, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 2600,
    }  # fmt: skip
    return {
        "id": "msg_01", "type": "message", "role": "assistant", "model": "claude-haiku-5-5", "content": list(content),
        "stop_reason": stop_reason, "stop_sequence": None, "usage": usage, **more,
    }  # fmt: skip


def tool_use(said: object, name: str = "compile_search_brief", id: str = "toolu_01") -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": name, "input": said}


def error(status: int, type: str, text: str = "no") -> Answer:
    """An error of the API; retried at once where the SDK retries it."""
    body = {"type": "error", "error": {"type": type, "message": text}, "request_id": "req_1"}
    return Answer(body, status, {"retry-after-ms": "1"})


@contextmanager
def serving(script: Script) -> Iterator[Api]:
    """Serve on a free port of the loopback interface until the test is over."""
    api = Api("", script)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(api))
    server.daemon_threads = True
    api.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield api
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _handler(api: Api) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers["content-length"]))
            asked = json.loads(raw)
            api.requests.append(asked)
            api.headers.append({k.lower(): v for k, v in self.headers.items()})
            api.faults += _faults(self.path, api.headers[-1], asked)
            answer = api.script(asked)
            if answer.delay_s:
                threading.Event().wait(answer.delay_s)
            body, kind = _body(answer, bool(asked.get("stream")))
            self.send_response(answer.status)
            for name, value in {"content-type": kind, "request-id": "req_1", **answer.headers}.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

        def handle(self) -> None:
            with suppress(BrokenPipeError, ConnectionResetError):
                super().handle()

    return Handler


def _body(answer: Answer, streamed: bool) -> tuple[bytes, str]:
    if isinstance(answer.body, bytes):
        return answer.body, "application/json"
    if streamed and answer.status == 200:
        return events(answer.body), "text/event-stream"
    return json.dumps(answer.body).encode(), "application/json"


def events(whole: dict[str, Any]) -> bytes:
    """The same message as the server-sent events of a stream, tool input in pieces."""
    said: list[dict[str, Any]] = []
    start = {**whole, "content": [], "stop_reason": None, "usage": {**whole["usage"], "output_tokens": 1}}
    said.append({"type": "message_start", "message": start})
    for index, block in enumerate(whole["content"]):
        called = block["type"] == "tool_use"
        first = {**block, "input": {}} if called else {**block, "text": ""}
        said.append({"type": "content_block_start", "index": index, "content_block": first})
        text = json.dumps(block["input"]) if called else block.get("text", "")
        for at in range(0, len(text), 50_000 if len(text) > 100_000 else 17):
            size = 50_000 if len(text) > 100_000 else 17
            kind = {"type": "input_json_delta", "partial_json": text[at : at + size]}
            delta = kind if called else {"type": "text_delta", "text": text[at : at + size]}
            said.append({"type": "content_block_delta", "index": index, "delta": delta})
        said.append({"type": "content_block_stop", "index": index})
    ending = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    usage = {"output_tokens": whole["usage"]["output_tokens"]}
    said += [{"type": "message_delta", "delta": ending, "usage": usage}, {"type": "message_stop"}]
    return b"".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n".encode() for e in said)


@cache
def _check_schema(schema: str) -> None:
    Draft202012Validator.check_schema(json.loads(schema))


def _faults(path: str, headers: dict[str, str], asked: dict[str, Any]) -> list[str]:
    """What the service would refuse in a request."""
    faults = [] if path == "/v1/messages" else [f"path {path}"]
    if headers.get("authorization") != f"Bearer {KEY}" and headers.get("x-api-key") != KEY:
        faults.append("no key")
    if not headers.get("anthropic-version"):
        faults.append("no version")
    if any(name in asked for name in ("temperature", "top_p", "top_k")):
        faults.append("sampling parameters are refused")
    for tool in asked["tools"]:
        _check_schema(json.dumps(tool["input_schema"]))
        if tool["input_schema"].get("type") != "object":
            faults.append("a tool's schema is an object")
    forced = asked["tool_choice"]["type"] == "tool"
    if forced and asked["tool_choice"]["name"] not in [tool["name"] for tool in asked["tools"]]:
        faults.append("the forced tool is not offered")
    if forced and asked.get("thinking", {}).get("type") != "disabled":
        faults.append("a forced tool leaves no room to think")
    if not any("cache_control" in block for block in [*asked["system"], *asked["tools"]]):
        faults.append("nothing is cached")
    return faults
