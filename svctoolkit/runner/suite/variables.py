"""`$(name)`: a value by name. Alone it keeps its type; inside text it becomes text.

`$(env:NAME)` is an environment variable, and `$(env:NAME:-default)` has a default; these values are masked in every
report. `$(var:NAME)` is an environment variable that is not secret. `$(secret:NAME)` is the same as `$(env:NAME)`.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from svctoolkit.errors import Problem, did_you_mean
from svctoolkit.json_types import Json
from svctoolkit.runner.suite.moments import PATTERN, Moments
from svctoolkit.secrets import placeholder
from svctoolkit.yamlfile import Document

Path = tuple[str | int, ...]
INDEX = "index"  # the number of the repetition, in a step with `repeat`
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_REFERENCE = re.compile(rf"\$(\$?)\(((?:env|var|secret):[^():]+(?::-[^()]*)?|(?:{PATTERN})(?=\))|{NAME.pattern})\)")


@dataclass(slots=True)
class Environment:
    """Environment variables. `secrets` collects the values of `$(env:NAME)` and `$(secret:NAME)` by name.

    A secret variable that is not set, or empty, has a placeholder, which `unset` collects.
    """

    values: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)
    secrets: dict[str, str] = field(default_factory=dict, repr=False)
    unset: dict[str, str] = field(default_factory=dict)

    def get(self, reference: str) -> str | None:
        """Return the value of `env:NAME`, `env:NAME:-default`, `var:NAME` or `secret:NAME`; None if it is not set."""
        kind, _, rest = reference.partition(":")
        name, has_default, default = rest.partition(":-")
        value = self.values.get(name)
        if value and kind != "var":  # a default is in the file, so it is not a secret
            self.secrets[name] = value
        if value or has_default:
            return value or default
        if kind == "var":
            return None
        return self.unset.setdefault(name, placeholder(name))


class Variables:
    """The values of `$(name)` in one scenario. `$$(name)` is the literal text `$(name)`.

    Names in `later` get their value while the scenario runs; until then they are not replaced.
    """

    def __init__(
        self,
        values: Mapping[str, Json],
        environment: Environment,
        later: frozenset[str] = frozenset(),
        moments: Moments | None = None,
    ) -> None:
        self.values, self.environment, self.later, self.moments = values, environment, later, moments

    def extend(self, values: Mapping[str, Json]) -> Variables:
        """Return these variables and more; the new ones take precedence."""
        return Variables({**self.values, **values}, self.environment, self.later - values.keys(), self.moments)

    def with_later(self, names: frozenset[str]) -> Variables:
        """Return these variables. Those in `names` get their value while the scenario runs."""
        return Variables(self.values, self.environment, names, self.moments)

    def with_moments(self, moments: Moments) -> Variables:
        """Return these variables with a scenario's own times and ids."""
        return Variables(self.values, self.environment, self.later, moments)

    def apply(self, value: Json) -> Json:
        """Return `value` with every reference replaced; values without references are not copied.

        Unknown references are not replaced: see `unknown`.
        """
        if isinstance(value, str):
            return self._text(value) if "$" in value else value
        if isinstance(value, dict):
            changed = {k: new for k, v in value.items() if (new := self.apply(v)) is not v}
            return {**value, **changed} if changed else value
        if isinstance(value, list):
            items = [self.apply(v) for v in value]
            return items if any(a is not b for a, b in zip(items, value, strict=True)) else value
        return value

    def _text(self, text: str) -> Any:
        alone = _REFERENCE.fullmatch(text)
        # The whole string is one reference: keep the type, so that a number stays a number.
        if alone and not alone[1]:
            return self._value(alone[2], text)
        return _REFERENCE.sub(self._inside, text)

    def _inside(self, match: re.Match[str]) -> str:
        if match[1]:
            # `$$(name)`: drop one dollar sign and leave the rest.
            return match[0][1:]
        value = self._value(match[2], match[0])
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

    def _value(self, name: str, otherwise: str) -> Any:
        if name.startswith(("env:", "var:", "secret:")):
            value = self.environment.get(name)
            return otherwise if value is None else value
        # Checked before `values`: a captured value of the same name wins once it exists.
        if name in self.later:
            return otherwise
        if name in self.values:
            return self.values[name]
        moment = self.moments.value(name) if self.moments else None
        return otherwise if moment is None else moment

    def pending(self, value: Json) -> bool:
        """Return whether `value` refers to a name that gets its value later."""
        if isinstance(value, str):
            return "$" in value and any(not e and n in self.later for e, n in _REFERENCE.findall(value))
        if isinstance(value, dict):
            return any(map(self.pending, value.values()))
        return isinstance(value, list) and any(map(self.pending, value))

    def unknown(self, value: Json, document: Document, path: Path) -> Iterator[Problem]:
        """Yield a problem for each reference in `value` (at `path`) to an unknown variable."""
        if isinstance(value, str):
            for escaped, name in _REFERENCE.findall(value) if "$" in value else ():
                if not escaped and (wrong := self._wrong(name)):
                    yield document.problem(path, wrong)
        elif isinstance(value, dict):
            for key, inner in value.items():
                yield from self.unknown(inner, document, (*path, key))
        elif isinstance(value, list):
            for index, inner in enumerate(value):
                yield from self.unknown(inner, document, (*path, index))

    def _wrong(self, name: str) -> str:
        if name.startswith(("env:", "var:", "secret:")):
            if self.environment.get(name) is not None:
                return ""
            variable = name.partition(":")[2]
            return f"the environment variable {variable} is not set: set it, or write $({name}:-default)"
        if name in self.values or name in self.later or (self.moments and self.moments.value(name)):
            return ""
        if self.moments and re.fullmatch(PATTERN, name):
            return f"$({name}) is beyond the range of valid times"
        if name == INDEX:
            return "$(index) is the number of an event, from 0: write `repeat: N` next to `send`, and use it in there"
        hint = did_you_mean(name, [*self.values, *self.later]) or f" Write $$({name}) for the literal text."
        return f"unknown variable {name!r}.{hint}"


def references(value: Json) -> Iterator[str]:
    """Yield the names of all references in `value`."""
    if isinstance(value, str):
        yield from (name for escaped, name in _REFERENCE.findall(value) if not escaped) if "$(" in value else ()
    elif isinstance(value, dict):
        for inner in value.values():
            yield from references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from references(inner)


def with_names(value: Json, values: Mapping[str, Json]) -> Json:
    """Return `value` with plain names replaced; references to the environment are left to the workspace."""
    if isinstance(value, dict):
        return {key: with_names(inner, values) for key, inner in value.items()}
    if isinstance(value, list):
        return [with_names(inner, values) for inner in value]
    if not isinstance(value, str) or "$(" not in value:
        return value
    alone = _REFERENCE.fullmatch(value)
    if alone and not alone[1] and alone[2] in values:
        return values[alone[2]]

    def replaced(match: re.Match[str]) -> str:
        return str(values[match[2]]) if not match[1] and match[2] in values else match[0]

    return _REFERENCE.sub(replaced, value)


def names_in(text: str) -> str:
    """Return `text` with references as bare names: `currency of $(country)` becomes `currency of country`."""
    return _REFERENCE.sub(lambda match: match[2], text)
