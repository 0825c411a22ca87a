"""A data plane as scenarios see it, wherever it is."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from svctoolkit.runner.suite import format as _format

#: Says whose a request is.
RUN_HEADER = "x-svctoolkit-run"


@dataclass(frozen=True, slots=True)
class Answer:
    """What a data plane answered. Header names are lower-case; `body` is the parsed JSON, or the text if it is none."""

    status: int
    headers: Mapping[str, str]
    body: Any


class Plane(Protocol):
    """A data plane, wherever it is."""

    #: The `Authorization` header of someone who may use its Test API.
    authorization: str

    def request(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """Its answer. `path` may have a query."""
        ...

    def test(self, path: str, body: bytes) -> Answer:
        """What its Test API answers to a POST of this JSON."""
        ...

    def run_results(self, run: str, keys: Sequence[str], limit: float) -> Mapping[str, Any]:
        """What became at the destinations `keys` of what was sent as `run`, once nothing of it is under way.

        As `shape.shape_results` takes it. Raises `StillWaiting` if that takes more than `limit` seconds.
        """
        ...

    def script(self, answers: Mapping[str, Sequence[_format.RecorderAnswer]]) -> None:
        """Let the recorder answer destinations like this from now on."""
        ...


def basic(email: str, token: str) -> str:
    """The `Authorization` header of the Test API."""
    return f"Basic {base64.b64encode(f'{email}:{token}'.encode()).decode()}"


def parse_body(content: bytes) -> Any:
    """The JSON value, or the text if it is none."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return content.decode("utf-8", "replace")


def post(plane: Plane, path: str, body: bytes) -> Answer:
    """The answer to a POST of JSON by someone who may use the Test API."""
    headers = {"authorization": plane.authorization, "content-type": "application/json"}
    return plane.request("POST", path, headers, body)
