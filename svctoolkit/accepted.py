"""Files of findings that were reviewed and accepted, each entry with a reason and the last day on which it is valid.

Reviews of replays and changes that no test notices have such files; they differ in what else an entry has.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Protocol, TypeVar

import msgspec

from svctoolkit import yamlfile
from svctoolkit.errors import ConfigError
from svctoolkit.json_types import Json


class Entry(Protocol):
    """An entry of such a file: a msgspec struct. `expires` is a day in ISO 8601."""

    @property
    def expires(self) -> str: ...


E = TypeVar("E", bound=Entry)


def load_entries(path: Path | str, kind: type[E], properties: Mapping[str, Json], required: Sequence[str]) -> list[E]:
    """Return the entries of a file. `properties` are JSON Schemas of what an entry has besides reason and expiry.

    Raises `ConfigError` with the line and column of every mistake.
    """
    document = yamlfile.load(Path(path))
    yamlfile.check(document, _schema(properties, required), ConfigError)
    entries: list[E] = msgspec.convert(document.data["accepted"], list[kind])  # type: ignore[valid-type]
    for number, entry in enumerate(entries):
        try:
            date.fromisoformat(entry.expires)
        except ValueError as error:
            problem = document.problem(("accepted", number, "expires"), f"is not a valid date: {error}")
            raise ConfigError(problem) from error
    return entries


def is_over(entry: Entry, today: date) -> bool:
    """Return whether the entry has expired."""
    return date.fromisoformat(entry.expires) < today


def write_entries(path: Path, entries: Sequence[Entry]) -> None:
    """Write a file with these entries, completely or not at all. Raises `ConfigError` if it cannot be written."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_text(yamlfile.dump({"accepted": [msgspec.to_builtins(entry) for entry in entries]}), "utf-8")
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise ConfigError(f"cannot be written: {error.strerror}", where=str(path)) from error


def _schema(properties: Mapping[str, Json], required: Sequence[str]) -> dict[str, Json]:
    entry = {
        "type": "object",
        "additionalProperties": False,
        "required": [*required, "reason", "expires"],
        "properties": {
            **properties,
            "reason": {"type": "string", "pattern": "\\S"},
            "expires": {"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}$"},
        },
    }
    return {
        "type": "object",
        "additionalProperties": False,
        "required": ["accepted"],
        "properties": {"accepted": {"type": "array", "items": entry}},
    }
