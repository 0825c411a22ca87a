"""`examples.yaml`: what a mapping does, shown on small events. Tests run them, and the explorer shows them."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from svctoolkit.destinations._define import Payload
from svctoolkit.errors import ConfigError


class Refusal(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename={"class_": "class"}):
    """The error of an example: the name of its class in `svctoolkit.errors`, and a part of its text."""

    class_: str
    says: str


class Example(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One event with one configuration. `payloads` are complete, although the file leaves out what is empty.

    `error` is given instead of payloads where the configuration or the event is refused.
    """

    name: str
    config: dict[str, Any]
    event: dict[str, Any]
    payloads: list[dict[str, Any]] = []
    error: Refusal | None = None


def read_examples(settings: type[msgspec.Struct]) -> list[Example]:
    """The examples beside the module of a type's settings. Raises `ConfigError`."""
    from svctoolkit import yamlfile  # only who looks at examples pays for reading YAML

    file = _beside(settings)
    if file is None:
        return []
    document = yamlfile.load(file)
    try:
        found = msgspec.convert(document.data, list[Example])
    except msgspec.ValidationError as error:
        raise ConfigError(str(error), where=document.name) from error
    return [msgspec.structs.replace(e, payloads=[_complete(p) for p in e.payloads]) for e in found]


def _beside(settings: type[msgspec.Struct]) -> Path | None:
    try:
        file = Path(inspect.getfile(settings)).with_name("examples.yaml")
    except (OSError, TypeError):  # a class that was typed in, as in a notebook, has no file
        return None
    return file if file.is_file() else None


def _complete(payload: Mapping[str, Any]) -> dict[str, Any]:
    empty = Payload(endpoint="").to_dict()
    return {**empty, **payload, "body": {**empty["body"], **payload.get("body", {})}}
