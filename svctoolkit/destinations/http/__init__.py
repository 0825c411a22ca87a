"""HTTP Webhook: a request described by the configuration, without any Python.

`propertiesMapping`, `queryParams` and `headers` are rows of `from` (a path into the event, or a constant) and `to` (a
path in the body, or the name of a parameter or header); `pathParams` are appended to the URL in order. A row is skipped
if its value is missing or null; an object whose rows are all skipped is sent empty. A missing path parameter rejects
the event, because the URL would be a different one. A path parameter that is an object, or several values of `[*]`, is
rejected too. `isDefaultMapping` sends the event itself as the body. GET and DELETE requests also send their body. The
content type follows from the format, whatever the header rows say.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from svctoolkit.destinations import DestinationType, Payload
from svctoolkit.destinations._families.json_paths import NOTHING, BodyRow, Many, Value
from svctoolkit.destinations.http._batches import batch
from svctoolkit.destinations.http._settings import HttpSettings, NameRow
from svctoolkit.events import Event
from svctoolkit.mapping import Misfit, Missing, basic_auth, in_url, js_join, text, without_nulls, xml_text

_CONTENT_TYPES = {
    "JSON": "application/json",
    "XML": "application/xml",
    "FORM": "application/x-www-form-urlencoded",
}


destination = DestinationType(
    "HTTP Webhook",
    HttpSettings,
    docs="https://www.rudderstack.com/docs/destinations/http-webhook/setup-guide/",
    differences=[
        "A header row that writes Content-Type in other letter case is ignored; RudderStack sends both headers, and "
        "either of them may arrive.",
    ],
)
destination.batch(batch, may_refuse=False)


@destination.on()
def send_event(event: Event, settings: HttpSettings) -> Payload:
    """Return one request, as configured."""
    body = (
        dict(event.raw)
        if settings.is_default_mapping
        else _object(event, settings.properties_mapping, "propertiesMapping")
    )
    body = without_nulls(body)
    return Payload(
        endpoint=_endpoint(event, settings),
        method=settings.method,
        headers=_headers(event, settings),
        params=without_nulls(_object(event, settings.query_params, "queryParams")),
        json=body if settings.format == "JSON" else None,
        form={key: text(value) for key, value in body.items()} if settings.format == "FORM" else None,
        xml=_xml(settings.xml_root_key, body) if settings.format == "XML" and body else None,
    )


def _object(event: Event, rows: Sequence[BodyRow | NameRow], setting: str) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for row in rows:
        if row.from_.written and row.to.written:
            row.to.put(out, row.from_.of(event.raw), setting)
    return out


def _endpoint(event: Event, settings: HttpSettings) -> str:
    segments = [_segment(event, row.path) for row in settings.path_params if row.path.written]
    segments = [in_url(segment) for segment in segments if segment]
    if not segments:
        return settings.api_url
    address, mark, query = settings.api_url.partition("?")
    return "/".join([address.rstrip("/"), *segments]) + mark + query


def _segment(event: Event, path: Value) -> str:
    value = path.of(event.raw)
    if value is NOTHING or value is None:
        raise Missing(path.written, setting="pathParams")
    if isinstance(value, (dict, Many)):
        raise Misfit(path.written, "a single value, because it is part of the URL path", setting="pathParams")
    return js_join(value)


def _headers(event: Event, settings: HttpSettings) -> dict[str, str]:
    for row in settings.headers:
        value = row.from_.of(event.raw) if row.from_.steps is not None else ""
        if row.to.written and value is not NOTHING and not isinstance(value, (str, type(None))):
            raise Misfit(
                row.from_.written,
                f"a string for the header {row.to.written}",
                value,
                setting="headers",
                case="header",
            )
    rows = without_nulls(_object(event, settings.headers, "headers"))
    headers = {name: text(value) for name, value in rows.items() if name.lower() != "content-type"}
    return {"Content-Type": _CONTENT_TYPES[settings.format], **_authentication(settings), **headers}


def _authentication(settings: HttpSettings) -> dict[str, str]:
    if settings.auth == "basicAuth":
        return {"Authorization": basic_auth(settings.username, settings.password.reveal())}
    if settings.auth == "bearerTokenAuth":
        return {"Authorization": f"Bearer {settings.bearer_token.reveal()}"}
    if settings.auth == "apiKeyAuth":
        return {settings.api_key_name: settings.api_key_value.reveal()}
    return {}


def _xml(root: str, body: dict[str, Any]) -> str:
    try:
        return xml_text(root, body)
    except ValueError as error:
        raise Misfit("properties", "values valid in XML", why=str(error), setting="xmlRootKey", case="xml") from error
