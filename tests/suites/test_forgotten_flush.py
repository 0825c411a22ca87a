"""Helpers of pytest send what the fixture's client has queued, and refuse to assert what cannot fail."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

pytest_plugins = ["pytester"]

WORKSPACE = """
transformations:
  clean: {language: python, code: "def transformEvent(e, m):\\n    return None if e.get('userId') == 'bot' else e"}
destinations:
  hook: {type: WEBHOOK, transformation: clean, config: {webhookUrl: https://hook.example/in}}
  mp:
    type: MP
    config: {token: t, strictMode: true, identityMergeApi: simplified}
    simulate: simulated
    transformation: clean
sources: {web: {destinations: [hook]}, sim: {destinations: [mp]}}
"""
#: Tests, and what a strict run says about each; None: it passes.
TESTS = {
    """
def test_negative(data_plane, service_client):
    service_client.track("A", {"x": 2})
    assert_never_delivered(data_plane, {"body": {"event": "A"}})
""": "expected 0 that match",
    """
def test_nothing(data_plane, service_client):
    service_client.track("A", {"x": 2})
    assert_delivered(data_plane)
""": "expected 0 elements, got 1",
    """
def test_no_assertion(data_plane, service_client):
    service_client.track("A", {"x": 2})
""": "sends events and asserts nothing",
    """
def test_positive(data_plane, service_client):
    service_client.track("A", {"x": 2})
    assert_delivered(data_plane, {"body": {"event": "A"}})
""": None,
    """
def test_a_second_client(data_plane, service_client):
    service_client(source="sim", flush_queue_size=100).track("A", {"x": 2})
    assert_delivered(data_plane, destination="mp")
""": "expected 0 elements, got 1",
    """
def test_offline(data_plane, service_client):
    data_plane.workspace.sources["web"].enabled = False
    service_client.track("A", {"x": 2})
    assert_delivered(data_plane)
""": None,
    """
def test_only_refused(data_plane):
    data_plane.ingest("POST", "/v1/track", body=b"{")
    assert data_plane.url
""": "sends events and asserts nothing",
    """
def test_address(data_plane):
    data_plane.send(A, source="web")
    assert data_plane.url
""": "sends events and asserts nothing",
    """
def test_constant(data_plane):
    data_plane.send(A, source="web")
    assert True
""": "sends events and asserts nothing",
    """
def test_before(data_plane):
    assert_delivered(data_plane)
    data_plane.send(A, source="web")
""": "sends events and asserts nothing after that",
    """
def test_raises(data_plane):
    with pytest.raises(KeyError):
        data_plane.send(A, source="web")
        raise KeyError
""": None,
    """
def test_received(data_plane):
    data_plane.send(A, source="web")
    assert len(data_plane.received) == 1
""": None,
    """
def test_at_least(data_plane):
    data_plane.send(A, source="web")
    assert_delivered(data_plane, at_least=True)
""": "at_least needs an expectation",
    """
def test_at_least_of_lines(data_plane):
    data_plane.send(A, source="web")
    assert_logged(data_plane, at_least=True)
""": "at_least needs an expectation",
    """
def test_unsent(data_plane):
    assert_never_delivered(data_plane, {"body": {"evnt": "A"}})
""": "no event has arrived at the data plane so far, so this cannot fail",
    """
def test_nothing_dropped(data_plane):
    assert_dropped(data_plane)
""": "dropped: no event has arrived",
    """
def test_nothing_fetched(data_plane):
    assert_fetched(data_plane)
""": "fetched: no event has arrived",
    """
def test_no_plan(data_plane):
    data_plane.send(A, source="web")
    assert_violations(data_plane)
""": "violations: the workspace has no tracking plan",
    """
def test_lost_nowhere(data_plane):
    data_plane.send(BOT, source="sim")
    assert_nothing_lost(data_plane)
""": "lost: nothing has arrived at mp",
    """
def test_lost_at_a_webhook(data_plane):
    data_plane.send(A, source="web")
    assert_nothing_lost(data_plane, destination="hook")
""": "destination 'hook' is not simulated",
    """
def test_held_nowhere(data_plane):
    data_plane.send(BOT, source="sim")
    assert_held(data_plane, "mp", {"counts": {"events": 0}, "nobody": [{"distinct_id": "u"}]})
""": "held: nothing has arrived at mp",
    """
def test_held(data_plane):
    data_plane.send(A, source="sim")
    assert_nothing_lost(data_plane)
    assert_held(data_plane, "mp", {"counts": {"events": 1}, "nobody": [{"distinct_id": "bob"}]})
""": None,
}
HEAD = """
import pytest
from svctoolkit.pytest_plugin import (
    assert_delivered, assert_dropped, assert_fetched, assert_held, assert_logged, assert_never_delivered,
    assert_nothing_lost, assert_violations,
)

A = {"type": "track", "event": "A", "userId": "u"}
BOT = {"type": "track", "event": "A", "userId": "bot"}
"""


def test_nothing_passes_because_a_flush_was_forgotten(pytester: pytest.Pytester) -> None:
    """Also not what holds before or without any event."""
    (pytester.path / "workspace.yaml").write_text(WORKSPACE, encoding="utf-8")
    pytester.makeini("[pytest]\nsvctoolkit_strict = true\n")
    pytester.makepyfile(HEAD + "".join(TESTS))

    pytester.runpytest_subprocess("-p", "no:cacheprovider", "--junitxml=report.xml")

    cases = ET.parse(pytester.path / "report.xml").iter("testcase")
    failed = {case.attrib["name"]: "".join(case.itertext()) for case in cases if len(case)}
    expected = {test.split("def ")[1].split("(")[0]: text for test, text in TESTS.items()}
    wrong = {name: failed.get(name, "") for name, text in expected.items() if (name in failed) is (text is None)}
    assert wrong == {}
    assert {name for name, text in expected.items() if text and text not in failed[name]} == set()


def test_a_thread_of_an_earlier_test_sends_nothing_to_the_next(pytester: pytest.Pytester) -> None:
    (pytester.path / "workspace.yaml").write_text(WORKSPACE, encoding="utf-8")
    pytester.makepyfile("""
import threading

GO, DONE, answers = threading.Event(), threading.Event(), []
A = {"type": "track", "event": "A", "userId": "u"}

def test_first(data_plane):
    def late():
        GO.wait(30)
        answers.append(data_plane.send(A, source="web").status)
        DONE.set()
    threading.Thread(target=late, daemon=True).start()

def test_second(data_plane):
    GO.set()
    assert DONE.wait(30)
    data_plane.drain()
    assert answers == [410]
    assert not data_plane.received
    assert data_plane.send(A, source="web").status == 200
    assert len(data_plane.received) == 1

def test_stopped(data_plane):
    data_plane.stop()
    assert data_plane.stopped

def test_afterwards(data_plane):
    assert data_plane.send(A, source="web").status == 200
""")

    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=4)
