"""Types of values in specs, and the checks that most kinds share."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Final, TypeAlias

from svctoolkit.json_types import Json
from svctoolkit.rudder_cli._files import SpecFile
from svctoolkit.rudder_cli._findings import Finding, Path

#: A type, a list with one shape for its items, or an object with a shape for each key.
Shape: TypeAlias = Json
ANY: Final = object()
TEXT: Final = "text"
BOOLEAN: Final = "boolean"
NUMBER: Final = "number"
OBJECT: Final = "object"
_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    TEXT: (str,),
    BOOLEAN: (bool,),
    NUMBER: (int, float),
    OBJECT: (dict,),
}
_REFERENCE: Final = "$(env:RUDDER_"
DISPLAY_NAME: Final = r"^[A-Z_a-z][ \w,.-]{1,63}[\w,.-]$"
DISPLAY_NAME_RULE: Final = "must start with a letter or _, then 2 to 64 letters, digits, spaces, or any of , . - _"


def is_open(value: Json) -> bool:
    """Whether a value contains a variable without a value: it may be anything."""
    return isinstance(value, str) and _REFERENCE in value


def type_name(value: Json) -> str:
    """Return the type of a JSON value in words."""
    if isinstance(value, bool):
        return "boolean"
    names = {str: "text", int: "number", float: "number", dict: "object", list: "list", type(None): "null"}
    return names[type(value)]


def is_of(value: Json, kind: str) -> bool:
    """Whether a value has a type. Null and open values have all of them."""
    if value is None or is_open(value):
        return True
    return isinstance(value, _TYPES[kind]) and (kind == BOOLEAN or not isinstance(value, bool))


def misfit(value: Json, shape: Shape, path: tuple[str | int, ...] = ()) -> tuple[tuple[str | int, ...], str] | None:
    """Return path and message of the first value of a wrong type. Unknown keys are allowed here."""
    if value is None or shape is ANY or is_open(value):
        return None
    if isinstance(shape, str):
        return None if is_of(value, shape) else (path, f"must be {shape}, not {type_name(value)}")
    if isinstance(shape, list):
        if not isinstance(value, list):
            return path, f"must be a list, not {type_name(value)}"
        return next((m for i, item in enumerate(value) if (m := misfit(item, shape[0], (*path, i)))), None)
    if not isinstance(value, dict):
        return path, f"must be an object, not {type_name(value)}"
    return next(
        (m for key, inner in value.items() if key in shape and (m := misfit(inner, shape[key], (*path, key)))), None
    )


def unknown_key(value: Json, shape: Shape, path: tuple[str | int, ...] = ()) -> tuple[str | int, ...] | None:
    """Return the path of the first key that a shape does not have."""
    if isinstance(value, list) and isinstance(shape, list):
        return next((p for i, item in enumerate(value) if (p := unknown_key(item, shape[0], (*path, i)))), None)
    if not isinstance(value, dict) or not isinstance(shape, dict):
        return None
    for key, inner in value.items():
        if key not in shape:
            return (*path, key)
        if found := unknown_key(inner, shape[key], (*path, key)):
            return found
    return None


class Checker:
    """Collects the findings of one file. Paths start below `spec`."""

    def __init__(self, file: SpecFile, rule: str) -> None:
        self.file, self.rule = file, rule
        self.findings: list[Finding] = []

    def add(self, path: Path, message: str, *, rule: str = "") -> None:
        """Add a finding below `spec`."""
        self.findings.append(self.file.finding(rule or self.rule, ("spec", *path), message))

    def fits(self, shape: Shape) -> bool:
        """Whether all values have their types. rudder-cli reports one finding for the whole spec."""
        wrong = misfit(self.file.spec, shape)
        if wrong is None:
            return True
        path, message = wrong
        line, column = self.file.position(("spec", *path))
        at = ".".join(map(str, path))
        finding = self.file.finding(self.rule, ("spec",), f"'{at}' {message}")
        self.findings.append(replace(finding, cause=f"{self.file.name}:{line}:{column}"))
        return False

    def needs(self, item: Mapping[str, Json], path: Path, *keys: str) -> None:
        """Report keys that are absent, null or empty."""
        for key in keys:
            if item.get(key) in (None, "", [], {}):
                self.add((*path, key), f"{key!r} is required")

    def one_of(self, item: Mapping[str, Json], path: Path, key: str, values: Iterable[str]) -> None:
        """Report a value that is not in a list."""
        value = item.get(key)
        allowed = list(values)
        if value not in (None, "") and not is_open(value) and value not in allowed:
            self.add((*path, key), f"{key!r} must be one of {', '.join(allowed)}: found {value!r}")

    def text(
        self,
        item: Mapping[str, Json],
        path: Path,
        key: str,
        *,
        least: int = 0,
        most: int = 0,
        pattern: str = "",
        rule: str = "",
    ) -> None:
        """Report a text that is too short or too long, or does not match. Absent and empty texts are allowed."""
        value = item.get(key)
        if not isinstance(value, str) or not value or is_open(value):
            return
        if least and len(value) < least:
            self.add((*path, key), f"{key!r} must have at least {least} characters")
        elif most and len(value) > most:
            self.add((*path, key), f"{key!r} must have at most {most} characters")
        elif pattern and not go_pattern(pattern).search(value):
            self.add((*path, key), f"{key!r} is not valid: {rule or f'must match {pattern}'}")


@cache
def go_pattern(pattern: str) -> re.Pattern[str]:
    r"""Compile a pattern of Go: `$` is the end of the text, and `\w` is ASCII."""
    return re.compile("".join(_translated(pattern)), re.ASCII)


def _translated(pattern: str) -> Iterator[str]:
    in_class = escaped = False
    for char in pattern:
        if char == "$" and not in_class and not escaped:
            yield r"\Z"
            continue
        if not escaped:
            in_class = in_class or char == "["
            if char == "]":
                in_class = False
        escaped = char == "\\" and not escaped
        yield char


def reference(kind: str, value: Json, *, old: bool = False) -> str | None:
    """Return the id in a reference to a kind; None if it is not one."""
    if not isinstance(value, str):
        return None
    if old:
        match = re.fullmatch(rf"#/{_OLD_KINDS[kind]}/[a-zA-Z0-9_-]+/([a-zA-Z0-9_-]+)", value)
    else:
        match = re.fullmatch(rf"#{kind}:([a-zA-Z0-9_-]+)", value)
    return match[1] if match else None


def reference_form(kind: str, *, old: bool) -> str:
    """Return how a reference to a kind is written."""
    return f"#/{_OLD_KINDS[kind]}/<group>/<id>" if old else f"#{kind}:<id>"


_OLD_KINDS: Final = {
    "property": "properties",
    "event": "events",
    "category": "categories",
    "custom-type": "custom-types",
    "tracking-plan": "tp",
}


def duplicates(
    items: Iterable[tuple[Json, SpecFile, tuple[str | int, ...]]], rule: str, message: Callable[[Json], str]
) -> Iterator[Finding]:
    """Yield a finding for each item whose name another one has, too."""
    by_name: dict[Json, list[tuple[SpecFile, tuple[str | int, ...]]]] = {}
    for name, file, path in items:
        by_name.setdefault(name, []).append((file, path))
    for name, places in by_name.items():
        if len(places) > 1:
            for file, path in places:
                yield file.finding(rule, path, message(name))
