"""The `ServiceClient` of a scenario: one for each source, which all of its steps use, on the clock of the scenario."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from svctoolkit.errors import StillWaiting, ToolkitError
from svctoolkit.json_types import Json
from svctoolkit.runner.planes.plane import Plane
from svctoolkit.runner.suite.calls import spelt_in_python
from svctoolkit.sdk import Request, Response, ServiceClient

_SECONDS = 10.0
_LIFECYCLE = ("foreground", "background")


class Clients:
    """Clients that write nothing to disk, created at the first call. `close()` ends them.

    With `lifecycle`, they track the lifecycle of the application, and so its sessions.
    """

    def __init__(self, plane: Plane, *, lifecycle: bool) -> None:
        self._plane, self._lifecycle = plane, lifecycle
        self._clients: dict[str, _Client] = {}

    def call(self, write_key: str, calls: Sequence[Mapping[str, Json]], headers: Mapping[str, str]) -> dict[str, int]:
        """Make the calls, and send their events with these headers. Return the dropped events by reason.

        Raises `ToolkitError` if the client rejects a call.
        """
        if write_key not in self._clients:
            self._clients[write_key] = _Client(write_key, self._plane, headers, lifecycle=self._lifecycle)
        return self._clients[write_key].call(calls, headers)

    def close(self) -> None:
        for client in self._clients.values():
            client.close()


def tracks_lifecycle(calls: Sequence[Mapping[str, Json]]) -> bool:
    """Return whether calls are about the lifecycle of the application."""
    return any(name in call for call in calls for name in _LIFECYCLE)


class _Client:
    """A client of one source."""

    def __init__(self, write_key: str, plane: Plane, headers: Mapping[str, str], *, lifecycle: bool) -> None:
        self._faults: list[ToolkitError] = []
        self._dropped: Mapping[str, int] = {}
        self._transport = InProcess(plane)
        self._transport.headers = headers
        self._client = ServiceClient(
            data_directory=":memory:",
            transport=self._transport,
            data_plane_url="http://plane",
            track_lifecycle_events=lifecycle,
            on_error=self._faults.append,
            clock=plane.time,
        )
        self._client.initialize(write_key).wait(_SECONDS)

    def call(self, calls: Sequence[Mapping[str, Json]], headers: Mapping[str, str]) -> dict[str, int]:
        self._transport.headers = headers
        try:
            for call in calls:
                ((name, arguments),) = call.items()
                _call(self._client, name, arguments)
        finally:
            sent = self._client.flush(_SECONDS)
        if self._faults:
            raise self._faults[0]
        dropped = self._client.stats().dropped
        # After `optOut`, dropping is what the scenario asks for.
        new = {reason: count - self._dropped.get(reason, 0) for reason, count in dropped.items()}
        self._dropped = dict(dropped)
        if not sent and self._client.stats().waiting:
            raise StillWaiting("ServiceClient has not sent its events")
        return {reason: count for reason, count in new.items() if count and reason != "opted out"}

    def close(self) -> None:
        self._client.shutdown(_SECONDS)


def _call(client: Any, name: str, arguments: Any) -> None:
    """Call with named arguments (a map, in either spelling), positional ones (a list), or a single one."""
    method = getattr(client, name)
    try:
        if isinstance(arguments, dict):
            method(**{spelt_in_python(key): value for key, value in arguments.items()})
        elif isinstance(arguments, list):
            method(*arguments)
        else:
            method(*([] if arguments is None else [arguments]))
    except TypeError as error:
        raise ToolkitError(f"{name}: {str(error).partition(' ')[2]}") from error


class InProcess:
    """Answer the client's requests with a data plane in this process, without sockets or waiting."""

    embedded = True

    def __init__(self, plane: Plane) -> None:
        self._plane = plane
        #: of the run that the next requests belong to
        self.headers: Mapping[str, str] = {}

    def send(self, request: Request) -> Response:
        """Return the data plane's response."""
        path = "/" + request.url.partition("://")[2].partition("/")[2]
        headers = {**{name.lower(): value for name, value in request.headers.items()}, **self.headers}
        got = self._plane.request(request.method, path, headers, request.body)
        body = got.body if isinstance(got.body, str) else json.dumps(got.body)
        return Response(got.status, got.headers, body.encode())
