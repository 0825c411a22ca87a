"""Causes of failures beside an answer of the Test API.

The specified answer has a text for each failed stage and nothing else. A server of svctoolkit gives the causes as data
in a header next to it, so that clients and suites need not read the text.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from msgspec import ValidationError

from svctoolkit.causes import Cause, cause_from_json, cause_to_json
from svctoolkit.results._model import DestinationResult

NAME = "svctoolkit-causes"
_MAX_SIZE = 16_000  # bytes; servers in between refuse longer headers


def write_causes(result: DestinationResult | Iterable[DestinationResult]) -> dict[str, str]:
    """The header for a result; nothing where no event failed, or where it would be too long."""
    results = [result] if isinstance(result, DestinationResult) else result
    causes = {
        result.destination_id: {
            str(n): cause_to_json(e.cause) for n, e in enumerate(result.data) if e.cause is not None
        }
        for result in results
    }
    causes = {id: entries for id, entries in causes.items() if entries}
    text = json.dumps(causes, separators=(",", ":")) if causes else ""
    return {NAME: text} if text and len(text) <= _MAX_SIZE else {}


def read_causes(headers: Mapping[str, str]) -> dict[str, dict[int, Cause]]:
    """The causes by destination id and place in `data`; empty without the header, and for one that is damaged."""
    try:
        causes = json.loads(headers.get(NAME, "{}"))
        return {id: {int(n): cause_from_json(cause) for n, cause in of.items()} for id, of in causes.items()}
    except (ValueError, AttributeError, TypeError, ValidationError):
        return {}
