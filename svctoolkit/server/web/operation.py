"""An operation, declared once: its route and its documentation are created from the same object."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal, TypeAlias

import msgspec
from starlette.requests import Request
from starlette.responses import Response

Login: TypeAlias = Literal["person", "token", "local", "key", "none"]
Handler: TypeAlias = Callable[[Request], Awaitable[Response]]


class ResponseDoc(msgspec.Struct, frozen=True):
    """One kind of response: any of `types`, or with `many` a list of them. Without types, it has no JSON body."""

    description: str
    types: tuple[type, ...] = ()
    many: bool = False
    example: Callable[[], Any] | None = None


class Parameter(msgspec.Struct, frozen=True):
    """A parameter in the path, the query or a header, with its JSON Schema. Those in the path are always required."""

    name: str
    where: str
    description: str
    schema: Mapping[str, Any]
    example: Any = None
    required: bool = False


class Operation(msgspec.Struct, frozen=True):
    """One method at one path. `body` is the type that validates its JSON, `rules` is JSON Schema that the body also has
    to match. `login` is who may use it: a user with e-mail address and token (`person`), also a program with the bearer
    token of the data plane (`token`), in addition any program on this machine (`local`), a client with the write key of
    a source (`key`), or anyone (`none`).
    """

    method: str
    path: str
    id: str
    summary: str
    description: str
    handle: Handler
    responses: Mapping[int, ResponseDoc]
    parameters: tuple[Parameter, ...] = ()
    body: type | None = None
    rules: Mapping[str, Any] = {}
    example: Callable[[], Any] | None = None
    login: Login = "person"
