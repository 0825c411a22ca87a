"""Details that a call may add to one event: timestamp, user, context, message ID."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from typing import NamedTuple, TypedDict

from svctoolkit.errors import EventError, InvalidCall, did_you_mean
from svctoolkit.sdk.base.values import event_json, text
from svctoolkit.sdk.events.options import Options, checked_integrations

_LATEST = 1e11  # in seconds; larger values must be milliseconds by mistake


class UserDetails(TypedDict, total=False):
    """Keywords of `identify`, which has a separate argument for the user."""

    #: when the event happened: a datetime (without a zone: local time), ISO 8601, or seconds since 1970
    timestamp: dt.datetime | str | float
    #: the event's ID, instead of a random one: events with the same ID are deduplicated
    message_id: str
    #: members that are added to the event's `context`
    context: Mapping[str, object]
    anonymous_id: str
    #: as `options["integrations"]`; may contain a destination's own settings instead of true
    integrations: Mapping[str, object]


class CallDetails(UserDetails, total=False):
    """Keywords of every other call. With `user_id` or `anonymous_id` the event belongs to that user, and does not use
    the installation's identity: for servers."""

    user_id: str


class Details(NamedTuple):
    """Checked details. Empty means not given; `context` is JSON."""

    at: float | None = None
    message_id: str = ""
    context: str = ""
    anonymous_id: str = ""
    user_id: str = ""

    @property
    def names_user(self) -> bool:
        return bool(self.anonymous_id or self.user_id)


NO_DETAILS = Details()


def checked_details(
    call: str, given: Mapping[str, object], options: Options, refuse: Callable[[EventError], None]
) -> tuple[Details, Options]:
    """Return the checked details, and the options with the details' integrations. Raises `InvalidCall`."""
    values = {name: value for name, value in given.items() if value is not None}
    for name in values.keys() - CallDetails.__annotations__.keys():
        raise InvalidCall(f"{call}: there is no argument {name!r}.{did_you_mean(name, CallDetails.__annotations__)}")
    context = values.get("context", {})
    if not isinstance(context, Mapping):
        raise InvalidCall(f"{call}: context must be a mapping, got {type(context).__name__}")
    if "integrations" in values:
        integrations = checked_integrations(call, "integrations", values["integrations"], objects=True)
        options = options._replace(integrations=integrations)
    at = _seconds(call, values["timestamp"]) if "timestamp" in values else None
    texts = {
        name: text(call, name, values[name]) for name in ("message_id", "anonymous_id", "user_id") if name in values
    }
    return Details(at, context=event_json(context, "context", refuse) if context else "", **texts), options


def _seconds(call: str, value: object) -> float:
    try:
        if isinstance(value, str):
            value = dt.datetime.fromisoformat(value)
        if isinstance(value, dt.datetime):
            return value.timestamp()
        if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < _LATEST:
            return float(value)
    except (ValueError, OverflowError, OSError):
        pass
    raise InvalidCall(f"{call}: timestamp must be a datetime, ISO 8601, or seconds since 1970")
