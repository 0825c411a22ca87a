"""One variable of a destination's configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import msgspec

Kind: TypeAlias = Literal[
    "account", "any", "boolean", "choice", "choices", "pairs", "rows", "tags", "text", "time", "timerange"
]

_JSON_TYPES: Mapping[str, str] = {
    "boolean": "boolean",
    "choices": "array",
    "pairs": "array",
    "rows": "array",
    "tags": "array",
    "timerange": "object",
    "any": "",
}


class Variable(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One configuration variable, as the destination's form shows it.

    `kind` is the kind of form field: `pairs` are rows of `key_left` and `key_right`, `tags` rows of `tag_key` alone,
    `rows` rows of several members, `choices` a list of options, `account` the id of a connected account, `time` a
    string `HH:MM` in UTC; the type of `any` is unknown. `options` are the values of a choice.
    """

    kind: Kind
    label: str = ""
    required: bool = False
    secret: bool = False
    default: Any = None
    options: list[str] = []
    key_left: str = ""
    key_right: str = ""
    tag_key: str = ""

    @property
    def type(self) -> str:
        """The JSON type of the value: `string`, `boolean`, `array` or `object`; an empty string if any is allowed.

        Numbers are stored as strings (`"2"`).
        """
        return _JSON_TYPES.get(self.kind, "string")
