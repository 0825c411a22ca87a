"""Snowplow's tracker for Python, with this client's queue: `from svctoolkit.sdk.compat import snowplow`.

The endpoint is the data plane, the `app_id` the write key. Entities (`context=`) are in `context.snowplow.entities`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from svctoolkit.errors import InvalidCall
from svctoolkit.sdk.compat.service import LONGEST_FLUSH, Values, details, started

_TRACKERS: dict[str, Tracker] = {}


@dataclass
class SelfDescribingJson:
    """Data and the URI of its schema."""

    schema: str
    data: dict[str, object] | list[dict[str, object]]

    @property
    def name(self) -> str:
        """The name in the URI: `button_click` of `iglu:com.acme/button_click/jsonschema/1-0-0`."""
        parts = self.schema.removeprefix("iglu:").split("/")
        return parts[1] if len(parts) > 1 else self.schema

    def to_json(self) -> dict[str, object]:
        return {"schema": self.schema, "data": self.data}


_Entities: TypeAlias = list[SelfDescribingJson] | None


class Subject:
    """The user of events. Every setter returns the subject."""

    def __init__(self) -> None:
        self.user_id = self.anonymous_id = ""
        self.context: dict[str, object] = {}

    def set_user_id(self, user_id: str) -> Subject:
        self.user_id = user_id
        return self

    def set_domain_user_id(self, duid: str) -> Subject:
        """Set the anonymous ID."""
        self.anonymous_id = duid
        return self

    def set_network_user_id(self, nuid: str) -> Subject:
        """Set the anonymous ID, unless `set_domain_user_id` did."""
        self.anonymous_id = self.anonymous_id or nuid
        return self

    def set_ip_address(self, ip: str) -> Subject:
        return self._set("ip", ip)

    def set_useragent(self, ua: str) -> Subject:
        return self._set("userAgent", ua)

    def set_lang(self, lang: str) -> Subject:
        return self._set("locale", lang)

    def set_timezone(self, timezone: str) -> Subject:
        return self._set("timezone", timezone)

    def set_platform(self, value: Literal["pc", "tv", "mob", "cnsl", "iot", "web", "srv", "app"]) -> Subject:
        return self._set("platform", value)

    def set_screen_resolution(self, width: int, height: int) -> Subject:
        return self._set("screen", {"width": width, "height": height})

    def set_viewport(self, width: int, height: int) -> Subject:
        return self._set("viewport", {"width": width, "height": height})

    def set_color_depth(self, depth: int) -> Subject:
        return self._set("colorDepth", depth)

    def set_domain_session_id(self, sid: str) -> Subject:
        return self._set("sessionId", sid)

    def _set(self, name: str, value: object) -> Subject:
        self.context[name] = value
        return self


@dataclass(kw_only=True)
class Event:
    """What all events may have: their user, entities, and time (milliseconds since 1970)."""

    event_subject: Subject | None = None
    context: _Entities = None
    true_timestamp: float | None = None


@dataclass
class PageView(Event):
    """A page."""

    page_url: str
    page_title: str | None = None
    referrer: str | None = None


@dataclass
class PagePing(PageView):
    """A page that is still open, and how far it was scrolled."""

    min_x: int | None = None
    max_x: int | None = None
    min_y: int | None = None
    max_y: int | None = None


@dataclass
class ScreenView(Event):
    """A screen of an application."""

    id_: str
    name: str
    type: str | None = None
    previous_name: str | None = None
    previous_id: str | None = None
    previous_type: str | None = None
    transition_type: str | None = None


@dataclass
class StructuredEvent(Event):
    """An action with a category."""

    category: str
    action: str
    label: str | None = None
    property_: str | None = None
    value: float | None = None


@dataclass
class SelfDescribing(Event):
    """An event with a schema."""

    event_json: SelfDescribingJson


@dataclass
class EmitterConfiguration:
    """`batch_size` is the number of events in a request, at most 100."""

    batch_size: int | None = None


@dataclass
class Emitter:
    """Where events go: the address of the data plane."""

    endpoint: str
    protocol: Literal["http", "https"] = "https"
    port: int | None = None
    method: Literal["get", "post"] = "post"
    batch_size: int | None = None

    @property
    def url(self) -> str:
        if "://" in self.endpoint:
            return self.endpoint
        return f"{self.protocol}://{self.endpoint}" + (f":{self.port}" if self.port else "")


class Tracker:
    """Records events, each with its own subject or the tracker's. Wrong arguments are logged, not raised."""

    def __init__(
        self, namespace: str, emitters: Emitter | Sequence[Emitter], subject: Subject | None = None, app_id: str = ""
    ) -> None:
        emitter = emitters if isinstance(emitters, Emitter) else emitters[0]
        self.namespace, self.subject, self._app_id = namespace, subject, app_id
        self.service = started(app_id, emitter.url, flush_queue_size=min(max(1, emitter.batch_size or 100), 100))

    def set_subject(self, subject: Subject | None) -> Tracker:
        """Set the user of later events."""
        self.subject = subject
        return self

    def get_namespace(self) -> str:
        return self.namespace

    def track(self, event: Event) -> str | None:
        """Record an event; return its ID. Without a user, the anonymous ID is the application's."""
        kind, name, members = _members(event)
        subject = event.event_subject or self.subject or Subject()
        context = dict(subject.context)
        if event.context:
            context["snowplow"] = {"entities": [entity.to_json() for entity in event.context]}
        at = None if event.true_timestamp is None else event.true_timestamp / 1000
        anonymous = subject.anonymous_id or ("" if subject.user_id else self._app_id)
        given = details(user=subject.user_id, anonymous=anonymous, at=at, context=context)
        return self.service.record(kind, name, members, **given) or None

    def track_page_view(
        self,
        page_url: str,
        page_title: str | None = None,
        referrer: str | None = None,
        context: _Entities = None,
        tstamp: float | None = None,
        event_subject: Subject | None = None,
    ) -> Tracker:
        """Record a page."""
        return self._track(PageView(page_url, page_title, referrer), context, tstamp, event_subject)

    def track_screen_view(
        self,
        name: str | None = None,
        id_: str | None = None,
        context: _Entities = None,
        tstamp: float | None = None,
        event_subject: Subject | None = None,
    ) -> Tracker:
        """Record a screen."""
        return self._track(ScreenView(id_ or "", name or ""), context, tstamp, event_subject)

    def track_struct_event(
        self,
        category: str,
        action: str,
        label: str | None = None,
        property_: str | None = None,
        value: float | None = None,
        context: _Entities = None,
        tstamp: float | None = None,
        event_subject: Subject | None = None,
    ) -> Tracker:
        """Record an action with a category."""
        event = StructuredEvent(category, action, label, property_, value)
        return self._track(event, context, tstamp, event_subject)

    def track_self_describing_event(
        self,
        event_json: SelfDescribingJson,
        context: _Entities = None,
        tstamp: float | None = None,
        event_subject: Subject | None = None,
    ) -> Tracker:
        """Record an event with a schema."""
        return self._track(SelfDescribing(event_json), context, tstamp, event_subject)

    track_unstruct_event = track_self_describing_event

    def flush(self, is_async: bool = False) -> Tracker:
        """Send waiting events, and wait until they are delivered, at most ten minutes; `is_async`: do not wait."""
        self.service.flush(0 if is_async else LONGEST_FLUSH)
        return self

    def _track(self, event: Event, context: _Entities, tstamp: float | None, event_subject: Subject | None) -> Tracker:
        event.context, event.true_timestamp, event.event_subject = context, tstamp, event_subject
        self.track(event)
        return self


