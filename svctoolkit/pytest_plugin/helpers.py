"""Assertions about what a data plane did with events."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from svctoolkit.json_types import Json
from svctoolkit.pytest_plugin import items, state
from svctoolkit.pytest_plugin.waiting import require_events, settled

if TYPE_CHECKING:
    from svctoolkit.runner import Difference
    from svctoolkit.server import DataPlane


LEFT_OUT = ("filtered", "dropped")
_LONGEST = 300  # characters of the first match that a message shows


def assert_delivered(
    data_plane: DataPlane,
    *expected: Json,
    destination: str = "",
    run: str | None = None,
    any_order: bool = False,
    at_least: bool = False,
    count: int | None = None,
    timeout: float = 30.0,
    failed: Literal["", "any"] = "",
) -> None:
    """Assert that exactly these requests arrived, in this order; without any, that none did.

    Each argument is an expectation as in a suite (`{"body": {"event": "Order Completed"}}`, matchers included) of
    `method`, `url`, `headers`, `query`, `body`. `destination` (a key) and `run` limit which requests are compared. With
    `any_order` they may arrive in any order; with `at_least` other requests may arrive as well. With `count` that many
    requests must match the one expectation (or arrive at all, without an expectation).

    The helper first sends what `service_client` has queued, and waits up to `timeout` seconds until no event is in
    progress. It fails if any delivery failed,
    unless `failed` is "any".
    """
    __tracebackhide__ = True
    results = _results("delivered", data_plane, expected, destination, run, timeout)
    _assert(
        "delivered",
        data_plane,
        results,
        list(expected),
        failed,
        any_order=any_order,
        at_least=at_least,
        count=count,
        run=run,
    )


def assert_never_delivered(
    data_plane: DataPlane,
    *expected: Json,
    destination: str = "",
    run: str | None = None,
    timeout: float = 30.0,
    failed: Literal["", "any"] = "",
) -> None:
    """Assert that no request matching any of these arrived; without any, that none arrived.

    It also fails if any delivery failed, unless `failed` is "any": a failed event could not have arrived anyway.
    """
    __tracebackhide__ = True
    results = _results("delivered", data_plane, expected, destination, run, timeout)
    if expected:
        view = data_plane if run is None else data_plane.of_run(run)
        require_events(view, "never delivered", "send events first, or use assert_delivered(data_plane) without any")
    for expectation in expected:
        _refuse_unknown_names(expectation, data_plane, results)
    for expectation in expected or ({},):
        _assert("delivered", data_plane, results, [expectation], failed, count=0)


def assert_dropped(
    data_plane: DataPlane,
    *expected: Json,
    destination: str = "",
    run: str | None = None,
    any_order: bool = False,
    at_least: bool = False,
    count: int | None = None,
    timeout: float = 30.0,
    failed: Literal["", "any"] = "",
) -> None:
    """Assert that exactly these were dropped: expectations of `by`, `reason`, `destination`, `event`, `fate`.

    The other parameters are those of `assert_delivered`.
    """
    __tracebackhide__ = True
    results = _results("dropped", data_plane, expected, destination, run, timeout)
    if not expected and not count:
        view = data_plane if run is None else data_plane.of_run(run)
        require_events(view, "dropped", "send events first")
    _assert("dropped", data_plane, results, list(expected), failed, any_order=any_order, at_least=at_least, count=count)


def _refuse_unknown_names(expected: Json, data_plane: DataPlane, results: Mapping[str, Any]) -> None:
    """Raise `UsageError` for a member that is in no event and in no request: expecting it never fails."""
    __tracebackhide__ = True
    from svctoolkit.errors import UsageError, did_you_mean
    from svctoolkit.expect.compare import json_line

    records = [record for of_key in results["delivered"].values() for record in of_key]
    if not records:
        return
    shown = json_line([records, [received.event for received in data_plane.received]])
    folded = shown.lower()
    for path in _member_paths(expected, ()):
        if path[-1].lower() not in folded:
            known = dict.fromkeys(re.findall(r'"([A-Za-z_][A-Za-z0-9_]*)":', shown))
            near = did_you_mean(path[-1], known)
            text = f"{'.'.join(path)}: no event and no request has a member {path[-1]!r}, so this cannot fail.{near}"
            raise UsageError(f"{text} If none may have it, write {{'$absent': False}} as its value.")


def _member_paths(expected: Json, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the paths of expected members, except those that may not exist at all."""
    if isinstance(expected, Mapping) and not any(str(key).startswith("$") for key in expected):
        for key, value in expected.items():
            if value != {"$absent": False}:
                yield (*path, str(key))
                yield from _member_paths(value, (*path, str(key)))


