"""Assertions in Python about a data plane cannot pass by accident, and explain their failures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from svctoolkit import DataPlane, Workspace
from svctoolkit.errors import UnknownName, UsageError
from svctoolkit.pytest_plugin import assert_delivered, assert_dropped, assert_never_delivered
from svctoolkit.server import Backoff

WORKSPACE = """
transformations:
  boom: {language: python, code: "def transformEvent(e, m):\\n    raise ValueError('broken here')"}
destinations:
  hook:
    type: WEBHOOK
    config: {webhookUrl: https://hook.example/in, headers: [{from: Authorization, to: Bearer abc12345}]}
  lake: {type: WEBHOOK, transformation: boom, config: {webhookUrl: https://lake.example/in}}
sources: {web: {destinations: [hook]}, app: {destinations: [lake]}}
"""
CRASH = "lake: failed in user_transform: ValueError: broken here (boom.py:2:5)"
A: dict[str, Any] = {"body": {"event": "A"}}


@pytest.fixture
def plane() -> Iterator[DataPlane]:
    with DataPlane(Workspace.loads(WORKSPACE), listen=False, backoff=Backoff(scale=0)) as made:
        yield made


def send(plane: DataPlane, source: str) -> None:
    plane.send({"type": "track", "event": "A", "userId": "u"}, source=source)


def said(check: Callable[..., None], *arguments: Any, **options: Any) -> str:
    """The message of a failing assertion, or an empty one."""
    try:
        check(*arguments, **options)
    except AssertionError as error:
        return str(error)
    return ""


def test_a_crash_counts_neither_as_dropped_nor_as_undelivered(plane: DataPlane) -> None:
    """A failure is a difference whatever is expected, unless the test allows it."""
    send(plane, "app")
    allowed = 'nothing may fail unless the test says so: failed="any"'

    assert said(assert_never_delivered, plane).splitlines() == [CRASH, allowed]
    assert said(assert_delivered, plane).splitlines() == [CRASH, allowed]
    assert said(assert_dropped, plane).splitlines() == [CRASH, allowed]
    assert said(assert_delivered, plane, A).splitlines() == [CRASH, "delivered: expected 1 element, got 0: []"]
    for check in (assert_never_delivered, assert_delivered, assert_dropped):
        assert said(check, plane, failed="any") == said(check, plane, destination="hook") == ""


@pytest.mark.parametrize("check", [assert_delivered, assert_never_delivered, assert_dropped])
def test_unknown_names_are_rejected(plane: DataPlane, check: Callable[..., None]) -> None:
    """With the nearest name of a request field or a destination."""
    with pytest.raises(UsageError, match=r"has no member 'destinatoin'.* Did you mean 'destination'\?"):
        check(plane, {"destinatoin": "hook"})
    with pytest.raises(UnknownName, match=r"unknown destination 'hok'\. Did you mean 'hook'"):
        check(plane, destination="hok")


def test_a_difference_contains_no_secret(plane: DataPlane) -> None:
    """Neither as an actual value, nor as one that should not have matched."""
    send(plane, "web")
    texts = [
        said(assert_delivered, plane, {"headers": {"Authorization": {"$starts": "Basic"}}}),
        said(assert_never_delivered, plane, A),
        said(assert_delivered, plane, count=2),
    ]

    assert all(texts)
    assert "abc12345" not in str(texts)
    assert texts[1].startswith('delivered: expected 0 that match {"body":{"event":"A"}}, got 1: {"destination":"hook"')
