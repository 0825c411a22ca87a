"""Requests to the checked server. Equal requests are sent once; the rules share their answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import TypeVar
from urllib.parse import quote

from svctoolkit.client._server import Server
from svctoolkit.errors import DeliveryError, RequestError
from svctoolkit.events import MAX_DEPTH, sample, too_deep
from svctoolkit.json_types import Json
from svctoolkit.secrets import Masker

T = TypeVar("T")
_LONGEST = 120  # characters of a text that a difference shows


@dataclass(frozen=True, slots=True)
class Targets:
    """IDs of the workspace that is tested. Rules that need one that is not given are skipped.

    - `destination`: enabled, without a user transformation. If its type is WEBHOOK, overrides are checked, too
    - `source`: enabled, with connected destinations
    - `transformed`, `failing`: destinations whose user transformation returns an event, and whose fails
    - `rejecting`: a destination that rejects events, such as a webhook whose URL answers 404
    - `disabled_destination`, `disabled_source`
    - `unsupported`: a destination that the Test API does not support, such as object storage
    - `send`: also send events to destinations
    """

    destination: str
    _: KW_ONLY
    source: str = ""
    transformed: str = ""
    failing: str = ""
    rejecting: str = ""
    disabled_destination: str = ""
    disabled_source: str = ""
    unsupported: str = ""
    send: bool = False


@dataclass(frozen=True, slots=True)
class Response:
    """A status and the parsed JSON of the body."""

    status: int
    data: Json


class Api:
    """The server, and the targets. `is_late` ends the check: requests after that raise `DeliveryError`."""

    def __init__(
        self, server: Server, stranger: Server, targets: Targets, masker: Masker, is_late: Callable[[], bool]
    ) -> None:
        self.targets, self.masker = targets, masker
        self._server, self._stranger, self._is_late = server, stranger, is_late
        self._known: dict[tuple[str, bytes, bool], Response] = {}
        self._events: dict[str, dict[str, Json]] = {}

    def event(self, type: str) -> dict[str, Json]:
        """A sample event, the same each time: its times are those of the first call."""
        if type not in self._events:
            self._events[type] = sample(type)
        return self._events[type]

    def test(
        self,
        path: str,
        message: Json | None = None,
        *,
        stages: str = "user dest",
        force: bool = False,
        config: Mapping[str, Json] | None = None,
        login: bool = True,
    ) -> Response:
        """Test `message` (default: a sample event) with these stages on, the others off.

        `path` is `testDestination/ID` or `testSource/ID`. Without `login`, the token is wrong.
        """
        on = stages.split()
        flags = {
            "user_transform": "user" in on,
            "dest_transform": "dest" in on,
            "send_to_destination": "send" in on,
        }
        body: dict[str, Json] = {"stage": flags, "message": self.event("track") if message is None else message}
        if config is not None:
            body["destinationConfig"] = config
        operation, _, id = path.partition("/")
        address = f"/v0/{operation}/{quote(id, safe='')}" + ("?force=true" if force else "")
        return self._answer(address, json.dumps(body).encode(), login, sends=flags["send_to_destination"])

    def definitions(self) -> Response:
        """The answer to `GET /destination-definitions`."""
        return self._answer("/destination-definitions", b"", True, sends=False)

    def result(
        self,
        id: str,
        message: Json | None = None,
        *,
        stages: str = "user dest",
        force: bool = False,
        config: Mapping[str, Json] | None = None,
    ) -> dict[str, Json]:
        """The result of a destination. Raises `ValueError` for any other answer."""
        return destination_result(
            self.test(f"testDestination/{id}", message, stages=stages, force=force, config=config)
        )

    def check_access(self) -> None:
        """Raise `RequestError` if the server rejects the login or the destination's ID, which no rule is about."""
        response = self.test(f"testDestination/{self.targets.destination}", stages="")
        if response.status in (401, 403, 404):
            body = response.data if isinstance(response.data, dict) else {"message": f"status {response.status}"}
            raise RequestError(response.status, self.masker.mask(body))

    def _answer(self, path: str, body: bytes, login: bool, *, sends: bool) -> Response:
        key = (path, body, login)
        if key not in self._known:
            if self._is_late():
                raise DeliveryError("the time limit of the check was reached", code="ETIMEDOUT")
            server = self._server if login else self._stranger
            answer = server.post(path, body, sends=sends) if body else server.get(path)
            self._known[key] = Response(answer.status, _parse(answer.status, answer.body))
        return self._known[key]


def _parse(status: int, body: bytes) -> Json:
    try:
        data: Json = json.loads(body)
    except (ValueError, RecursionError):
        raise DeliveryError(f"status {status} with a body that is not JSON", code="EBADMSG") from None
    if too_deep(data):
        raise DeliveryError(f"JSON that is nested more than {MAX_DEPTH} levels deep", code="EBADMSG")
    return data


def destination_result(response: Response) -> dict[str, Json]:
    """The result of a destination. Raises `ValueError` for any other answer."""
    data = object_at("the answer", response.data)
    if "destinationId" not in data:
        text = shown(data["message"]) if "message" in data else f"the members {', '.join(sorted(data)) or 'none'}"
        raise ValueError(f"expected a destination result, found status {response.status} with {text}")
    return data


def entries(result: Mapping[str, Json]) -> list[dict[str, Json]]:
    """The entries of `data`, at least one. Raises `ValueError`."""
    data = list_at("data", result.get("data"))
    if not data:
        raise ValueError("data is empty; expected one entry per verified payload")
    return [object_at(f"data[{number}]", entry) for number, entry in enumerate(data)]


def equal(where: str, found: object, expected: object) -> None:
    """Raise `ValueError` unless the value is the expected one."""
    if type(found) is not type(expected) or found != expected:
        raise ValueError(f"{where}: expected {shown(expected)}, found {shown(found)}")


def object_at(where: str, value: Json) -> dict[str, Json]:
    """The value, if it is an object. Raises `ValueError`."""
    return typed(where, value, dict)


def list_at(where: str, value: Json) -> list[Json]:
    """The value, if it is an array. Raises `ValueError`."""
    return typed(where, value, list)


def typed(where: str, value: Json, kind: type[T]) -> T:
    """The value, if it has this type. Raises `ValueError`."""
    if type(value) is not kind:
        raise ValueError(f"{where}: expected {_NAMES[kind]}, found {shown(value)}")
    return value


_NAMES: dict[type, str] = {
    dict: "an object",
    list: "an array",
    str: "a string",
    int: "an integer",
    float: "a number",
    bool: "a boolean",
    type(None): "nothing",
}


def shown(value: object) -> str:
    """A short text as JSON; of other values their type only, since a payload may contain secrets."""
    if not isinstance(value, str):
        return str(value) if type(value) is int else _NAMES[type(value)]
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
