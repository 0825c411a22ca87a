"""`$use`: a named value, optionally with parts of it replaced.

send: {$use: order, $set: {properties.revenue: 22.5}, $unset: [context.ip]}
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from svctoolkit import inputs, yamlfile
from svctoolkit.errors import ConfigError, Problem, did_you_mean
from svctoolkit.expect.names import near_path
from svctoolkit.json_types import Json
from svctoolkit.runner.suite.common import Common, is_file
from svctoolkit.yamlfile import Document

_MEMBERS = {"$use", "$set", "$unset"}


class Fixtures:
    """The fixtures of one suite, with those that `common` shares. Files are read on first use."""

    def __init__(self, document: Document, folder: Path, problems: list[Problem], common: Common) -> None:
        self._own: Mapping[str, Any] = document.data.get("fixtures", {})
        self._entries: Mapping[str, Any] = common.section("fixtures", self._own)
        self._common = common
        self._document, self._folder, self._problems = document, folder, problems
        self._values: dict[str, tuple[Any, inputs.Inputs]] = {}
        # Most suites have no fixtures, and walking every value of a large suite takes time.
        self._needed = any("$use" in text for text in (document.text, *common.texts()))
        self._open: list[str] = []
        self.used: set[str] = set()

    @property
    def names(self) -> list[str]:
        """The fixtures of the suite itself."""
        return list(self._own)

    @property
    def has_files(self) -> bool:
        """Whether any fixture is a file."""
        return any(map(is_file, self._entries.values()))

    def check_unused(self) -> None:
        """Check fixtures that no scenario uses. Their files must exist, but are not read."""
        used = set(self.used)
        for name, entry in self._own.items():
            if name not in used and not (is_file(entry) and (self._folder / entry).is_file()):
                self._of(name, ["fixtures", name])
        # Restored, because checking a fixture marks what it refers to as used.
        self.used = used

    def apply(self, value: Json, place: Sequence[str | int]) -> Json:
        """Return `value`, at `place` in the suite, with every `$use` replaced. It is only copied if it contains one."""
        if not self._needed:
            return value
        if isinstance(value, dict):
            if "$use" in value:
                return self._use(value, place)
            # `$literal` protects its content, also from `$use`.
            members = {k: v if k == "$literal" else self.apply(v, (*place, k)) for k, v in value.items()}
            return members if any(members[k] is not v for k, v in value.items()) else value
        if isinstance(value, list):
            items = [self.apply(v, (*place, n)) for n, v in enumerate(value)]
            return items if any(a is not b for a, b in zip(items, value, strict=True)) else value
        return value

    def _use(self, value: dict[str, Any], place: Sequence[str | int]) -> Any:
        wrong = next((key for key in value if key not in _MEMBERS), None)
        if wrong is not None:
            self._problem(
                [*place, wrong],
                f"{wrong!r} cannot be combined with $use: write $set: {{{wrong}: ...}}.{did_you_mean(wrong, _MEMBERS)}",
            )
            return {}
        fixture = self._of(value["$use"], place)
        for name, kind, wanted in (("$set", dict, "a map of paths and values"), ("$unset", list, "a list of paths")):
            if not isinstance(value.get(name) or kind(), kind):
                self._problem([*place, name], f"{name} must be {wanted}")
                return fixture
        for path, new in (value.get("$set") or {}).items():
            if near := near_path(fixture, str(path).split("."), new):
                self._problem([*place, "$set", path], _misspelt(str(path), near))
            try:
                fixture = _with(fixture, str(path).split("."), self.apply(new, (*place, "$set", path)))
            except LookupError as error:
                self._problem([*place, "$set", path], str(error.args[0]))
        for index, path in enumerate(value.get("$unset") or ()):
            try:
                fixture = _without(fixture, str(path).split("."))
            except LookupError as error:
                self._problem([*place, "$unset", index], str(error.args[0]))
        return fixture

    def _of(self, name: Any, place: Sequence[str | int]) -> Any:
        if not isinstance(name, str) or name not in self._entries:
            near = did_you_mean(str(name), self._entries)
            hint = f" Available: {', '.join(self._entries)}." if self._entries and not near else ""
            self._problem([*place, "$use"], f"unknown fixture {str(name)!r}.{near}{hint}")
            return {}
        if name in self._open:
            cycle = " -> ".join([*self._open[self._open.index(name) :], name])
            self._problem([*place, "$use"], f"circular fixture: {cycle}")
            return {}
        self.used.add(name)
        if name not in self._values:
            # A stack of what is being loaded, to detect cycles.
            self._open.append(name)
            with inputs.recording() as read:
                value = self._load(self._entries[name], list(self._common.place("fixtures", name, self._own)))
            self._values[name] = value, read
            self._open.pop()
        value, read = self._values[name]
        inputs.replay(read)  # each scenario that uses it depends on its file
        return value

    def _load(self, entry: Any, place: list[str | int]) -> Any:
        """Return a fixture as written, or the content of its file."""
        if not is_file(entry):
            return self.apply(entry, place)
        path = self._folder / entry
        try:
            return self.apply(load_file(path), place)
        except ConfigError as error:
            self._problems += [
                p if p.where != yamlfile.display_name(path) else self._at(place, p) for p in error.problems
            ]
            return {}

    def _at(self, place: list[str | int], problem: Problem) -> Problem:
        return self._document.problem(place, str(problem))

    def _problem(self, place: Sequence[str | int], message: str) -> None:
        self._problems.append(self._document.problem(list(place), message))


def _misspelt(path: str, near: str) -> str:
    steps, others = path.split("."), near.split(".")
    index = next(n for n, (step, other) in enumerate(zip(steps, others, strict=True)) if step != other)
    if not index:
        return f"an event has no member {steps[0]!r}. Did you mean {others[0]!r}?"
    there, here = ".".join(others[: index + 1]), ".".join(steps[: index + 1])
    parent = ".".join(steps[:index])
    return f"the fixture has no {here!r}. Did you mean {there!r}? To have both, set {parent!r} as a whole"


def load_file(path: Path) -> Json:
    """Return the value in a .json, .ndjson or .yaml file. Raises `ConfigError` with the position of a mistake."""
    if path.suffix != ".ndjson":
        return yamlfile.load(path).data
    values = [value for _, value in json_lines(path)]
    if problems := [value for value in values if isinstance(value, Problem)]:
        raise ConfigError(problems[0])
    return values


def json_lines(path: Path) -> Iterator[tuple[int, Json | Problem]]:
    """Yield the lines of an NDJSON file that are not empty: their numbers, and the value of each or what is wrong.

    Raises `ConfigError` for a truncated file, whose last line has no end and is not JSON.
    """
    name = yamlfile.display_name(path)
    # JSON may contain characters at which `splitlines` would end a line, such as U+2028.
    lines = yamlfile.load_text(path).split("\n")
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                value = json.loads(line)
            except ValueError as error:
                if number == len(lines):
                    raise ConfigError(
                        "the file ends within a record: it is truncated", where=f"{name}:{number}"
                    ) from None
                value = Problem("not JSON", f"{name}:{number}:{getattr(error, 'colno', 1)}")
            except RecursionError:
                value = Problem("nested too deeply", f"{name}:{number}:1")
            yield number, value


def _with(value: Any, path: list[str], new: Any) -> Any:
    """Return a copy of `value` with `new` at `path`. Only the containers along the path are copied."""
    if not path:
        return new
    step, rest = path[0], path[1:]
    if isinstance(value, list):
        # `more=1`: `$set` may append one element to a list.
        index = _index(value, step, more=1)
        inner = _with(value[index] if index < len(value) else {}, rest, new)
        return [*value[:index], inner, *value[index + 1 :]]
    if isinstance(value, dict):
        return {**value, step: _with(value.get(step, {}), rest, new)}
    raise LookupError(f"{step!r} does not exist in {json.dumps(value)[:40]}")


def _without(value: Any, path: list[str]) -> Any:
    step, rest = path[0], path[1:]
    if isinstance(value, list):
        index = _index(value, step)
        return [*value[:index], *([_without(value[index], rest)] if rest else []), *value[index + 1 :]]
    if isinstance(value, dict) and step in value:
        others = {k: v for k, v in value.items() if k != step}
        return {**value, step: _without(value[step], rest)} if rest else others
    raise LookupError(f"{step!r} does not exist.{did_you_mean(step, value) if isinstance(value, dict) else ''}")


def _index(value: list[Any], step: str, *, more: int = 0) -> int:
    if not (step.isascii() and step.isdigit()) or int(step) >= len(value) + more:
        raise LookupError(f"index {step!r} does not exist: the list has {len(value)} elements, numbered from 0")
    return int(step)
