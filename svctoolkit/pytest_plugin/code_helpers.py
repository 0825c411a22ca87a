"""Assertions about what user code has requested and logged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from svctoolkit.json_types import Json
from svctoolkit.pytest_plugin import items

if TYPE_CHECKING:
    from svctoolkit.server import DataPlane


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

    data_plane.drain(timeout, run=run or "")
    view = data_plane if run is None else data_plane.of_run(run)
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

    data_plane.drain(timeout, run=run or "")
    view = data_plane if run is None else data_plane.of_run(run)
    texts = is_about_texts(list(expected))
    actual: list[Any] = [log.text if texts else log_record(log) for log in view.logs]
    _assert("logs", data_plane, expected, actual, any_order, at_least)


def _assert(
    what: str, data_plane: DataPlane, expected: Sequence[Json], actual: list[Any], any_order: bool, at_least: bool
) -> None:
    __tracebackhide__ = True
    from svctoolkit import runner
    from svctoolkit.errors import UsageError
    from svctoolkit.runner.suite.checks.claims import member_problems

    for path, message in [*runner.problems(list(expected)), *member_problems(what, list(expected))]:
        raise UsageError(f"{'.'.join(map(str, path))}: {message}")
    wanted = list(expected)
    operand: Any = {"$contains": wanted} if at_least else {"$unordered": wanted} if any_order else wanted
    hide = data_plane.workspace.masker.mask
    texts = [str(d) for d in runner.differences({what: operand}, {what: actual}, hide=hide)]
    if texts:
        raise items.AssertionError(hide("\n".join(texts)))
