"""The definition of one destination type: its variables, supported features, and API representation."""

from __future__ import annotations

import hashlib
from typing import Any, Literal

import msgspec

from svctoolkit.destinations._config_schema import config_schema
from svctoolkit.destinations._variable import Variable
from svctoolkit.displayed import Displayed
from svctoolkit.json_types import Json

_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


class Definition(Displayed, msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One destination type as users see it.

    `category` is `warehouse` or None. `modes` are `cloud`, `device` and `hybrid`. `supported_message_types` has the
    event types by mode, or is omitted (None) if all six are supported. `secret_keys` may point into rows
    (`headers.to`). `sent_by_server` is set for types whose events the data-plane server delivers itself, so that they
    cannot be tested: `streaming or message-queue`, `object-storage`, `warehouse` and so on; empty for others. `hidden`
    types are not offered to new users: True, or the feature flag that shows them.

    `transform_at` is where RudderStack transforms events to payloads: at the processor, one event at a time, or at the
    router, where several events may share a request; `none` for types without payloads. `declared_transform_at` is the
    value in RudderStack's own definition, if it differs (`none`: no value). `oauth` types deliver with the token of a
    connected account. `batch_limit` is the maximum number of events per request; 0: no known limit.
    """

    name: str
    display_name: str
    category: str | None = None
    modes: list[str]
    supported_source_types: list[str]
    supported_message_types: dict[str, Any] | None = None
    secret_keys: list[str] = []
    variables: dict[str, Variable]
    is_beta: bool = False
    deprecated: bool = False
    hidden: bool | dict[str, Any] = False
    sent_by_server: str = ""
    transform_at: Literal["processor", "router", "none"] = "processor"
    declared_transform_at: Literal["processor", "router", "none", ""] = ""
    oauth: bool = False
    batch_limit: int = 0

    def display_text(self) -> str:
        """Show the names and the number of variables."""
        return f"<Definition {self.name}: {self.display_name}, {len(self.variables)} variables>"

    @property
    def default_config(self) -> list[str]:
        """The names of the variables, in the order of the form."""
        return list(self.variables)

    def to_dict(self) -> dict[str, Json]:
        """Return this definition as `GET /destination-definitions` returns it.

        `id`, `createdAt` and `updatedAt` are not RudderStack's values: the id is derived from the name (27 characters,
        like RudderStack's ids), and the times are fixed. `transformAtV1` is the value in RudderStack's own definition.
        `configSchema` is generated from the variables; `responseRules` is null. These are left out because they are not
        known for each type: `uiConfig`, and in `config` the members `excludeKeys`, `includeKeys`,
        `saveDestinationResponse` and `supportedConnectionModes`.
        """
        config: dict[str, Any] = {
            "destConfig": {"defaultConfig": self.default_config},
            "secretKeys": list(self.secret_keys),
            "supportedSourceTypes": list(self.supported_source_types),
        }
        declared = self.declared_transform_at or self.transform_at
        if declared != "none":
            config["transformAtV1"] = declared
        if self.supported_message_types is not None:
            config["supportedMessageTypes"] = self.supported_message_types
        options = {"isBeta": self.is_beta, "deprecated": self.deprecated, "hidden": self.hidden}
        return {
            "config": config,
            "configSchema": config_schema(self.variables),
            "responseRules": None,
            "options": {key: value for key, value in options.items() if value} or None,
            "id": _id(self.name),
            "name": self.name,
            "displayName": self.display_name,
            "category": self.category,
            "createdAt": "2020-01-01T00:00:00.000Z",
            "updatedAt": "2020-01-01T00:00:00.000Z",
        }


def _id(name: str) -> str:
    number = int.from_bytes(hashlib.sha256(name.encode()).digest()[:20], "big")
    digits = []
    for _ in range(27):
        number, digit = divmod(number, 62)
        digits.append(_DIGITS[digit])
    return "".join(reversed(digits))
