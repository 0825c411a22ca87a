"""`python -m tests.trace [scripted]`: every function that one event runs through, from HTTP to the recorder and back.

The data plane is warm, and the destination is a webhook answered by the recorder; if its answers are `scripted`, it
has a lane. Several events are traced, one after the other, and the one with the fewest functions is printed: on a busy
machine a timer can fire meanwhile. The output is JSON, in the order in which the functions were entered: file relative
to the package, qualified name, thread. Lambdas, comprehensions and generator expressions are left out: they count as
part of their function.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from http.client import HTTPResponse
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple
from urllib.parse import urlsplit

ROOT = Path(__file__).parent.parent
PACKAGE = f"{ROOT / 'svctoolkit'}/"
WORKSPACE = """
sources: {web: {writeKey: wk, destinations: [hook]}}
destinations: {hook: {type: WEBHOOK, config: {webhookUrl: "https://hook.example/in", webhookMethod: POST}}}
"""
FIRST = ("server/web/connections.py", "TimedProtocol.data_received")
ROUTED = ("server/worker/router.py", "Router._route")
LAST = ("server/worker/journal.py", "Journal.deliver")
SENT = ("delivery/recorder/recorder.py", "Recorder.record"), ("delivery/recorder/recorder.py", "Recorder.exchange")
REPLY, TIMERS = ".sending", "server/worker/timers.py"
WARM, TRACED = 3, 8


class Call(NamedTuple):
    """A function call."""

    file: str
    function: str
    thread: str


def trace(*options: str) -> list[Call]:
    """The functions that a separate process has run for one event."""
    run = subprocess.run(
        [sys.executable, "-m", "tests.trace", *options],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return [Call(*call) for call in json.loads(run.stdout)]


def from_request(calls: list[Call]) -> list[Call]:
    """The calls since the request: what came before belongs to the event before."""
    return calls[next((i for i, call in enumerate(calls) if call[:2] == FIRST), len(calls)) :]


def until_sent(calls: list[Call]) -> list[Call]:
    """The calls until the recorder has the request, on the event's threads; those of the event loop until it replies.

    When the reply is sent depends on the machine: before or after the recorder has the request. On a slow machine,
    timers check the event and start further workers meanwhile, and are set again after the event before it. None of
    this is part of the event's path.
    """
    sent = 1 + next(i for i, call in enumerate(calls) if call[:2] in SENT)
    router = next(call.thread for call in calls if call[:2] == ROUTED)
    loop, others = calls[0].thread, {router, calls[sent - 1].thread}
    replied = next(i for i, call in enumerate(calls) if call.thread == loop and call.function.endswith(REPLY))
    ends = {loop: replied} | dict.fromkeys(others, sent)
    return [call for i, call in enumerate(calls) if i < ends.get(call.thread, 0) and call.file != TIMERS]


def _post(connection: socket.socket, event: dict[str, str]) -> int:
    """Send an event, and return the status of the answer.

    Head and body are one segment: with two, the number of functions depends on when the body arrives.
    """
    body = json.dumps(event).encode()
    head = (
        "POST /v1/track HTTP/1.1",
        f"Host: 127.0.0.1:{connection.getpeername()[1]}",
        "Authorization: Basic d2s6",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
    )
    connection.sendall("\r\n".join((*head, "", "")).encode() + body)
    response = HTTPResponse(connection)
    response.begin()
    response.read()
    return response.status


def main() -> None:
    calls: list[Call] = []
    recording = threading.Event()

    def note(frame: FrameType, kind: str, _: Any) -> None:
        code = frame.f_code
        if kind == "call" and recording.is_set() and code.co_filename.startswith(PACKAGE) and code.co_name[-1] != ">":
            file = code.co_filename.removeprefix(PACKAGE)
            thread = threading.current_thread()
            calls.append(Call(file, code.co_qualname, f"{thread.name} ({thread.ident})"))

    threading.setprofile(note)  # for later threads: all those of the data plane

    from svctoolkit import DataPlane, Workspace
    from svctoolkit.delivery import Answer

    with (
        DataPlane(Workspace.loads(WORKSPACE)) as plane,
        socket.create_connection(("127.0.0.1", urlsplit(plane.url).port or 0), timeout=60) as connection,
    ):
        if "scripted" in sys.argv:
            plane.script("hook", Answer(200))
        traces: list[list[Call]] = []
        for number in range(WARM + TRACED):
            if number >= WARM:
                recording.set()
            event = {"event": "Signed Up", "userId": f"u{number}", "messageId": f"m{number}"}
            assert _post(connection, event) == 200
            plane.wait(lambda sent=number + 1: len([f for f in plane.fates if f.status == "delivered"]) == sent)
            if number >= WARM:
                # The fate is stored, and then the journal is notified.
                plane.wait(lambda: any(call[:2] == LAST for call in from_request(calls)))
                recording.clear()
                traces.append(from_request(calls))
                calls.clear()
    print(json.dumps(min(traces, key=lambda calls: len(until_sent(calls)))))


if __name__ == "__main__":
    main()
