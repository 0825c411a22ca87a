"""The answer of a data plane in this process."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from svctoolkit.json_types import Json


class Answer(msgspec.Struct, frozen=True):
    """The answer of a data plane. Header names are lower-case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Json:
        """Return the parsed body; None if it is not JSON."""
        try:
            return msgspec.json.decode(self.body)
        except msgspec.DecodeError:
            return None

    @property
    def text(self) -> str:
        return self.body.decode("utf-8", "replace")
