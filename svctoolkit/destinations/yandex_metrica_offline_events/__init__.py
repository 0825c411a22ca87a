"""Yandex Metrica: offline conversions that reverse ETL reads from a warehouse.

Only identify is sent: its traits become a line of the conversions file, with the visitor identified by the row's
`identifierType` in `context.externalId` (ClientId, YCLID or UserId).
https://yandex.com/support/metrica/data/offline-conversion-data.html

The payload has no endpoint, because RudderStack writes the lines to a file and uploads it.
"""

from __future__ import annotations

from typing import Any

from svctoolkit.destinations import Answer, DestinationType, Payload, Settings
from svctoolkit.events import Event
from svctoolkit.mapping import TIME_EXAMPLE, Misfit, Missing, external_ids, js_join, moment


class YandexMetricaSettings(Settings, frozen=True, kw_only=True):
    pass


destination = DestinationType(
    "Yandex Metrica Offline Events",
    YandexMetricaSettings,
    docs="https://yandex.com/support/metrica/data/offline-conversion-data.html",
    quirks=[
        "The payload has no endpoint: conversions are collected in a file that is uploaded to the counter.",
        "A numeric `DateTime` is sent unchanged, even if it is not a valid time.",
    ],
    answers=[
        Answer("success", 200, {"uploading": {"id": 1, "status": "UPLOADED", "source_quantity": 1}}),
        Answer("bad key", 403, {"errors": [{"error_type": "access_denied", "message": "Access is denied"}]}),
        Answer("rate limit", 429, {"errors": [{"error_type": "quota_requests_by_uid", "message": "Quota exceeded"}]}),
        Answer("invalid field", 400, {"errors": [{"error_type": "invalid_parameter", "message": "Wrong file"}]}),
    ],
)

#: names of the identifiers in the file
COLUMNS = {"ClientId": "ClientId", "YCLID": "Yclid", "UserId": "UserId"}


@destination.on("identify")
def send_conversion(event: Event, _settings: YandexMetricaSettings) -> Payload:
    """Return the line for the conversion."""
    if not isinstance(event.raw.get("traits"), dict):
        raise Missing("traits", wants="the conversion")
    row = next(iter(external_ids(event)), None)
    column = COLUMNS.get(row.field) if row else None
    if row is None or column is None:
        raise Missing("context.externalId.identifierType", wants="one of ClientId, YCLID, UserId")
    price = event.traits.get("Price")
    if price is not None and (isinstance(price, bool) or not isinstance(price, (int, float))):
        raise Misfit("traits.Price", "a number", price)
    when = _unix_time(event.traits.get("DateTime"))
    return Payload(endpoint="", json={**event.traits, "DateTime": when, column: js_join(row.id)})


def _unix_time(value: Any) -> str:
    """Return Unix seconds as a string."""
    if value is None or value == "":
        raise Missing("traits.DateTime")
    if isinstance(value, (int, float)) or (isinstance(value, str) and value.strip().isdecimal()):
        return js_join(value)
    when = moment(value)
    if when is None:
        raise Misfit("traits.DateTime", TIME_EXAMPLE, value)
    return str(int(when.timestamp()))
