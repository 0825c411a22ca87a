"""Where a destination type sends its requests: the address, the headers and the credentials, declared once.

    API = Endpoint("https://api.harbor.example/v2", bearer("api_key"), JSON)

    @destination.on("track")
    def send_visit(event: Event, settings: HarborSettings) -> Payload:
        return API.post(settings, "visits", VISIT(event))

The parts after the address are headers and query parameters, in the order in which they are sent. Credentials are
named by the attribute of the settings that holds them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import count
from typing import Any, Literal, NamedTuple, TypeAlias

from svctoolkit.destinations._payload import Method, Payload
from svctoolkit.destinations._settings import Settings
from svctoolkit.json_types import Json
from svctoolkit.mapping import basic_auth
from svctoolkit.secrets import Secret

_NUMBERS = count()  # an id() may come again for another endpoint
_NO_MEMBERS: Mapping[str, Any] = {}
#: A text that is always the same, or one that is made of the settings.
Value: TypeAlias = "str | Callable[[Any], str]"
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


# Any: each type has settings of its own class
def setting(name: str) -> Callable[[Any], str]:
    """The text of an attribute of the settings; a secret is revealed."""

    def read(settings: Settings) -> str:
        value = getattr(settings, name)
        return value.reveal() if isinstance(value, Secret) else str(value)

    return read


def authorization(scheme: str, name: str) -> Header:
    """`Authorization: <scheme> <setting>`: `authorization("Token", "api_key")`."""
    read = setting(name)
    return Header("Authorization", lambda settings: f"{scheme} {read(settings)}")


def bearer(name: str) -> Header:
    """`Authorization: Bearer <setting>`."""
    return authorization("Bearer", name)


def basic(user: str, password: str = "") -> Header:
    """`Authorization: Basic ...` of one setting as the user, and another as the password (empty by default)."""
    read_user, read_password = setting(user), setting(password) if password else _empty
    return Header("Authorization", lambda settings: basic_auth(read_user(settings), read_password(settings)))


def _empty(_settings: Settings) -> str:
    return ""


class Endpoint:
    """The address of a destination's API, with what every request to it has in common.

    `base` is the address, or a function that makes it of the settings. `body` is the form of the bodies; without it, a
    form where `FORM` is among the parts, else JSON. What depends on the settings alone is made once for each settings.
    """

    def __init__(self, base: Value, *parts: Header | Param, body: BodyForm | None = None) -> None:
        self._base, self._parts = base, parts
        self._key = f"endpoint-{next(_NUMBERS)}"
        self._body: BodyForm = body or ("form" if FORM in parts else "json")

    def post(
        self, settings: Settings, path: str = "", body: Json = None, *, params: Mapping[str, Json] = _NO_MEMBERS
    ) -> Payload:
        """A POST request to `path` below the address, with `body` in the form of this endpoint."""
        return self.request(settings, "POST", path, body, params=params)

    def put(self, settings: Settings, path: str = "", body: Json = None) -> Payload:
        """A PUT request, as `post`."""
        return self.request(settings, "PUT", path, body)

    def get(self, settings: Settings, path: str = "", *, params: Mapping[str, Json] = _NO_MEMBERS) -> Payload:
        """A GET request with `params` as its query."""
        return self.request(settings, "GET", path, params=params)

    def request(
        self,
        settings: Settings,
        method: Method,
        path: str = "",
        body: Json = None,
        *,
        params: Mapping[str, Json] = _NO_MEMBERS,
        headers: Mapping[str, Json] = _NO_MEMBERS,
    ) -> Payload:
        """A request; `params` and `headers` are added to those that all requests have in common."""
        base, own_headers, own_params = self._common(settings)
        return Payload(
            endpoint=f"{base}/{path}" if path else base,
            method=method,
            headers={**own_headers, **headers},
            params={**own_params, **params},
            **({} if body is None else {self._body: body}),
        )

    def lookup(self, settings: Settings, path: str = "", method: Method = "GET", body: Json = None) -> dict[str, Json]:
        """A request that a mapping asks before it can answer: for `context.ask`."""
        base, headers, params = self._common(settings)
        request: dict[str, Json] = {"method": method, "url": f"{base}/{path}" if path else base, "headers": {**headers}}
        if params:
            request["params"] = {**params}
        if body is not None:
            request["body"] = body
        return request

    def _common(self, settings: Settings) -> tuple[str, dict[str, str], dict[str, str]]:
        """The address, the headers and the parameters, made once for each settings."""
        common = settings.__dict__.get(self._key)
        if common is None:
            base = self._base if isinstance(self._base, str) else self._base(settings)
            texts = [
                (part, part.value if isinstance(part.value, str) else part.value(settings)) for part in self._parts
            ]
            headers = {part.name: text for part, text in texts if isinstance(part, Header)}
            params = {part.name: text for part, text in texts if isinstance(part, Param)}
            common = settings.__dict__[self._key] = (base, headers, params)
        return common
