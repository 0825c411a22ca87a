"""`$(name)`: a value by its name. Alone it keeps its type, inside text it becomes text.

`$(env:NAME)` is an environment variable, `$(env:NAME:-default)` has a default; what comes from there is masked in every
report. `$(var:NAME)` is an environment variable that anybody may see. `$(secret:NAME)` is the same as `$(env:NAME)`.
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
from svctoolkit.yamlfile import Document

Path = tuple[str | int, ...]
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_REFERENCE = re.compile(rf"\$(\$?)\(((?:env|var|secret):[^():]+(?::-[^()]*)?|(?:{PATTERN})(?=\))|{NAME.pattern})\)")


@dataclass(slots=True)
class Environment:
    """Environment variables. `secrets` collects the values that were asked for as `$(env:NAME)`, `$(secret:NAME)`."""

    values: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)
    secrets: set[str] = field(default_factory=set, repr=False)

    def get(self, reference: str) -> str | None:
        """The value of `env:NAME`, `env:NAME:-default`, `var:NAME` or `secret:NAME`; None where there is none."""
        kind, _, rest = reference.partition(":")
        name, has_default, default = rest.partition(":-")
        value = self.values.get(name)
        if value and kind != "var":  # a default stands in the file for everybody to see
            self.secrets.add(value)
        return value or (default if has_default else None)


class Variables:
    """The values that `$(name)` stands for in one scenario. `$$(name)` is the text `$(name)` itself.

    `later` are names that get their value while the scenario runs; until then they stay as they are.
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
        """These and more; the new ones rule."""
        return Variables({**self.values, **values}, self.environment, self.later - values.keys(), self.moments)

    def with_later(self, names: frozenset[str]) -> Variables:
        return Variables(self.values, self.environment, names, self.moments)

    def with_moments(self, moments: Moments) -> Variables:
        """These, with times and ids of a scenario of its own."""
        return Variables(self.values, self.environment, self.later, moments)

    def apply(self, value: Json) -> Json:
        """`value` with every reference replaced; itself where it has none, for most values do not.

        References to what is not there stay: see `unknown`.
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
        if alone and not alone[1]:
            return self._value(alone[2], text)
        return _REFERENCE.sub(self._inside, text)

    def _inside(self, match: re.Match[str]) -> str:
        if match[1]:
            return match[0][1:]
        value = self._value(match[2], match[0])
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

    def _value(self, name: str, otherwise: str) -> Any:
        if name.startswith(("env:", "var:", "secret:")):
            value = self.environment.get(name)
            return otherwise if value is None else value
        if name in self.later:
            return otherwise
        if name in self.values:
            return self.values[name]
        moment = self.moments.value(name) if self.moments else None
        return otherwise if moment is None else moment

    def pending(self, value: Json) -> bool:
        """Whether `value` has a reference to a name that gets its value later."""
        if isinstance(value, str):
            return "$" in value and any(not e and n in self.later for e, n in _REFERENCE.findall(value))
        if isinstance(value, dict):
            return any(map(self.pending, value.values()))
        return isinstance(value, list) and any(map(self.pending, value))

    def unknown(self, value: Json, document: Document, path: Path) -> Iterator[Problem]:
        """A problem for each reference in `value` (which stands at `path`) to a variable that is not there."""
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
            variable = name.partition(":")[2].partition(":-")[0]
            if self.environment.get(name) is not None:
                return ""
            default = "" if name.startswith("secret:") else f", or write $({name}:-default)"
            return f"the environment variable {variable} is not set: set it{default}"
        if name in self.values or name in self.later or (self.moments and self.moments.value(name)):
            return ""
        if self.moments and re.fullmatch(PATTERN, name):
            return f"$({name}) is a time that no calendar has"
        hint = did_you_mean(name, [*self.values, *self.later]) or f" Write $$({name}) for the text itself."
        return f"no variable is called {name!r}.{hint}"


def with_names(value: Json, values: Mapping[str, Json]) -> Json:
    """`value` with the plain names in it replaced: what stands for the environment is the workspace's own to read."""
    if isinstance(value, dict):
        return {key: with_names(inner, values) for key, inner in value.items()}
    if isinstance(value, list):
        return [with_names(inner, values) for inner in value]
    if not isinstance(value, str) or "$(" not in value:
        return value
    alone = _REFERENCE.fullmatch(value)
    if alone and not alone[1] and alone[2] in values:
        return values[alone[2]]
    return _REFERENCE.sub(lambda match: str(values[match[2]]) if match[2] in values else match[0], value)


def names_in(text: str) -> str:
    """`text` with the bare names of its references: `currency of $(country)` is `currency of country`."""
    return _REFERENCE.sub(lambda match: match[2], text)
