"""Close CRM: changes of leads, opportunities, and other objects."""

from __future__ import annotations

import calendar
from datetime import UTC, datetime, timedelta

from svctoolkit.json_types import Json
from svctoolkit.mapping import without_nulls
from svctoolkit.sources import INVALID_DATE, SourceType, Webhook, crash, get, js_text, message, moment_ms, rest, truthy

source = SourceType(
    "close_crm",
    "Close CRM",
    label="CloseCRM",
    docs="https://developer.close.com/topics/webhooks/",
    topic="body.event.object_type",
    quirks=(
        "originalTimestamp has the day of the week in place of the day of the month: `2019-01-TuT12:48:23.395+00:00`.",
        "The user is the lead. An event without a lead gets a new anonymousId.",
    ),
)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DROPPED = frozenset({"previous_data", "changed_fields"})


@source.maps
def map_change(webhook: Webhook) -> dict[str, Json]:
    """Return one track event."""
    change = get(webhook.body, "event")
    if change is None:
        raise crash("Cannot read properties of undefined (reading 'object_type')", "body.event")
    event = message("CloseCRM")
    parts = (js_text(change.get(key), "null" if key in change else "undefined") for key in ("object_type", "action"))
    event["event"] = " ".join(parts) if isinstance(change, dict) else "undefined undefined"
    if truthy(lead := get(change, "lead_id")):
        event["userId"] = lead
    else:
        event["anonymousId"] = webhook.random()
    if (number := get(change, "id")) is not None:
        event["messageId"] = number
    event["originalTimestamp"] = _updated(change, webhook)
    event["properties"] = properties = without_nulls(rest(change, _DROPPED))
    if isinstance(webhook.body, dict) and "subscription_id" in webhook.body:
        properties["subscription_id"] = webhook.body["subscription_id"]
    return event


def _updated(change: Json, webhook: Webhook) -> str:
    """The time of the change with the weekday in place of the day, which is now for a change without a time."""
    if not isinstance(change, dict) or "date_updated" not in change:
        return _with_weekday(webhook.now)
    value = change["date_updated"]
    milliseconds = moment_ms(value, webhook.now)
    try:
        return INVALID_DATE if milliseconds is None else _with_weekday(_EPOCH + timedelta(milliseconds=milliseconds))
    except OverflowError:
        return INVALID_DATE


def _with_weekday(when: datetime) -> str:
    weekday = calendar.day_abbr[when.weekday()][:2]
    return f"{when:%Y-%m}-{weekday}T{when:%H:%M:%S}.{when.microsecond // 1000:03d}+00:00"
