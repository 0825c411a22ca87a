"""The schema that editors check suites with: it also knows matchers, destination types, their settings, and calls."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any, TypeAlias

from svctoolkit.runner.expect.matchers import MATCHERS
from svctoolkit.runner.suite.calls import CALLS, parameters
from svctoolkit.runner.suite.claims import MEMBERS, WORDS
from svctoolkit.runner.suite.format import schema

Schema: TypeAlias = dict[str, Any]

_VARIABLE: Schema = {"type": "string", "pattern": r"^\$\([^()]+\)$", "description": "a variable: $(name)"}
_ANY: Schema = {"$ref": "#/$defs/Expectation"}
#: What a matcher takes, where that is not any expectation.
_OPERANDS: Mapping[str, Schema] = {
    **{name: {"type": "array", "items": _ANY, "minItems": 1} for name in ("all", "any")},
    **{name: {"type": "string", "minLength": 1} for name in ("starts", "ends", "regex")},
    **{name: {"type": ["number", "string"]} for name in ("gt", "gte", "lt", "lte")},
    "absent": {"type": "boolean"},
    "approx": {"type": "number"},
    "tol": {"type": "number", "minimum": 0},
    "keys": {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"$ref": "#/$defs/Matchers"}]},
    "length": {"anyOf": [{"type": "integer", "minimum": 0}, {"$ref": "#/$defs/Matchers"}]},
    "literal": {},
    "only": {"type": "object", "minProperties": 1, "additionalProperties": _ANY},
    "query": {"type": "object", "minProperties": 1, "additionalProperties": _ANY},
    "snapshot": {"anyOf": [{"const": True}, {"type": "string", "pattern": r"^[A-Za-z0-9][A-Za-z0-9_.-]*$"}]},
    "unique": {"anyOf": [{"const": True}, {"type": "string"}]},
    "unordered": {"type": "array", "items": _ANY},
}


@cache
def editor_schema() -> Schema:
    """The JSON Schema (2020-12) of a suite file, for editors: larger than what is checked when a suite is read."""
    from svctoolkit.workspace import schema as workspace_schema

    whole: Schema = json.loads(json.dumps(schema()))
    shapes = json.loads(json.dumps(workspace_schema()))["$defs"]
    definitions = whole["$defs"]
    definitions |= {name: shape for name, shape in shapes.items() if name not in definitions}
    definitions |= {"Matchers": _matchers(), "Expectation": _expectation(), "Call": _call()}
    definitions |= dict(_configurations())
    definitions["DestinationShape"] |= _by_type()
    workspace = shapes["WorkspaceShape"]["properties"]
    for name in ("sources", "destinations", "transformations", "libraries", "people"):
        definitions["Suite"]["properties"][name] = workspace[name]
    for name in ("Step", "Scenario"):
        definitions[name]["properties"]["calls"] = {
            "description": "calls of ServiceClient, in order",
            "type": "array",
            "items": {"$ref": "#/$defs/Call"},
        }
    expected = definitions["Expect"]["properties"]
    for name in expected.keys() - {"capture"}:
        expected[name] = {"description": expected[name].get("description", ""), **_result(name)}
    for name in ("Suite", "Scenario"):
        properties = definitions[name]["properties"]
        properties["never"] |= {"items": _ANY}
        stages = {"user_transform": _ANY, "dest_transform": _ANY, "delivered": _result("delivered")}
        properties["always"] |= {"properties": stages}
    for definition in definitions.values():
        _describe(definition)
    return whole


def _matchers() -> Schema:
    """An object of matchers: none of them misspelt, and each with what it takes."""
    properties = {}
    for name in MATCHERS:
        text = (import_module(MATCHERS[name].differences.__module__).__doc__ or "").partition("\n")[0]
        operand = _OPERANDS.get(name, _ANY)
        properties[f"${name}"] = (
            {"description": text, "anyOf": [operand, _VARIABLE]} if operand else {"description": text}
        )
    properties["$type"] = {"description": "a kind of value", "anyOf": [{"enum": _kinds()}, _VARIABLE]}
    return {
        "title": "Matchers",
        "description": "what is expected, in other ways than by a value",
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
        "minProperties": 1,
    }


def _kinds() -> list[str]:
    from svctoolkit.runner.expect.matchers.values.type import KINDS

    return list(KINDS)


def _expectation() -> Schema:
    """A value, or matchers. A key one slip away from a matcher's name is a mistake, others with `$` are keys."""
    names = "|".join(MATCHERS.names())
    return {
        "title": "Expectation",
        "description": "a value, an object of which these members are expected, a list, or matchers ($regex, ...)",
        "if": {"type": "object", "anyOf": [{"required": [f"${name}"]} for name in MATCHERS]},
        "then": {"$ref": "#/$defs/Matchers"},
        "else": {
            "if": {"type": "object"},
            "then": {
                "additionalProperties": _ANY,
                "propertyNames": {"not": {"pattern": rf"^\$(?!(?:{names})$)(?:{'|'.join(sorted(_slips()))})$"}},
            },
            "else": {"if": {"type": "array"}, "then": {"items": _ANY}},
        },
    }


def _slips() -> Iterator[str]:
    """Patterns for names that differ from a matcher's by one letter, or by capitals."""
    for name in MATCHERS:
        yield "".join(f"[{letter}{letter.upper()}]" for letter in name)
        for at in range(len(name)) if len(name) > 3 else ():
            yield f"{name[:at]}.{name[at + 1 :]}"
            yield f"{name[:at]}{name[at + 1 :]}"
            yield f"{name[:at]}.{name[at:]}"
            yield f"{name[:at]}{name[at + 1 : at + 2]}{name[at]}{name[at + 2 :]}"
        if len(name) > 3:
            yield f"{name}."


