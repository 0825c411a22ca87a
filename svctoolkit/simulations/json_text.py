"""Values of requests as text."""

from __future__ import annotations

from svctoolkit.json_codec import encode
from svctoolkit.json_types import Json


def text_of(value: Json) -> str:
    """Return a text as it is, and anything else as JSON."""
    return value if type(value) is str else encode(value).decode()
