"""A tracking plan's rule for one event."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from svctoolkit.json_types import Json
from svctoolkit.plans.schema.dialect import DEFAULT_OPTIONS, Options
from svctoolkit.plans.schema.javascript import pointer_tokens
from svctoolkit.plans.violation import REQUIRED_MISSING, Violation

if TYPE_CHECKING:
    from svctoolkit.plans.schema.compiler import Checker

Place = tuple[str | int, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Rule:
    """The allowed form of one event: `schema` is a JSON Schema for the whole event.

    `type` is the event type, `name` the name of a track event (empty for others), `section` where its properties are
    (`properties`, `traits`, `context.traits`). `where` is `file:line:col`, and `locate` returns the position of a part
    of the schema by its path, if the format supports that.
    """

    type: str
    name: str
    schema: Mapping[str, Any]
    section: str = "properties"
    description: str = ""
    where: str = ""
    locate: Callable[[Place, bool], str] | None = field(default=None, repr=False)

    @property
    def title(self) -> str:
        """The name of the rule in messages: `track 'Order Done'`, `identify`."""
        return f"{self.type} {self.name!r}" if self.name else self.type

    def __repr__(self) -> str:
        return f"<rule of {self.title}>"

    @property
    def section_path(self) -> Place:
        """The path of the section's schema in `schema`."""
        return tuple(step for name in self.section.split(".") for step in ("properties", name))

    @cached_property
    def body(self) -> Mapping[str, Json]:
        """The schema of the section: properties by name, and the required ones."""
        node: Any = self.schema
        for step in self.section_path:
            node = node.get(step, {}) if isinstance(node, Mapping) else {}
        return node if isinstance(node, Mapping) else {}

    def place_of(self, violation: Violation) -> str:
        """Return `file:line:col` of the violated part of the schema, or of the nearest part around it."""
        path = list(pointer_tokens(violation.schema_path))
        if violation.type == REQUIRED_MISSING:
            path = [*path[:-1], "properties", violation.property]
        return self.place(path)

    def place(self, path: Iterable[str | int], *, key: bool = False) -> str:
        """Return `file:line:col` of a part of the schema (or of its key), or of the nearest part around it."""
        if self.locate is None:
            return self.where
        sought = tuple(path), key
        if sought not in self._places:
            self._places[sought] = self.locate(self._steps(sought[0]), key)
        return self._places[sought]

    @cached_property
    def _places(self) -> dict[tuple[Place, bool], str]:
        return {}

    def _steps(self, path: Place) -> Place:
        """Convert the list indexes in a path, which a pointer writes as text, to integers."""
        node: Any = self.schema
        steps: list[str | int] = []
        for step in path:
            if isinstance(node, list):
                step = int(step) if str(step).isdecimal() else step
                node = node[step] if isinstance(step, int) and step < len(node) else None
            else:
                node = node.get(step) if isinstance(node, Mapping) else None
            steps.append(step)
        return tuple(steps)

    def checker(self, options: Options = DEFAULT_OPTIONS) -> Compiled:
        """Return the compiled schema, or why RudderStack rejects it."""
        if options is DEFAULT_OPTIONS:
            return self._checker
        if options not in self._checkers:
            self._checkers[options] = _compile(self.schema, options)
        return self._checkers[options]

    @cached_property
    def _checker(self) -> Compiled:
        return _compile(self.schema, DEFAULT_OPTIONS)

    @cached_property
    def _checkers(self) -> dict[Options, Compiled]:
        return {}


class Compiled(NamedTuple):
    """A compiled schema, or the message of its first rejection."""

    checker: Checker | None
    refusal: str


def rule_schema(schema: Mapping[str, Json]) -> Mapping[str, Json]:
    """Return the schema as RudderStack compiles it: without a top-level `version`."""
    return {key: value for key, value in schema.items() if key != "version"} if "version" in schema else schema


def _compile(schema: Mapping[str, Any], options: Options) -> Compiled:
    from svctoolkit.plans.schema.compiler import Checker  # imported lazily: only needed to check an event
    from svctoolkit.plans.schema.strictness import refusals

    schema = rule_schema(schema)
    wrong = refusals(schema, options)
    return Compiled(None, wrong[0].message) if wrong else Compiled(Checker(schema, options), "")
