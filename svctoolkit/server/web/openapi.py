"""The OpenAPI 3.1 document, generated from the operations and from the types that validate their requests."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from svctoolkit import __version__
from svctoolkit.json_types import Json
from svctoolkit.server.web.operation import Login, Operation, Parameter, ResponseDoc

_REF = "#/components/schemas/{name}"
_ABOUT = """\
Tests how a customer event is processed on its way to a destination: user transformation, destination transformation,
delivery. Log in with your e-mail address and a personal access token. Every error is a JSON object with a `message`.

JSON is UTF-8, at most 4,096,000 bytes and 200 levels deep. If a member is repeated, the last one counts. Numbers must
be in the range of a double.
"""


#: The alternatives that open an operation. An empty one stands for a request without credentials.
_SECURITY: Mapping[Login, Sequence[Mapping[str, Sequence[str]]]] = {
    "token": ({"token": []}, {"basic": []}),
    "local": ({"token": []}, {"basic": []}),
    "key": ({"writeKey": []},),
    "none": [],
}


def document(operations: Sequence[Operation], loopback: bool) -> dict[str, Json]:
    """Return the document of these operations, with an example of every request and answer.

    On `loopback`, the operations for programs on this machine are open without credentials.
    """
    types = {kind for operation in operations for kind in _types(operation)}
    ordered = sorted(types, key=lambda kind: kind.__name__)
    schemas, components = msgspec.json.schema_components(ordered, ref_template=_REF)
    references = dict(zip(ordered, schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        path = paths.setdefault(re.sub(r":[a-z]+}", "}", operation.path), {})
        path[operation.method.lower()] = _operation(operation, references, loopback)
    return {
        "openapi": "3.1.0",
        "info": {"title": "svctoolkit Test API", "version": __version__, "description": _ABOUT},
        "paths": paths,
        "components": {
            "schemas": dict(sorted(components.items())),
            "securitySchemes": {
                "basic": {
                    "type": "http",
                    "scheme": "basic",
                    "description": "E-mail address and personal access token.",
                },
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "The bearer token of a data plane, which it prints when it starts.",
                },
                "writeKey": {
                    "type": "http",
                    "scheme": "basic",
                    "description": "The write key of a source as the user name.",
                },
            },
        },
        "security": [{"basic": []}],
    }


def _types(operation: Operation) -> Iterable[type]:
    if operation.body:
        yield operation.body
    for answer in operation.responses.values():
        yield from answer.types


def _operation(operation: Operation, references: dict[type, Any], loopback: bool) -> dict[str, Any]:
    members: dict[str, Any] = {
        "operationId": operation.id,
        "summary": operation.summary,
        "description": operation.description,
        "parameters": [_parameter(parameter) for parameter in operation.parameters],
        "responses": {str(status): _answer(answer, references) for status, answer in operation.responses.items()},
    }
    if operation.body:
        content = {"schema": {**references[operation.body], **operation.rules}, **_example(operation)}
        members["requestBody"] = {"required": True, "content": {"application/json": content}}
    if operation.login != "person":
        is_open = operation.login == "local" and loopback
        members["security"] = [*([{}] if is_open else []), *_SECURITY[operation.login]]
    return members


def _parameter(parameter: Parameter) -> dict[str, Any]:
    members = {
        "name": parameter.name,
        "in": parameter.where,
        "required": parameter.required or parameter.where == "path",
        "description": parameter.description,
        "schema": parameter.schema,
    }
    return members if parameter.example is None else {**members, "example": parameter.example}


def _answer(answer: ResponseDoc, references: dict[type, Any]) -> dict[str, Any]:
    if not answer.types:
        return {"description": answer.description}
    choices = [references[kind] for kind in answer.types]
    schema = choices[0] if len(choices) == 1 else {"anyOf": choices}
    if answer.many:
        schema = {"type": "array", "items": schema}
    return {
        "description": answer.description,
        "content": {"application/json": {"schema": schema, **_example(answer)}},
    }


def _example(of: Operation | ResponseDoc) -> dict[str, Any]:
    return {"example": of.example()} if of.example else {}
