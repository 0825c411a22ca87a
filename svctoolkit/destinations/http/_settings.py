"""Settings of HTTP Webhook."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from svctoolkit.destinations import Method, Settings
from svctoolkit.destinations._families.json_paths import BodyRow, Name, Value
from svctoolkit.secrets import Secret

_NEEDS = {
    "noAuth": (),
    "basicAuth": (("username", "username"),),
    "bearerTokenAuth": (("bearer_token", "bearerToken"),),
    "apiKeyAuth": (("api_key_name", "apiKeyName"), ("api_key_value", "apiKeyValue")),
}


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
    api_key_name: str = ""
    api_key_value: Secret = Secret("")
    method: Method = "POST"
    format: Literal["JSON", "XML", "FORM"] = "JSON"
    xml_root_key: str = "root"
    is_default_mapping: bool = False
    properties_mapping: tuple[BodyRow, ...] = ()
    query_params: tuple[NameRow, ...] = ()
    headers: tuple[NameRow, ...] = ()
    path_params: tuple[PathRow, ...] = ()
    is_batching_enabled: bool = False
    max_batch_size: Annotated[int, msgspec.Meta(ge=1)] = 1

    def __post_init__(self) -> None:
        for field, variable in _NEEDS[self.auth]:
            if not getattr(self, field):
                raise ValueError(f"{variable}: is required, because auth is {self.auth}")
        for row in self.path_params:
            if row.path.steps is None and "/" in str(row.path.constant):
                raise ValueError(f"pathParams: {row.path.written!r} has a slash; each part of the path is its own row")
