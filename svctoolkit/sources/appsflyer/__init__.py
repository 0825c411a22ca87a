"""AppsFlyer: push messages about installs and in-app events."""

from __future__ import annotations

from svctoolkit.errors import InvalidWebhook
from svctoolkit.json_types import Json
from svctoolkit.sources import FieldTable, SourceType, Webhook, get, js_text, member, message, put, rest, truthy

source = SourceType(
    "appsflyer",
    "AppsFlyer",
    label="AF",
    docs="https://support.appsflyer.com/hc/en-us/articles/207034356-Push-API",
    topic="body.event_name",
    quirks=(
        "The external id has the member `value` in place of `id`.",
        "Each event gets a new anonymousId, also with a customer_user_id.",
        "Times are passed on as they are, without a time zone.",
    ),
)

_FIELDS = FieldTable(
    {
        "customer_user_id": ("userId", "context.traits.userId"),
        "event_time": ("timestamp", "originalTimestamp"),
        "platform": ("platform", "context.os.name"),
        "city": ("context.traits.address.city", "traits.address.city"),
        "postal_code": ("context.traits.address.zip", "traits.address.zip"),
        "country_code": ("context.traits.address.country", "traits.address.country"),
        "ip": "context.ip",
        "selected_timezone": "context.timezone",
        "user_agent": "context.userAgent",
        "bundle_id": "context.app.namespace",
        "app_version": "context.app.version",
        "app_name": "context.app.name",
        "device_type": "context.device.model",
        "wifi": "context.network.wifi",
        "carrier": "context.network.carrier",
        "os_version": "context.os.version",
    }
)
_ADVERTISING = frozenset({"idfa", "android_id"})
_TAKEN = _FIELDS.roots | _ADVERTISING
_TAKEN_WITH_ID = _TAKEN | {"appsflyer_id"}
_APPLE = frozenset({"ios", "watchos", "ipados", "tvos"})


@source.maps
def map_push(webhook: Webhook) -> dict[str, Json]:
    """Return one track event."""
    body = webhook.body
    name = member(body, "event_name")
    if not truthy(name):
        raise InvalidWebhook("Unknown event type from Appsflyer", field="body.event_name")
    event = message("AF")
    event["event"] = name
    _FIELDS.fill(event, body)
    platform = get(body, "platform")
    if truthy(platform):
        system = js_text(platform).lower()
        advertising = get(body, "idfa" if system in _APPLE else "android_id" if system == "android" else "")
        if truthy(advertising):
            put(event, ("context", "device", "advertisingId"), advertising)
            put(event, ("context", "device", "adTrackingEnabled"), True)
    if truthy(get(body, "appsflyer_id")):
        event["context"]["externalId"] = [{"type": "appsflyerExternalId", "value": body["appsflyer_id"]}]
        taken = _TAKEN_WITH_ID if truthy(platform) else _FIELDS.roots | {"appsflyer_id"}
    else:
        taken = _TAKEN if truthy(platform) else _FIELDS.roots
    event["properties"] = rest(body, taken)
    event["anonymousId"] = webhook.random()
    return event
