"""Check a document against a JSON Schema and explain the mistakes to its author."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from svctoolkit.errors import ConfigError, did_you_mean
from svctoolkit.json_types import Json
from svctoolkit.yamlfile._document import MAX_PROBLEMS, Document, cap, without_collector

if TYPE_CHECKING:
    from jsonschema_rs import Validator

_Error: TypeAlias = Any  # a jsonschema_rs.ValidationError: the attributes of `kind` depend on the kind

_TYPES = {
    "string": "a string",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "object": "an object",
    "array": "a list",
    "null": "empty",
}
_LIMITS = {
    "minimum": "must be {} or more",
    "maximum": "must be {} or less",
    "exclusiveMinimum": "must be more than {}",
    "exclusiveMaximum": "must be less than {}",
    "maxLength": "must have at most {} characters",
    "maxItems": "must have at most {} items",
    "maxProperties": "must have at most {} members",
    "const": "must be {}",
    "pattern": "must match the pattern {}",
    "format": "must be a {}",
    "multipleOf": "must be a multiple of {}",
}
#: words for a key that are too far from its name for `did_you_mean`
_SYNONYMS = {"people": "users", "width": "concurrency"}


class Misfit(NamedTuple):
    """A value that does not match a schema, at `path` or at its key. `unknown`: the key must be removed."""

    path: list[str | int]
    message: str
    missing: str = ""
    unknown: bool = False

    @property
    def at_key(self) -> bool:
        return self.unknown or bool(self.missing)


def misfits(data: Json, schema: Mapping[str, Json]) -> list[Misfit]:
    """Return the ways in which `data` does not match `schema` (JSON Schema 2020-12), about `MAX_PROBLEMS` at most.

    A misspelt key counts once, not as one unknown and one missing key.
    """
    problems: list[Misfit] = []
    with without_collector():
        for problem in _validator(json.dumps(schema)).iter_errors(data):
            problems += _explain(problem, schema, data)
            if len(problems) > 3 * MAX_PROBLEMS:
                break
    return list(_without_echoes(problems))


def check(document: Document, schema: Mapping[str, Json], error: type[ConfigError]) -> None:
    """Raise `error` with every mismatch between the document and `schema` (JSON Schema 2020-12), in file order."""
    problems = misfits(document.data, schema)
    if problems:
        problems.sort(key=lambda f: document.position(f.path, key=f.at_key))
        raise error(cap(document.problem(f.path, f.message, key=f.at_key) for f in problems))


@lru_cache(maxsize=16)
def _validator(schema: str) -> Validator:
    import jsonschema_rs  # 15 ms

    return jsonschema_rs.validator_for(schema)


def _explain(problem: _Error, schema: Mapping[str, Any], data: Json) -> Iterator[Misfit]:
    kind, path = problem.kind.name, _path(problem, data)
    rule = _part(schema, problem.schema_path[:-1])
    if kind in ("anyOf", "oneOf"):
        yield from _alternatives(problem, schema, data)
    elif kind in ("additionalProperties", "unevaluatedProperties"):
        properties = rule.get("properties", {})
        for name in problem.kind.value[: MAX_PROBLEMS + 1]:
            yield Misfit([*path, name], f"unknown key {name!r}.{_instead(name, properties)}", unknown=True)
    elif kind == "required":
        yield Misfit(path, f"{_label(path)} needs {problem.kind.value!r}", missing=problem.kind.value)
    elif kind == "propertyNames":
        name, names = problem.kind.value.instance, getattr(problem.kind.value.kind, "options", ())
        instead = _instead(name, dict.fromkeys(map(str, names)))
        yield Misfit([*path, name], f"the key {name!r} is not allowed here.{instead}", unknown=True)
    else:
        value = "" if rule.get("writeOnly") else _value_in_words(problem.instance)
        yield Misfit(path, f"{_label(path)} {_demand(problem, rule, value)}")


def _path(problem: _Error, data: Json) -> list[str | int]:
    """Return the path of a value. The validator cannot distinguish the key `"1"` from the second item of a list."""
    path: list[str | int] = []
    inner = data
    for step in problem.instance_path:
        path.append(step if isinstance(inner, list) else str(step))
        inner = inner[step] if isinstance(inner, list) else inner.get(str(step)) if isinstance(inner, dict) else None
    return path


def _alternatives(problem: _Error, schema: Mapping[str, Any], data: Json) -> Iterator[Misfit]:
    """Explain the alternative that was most likely meant. If none has the value's type, list the allowed types."""
    path = _path(problem, data)
    branches: list[list[_Error]] = [list(b) for b in problem.kind.context if b]
    wrong_kind = [e for b in branches for e in b if e.kind.name == "type" and _path(e, data) == path]
    near = [b for b in branches if not any(e in b for e in wrong_kind)]
    if near:
        for inner in min(near, key=lambda b: (any(e.kind.name == "const" for e in b), len(b))):
            yield from _explain(inner, schema, data)
    elif wrong_kind:
        types = [t for e in wrong_kind for t in e.kind.types]
        hidden = any(_part(schema, e.schema_path[:-1]).get("writeOnly") for e in wrong_kind)
        yield Misfit(path, f"{_label(path)} {_must_be(types, '' if hidden else _value_in_words(problem.instance))}")
    else:
        yield Misfit(path, f"{_label(path)} matches more than one of the forms allowed here")


