"""Parse JSON typed by the user."""

from __future__ import annotations

import json

from svctoolkit.errors import ConfigError
from svctoolkit.json_types import Json


def json_object(text: str, what: str) -> dict[str, Json]:
    """The object in `text`. Raises `ConfigError` with `what` it is and the position of the error."""
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        line = text.split("\n")[error.lineno - 1]
        excerpt = f"\n{line.strip()[:100]}" if line.strip() else ""
        problem = f"line {error.lineno}, column {error.colno}: {error.msg}{excerpt}"
        raise ConfigError(f"invalid JSON in the {what}: {problem}") from error
    except RecursionError as error:
        raise ConfigError(f"the {what} is nested too deeply") from error
    if not isinstance(value, dict):
        raise ConfigError(f"the {what} must be a JSON object: {{...}}")
    return value
