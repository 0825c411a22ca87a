"""`Payload`: one HTTP request in RudderStack's format."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import msgspec

from svctoolkit.json_codec import encode
from svctoolkit.json_types import Json

Method: TypeAlias = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]


class Payload(msgspec.Struct, frozen=True, kw_only=True):
    """One HTTP request in RudderStack's format. At most one of `json`, `json_array`, `xml` and `form` is set.

    `json` is an object and may contain nulls, which are sent. A body that is a list goes into `json_array`, the only
    member for it in RudderStack's format.
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
        """Return the specified members (Test API specification, element of `dest_transformed_payload`)."""
        batch = {} if self.json_array is None else {"batch": encode(self.json_array).decode()}
        # `dict(empty)` takes three times as long as `{}`, and most payloads have several empty members; `{**x}` copies
        # faster than `dict(x)`
        return {
            "version": "1",
            "type": "REST",
            "method": self.method,
            "endpoint": self.endpoint,
            "headers": {**self.headers} if self.headers else {},
            "params": {**self.params} if self.params else {},
            "body": {
                "JSON": {**self.json} if self.json else {},
                "JSON_ARRAY": batch,
                "XML": {} if self.xml is None else {"payload": self.xml},
                "FORM": {**self.form} if self.form else {},
            },
            "files": {},
        }
