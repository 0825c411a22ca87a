"""Worked examples of a type: mapping (`examples.yaml`), shared requests (`batches.yaml`), outcomes (`outcomes.yaml`).

The tests run them, and the explorer shows them.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from svctoolkit.causes import Refusal
from svctoolkit.destinations._outcomes import OutcomeKind
from svctoolkit.destinations._payload import Payload
from svctoolkit.errors import ConfigError, MappingError, ToolkitError
from svctoolkit.json_types import Json

if TYPE_CHECKING:
    from pathlib import Path

    from svctoolkit.destinations._define import DestinationType


class ExpectedError(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename={"class_": "class"}):
    """The error of an example.

    `rule` is the rule of a refusal without the type: `missing.userId`. For other errors, `class` is the name of the
    class in `svctoolkit.errors`, and `says` is a part of the message.
    """

    rule: str = ""
    class_: str = ""
    says: str = ""

    def matches(self, error: ToolkitError) -> bool:
        """Whether `error` is the expected one."""
        if self.rule:
            return isinstance(error, MappingError) and error.refusal.rule("") == self.rule
        return any(kind.__name__ == self.class_ for kind in type(error).__mro__) and self.says in str(error)

    def __str__(self) -> str:
        return self.rule or f"{self.class_} that says {self.says!r}"


class Asked(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One lookup of a mapping, and the destination's answer."""

    url: str
    method: str = "GET"
    status: int = 200
    body: Any = {}


class Example(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One event with one configuration. `payloads` are complete, although the file leaves out empty members.

    `error` replaces `payloads` if the configuration or the event is refused. `now` is the current time for the mapping,
    `lookups` are the answers to its lookups, and `metadata` holds the secrets of the destination's account.
    """

    name: str
    config: dict[str, Any]
    event: dict[str, Any]
    payloads: list[dict[str, Any]] = []
    error: ExpectedError | None = None
    now: str = "2026-01-15T10:10:00Z"
    lookups: list[Asked] = []
    metadata: dict[str, Any] = {}

    def lookup(self, request: Mapping[str, Json]) -> tuple[int, Json]:
        """Answer a lookup request; pass this method as `lookup` to `DestinationType.payloads`."""
        for question in self.lookups:
            if (question.method, question.url) == (request.get("method", "GET"), request.get("url")):
                return question.status, question.body
        why = f"the example {self.name!r} has no answer to {request.get('method')} {request.get('url')}"
        raise MappingError(Refusal("fault", why=why))


class OutcomeExample(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One answer of a destination and its outcome, from `outcomes.yaml`.

    The request went to `endpoint` with `request` as its JSON body, and carried `jobs` events; with `alone` each of them
    must be sent alone. `each` lists the outcome of each event if they differ.
    """

    name: str
    outcome: OutcomeKind
    status: int = 200
    answer: Any = None
    endpoint: str = ""
    request: dict[str, Any] = {}
    jobs: int = 1
    alone: bool = False
    each: list[OutcomeKind] = []


class SharedRequests(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The result of some events of a batch example: complete `payloads`, or in `error` the rule of their refusal."""

    jobs: list[int]
    payloads: list[dict[str, Any]] = []
    error: str | None = None
    batched: bool = True


class BatchExample(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Several events of one configuration, numbered from 1, and the requests that they share, from `batches.yaml`.

    `alone` has the numbers of events that must be sent alone (`dontBatch`). `users` has the user of each event, whose
    order is kept. `metadata` holds the secrets of the destination's account.
    """

    name: str
    config: dict[str, Any]
    events: list[dict[str, Any]]
    results: list[SharedRequests]
    alone: list[int] = []
    users: list[str] = []
    now: str = "2026-01-15T10:10:00Z"
    lookups: list[Asked] = []
    metadata: dict[str, Any] = {}


E = TypeVar("E", Example, OutcomeExample, BatchExample)


def load_examples(settings: type[msgspec.Struct]) -> list[Example]:
    """Load the examples next to the module of a type's settings. Raises `ConfigError`."""
    examples = _load(settings, "examples.yaml", Example)
    return [msgspec.structs.replace(e, payloads=[_complete(p) for p in e.payloads]) for e in examples]


def difference(kind: DestinationType, example: Example) -> str:
    """Compare the type with its example and describe the difference; empty if it behaves as the example says."""
    try:
        payloads = kind.payloads(
            deepcopy(example.event),
            example.config,
            clock=example.now,
            lookup=example.lookup,
            metadata=example.metadata,
        )
    except ToolkitError as error:
        rule = f" ({error.refusal.rule('')})" if isinstance(error, MappingError) else ""
        text = f"{type(error).__name__}: {error}{rule}"
        if example.error and example.error.matches(error):
            return ""
        return f"expected {_expectation(example)}, got {text}"
    if example.error is None and _open_batches(payloads) == _open_batches(example.payloads):
        return ""
    return f"expected {_expectation(example)}, got {_text(payloads)}"


def _expectation(example: Example) -> str:
    return str(example.error) if example.error else _text(example.payloads)


def _text(payloads: Sequence[Mapping[str, Any]]) -> str:
    return msgspec.json.encode(payloads).decode()


def _open_batches(payloads: Sequence[Mapping[str, Any]]) -> list[Any]:
    """Parse the JSON texts in payloads, so that the order of members does not count."""
    opened = deepcopy(list(payloads))
    for payload in opened:
        if batch := payload["body"]["JSON_ARRAY"]:
            batch["batch"] = msgspec.json.decode(batch["batch"])
    return opened


def load_outcome_examples(settings: type[msgspec.Struct]) -> list[OutcomeExample]:
    """Load the examples of answers and outcomes. Raises `ConfigError`."""
    return _load(settings, "outcomes.yaml", OutcomeExample)


def load_batch_examples(settings: type[msgspec.Struct]) -> list[BatchExample]:
    """Load the examples of shared requests. Raises `ConfigError`."""
    return [
        msgspec.structs.replace(
            example,
            results=[
                msgspec.structs.replace(result, payloads=[_complete(p) for p in result.payloads])
                for result in example.results
            ],
        )
        for example in _load(settings, "batches.yaml", BatchExample)
    ]


def _load(settings: type[msgspec.Struct], name: str, kind: type[E]) -> list[E]:
    from svctoolkit import yamlfile  # imported late: reading YAML is needed for examples only

    file = _sibling_file(settings, name)
    if file is None:
        return []
    document = yamlfile.load(file)
    try:
        return msgspec.convert(document.data, list[kind])  # type: ignore[valid-type]
    except msgspec.ValidationError as error:
        raise ConfigError(str(error), where=document.name) from error


def _sibling_file(settings: type[msgspec.Struct], name: str) -> Path | None:
    from pathlib import Path

    try:
        file = Path(inspect.getfile(settings)).with_name(name)
    except (OSError, TypeError):  # a class defined in a notebook has no file
        return None
    return file if file.is_file() else None


def _complete(payload: Mapping[str, Any]) -> dict[str, Any]:
    empty = Payload(endpoint="").to_dict()
    body = {**empty["body"], **payload.get("body", {})}
    batch = body["JSON_ARRAY"].get("batch")
    if isinstance(batch, list):  # example files show the value, RudderStack sends it as JSON text
        body["JSON_ARRAY"] = {"batch": msgspec.json.encode(batch).decode()}
    return {**empty, **payload, "body": body}
