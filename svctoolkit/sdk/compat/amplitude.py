"""Amplitude's SDK for Python, with this client's queue: `from svctoolkit.sdk.compat.amplitude import Amplitude`.

The API key is the write key; `Config(server_url=...)`, or SVCTOOLKIT_DATA_PLANE_URL, is the data plane. Plugins and
callbacks are not part of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import TypeAlias

from svctoolkit.sdk.compat.service import LONGEST_FLUSH, Values, details, started
from svctoolkit.sdk.events.details import CallDetails

_Value: TypeAlias = int | float | str | bool | list[object] | dict[str, object]
#: Members of an event, and where they are in `context`.
_CONTEXT = {
    "app_version": ("app", "version"),
    "platform": ("device", "type"),
    "os_name": ("os", "name"),
    "os_version": ("os", "version"),
    "device_brand": ("device", "brand"),
    "device_manufacturer": ("device", "manufacturer"),
    "device_model": ("device", "model"),
    "carrier": ("network", "carrier"),
    "country": ("location", "country"),
    "region": ("location", "region"),
    "city": ("location", "city"),
    "location_lat": ("location", "latitude"),
    "location_lng": ("location", "longitude"),
    "dma": ("location", "dma"),
    "language": ("locale", ""),
    "user_agent": ("userAgent", ""),
    "ip": ("ip", ""),
    "idfa": ("device", "advertisingId"),
    "adid": ("device", "advertisingId"),
    "idfv": ("device", "id"),
    "android_id": ("device", "id"),
    "event_id": ("eventId", ""),
    "partner_id": ("partnerId", ""),
    "session_id": ("sessionId", ""),
}
_PRODUCT = {"price": "price", "quantity": "quantity", "revenue": "revenue", "product_id": "product_id",
            "revenue_type": "revenueType", "currency": "currency"}  # fmt: skip


@dataclass
class Config:
    """The settings of a client. `flush_queue_size` is the number of events in a request, at most 100."""

    api_key: str | None = None
    flush_queue_size: int = 100
    flush_interval_millis: int = 10_000
    server_url: str | None = None
    opt_out: bool = False


@dataclass
class EventOptions:
    """Whose an event is, when it happened (milliseconds since 1970), and what is known about the user's device."""

    user_id: str | None = None
    device_id: str | None = None
    time: int | None = None
    app_version: str | None = None
    platform: str | None = None
    os_name: str | None = None
    os_version: str | None = None
    device_brand: str | None = None
    device_manufacturer: str | None = None
    device_model: str | None = None
    carrier: str | None = None
    country: str | None = None
    region: str | None = None
    city: str | None = None
    language: str | None = None
    price: float | None = None
    quantity: int | None = None
    revenue: float | None = None
    product_id: str | None = None
    revenue_type: str | None = None
    currency: str | None = None
    location_lat: float | None = None
    location_lng: float | None = None
    ip: str | None = None
    idfa: str | None = None
    adid: str | None = None
    idfv: str | None = None
    android_id: str | None = None
    dma: str | None = None
    user_agent: str | None = None
    event_id: int | None = None
    partner_id: str | None = None
    insert_id: str | None = None
    session_id: int | None = None


@dataclass
class _Named:
    event_type: str


@dataclass
class BaseEvent(EventOptions, _Named):
    """An event: its name first, then the members of `EventOptions` by keyword."""

    event_properties: dict[str, object] | None = None
    user_properties: dict[str, object] | None = None
    groups: dict[str, str | list[str]] | None = None


@dataclass
class Identify:
    """Changes of a user's or a group's properties."""

    user_properties: dict[str, dict[str, object]] = field(default_factory=dict)

    def set(self, key: str, value: _Value) -> Identify:
        return self._change("$set", key, value)

    def set_once(self, key: str, value: _Value) -> Identify:
        """Set the property if it has no value yet."""
        return self._change("$setOnce", key, value)

    def add(self, key: str, value: float) -> Identify:
        """Add to a number."""
        return self._change("$add", key, value)

    def append(self, key: str, value: _Value) -> Identify:
        """Append to a list."""
        return self._change("$append", key, value)

    def prepend(self, key: str, value: _Value) -> Identify:
        """Insert at the beginning of a list."""
        return self._change("$prepend", key, value)

    def pre_insert(self, key: str, value: _Value) -> Identify:
        """Insert at the beginning of a list, unless the value is in it."""
        return self._change("$preInsert", key, value)

    def post_insert(self, key: str, value: _Value) -> Identify:
        """Append to a list, unless the value is in it."""
        return self._change("$postInsert", key, value)

    def remove(self, key: str, value: _Value) -> Identify:
        """Remove from a list."""
        return self._change("$remove", key, value)

    def unset(self, key: str) -> Identify:
        return self._change("$unset", key, "-")

    def clear_all(self) -> Identify:
        self.user_properties = {"$clearAll": {}}
        return self

    def traits(self) -> dict[str, object]:
        """Return what was set as traits, and the other changes under Amplitude's names for them."""
        others = {name: values for name, values in self.user_properties.items() if name != "$set"}
        return {**self.user_properties.get("$set", {}), **others}

    def _change(self, operation: str, key: str, value: object) -> Identify:
        self.user_properties.setdefault(operation, {})[key] = value
        return self


