"""Assertions about what user code has requested and logged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from svctoolkit.json_types import Json
from svctoolkit.pytest_plugin import items
from svctoolkit.pytest_plugin.waiting import require_events, settled

if TYPE_CHECKING:
    from svctoolkit.server import DataPlane
    from svctoolkit.server.inspect.views import View


def assert_fetched(
    data_plane: DataPlane,
    *expected: Json,
    run: str | None = None,
    any_order: bool = False,
    at_least: bool = False,
    timeout: float = 30.0,
) -> None:
    """Assert that user code sent exactly these requests, in this order; without any, that it sent none.

    Each argument is an expectation as `fetched` in a suite (`{"url": "https://crm.example/lookup", "status": 503}`).
    With `any_order` they may come in any order; with `at_least` there may be others as well. It first waits up to
    `timeout` seconds until no event is in progress. Raises `UsageError` for a wrong expectation.
    """
    __tracebackhide__ = True
    from svctoolkit.runner.planes.code import fetch_record

    view = settled(data_plane, run, timeout)
    _require_code(data_plane, view, "fetched", expected)
    _assert("fetched", data_plane, expected, [fetch_record(request) for request in view.fetched], any_order, at_least)


def assert_logged(
    data_plane: DataPlane,
    *expected: Json,
    run: str | None = None,
    any_order: bool = False,
    at_least: bool = False,
    timeout: float = 30.0,
) -> None:
    """Assert that user code logged exactly these lines, in this order; without any, that it logged nothing.

    Each argument is an expectation of a text (`"cleaning"`, `{"$starts": "failed"}`), or of a line's members
    (`{"text": "cleaning", "level": "info"}`). The other parameters are those of `assert_fetched`.
    """
    __tracebackhide__ = True
    from svctoolkit.runner.attempts.code import is_about_texts
    from svctoolkit.runner.planes.code import log_record

    view = settled(data_plane, run, timeout)
    _require_code(data_plane, view, "logs", expected)
    texts = is_about_texts(list(expected))
    actual: list[Any] = [log.text if texts else log_record(log) for log in view.logs]
    _assert("logs", data_plane, expected, actual, any_order, at_least)


def _require_code(data_plane: DataPlane, view: View, what: str, expected: Sequence[Json]) -> None:
    """Refuse to assert that user code did nothing where the workspace has no code, or before it has got an event."""
    __tracebackhide__ = True
    from svctoolkit.errors import UsageError

    if not expected and not data_plane.workspace.transformations:
        raise UsageError(f"{what}: the workspace has no transformation, so this cannot fail")
    if not expected:
        require_events(view, what, "send events first")


def _assert(
    what: str, data_plane: DataPlane, expected: Sequence[Json], actual: list[Any], any_order: bool, at_least: bool
) -> None:
    __tracebackhide__ = True
    from svctoolkit import runner
    from svctoolkit.errors import UsageError
    from svctoolkit.runner.suite.checks.claims import member_problems

    for path, message in [*runner.problems(list(expected)), *member_problems(what, list(expected))]:
        raise UsageError(f"{'.'.join(map(str, path))}: {message}")
    if at_least and not expected:
        raise UsageError("at_least needs an expectation: without one, it cannot fail")
    wanted = list(expected)
    operand: Any = {"$contains": wanted} if at_least else {"$unordered": wanted} if any_order else wanted
    hide = data_plane.workspace.masker.mask
    texts = [str(d) for d in runner.differences({what: operand}, {what: actual}, hide=hide)]
    if texts:
        raise items.AssertionError(hide("\n".join(texts)))
