"""The JSON Schema of suites for editors, which also covers matchers, destination types, their settings, and calls."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from itertools import combinations
from typing import TYPE_CHECKING, Any, TypeAlias

from svctoolkit.events import EVENT_TYPES
from svctoolkit.expect.encodings import ENCODINGS
from svctoolkit.expect.matchers import MATCHERS
from svctoolkit.runner.suite.calls import CALLS, parameters
from svctoolkit.runner.suite.checks.claims import MEMBERS, WORDS
from svctoolkit.runner.suite.format import schema

if TYPE_CHECKING:
    from svctoolkit.workspace import Workspace

Schema: TypeAlias = dict[str, Any]

_VARIABLE: Schema = {"type": "string", "pattern": r"^\$\([^()]+\)$", "description": "a variable: $(name)"}
_ANY: Schema = {"$ref": "#/$defs/Expectation"}
#: The operands of matchers that do not accept any expectation.
_OPERANDS: Mapping[str, Schema] = {
    **{name: {"type": "array", "items": _ANY, "minItems": 1} for name in ("all", "any")},
    **{name: {"type": "string", "minLength": 1} for name in ("starts", "ends", "regex")},
    **{name: {"type": ["number", "string"]} for name in ("gt", "gte", "lt", "lte")},
    **{name: {"type": ["string", "number"]} for name in ENCODINGS},
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


#: A text that RudderStack fills in when an event is processed, or a variable: of any kind.
_LATER: Schema = {"type": "string", "pattern": r"^\{\{|^env\.|\$\("}
#: What a step does: one of these.
_INPUTS = ("request", "send", "delete", "calls", "generate", "event", "python")
_OF_WAREHOUSE = ("columns", "discards", "losses")


def editor_schema(workspace: Workspace | None = None) -> Schema:
    """Return the JSON Schema (2020-12) of a suite file for editors, which is larger than the one for loading suites.

    With a `workspace`, it has the names of its sources, destinations, transformations and planned events, and the
    fixtures of the suites that use it.
    """
    whole: Schema = json.loads(json.dumps(_general()))
    if workspace is not None:
        from svctoolkit.runner.suite.editor.names import add_names

        add_names(whole, workspace, lambda names: f"^(?:{'|'.join(_typos(names, escape=True))})$")
    return whole


@cache
def _general() -> Schema:
    from svctoolkit.workspace import schema as workspace_schema

    # A deep copy: the schema for loading is cached, and this one is changed below.
    whole: Schema = json.loads(json.dumps(schema()))
    shapes = json.loads(json.dumps(workspace_schema()))["$defs"]
    definitions = whole["$defs"]
    definitions |= {name: shape for name, shape in shapes.items() if name not in definitions}
    definitions |= {"Matchers": _matchers(), "Expectation": _expectation(), "Call": _call()}
    definitions |= {"Event": _event(), "Tables": _tables(), "Events": _events()}
    definitions |= dict(_configurations())
    definitions["DestinationShape"] |= _by_type()
    workspace = shapes["WorkspaceShape"]["properties"]
    for name in ("sources", "destinations", "transformations", "libraries", "users", "trackingPlans"):
        definitions["Suite"]["properties"][name] = workspace[name]
    for name in ("Step", "Scenario"):
        definitions[name]["properties"]["calls"] = {
            "description": "calls of ServiceClient, in order",
            "type": "array",
            "items": {"$ref": "#/$defs/Call"},
        }
        for member in ("send", "event"):
            text = definitions[name]["properties"][member]["description"]
            definitions[name]["properties"][member] = {"description": text, "$ref": "#/$defs/Events"}
        pairs = [list(pair) for pair in combinations(_INPUTS, 2)]
        definitions[name] |= {"allOf": [{"not": {"required": pair}} for pair in pairs]}
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
    """Return the schema of an object of matchers: only known names, each with its operand."""
    properties = {}
    for name in MATCHERS:
        text = (import_module(MATCHERS[name].differences.__module__).__doc__ or "").partition("\n")[0]
        operand = _OPERANDS.get(name, _ANY)
        properties[f"${name}"] = (
            {"description": text, "anyOf": [operand, _VARIABLE]} if operand else {"description": text}
        )
    properties["$type"] = {"description": "a type of value", "anyOf": [{"enum": _kinds()}, _VARIABLE]}
    return {
        "title": "Matchers",
        "description": "an expectation by matchers",
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
        "minProperties": 1,
    }


def _events() -> Schema:
    """Return the schema of what is sent: an event, a list of events, or a variable."""
    webhook = {"required": ["webhook"], "not": {"required": ["type"]}}
    one: Schema = {"if": webhook, "then": _webhook(), "else": {"$ref": "#/$defs/Event"}}
    return {"title": "Events", "if": {"type": "array"}, "then": {"items": one}, "else": one}


def _webhook() -> Schema:
    texts = {"type": "object", "additionalProperties": True}
    properties: Schema = {
        "webhook": {"type": "string", "description": "key or id of a source that accepts webhooks"},
        "topic": {"type": "string", "description": "the query parameter `topic`, such as orders_create of Shopify"},
        "body": {"type": ["string", "object", "array"], "description": "a file next to the suite, or JSON"},
        "text": {"type": "string", "description": "the body as it is, also if it is not JSON"},
        "form": {**texts, "description": "fields of a form, instead of a body"},
        "query": {**texts, "description": "more query parameters"},
        "headers": {**texts, "description": "headers of the request"},
        "method": {"enum": ["GET", "POST"], "description": "POST by default"},
    }
    return {"title": "Webhook", "type": "object", "properties": properties, "additionalProperties": False}


def _event() -> Schema:
    """Return the schema of an event. Any type may be sent, to see it rejected; a typo in a known one is a mistake."""
    typo = f"^(?:{'|'.join(_typos(EVENT_TYPES))})$"
    kind = {"anyOf": [{"enum": list(EVENT_TYPES)}, {"not": {"type": "string", "pattern": typo}}]}
    return {
        "title": "Event",
        "description": "an event, or a fixture: $use",
        "properties": {
            "type": {"description": "the type of the event", **kind},
            "event": {"description": "the name of a track event"},
            "$use": {"description": "the name of a fixture"},
        },
    }


def _tables() -> Schema:
    """Return the schema of what a warehouse has: rows by table, and columns, discards, losses and results of SQL."""
    typo = rf"^(?!(?:column|discard|loss|{'|'.join(_OF_WAREHOUSE)})$)(?:{'|'.join(_typos(_OF_WAREHOUSE))})$"
    query = {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "a query"},
            "rows": {**_ANY, "description": "its rows"},
        },
        "required": ["query"],
        "additionalProperties": False,
    }
    return {
        "title": "Tables",
        "if": {"type": "object"},
        "then": {
            "propertyNames": {"not": {"pattern": typo}},
            "properties": {
                "columns": {"type": "object", "additionalProperties": {"type": "object"}},
                "sql": {"if": {"type": "array"}, "then": {"items": query}, "else": query},
            },
        },
    }


def _kinds() -> list[str]:
    from svctoolkit.expect.matchers.values.type import KINDS

    return list(KINDS)


def _expectation() -> Schema:
    """Return the schema of a value or matchers. A key one typo away from a matcher's name is a mistake."""
    names = "|".join(MATCHERS.names())
    return {
        "title": "Expectation",
        "description": "a value, an object with expected members, a list, or matchers ($regex, ...)",
        "if": {"type": "object", "anyOf": [{"required": [f"${name}"]} for name in MATCHERS]},
        "then": {"$ref": "#/$defs/Matchers"},
        "else": {
            "if": {"type": "object"},
            "then": {
                "additionalProperties": _ANY,
                "propertyNames": {"not": {"pattern": rf"^\$(?!(?:{names})$)(?:{'|'.join(sorted(_typos(MATCHERS)))})$"}},
            },
            "else": {"if": {"type": "array"}, "then": {"items": _ANY}},
        },
    }


