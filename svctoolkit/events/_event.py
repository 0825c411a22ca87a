"""The event inside the pipeline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, get_args

import msgspec

from svctoolkit.displayed import Displayed
from svctoolkit.json_types import Json

EventType = Literal["identify", "track", "page", "screen", "group", "alias"]
EVENT_TYPES: tuple[str, ...] = get_args(EventType)
#: the type of warehouse records. No SDK sends them, and only a few destination types map them.
RECORD: Final = "record"

#: Allowed first segments of paths in a mapping, so that `propertis.revenue` fails when the mapping is defined.
ROOTS = frozenset({
    "type", "event", "name", "userId", "anonymousId", "groupId", "previousId", "messageId", "category", "channel",
    "context", "properties", "traits", "integrations", "timestamp", "originalTimestamp", "sentAt", "receivedAt",
    "request_ip", "rudderId", "version",
})  # fmt: skip
_NOTHING: Mapping[str, Any] = {}


class Event(msgspec.Struct, Displayed, frozen=True):
    """A read-only view of one event. `raw` must not be changed: build a new event instead."""

    raw: Mapping[str, Any]

    @property
    def type(self) -> str:
        """The type, trimmed and in lower case, as RudderStack compares it."""
        kind = self.raw.get("type")
        return kind if kind in EVENT_TYPES else str(kind or "").strip().lower()

    @property
    def name(self) -> str:
        """The name of a track event; the name of a page or screen; else empty."""
        return str(self.raw.get("event") or self.raw.get("name") or "")

    @property
    def id(self) -> str:
        return str(self.raw.get("messageId") or "")

    @property
    def context(self) -> Mapping[str, Json]:
        value = self.raw.get("context")
        return value if type(value) is dict else _object(value)

    @property
    def properties(self) -> Mapping[str, Json]:
        value = self.raw.get("properties")
        return value if type(value) is dict else _object(value)

    @property
    def traits(self) -> Mapping[str, Json]:
        """`traits`, else `context.traits` (clients put them in either place)."""
        value = self.raw.get("traits")
        return value if value and type(value) is dict else _object(value) or _object(self.context.get("traits"))


# the properties above test for a dict first: mappings read them several times per event, and a call costs as much
def _object(value: Any) -> Mapping[str, Any]:
    if type(value) is dict or value is None:  # fast path: `isinstance` with an abstract class is slow
        return value or _NOTHING
    return value if isinstance(value, Mapping) else _NOTHING
