"""Send causes of failures in a header of a Test API response.

RudderStack's specification only has a text for each failed stage. A server of svctoolkit adds the causes as data in a
header, so that clients and suites do not have to parse the text.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from msgspec import ValidationError

from svctoolkit.causes import Cause, cause_from_json, cause_to_json
from svctoolkit.results._entries import EventResult
from svctoolkit.results._model import DestinationResult

NAME = "svctoolkit-causes"
#: Names the class of the error that a rejected request is: the body has only its text.
ERROR_HEADER = "svctoolkit-error"
_MAX_SIZE = 16_000  # bytes; proxies refuse longer headers


def write_causes(result: DestinationResult | Iterable[DestinationResult]) -> dict[str, str]:
    """Return the header for a result; empty if no event failed, or if it would be too long."""
    results = [result] if isinstance(result, DestinationResult) else result
    causes = {
        result.destination_id: {
            str(n): cause_to_json(cause) for n, e in enumerate(result.data) if (cause := _cause(e)) is not None
        }
        for result in results
    }
    causes = {id: entries for id, entries in causes.items() if entries}
    text = json.dumps(causes, separators=(",", ":")) if causes else ""
    return {NAME: text} if text and len(text) <= _MAX_SIZE else {}


def _cause(entry: EventResult) -> Cause | None:
    """Return why an event failed, if the response does not show it: a status that is not 2xx does."""
    judged = zip(entry.statuses, entry.judgements, strict=False)
    return entry.cause or next((found.cause for status, found in judged if found.cause and 200 <= status < 300), None)


def read_causes(headers: Mapping[str, str]) -> dict[str, dict[int, Cause]]:
    """Return the causes by destination id and index in `data`; empty if the header is missing or invalid."""
    if NAME not in headers:
        return {}
    try:
        causes = json.loads(headers[NAME])
        return {id: {int(n): cause_from_json(cause) for n, cause in of.items()} for id, of in causes.items()}
    except (ValueError, AttributeError, TypeError, ValidationError):
        return {}