def _result(name: str) -> Schema:
    """What may be expected of one result: for records their members are known."""
    if name not in MEMBERS:
        return _ANY
    record: Schema = {
        "type": "object",
        "properties": dict.fromkeys(MEMBERS[name], _ANY),
        "additionalProperties": False,
        "description": WORDS[name],
    }
    one: Schema = {"anyOf": [{"$ref": "#/$defs/Matchers"}, record, _VARIABLE]}
    if name == "response":
        return one
    many: Schema = {"type": "array", "items": one}
    number = (
        [{"type": "integer", "minimum": 0}] if name == "attempts" else [{"const": "any"}] if name == "failed" else []
    )
    by_destination = {"type": "object", "additionalProperties": {"anyOf": [*one["anyOf"], many, *number]}}
    return {"anyOf": [*one["anyOf"], many, *number, {**by_destination, "minProperties": 1}]}


def _call() -> Schema:
    return {
        "title": "Call",
        "description": "one call of ServiceClient with its arguments",
        "type": "object",
        "minProperties": 1,
        "maxProperties": 1,
        "properties": {name: _arguments(name) for name in CALLS},
        "additionalProperties": False,
    }


def _arguments(call: str) -> Schema:
    """Named arguments in either spelling, a list, or the only one."""
    names = list(parameters(call))
    spellings = [spelling for name in names for spelling in dict.fromkeys((name, _camel(name)))]
    return {
        "description": f"{call}({', '.join(names)})",
        "anyOf": [
            {"type": "object", "properties": {spelling: {} for spelling in spellings}, "additionalProperties": False},
            {"type": "array", "maxItems": len(names)},
            {"type": ["string", "number", "boolean", "null"]},
        ],
    }


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.title() for word in rest)


def _configurations() -> Iterator[tuple[str, Schema]]:
    """The settings of each destination type, with the descriptions of its definition."""
    from svctoolkit.destinations import definitions

    for name in definitions.names():
        definition = definitions.get(name)
        names = [*definitions.variables(name), *definitions.COMMON_VARIABLES]
        names += [key.split(".")[0] for key in definition.secret_keys]
        yield (
            f"{name} settings",
            {
                "description": f"settings of {definition.display_name}",
                "type": "object",
                "properties": {key: _setting(key, definition.variables.get(key)) for key in dict.fromkeys(names)},
                "additionalProperties": False,
            },
        )


def _setting(name: str, variable: Any) -> Schema:
    if variable is None:
        return {"description": name}
    described: Schema = {"description": variable.label or name}
    if variable.kind == "choice" and all(isinstance(option, str) for option in variable.options) and variable.options:
        loose = {"type": "string", "pattern": r"^\$\(|^\{\{|^env\.|^$"}
        return {**described, "anyOf": [{"enum": list(variable.options)}, loose]}
    if variable.kind == "switch":
        return {**described, "anyOf": [{"type": "boolean"}, _VARIABLE, {"type": "object"}]}
    return described


def _by_type() -> Schema:
    """A destination's `config` by its `type`."""
    from svctoolkit.destinations import definitions

    names = definitions.names()
    rules = [
        {
            "if": {"properties": {"type": {"const": name}}, "required": ["type"]},
            "then": {"properties": {"config": {"$ref": f"#/$defs/{name.replace('~', '~0')}%20settings"}}},
        }
        for name in names
    ]
    return {"allOf": [{"properties": {"type": {"enum": names}}}, *rules]}


#: What properties are that say nothing of themselves.
_TEXTS = {
    "scenarios": "what is checked, each on its own",
    "version": "of this format",
    "suite": "what reports call it",
    "tags": "words to select scenarios by",
    "sources": "where events come from, by key",
    "destinations": "where events go, by key",
    "transformations": "the user's code, by key",
    "libraries": "code that transformations import, by key",
    "people": "who may use the Test API",
    "vars": "variables: $(name) stands for their values",
    "defaults": "what scenarios have that do not say otherwise",
    "setup": "done before each scenario, which must go well",
    "teardown": "done after each scenario, also after a failure",
    "ignore": "paths that are never compared",
    "freeze": "a clock that stands still, and ids that count",
    "name": "what reports call it",
    "id": "what selects it",
    "email": "e-mail address of the account",
    "token": "personal access token",
    "method": "HTTP method",
    "headers": "HTTP headers",
    "status": "HTTP status",
    "body": "what is in it",
    "delay": "how long it waits before it answers",
    "stages": "which stages run",
    "user_transform": "the user's code",
    "dest_transform": "the mapping to the destination's payload",
    "send_to_destination": "the request to the destination",
    "force": "also for what is disabled",
    "destinationConfig": "settings of the destination for this alone",
    "expect": "what must come of it",
    "request": "a request as it is",
    "live": "also against the real service, with --live",
    "skip": "why it does not run",
    "xfail": "why it is expected to fail",
    "destination": "key or id of a destination",
    "source": "key or id of a source",
    "ids": "sequence: they count from 1 in each scenario",
    "verify": "a request that is repeated until it answers as expected",
    "within": "how long to ask",
    "every": "how often to ask",
    "enabled": "whether it takes part",
    "config": "its settings",
    "type": "its type",
    "recorder": "how destinations answer",
    "code": "the code itself",
    "language": "python or javascript",
    "file": "a file, relative to this one",
    "never": "what no stage gives and no request has",
    "always": "what each of these matches",
    "exact": "nothing is there but what is expected",
    "limit": "how long it may take",
}


def _describe(definition: Schema) -> None:
    for name, part in definition.get("properties", {}).items():
        if isinstance(part, dict) and not part.get("description"):
            part["description"] = _TEXTS.get(name, name.replace("_", " "))