class Snowplow:
    """The trackers of this process, by namespace."""

    @staticmethod
    def create_tracker(
        namespace: str,
        endpoint: str,
        method: Literal["get", "post"] = "post",
        app_id: str = "",
        subject: Subject | None = None,
        emitter_config: EmitterConfiguration | None = None,
    ) -> Tracker:
        """Return a new tracker, which `get_tracker` finds."""
        size = emitter_config.batch_size if emitter_config is not None else None
        emitter = Emitter(endpoint, method=method, batch_size=size)
        return Snowplow.add_tracker(Tracker(namespace, emitter, subject, app_id))

    @staticmethod
    def add_tracker(tracker: Tracker) -> Tracker:
        _TRACKERS[tracker.namespace] = tracker
        return tracker

    @staticmethod
    def get_tracker(namespace: str) -> Tracker | None:
        return _TRACKERS.get(namespace)

    @staticmethod
    def remove_tracker(tracker: Tracker) -> None:
        Snowplow.remove_tracker_by_namespace(tracker.namespace)

    @staticmethod
    def remove_tracker_by_namespace(namespace: str) -> None:
        _TRACKERS.pop(namespace, None)

    @staticmethod
    def reset() -> None:
        """Remove all trackers."""
        _TRACKERS.clear()


def _members(event: Event) -> tuple[Literal["page", "screen", "track"], str, Values]:
    """Return the kind of the call, its name and its properties."""
    found: Mapping[str, object]
    if isinstance(event, PageView):
        found = {"url": event.page_url, "title": event.page_title, "referrer": event.referrer}
        if isinstance(event, PagePing):
            found = {**found, "minX": event.min_x, "maxX": event.max_x, "minY": event.min_y, "maxY": event.max_y}
            return "track", "page_ping", _given(found)
        return "page", event.page_title or "", _given(found)
    if isinstance(event, ScreenView):
        previous = {"previousName": event.previous_name, "previousId": event.previous_id}
        found = {"id": event.id_ or None, "type": event.type, **previous, "previousType": event.previous_type}
        return "screen", event.name, _given({**found, "transitionType": event.transition_type})
    if isinstance(event, StructuredEvent):
        found = {"category": event.category, "label": event.label, "property": event.property_, "value": event.value}
        return "track", event.action, _given(found)
    if isinstance(event, SelfDescribing):
        data = event.event_json.data
        return "track", event.event_json.name, data if isinstance(data, dict) else {"data": data}
    raise InvalidCall(f"track: not an event of this tracker: {type(event).__name__}")


def _given(values: Values) -> Values:
    return {name: value for name, value in values.items() if value is not None}
