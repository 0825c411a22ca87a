"""A payload: one HTTP request in the service's format."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import msgspec

from svctoolkit.json_types import Json

Method: TypeAlias = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]


class Payload(msgspec.Struct, frozen=True, kw_only=True):
    """One HTTP request in the service's format. At most one of `json`, `json_array`, `xml` and `form` is given.

    `json` is an object and may hold nulls, which are sent. A body that is a list goes into `json_array`; the service
    has no other place for it.
    """

    endpoint: str
    method: Method = "POST"
    headers: Mapping[str, Any] = {}
    params: Mapping[str, Any] = {}
    json: Mapping[str, Any] | None = None
    json_array: list[Any] | None = None
    xml: str | None = None
    form: Mapping[str, Any] | None = None

    def to_dict(self) -> dict[str, Json]:
        """The specified members (Test API specification, element of `dest_transformed_payload`)."""
        batch = {} if self.json_array is None else {"batch": msgspec.json.encode(self.json_array).decode()}
        return {
            "version": "1",
            "type": "REST",
            "method": self.method,
            "endpoint": self.endpoint,
            "headers": dict(self.headers),
            "params": dict(self.params),
            "body": {
                "JSON": dict(self.json or {}),
                "JSON_ARRAY": batch,
                "XML": {} if self.xml is None else {"payload": self.xml},
                "FORM": dict(self.form or {}),
            },
            "files": {},
        }
