"""Send payloads and return the destination's responses: the only stage that uses the network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from svctoolkit.delivery import Delivered, Sender
from svctoolkit.json_types import Json


def run(payloads: Sequence[Mapping[str, Json]], sender: Sender) -> list[Delivered]:
    """Send the payloads one after another. A failure is returned as a result, not raised."""
    return [sender.send(payload) for payload in payloads]
