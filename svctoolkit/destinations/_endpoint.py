"""`Endpoint`: the address, headers and credentials of a destination type's requests, declared once.

    API = Endpoint("https://api.harbor.example/v2", bearer("api_key"), JSON)

    @destination.on("track")
    def send_visit(event: Event, settings: HarborSettings) -> Payload:
        return API.post(settings, "visits", VISIT(event))

The arguments after the address are headers and query parameters, in the order in which they are sent. `{name}` in the
address, a header or a parameter is replaced by the attribute `name` of the settings; secrets are revealed.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Mapping
from itertools import count
from typing import Any, Literal, NamedTuple, TypeAlias

from msgspec import structs

from svctoolkit.destinations._context import Context
from svctoolkit.destinations._payload import Method, Payload
from svctoolkit.destinations._settings import Settings
from svctoolkit.errors import did_you_mean
from svctoolkit.json_types import Json
from svctoolkit.mapping import Misconfigured, basic_auth
from svctoolkit.secrets import Secret

_NUMBERS = count()  # not id(): ids are reused after an endpoint is deleted
_NO_MEMBERS: Mapping[str, Any] = {}
_PLACE = re.compile(r"\{(\w+)\}")
#: A string with `{name}` placeholders for attributes of the settings, or a function that returns the text for settings.
Value: TypeAlias = "str | Callable[[Any], str]"
_Common: TypeAlias = tuple[str, Mapping[str, Any], Mapping[str, Any]]
BodyForm: TypeAlias = Literal["json", "json_array", "form", "xml"]


class Header(NamedTuple):
    """A header of every request."""

    name: str
    value: Value


class Param(NamedTuple):
    """A query parameter of every request."""

    name: str
    value: Value


JSON = Header("Content-Type", "application/json")
FORM = Header("Content-Type", "application/x-www-form-urlencoded")
ACCEPT_JSON = Header("Accept", "application/json")


# Any: each type has its own settings class
def by_setting(name: str, texts: Mapping[str, str]) -> Callable[[Any], str]:
    """Choose one of `texts` by the attribute `name` of the settings, such as the address of a region.

    An event for settings with another value is refused (`Misconfigured`).
    """

    def choose(settings: Settings) -> str:
        chosen = _attribute(settings, name)
        if chosen not in texts:
            raise Misconfigured(_variable(settings, name), f"expected one of {', '.join(texts)}, got {chosen!r}")
        return texts[chosen]

    return choose


def authorization(scheme: str, name: str) -> Header:
    """`Authorization: <scheme> <setting>`: `authorization("Token", "api_key")`."""
    return Header("Authorization", f"{scheme} {{{name}}}")


def bearer(name: str) -> Header:
    """`Authorization: Bearer <setting>`."""
    return authorization("Bearer", name)


def basic(user: str, password: str = "") -> Header:
    """`Authorization: Basic ...` with one setting as the user, and another as the password (empty by default)."""
    return Header(
        "Authorization", lambda settings: basic_auth(_read(settings, user), password and _read(settings, password))
    )


def basic_key(name: str) -> Header:
    """`Authorization: Basic ...` with a key alone, without the colon that separates a user from a password."""

    def value(settings: Settings) -> str:
        return f"Basic {b64encode(_read(settings, name).encode('utf-8', 'replace')).decode()}"

    return Header("Authorization", value)


class Token(NamedTuple):
    """A header with an OAuth token of the destination's connected account."""

    token: str
    name: str = "Authorization"
    value: str = ""  # known only when the request is created


def oauth(name: str = "access_token") -> Token:
    """`Authorization: Bearer <token>` with the account's OAuth token; requests need the `context` of the handler."""
    return Token(name)


def _read(settings: Settings, name: str) -> str:
    value = _attribute(settings, name)
    return value.reveal() if isinstance(value, Secret) else value if isinstance(value, str) else str(value)


# Any: each setting has its own type
def _attribute(settings: Settings, name: str) -> Any:
    try:
        return getattr(settings, name)
    except AttributeError:
        hint = did_you_mean(name, type(settings).__struct_fields__)
        text = f"the endpoint names {name!r}, which {type(settings).__name__} does not have.{hint}"
        raise AttributeError(text) from None


def _variable(settings: Settings, name: str) -> str:
    """What an attribute is called in a configuration."""
    encoded = {field.name: field.encode_name for field in structs.fields(settings)}
    return encoded.get(name, name)


def _fill(value: Value, settings: Settings) -> str:
    if isinstance(value, str) and (whole := _PLACE.fullmatch(value)):
        return _read(settings, whole[1])
    return _PLACE.sub(lambda place: _read(settings, place[1]), value) if isinstance(value, str) else value(settings)


