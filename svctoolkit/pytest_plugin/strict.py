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

if TYPE_CHECKING:
    from svctoolkit.server import DataPlane

_SECONDS = 10.0
_CHECKING = ("assert", "raises", "check", "expect", "verify", "ensure", "fail", "run_scenario", "warns")
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
    if len(plane.received) and tree is not None and not _asserts(tree):
        yield "the test sends events and asserts nothing: add assert_delivered(data_plane, ...)"


def _tree(item: pytest.Item) -> ast.AST | None:
    """Return the source of a test function; None if there is no source."""
    function = getattr(item, "function", None)
    with suppress(OSError, TypeError, SyntaxError):
        return ast.parse(textwrap.dedent(inspect.getsource(function))) if function is not None else None
    return None


def _asserts(tree: ast.AST) -> bool:
    """Return whether a test has an assertion, or calls something that may contain one."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert):
            return True
        if isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            # A function of the test's own that gets the data plane may assert for it.
            passes = isinstance(node.func, ast.Name) and any(
                isinstance(argument, ast.Name) and argument.id in ("data_plane", "recorder") for argument in node.args
            )
            if passes or any(word in called.lower() for word in _CHECKING):
                return True
    return False


def _names(tree: ast.AST | None, names: tuple[str, ...]) -> bool:
    """Return whether a test reads one of these attributes, which show failures."""
    return tree is not None and any(isinstance(n, ast.Attribute) and n.attr in names for n in ast.walk(tree))
