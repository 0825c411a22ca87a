"""Steps that delete users: where they do it, and checks of what a suite says about them."""

from __future__ import annotations

from msgspec import UNSET

from svctoolkit.errors import InvalidDeletion
from svctoolkit.runner.suite import format as _format
from svctoolkit.runner.suite.model import Places, as_list


def deleted_at(spec: _format.Step) -> list[str] | None:
    """Return the destinations (keys or ids) at which a step deletes users; None for all whose type can."""
    if spec.destination is not UNSET:
        return [spec.destination]
    return None if spec.only is UNSET else as_list(spec.only)


def delete_problems(spec: _format.Step) -> Places:
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