@dataclass
class Revenue:
    """A purchase."""

    price: float
    quantity: int = 1
    product_id: str | None = None
    revenue_type: str | None = None
    receipt: str | None = None
    receipt_sig: str | None = None
    properties: dict[str, object] | None = None
    revenue: float | None = None
    currency: str | None = None

    def set_receipt(self, receipt: str, receipt_signature: str) -> Revenue:
        self.receipt, self.receipt_sig = receipt, receipt_signature
        return self


class Amplitude:
    """Each event names its user; nothing is remembered. Wrong arguments are logged, not raised."""

    def __init__(self, api_key: str, configuration: Config | None = None) -> None:
        self.configuration = configuration or Config()
        self.service = started(
            api_key,
            self.configuration.server_url,
            flush_queue_size=min(max(1, self.configuration.flush_queue_size), 100),
            sleep_timeout=max(1, round(self.configuration.flush_interval_millis / 1000)),
        )

    def track(self, event: BaseEvent) -> None:
        """Record an event. Its `user_properties` are traits of this event's context."""
        properties = {**(event.event_properties or {})}
        for member, name in _PRODUCT.items():
            if (value := getattr(event, member)) is not None:
                properties.setdefault(name, value)
        more: dict[str, object] = {}
        if event.user_properties:
            more["traits"] = event.user_properties
        if event.groups:
            more["groups"] = event.groups
        if not self.configuration.opt_out:
            self.service.record("track", event.event_type, properties, **_details(event, more))

    def identify(
        self, identify_obj: Identify, event_options: EventOptions, event_properties: Values | None = None
    ) -> None:
        """Change a user's traits."""
        del event_properties  # of the event "$identify", which only Amplitude has
        given = _details(event_options, {})
        user = given.pop("user_id", "")
        if not self.configuration.opt_out:
            self.service.record("identify", user, identify_obj.traits(), **given)

    def group_identify(
        self, group_type: str, group_name: str, identify_obj: Identify, event_options: EventOptions | None = None
    ) -> None:
        """Change a group's traits. Without a user, the anonymous ID is made of the group's type and name."""
        options = event_options or EventOptions()
        given = _details(options, {})
        if not options.user_id and not options.device_id:
            given["anonymous_id"] = f"${group_type}_{group_name}"
        if not self.configuration.opt_out:
            self.service.record("group", group_name, {"groupType": group_type, **identify_obj.traits()}, **given)

    def set_group(self, group_type: str, group_name: str | Sequence[str], event_options: EventOptions) -> None:
        """Add a user to one or more groups."""
        for name in [group_name] if isinstance(group_name, str) else group_name:
            if not self.configuration.opt_out:
                given = _details(event_options, {})
                self.service.record("group", name, {"groupType": group_type}, **given)

    def revenue(self, revenue_obj: Revenue, event_options: EventOptions) -> None:
        """Record a purchase: the event `revenue_amount`, with price, quantity and product."""
        total = revenue_obj.revenue if revenue_obj.revenue is not None else revenue_obj.price * revenue_obj.quantity
        properties: dict[str, object] = {**(revenue_obj.properties or {}), "revenue": total}
        for member, name in {**_PRODUCT, "receipt": "receipt", "receipt_sig": "receiptSig"}.items():
            if (value := getattr(revenue_obj, member)) is not None:
                properties[name] = value
        options = {option.name: getattr(event_options, option.name) for option in fields(EventOptions)}
        self.track(BaseEvent("revenue_amount", **options, event_properties=properties))

    def flush(self) -> None:
        """Send waiting events, and wait until they are delivered, at most ten minutes."""
        self.service.flush(LONGEST_FLUSH)

    def shutdown(self) -> None:
        """Send waiting events, and end the client's threads."""
        self.service.shutdown(LONGEST_FLUSH)


def _details(options: EventOptions, more: Values) -> CallDetails:
    context: dict[str, object] = dict(more)
    for member, (name, inner) in _CONTEXT.items():
        value = getattr(options, member)
        if value is None:
            continue
        if not inner:
            context[name] = value
        elif isinstance(part := context.setdefault(name, {}), dict):
            part[inner] = value
    at = None if options.time is None else options.time / 1000
    return details(user=options.user_id, anonymous=options.device_id, at=at, id=options.insert_id, context=context)
