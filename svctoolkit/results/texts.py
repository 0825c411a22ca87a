"""JSON in texts: objects and lists that a payload carries as text, opened so that their fields have paths."""

from __future__ import annotations

from typing import Any

import msgspec

from svctoolkit.json_types import Json

_DEEPEST = 30  # levels of objects, lists and texts in texts


def open_texts(value: Json, depth: int = _DEEPEST) -> Json:
    """Return a value in which every text that is the JSON of an object or a list is replaced by what it contains.

    Parts without such texts are shared with the original. Texts in texts are opened, too.
    """
    if depth == 0:
        return value
    if isinstance(value, str):
        content = content_of(value)
        return value if content is None else open_texts(content, depth - 1)
    if isinstance(value, dict):
        members = {key: open_texts(inner, depth - 1) for key, inner in value.items()}
        return members if any(members[key] is not inner for key, inner in value.items()) else value
    if isinstance(value, list):
        elements = [open_texts(inner, depth - 1) for inner in value]
        return elements if any(new is not old for new, old in zip(elements, value, strict=True)) else value
    return value


# Any: JSON
def content_of(text: str) -> Any:
    """Return the object or list that a text is the JSON of, otherwise None."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return msgspec.json.decode(text)
    except (ValueError, RecursionError):  # not JSON, not Unicode, or nested too deeply
        return None