class Endpoint:
    """The address of a destination's API, with the headers and parameters that all requests have in common.

    `base` is the address. `body` is the format of the bodies; by default a form if `FORM` is among the parts, else
    JSON. Headers and parameters are resolved once per settings object.
    """

    def __init__(self, base: Value, *parts: Header | Param | Token, body: BodyForm | None = None) -> None:
        self._base, self._parts = base, parts
        self._key = f"endpoint-{next(_NUMBERS)}"
        self._body: BodyForm = body or ("form" if FORM in parts else "json")
        self._token = next((part.token for part in parts if isinstance(part, Token)), "")

    def post(
        self,
        settings: Settings,
        path: str = "",
        body: Json = None,
        *,
        params: Mapping[str, Json] = _NO_MEMBERS,
        headers: Mapping[str, Json] = _NO_MEMBERS,
        context: Context | None = None,
    ) -> Payload:
        """Return a POST request to `path` below the address, with `body` in the format of this endpoint."""
        return self._payload(settings, "POST", path, body, params, headers, context)

    def put(
        self,
        settings: Settings,
        path: str = "",
        body: Json = None,
        *,
        headers: Mapping[str, Json] = _NO_MEMBERS,
        context: Context | None = None,
    ) -> Payload:
        """Return a PUT request; otherwise like `post`."""
        return self._payload(settings, "PUT", path, body, _NO_MEMBERS, headers, context)

    def get(self, settings: Settings, path: str = "", *, params: Mapping[str, Json] = _NO_MEMBERS) -> Payload:
        """Return a GET request with `params` as its query."""
        return self._payload(settings, "GET", path, None, params, _NO_MEMBERS, None)

    def request(
        self,
        settings: Settings,
        method: Method,
        path: str = "",
        body: Json = None,
        *,
        params: Mapping[str, Json] = _NO_MEMBERS,
        headers: Mapping[str, Json] = _NO_MEMBERS,
        context: Context | None = None,
    ) -> Payload:
        """Return a request; `params` and `headers` are added to those that all requests have in common.

        Raises `Misconfigured` if the endpoint needs a token of the account (`oauth`) and `context` does not have it.
        """
        return self._payload(settings, method, path, body, params, headers, context)

    def _payload(
        self,
        settings: Settings,
        method: Method,
        path: str,
        body: Json,
        params: Mapping[str, Json],
        headers: Mapping[str, Json],
        context: Context | None,
    ) -> Payload:
        # Every event comes through here, and most requests add nothing. Headers are copied all the same: what one
        # mapping changes in its payload may not reach the next one.
        url, all_headers, all_params = settings.__dict__.get(self._key) or self._common(settings)
        if self._token:
            all_headers = self._with_token(all_headers, context)
        if path:
            url = f"{url}/{path}"
        all_headers = {**all_headers, **headers} if headers else {**all_headers}
        all_params = {**all_params, **params} if params or all_params else {}
        if self._body == "json":
            return Payload(endpoint=url, method=method, headers=all_headers, params=all_params, json=body)
        content = {} if body is None else {self._body: body}
        return Payload(endpoint=url, method=method, headers=all_headers, params=all_params, **content)

    def lookup(
        self,
        settings: Settings,
        path: str = "",
        method: Method = "GET",
        body: Json = None,
        *,
        params: Mapping[str, Json] = _NO_MEMBERS,
        headers: Mapping[str, Json] = _NO_MEMBERS,
        context: Context | None = None,
    ) -> dict[str, Json]:
        """Return a lookup request that a mapping needs before it can return payloads, for `context.ask`."""
        base, own_headers, own_params = self._common(settings)
        if self._token:
            own_headers = self._with_token(own_headers, context)
        url = f"{base}/{path}" if path else base
        request: dict[str, Json] = {"method": method, "url": url, "headers": {**own_headers, **headers}}
        if query := {**own_params, **params}:
            request["params"] = query
        if body is not None:
            request["body"] = body
        return request

    def _common(self, settings: Settings) -> _Common:
        """Return the address, headers and parameters; those that depend only on the settings are cached."""
        common: _Common | None = settings.__dict__.get(self._key)
        if common is None:
            base = _fill(self._base, settings)
            headers = {part.name: _fill(part.value, settings) for part in self._parts if not isinstance(part, Param)}
            params = {part.name: _fill(part.value, settings) for part in self._parts if isinstance(part, Param)}
            common = settings.__dict__[self._key] = (base, headers, params)
        return common

    def _with_token(self, headers: Mapping[str, Any], context: Context | None) -> Mapping[str, Any]:
        return {**headers, "Authorization": f"Bearer {(context or Context()).secret(self._token)}"}
