"""`examples.yaml`: what a mapping does, shown on small events. Tests run them, and the explorer shows them."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from svctoolkit.destinations._payload import Payload
from svctoolkit.errors import ConfigError, MappingError

if TYPE_CHECKING:
    from pathlib import Path


class Refusal(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename={"class_": "class"}):
    """The error of an example: the name of its class in `svctoolkit.errors`, and a part of its text."""

    class_: str
    says: str


class Asked(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One question that a mapping asks its destination, and the answer."""

    url: str
    method: str = "GET"
    status: int = 200
    body: Any = {}


class Example(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One event with one configuration. `payloads` are complete, although the file leaves out what is empty.

    `error` is given instead of payloads where the configuration or the event is refused. `now` is the time that the
    mapping sees; `lookups` answer what it asks.
    """

    name: str
    config: dict[str, Any]
    event: dict[str, Any]
    payloads: list[dict[str, Any]] = []
    error: Refusal | None = None
    now: str = "2026-01-15T10:10:00Z"
    lookups: list[Asked] = []

    def lookup(self, request: Mapping[str, Any]) -> tuple[int, Any]:
        """The answer to a question, for the argument of the same name of `DestinationType.payloads`."""
        for question in self.lookups:
            if (question.method, question.url) == (request.get("method", "GET"), request.get("url")):
                return question.status, question.body
        raise MappingError(f"the example {self.name!r} has no answer to {request.get('method')} {request.get('url')}")


def read_examples(settings: type[msgspec.Struct]) -> list[Example]:
    """The examples beside the module of a type's settings. Raises `ConfigError`."""
    from svctoolkit import yamlfile  # only who looks at examples pays for reading YAML

    file = _examples_file(settings)
    if file is None:
        return []
    document = yamlfile.load(file)
    try:
        listed = msgspec.convert(document.data, list[Example])
    except msgspec.ValidationError as error:
        raise ConfigError(str(error), where=document.name) from error
    return [msgspec.structs.replace(e, payloads=[_complete(p) for p in e.payloads]) for e in listed]


def _examples_file(settings: type[msgspec.Struct]) -> Path | None:
    from pathlib import Path

    try:
        file = Path(inspect.getfile(settings)).with_name("examples.yaml")
    except (OSError, TypeError):  # a class that was typed in, as in a notebook, has no file
        return None
    return file if file.is_file() else None


def _complete(payload: Mapping[str, Any]) -> dict[str, Any]:
    empty = Payload(endpoint="").to_dict()
    body = {**empty["body"], **payload.get("body", {})}
    batch = body["JSON_ARRAY"].get("batch")
    if isinstance(batch, list):  # files show it as it is, the service sends it as text
        body["JSON_ARRAY"] = {"batch": msgspec.json.encode(batch).decode()}
    return {**empty, **payload, "body": body}
