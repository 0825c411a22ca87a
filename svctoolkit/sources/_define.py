"""The class `SourceType`. Authors import from `svctoolkit.sources`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeAlias

import msgspec

from svctoolkit.displayed import Displayed
from svctoolkit.errors import InvalidWebhook
from svctoolkit.json_types import Json
from svctoolkit.mapping import json_text
from svctoolkit.sources._memory import Remembered
from svctoolkit.sources._webhook import Webhook

JSON_TYPE = "application/json"
PLAIN_TEXT = "text/plain; charset=utf-8"


class Answer(msgspec.Struct, frozen=True):
    """A response to the sender of a webhook."""

    status: int
    body: str
    content_type: str = PLAIN_TEXT

    def to_dict(self) -> dict[str, Json]:
        """Return the members `status`, `body` and `contentType`."""
        return {"status": self.status, "body": self.body, "contentType": self.content_type}


def echo(value: Json) -> Answer:
    """The answer of a source that sends a value back as JSON."""
    return Answer(200, json_text(value), JSON_TYPE)


class Handled(msgspec.Struct, frozen=True):
    """The result of one webhook: its events, in order, and the source's own answer, if it has one."""

    events: list[dict[str, Json]] = []
    answer: Answer | None = None


class Setting(msgspec.Struct, frozen=True):
    """A setting of a source type: its name in the source's configuration, kind (`boolean`, `rows`), and meaning."""

    name: str
    kind: str
    label: str
    secret: bool = False


#: What a mapping returns: an event, several, or the source's own answer to a webhook without events.
Result: TypeAlias = "dict[str, Any] | Iterable[dict[str, Any]] | Answer"
Handler: TypeAlias = Callable[[Webhook], Result]


class SourceType(Displayed):
    """A webhook source type: its definition, and the events that its webhooks become.

    `name` is the type in RudderStack's source definitions, and `title` the vendor's product. `label` is the name in
    `context.integration` and `integrations`; a type without one sends events without these members. `docs` is the page
    of the vendor's webhooks. `topic` is the dotted path in a request of what the webhook is about (`body.type`,
    `query.topic`). `takes_get` says whether the gateway accepts GET. `quirks` are sentences about places where
    RudderStack does not do what users expect, and `differences` about deviations from RudderStack.
    """

    def __init__(
        self,
        name: str,
        title: str,
        *,
        label: str = "",
        docs: str = "",
        topic: str = "",
        settings: Sequence[Setting] = (),
        takes_get: bool = False,
        quirks: Sequence[str] = (),
        differences: Sequence[str] = (),
    ) -> None:
        self.name, self.title, self.label, self.docs, self.topic = name, title, label, docs, topic
        self.settings, self.takes_get = tuple(settings), takes_get
        self.quirks, self.differences = tuple(quirks), tuple(differences)
        self._handler: Handler | None = None

    def __repr__(self) -> str:
        return f"<SourceType {self.name}: {self.title}>"

    def maps(self, handler: Handler) -> Handler:
        """Register the mapping: it gets a `Webhook`, and returns one event or several, or an `Answer`.

        It raises `InvalidWebhook` for a webhook that it rejects.
        """
        self._handler = handler
        return handler

    def handle(self, webhook: Webhook) -> Handled:
        """Return the events of a webhook and the source's own answer to it.

        Raises `InvalidWebhook`: its `status` and its text are the answer to the sender.
        """
        if self._handler is None:
            raise InvalidWebhook(f"the source type {self.name} does not have a mapping", status=500)
        result = self._handler(webhook)
        if isinstance(result, Answer):
            return Handled(answer=result)
        events = [result] if isinstance(result, dict) else list(result)
        for event in events:
            event.setdefault("context", {})
        return Handled(events)

    def events(
        self,
        request: Mapping[str, Json],
        config: Mapping[str, Json] | None = None,
        clock: str | datetime | None = None,
        source: Mapping[str, Json] | None = None,
        memory: Remembered | None = None,
    ) -> list[dict[str, Json]]:
        """Return the events of a webhook; empty if the source only answers it.

        The arguments are those of `Webhook`. Raises `InvalidWebhook`.
        """
        return self.handle(Webhook(request, config, clock, source, memory)).events

    def answer(
        self,
        request: Mapping[str, Json],
        config: Mapping[str, Json] | None = None,
        clock: str | datetime | None = None,
        source: Mapping[str, Json] | None = None,
    ) -> dict[str, Json] | None:
        """Return the source's own answer, `{"status", "body", "contentType"}`; None if the gateway answers `ok`.

        It ignores what is remembered: use `handle` for a type with a memory. Raises `InvalidWebhook`.
        """
        answer = self.handle(Webhook(request, config, clock, source)).answer
        return answer.to_dict() if answer else None
