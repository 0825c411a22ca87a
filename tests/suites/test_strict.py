"""`svctoolkit_strict`: in Python, too, nothing passes by accident."""

from __future__ import annotations

from pathlib import Path

import pytest

from svctoolkit.cli import main

pytest_plugins = ["pytester"]

WORKSPACE = """
transformations:
  boom: {language: python, code: "def transformEvent(e, m):\\n    raise ValueError('broken')"}
destinations:
  hook: {type: WEBHOOK, transformation: boom, config: {webhookUrl: https://hook.example/in}}
  cio: {type: WEBHOOK, config: {webhookUrl: https://cio.example/in}}
sources: {web: {destinations: [cio]}, both: {destinations: [hook, cio]}}
"""
TESTS = """
import pytest
from svctoolkit.delivery import Answer
from svctoolkit.pytest_plugin import assert_delivered, assert_never_delivered

A = {"type": "track", "event": "A", "userId": "u"}

def test_crash_elsewhere(data_plane):
    data_plane.send(A, source="both")
    assert_delivered(data_plane, {"body": {"event": "A"}}, destination="cio")

def test_unused_answers(data_plane):
    data_plane.script("cio", Answer(503), Answer(200), Answer(200))
    data_plane.send(A, source="web")
    assert_delivered(data_plane, {})

def test_no_assertion(data_plane):
    data_plane.send(A, source="web")

def test_unknown_name(data_plane):
    data_plane.send(A, source="web")
    assert_never_delivered(data_plane, {"body": {"evnt": "A"}})

def test_fine(data_plane):
    data_plane.script("cio", Answer(503), Answer(200))
    data_plane.send(A, source="web")
    assert_delivered(data_plane, {"body": {"event": "A"}})
    assert_never_delivered(data_plane, {"body": {"event": "B"}}, {"body": {"email": {"$absent": False}}})

def test_allowed(data_plane):
    data_plane.send(A, source="both")
    assert_delivered(data_plane, {}, destination="cio", failed="any")

def test_plain(data_plane, recorder):
    data_plane.send(A, source="both")
    data_plane.drain()
    assert {fate.status for fate in data_plane.fates} == {"delivered", "failed"}

def own_check(plane):
    assert_delivered(plane, {})

def test_own_helper(data_plane):
    data_plane.send(A, source="web")
    own_check(data_plane)

def test_nothing(data_plane):
    pass
"""


def test_a_strict_project_fails_what_shows_nothing(pytester: pytest.Pytester) -> None:
    """A failure elsewhere, answers that nothing used, a test without assertions, a name that no request has."""
    pytester.makefile(".yaml", workspace=WORKSPACE)
    pytester.makeini("[pytest]\nsvctoolkit_strict = true\n")
    pytester.makepyfile(TESTS)
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")

    result.assert_outcomes(passed=5, failed=4)
    shown = result.stdout.str()
    assert "hook: failed in user_transform: ValueError: broken" in shown
    assert "cio: 1 scripted answer not used" in shown
    assert "the test sends events and asserts nothing" in shown
    assert "no event and no request has a member 'evnt', so this cannot fail. Did you mean 'event'" in shown


def test_without_the_option_only_the_helpers_refuse(pytester: pytest.Pytester) -> None:
    """Projects that exist stay as they are."""
    pytester.makefile(".yaml", workspace=WORKSPACE)
    pytester.makepyfile(TESTS)

    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=8, failed=1)


def test_new_projects_are_strict(tmp_path: Path) -> None:
    """`init` writes pytest.ini, unless pytest is configured already."""
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / "pyproject.toml").touch()

    assert main(["init", str(tmp_path / "one")]) == 0
    assert main(["init", str(tmp_path / "two")]) == 0
    assert "svctoolkit_strict = true" in (tmp_path / "one" / "pytest.ini").read_text("utf-8")
    assert not (tmp_path / "two" / "pytest.ini").exists()
