"""Poll a real service until it has received what was sent: `live: {within, every, verify}`."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from msgspec.structs import replace

from svctoolkit.delivery import HttpRequest, Transport, live
from svctoolkit.delivery.view import json_or_text
from svctoolkit.errors import DeliveryError
from svctoolkit.expect.compare import differences
from svctoolkit.expect.difference import Difference
from svctoolkit.json_types import Json
from svctoolkit.runner.suite.model import Live

_MOST = 30.0  # seconds to wait for one response


def poll(
    live_check: Live,
    captured: Mapping[str, Json],
    *,
    hide: Callable[[str], str] = str,
    transport: Transport | None = None,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> list[Difference]:
    """Return the differences that remain when the time is up; an empty list as soon as the response matches.

    A response that `fail_when` matches ends the polling. The places of the differences are those under `live` in the
    suite. `hide` masks secrets in texts.
    """
    verify = live_check.variables.extend(captured).apply(live_check.verify)
    expected = {"status": 200, **{k: verify[k] for k in ("status", "body") if k in verify}}
    send = transport or live.transport_for((), loopback=True)
    deadline = clock() + live_check.within
    while True:
        answer = _ask(send, verify, max(0.1, min(_MOST, deadline - clock())))
        differing = differences(expected, answer, hide=hide)
        if not differing:
            return []
        bad = verify.get("fail_when")
        if bad and not differences(bad, answer):
            ended = Difference(("fail_when",), ("verify",), "no match", f"a response that matches: {answer}")
            return [_move_under_live(ended.shorten(hide))]
        if clock() + live_check.every > deadline:
            return [_move_under_live(replace(d, got=f"{d.got} after {live_check.within:g} s")) for d in differing]
        sleep(live_check.every)


def _ask(send: Transport, verify: Mapping[str, Any], timeout: float) -> dict[str, Any]:
    try:
        answer = send(HttpRequest("GET", verify["get"], verify.get("headers", {})), timeout=timeout)
    except DeliveryError as error:
        return {"status": 0, "body": str(error)}
    return {"status": answer.status, "body": json_or_text(answer.body)}


def _move_under_live(difference: Difference) -> Difference:
    """Return the difference with its place under `live`, which is next to `expect` rather than in it."""
    return replace(difference, expectation=("..", "live", "verify", *difference.expectation))
