"""Webhooks that a suite sends: `send: {webhook: shop, topic: orders_create, body: order.json}`.

`body` is a file next to the suite, which is sent as it is (YAML: as JSON), or an object or a list; `text` is sent
unchanged. Without both, `form` may have fields.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import UNSET

from svctoolkit import inputs
from svctoolkit.errors import ConfigError, UnknownName, did_you_mean
from svctoolkit.json_types import Json
from svctoolkit.runner.suite.fixtures import load_file
from svctoolkit.runner.suite.model import Place, Places, Scenario, Step, as_list, within

if TYPE_CHECKING:
    from svctoolkit.server.ingest.sending import WebhookRequest

_KINDS: Mapping[str, tuple[type | tuple[type, ...], str]] = {
    "webhook": (str, "the key or id of a source that accepts webhooks"),
    "topic": (str, "a string"),
    "body": ((str, dict, list), "a file, an object or a list"),
    "text": (str, "a string"),
    "query": (dict, "an object"),
    "form": (dict, "an object"),
    "headers": (dict, "an object"),
    "method": (str, "GET or POST"),
}
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
_CONTENTS = ("body", "text", "form")
_YAML = (".yaml", ".yml")


def webhooks_of(step: Step) -> list[Mapping[str, Json]]:
    """Return the webhooks that a step sends; an empty list if it sends events."""
    sent = [] if step.spec.send is UNSET else as_list(step.spec.send)
    return sent if sent and all(map(is_webhook, sent)) else []


def is_webhook(sent: Json) -> bool:
    """Return whether what is sent is a webhook, not an event."""
    return isinstance(sent, Mapping) and "webhook" in sent and "type" not in sent


def sender_of(step: Mapping[str, Json]) -> Json:
    """Return the source that a step as written names in its webhook; None for a step without a webhook."""
    first = next(iter(as_list(step.get("send"))), None)
    return first["webhook"] if isinstance(first, Mapping) and is_webhook(first) else None


def webhook_problems(scenario: Scenario, step: Step) -> Places:
    """Yield the mistakes in the webhooks of a step, with their paths in it. Files of bodies are read."""
    sent = step.spec.send
    for number, webhook in enumerate(webhooks_of(step)):
        at: Place = ("send", number) if isinstance(sent, list) else ("send",)
        yield from within(at, _problems(webhook, scenario, step))


def _problems(webhook: Mapping[str, Json], scenario: Scenario, step: Step) -> Places:
    for name, value in webhook.items():
        if name not in _KINDS:
            yield (name,), f"a webhook has no member {name!r}.{did_you_mean(name, _KINDS)}"
        elif not isinstance(value, _KINDS[name][0]):
            yield (name,), f"must be {_KINDS[name][1]}"
    headers = webhook.get("headers")
    for name, value in headers.items() if isinstance(headers, dict) else ():
        if problem := header_problem(name, value):
            yield ("headers", name), problem
    if len(both := [name for name in _CONTENTS if name in webhook]) > 1:
        yield (both[1],), f"a webhook has {both[0]!r} or {both[1]!r}, not both"
    if str(webhook.get("method", "POST")) not in ("GET", "POST"):
        yield ("method",), "must be GET or POST"
    yield from _source_problems(webhook, scenario, step)
    body = webhook.get("body")
    if isinstance(body, str) and step.pending is None:
        try:
            _read(scenario.suite.path.parent / body)
        except (ConfigError, OSError, ValueError) as error:
            yield ("body",), f"cannot read {body}: {error.strerror if isinstance(error, OSError) else error}"


def header_problem(name: str, value: Json) -> str:
    """Return what is wrong with a header of a request; an empty string if it can be sent."""
    if value is None or isinstance(value, (dict, list)):
        return "invalid header: the value must be a text or a number"
    if not _HEADER_NAME.fullmatch(name) or not _HEADER_VALUE.fullmatch(str(value)):
        return "invalid header: the name must not contain spaces, and the value must be one line"
    return ""


def _source_problems(webhook: Mapping[str, Json], scenario: Scenario, step: Step) -> Places:
    workspace = scenario.suite.workspace
    try:
        source = workspace.source(webhook["webhook"])
    except (UnknownName, TypeError) as error:
        yield ("webhook",), str(error)
        return
    if source.webhook_type is None:
        yield ("webhook",), f"source {source.key!r} does not accept webhooks: its type is {source.type!r}"
    if step.spec.source is not UNSET and workspace.source(step.spec.source) is not source:
        yield ("webhook",), f"the step has the source {step.spec.source!r}: remove `source`, or send another step"


def _read(file: Path) -> bytes | Json:
    """Return what is sent for a file: its bytes, or the value of a YAML file."""
    return load_file(file) if file.suffix in _YAML else inputs.read(file)


def request_of(webhook: Mapping[str, Json], scenario: Scenario, run: str) -> WebhookRequest:
    """Return the HTTP request of a webhook. Raises `ConfigError` if its file cannot be read."""
    from svctoolkit.server.ingest.sending import webhook_request  # most suites send no webhooks

    body = webhook.get("text", webhook.get("body", b""))
    if isinstance(webhook.get("body"), str):
        try:
            body = _read(scenario.suite.path.parent / webhook["body"])
        except OSError as error:
            raise ConfigError(f"cannot read {webhook['body']}: {error.strerror}") from error
    return webhook_request(
        scenario.suite.workspace.source(webhook["webhook"]).write_key,
        body,
        topic=webhook.get("topic", ""),
        query=webhook.get("query"),
        form=webhook.get("form"),
        headers=webhook.get("headers"),
        method=webhook.get("method", "POST"),
        run=run,
    )
