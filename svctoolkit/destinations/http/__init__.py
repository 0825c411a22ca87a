"""HTTP Webhook: a request that its configuration describes, for people who want no Python.

`propertiesMapping`, `queryParams` and `headers` are rows of `from` (a path into the event, or a constant) and `to` (a
path in the body, or the name of a parameter or header); `pathParams` are added to the URL in their order. A value that
the event does not have leaves its row out, but a missing path parameter refuses the event: the URL would be another.
`isDefaultMapping` sends the event itself as the body; so does a configuration that has neither it nor any rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from svctoolkit.destinations import DestinationType, Method, Payload, Settings
from svctoolkit.destinations.http._paths import NOTHING, Many, Name, Place, Value
from svctoolkit.errors import MappingError
from svctoolkit.events import Event
from svctoolkit.mapping import basic_auth, in_url, text, xml_text
from svctoolkit.secrets import Secret

_CONTENT_TYPES = {
    "JSON": "application/json",
    "XML": "application/xml",
    "FORM": "application/x-www-form-urlencoded",
}
_NEEDS = {
    "basicAuth": ("username", "username"),
    "bearerTokenAuth": ("bearer_token", "bearerToken"),
    "apiKeyAuth": ("api_key_value", "apiKeyValue"),
}


class BodyRow(msgspec.Struct, frozen=True, rename={"from_": "from"}):
    """A value of the body."""

    from_: Value = Value("")
    to: Place = Place("")


class NameRow(msgspec.Struct, frozen=True, rename={"from_": "from"}):
    """A header or a query parameter."""

    from_: Value = Value("")
    to: Name = Name("")


class PathRow(msgspec.Struct, frozen=True):
    """One part of the URL's path."""

    path: Value


class HttpSettings(Settings, frozen=True, kw_only=True):
    api_url: str
    auth: Literal["noAuth", "basicAuth", "bearerTokenAuth", "apiKeyAuth"] = "noAuth"
    username: str = ""
    password: Secret = Secret("")
    bearer_token: Secret = Secret("")
    api_key_name: str = "x-api-key"
    api_key_value: Secret = Secret("")
    method: Method = "POST"
    format: Literal["JSON", "XML", "FORM"] = "JSON"
    xml_root_key: str = "root"
    is_default_mapping: bool | None = None
    properties_mapping: tuple[BodyRow, ...] = ()
    query_params: tuple[NameRow, ...] = ()
    headers: tuple[NameRow, ...] = ()
    path_params: tuple[PathRow, ...] = ()

    def __post_init__(self) -> None:
        field, variable = _NEEDS.get(self.auth, ("auth", "auth"))
        if not getattr(self, field):
            raise ValueError(f"{variable}: is required, because auth is {self.auth}")
        for row in self.path_params:
            if row.path.steps is None and "/" in str(row.path.constant):
                raise ValueError(f"pathParams: {row.path.written!r} has a slash; each part of the path is its own row")


destination = DestinationType(
    "HTTP Webhook", HttpSettings, docs="https://www.rudderstack.com/docs/destinations/http-webhook/setup-guide/"
)


@destination.on()
def send_event(event: Event, settings: HttpSettings) -> Payload:
    """One request, as configured. GET and DELETE have no body."""
    form = settings.format if settings.method not in ("GET", "DELETE") else None
    body = _body(event, settings) if form else {}
    return Payload(
        endpoint=_endpoint(event, settings),
        method=settings.method,
        headers=_headers(event, settings),
        params=_object(event, settings.query_params),
        json=_without_nulls(body) if form == "JSON" else None,
        form={key: text(value) for key, value in body.items()} if form == "FORM" else None,
        xml=_xml(settings.xml_root_key, body) if form == "XML" and body else None,
    )


def _body(event: Event, settings: HttpSettings) -> dict[str, Any]:
    if settings.is_default_mapping or (settings.is_default_mapping is None and not settings.properties_mapping):
        return dict(event.raw)
    return _object(event, settings.properties_mapping)


def _object(event: Event, rows: Sequence[BodyRow | NameRow]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for row in rows:
        if row.from_.written and row.to.written:
            row.to.put(out, row.from_.of(event.raw))
    return out


def _endpoint(event: Event, settings: HttpSettings) -> str:
    if not settings.path_params:
        return settings.api_url
    address, mark, query = settings.api_url.partition("?")
    parts = [in_url(_part(event, row.path)) for row in settings.path_params if row.path.written]
    return "/".join([address.rstrip("/"), *parts]) + mark + query


def _part(event: Event, path: Value) -> str:
    value = path.of(event.raw)
    if value is NOTHING or value is None or value == "":
        raise MappingError(f"pathParams: needs a value at {path.written}", field=path.written)
    if isinstance(value, dict | list | Many):
        raise MappingError(f"pathParams: {path.written} has several values, a path takes one", field=path.written)
    return text(value)


def _headers(event: Event, settings: HttpSettings) -> dict[str, str]:
    headers = {"Content-Type": _CONTENT_TYPES[settings.format], **_authentication(settings)}
    for name, value in _object(event, settings.headers).items():
        if isinstance(value, dict | list):
            kind = "object" if isinstance(value, dict) else "list"
            raise MappingError(f'header "{name}" takes a text, and this event has {kind} {text(value)[:60]}')
        if value is not None:
            headers[name] = text(value)
    return headers


def _authentication(settings: HttpSettings) -> dict[str, str]:
    if settings.auth == "basicAuth":
        return {"Authorization": basic_auth(settings.username, settings.password.reveal())}
    if settings.auth == "bearerTokenAuth":
        return {"Authorization": f"Bearer {settings.bearer_token.reveal()}"}
    if settings.auth == "apiKeyAuth":
        return {settings.api_key_name: settings.api_key_value.reveal()}
    return {}


def _without_nulls(value: Any) -> Any:
    """Members that are null are left out of a JSON body; elements of lists keep their places."""
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


def _xml(root: str, body: dict[str, Any]) -> str:
    try:
        return xml_text(root, body)
    except ValueError as error:
        raise MappingError(f"the body is no XML: {error}") from error
