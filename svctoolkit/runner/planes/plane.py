"""A data plane as scenarios see it, wherever it is."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from svctoolkit.json_types import Json
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

    def test(self, path: str, body: bytes, run: str) -> Answer:
        """What its Test API answers to a POST of this JSON; `run` is whose requests to destinations these are."""
        ...

    def run_results(self, run: str, keys: Sequence[str], limit: float) -> Mapping[str, Json]:
        """What became at the destinations `keys` of what was sent as `run`, once nothing of it is under way.

        As `shape.shape_results` takes it. Raises `StillWaiting` if that takes more than `limit` seconds.
        """
        ...

    def violations(self, run: str) -> list[dict[str, Json]]:
        """What the events of `run` break of their tracking plan: `fates.violation_record` of each, in order."""
        ...

    def script(self, run: str, answers: Mapping[str, Sequence[_format.RecorderAnswer]]) -> None:
        """Let the recorder answer what `run` and the runs within it send to destinations; no answers: as by default."""
        ...


def basic(email: str, token: str) -> str:
    """The `Authorization` header of the Test API."""
    return f"Basic {base64.b64encode(f'{email}:{token}'.encode()).decode()}"


def parse_body(content: bytes) -> Json:
    """The JSON value, or the text if it is none."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return content.decode("utf-8", "replace")


def post(plane: Plane, path: str, body: bytes, run: str = "") -> Answer:
    """The answer to a POST of JSON by someone who may use the Test API."""
    headers = {"authorization": plane.authorization, "content-type": "application/json"}
    headers |= {RUN_HEADER: run} if run else {}
    return plane.request("POST", path, headers, body)