def _typos(names: Iterable[str], *, escape: bool = False) -> Iterator[str]:
    """Yield patterns for texts that differ from one of the names by one letter, or by capitals."""
    for name in names:
        text = [re.escape(letter) if escape else letter for letter in name]
        yield "".join(f"[{a}{a.swapcase()}]" if a.isalpha() else b for a, b in zip(name, text, strict=True))
        # Short names such as `$all` are one letter away from too many ordinary keys.
        for at in range(len(text)) if len(text) > 3 else ():
            before, after = "".join(text[:at]), "".join(text[at + 1 :])
            yield f"{before}.{after}"
            yield f"{before}{after}"
            yield f"{before}.{text[at]}{after}"
            yield f"{before}{''.join(text[at + 1 : at + 2])}{text[at]}{''.join(text[at + 2 :])}"
        if len(text) > 3:
            yield f"{''.join(text)}."


def _result(name: str) -> Schema:
    """Return the schema of an expectation of one result; the members of records are known."""
    if name == "warehouse":
        return {"allOf": [{"$ref": "#/$defs/Tables"}, {"additionalProperties": {"$ref": "#/$defs/Tables"}}]}
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
    if name == "deleted":
        return {"anyOf": [*one["anyOf"], {"type": "object", "minProperties": 1, "additionalProperties": one}]}
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
    """Return the schema of named arguments in either spelling, a list, or a single argument."""
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
    """Yield the settings of each destination type, with the descriptions of its definition."""
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
    if variable.type:
        kinds = [*(("string", "number") if variable.type == "string" else (variable.type,)), "null"]
        return {**described, "anyOf": [{"type": kinds}, _LATER]}
    return described


