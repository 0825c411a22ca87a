"""Headers of a request or a response; their names are case-insensitive."""

from __future__ import annotations

from typing import Any

from svctoolkit.json_types import Json


class Headers(dict[str, Any]):
    """Headers with lower-case names that are found in any case.

    >>> headers = Headers({"content-type": "text/plain"})
    >>> "Content-Type" in headers, headers["CONTENT-TYPE"], "Authorization" in headers
    (True, 'text/plain', False)
    """

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name.lower() if isinstance(name, str) else name)

    def __getitem__(self, name: str) -> Any:
        return super().__getitem__(name.lower())

    def get(self, name: str, default: Json = None) -> Json:
        return super().get(name.lower(), default)


def same_name(names: Json, name: str) -> str:
    """Return a member's name for comparison: header names in lower case, others unchanged."""
    return name.lower() if isinstance(names, Headers) else name
