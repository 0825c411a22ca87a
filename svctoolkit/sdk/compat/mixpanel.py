"""Mixpanel's tracker for Python, with this client's queue: `from svctoolkit.sdk.compat import mixpanel`.

The token is the write key; `Consumer(api_host=...)`, or SVCTOOLKIT_DATA_PLANE_URL, is the data plane. Profile updates
other than `people_set` are an identify with the update under Mixpanel's name: `{"$add": {"visits": 1}}`.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence

from svctoolkit.errors import ToolkitError
from svctoolkit.sdk.client import ServiceClient
from svctoolkit.sdk.compat.service import LONGEST_FLUSH, Values, details, started

#: What programs catch. Network errors are never raised: events wait in the queue.
MixpanelException = ToolkitError
_Id = str | int
_Lists = Mapping[str, Sequence[object]]


class Consumer:
    """Where events go: `api_host` is the data plane, with or without `https://`."""

    def __init__(self, *, api_host: str | None = None) -> None:
        self.url = api_host if api_host is None or "://" in api_host else f"https://{api_host}"
        self._services: list[ServiceClient] = []

    def serve(self, service: ServiceClient) -> None:
        """Remember a client that `flush` sends the events of."""
        self._services.append(service)

    def flush(self) -> None:
        """Send the waiting events of every `Mixpanel` object with this consumer."""
        for service in self._services:
            service.flush(LONGEST_FLUSH)


class BufferedConsumer(Consumer):
    """`max_size` is the number of events in a request, at most 100."""

    def __init__(self, max_size: int = 50, *, api_host: str | None = None) -> None:
        super().__init__(api_host=api_host)
        self.max_size = min(max(1, max_size), 100)


class Mixpanel:
    """Each call names its user; nothing is remembered. Events are on disk when a call returns."""

    def __init__(self, token: str, consumer: Consumer | None = None) -> None:
        consumer = consumer or Consumer()
        size = consumer.max_size if isinstance(consumer, BufferedConsumer) else 100
        self.service = started(token, consumer.url, flush_queue_size=size)
        consumer.serve(self.service)

    def track(
        self, distinct_id: _Id, event_name: str, properties: Values | None = None, meta: Values | None = None
    ) -> None:
        """Record an action. Of the properties, `time` (seconds) is its time and `$insert_id` its message ID."""
        members = {**(properties or {}), **_properties(meta)}
        at, id = members.pop("time", None), members.pop("$insert_id", None)
        given = details(user=distinct_id, at=at if isinstance(at, int | float | dt.datetime) else None, id=id)
        self.service.record("track", event_name, members, **given)

    def import_data(
        self,
        api_key: str,
        distinct_id: _Id,
        event_name: str,
        timestamp: float,
        properties: Values | None = None,
        meta: Values | None = None,
        api_secret: str | None = None,
    ) -> None:
        """Record an action that happened at `timestamp` (seconds). The token authenticates it; keys are ignored."""
        del api_key, api_secret
        self.track(distinct_id, event_name, {**(properties or {}), "time": timestamp}, meta)

    def alias(self, alias_id: _Id, original: _Id, meta: Values | None = None) -> None:
        """Give the user `original` a second ID."""
        del meta
        self.service.record("alias", str(alias_id), None, **details(user=original))

    def merge(
        self,
        api_key: str,
        distinct_id1: _Id,
        distinct_id2: _Id,
        meta: Values | None = None,
        api_secret: str | None = None,
    ) -> None:
        """Record that two IDs are the same user."""
        del api_key, api_secret
        self.alias(distinct_id2, distinct_id1, meta)

    def people_set(self, distinct_id: _Id, properties: Values, meta: Values | None = None) -> None:
        """Set a user's traits."""
        self.people_update({"$distinct_id": distinct_id, "$set": properties}, meta)

    def people_set_once(self, distinct_id: _Id, properties: Values, meta: Values | None = None) -> None:
        """Set those of a user's traits that have no value yet."""
        self.people_update({"$distinct_id": distinct_id, "$set_once": properties}, meta)

    def people_increment(self, distinct_id: _Id, properties: Mapping[str, float], meta: Values | None = None) -> None:
        """Add numbers to a user's traits."""
        self.people_update({"$distinct_id": distinct_id, "$add": properties}, meta)

    def people_append(self, distinct_id: _Id, properties: Values, meta: Values | None = None) -> None:
        """Append a value to each of a user's list traits."""
        self.people_update({"$distinct_id": distinct_id, "$append": properties}, meta)

    def people_union(self, distinct_id: _Id, properties: _Lists, meta: Values | None = None) -> None:
        """Add the values that a user's list traits do not have yet."""
        self.people_update({"$distinct_id": distinct_id, "$union": properties}, meta)

    def people_remove(self, distinct_id: _Id, properties: Values, meta: Values | None = None) -> None:
        """Remove a value from each of a user's list traits."""
        self.people_update({"$distinct_id": distinct_id, "$remove": properties}, meta)

    def people_unset(self, distinct_id: _Id, properties: Sequence[str], meta: Values | None = None) -> None:
        """Remove traits of a user, by name."""
        self.people_update({"$distinct_id": distinct_id, "$unset": properties}, meta)

    def people_delete(self, distinct_id: _Id, meta: Values | None = None) -> None:
        """Delete a user's profile."""
        self.people_update({"$distinct_id": distinct_id, "$delete": ""}, meta)

    def people_track_charge(
        self, distinct_id: _Id, amount: float, properties: Values | None = None, meta: Values | None = None
    ) -> None:
        """Append a charge to a user's transactions."""
        self.people_append(distinct_id, {"$transactions": {**(properties or {}), "$amount": amount}}, meta)

    def people_clear_charges(self, distinct_id: _Id, meta: Values | None = None) -> None:
        """Remove a user's transactions."""
        self.people_unset(distinct_id, ["$transactions"], meta)

    def people_update(self, message: Values, meta: Values | None = None) -> None:
        """Update a profile with a message of Mixpanel's form: `$distinct_id` and one or more operations."""
        rest = {name: value for name, value in message.items() if name not in ("$distinct_id", "$set", "$token")}
        traits = {**_mapping(message.get("$set")), **rest, **_properties(meta)}
        user = str(message.get("$distinct_id", ""))
        self.service.record("identify", user, traits)

    def group_set(self, group_key: str, group_id: _Id, properties: Values, meta: Values | None = None) -> None:
        """Set a group's traits."""
        self.group_update({"$group_key": group_key, "$group_id": group_id, "$set": properties}, meta)

    def group_set_once(self, group_key: str, group_id: _Id, properties: Values, meta: Values | None = None) -> None:
        """Set those of a group's traits that have no value yet."""
        self.group_update({"$group_key": group_key, "$group_id": group_id, "$set_once": properties}, meta)

    def group_union(self, group_key: str, group_id: _Id, properties: _Lists, meta: Values | None = None) -> None:
        """Add the values that a group's list traits do not have yet."""
        self.group_update({"$group_key": group_key, "$group_id": group_id, "$union": properties}, meta)

    def group_remove(self, group_key: str, group_id: _Id, properties: Values, meta: Values | None = None) -> None:
        """Remove a value from each of a group's list traits."""
        self.group_update({"$group_key": group_key, "$group_id": group_id, "$remove": properties}, meta)

    def group_unset(self, group_key: str, group_id: _Id, properties: Sequence[str], meta: Values | None = None) -> None:
        """Remove traits of a group, by name."""
        self.group_update({"$group_key": group_key, "$group_id": group_id, "$unset": properties}, meta)

    def group_delete(self, group_key: str, group_id: _Id, meta: Values | None = None) -> None:
        """Delete a group's profile."""
        self.group_update({"$group_key": group_key, "$group_id": group_id, "$delete": ""}, meta)

    def group_update(self, message: Values, meta: Values | None = None) -> None:
        """Update a group with a message of Mixpanel's form. The event belongs to no user: its anonymous ID is made of
        the group's key and ID."""
        names = ("$group_key", "$group_id", "$set", "$token")
        rest = {name: value for name, value in message.items() if name not in names}
        key, group = str(message.get("$group_key", "")), str(message.get("$group_id", ""))
        traits = {"groupType": key, **_mapping(message.get("$set")), **rest, **_properties(meta)}
        self.service.record("group", group, traits, **details(anonymous=f"${key}_{group}"))


def _mapping(value: object) -> Values:
    return value if isinstance(value, Mapping) else {}


def _properties(meta: Values | None) -> dict[str, object]:
    """Return what `meta` adds to an event. Mixpanel's own switches (`$ignore_time`...) mean nothing here."""
    return {name: value for name, value in (meta or {}).items() if not name.startswith("$")}