def _by_type() -> Schema:
    """Return the schema of a destination's `config`, depending on its `type`."""
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


#: Descriptions of properties that have none in the format.
_TEXTS = {
    "scenarios": "the tests of this suite",
    "version": "version of this format",
    "suite": "name in reports",
    "tags": "words for selecting scenarios",
    "sources": "where events come from, by key",
    "destinations": "where events go, by key",
    "transformations": "the user's code, by key",
    "libraries": "code that transformations import, by key",
    "users": "who may use the Test API",
    "vars": "variables; $(name) is replaced by their values",
    "defaults": "default values for scenarios",
    "setup": "runs before each scenario and must succeed",
    "teardown": "runs after each scenario, even after a failure",
    "ignore": "paths that are never compared",
    "freeze": "a frozen clock and sequential ids",
    "name": "name in reports",
    "id": "id for selecting it",
    "email": "e-mail address of the account",
    "token": "personal access token",
    "method": "HTTP method",
    "headers": "HTTP headers",
    "status": "HTTP status",
    "body": "content",
    "delay": "delay before the response",
    "stages": "which stages run",
    "user_transform": "the user's code",
    "dest_transform": "the mapping to the destination's payload",
    "send_to_destination": "the request to the destination",
    "force": "also test disabled destinations",
    "destinationConfig": "settings of the destination for this scenario only",
    "expect": "the expected results",
    "request": "a raw HTTP request",
    "live": "with --live, also runs against the real service",
    "skip": "reason why it does not run",
    "xfail": "reason why it is expected to fail",
    "destination": "key or id of a destination",
    "source": "key or id of a source",
    "ids": "sequence: count from 1 in each scenario",
    "verify": "a request that is repeated until the response is as expected",
    "within": "how long to poll",
    "every": "polling interval",
    "enabled": "whether it is used",
    "config": "its settings",
    "type": "its type",
    "recorder": "responses of destinations",
    "code": "the code itself",
    "language": "python or javascript",
    "file": "a file, relative to this one",
    "never": "values that must not occur in any stage or request",
    "always": "expectations that every event, payload or request matches",
    "exact": "no results other than the expected ones",
    "limit": "timeout",
}


def _describe(definition: Schema) -> None:
    for name, part in definition.get("properties", {}).items():
        if isinstance(part, dict) and not part.get("description"):
            part["description"] = _TEXTS.get(name, name.replace("_", " "))
