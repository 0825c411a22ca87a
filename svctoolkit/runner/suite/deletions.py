"""Steps that delete users: where they do it, and checks of what a suite says about them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import UNSET

from svctoolkit.errors import InvalidDeletion
from svctoolkit.json_types import Json
from svctoolkit.runner.suite import format as _format
from svctoolkit.runner.suite.model import Place, as_list
from svctoolkit.workspace import Workspace


def deleted_at(spec: _format.Step) -> list[str] | None:
    """Return the destinations (keys or ids) at which a step deletes users; None for all whose type can."""
    if spec.destination is not UNSET:
        return [spec.destination]
    return None if spec.only is UNSET else as_list(spec.only)


def is_by_destination(expected: Json, workspace: Workspace) -> bool:
    """Whether an expectation of `deleted` is written by destination."""
    keys = workspace.destinations
    return isinstance(expected, Mapping) and bool(expected) and all(key in keys for key in expected)


def delete_problems(spec: _format.Step) -> Iterator[tuple[Place, str]]:
    """Yield the mistakes of a step that deletes users."""
    from svctoolkit.server.regulations.parse import users_of  # few suites delete users

    for name in ("source", "transformation", "stages", "destinationConfig", "repeat"):
        if getattr(spec, name) is not UNSET:
            yield (name,), f"{name!r} does not apply to deletions: name destinations with `destination` or `only`"
    if spec.only is not UNSET and spec.destination is not UNSET:
        yield ("only",), "`only` and `destination` exclude each other: remove one of them"
    try:
        users_of(spec.delete)
    except InvalidDeletion as error:
        yield ("delete",), str(error)
