"""The gateway's final answer to the sender of a webhook."""

from __future__ import annotations

from collections.abc import Sequence

from svctoolkit.errors import InvalidWebhook
from svctoolkit.json_types import Json
from svctoolkit.mapping import text
from svctoolkit.sources._define import PLAIN_TEXT, Answer, Handled

#: The gateway's answer to a webhook whose events are stored.
OK = Answer(200, "ok")
#: The answer to a GET request of a type that does not take it: nothing happens.
IGNORED = Answer(200, "")


def check_events(events: Sequence[Json]) -> None:
    """Raise `InvalidWebhook` unless the gateway accepts these events: all of a webhook are refused together."""
    if not events:
        raise InvalidWebhook("empty batch payload")
    for event in events:
        if not isinstance(event, dict):
            raise InvalidWebhook("event is not a valid rudder event")
        if not (_is_id(event.get("anonymousId")) or _is_id(event.get("userId"))):
            raise InvalidWebhook("request neither has anonymousId nor userId", field="userId")


def _is_id(value: Json) -> bool:
    """An id counts unless its text is blank. Numbers count."""
    return value is not None and text(value).strip() != ""


def refusal(error: InvalidWebhook) -> Answer:
    """Return the gateway's answer to a webhook that was refused."""
    return Answer(error.status, f"{error}\n", PLAIN_TEXT)


def accepted(handled: Handled) -> Answer:
    """Return the answer to a webhook that is handled. Raises `InvalidWebhook` if the gateway refuses its events."""
    if handled.answer is not None:
        return handled.answer
    check_events(handled.events)
    return OK
