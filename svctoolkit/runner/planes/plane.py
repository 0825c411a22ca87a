"""The interface of a data plane that scenarios run against."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from svctoolkit.json_types import Json
from svctoolkit.runner.suite import format as _format

if TYPE_CHECKING:
    from svctoolkit.policies import Policies, PolicyBreach
    from svctoolkit.runner.planes.traces import Trace

#: Header with the run that a request belongs to.
RUN_HEADER = "x-svctoolkit-run"
#: Header with the keys of the only destinations that may get the events: percent-encoded, separated by commas.
ONLY_HEADER = "x-svctoolkit-only"


class Answer(msgspec.Struct, frozen=True):
    """A data plane's response. Header names are lower-case; `body` is the parsed JSON, or text if it is not JSON."""

    status: int
    headers: Mapping[str, str]
    body: Any


class Transformed(msgspec.Struct, frozen=True):
    """The result of a transformation alone: the events that its code returned, and its errors as text."""

    events: Sequence[Any]
    errors: Sequence[str]


class Plane(Protocol):
    """A data plane in this process or elsewhere."""

    #: The `Authorization` header of a user of its Test API.
    authorization: str
    #: Whether it runs the scenario's workspace in this process. A service may have other code and settings.
    embedded: bool

    def request(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """Return the response to a request. `path` may have a query."""
        ...

    def test(self, path: str, body: bytes, run: str) -> Answer:
        """Return the Test API's response to a POST of this JSON; requests to destinations belong to `run`."""
        ...

    def transform(self, key: str, events: Sequence[Mapping[str, Json]], run: str) -> Transformed:
        """Return the result of the transformation `key`, with as many of the events in one call as `batch` allows."""
        ...

    def time(self) -> float:
        """Return the time on the clock of the scenario, in seconds since 1970."""
        ...

    def wait(self, seconds: float, limit: float) -> None:
        """Let time pass on the clock of the scenario. Raises `StillWaiting` if it takes more than `limit` seconds."""
        ...

    def run_results(self, run: str, keys: Sequence[str], limit: float) -> Mapping[str, Json]:
        """Return the results of `run` at the destinations `keys`, once none of its events is in progress.

        `shape.shape_results` accepts this format. Raises `StillWaiting` if it takes more than `limit` seconds.
        """
        ...

    def traces(self, run: str, keys: Sequence[str]) -> Mapping[str, Trace]:
        """Return which events the results of `run` belong to, by destination; nothing if the plane cannot say it."""
        ...

    def breaches(self, run: str, policies: Policies) -> Sequence[PolicyBreach]:
        """Return where policies do not hold for what was delivered in a run; nothing if the plane cannot say it."""
        ...

    def code_records(self, run: str) -> Mapping[str, Sequence[Mapping[str, Json]]]:
        """Return what user code did in a run: `planes.code.code_records`; nothing if the plane cannot say it."""
        ...

    def delete(
        self, run: str, users: Json, destinations: Sequence[str] | None, limit: float
    ) -> dict[str, dict[str, Json]]:
        """Delete users, and return the finished jobs by destination, each {status, error, tries, requests}.

        Raises `StillWaiting` if it takes more than `limit` seconds.
        """
        ...

    def held(self, run: str, key: str) -> dict[str, Json]:
        """Return what the simulated destination `key` holds in a run, as `SimulatedServer.state`."""
        ...

    def give(self, run: str, given: Mapping[str, Mapping[str, Json]]) -> None:
        """Let simulated destinations hold rows before a run, by destination."""
        ...

    def forget(self, run: str) -> None:
        """Drop what simulated destinations hold in a run."""
        ...

    def violations(self, run: str) -> list[dict[str, Json]]:
        """Return the tracking plan violations of the events of `run`, each a `fates.violation_record`, in order."""
        ...

    def received(self, run: str) -> list[dict[str, Json]]:
        """Return the events of `run` that were accepted, in order."""
        ...

    def script(self, run: str, answers: Mapping[str, Sequence[_format.RecorderAnswer]]) -> None:
        """Set the recorder's responses for `run` and the runs within it; an empty map restores the defaults."""
        ...

    def set_faults(self, run: str, faults: _format.ScenarioFaults) -> None:
        """Switch fault profiles on for `run` and the runs within it; without any, switch off those that are on."""
        ...

    def idle_answers(self, run: str, key: str) -> Sequence[int]:
        """Return the positions of the answers in the script of a run that no request has got; none if unknown."""
        ...


def basic(email: str, token: str) -> str:
    """Return the `Authorization` header for the Test API."""
    return f"Basic {base64.b64encode(f'{email}:{token}'.encode()).decode()}"


def post(plane: Plane, path: str, body: bytes, run: str = "") -> Answer:
    """Return the response to a POST of JSON by a user of the Test API."""
    headers = {"authorization": plane.authorization, "content-type": "application/json"}
    headers |= {RUN_HEADER: run} if run else {}
    return plane.request("POST", path, headers, body)
