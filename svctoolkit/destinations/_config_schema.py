"""The JSON Schema of a type's configuration, in RudderStack's form (draft 07)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from svctoolkit.destinations._variable import Variable
from svctoolkit.json_types import Json

#: Placeholders that RudderStack fills in later; they are allowed in place of any text.
_TEMPLATES = r"(^\{\{.*\|\|(.*)\}\}$)|(^env[.].+)"


def config_schema(variables: Mapping[str, Variable]) -> dict[str, Json]:
    """Return the schema of a configuration: the JSON type of each variable, its options, and which are required.

    Every text may be a template. Additional members may have any value.
    """
    schema: dict[str, Any] = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "required": [name for name, variable in variables.items() if _is_required(variable)],
        "properties": {name: _property(variable) for name, variable in variables.items()},
    }
    return schema if schema["required"] else {key: value for key, value in schema.items() if key != "required"}


def _is_required(variable: Variable) -> bool:
    """Whether the user must enter this text: it is required and has no default."""
    return variable.required and variable.kind == "text" and variable.default is None


def _property(variable: Variable) -> dict[str, Any]:
    if variable.kind == "choices":
        schema: dict[str, Any] = {"type": "array", "items": _text(variable.options)}
    elif variable.type == "array":
        names = [name for name in (variable.key_left, variable.key_right, variable.tag_key) if name]
        rows = {"type": "object", "properties": {name: _text() for name in names}}
        schema = {"type": "array", "items": rows}
    elif variable.type == "string":
        schema = _text(variable.options, required=variable.required)
    else:
        schema = {"type": variable.type} if variable.type else {}
    return schema if variable.default is None else {**schema, "default": variable.default}


def _text(options: list[str] | None = None, *, required: bool = False) -> dict[str, Any]:
    """Return the pattern of a string: one of the options, or any text (not empty if it is required)."""
    values = "|".join(re.escape(option) for option in options or ()) or (".{1,}" if required else ".*")
    return {"type": "string", "pattern": f"{_TEMPLATES}|^({values})$"}