def _demand(problem: _Error, rule: Mapping[str, Any], instance: str) -> str:
    kind = problem.kind.name
    value: Any = getattr(problem.kind, "value", None)
    but = f", not {instance}" if instance else ""
    if kind == "type":
        return _must_be(problem.kind.types, instance)
    if kind == "enum":
        options = [str(o) for o in value]
        near = did_you_mean(problem.instance, options) if isinstance(problem.instance, str) and instance else ""
        return f"must be one of {', '.join(options)}{but}{'.' + near if near else ''}"
    if kind in ("minLength", "minItems", "minProperties"):
        return "must not be empty" if value == 1 else f"must have {value} or more"
    if kind == "uniqueItems":
        return "must not have the same item twice"
    if kind in _LIMITS:
        meant = f" ({rule['description']})" if kind == "pattern" and "description" in rule else ""
        return _LIMITS[kind].format(value) + meant + but
    return f"does not fit: {problem.message}" if instance else "does not fit"


def _must_be(types: Iterable[str], instance: str) -> str:
    names = list(dict.fromkeys(types))
    named = [_TYPES[t] for t in names if t != "null" or len(names) == 1]
    quotes = (
        " (put it in quotes)"
        if "string" in names and (instance in ("true", "false") or re.match("-?[0-9]", instance))
        else ""
    )
    return f"must be {' or '.join(named)}" + (f", not {instance}{quotes}" if instance else "")


def _value_in_words(value: Any) -> str:
    if value is None:
        return "empty"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, str):
        return repr(value if len(value) <= 40 else f"{value[:39]}…")
    return json.dumps(value)[:40]


def _label(path: Sequence[str | int]) -> str:
    """Return how an error refers to the value at `path`: `'type'`, `item 2 of 'tags'`."""
    if not path:
        return "the file"
    last = path[-1]
    if isinstance(last, str):
        return repr(last)
    return f"item {last + 1} of {_label(path[:-1])}"


def _instead(name: str, names: Mapping[str, Any]) -> str:
    if (meant := _SYNONYMS.get(name)) in names:
        return f" Did you mean {meant!r}?"
    return did_you_mean(name, names) or (f" Known keys: {', '.join(names)}." if 0 < len(names) <= 20 else "")


def _part(schema: Mapping[str, Any], path: Sequence[str | int]) -> Mapping[str, Any]:
    node: Any = schema
    for step in path:
        node = node[step]
    return node if isinstance(node, Mapping) else {}


def _without_echoes(problems: list[Misfit]) -> Iterator[Misfit]:
    """Drop each `needs 'type'` that goes with an `unknown key 'typ'`: it is a single mistake."""
    unknown: dict[tuple[str | int, ...], list[str]] = {}
    for f in problems:
        if f.unknown:
            unknown.setdefault(tuple(f.path[:-1]), []).append(str(f.path[-1]))
    for f in problems:
        if not (f.missing and did_you_mean(f.missing, unknown.get(tuple(f.path), []))):
            yield f
