"""The ini option `svctoolkit_strict`: a test fails if its data plane shows more than the test looks at."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from svctoolkit.pytest_plugin import state
from svctoolkit.pytest_plugin.helpers import LEFT_OUT
from svctoolkit.pytest_plugin.waiting import flush_clients

if TYPE_CHECKING:
    from svctoolkit.server import DataPlane

_SECONDS = 10.0
_CHECKING = ("assert", "raises", "check", "expect", "verify", "ensure", "fail", "run_scenario", "warns")
#: Methods that send events.
_SENDING = {
    *("track", "identify", "page", "screen", "group", "alias"),
    *("send", "send_webhook", "ingest", "deliver", "capture"),
}
#: What a data plane has before any event.
_FIXED = {"url", "port", "workspace", "write_key", "loopback", "stopped", "source"}
_ABOUT_FAILURES = ("fates", "deliveries", "rejected", "totals", "held")


def lent_plane(item: pytest.Item) -> DataPlane | None:
    """Return the running data plane that the fixture `data_plane` has lent to a test."""
    from svctoolkit.server import DataPlane

    plane = getattr(item, "funcargs", {}).get("data_plane")
    return plane if isinstance(plane, DataPlane) and not plane.stopped else None


def strict_problems(plane: DataPlane, item: pytest.Item) -> Iterator[str]:
    """Yield what is wrong with a passed test: unexpected failures, unused answers, nothing asserted."""
    from svctoolkit import runner
    from svctoolkit.errors import StillWaiting

    queued = _waiting(plane)
    flush_clients(plane, _SECONDS)
    queued -= _waiting(plane)  # these are of a client that is offline by design
    with suppress(StillWaiting):
        plane.drain(_SECONDS)
    tree = _tree(item)
    keys = list(plane.workspace.destinations)
    failures = (
        []
        if plane in state.FAILURES_EXPECTED or _names(tree, _ABOUT_FAILURES)
        else runner.causes(runner.run_results(plane, keys))
    )
    for cause in failures:
        if cause.fate not in LEFT_OUT:
            yield f'{cause}; if it should fail, assert it, or write failed="any" in a helper'
    for name, count in plane.recorder.unused().items():
        yield f"{name}: {count} scripted answer{'' if count == 1 else 's'} not used: remove it, or send what needs it"
    if tree is not None and queued and _asserts(tree) and not _is_about_client(tree):
        what = "1 event" if queued == 1 else f"{queued} events"
        yield f"{what} of service_client had not been sent when the test asserted: add service_client.flush() before"
    if tree is not None and _sends(plane) and not _asserts(tree):
        yield "the test sends events and asserts nothing after that: add assert_delivered(data_plane, ...)"


def _waiting(plane: DataPlane) -> int:
    """Return the number of events that clients have queued."""
    return sum(client.stats().waiting for client in state.CLIENTS.get(plane, ()))


def _sends(plane: DataPlane) -> bool:
    """Return whether a test has sent anything, whether or not it arrived."""
    sent = (client.stats().recorded for client in state.CLIENTS.get(plane, ()))
    return bool(plane.received or plane.rejected or plane.webhooks or any(sent))


def _tree(item: pytest.Item) -> ast.AST | None:
    """Return the source of a test function; None if there is no source."""
    function = getattr(item, "function", None)
    with suppress(OSError, TypeError, SyntaxError):
        return ast.parse(textwrap.dedent(inspect.getsource(function))) if function is not None else None
    return None


def _asserts(tree: ast.AST) -> bool:
    """Return whether a test has an assertion, or calls something that may contain one, after it has sent events."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    sent = min((node.lineno for node in calls if _called(node) in _SENDING), default=0)
    asserts = (node for node in ast.walk(tree) if isinstance(node, ast.Assert) and _is_about_results(node.test))
    checks = (node for node in calls if _may_check(node))
    # The end: an assertion around what is sent (`with raises(...)`) is not before it.
    ends = (node.end_lineno or node.lineno for node in (*asserts, *checks, *_with_checks(tree)))
    return any(end >= sent for end in ends)


def _with_checks(tree: ast.AST) -> Iterator[ast.With | ast.AsyncWith]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.With, ast.AsyncWith)) and any(
            isinstance(item.context_expr, ast.Call) and _may_check(item.context_expr) for item in node.items
        ):
            yield node


def _called(node: ast.Call) -> str:
    """Return the name of the function or method that a call names."""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _may_check(node: ast.Call) -> bool:
    # A function of the test's own that gets the data plane may assert for it.
    passes = isinstance(node.func, ast.Name) and any(
        isinstance(argument, ast.Name) and argument.id in ("data_plane", "recorder") for argument in node.args
    )
    return passes or any(word in _called(node).lower() for word in _CHECKING)


def _is_about_client(tree: ast.AST) -> bool:
    """Return whether a test asserts something of the client itself, such as what it has queued."""
    asserted = (inner for node in ast.walk(tree) if isinstance(node, ast.Assert) for inner in ast.walk(node.test))
    return any("service_client" in ast.dump(inner) or "stats" in ast.dump(inner) for inner in asserted)


def _is_about_results(test: ast.expr) -> bool:
    """Return whether the value of an assertion can depend on events: not a constant, nor the data plane's address."""
    if isinstance(test, ast.Call) and _called(test) in _SENDING:
        return False  # what sends an event returns the answer, which says nothing of destinations
    names = [node for node in ast.walk(test) if isinstance(node, ast.Name)]
    read = [node.attr for node in ast.walk(test) if isinstance(node, ast.Attribute) and _is_plane(node.value)]
    planes = [name for name in names if _is_plane(name)]
    return bool(names) and not (len(planes) == len(names) and len(read) == len(planes) and {*read} <= _FIXED)


def _is_plane(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "data_plane"


def _names(tree: ast.AST | None, names: tuple[str, ...]) -> bool:
    """Return whether a test reads one of these attributes, which show failures."""
    return tree is not None and any(isinstance(n, ast.Attribute) and n.attr in names for n in ast.walk(tree))
