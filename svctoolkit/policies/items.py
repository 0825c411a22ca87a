"""Policies as they are written in a file: their kinds, names and form."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, ParamSpec

from svctoolkit import yamlfile
from svctoolkit.errors import ConfigError, ToolkitError
from svctoolkit.json_types import Json
from svctoolkit.policies._contract import Check, Finding, PolicyKind, ScreenedCheck, WholeCheck
from svctoolkit.policies.kinds import KINDS

_Given = ParamSpec("_Given")
_TEXT = {"type": "string", "minLength": 1}
_ACCEPTED = {
    "type": "object",
    "additionalProperties": False,
    "required": ["reason", "expires"],
    "properties": {
        "destination": _TEXT,
        "path": _TEXT,
        "event": _TEXT,
        "reason": {"type": "string", "pattern": "\\S"},
        "expires": {"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}$"},
    },
}


class Flaw(NamedTuple):
    """A mistake at a path of a file with policies."""

    path: Sequence[str | int]
    text: str
    at_key: bool = False


@dataclass(frozen=True, slots=True)
class Source:
    """A file with policies, and the number of one in it."""

    file: Path
    number: int
    item: Mapping[str, Json]

    def place(self, *steps: str | int) -> str:
        """Return file, line and column of what is at these steps of the policy; empty if the file has changed since."""
        try:
            document = yamlfile.load(self.file)
        except ConfigError:
            return ""
        items = document.data.get("policies") if isinstance(document.data, dict) else None
        if not isinstance(items, list) or self.item not in items[self.number : self.number + 1]:
            return ""
        return document.where(("policies", self.number, *steps))


def kinds() -> dict[str, PolicyKind]:
    """Return the kinds by their names in a file."""
    return {name.replace("-", "_"): KINDS[name] for name in KINDS.names()}


def make_check(kind: PolicyKind, options: Json, name: str) -> Check | ScreenedCheck | WholeCheck:
    """Return the check of a policy. If it is of another package, an error of its code is one of this policy."""
    check = kind.make(options)
    if str(kind.make.__module__).startswith("svctoolkit."):
        return check
    if isinstance(check, ScreenedCheck):
        return replace(check, check=_reported(check.check, name))
    if isinstance(check, WholeCheck):
        return replace(check, check=_reported(check.check, name))
    return _reported(check, name)


def _reported(check: Callable[_Given, Iterator[Finding]], name: str) -> Callable[_Given, Iterator[Finding]]:
    def checked(*given: _Given.args, **named: _Given.kwargs) -> Iterator[Finding]:
        try:
            yield from check(*given, **named)
        except ToolkitError:
            raise
        except Exception as error:
            raise ConfigError(f"policy {name!r}: its check failed: {type(error).__name__}: {error}") from error

    return checked


# Any: policies as written in a file
def names_of(items: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a name for each policy. Reports and exit codes are by name, so a second `hosts` is `hosts 2`."""
    names: list[str] = []
    for item in items:
        base = name = item.get("name") or next(key for key in item if key in kinds())
        number = 2
        while name in names:
            name, number = f"{base} {number}", number + 1
        names.append(name)
    return names


def schema() -> dict[str, Json]:
    """Return the JSON Schema of a file with policies."""
    common = {
        "name": _TEXT,
        "severity": {"enum": ["error", "warn"]},
        "owner": _TEXT,
        "accepted": {"type": "array", "items": _ACCEPTED},
    }
    by_name = {name: {**kind.schema, "description": kind.help} for name, kind in kinds().items()}
    item = {
        "type": "object",
        "additionalProperties": False,
        "properties": {**common, **by_name},
    }
    return {
        "type": "object",
        "additionalProperties": False,
        "required": ["policies"],
        "properties": {"policies": {"type": "array", "items": item}},
    }


def odd_keys(value: Json, path: tuple[str | int, ...]) -> Iterator[Flaw]:
    """Yield the names that are not texts: readers of YAML 1.1, such as PyYAML, take `on` for true."""
    for key, inner in value.items() if isinstance(value, Mapping) else ():
        if not isinstance(key, str):
            yield Flaw(path, f"the name {key!r} is not a text. For a file, use Policies.load, which reads `on` as text")
        else:
            yield from odd_keys(inner, (*path, key))
