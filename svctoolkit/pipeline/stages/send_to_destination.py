"""Payload in, the destination's answer out: the only stage that touches a network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from svctoolkit.delivery import Delivered, Sender
from svctoolkit.json_types import Json


def run(payloads: Sequence[Mapping[str, Json]], sender: Sender) -> list[Delivered]:
    """The payloads are sent one after another; a failure is an answer like any other."""
    return [sender.send(payload) for payload in payloads]