def _results(
    what: str, data_plane: DataPlane, expected: Sequence[Any], destination: str, run: str | None, timeout: float
) -> Mapping[str, Any]:
    """Return the results of the events by destination.

    Raises `UsageError` for expectations that are invalid or name unknown members, and `UnknownName`.
    """
    __tracebackhide__ = True
    from svctoolkit import runner
    from svctoolkit.errors import UnknownName, UsageError
    from svctoolkit.runner.suite.checks.claims import member_problems

    for path, message in [*runner.problems(list(expected)), *member_problems(what, list(expected))]:
        raise UsageError(f"{'.'.join(map(str, path))}: {message}")
    try:
        keys = [data_plane.workspace.destination(destination).key] if destination else []
    except UnknownName as error:
        raise error.with_traceback(None) from None
    keys = keys or list(data_plane.workspace.destinations)
    return runner.run_results(settled(data_plane, run, timeout), keys)


def _assert(
    what: str,
    data_plane: DataPlane,
    results: Mapping[str, Any],
    expected: list[Any],
    failed: str,
    *,
    any_order: bool = False,
    at_least: bool = False,
    count: int | None = None,
    run: str | None = None,
) -> None:
    __tracebackhide__ = True
    from svctoolkit import runner
    from svctoolkit.errors import UsageError
    from svctoolkit.expect.compare import json_line

    if at_least and not expected:
        raise UsageError("at_least needs an expectation: without one, it cannot fail")
    actual = [record for records in results[what].values() for record in records]
    hide = data_plane.workspace.masker.mask
    if count is not None:
        if len(expected) > 1:
            raise UsageError(f"count needs exactly one expectation, not {len(expected)}")
        matching = [r for r in actual if not expected or not runner.differences(expected[0], r)]
        like = f" that match {json_line(expected[0])}" if expected and expected[0] != {} else ""
        first = f": {json_line(matching[0])[:_LONGEST]}" if matching else ""
        texts = [f"{what}: expected {count}{like}, got {len(matching)}{first}"] if len(matching) != count else []
    else:
        operand: Any = {"$contains": expected} if at_least else {"$unordered": expected} if any_order else expected
        differing = runner.differences({what: operand}, {what: actual}, hide=hide)
        texts = _with_origins(differing, data_plane, {what: actual}, list(results[what]), run)
    if failed == "any":
        # A test with `svctoolkit_strict` may then have failures.
        state.FAILURES_EXPECTED.add(data_plane)
    failures = [] if failed == "any" else [c for c in runner.causes(results) if c.fate not in LEFT_OUT]
    if texts or failures:
        causes = runner.causes(results) if what == "delivered" and texts else failures
        allowed = [] if texts else ['nothing may fail unless the test says so: failed="any"']
        raise items.AssertionError(hide("\n".join([*map(str, causes), *texts, *allowed])))


def _with_origins(
    differing: Sequence[Difference], data_plane: DataPlane, results: Mapping[str, Any], keys: list[str], run: str | None
) -> list[str]:
    """Return the differences as text, each with where its value came from, as far as that is known."""
    if not differing:
        return []
    from svctoolkit.runner.attempts.origins import Origins, origin_line
    from svctoolkit.runner.planes.fates import traces
    from svctoolkit.runner.planes.lineages import Lineages

    view = data_plane if run is None else data_plane.of_run(run)
    origins = Origins(Lineages(), data_plane.workspace, results, traces(view, keys))
    pairs = [(difference, origins.of(difference)) for difference in differing]
    return [f"{d}\n  {origin_line(d, origin)}" if origin is not None else str(d) for d, origin in pairs]
