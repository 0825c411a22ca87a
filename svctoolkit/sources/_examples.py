"""Worked examples of a type, from `examples.yaml` in its folder: a webhook, and the events or the answer.

The tests run them. Those that are not refused are the samples of the type's topics.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import msgspec

from svctoolkit import yamlfile
from svctoolkit.errors import ConfigError, InvalidWebhook
from svctoolkit.json_types import Json
from svctoolkit.sources._define import JSON_TYPE, SourceType
from svctoolkit.sources._request import pack
from svctoolkit.sources._webhook import Webhook


class Example(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One webhook, and its `events`, `answer` or `error`.

    `topic` is what it is about. `body` is sent as JSON, `text` as it is. `memory` is what the source remembers before,
    `remembers` afterwards. Ids by chance are `random-1`, `random-2`...; `now` is the time.
    """

    name: str
    topic: str = ""
    query: dict[str, list[str]] = {}
    body: Any = {}
    text: str | None = None
    config: dict[str, Any] = {}
    memory: dict[str, dict[str, str]] = {}
    now: str = "2026-01-15T10:10:00Z"
    events: list[dict[str, Any]] = []
    answer: dict[str, Any] | None = None
    remembers: dict[str, dict[str, str]] | None = None
    error: str = ""

    def request(self) -> dict[str, Json]:
        """Return the webhook as the gateway packs it."""
        text = json.dumps(self.body, ensure_ascii=False) if self.text is None else self.text
        return pack(text, query=self.query, headers={"Content-Type": JSON_TYPE})


def load_examples(folder: Path) -> list[Example]:
    """Load the examples of the type in a folder. Raises `ConfigError`."""
    file = folder / "examples.yaml"
    if not file.is_file():
        return []
    document = yamlfile.load(file)
    try:
        return msgspec.convert(document.data, list[Example])
    except msgspec.ValidationError as error:
        raise ConfigError(str(error), where=document.name) from error


def counted() -> Callable[[], str]:
    """Return a function that returns `random-1`, `random-2`... in place of new ids."""
    count = 0

    def next_id() -> str:
        nonlocal count
        count += 1
        return f"random-{count}"

    return next_id


def difference(kind: SourceType, example: Example) -> str:
    """Compare the type with its example and describe the difference; empty if it behaves as the example says."""
    memory = deepcopy(example.memory)
    try:
        handled = kind.handle(
            Webhook(
                example.request(),
                config=example.config,
                clock=example.now,
                source={"id": "source-1"},
                memory=memory,
                random=counted(),
            )
        )
    except InvalidWebhook as error:
        text = f"{error.status}: {error}"
        return "" if text == example.error else f"expected {example.error or example.events}, got {text}"
    got = (handled.events, handled.answer.to_dict() if handled.answer else None)
    if example.error or got != (example.events, example.answer):
        return f"expected {example.error or (example.events, example.answer)}, got {got}"
    kept = example.memory if example.remembers is None else example.remembers
    return "" if memory == kept else f"expected to remember {kept}, got {memory}"
